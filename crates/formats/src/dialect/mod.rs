//! The to-do tools that models use: tools, arguments and results.
//!
//! A dialect converts a tool call to operations of `punchlist-model`, and the result to the reply
//! format that the model knows. It does not use a store and contains no rule of the plan: the model
//! crate refuses a change, and the dialect words the refusal and names the tool to use next. A new
//! dialect is a new file here and one more arm in each `match` below.

mod args;
mod evidence;
mod manager;
mod refuse;
mod schema;
mod tasks;
#[cfg(test)]
mod tests;
mod todowrite;
mod turn;
mod update_plan;
mod whole;
mod write_todos;

use std::fmt;
use std::str::FromStr;

use punchlist_model::json_text::replace_lone_surrogates;
use punchlist_model::needs::Needs;
use punchlist_model::store::{Applied, Error};
use punchlist_model::{Item, ItemRef, Op, Position, Slice};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::text::escape;
use crate::typed::items;

/// A set of tools through which a model works on a plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Dialect {
    /// One tool with actions. Ids are positions. Results are JSON that contains XML.
    Manager,
    /// One tool per operation. Ids are item ids. Results are JSON.
    Turn,
    /// One tool that takes the whole list at each call. Results are text.
    TodoWrite,
    /// Gemini CLI's tool, which takes the whole list.
    WriteTodos,
    /// Codex's tool, which takes the whole list.
    UpdatePlan,
    /// Claude Code's four tools. Ids are item numbers. Results are text.
    Tasks,
}

/// How much of a dialect a model is shown. All arguments are accepted at every surface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Surface {
    /// No tools.
    Off,
    /// One-line descriptions, without Punchlist's additional fields.
    Thin,
    /// Longer descriptions, Punchlist's additional fields, and a prompt section.
    Full,
}

/// A word that names no dialect or surface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unknown {
    what: &'static str,
    legal: &'static str,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {}: use {}", self.what, self.legal)
    }
}

