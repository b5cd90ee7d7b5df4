//! Parses the results of our tools, in each dialect.
//!
//! JSON results are parsed as JSON. Others are lines of text that the server writes for a model; an
//! agent may add lines before and after them. A result that cannot be parsed changes nothing.

use punchlist_model::json_text::replace_lone_surrogates;
use serde_json::Value;
use uuid::Uuid;

use super::super::todo::{self, MOST_ITEMS, Meaning};
use super::Tool;
use crate::event::{Item, Status, Text};

/// Maximum size of the titles of a plan, and maximum length of an id.
const MOST_BYTES: usize = 4 << 20;
const LONGEST_ID: usize = 64;

/// An item of a list. The whole-list dialects and `manager` have no ids.
#[derive(Clone, Debug)]
pub(super) struct Todo {
    id: Option<String>,
    title: String,
    status: Status,
    active_form: Option<String>,
    blocked: bool,
    waiting_on: Option<String>,
    parent: Option<String>,
}

impl Todo {
    fn new(title: String, status: Status) -> Self {
        Self {
            id: None,
            title,
            status,
            active_form: None,
            blocked: false,
            waiting_on: None,
            parent: None,
        }
    }

    pub(super) fn item(&self) -> Item<'_> {
        Item {
            id: self.id.as_deref().map(Text::from),
            active_form: self.active_form.as_deref().map(Text::from),
            blocked: self.blocked,
            waiting_on: self.waiting_on.as_deref().map(Text::from),
            parent: self.parent.as_deref().map(Text::from),
            ..Item::new(Text::from(self.title.as_str()), self.status)
        }
    }
}

/// Applies a result to a list. Returns whether the result has any information.
pub(super) fn apply(todos: &mut Vec<Todo>, tool: Tool, input: Option<&str>, said: &str) -> bool {
    let json = || json_in(said);
    let input = || input.and_then(read_json);
    match tool {
        Tool::Create => json().is_some_and(|it| created(todos, &it)),
        Tool::List => json().is_some_and(|it| listed(todos, &it)),
        Tool::Complete | Tool::Update => json().is_some_and(|it| set(todos, &it)),
        Tool::Next => json().is_some_and(|it| set(todos, &it["item"])),
        Tool::Manager => manager(todos, said),
        Tool::TodoWrite => replace(todos, todo_write(said)),
        Tool::WriteTodos => {
            let is_cleared = said.contains("Successfully cleared the todo list.");
            replace(todos, if is_cleared { Some(Vec::new()) } else { numbered(said) })
        }
        // The result has the plan only if somebody else has changed it.
        Tool::UpdatePlan => {
            let entries = numbered(said).filter(|_| said.contains("The plan is now:"));
            replace(todos, entries.or_else(|| steps(&input()?)))
        }
        Tool::TaskCreate => task_created(todos, said, input().as_ref()),
        Tool::TaskUpdate => {
            input().is_some_and(|it| said.contains("Updated task #") && task_updated(todos, &it))
        }
        Tool::TaskGet => task_got(todos, said),
        Tool::TaskList => task_list(todos, said),
    }
}

/// Whether a result of the dialect `turn` comes from our server: by its keys, and the format of its
/// ids.
pub(super) fn is_turn(tool: Tool, said: &str) -> bool {
    let Some(json) = json_in(said) else { return false };
    let is_ours = |it: &Value| {
        let id = it["id"].as_str().and_then(|it| Uuid::parse_str(it).ok());
        id.is_some_and(|it| it.get_version_num() == 7) && it["title"].is_string()
    };
    let are_ours =
        |list: &Value| list.as_array().is_some_and(|it| !it.is_empty() && it.iter().all(is_ours));
    match tool {
        Tool::Create => json["totalPending"].is_u64() && are_ours(&json["created"]),
        Tool::List => json["summary"]["total"].is_u64() && are_ours(&json["items"]),
        Tool::Complete | Tool::Update => json["remaining"].is_u64() && is_ours(&json),
        Tool::Next => json["remaining"].is_u64() && is_ours(&json["item"]),
        Tool::Manager
        | Tool::TodoWrite
        | Tool::WriteTodos
        | Tool::UpdatePlan
        | Tool::TaskCreate
        | Tool::TaskUpdate
        | Tool::TaskGet
        | Tool::TaskList => false,
    }
}

fn read_json(text: &str) -> Option<Value> {
    serde_json::from_slice(&replace_lone_surrogates(text.as_bytes())).ok()
}

/// The JSON in an output: a line of its own, in any wrapper.
fn json_in(said: &str) -> Option<Value> {
    let unwrapped = said.lines().map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("<untrusted_context>").unwrap_or(line);
        line.strip_suffix("</untrusted_context>").unwrap_or(line).trim()
    });
    unwrapped.into_iter().find(|it| it.starts_with('{') && it.ends_with('}')).and_then(read_json)
}

/// Replaces the list; `None` changes nothing.
fn replace(todos: &mut Vec<Todo>, entries: Option<Vec<Todo>>) -> bool {
    let Some(entries) = entries else { return false };
    todos.clear();
    for todo in entries {
        if has_room(todos, &todo) {
            todos.push(todo);
        }
    }
    true
}

