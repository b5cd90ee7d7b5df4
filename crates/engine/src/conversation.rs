//! A conversation with a model: its plan, its reminders, and whether its turn may end.
//!
//! `plan` finds the plan that the conversation works on, `gate` asks the governor, `remind` and
//! `boundary` say what the model is to be reminded of, `words` names the tools that it has, `as_tools` gives
//! them to the scheduler. Hooks
//! tell the events of other agents' conversations; [`Conversation`] is for whoever runs a model.

mod as_tools;
mod boundary;
mod exchange;
mod gate;
mod plan;
mod remind;
mod talk;
mod words;

pub use exchange::{
    AgentFacts, Given, Moment, PlanFacts, Settings, TASKS, TODOWRITE, TRACKER, TURN, UPDATE_PLAN,
    WATCHED, WRITE_TODOS,
};
pub(crate) use exchange::{Exchange, News};
pub(crate) use gate::sub_agent;
pub use talk::{CallResult, Conversation, Stop};
pub(crate) use words::Words;
