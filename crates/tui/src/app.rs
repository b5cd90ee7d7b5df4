//! The terminal UI: a person talks with an agent, watches its plan, answers, steers and queues.
//!
//! `update` turns messages into changes of the `model` and into intents; `view` draws the model and
//! only reads. Both are synchronous and touch neither terminal nor store. `keymap` says what keys
//! mean, `transcript` what is written into the scrollback, `outcome` what slash commands do, and
//! `dialogs` what dialogs want. `run` is the loop, `perform` does what intents ask for, and `plan_run`
//! runs a plan file.

mod complete;
mod dialogs;
mod intent;
mod keymap;
mod model;
mod msg;
mod outcome;
mod perform;
mod plan_run;
mod run;
mod transcript;
mod update;
mod view;

#[cfg(test)]
mod tests;

pub use crate::dialog::{Approvals, TeamMember};
pub use crate::watch::AgentSource;
pub use perform::{Choice, DoWith, NamedModel, OpenSession, Opened, Place, Sources};
pub use plan_run::PlanRun;
pub use run::{Start, run};

pub use crate::terminal::inline_terminal::{OnTaken, Taken};