impl std::error::Error for Unknown {}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 6] = [
        Self::Manager,
        Self::Turn,
        Self::TodoWrite,
        Self::WriteTodos,
        Self::UpdatePlan,
        Self::Tasks,
    ];

    /// The names of all dialects, for a sentence.
    const NAMES: &str = "manager, turn, todowrite, write_todos, update_plan or tasks";

    /// The name on the command line and in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manager => "manager",
            Self::Turn => "turn",
            Self::TodoWrite => "todowrite",
            Self::WriteTodos => "write_todos",
            Self::UpdatePlan => "update_plan",
            Self::Tasks => "tasks",
        }
    }

    /// The tools that a model is offered.
    pub fn tools(self, surface: Surface) -> Vec<ToolSpec> {
        let full = match surface {
            Surface::Off => return Vec::new(),
            Surface::Thin => false,
            Surface::Full => true,
        };
        match self {
            Self::Manager => manager::tools(full),
            Self::Turn => turn::tools(full),
            Self::TodoWrite => todowrite::tools(full),
            Self::WriteTodos => write_todos::tools(full),
            Self::UpdatePlan => update_plan::tools(full),
            Self::Tasks => tasks::tools(full),
        }
    }

    /// The section for the system prompt: when and how to plan. Only the full surface has one. Give
    /// it only to a model that has the tools.
    pub fn prompt_section(self, surface: Surface) -> Option<&'static str> {
        match (surface, self) {
            (Surface::Off | Surface::Thin, _) => None,
            (Surface::Full, Self::Manager) => Some(manager::PROMPT),
            (Surface::Full, Self::Turn) => Some(turn::PROMPT),
            (Surface::Full, Self::TodoWrite) => Some(todowrite::PROMPT),
            (Surface::Full, Self::WriteTodos) => Some(write_todos::PROMPT),
            (Surface::Full, Self::UpdatePlan) => Some(update_plan::PROMPT),
            (Surface::Full, Self::Tasks) => Some(tasks::PROMPT),
        }
    }

    /// Most open items in a plan when this dialect calls; `None` uses the setting.
    pub fn open_items(self) -> Option<u32> {
        match self {
            Self::Manager => Some(30),
            Self::TodoWrite => Some(20),
            Self::Turn | Self::WriteTodos | Self::UpdatePlan | Self::Tasks => None,
        }
    }

    /// The item that a model means by an id in the call of another tool. `None` if it can be none.
    pub fn item(self, id: &str) -> Option<ItemRef> {
        let id = id.trim();
        let bare = id.strip_prefix('#').unwrap_or(id);
        // Warnings to models that send whole lists name items by numbers, as `#4`.
        let is_number = bare != id && self != Self::Manager;
        match args::digits(bare) {
            Some(position) if self.has_positions() && !is_number => {
                Some(ItemRef::Position(Position(position)))
            }
            Some(_) | None => items::reference(bare),
        }
    }

    /// The id by which a model knows an item, for a sentence.
    pub fn id_of(self, item: &Item) -> String {
        match item.position.filter(|_| self.has_positions()) {
            Some(position) => position.to_string(),
            None => item.number.to_string(),
        }
    }

    /// Whether a model knows items by their positions. Where the list has no ids, it counts them.
    fn has_positions(self) -> bool {
        match self {
            Self::Manager | Self::TodoWrite | Self::WriteTodos | Self::UpdatePlan => true,
            Self::Turn | Self::Tasks => false,
        }
    }

    /// Parses the arguments of a tool. An error is a reply in the tool's own format.
    ///
    /// The bytes may be anything. No bytes and `null` count as an object without fields.
    pub fn call(self, tool: &str, arguments: &[u8]) -> Result<Call, Reply> {
        let arguments = &*replace_lone_surrogates(arguments);
        let decoded = || args::object(arguments).map_err(args::Bad::from);
        match self {
            Self::Manager => manager::call(tool, decoded()).map(Inner::Manager),
            Self::Turn => turn::call(tool, decoded()).map(Inner::Turn),
            Self::TodoWrite => todowrite::call(tool, decoded()).map(Inner::TodoWrite),
            Self::WriteTodos => write_todos::call(tool, decoded()).map(Inner::WriteTodos),
            Self::UpdatePlan => update_plan::call(tool, arguments).map(Inner::UpdatePlan),
            Self::Tasks => tasks::call(tool, decoded()).map(Inner::Tasks),
        }
        .map(|inner| Call { inner })
    }

    /// Like [`Dialect::call`], for arguments that are already parsed.
    pub fn call_with(self, tool: &str, arguments: Map<String, Value>) -> Result<Call, Reply> {
        match self {
            Self::Manager => manager::call(tool, args::shallow(arguments)).map(Inner::Manager),
            Self::Turn => turn::call(tool, args::shallow(arguments)).map(Inner::Turn),
            Self::TodoWrite => {
                todowrite::call(tool, args::shallow(arguments)).map(Inner::TodoWrite)
            }
            Self::WriteTodos => {
                write_todos::call(tool, args::shallow(arguments)).map(Inner::WriteTodos)
            }
            Self::Tasks => tasks::call(tool, args::shallow(arguments)).map(Inner::Tasks),
            // Errors of this tool name the position in the text, so it needs the text.
            Self::UpdatePlan => {
                let arguments = Value::Object(arguments).to_string();
                update_plan::call(tool, arguments.as_bytes()).map(Inner::UpdatePlan)
            }
        }
        .map(|inner| Call { inner })
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = Unknown;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = Unknown { what: "dialect", legal: Self::NAMES };
        Self::ALL.into_iter().find(|it| it.as_str() == text).ok_or(unknown)
    }
}

impl Surface {
    /// All surfaces, from the least to the most.
    pub const ALL: [Self; 3] = [Self::Off, Self::Thin, Self::Full];

    /// The name on the command line and in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Thin => "thin",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Surface {
    type Err = Unknown;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = Unknown { what: "surface", legal: "off, thin or full" };
        Self::ALL.into_iter().find(|it| it.as_str() == text).ok_or(unknown)
    }
}

/// A tool as it is offered to a model.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolSpec {
    /// The name that the model calls.
    pub name: &'static str,
    /// What the tool does, for people.
    pub title: &'static str,
    /// What the tool does, for the model.
    pub description: &'static str,
    /// JSON Schema (draft 2020-12, without references) of the arguments.
    pub input_schema: Value,
    /// JSON Schema of the structured result, if the tool has one.
    pub output_schema: Option<Value>,
    /// Whether the tool never changes the plan.
    pub read_only: bool,
}

impl ToolSpec {
    /// The tool as an MCP server lists it.
    pub fn to_json(&self) -> Value {
        let mut tool = Map::new();
        tool.insert("name".into(), self.name.into());
        tool.insert("title".into(), self.title.into());
        tool.insert("description".into(), self.description.into());
        tool.insert("inputSchema".into(), self.input_schema.clone());
        if let Some(schema) = &self.output_schema {
            tool.insert("outputSchema".into(), schema.clone());
        }
        if self.read_only {
            tool.insert("annotations".into(), serde_json::json!({"readOnlyHint": true}));
        }
        Value::Object(tool)
    }
}

