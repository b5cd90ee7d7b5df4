//! What the model reads. Every model call is built anew from what is recorded; nothing is kept here.
//!
//! A call consists of the system prompt (`system`), the record of the conversation in whole rounds
//! (`record`, `messages`), and one last message that is not stored: the request and the list as they
//! stand (`latest`). `compact` decides which old results are shortened, and what the model is asked to
//! summarise.
//!
//! Text that did not come from us is put between fences by [`fence`]; the caller does so with results
//! before it records them, after it has masked secrets with [`punchlist_formats::text::mask`].

mod compact;
mod latest;
mod messages;
mod purpose;
mod quote;
mod record;
mod system;
#[cfg(test)]
mod tests;

use crate::provider::Message;
use crate::session::Recorded;
use crate::turn::{Ask, Offered, Strategy};

pub use compact::{SummaryRequest, WholeSummary, summary_request, tokens_of, whole_summary};
pub use quote::fence;

/// Everything that a model call depends on.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// What the model is called for, and with which tools.
    pub ask: &'a Ask,
    /// Which loop works on the request.
    pub strategy: Strategy,
    /// What the system prompt says besides our own texts.
    pub system: &'a SystemFacts<'a>,
    /// The entries of earlier turns, oldest first.
    pub earlier: &'a [Recorded],
    /// The entries of this turn, oldest first.
    pub turn: &'a [Recorded],
    /// The user's request of this turn.
    pub request: &'a str,
    /// The list in the dialect's own view; `None` without a plan.
    pub list: Option<&'a str>,
    /// Whether the list has changed since the last model call, or has not been shown in this turn.
    pub list_changed: bool,
    /// The full text of the item in progress.
    pub in_progress: Option<&'a str>,
    /// The settings.
    pub options: &'a ContextOptions,
}

/// What the system prompt says besides our own texts. It must stay the same during a turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemFacts<'a> {
    /// The directory in which the agent works.
    pub directory: &'a str,
    /// The operating system.
    pub operating_system: &'a str,
    /// The date, such as `2026-11-17`.
    pub date: &'a str,
    /// The git branch.
    pub branch: Option<&'a str>,
    /// `AGENTS.md` and the like, from the root of the project down to the directory.
    pub instructions: &'a [Instructions<'a>],
    /// The section on the plan. It is shown only if the plan's tools are offered.
    pub plan_section: Option<&'a str>,
    /// The tool that adds items to the plan.
    pub plan_tool: &'a str,
    /// Who can be given a task with `delegate`.
    pub workers: &'a [WorkerFacts<'a>],
    /// The JSON Schema that the final answer must fit.
    pub output_schema: Option<&'a str>,
}

/// A file with instructions of the project.
#[derive(Clone, Copy, Debug)]
pub struct Instructions<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// A worker, as the model reads about it.
#[derive(Clone, Copy, Debug)]
pub struct WorkerFacts<'a> {
    /// Its name: the `agentType` of `delegate`.
    pub name: &'a str,
    /// What it can do.
    pub description: &'a str,
}

/// Settings of what the model reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContextOptions {
    /// How many messages of earlier turns are shown.
    pub history: usize,
    /// When the request and the list are added.
    pub inject: Inject,
    /// The size of the model's context window, in tokens.
    pub context_tokens: u64,
    /// Compaction begins when this percentage of the context is used.
    pub compact_percent: u64,
    /// The longest list, with the item in progress, in bytes. Also the longest repeated request.
    pub list_bytes: usize,
    /// The longest instructions of the project, all files together, in bytes.
    pub instruction_bytes: usize,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self {
            history: 10,
            inject: Inject::Always,
            context_tokens: 128_000,
            compact_percent: 70,
            list_bytes: 8 * 1024,
            instruction_bytes: 32 * 1024,
        }
    }
}

/// When the request and the list are added as the last message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Inject {
    /// Before every model call.
    #[default]
    Always,
    /// When the list has changed since the last model call.
    OnChange,
}

/// What a model call sends.
#[derive(Clone, PartialEq, Debug)]
pub struct Built {
    /// The system prompt.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// How many of the last messages are not stored, and so differ in the next call.
    pub uncached: usize,
}

/// Builds a model call.
pub fn build(context: &Context<'_>) -> Built {
    let record = record::of(context);
    let shortened = compact::state(context, &record).shortened;
    let form = match context.ask.tools {
        // Some providers refuse calls and results in a conversation without tools.
        Offered::Nothing => messages::Form::Text,
        Offered::Planning | Offered::WithoutPlan | Offered::Everything => messages::Form::Calls,
    };
    let mut messages = messages::of(&record.units, shortened, form);
    // No conversation may end with the model's own words.
    let awaits_model = matches!(messages.last(), Some(Message::User(_) | Message::Results(_)));
    let is_injected = match context.options.inject {
        Inject::Always => true,
        Inject::OnChange => context.list_changed || !awaits_model,
    };
    if is_injected {
        messages.push(Message::User(latest::message(context)));
    }
    Built { system: system::prompt(context), messages, uncached: usize::from(is_injected) }
}
