//! Notices: a person is told when an agent needs them and when work has ended.
//!
//! A [`Notice`] says what happened. Several processes may see the same event: the one that records it
//! first in the store gives the notice ([`is_first`]), the others stay quiet. [`rows`] finds events in
//! the rows of a watcher, [`Settings`] has what the user configured, [`start_command`] runs the user's
//! command. A front end writes to its own terminal.

pub mod rows;
#[cfg(test)]
mod tests;

use std::time::Duration;

use punchlist_formats::hook::{Agent, Answer, Event, What};
use punchlist_formats::text::one_line;
use punchlist_model::call::Asked;
use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_model::{ConversationId, RunId, Timestamp};
use serde_json::{Value, json};

/// Starts the user's command, with the JSON of a notice on its stdin.
pub use punchlist_bridge::notify_command::start as start_command;

/// The longest text of a notice, in characters.
const LONGEST: usize = 300;

/// Two observations of the same session within this time are of the same event.
const SAME_MS: i64 = 30_000;

/// What a notice is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoticeKind {
    /// A person is asked something.
    Question,
    /// Work has ended well.
    Done,
    /// Work has failed.
    Failed,
    /// A process is gone and left work behind.
    Died,
}

impl NoticeKind {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Died => "died",
        }
    }
}

/// What identifies an event in all processes that see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventKey {
    /// The event has an id of its own.
    Exact(String),
    /// The event is only observed, by each process at its own time.
    Observed {
        /// What is observed.
        of: String,
        /// When.
        at: Timestamp,
    },
}

/// Something that a person wants to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// What identifies the event.
    pub key: EventKey,
    /// What it is about.
    pub kind: NoticeKind,
    /// Who it is about: `claude`, `punchlist`, `run`.
    pub agent: String,
    /// The directory of the project; empty if unknown.
    pub project: String,
    /// The session, if there is one.
    pub session: Option<String>,
    /// The question, or how the work ended. It may be an agent's text, as it was sent.
    pub text: String,
    /// The command that answers the question, if there is one.
    pub answer: Option<String>,
}

impl Notice {
    /// A question that waits in the store.
    pub fn question(asked: &Asked, agent: &str, project: &str) -> Self {
        let text = asked.command.clone().unwrap_or_else(|| asked.what.clone());
        Self {
            key: EventKey::Exact(format!("question/{}", asked.id)),
            kind: NoticeKind::Question,
            agent: agent.to_owned(),
            project: project.to_owned(),
            session: None,
            text: format!("{}: {text}", asked.title),
            answer: Some(format!("punchlist answer {}", asked.id.short())),
        }
    }

    /// A turn of our own agent has ended, or asks the user something.
    pub fn turn(
        id: ConversationId,
        turn: u32,
        kind: NoticeKind,
        project: &str,
        text: String,
    ) -> Self {
        let what = if kind == NoticeKind::Question { "reply" } else { "turn" };
        let answer = format!("punchlist resume {} TEXT", id.short());
        Self {
            key: EventKey::Exact(format!("{what}/{id}/{turn}")),
            kind,
            agent: "punchlist".to_owned(),
            project: project.to_owned(),
            session: Some(id.to_string()),
            text,
            answer: (kind == NoticeKind::Question).then_some(answer),
        }
    }

    /// A run of a plan file has ended.
    pub fn run(run: RunId, kind: NoticeKind, project: &str, text: String) -> Self {
        Self {
            key: EventKey::Exact(format!("run/{run}")),
            kind,
            agent: "run".to_owned(),
            project: project.to_owned(),
            session: None,
            text,
            answer: None,
        }
    }

    /// Something was observed of a session of another agent.
    pub fn observed(
        kind: NoticeKind,
        agent: &str,
        session: &str,
        project: &str,
        text: String,
        at: Timestamp,
    ) -> Self {
        // A turn that ends with a question is one event.
        let what = if kind == NoticeKind::Died { "died" } else { "turn" };
        Self {
            key: EventKey::Observed { of: format!("{what}/{agent}/{session}"), at },
            kind,
            agent: agent.to_owned(),
            project: project.to_owned(),
            session: Some(session.to_owned()),
            text,
            answer: None,
        }
    }

