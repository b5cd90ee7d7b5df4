//! Calls of our own MCP server's tools, whichever agent makes them: their results tell the plan.
//!
//! Parsers pass such calls on as they do any other's; [`super::emit`] hands them to this file, and a list
//! comes of each that succeeded. A plan belongs to the session. Of a plan that was begun before the stream,
//! as much is known as was seen. What is kept is bounded.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use super::todo::{self, MOST_ITEMS, Meaning};
use crate::event::{Item, Kind, Outcome, Status, Text};
use crate::json::{self, Object, Str, Value};

/// All names of our tools end so, in every agent's lines.
pub(super) const NEEDLE: &str = "_todo\"";

/// How agents write the tools of a server called `punchlist`.
const PREFIXES: [&str; 4] = ["mcp__punchlist__", "mcp_punchlist_", "punchlist__", "punchlist."];

const MOST_CALLS: usize = 1_024;
const MOST_PLANS: usize = 64;
/// The most bytes of titles of one plan, and the longest id.
const MOST_BYTES: usize = 4 << 20;
const LONGEST_ID: usize = 64;

/// The tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tool {
    Create,
    List,
    Complete,
    Update,
    Next,
}

impl Tool {
    /// The tool of ours that an agent calls by this name.
    fn parse(name: &str) -> Option<Self> {
        let name = PREFIXES.iter().find_map(|it| name.strip_prefix(it))?;
        Some(match name {
            "create_todo" => Self::Create,
            "list_todo" => Self::List,
            "complete_todo" => Self::Complete,
            "update_todo" => Self::Update,
            "next_todo" => Self::Next,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug)]
struct Todo {
    id: String,
    title: String,
    status: Status,
    waiting_on: Option<String>,
    parent: Option<String>,
}

/// What is known of calls and plans.
#[derive(Default, Debug)]
pub(super) struct Ours {
    /// Calls without a result, by a call's id.
    calls: VecDeque<(String, Tool)>,
    plans: BTreeMap<String, Vec<Todo>>,
}

/// What an event is to us.
pub(super) enum Took<'a> {
    /// Nothing: it goes where it was going.
    Nothing,
    /// A call of ours, or one that was refused.
    Call,
    /// The answer to one that succeeded.
    Answer(Tool, Cow<'a, str>),
}

impl Ours {
    /// Whether a result is awaited.
    pub(super) fn is_waiting(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The session's next turn begins: what was not answered by now will not be.
    pub(super) fn give_up(&mut self) {
        self.calls.clear();
    }

    /// Whether the result of this call is awaited.
    pub(super) fn awaits(&self, call: &str) -> bool {
        self.calls.iter().any(|it| it.0 == call)
    }

    /// Takes an event, if it is about a tool of ours.
    pub(super) fn take<'a>(&mut self, kind: &'a Kind<'_>) -> Took<'a> {
        let (call, name) = if let Kind::ToolScheduled { call_id, name, .. } = kind {
            (call_id, Some(name))
        } else if let Kind::ToolStarted { call_id, name, .. }
        | Kind::ToolCompleted { call_id, name, .. } = kind
        {
            (call_id, name.as_ref())
        } else {
            return Took::Nothing;
        };
        let named = name.and_then(|it| Tool::parse(&it.to_str()));
        if named.is_none() && self.calls.is_empty() {
            return Took::Nothing;
        }
        let call = call.to_str();
        let known = self.calls.iter().position(|it| it.0 == call);
        if let Kind::ToolCompleted { status, output, .. } = kind {
            let known = known.and_then(|at| self.calls.remove(at)).map(|it| it.1);
            return match (known.or(named), status, output) {
                (Some(tool), Outcome::Success, Some(output)) => Took::Answer(tool, output.to_str()),
                (Some(_), _, _) => Took::Call,
                (None, _, _) => Took::Nothing,
            };
        }
        if let (Some(tool), None) = (named, known) {
            if self.calls.len() >= MOST_CALLS {
                self.calls.pop_front();
            }
            self.calls.push_back((call.into_owned(), tool));
        }
        if named.is_some() || known.is_some() { Took::Call } else { Took::Nothing }
    }

    /// What a result makes of the session's plan; none if it tells nothing.
    pub(super) fn answered(
        &mut self,
        session: &str,
        tool: Tool,
        said: &str,
    ) -> Option<Vec<Item<'_>>> {
        let result = json::text(json_in(said)?.as_bytes()).ok()?;
        let result = Value::read(&result).ok()?.object()?;
        if !self.plans.contains_key(session) && self.plans.len() >= MOST_PLANS {
            self.plans.pop_first();
        }
        let todos = self.plans.entry(session.to_owned()).or_default();
        let is_told = match tool {
            Tool::Create => created(todos, &result),
            Tool::List => listed(todos, &result),
            Tool::Complete | Tool::Update => set(todos, &result),
            Tool::Next => result.object("item").is_some_and(|it| set(todos, &it)),
        };
        is_told.then(|| todos.iter().map(item).collect())
    }
}

fn item(todo: &Todo) -> Item<'_> {
    Item {
        id: Some(Text::from(todo.id.as_str())),
        waiting_on: todo.waiting_on.as_deref().map(Text::from),
        parent: todo.parent.as_deref().map(Text::from),
        ..Item::new(Text::from(todo.title.as_str()), todo.status)
    }
}

/// The JSON among what an agent was told: a line of its own, in whatever wrapper.
fn json_in(said: &str) -> Option<&str> {
    let unwrapped = said.lines().map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("<untrusted_context>").unwrap_or(line);
        line.strip_suffix("</untrusted_context>").unwrap_or(line).trim()
    });
    unwrapped.into_iter().find(|it| it.starts_with('{') && it.ends_with('}'))
}

