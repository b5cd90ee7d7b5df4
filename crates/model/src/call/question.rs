//! Questions to a person, and what may be answered.
//!
//! A question carries everything that whoever answers must see, because nobody else may be there to
//! tell: the process that asked can be gone.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallState, shallow};
use crate::actor::Actor;
use crate::event::TOMBSTONE;
use crate::id::{Number, PlanId, QuestionId, RunId};
use crate::store::kept;

/// What is asked. It never changes: who answers, answers what they were shown.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// Which.
    pub id: QuestionId,
    /// The call that asks, of the run.
    pub call: u32,
    /// The item that the call is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Number>,
    /// Who wants it: the item's title, or an agent's name.
    pub title: String,
    /// Where it comes from, in words: `item 4 of Release 1.2`, `release.md:12`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub place: Vec<String>,
    /// What is written about the item, besides its title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// The tool's name.
    pub tool: String,
    /// The server that the tool comes from, if it is not our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What they want, so that "… wants to …" is a sentence: `run`, `write src/a.rs`.
    pub what: String,
    /// The command, for a shell call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What would change, for an edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What the steps that it comes after have printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<Printed>,
    /// What it touches, in words: `writes dist/**`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    /// Why it is asked: `no rule allows it`.
    pub why: String,
    /// The arguments, frozen.
    pub arguments: Value,
    /// What may be answered besides a refusal, which always may.
    pub offers: Vec<Offer>,
    /// When.
    pub at: Timestamp,
}

impl Asked {
    /// As a store keeps it: times to the millisecond, values no deeper than they can be read again.
    #[must_use]
    pub fn kept(self) -> Self {
        Self { arguments: shallow(self.arguments), at: kept(self.at), ..self }
    }

    /// Erases what somebody wrote. What nobody can see any more, nobody can allow.
    pub fn forget(&mut self) {
        TOMBSTONE.clone_into(&mut self.title);
        TOMBSTONE.clone_into(&mut self.what);
        self.why.clear();
        self.place.clear();
        self.context.clear();
        (self.command, self.diff) = (None, None);
        self.printed.clear();
        self.touches.clear();
        self.arguments = Value::Null;
        self.offers.clear();
    }
}

/// The last lines that a step has printed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Printed {
    /// The step's title.
    pub title: String,
    /// Its last lines.
    pub lines: Vec<String>,
    /// How many there were before them.
    #[serde(default)]
    pub before: u64,
}

impl Printed {
    /// The last so many of these lines.
    #[must_use]
    pub fn last(mut self, most: usize) -> Self {
        let over = self.lines.len().saturating_sub(most);
        self.lines.drain(..over);
        self.before = self.before.saturating_add(over as u64);
        self
    }
}

/// A rule that a person may add by saying *always*: what would be allowed. What it does not name, it does
/// not look at.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Permit {
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The server that the tool comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What a command begins with, word by word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// An argument by name, and its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<(String, String)>,
}

impl Permit {
    /// Whether it names a program by a path that means another file in each project: then it can only be
    /// meant for one.
    pub fn is_local(&self) -> bool {
        let program = self.command.as_ref().and_then(|it| it.first());
        program.is_some_and(|it| it.contains('/') && !it.starts_with('/'))
    }
}

/// Where *always* holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// In the project that asks.
    Project,
    /// In every project.
    Everywhere,
}

/// What may be answered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// Yes, this once.
    Once,
    /// Yes, and for this session or from now on whatever these rules allow. Together they allow what is
    /// asked; one may be too few for a chain of commands.
    Always(Vec<Permit>),
    /// Yes, and from now on whatever this tool does. Earlier versions offered it so.
    AlwaysTool,
    /// Yes, and from now on every command that begins with these words. Earlier versions offered it so.
    AlwaysPrefix(Vec<String>),
    /// Yes, and from now on every tool of this server. Earlier versions offered it so.
    AlwaysServer,
    /// With other arguments.
    Modify,
}

/// What a person says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Yes, this once.
    Once,
    /// Yes, and whatever these rules allow as long as whoever asks goes on.
    Session(Vec<Permit>),
    /// Yes, and from now on whatever these rules allow.
    Always {
        /// The rules that are added.
        rules: Vec<Permit>,
        /// Where they hold.
        reach: Reach,
    },
    /// Yes, and from now on whatever this tool does.
    AlwaysTool,
    /// Yes, and from now on every command that begins with these words.
    AlwaysPrefix(Vec<String>),
    /// Yes, and from now on every tool of this server.
    AlwaysServer,
    /// With these arguments instead.
    Modify(Value),
    /// No, and possibly why. Without a reason, nothing else begins that was asked for together with it.
    Refuse(Option<String>),
    /// No, possibly why, and nothing else goes on either.
    RefuseAndStop(Option<String>),
}

