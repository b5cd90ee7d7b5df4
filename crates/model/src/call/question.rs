//! Questions to a person, and the answers that are possible.
//!
//! A question contains everything that the person must know, because the process that asked may be
//! gone by the time of the answer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallState, shallow};
use crate::actor::Actor;
use crate::event::TOMBSTONE;
use crate::id::{Number, PlanId, QuestionId, RunId};
use crate::store::kept;

/// The content of a question. It never changes, so an answer always refers to what the person saw.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// The question's id.
    pub id: QuestionId,
    /// The number of the call that asks, in its run.
    pub call: u32,
    /// The item that the call is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Number>,
    /// Who asks: the item's title, or an agent's name.
    pub title: String,
    /// Where the call comes from, for people: `item 4 of Release 1.2`, `release.md:12`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub place: Vec<String>,
    /// The item's context and criteria.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// The tool's name.
    pub tool: String,
    /// The MCP server that the tool comes from, if it is not built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What the call does, as the end of the sentence "… wants to …": `run`, `write src/a.rs`.
    pub what: String,
    /// The command, for a shell call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The change as a diff, for an edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The last output of the steps before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<Printed>,
    /// What the call touches, for people: `writes dist/**`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    /// Why the person is asked: `no rule allows it`.
    pub why: String,
    /// The arguments of the call. They cannot change after the question was asked.
    pub arguments: Value,
    /// The possible answers besides a refusal, which is always possible.
    pub offers: Vec<Offer>,
    /// When the question was asked.
    pub at: Timestamp,
}

impl Asked {
    /// Whether another question asks exactly the same, so that an answer to one holds for the other.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        (&self.tool, &self.arguments, &self.command, &self.diff, &self.touches)
            == (&other.tool, &other.arguments, &other.command, &other.diff, &other.touches)
    }

    /// The question as stores keep it: times to the millisecond, and values no deeper than JSON
    /// readers accept.
    #[must_use]
    pub fn kept(self) -> Self {
        Self { arguments: shallow(self.arguments), at: kept(self.at), ..self }
    }

    /// Erases the texts and the offers: a call that nobody can read cannot be approved.
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

/// The last lines that a step printed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Printed {
    /// The step's title.
    pub title: String,
    /// Its last lines.
    pub lines: Vec<String>,
    /// How many lines came before them.
    #[serde(default)]
    pub before: u64,
}

impl Printed {
    /// Keeps only the last `most` lines.
    #[must_use]
    pub fn last(mut self, most: usize) -> Self {
        let over = self.lines.len().saturating_sub(most);
        self.lines.drain(..over);
        self.before = self.before.saturating_add(over as u64);
        self
    }
}

/// A policy rule that a person may add by answering *always*. It says what is allowed; a field that
/// is `None` matches everything.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Permit {
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The MCP server that the tool comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The first words of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The name of an argument and its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<(String, String)>,
}

impl Permit {
    /// Whether the rule names a program by a relative path. Such a path is another file in each
    /// project, so the rule can hold in one project only.
    pub fn is_local(&self) -> bool {
        let program = self.command.as_ref().and_then(|it| it.first());
        program.is_some_and(|it| it.contains('/') && !it.starts_with('/'))
    }
}

/// Where an *always* answer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// In the project of the question.
    Project,
    /// In every project.
    Everywhere,
}

/// An answer that is offered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// Allow this call.
    Once,
    /// Allow this call and, for this session or from now on, whatever these rules allow. A chain of
    /// commands may need several rules.
    Always(Vec<Permit>),
    /// Allow this tool from now on. Only earlier versions offered this.
    AlwaysTool,
    /// Allow every command that begins with these words from now on. Only earlier versions offered
    /// this.
    AlwaysPrefix(Vec<String>),
    /// Allow every tool of this server from now on. Only earlier versions offered this.
    AlwaysServer,
    /// Allow the call with other arguments.
    Modify,
}

/// A person's answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Allow this call.
    Once,
    /// Allow whatever these rules allow, until the run or session that asks ends.
    Session(Vec<Permit>),
    /// Allow whatever these rules allow, from now on.
    Always {
        /// The rules to add.
        rules: Vec<Permit>,
        /// Where the rules hold.
        reach: Reach,
    },
    /// Allow this tool from now on.
    AlwaysTool,
    /// Allow every command that begins with these words from now on.
    AlwaysPrefix(Vec<String>),
    /// Allow every tool of this server from now on.
    AlwaysServer,
    /// Run the call with these arguments instead.
    Modify(Value),
    /// Refuse, with an optional reason. Without a reason, the other calls of the same batch are
    /// cancelled too.
    Refuse(Option<String>),
    /// Refuse, with an optional reason, and stop everything else.
    RefuseAndStop(Option<String>),
}

impl Answer {
    /// Whether this answer is among those offered. A refusal always is.
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
            // A longer prefix allows less than the one offered.
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

    /// Whether the answer allows anything.
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

/// An answer with its author and time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// The person who answered.
    pub by: Actor,
    /// When the person answered.
    pub at: Timestamp,
}

impl Answered {
    /// The answer as stores keep it: times to the millisecond, and values no deeper than JSON
    /// readers accept.
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

    /// Erases the texts. Whether the answer was yes or no stays.
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

/// A question and its state.
#[derive(Clone, PartialEq, Debug)]
pub struct Question {
    /// The run of the call that asks.
    pub run: RunId,
    /// The run's project.
    pub project: String,
    /// The run's plan.
    pub plan: Option<PlanId>,
    /// The content of the question.
    pub asked: Asked,
    /// The state of the question.
    pub standing: Standing,
}

/// The state of a question.
#[derive(Clone, PartialEq, Debug)]
pub enum Standing {
    /// The call waits for the answer.
    Waiting,
    /// The question was answered.
    Answered(Answered),
    /// The call no longer waits: it was cancelled, or another answer allowed it.
    Settled,
}

impl Standing {
    /// Derives the state of a question from its answer and the state of its call. Never stored.
    pub fn of(answer: Option<Answered>, state: CallState) -> Self {
        match answer {
            Some(answered) => Self::Answered(answered),
            None if state == CallState::AwaitingApproval => Self::Waiting,
            None => Self::Settled,
        }
    }
}

impl Question {
    /// Applies an answer. It is taken if the question waits and offers this answer.
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

/// The result of an answer.
#[derive(Clone, PartialEq, Debug)]
pub enum AnswerOutcome {
    /// The answer counts.
    Taken(Box<Question>),
    /// The answer came too late. The question says who answered first, if anybody did.
    Late(Box<Question>),
    /// The question does not offer this answer and still waits.
    NotOffered(Box<Question>),
}

/// Which questions to return.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QuestionFilter {
    /// Only questions of this project.
    pub project: Option<String>,
    /// Only questions of this run.
    pub run: Option<RunId>,
    /// Only questions whose id begins or ends with this, in lower case.
    pub id: Option<String>,
    /// Only questions that wait.
    pub waiting: bool,
    /// The maximum number, the newest ones; `None` means all.
    pub most: Option<u32>,
}

impl QuestionFilter {
    /// Whether a question's id matches [`Self::id`].
    pub fn names(&self, id: QuestionId) -> bool {
        let (simple, hyphened) = (id.0.simple().to_string(), id.to_string());
        self.id.as_deref().is_none_or(|part| {
            simple.starts_with(part) || simple.ends_with(part) || hyphened.starts_with(part)
        })
    }
}