/// `{"created":[{"id","title","order"}]}`
fn created(todos: &mut Vec<Todo>, result: &Object<'_>) -> bool {
    let Some(created) = result.get("created").filter(|it| it.is_array()) else { return false };
    for entry in created.items().into_iter().filter_map(Value::object) {
        let Some(todo) = read(&entry, None) else { continue };
        todos.retain(|it| it.id != todo.id);
        let order = entry.get("order").and_then(|it| it.u64()).unwrap_or(u64::MAX);
        let at = usize::try_from(order.saturating_sub(1)).unwrap_or(usize::MAX).min(todos.len());
        if has_room(todos, &todo) {
            todos.insert(at, todo);
        }
    }
    true
}

/// `{"items":[…],"summary":{"total"}}`: all of the plan, or those that were asked for.
fn listed(todos: &mut Vec<Todo>, result: &Object<'_>) -> bool {
    let Some(items) = result.get("items").filter(|it| it.is_array()) else { return false };
    let total = result.path(&["summary", "total"]).and_then(|it| it.u64());
    let items = items.items();
    if total == Some(items.len() as u64) {
        todos.clear();
    }
    for item in items.into_iter().filter_map(Value::object) {
        set(todos, &item);
    }
    true
}

/// One item as it is now.
fn set(todos: &mut Vec<Todo>, entry: &Object<'_>) -> bool {
    let id = entry.text("id").map_or(Cow::Borrowed(""), |it| it.cow());
    let known = todos.iter().position(|it| it.id == id);
    let Some(todo) = read(entry, known.and_then(|at| todos.get(at))) else { return false };
    match known {
        Some(at) => todos[at] = todo,
        None if has_room(todos, &todo) => todos.push(todo),
        None => {}
    }
    true
}

fn read(entry: &Object<'_>, known: Option<&Todo>) -> Option<Todo> {
    let text = |name: &str| {
        let own = |it: Str<'_>| it.cow().into_owned();
        entry.text(name).map(own).filter(|it| !it.trim().is_empty())
    };
    let status = match entry.text("status").map(|it| todo::common(&it.cow())) {
        Some(Some(Meaning::Is(status))) => status,
        Some(_) => return None,
        None => known.map_or(Status::Pending, |it| it.status),
    };
    Some(Todo {
        id: text("id").filter(|it| it.len() <= LONGEST_ID)?,
        title: text("title").or_else(|| known.map(|it| it.title.clone()))?,
        status,
        waiting_on: text("waitingOn"),
        parent: text("parent").or_else(|| known?.parent.clone()),
    })
}

fn has_room(todos: &[Todo], new: &Todo) -> bool {
    let bytes: usize = todos.iter().map(|it| it.title.len()).sum();
    todos.len() < MOST_ITEMS && bytes + new.title.len() <= MOST_BYTES
}