/// `{"created":[{"id","title","order"}]}`
fn created(todos: &mut Vec<Todo>, result: &Value) -> bool {
    let Some(created) = result["created"].as_array() else { return false };
    for entry in created {
        let Some(todo) = read(entry, None) else { continue };
        todos.retain(|it| it.id != todo.id);
        let order = entry["order"].as_u64().unwrap_or(u64::MAX);
        let at = usize::try_from(order.saturating_sub(1)).unwrap_or(usize::MAX).min(todos.len());
        if has_room(todos, &todo) {
            todos.insert(at, todo);
        }
    }
    true
}

/// `{"items":[…],"summary":{"total"}}`: the whole plan, or the requested items.
fn listed(todos: &mut Vec<Todo>, result: &Value) -> bool {
    let Some(items) = result["items"].as_array() else { return false };
    if result["summary"]["total"].as_u64() == Some(items.len() as u64) {
        todos.clear();
    }
    for item in items {
        set(todos, item);
    }
    true
}

/// The present state of one item.
fn set(todos: &mut Vec<Todo>, entry: &Value) -> bool {
    let known = todos.iter().find(|it| it.id.is_some() && it.id.as_deref() == entry["id"].as_str());
    read(entry, known).is_some_and(|todo| put(todos, todo))
}

/// Replaces an item, or appends it.
fn put(todos: &mut Vec<Todo>, todo: Todo) -> bool {
    match todos.iter().position(|it| it.id == todo.id) {
        Some(at) => todos[at] = todo,
        None if has_room(todos, &todo) => todos.push(todo),
        None => {}
    }
    true
}

fn read(entry: &Value, known: Option<&Todo>) -> Option<Todo> {
    let text =
        |name: &str| entry[name].as_str().filter(|it| !it.trim().is_empty()).map(str::to_owned);
    let status = match entry["status"].as_str().map(todo::common) {
        Some(Some(Meaning::Is(status))) => status,
        Some(_) => return None,
        None => known.map_or(Status::Pending, |it| it.status),
    };
    let title = text("title").or_else(|| known.map(|it| it.title.clone()))?;
    Some(Todo {
        id: Some(text("id").filter(|it| it.len() <= LONGEST_ID)?),
        waiting_on: text("waitingOn"),
        parent: text("parent").or_else(|| known?.parent.clone()),
        ..Todo::new(title, status)
    })
}

fn has_room(todos: &[Todo], new: &Todo) -> bool {
    let bytes: usize = todos.iter().map(|it| it.title.len()).sum();
    todos.len() < MOST_ITEMS && bytes + new.title.len() <= MOST_BYTES
}

/// `<todos><todo id="1" status="doing">…</todo></todos>`: the result, or below the report of a
/// change. `next` returns one item, and then the list too.
fn manager(todos: &mut Vec<Todo>, said: &str) -> bool {
    let json = json_in(said).unwrap_or_default();
    let texts = [json["reminder"].as_str(), json["output"].as_str(), Some(said)];
    let list = texts.into_iter().flatten().find_map(|it| {
        it.split_once("<todos>").and_then(|it| it.1.split_once("</todos>")).map(|it| it.0)
    });
    replace(todos, list.map(|it| it.split("</todo>").filter_map(element).collect()))
}

/// `<todo id="1" status="doing">Title`
fn element(text: &str) -> Option<Todo> {
    let (tag, title) = text.strip_prefix("<todo ")?.split_once('>')?;
    let status = match tag.split_once("status=\"")?.1.split_once('"')?.0 {
        "todo" => Status::Pending,
        "doing" => Status::InProgress,
        "done" => Status::Completed,
        "skipped" => Status::Cancelled,
        _ => return None,
    };
    let mut title = title.to_owned();
    for (reference, sign) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
    {
        title = title.replace(reference, sign);
    }
    titled(&title, status)
}

fn titled(title: &str, status: Status) -> Option<Todo> {
    let title = title.trim();
    (!title.is_empty()).then(|| Todo::new(title.to_owned(), status))
}

/// `[>] Title <- active form`, one per line, and the count; or a text that there are none.
fn todo_write(said: &str) -> Option<Vec<Todo>> {
    if said.lines().any(|it| it.trim() == "No todos.") {
        return Some(Vec::new());
    }
    let line = |line: &str| {
        let status = match line.get(..4)? {
            "[ ] " => Status::Pending,
            "[>] " => Status::InProgress,
            "[x] " => Status::Completed,
            "[-] " => Status::Cancelled,
            _ => return None,
        };
        let text = line.get(4..)?;
        let (title, active) = match text.rsplit_once(" <- ") {
            Some((title, active)) if status == Status::InProgress => (title, Some(active)),
            Some(_) | None => (text, None),
        };
        Some(Todo { active_form: active.map(str::to_owned), ..titled(title, status)? })
    };
    let todos: Vec<Todo> = said.lines().filter_map(line).collect();
    (!todos.is_empty()).then_some(todos)
}