impl Answer {
    /// Whether this is one of the answers that are offered. To refuse is always possible.
    pub fn is_among(&self, offers: &[Offer]) -> bool {
        offers.iter().any(|offer| match (self, offer) {
            (Self::Once, Offer::Once)
            | (Self::AlwaysTool, Offer::AlwaysTool)
            | (Self::AlwaysServer, Offer::AlwaysServer)
            | (Self::Modify(_), Offer::Modify) => true,
            (Self::Session(rules), Offer::Always(offered)) => rules == offered,
            (Self::Always { rules, reach }, Offer::Always(offered)) => {
                let is_too_far = *reach == Reach::Everywhere && rules.iter().any(Permit::is_local);
                rules == offered && !is_too_far
            }
            // More words say less.
            (Self::AlwaysPrefix(words), Offer::AlwaysPrefix(prefix)) => words.starts_with(prefix),
            (
                Self::Once
                | Self::Session(_)
                | Self::Always { .. }
                | Self::AlwaysTool
                | Self::AlwaysPrefix(_)
                | Self::AlwaysServer
                | Self::Modify(_)
                | Self::Refuse(_)
                | Self::RefuseAndStop(_),
                _,
            ) => false,
        }) || !self.is_yes()
    }

    /// Whether it lets anything happen.
    pub fn is_yes(&self) -> bool {
        match self {
            Self::Once
            | Self::Session(_)
            | Self::Always { .. }
            | Self::AlwaysTool
            | Self::AlwaysPrefix(_)
            | Self::AlwaysServer
            | Self::Modify(_) => true,
            Self::Refuse(_) | Self::RefuseAndStop(_) => false,
        }
    }
}

/// An answer, by whom and when.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// What was said.
    pub answer: Answer,
    /// Who said it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

impl Answered {
    /// As a store keeps it: times to the millisecond, values no deeper than they can be read again.
    #[must_use]
    pub fn kept(self) -> Self {
        let answer = match self.answer {
            Answer::Modify(value) => Answer::Modify(shallow(value)),
            answer @ (Answer::Once
            | Answer::Session(_)
            | Answer::Always { .. }
            | Answer::AlwaysTool
            | Answer::AlwaysPrefix(_)
            | Answer::AlwaysServer
            | Answer::Refuse(_)
            | Answer::RefuseAndStop(_)) => answer,
        };
        Self { answer, at: kept(self.at), ..self }
    }

    /// Erases what somebody wrote; whether it was a yes or a no stays.
    pub fn forget(&mut self) {
        match &mut self.answer {
            Answer::AlwaysPrefix(words) => words.clear(),
            Answer::Modify(value) => *value = Value::Null,
            Answer::Session(rules) | Answer::Always { rules, .. } => rules.clear(),
            Answer::Refuse(reason) | Answer::RefuseAndStop(reason) => {
                *reason = reason.take().map(|_| TOMBSTONE.to_owned());
            }
            Answer::Once | Answer::AlwaysTool | Answer::AlwaysServer => {}
        }
    }
}

/// A question, and how it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Question {
    /// The run whose call asks.
    pub run: RunId,
    /// The run's project.
    pub project: String,
    /// The run's plan.
    pub plan: Option<PlanId>,
    /// What is asked.
    pub asked: Asked,
    /// How it stands.
    pub standing: Standing,
}

/// How a question stands.
#[derive(Clone, PartialEq, Debug)]
pub enum Standing {
    /// Its call waits for the answer.
    Waiting,
    /// It was answered.
    Answered(Answered),
    /// Its call waits no longer: it was cancelled, or allowed by another answer.
    Settled,
}

impl Standing {
    /// How a question stands whose call is in `state`. Never stored: it follows.
    pub fn of(answer: Option<Answered>, state: CallState) -> Self {
        match answer {
            Some(answered) => Self::Answered(answered),
            None if state == CallState::AwaitingApproval => Self::Waiting,
            None => Self::Settled,
        }
    }
}

impl Question {
    /// What an answer comes to: taken, if the question waits and the answer is one of those offered.
    #[must_use]
    pub fn answered(mut self, answered: Answered) -> AnswerOutcome {
        match self.standing {
            Standing::Answered(_) | Standing::Settled => AnswerOutcome::Late(Box::new(self)),
            Standing::Waiting if answered.answer.is_among(&self.asked.offers) => {
                self.standing = Standing::Answered(answered.kept());
                AnswerOutcome::Taken(Box::new(self))
            }
            Standing::Waiting => AnswerOutcome::NotOffered(Box::new(self)),
        }
    }
}

/// What came of an answer.
#[derive(Clone, PartialEq, Debug)]
pub enum AnswerOutcome {
    /// It counts.
    Taken(Box<Question>),
    /// It came too late; the question says who was first, if anybody was.
    Late(Box<Question>),
    /// The question waits still: that was not among its answers.
    NotOffered(Box<Question>),
}

/// Which questions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QuestionFilter {
    /// Of this project only.
    pub project: Option<String>,
    /// Of this run only.
    pub run: Option<RunId>,
    /// Whose id begins or ends with this, in lower case.
    pub id: Option<String>,
    /// Those only that wait.
    pub waiting: bool,
    /// At most so many, the newest; `None` means all.
    pub most: Option<u32>,
}

impl QuestionFilter {
    /// Whether the question with this id is meant, as far as ids go.
    pub fn names(&self, id: QuestionId) -> bool {
        let (simple, hyphened) = (id.0.simple().to_string(), id.to_string());
        self.id.as_deref().is_none_or(|part| {
            simple.starts_with(part) || simple.ends_with(part) || hyphened.starts_with(part)
        })
    }
}
