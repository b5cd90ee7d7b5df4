//! Calls of the tools of Punchlist's own MCP server, by any agent: their results contain the plan.
//!
//! Parsers emit such calls like any others; [`super::emit`] passes them to this file, which makes a
//! list from each successful one. A plan belongs to the session. Of a plan that is older than the
//! stream, only the part in the stream is known. Memory is bounded.
//!
//! A server with the name `punchlist`, which `install` uses, is ours, whatever its dialect. A
//! server with another name is recognised by its first result of the dialect `turn`, whose ids and
//! keys are unique to Punchlist; that first call is still reported as a tool call, later ones are
//! not. The tools of the other dialects have names that other programs use too, so under another
//! server's name they stay tool calls.

mod results;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::results::Todo;
use crate::event::{Item, Kind, Outcome};

/// The end of all tool names of the dialect `turn`, in every agent's lines.
pub(super) const NEEDLE: &str = "_todo\"";

/// Part of every call of a tool of a server named `punchlist`.
pub(super) const SERVER: &str = "punchlist";

/// The prefixes that agents put before the tools of a server named `punchlist`.
const PREFIXES: [&str; 4] = ["mcp__punchlist__", "mcp_punchlist_", "punchlist__", "punchlist."];

const MOST_CALLS: usize = 1_024;
const MOST_PLANS: usize = 64;
const MOST_SERVERS: usize = 16;
/// Maximum size of the stored arguments of calls without a result.
const MOST_INPUT: usize = 4 << 20;

/// The tools of all dialects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tool {
    Create,
    List,
    Complete,
    Update,
    Next,
    Manager,
    TodoWrite,
    WriteTodos,
    UpdatePlan,
    TaskCreate,
    TaskUpdate,
    TaskGet,
    TaskList,
}

const TOOLS: [(&str, Tool); 13] = [
    ("create_todo", Tool::Create),
    ("list_todo", Tool::List),
    ("complete_todo", Tool::Complete),
    ("update_todo", Tool::Update),
    ("next_todo", Tool::Next),
    ("todo_manager", Tool::Manager),
    ("TodoWrite", Tool::TodoWrite),
    ("write_todos", Tool::WriteTodos),
    ("update_plan", Tool::UpdatePlan),
    ("TaskCreate", Tool::TaskCreate),
    ("TaskUpdate", Tool::TaskUpdate),
    ("TaskGet", Tool::TaskGet),
    ("TaskList", Tool::TaskList),
];

impl Tool {
    fn parse(name: &str) -> Option<Self> {
        TOOLS.iter().find(|it| it.0 == name).map(|it| it.1)
    }

    /// Whether it is a tool of the dialect `turn`.
    fn is_turn(self) -> bool {
        matches!(self, Self::Create | Self::List | Self::Complete | Self::Update | Self::Next)
    }

    /// Whether the result alone does not contain the new list.
    fn needs_input(self) -> bool {
        matches!(self, Self::UpdatePlan | Self::TaskCreate | Self::TaskUpdate)
    }
}

/// A tool that may be ours, with its server if that is not named `punchlist`.
struct Named {
    tool: Tool,
    other: Option<String>,
}

impl Named {
    fn parse(name: &str) -> Option<Self> {
        if let Some(tool) = PREFIXES.iter().find_map(|it| Tool::parse(name.strip_prefix(it)?)) {
            return Some(Self { tool, other: None });
        }
        let (server, tool) = match name.strip_prefix("mcp__") {
            Some(rest) => rest.rsplit_once("__")?,
            None => {
                let rest = name.strip_prefix("mcp_")?;
                let tool = TOOLS.iter().map(|it| it.0).find(|it| rest.ends_with(it))?;
                (rest.strip_suffix(tool)?.strip_suffix('_')?, tool)
            }
        };
        let tool = Tool::parse(tool).filter(|it| it.is_turn() && !server.is_empty())?;
        Some(Self { tool, other: Some(server.to_owned()) })
    }
}

/// A call without a result.
#[derive(Debug)]
struct Call {
    id: String,
    tool: Tool,
    /// The server, if it was not known to be ours at the time of the call.
    other: Option<String>,
    /// The arguments, if the result alone is not enough.
    input: Option<String>,
}

/// A successful call.
pub(super) struct Answered {
    tool: Tool,
    input: Option<String>,
    said: String,
}

