//! The engine: everything that front ends share.
//!
//! A program that works with plans begins with [`Engine`]. The modules are for front ends:
//!
//! - [`access`]: who may use the HTTP server.
//! - [`fail`]: errors with hints that say what to do next.
//! - [`project`]: the project of a directory.
//! - [`plan_service`]: finds or creates the plan that a call is about.
//! - [`change`], [`next`], [`goal`], [`merge`], [`forget`]: change a plan, pick the next item, edit
//!   the goal, merge a Markdown checklist, erase texts.
//! - [`archive`]: exports and imports whole plans.
//! - [`check`]: runs checks and records evidence.
//! - [`policy`]: who may do what.
//! - [`workers`]: agents' programs that do an item, and what is kept of them.
//! - [`run`], [`outputs`], [`ledger`]: run plan files, keep the outputs of calls, keep calls and
//!   questions in the store.
//! - [`answering`]: answers questions.
//! - [`overview`]: the plan of a project and the questions that wait, to show them.
//! - [`notices`]: tells a person, once, that they are needed or that work has ended.
//! - [`conversation`], [`tool_service`]: a conversation with a model, and the calls of its to-do
//!   tools.
//! - [`session`], [`hook`]: sessions of agents, and their hooks.
//! - [`record`], [`watch`], [`stream_input`], [`acp`]: record and show lists of agents from their
//!   streams.
//! - [`work`]: workers, which do the items of shared plans.
//! - [`access`], [`browser_sign_in`]: tokens of programs, and sessions of browsers.
//! - [`candidates`]: what a person may type next.
//! - [`custom_commands`]: slash commands from Markdown files.
//! - [`terminal_state`]: what the terminal UI remembers between two starts.
//! - [`settings`], [`places`]: configuration texts, and the user's directories.
//! - [`install`], [`doctor`]: set agents up, and find out what does not work.
//!
//! The caller passes in clock, random numbers, environment and configuration files. Plans are
//! reached through the traits in `model`; no store is named here.

#![forbid(unsafe_code)]

pub mod access;
pub mod acp;
pub mod answering;
pub mod archive;
pub mod around;
pub mod browser_sign_in;
pub mod candidates;
pub mod change;
pub mod check;
pub mod conversation;
pub mod custom_commands;
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
pub mod notices;
pub mod outputs;
pub mod overview;
pub mod places;
pub mod plan_service;
pub mod policy;
pub mod project;
pub mod record;
pub mod run;
pub mod session;
pub mod settings;
pub mod stream_input;
pub mod terminal_state;
pub mod tool_service;
pub mod watch;
pub mod work;
pub mod workers;

pub use around::{Around, System};
pub use conversation::{CallResult, Conversation, Stop};
pub use engine::{Engine, Options, PlanHandle, Verified, Worker, item};
pub use ledger::CallLedger;
pub use plan_service::Which;
/// Replaces a file atomically.
pub use punchlist_bridge::replace;
/// The user's editor, pager and own commands, started at the caller's terminal.
pub use punchlist_bridge::{editor, pager, shell};
/// Questions to people, and the possible answers.
pub use punchlist_model::call::{Answer, Asked, Question};
/// Errors of a store.
pub use punchlist_model::store::Error;

/// Dialects: how a model sees a plan, and the tool definitions for providers.
pub use punchlist_formats::dialect::{Api, Dialect};
/// Views of plans.
pub use punchlist_formats::view;
/// A session's key: the agent's name and the agent's id of the session.
pub use punchlist_model::{QuestionId, SessionKey};
