//! Handles one event of an agent's hook: decides it now, or keeps it in the spool to be applied
//! later.
//!
//! The caller passes in the environment, the ancestor processes, the clock and the store.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use punchlist_bridge::process::Ancestor;
use punchlist_formats::hook::{Agent, Answer, Event, Task, claude, gemini};
use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_model::{PlanId, Process, Timestamp};

use super::spool::{Spool, Spooled, Taken};
use super::{AgentFacts, Given, Moment, PlanFacts, Settings, answer, failures};
use crate::around::Around;
use crate::fail::{Code, Fail};
use crate::session::{agent_process, attended, only_plans};

/// Maximum size of a task file that is read, in bytes.
const MOST_TASK: u64 = 1024 * 1024;

/// Looks up an environment variable by name.
pub type Variables<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// What a hook knows besides the event.
#[derive(Clone, Debug)]
pub struct HookFacts {
    /// When the event happened.
    pub now: Timestamp,
    /// Whether the agent has the tools of our server.
    pub has_server: bool,
    /// The name of the plan that the session works on instead of its own plan.
    pub plan: Option<String>,
    /// The agent's process.
    pub process: Option<Process>,
    /// Whether the session is interactive, if known.
    pub interactive: Option<bool>,
    /// Whether the agent was started in plan mode.
    pub planning: bool,
    /// The list that holds the agent's tasks, if it is not named after the session.
    pub task_list: Option<String>,
}

impl HookFacts {
    /// The facts from the environment and the ancestor processes of a hook.
    pub fn find(
        agent: Agent,
        variables: Variables<'_>,
        ancestors: &[Ancestor],
        now: Timestamp,
    ) -> Self {
        let own = agent_process(agent.as_str(), ancestors);
        Self {
            now,
            has_server: false,
            plan: set(variables, "PUNCHLIST_PLAN"),
            process: own.map(|it| it.process.clone()),
            interactive: match agent {
                Agent::Claude => interactive(
                    set(variables, "CLAUDE_CODE_ENTRYPOINT").as_deref(),
                    set(variables, "CLAUDE_CODE_SESSION_ATTENDED").as_deref(),
                ),
                Agent::Codex | Agent::Gemini => own.and_then(|it| attended(agent.as_str(), it)),
            },
            planning: own.is_some_and(|it| only_plans(agent.as_str(), it)),
            task_list: set(variables, "CLAUDE_CODE_TASK_LIST_ID")
                .filter(|_| agent == Agent::Claude),
        }
    }

    /// The facts of a spooled event.
    fn of(event: &Spooled) -> Self {
        Self {
            now: event.at,
            has_server: event.has_server,
            plan: event.plan.clone(),
            process: event.process.clone(),
            interactive: event.interactive,
            planning: event.planning,
            task_list: event.task_list.clone(),
        }
    }

    /// The event in the form in which the spool keeps it.
    pub fn spooled(&self, agent: Agent, event: Option<&str>, input: &[u8]) -> Spooled {
        Spooled {
            at: self.now,
            agent: agent.as_str().to_owned(),
            event: event.map(str::to_owned),
            has_server: self.has_server,
            plan: self.plan.clone(),
            process: self.process.clone(),
            interactive: self.interactive,
            planning: self.planning,
            task_list: self.task_list.clone(),
            input: String::from_utf8_lossy(input).into_owned(),
        }
    }
}

/// Why an event was not applied.
#[derive(Debug)]
pub enum Failed {
    /// The store cannot be used now: the event can be applied later.
    Store(String),
    /// The event can never be applied.
    Event(String),
}

impl Failed {
    /// The error as text.
    pub fn words(self) -> String {
        match self {
            Self::Store(words) | Self::Event(words) => words,
        }
    }
}

impl From<Fail> for Failed {
    fn from(fail: Fail) -> Self {
        if fail.code == Code::Unusable {
            Self::Store(fail.message)
        } else {
            Self::Event(fail.message)
        }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        let words = failures::describe(&error);
        match error {
            Error::NewerSchema { .. }
            | Error::ReadOnly(_)
            | Error::Busy(_)
            | Error::Denied { .. }
            | Error::Server { .. }
            | Error::Unusable { .. }
            | Error::Unconfirmed { .. } => Self::Store(words),
            Error::Refused(_)
            | Error::Revision { .. }
            | Error::Undo(_)
            | Error::NoPlan(_)
            | Error::NoRun(_)
            | Error::NoCall { .. }
            | Error::CallMoved { .. }
            | Error::NoQuestion(_)
            | Error::NoConversation(_)
            | Error::ConversationExists(_)
            | Error::Held { .. }
            | Error::Message(_)
            | Error::MessageChanged(_)
            | Error::NameTaken(_)
            | Error::Exists(_)
            | Error::AlreadyMade(_) => Self::Event(words),
        }
    }
}

/// The project in which an event is decided, and its settings.
pub struct HookPlace<'a> {
    /// The project of the event's directory.
    pub project: &'a str,
    /// The user's settings for the project.
    pub settings: Settings<'a>,
    /// This machine's name.
    pub host: &'a str,
    /// The source of ids.
    pub around: &'a dyn Around,
    /// The environment variables.
    pub variables: Variables<'a>,
    /// The command with which the agent's shell calls our program.
    pub program: &'a (dyn Fn() -> String + Sync),
}