/// The result of handling an event.
pub(super) enum Took {
    /// The event is not about our tools: emit it.
    Nothing,
    /// A call of one of our tools, or a failed one: do not emit it.
    Call,
    /// A successful result: report the list instead.
    Answer(Answered),
    /// A successful result of a call that was emitted before the server was recognised: emit both.
    Also(Answered),
}

/// The calls without a result, and the plans.
#[derive(Default, Debug)]
pub(super) struct Ours {
    calls: VecDeque<Call>,
    /// Our servers with other names.
    servers: BTreeSet<String>,
    /// The lists, by session.
    plans: BTreeMap<String, Vec<Todo>>,
}

impl Ours {
    /// Whether a call has no result yet.
    pub(super) fn is_waiting(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Starts the session's next turn: older calls will not get a result any more.
    pub(super) fn give_up(&mut self) {
        self.calls.clear();
    }

    /// Whether this call has no result yet.
    pub(super) fn awaits(&self, call: &str) -> bool {
        self.calls.iter().any(|it| it.id == call)
    }

    /// Handles an event, if it is about one of our tools.
    pub(super) fn take(&mut self, kind: &Kind<'_>) -> Took {
        let (call, name, input) = if let Kind::ToolScheduled { call_id, name, input } = kind {
            (call_id, Some(name), *input)
        } else if let Kind::ToolStarted { call_id, name, input } = kind {
            (call_id, name.as_ref(), *input)
        } else if let Kind::ToolCompleted { call_id, name, .. } = kind {
            (call_id, name.as_ref(), None)
        } else {
            return Took::Nothing;
        };
        let named = name.and_then(|it| Named::parse(&it.to_str()));
        if named.is_none() && self.calls.is_empty() {
            return Took::Nothing;
        }
        let id = call.to_str();
        let known = self.calls.iter().position(|it| it.id == id);
        let new = named.map(|Named { tool, other }| Call {
            id: id.into_owned(),
            tool,
            other: other.filter(|it| !self.servers.contains(it)),
            input: None,
        });
        if let Kind::ToolCompleted { status, output, .. } = kind {
            let call = known.and_then(|at| self.calls.remove(at)).or(new);
            let said = output.as_ref().filter(|_| *status == Outcome::Success);
            return call.map_or(Took::Nothing, |call| self.ended(call, said.map(|it| it.to_str())));
        }
        let at = match (known, new) {
            (Some(at), _) => at,
            (None, Some(new)) => {
                if self.calls.len() >= MOST_CALLS {
                    self.calls.pop_front();
                }
                self.calls.push_back(new);
                self.calls.len() - 1
            }
            (None, None) => return Took::Nothing,
        };
        self.keep_input(at, input.map(|it| it.get()));
        match self.calls.get(at) {
            Some(Call { other: None, .. }) => Took::Call,
            Some(Call { other: Some(_), .. }) | None => Took::Nothing,
        }
    }

    /// Stores the arguments of a call, if there is room.
    fn keep_input(&mut self, at: usize, input: Option<&str>) {
        let kept: usize =
            self.calls.iter().filter_map(|it| it.input.as_ref()).map(String::len).sum();
        if let (Some(call), Some(input)) = (self.calls.get_mut(at), input)
            && call.tool.needs_input()
            && call.input.is_none()
            && kept + input.len() <= MOST_INPUT
        {
            call.input = Some(input.to_owned());
        }
    }

    /// Handles the end of a call; `said` is its output if it succeeded.
    fn ended(&mut self, call: Call, said: Option<std::borrow::Cow<'_, str>>) -> Took {
        let Call { tool, other, input, .. } = call;
        match (other, said) {
            (None, None) => Took::Call,
            (None, Some(said)) => Took::Answer(Answered { tool, input, said: said.into_owned() }),
            (Some(_), None) => Took::Nothing,
            (Some(server), Some(said)) => {
                if !results::is_turn(tool, &said) {
                    return Took::Nothing;
                }
                if self.servers.len() < MOST_SERVERS {
                    self.servers.insert(server);
                }
                Took::Also(Answered { tool, input, said: said.into_owned() })
            }
        }
    }

    /// Applies a result to the session's plan; `None` if the result has no list.
    pub(super) fn answered(&mut self, session: &str, answer: &Answered) -> Option<Vec<Item<'_>>> {
        if !self.plans.contains_key(session) && self.plans.len() >= MOST_PLANS {
            self.plans.pop_first();
        }
        let todos = self.plans.entry(session.to_owned()).or_default();
        let Answered { tool, input, said } = answer;
        results::apply(todos, *tool, input.as_deref(), said)
            .then(|| todos.iter().map(Todo::item).collect())
    }
}
