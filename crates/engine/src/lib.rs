//! What every front end needs, and no front end owns.
//!
//! A program that works with plans begins with [`Engine`]. The modules are for front ends:
//! [`fail`] is what went wrong, with what to do next. [`project`] says which project a directory
//! belongs to, [`check`] runs checks and keeps evidence, [`archive`] writes and reads whole plans,
//! [`merge`] takes a Markdown checklist into a plan. [`change`] changes a plan on somebody's behalf,
//! [`next`] says which item comes next, [`goal`] what is said of a goal, [`answering`] answers questions
//! that wait. [`stream_input`] reads files as streams of agents, [`acp`] keeps the lists that a proxy
//! hears. [`session`] keeps what is known of other agents' sessions, [`hook`] answers their hooks,
//! [`record`] keeps lists that were seen from outside, [`plan_service`] says which plan is meant and makes
//! it once, [`tool_service`] runs one call of a dialect's tool on a conversation's plan. [`run`] runs plan
//! files, [`outputs`] keeps what their calls printed, [`ledger`] keeps the calls and questions of a
//! scheduler's run in the store. [`watch`] joins the sessions of all agents with the plans. [`policy`] says
//! who may do what, and [`places`] where the user's own files lie. [`settings`] reads configuration texts,
//! [`install`] sets agents up, [`doctor`] finds what does not work, [`forget`] erases texts. Clock, random
//! numbers, environment and configuration files are handed in; plans are reached through the model's store,
//! and no store is named here.

#![forbid(unsafe_code)]

pub mod acp;
pub mod answering;
pub mod archive;
pub mod around;
pub mod change;
pub mod check;
pub mod conversation;
pub mod doctor;
pub mod engine;
pub mod fail;
pub mod forget;
pub mod goal;
pub mod hook;
pub mod install;
pub mod ledger;
pub mod merge;
pub mod next;
pub mod outputs;
pub mod places;
pub mod plan_service;
pub mod policy;
pub mod project;
pub mod record;
pub mod run;
pub mod session;
pub mod settings;
pub mod stream_input;
pub mod tool_service;
pub mod watch;

pub use around::{Around, System};
pub use conversation::{CallResult, Conversation, Stop};
pub use engine::{Engine, Options, PlanHandle, Verified, Worker, item};
pub use ledger::CallLedger;
pub use plan_service::Which;
/// Puts a new text in the place of a file, wholly or not at all.
pub use punchlist_bridge::replace;
/// The user's editor and pager, started at the terminal of whoever calls.
pub use punchlist_bridge::{editor, pager};
/// Questions to people, and what may be answered.
pub use punchlist_model::call::{Answer, Asked, Question};
/// What can go wrong with a store.
pub use punchlist_model::store::Error;

/// How a model sees a plan, and how providers are told of the tools.
pub use punchlist_formats::dialect::{Api, Dialect};
/// How plans are drawn.
pub use punchlist_formats::view;
/// Which conversation: what the agent is called, and what it calls its session.
pub use punchlist_model::{QuestionId, SessionKey};
