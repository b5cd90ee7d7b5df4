//! The items of a turn. All three forms have them, with different spellings.
//!
//! Lists are handled elsewhere: the one item that is a list, where it is printed.

use crate::event::joined;
use crate::event::{Kind, Outcome, Role, Text, Usage};
use crate::json::{Object, Value};
use crate::parse::emit::Emit;

/// The type of an item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// A message of the model.
    Message,
    /// The model's reasoning.
    Reasoning,
    /// A message of the user.
    User,
    /// A message of a hook in the user's place.
    Hook,
    /// An error after which the agent goes on.
    Warning,
    Command,
    FileChange,
    Mcp,
    /// A call about sub-agents.
    Collab,
    WebSearch,
    /// The list.
    Todo,
    /// Known, and ignored.
    Silent,
}

impl Sort {
    pub(super) fn of(item: &Object<'_>) -> Option<Self> {
        Some(match item.text("type")?.literal() {
            "\"agent_message\"" | "\"agentMessage\"" | "\"AgentMessage\"" => Self::Message,
            "\"reasoning\"" | "\"Reasoning\"" => Self::Reasoning,
            "\"userMessage\"" | "\"UserMessage\"" => Self::User,
            "\"hookPrompt\"" | "\"HookPrompt\"" => Self::Hook,
            "\"error\"" => Self::Warning,
            "\"command_execution\"" | "\"commandExecution\"" | "\"CommandExecution\"" => {
                Self::Command
            }
            "\"file_change\"" | "\"fileChange\"" | "\"FileChange\"" => Self::FileChange,
            "\"mcp_tool_call\"" | "\"mcpToolCall\"" | "\"McpToolCall\"" => Self::Mcp,
            "\"collab_tool_call\"" | "\"collabAgentToolCall\"" | "\"CollabAgentToolCall\"" => {
                Self::Collab
            }
            "\"web_search\"" | "\"webSearch\"" | "\"WebSearch\"" => Self::WebSearch,
            "\"todo_list\"" => Self::Todo,
            "\"subAgentActivity\""
            | "\"SubAgentActivity\""
            | "\"contextCompaction\""
            | "\"ContextCompaction\"" => Self::Silent,
            _ => return None,
        })
    }
}

/// Handles the start of an item. Only the starts of tool calls are reported.
pub(super) fn started(sort: Sort, item: &Object<'_>, emit: &mut Emit<'_>) {
    if let (Some((name, arguments)), Some(id)) = (tool(sort, item), item.text("id")) {
        let input = input(arguments, item);
        let input = input.as_deref().and_then(|it| Value::read(it).ok());
        let input = input.and_then(|it| emit.input(it));
        emit.event(Kind::ToolStarted {
            call_id: Text::raw(id),
            name: Some(Text::from(name)),
            input,
        });
    }
}

/// Handles the end of an item.
pub(super) fn completed(sort: Sort, item: &Object<'_>, emit: &mut Emit<'_>) {
    let say = |role, text| Kind::Text { role, text, delta: false, citations: &[] };
    let content = || item.get("text").or_else(|| item.get("content")).and_then(joined);
    match sort {
        Sort::Message => {
            if let Some(text) = content() {
                emit.event(say(Role::Assistant, text));
            }
        }
        Sort::User => {
            if let Some(text) = content() {
                emit.event(say(Role::User, text));
            }
        }
        Sort::Hook => {
            if let Some(text) = item.get("fragments").and_then(joined) {
                emit.event(say(Role::System, text));
            }
        }
        Sort::Reasoning => {
            let names = ["text", "summary", "summary_text"];
            let found = names.into_iter().find_map(|it| item.get(it).and_then(joined));
            if let Some(text) = found {
                emit.event(Kind::Thinking { text, delta: false });
            }
        }
        Sort::Warning => {
            if let Some(message) = item.text("message").map(Text::raw) {
                emit.event(Kind::Error { message, code: None, recoverable: true });
            }
        }
        Sort::Command | Sort::FileChange | Sort::Mcp | Sort::Collab | Sort::WebSearch => {
            if let Some(id) = item.text("id") {
                let name = tool(sort, item).map(|it| Text::from(it.0));
                let status = outcome(item).unwrap_or(Outcome::Success);
                let output = output(item);
                emit.event(Kind::ToolCompleted { call_id: Text::raw(id), name, status, output });
            }
        }
        Sort::Todo | Sort::Silent => {}
    }
}

/// How a call ended, if it has.
pub(super) fn outcome(item: &Object<'_>) -> Option<Outcome> {
    match item.text("status")?.literal() {
        "\"completed\"" => Some(Outcome::Success),
        "\"failed\"" | "\"declined\"" => Some(Outcome::Error),
        _ => None,
    }
}

/// The name of a tool, and the field with its arguments.
fn tool(sort: Sort, item: &Object<'_>) -> Option<(String, &'static str)> {
    let word = |name: &str| item.text(name).map_or_else(String::new, |it| it.cow().into_owned());
    match sort {
        Sort::Command => Some(("command_execution".to_owned(), "command")),
        Sort::FileChange => Some(("file_change".to_owned(), "changes")),
        // The name that the program's hooks use.
        Sort::Mcp => Some((format!("mcp__{}__{}", word("server"), word("tool")), ARGUMENTS)),
        Sort::Collab => Some((word("tool"), "prompt")),
        Sort::WebSearch => Some(("web_search".to_owned(), "query")),
        Sort::Message
        | Sort::Reasoning
        | Sort::User
        | Sort::Hook
        | Sort::Warning
        | Sort::Todo
        | Sort::Silent => None,
    }
}

/// The field whose fields are the arguments. Any other field is an argument itself.
const ARGUMENTS: &str = "arguments";

fn input(field: &str, item: &Object<'_>) -> Option<String> {
    let value = item.get(field)?;
    if field == ARGUMENTS {
        return Some(value.raw().to_owned());
    }
    if value.is_null() {
        return None;
    }
    Some(format!("{{\"{field}\":{}}}", value.raw()))
}

fn output<'a>(item: &Object<'a>) -> Option<Text<'a>> {
    let printed = item.text("aggregated_output").or_else(|| item.text("aggregatedOutput"));
    if let Some(printed) = printed {
        return Some(Text::raw(printed));
    }
    match item.path(&["error", "message"]).and_then(|it| it.str()) {
        Some(message) => Some(Text::raw(message)),
        None => item.path(&["result", "content"]).and_then(joined),
    }
}

/// Reads tokens as the program counts them: for the whole thread, including cached ones.
pub(super) fn spent(usage: &Object<'_>) -> Usage {
    let count = |one: &str, other: &str| {
        usage.get(one).or_else(|| usage.get(other)).and_then(|it| it.u64())
    };
    Usage {
        input_tokens: count("input_tokens", "inputTokens"),
        output_tokens: count("output_tokens", "outputTokens"),
        cached_tokens: count("cached_input_tokens", "cachedInputTokens"),
        reasoning_tokens: count("reasoning_output_tokens", "reasoningOutputTokens"),
        cumulative: true,
        ..Usage::default()
    }
}

/// The same with the context: `last` is what the last model call used, `window` the context's size.
pub(super) fn spent_with(
    total: &Object<'_>,
    last: Option<Object<'_>>,
    window: Option<u64>,
) -> Usage {
    let last = last.and_then(|it| it.get("total_tokens").or_else(|| it.get("totalTokens"))?.u64());
    Usage { context_tokens: last, context_window: window, ..spent(total) }
}
