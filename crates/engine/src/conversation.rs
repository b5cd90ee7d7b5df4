//! A conversation with a model: its plan, its reminders, and whether its turn may end.
//!
//! `plan` finds the plan that the conversation works on, `gate` calls the governor, `remind` and
//! `boundary` create reminders, `words` names the tools that the model has, and `as_tools` gives
//! them to the scheduler. Hooks report the events of other agents' conversations; [`Conversation`]
//! is for programs that run a model themselves.

mod as_tools;
mod boundary;
mod exchange;
mod gate;
mod plan;
mod remind;
mod talk;
mod words;

pub use as_tools::{PlanCaller, plan_tools};
pub use exchange::{
    AgentFacts, Given, Moment, PlanFacts, Settings, TASKS, TODOWRITE, TRACKER, TURN, UPDATE_PLAN,
    WATCHED, WRITE_TODOS,
};
pub(crate) use exchange::{Exchange, Sighting};
pub(crate) use gate::sub_agent;
pub use talk::{CallResult, Conversation, Stop};
pub(crate) use words::Words;