/// A provider's format for tool definitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Api {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's responses.
    OpenAi,
    /// OpenAI's chat completions, and compatible APIs.
    OpenAiChat,
    /// Gemini's function declarations.
    Gemini,
}

impl ToolSpec {
    /// The tool in a provider's format.
    pub fn for_api(&self, api: Api) -> Value {
        let (name, description, schema) = (self.name, self.description, &self.input_schema);
        match api {
            Api::Anthropic => serde_json::json!({
                "name": name, "description": description, "input_schema": schema,
            }),
            Api::OpenAi => serde_json::json!({
                "type": "function", "name": name, "description": description,
                "parameters": schema, "strict": false,
            }),
            Api::OpenAiChat => serde_json::json!({"type": "function", "function": {
                "name": name, "description": description, "parameters": schema,
            }}),
            Api::Gemini => serde_json::json!({
                "name": name, "description": description, "parametersJsonSchema": schema,
            }),
        }
    }
}

/// A parsed tool call.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    inner: Inner,
}

#[derive(Clone, PartialEq, Debug)]
enum Inner {
    Manager(manager::Call),
    Turn(turn::Call),
    TodoWrite(todowrite::Call),
    WriteTodos(write_todos::Call),
    UpdatePlan(update_plan::Call),
    Tasks(tasks::Call),
}

impl Call {
    /// The operations of the call; `None` if it only reads.
    pub fn ops(&self) -> Option<&[Op]> {
        match &self.inner {
            Inner::Manager(call) => call.ops(),
            Inner::Turn(call) => call.ops(),
            Inner::TodoWrite(call) => Some(call.ops()),
            Inner::WriteTodos(call) => Some(call.ops()),
            Inner::UpdatePlan(call) => Some(call.ops()),
            Inner::Tasks(call) => call.ops(),
        }
    }

    /// What to load. For a call that only reads: everything that its reply shows. For a change: the
    /// items that a refusal may have to name by id or position.
    pub fn needs(&self) -> Needs {
        if let Inner::Tasks(call) = &self.inner
            && let Some(needs) = call.needs()
        {
            return needs;
        }
        self.ops().map_or_else(Needs::whole, Needs::of)
    }

    /// The reply to the model.
    pub fn reply(&self, answer: Answer<'_>) -> Reply {
        match &self.inner {
            Inner::Manager(call) => call.reply(answer),
            Inner::Turn(call) => call.reply(answer),
            Inner::TodoWrite(call) => call.reply(answer),
            Inner::WriteTodos(call) => call.reply(answer),
            Inner::UpdatePlan(call) => call.reply(answer),
            Inner::Tasks(call) => call.reply(answer),
        }
    }
}

/// The result of a call.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and a reply consumes it")]
pub enum Answer<'a> {
    /// The change was made, or there was nothing to change.
    Changed(&'a Applied),
    /// What [`Call::needs`] names, for a call that only reads.
    Read(Slice),
    /// The store returned an error. The slice contains what [`Call::needs`] names, if it could be
    /// loaded, so that the reply can name items as the model knows them.
    Failed(&'a Error, Option<&'a Slice>),
}

/// A reply to the model.
#[derive(Clone, PartialEq, Debug)]
pub struct Reply {
    /// The result as text.
    pub text: String,
    /// The result as JSON that matches the tool's output schema, if it has one. The text may
    /// contain escapes for terminals; the JSON contains the unescaped values.
    pub structured: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
    /// Whether the plan was changed.
    pub changed: bool,
    /// Whether the reply shows the whole list, so that its reader has seen the current revision.
    pub shows: bool,
}

impl Reply {
    /// A result that is only text.
    fn text(text: String, changed: bool) -> Self {
        Self { text, structured: None, is_error: false, changed, shows: false }
    }

    /// A result that is JSON.
    fn json(value: &impl Serialize, changed: bool) -> Self {
        // Replies have only string keys, so serialising cannot fail.
        let text = serde_json::to_string(value).unwrap_or_default();
        let structured = serde_json::to_value(value).unwrap_or_default();
        let text = escape::json(&text).into_owned();
        Self { structured: Some(structured), ..Self::text(text, changed) }
    }

    /// A failure that is only text.
    fn error(text: String) -> Self {
        Self { is_error: true, ..Self::text(text, false) }
    }
}

/// The reply if the caller passes an [`Answer`] that does not belong to the call: a bug in the
/// caller. The model gets an error instead of a panic.
const MISMATCH: &str = "Internal error: the call was answered with the wrong kind of answer.";
