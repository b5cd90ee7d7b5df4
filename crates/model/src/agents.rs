//! The state of each agent, as plain data: one row per agent, whatever source reported it.
//!
//! The code that watches agents fills in the rows; views draw them. Times are milliseconds since
//! 1970.

use crate::Status;
use crate::id::QuestionId;

/// Why no list is shown for an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NoList {
    /// The agent never reported a list, and nothing shows that it has Punchlist's tools.
    #[default]
    Never,
    /// The agent's hooks report to Punchlist, but the agent has not planned anything yet.
    NotYet,
    /// The agent cleared its list.
    Cleared,
}

/// The state of an agent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum State {
    /// The agent waits for the user; the text says for what.
    Asks(String),
    /// The agent works.
    Working,
    /// The agent waits for something that is not the user, such as the end of a usage limit; the text
    /// says for what.
    Waits(String),
    /// The turn is not over, but the agent has reported nothing for a while and its process is
    /// unknown.
    Silent,
    /// The last turn failed; the text says why.
    Failed(String),
    /// The agent has nothing to do.
    #[default]
    Idle,
    /// The process ended and left work unfinished.
    Died,
}

/// An entry of an agent's list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The text to show: the active form while in progress, otherwise the title.
    pub label: String,
    /// The status of the entry.
    pub status: Status,
    /// The person or event that the entry waits for.
    pub waiting_on: Option<String>,
    /// When the entry got this status, in milliseconds since 1970.
    pub since: i64,
    /// The level of nesting; 0 is the top.
    pub depth: usize,
}

/// The list of an agent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listed {
    /// How many entries are done.
    pub done: u32,
    /// How many entries there are in all.
    pub total: u32,
    /// How many entries are open.
    pub open: u32,
    /// The entries.
    pub entries: Vec<Entry>,
    /// Whether the agent wrote the list but has not confirmed that the write succeeded.
    pub unconfirmed: bool,
}

impl Listed {
    /// The first entry in progress.
    pub fn current(&self) -> Option<&Entry> {
        self.entries.iter().find(|it| it.status == Status::InProgress)
    }
}

/// What an agent has used, as far as that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spent {
    /// Tokens in the model's context.
    pub context: Option<u64>,
    /// How many tokens the context may have.
    pub window: Option<u64>,
    /// The cost, in millionths of the currency in which prices are given.
    pub cost_micros: Option<u64>,
}

/// What is known of a session of our own agent besides its state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionFacts {
    /// Its model, without the provider; empty if unknown.
    pub model: String,
    /// Tokens in the model's context.
    pub context: Option<u64>,
}

/// One agent, or one plan without a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// A unique key of the row.
    pub key: String,
    /// The agent: `claude`, `codex`, `gemini`, `acp`; or `plan` for a plan that no session works
    /// on.
    pub agent: String,
    /// The sub-agent, if the row shows one.
    pub sub_agent: Option<String>,
    /// The directory of the project in which the agent works; empty if unknown.
    pub project: String,
    /// The name of the place where the agent works.
    pub place: String,
    /// The agent's model, or the title of a plan.
    pub model: String,
    /// The agent's state.
    pub state: State,
    /// The agent's list.
    pub list: Option<Listed>,
    /// Why there is no list, if there is none.
    pub no_list: NoList,
    /// When the current turn began or, between turns, when the agent last reported something;
    /// milliseconds since 1970.
    pub at: i64,
    /// When the agent began.
    pub began: i64,
    /// The end of the agent's last text.
    pub said: String,
    /// The agent's context and cost.
    pub spent: Spent,
    /// The oldest open question of the agent that can be answered in the store.
    pub question: Option<QuestionId>,
    /// How many turns the agent has begun; 0 if they are not counted.
    pub turns: u32,
}

impl Row {
    /// The value of `agent` for a plan that no session works on.
    pub const PLAN: &'static str = "plan";

    /// Whether nothing goes on, so that the row can be put away.
    pub fn is_over(&self) -> bool {
        match self.state {
            State::Idle | State::Failed(_) | State::Died => true,
            State::Asks(_) | State::Working | State::Waits(_) | State::Silent => false,
        }
    }

    /// Whether the row shows a plan that no session works on.
    pub fn is_plan(&self) -> bool {
        self.agent == Self::PLAN
    }
}