/// `1. [pending] Title`, one per line, in order.
fn numbered(said: &str) -> Option<Vec<Todo>> {
    let mut todos = Vec::new();
    for line in said.lines() {
        let start = format!("{}. [", todos.len() + 1);
        let Some((word, title)) = line.strip_prefix(&start).and_then(|it| it.split_once("] "))
        else {
            continue;
        };
        let blocked = word == "blocked";
        let word = if blocked { "pending" } else { word };
        let Some(Meaning::Is(status)) = todo::common(word) else { continue };
        todos.extend(titled(title, status).map(|it| Todo { blocked, ..it }));
    }
    (!todos.is_empty()).then_some(todos)
}

/// The arguments of `update_plan`, which are the whole plan.
fn steps(input: &Value) -> Option<Vec<Todo>> {
    let step = |entry: &Value| match todo::common(entry["status"].as_str()?) {
        Some(Meaning::Is(status)) => titled(entry["step"].as_str()?, status),
        Some(_) | None => None,
    };
    Some(input["plan"].as_array()?.iter().filter_map(step).collect())
}

/// Splits off `#3`.
fn task(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('#')?;
    let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    (!number.is_empty() && number.len() <= LONGEST_ID).then(|| (number.to_owned(), rest))
}

/// `Task #3 created successfully: Subject`
fn task_created(todos: &mut Vec<Todo>, said: &str, input: Option<&Value>) -> bool {
    let line = |line: &str| {
        let (id, rest) = task(line.strip_prefix("Task ")?)?;
        let todo = titled(rest.strip_prefix(" created successfully:")?, Status::Pending)?;
        let active_form = input.and_then(|it| it["activeForm"].as_str()).map(str::to_owned);
        Some(Todo { id: Some(id), active_form, ..todo })
    };
    said.lines().find_map(line).is_some_and(|it| put(todos, it))
}

/// The arguments of `TaskUpdate`, after a confirmation.
fn task_updated(todos: &mut Vec<Todo>, input: &Value) -> bool {
    let id = match &input["taskId"] {
        Value::String(id) => id.trim_start_matches('#').to_owned(),
        Value::Number(id) => id.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return false,
    };
    let id = Some(id);
    let word = input["status"].as_str();
    if word == Some("deleted") {
        todos.retain(|it| it.id != id);
        return true;
    }
    // Of a task from before the stream, maybe only the number is known.
    let Some(known) = todos.iter_mut().find(|it| it.id == id) else { return false };
    if let Some(Meaning::Is(status)) = word.and_then(todo::common) {
        known.status = status;
    }
    let text = |name: &str| input[name].as_str().filter(|it| !it.trim().is_empty());
    if let Some(subject) = text("subject") {
        subject.clone_into(&mut known.title);
    }
    if let Some(active) = text("activeForm") {
        known.active_form = Some(active.to_owned());
    }
    true
}

/// `Task #3: Subject`, and below it `Status: pending`.
fn task_got(todos: &mut Vec<Todo>, said: &str) -> bool {
    let mut lines = said.lines().skip_while(|it| !it.starts_with("Task #"));
    let head = lines.next().and_then(|it| task(it.strip_prefix("Task ")?));
    let word = lines.next().and_then(|it| it.strip_prefix("Status: "));
    let (Some((id, rest)), Some(Some(Meaning::Is(status)))) = (head, word.map(todo::common)) else {
        return false;
    };
    let Some(todo) = rest.strip_prefix(": ").and_then(|it| titled(it, status)) else {
        return false;
    };
    let known = todos.iter().find(|it| it.id.as_ref() == Some(&id));
    let active_form = known.and_then(|it| it.active_form.clone());
    put(todos, Todo { id: Some(id), active_form, ..todo })
}

/// `#1 [pending] Subject (owner) [blocked by #2]`, one per line: all tasks.
fn task_list(todos: &mut Vec<Todo>, said: &str) -> bool {
    if said.lines().any(|it| it.trim() == "No tasks found") {
        return replace(todos, Some(Vec::new()));
    }
    let line = |line: &str| {
        let (id, rest) = task(line)?;
        let (word, rest) = rest.strip_prefix(" [")?.split_once("] ")?;
        let Some(Meaning::Is(status)) = todo::common(word) else { return None };
        let known = todos.iter().find(|it| it.id.as_ref() == Some(&id));
        let ends =
            [" [blocked by #", " [waiting for "].iter().filter_map(|it| rest.rfind(it)).min();
        let blocked = rest.contains(" [blocked by #");
        // The end of a subject is ambiguous here, so a known subject stays.
        let title = match known {
            Some(known) if rest.starts_with(&known.title) => known.title.as_str(),
            Some(_) | None => ends.map_or(rest, |at| &rest[..at]),
        };
        let active_form = known.and_then(|it| it.active_form.clone());
        Some(Todo { id: Some(id), active_form, blocked, ..titled(title, status)? })
    };
    let entries: Vec<Todo> = said.lines().filter_map(line).collect();
    replace(todos, (!entries.is_empty()).then_some(entries))
}