/// The answer to the agent.
pub async fn decide(
    store: &dyn Store,
    agent: Agent,
    event: &Event,
    facts: &HookFacts,
    place: &HookPlace<'_>,
) -> Result<Answer, Failed> {
    let variables = place.variables;
    let read_task = |list: &str, id: &str| task(agent, event, variables, list, id);
    let new_id = PlanId(place.around.ids(facts.now)?.nth(u32::MAX));
    let given = Given {
        moment: Moment { now: facts.now, ids: place.around.ids(facts.now)?, host: place.host },
        agent: AgentFacts {
            name: agent.as_str(),
            has_server: facts.has_server,
            tools: None,
            process: facts.process.clone(),
            interactive: facts.interactive,
            planning: facts.planning,
            task_list: facts.task_list.as_deref(),
        },
        plan: PlanFacts { project: place.project, name: facts.plan.as_deref(), new_id },
        settings: place.settings,
        task: &read_task,
        program: place.program,
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(answer(store, event, &given).await?)
}

/// The result of applying spooled events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaughtUp {
    /// The spool is empty.
    Yes,
    /// Events are left: the store cannot be used, another process is applying them, or time ran
    /// out.
    No,
}

/// Applies the events in a spool, until a deadline. `decide` applies one event; `note` is called
/// for each event that can never be applied, with the reason.
pub fn catch_up(
    spool: &Spool,
    until: Option<Instant>,
    decide: impl Fn(Agent, &Event, &HookFacts) -> Result<(), Failed>,
    note: impl Fn(Option<&Spooled>, &str),
) -> CaughtUp {
    if spool.waiting().is_empty() {
        return CaughtUp::Yes;
    }
    let events = match spool.take() {
        Ok(Taken::Nothing) => return CaughtUp::Yes,
        Ok(Taken::ByAnother) | Err(_) => return CaughtUp::No,
        Ok(Taken::Events(events)) => events,
    };
    let apply = |kept: &Spooled| {
        let agent = Agent::named(&kept.agent)
            .ok_or_else(|| Failed::Event(format!("there is no agent {:?}", kept.agent)))?;
        match agent.read(kept.input.as_bytes(), kept.event.as_deref()) {
            Some(event) => decide(agent, &event, &HookFacts::of(kept)),
            None => Ok(()),
        }
    };
    let is_done = events.apply(|event| {
        if until.is_some_and(|until| Instant::now() >= until) {
            return false;
        }
        match event.as_ref().map(apply) {
            Some(Err(Failed::Store(_))) => false,
            Some(Err(Failed::Event(why))) => {
                note(event.as_ref(), &why);
                true
            }
            None => {
                note(None, "a spooled event cannot be read");
                true
            }
            Some(Ok(())) => true,
        }
    });
    if is_done { CaughtUp::Yes } else { CaughtUp::No }
}

/// The value of an environment variable that is set and not blank.
fn set(variables: Variables<'_>, name: &str) -> Option<String> {
    variables(name).filter(|value| !value.trim().is_empty())
}

/// Whether the session is interactive. Newer versions of Claude Code say so; for older ones it
/// follows from how they were started.
fn interactive(entrypoint: Option<&str>, attended: Option<&str>) -> Option<bool> {
    match (attended, entrypoint) {
        (Some("1"), _) => Some(true),
        (Some("0"), _) => Some(false),
        (_, Some("cli")) => Some(true),
        (_, Some(entrypoint)) if entrypoint.starts_with("sdk-") => Some(false),
        (_, Some(_) | None) => None,
    }
}

/// The directory of Claude Code's own files.
fn config_dir(variables: Variables<'_>) -> Option<PathBuf> {
    set(variables, "CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(set(variables, "HOME")?).join(".claude")))
}

/// Reads a task from the agent's own files. Ids come from outside and become file names, so they
/// are checked.
fn task(
    agent: Agent,
    event: &Event,
    variables: Variables<'_>,
    list: &str,
    id: &str,
) -> Option<Task> {
    let is_name = |text: &str| {
        !text.is_empty() && text.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it))
    };
    if !is_name(list) || !is_name(id) {
        return None;
    }
    let folder = match agent {
        Agent::Claude => config_dir(variables)?.join("tasks").join(list),
        // The tracker's folder is beside the folder of the conversation.
        Agent::Gemini => {
            let chats = Path::new(&event.transcript).parent()?;
            chats.parent()?.join(list).join("tracker")
        }
        Agent::Codex => return None,
    };
    let path = folder.join(format!("{id}.json"));
    // Reading something other than a regular file could block.
    if !fs::symlink_metadata(&path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MOST_TASK).read_to_end(&mut bytes).ok()?;
    match agent {
        Agent::Claude => claude::task_file(&bytes),
        Agent::Gemini => gemini::task_file(&bytes),
        Agent::Codex => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_somebody_sits_there_is_told_by_newer_versions_and_guessed_of_older_ones() {
        for (entrypoint, attended, expected) in [
            (Some("cli"), None, Some(true)),
            (Some("sdk-cli"), None, Some(false)),
            (Some("sdk-ts"), None, Some(false)),
            (Some("claude-vscode"), None, None),
            (Some("claude-code-github-action"), Some("0"), Some(false)),
            (Some("claude-vscode"), Some("1"), Some(true)),
            (Some("cli"), Some("0"), Some(false)),
            (Some("cli"), Some("maybe"), Some(true)),
            (None, Some("1"), Some(true)),
            (None, None, None),
        ] {
            assert_eq!(interactive(entrypoint, attended), expected, "{entrypoint:?} {attended:?}");
        }
    }
}
