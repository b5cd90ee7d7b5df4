//! How agents stand, as plain data: one row for each, whoever told of it.
//!
//! Who watches agents fills the rows in; views draw them. Times are milliseconds since 1970.

use crate::Status;

/// Why an agent has no list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoList {
    /// It never told one, and nothing shows that it has tools of ours.
    Never,
    /// Its hooks have told of it, and it has not planned anything.
    NotYet,
    /// It cleared its list.
    Cleared,
}

/// How an agent stands, for whoever looks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// It waits for the user.
    Asks(String),
    /// It works.
    Working,
    /// Its turn is not over, but nothing was heard for a while, and its process cannot be seen.
    Silent,
    /// Its last turn failed.
    Failed(String),
    /// It has nothing to do.
    Idle,
    /// Its process is gone, and it left something.
    Died,
}

/// An entry of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What to call it now.
    pub label: String,
    /// Where it stands.
    pub status: Status,
    /// Whom or what it waits for.
    pub waiting_on: Option<String>,
    /// Since when, in milliseconds since 1970.
    pub since: i64,
    /// The entry above it that it belongs to stands so far to the left.
    pub depth: usize,
}

/// A list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listed {
    /// How many are done.
    pub done: u32,
    /// How many there are to do in all.
    pub total: u32,
    /// How many are open.
    pub open: u32,
    /// The entries.
    pub entries: Vec<Entry>,
    /// Whether the source never said that it was taken.
    pub unconfirmed: bool,
}

impl Listed {
    /// What is being worked on.
    pub fn current(&self) -> Option<&Entry> {
        self.entries.iter().find(|it| it.status == Status::InProgress)
    }
}

/// One agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// What tells it from every other row.
    pub key: String,
    /// Which agent: `claude`, `codex`, `gemini`, `acp`; `plan` for a plan that no session works on.
    pub agent: String,
    /// The sub-agent, if it is one.
    pub sub_agent: Option<String>,
    /// What the place that it works in is called.
    pub place: String,
    /// The model that it uses, or what the plan is about.
    pub model: String,
    /// How it stands.
    pub state: State,
    /// Its list.
    pub list: Option<Listed>,
    /// Why, if it has none.
    pub no_list: NoList,
    /// Since when its turn runs, or when it was last heard of; milliseconds since 1970.
    pub at: i64,
    /// When it began.
    pub began: i64,
}

impl Row {
    /// What stands in an agent's place for a plan that no session works on.
    pub const PLAN: &'static str = "plan";

    /// Whether it is a plan that no session works on, and no agent.
    pub fn is_plan(&self) -> bool {
        self.agent == Self::PLAN
    }
}