    /// The notice about an event of an agent's hook: the agent's turn was allowed to end. Work in the
    /// background goes on, so its agent is not done.
    pub fn hook(
        agent: Agent,
        event: &Event,
        answer: &Answer,
        project: &str,
        at: Timestamp,
    ) -> Option<Self> {
        let What::Stop(stop) = &event.what else { return None };
        if matches!(answer, Answer::Refuse(_)) || stop.background {
            return None;
        }
        let (kind, otherwise) = if stop.asks {
            (NoticeKind::Question, "its answer ends with a question")
        } else {
            (NoticeKind::Done, "its turn has ended")
        };
        let text = if stop.said.is_empty() { otherwise } else { &stop.said };
        let (agent, session) = (agent.as_str(), event.session.as_str());
        Some(Self::observed(kind, agent, session, project, text.to_owned(), at))
    }

    /// One line: who it is about, and what happened.
    pub fn title(&self) -> String {
        let what = match self.kind {
            NoticeKind::Question => "asks you",
            NoticeKind::Done => "is done",
            NoticeKind::Failed => "failed",
            NoticeKind::Died => "died",
        };
        let place = self.project.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        match place {
            "" => line(&format!("{} {what}", self.agent)),
            _ => line(&format!("{} in {place} {what}", self.agent)),
        }
    }

    /// The text on one line, without control characters.
    pub fn line(&self) -> String {
        line(&self.text)
    }

    /// The notice for the user's command. Texts are cut and have no control characters.
    pub fn json(&self) -> Value {
        let mut value = json!({
            "kind": self.kind.as_str(),
            "agent": line(&self.agent),
            "project": line(&self.project),
            "title": self.title(),
            "text": self.line(),
        });
        for (name, field) in [("session", &self.session), ("answer", &self.answer)] {
            if let (Some(text), Some(fields)) = (field, value.as_object_mut()) {
                fields.insert(name.to_owned(), line(text).into());
            }
        }
        value
    }
}

/// A text on one line, without control characters, cut.
fn line(text: &str) -> String {
    one_line(text).chars().take(LONGEST).collect()
}

/// Whether this process is the first to record the event, and so gives the notice.
pub async fn is_first(store: &dyn Store, notice: &Notice, now: Timestamp) -> Result<bool, Error> {
    match &notice.key {
        EventKey::Exact(key) => store.first(vec![key.clone()], now).await,
        EventKey::Observed { of, at } => {
            // Two processes may observe one event on both sides of a border between two intervals. So
            // each claims its own interval and the one before.
            let interval = at.as_millisecond().div_euclid(SAME_MS);
            let keys = [interval - 1, interval].map(|it| format!("{of}/{it}"));
            store.first(keys.to_vec(), now).await
        }
    }
}

/// Whether a message waits that will begin the next turn of a session. A paused queue begins none. An
/// error counts as no.
pub async fn has_follow_up(store: &dyn Store, id: ConversationId) -> bool {
    let is_paused = store.conversation(id).await.is_ok_and(|it| it.queue_paused);
    let waits = store.messages(id.to_string()).await.is_ok_and(|it| !it.is_empty());
    waits && !is_paused
}

/// Whether the terminal of the person has the keyboard focus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Focus {
    /// It has.
    Has,
    /// It has not, or there is no terminal.
    Lost,
    /// The terminal does not say.
    #[default]
    Unknown,
}

/// How a terminal is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// OSC 9: the text.
    Osc9,
    /// OSC 777: title and text.
    Osc777,
    /// The bell.
    Bell,
}

/// What `notify.terminal` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TerminalSetting {
    /// The front end chooses, by the kind of terminal.
    Auto,
    /// This channel.
    Channel(Channel),
    /// The terminal is not told.
    Off,
}

/// What the user configured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The command that gets each notice as JSON on its stdin.
    pub command: Option<String>,
    /// How the terminal is told; `None` if the user did not say.
    pub terminal: Option<TerminalSetting>,
    /// How long a person must have done nothing at a terminal that does not report its focus.
    pub after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { command: None, terminal: None, after: Duration::from_secs(10) }
    }
}

impl Settings {
    /// How the terminal is told. Without a setting, a command replaces the terminal.
    pub fn terminal(&self) -> TerminalSetting {
        let default = match self.command {
            Some(_) => TerminalSetting::Off,
            None => TerminalSetting::Auto,
        };
        self.terminal.unwrap_or(default)
    }

    /// Whether a person should be told who has done nothing at the terminal for this time.
    pub fn is_wanted(&self, focus: Focus, idle: Duration) -> bool {
        match focus {
            Focus::Has => false,
            Focus::Lost => true,
            Focus::Unknown => idle >= self.after,
        }
    }
}
