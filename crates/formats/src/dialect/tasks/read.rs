//! Converts the arguments of the four tools to operations. Faults have Claude Code's words.

use punchlist_model::item::RESERVED;
use punchlist_model::{ItemRef, NewItem, Number, Op, Patch, Status};
use serde_json::{Map, Value};

use super::super::Reply;
use super::super::args::{self, Bad, Object};
use super::super::refuse;
use super::offer::STATUSES;
use super::{Call, What};

pub(super) const NOT_FOUND: &str = "Task not found";

pub(crate) fn call(tool: &str, decoded: Result<Object, Bad>) -> Result<Call, Reply> {
    let read = match tool {
        "TaskCreate" => create,
        "TaskGet" => get,
        "TaskUpdate" => update,
        "TaskList" => list,
        _ => {
            let tool = refuse::plain(tool);
            return Err(tool_use_error(&format!(
                "Error: No such tool available: {tool}. Use one of the available tools instead: \
                 TaskCreate, TaskGet, TaskUpdate or TaskList."
            )));
        }
    };
    let fields = match decoded {
        Ok(fields) => fields,
        Err(bad) => return Err(tool_use_error(&format!("InputValidationError: {}", bad.text()))),
    };
    let mut arguments = Arguments { fields: &fields, bad: Bad::default() };
    let call = read(&mut arguments);
    if arguments.bad.is_empty() {
        return call;
    }
    let issues = if arguments.bad.is_several() { "issues" } else { "issue" };
    Err(tool_use_error(&format!(
        "InputValidationError: {tool} failed due to the following {issues}:\n{}",
        arguments.bad.text()
    )))
}

/// An error in the tag in which Claude Code gives errors to its model. The text cannot close the
/// tag.
fn tool_use_error(text: &str) -> Reply {
    Reply::error(format!("<tool_use_error>{}</tool_use_error>", text.replace('<', "&lt;")))
}

/// The arguments of a call, and their faults. Null counts as missing.
struct Arguments<'a> {
    fields: &'a Object,
    bad: Bad,
}

impl<'a> Arguments<'a> {
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn wrong(&mut self, name: &str, expected: &str, value: &Value) {
        let provided = kind(value);
        self.bad.note(format!(
            "The parameter `{name}` type is expected as `{expected}` but provided as `{provided}`"
        ));
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        if !value.is_string() {
            self.wrong(name, "string", value);
        }
        value.as_str().map(str::to_owned)
    }

    fn needed(&mut self, name: &str) -> String {
        if self.get(name).is_none() {
            self.bad.note(format!("The required parameter `{name}` is missing"));
        }
        self.text(name).unwrap_or_default()
    }

    fn metadata(&mut self) -> Option<Map<String, Value>> {
        let value = self.get("metadata")?;
        if !value.is_object() {
            self.wrong("metadata", "object", value);
        }
        if value.get(RESERVED).is_some() {
            self.bad.note(format!("The key `{RESERVED}` of the parameter `metadata` is reserved"));
        }
        value.as_object().cloned()
    }

    /// A status; `Some(None)` is `deleted`.
    fn status(&mut self) -> Option<Option<Status>> {
        let word = self.text("status")?;
        if !STATUSES.contains(&word.as_str()) {
            let legal = STATUSES.map(|word| format!("`{word}`")).join(", ");
            let word = refuse::plain(&word);
            self.bad.note(format!(
                "The parameter `status` is expected as one of {legal} but provided as `{word}`"
            ));
        }
        Some(word.parse().ok())
    }

    /// The tasks that a list of ids names. An id that is not a number names no task.
    fn tasks(&mut self, name: &str) -> Result<Vec<Number>, Reply> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let Some(ids) = value.as_array() else {
            self.wrong(name, "array", value);
            return Ok(Vec::new());
        };
        if ids.len() > args::MOST_ENTRIES {
            let (many, most) = (ids.len(), args::MOST_ENTRIES);
            let what = format!("has {many} entries; at most {most} are allowed in one call");
            self.bad.note(format!("The parameter `{name}` {what}"));
            return Ok(Vec::new());
        }
        let mut numbers = Vec::with_capacity(ids.len());
        let mut unknown = Vec::new();
        for (n, id) in ids.iter().enumerate() {
            let Some(text) = id.as_str() else {
                self.wrong(&format!("{name}[{n}]"), "string", id);
                continue;
            };
            match number(text) {
                Some(number) => numbers.push(number),
                None => unknown.push(args::brief(text)),
            }
        }
        unknown.truncate(10);
        if unknown.is_empty() {
            return Ok(numbers);
        }
        Err(Reply::error(format!(
            "{NOT_FOUND}: {} in {name}. Use TaskList to see the ids.",
            unknown.join(", ")
        )))
    }
}

/// The JSON type of a value, in the words of Claude Code's validator.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The number in an id, with or without `#`.
fn number(id: &str) -> Option<Number> {
    let id = id.trim();
    args::digits(id.strip_prefix('#').unwrap_or(id)).map(Number)
}

fn create(arguments: &mut Arguments<'_>) -> Result<Call, Reply> {
    let new = NewItem {
        active_form: arguments.text("activeForm"),
        // The schema requires a description, but Claude Code accepts a task without one.
        context: arguments.text("description").unwrap_or_default(),
        metadata: arguments.metadata().filter(|metadata| !metadata.is_empty()),
        ..NewItem::titled(arguments.needed("subject"))
    };
    Ok(Call { what: What::Create, ops: Some(vec![Op::Add(Box::new(new))]) })
}

fn get(arguments: &mut Arguments<'_>) -> Result<Call, Reply> {
    let task = number(&arguments.needed("taskId"));
    Ok(Call { what: What::Get(task), ops: None })
}

fn list(_arguments: &mut Arguments<'_>) -> Result<Call, Reply> {
    Ok(Call { what: What::List, ops: None })
}

fn update(arguments: &mut Arguments<'_>) -> Result<Call, Reply> {
    let id = arguments.needed("taskId");
    let status = arguments.status();
    let patch = Patch {
        title: arguments.text("subject"),
        context: arguments.text("description"),
        active_form: arguments.text("activeForm").map(Some),
        owner: arguments.text("owner").map(|text| Some(text).filter(|it| !it.trim().is_empty())),
        merge: arguments.metadata().unwrap_or_default(),
        status: status.flatten(),
        ..Patch::default()
    };
    let (blocks, blocked_by) = (arguments.tasks("addBlocks"), arguments.tasks("addBlockedBy"));
    if !arguments.bad.is_empty() {
        // The caller replaces this reply by one that names the faults.
        return Err(Reply::error(NOT_FOUND.to_owned()));
    }
    let Some(task) = number(&id) else { return Err(Reply::error(NOT_FOUND.to_owned())) };
    let (blocks, blocked_by) = (blocks?, blocked_by?);
    if status == Some(None) {
        // As in Claude Code, other fields are ignored: the task is deleted.
        let ops = Some(vec![Op::Supersede(task.into())]);
        return Ok(Call { what: What::Delete(task), ops });
    }
    let after = blocked_by.into_iter().map(ItemRef::Number).collect();
    // The first operation names the task even if it changes nothing, so that a missing task is
    // refused.
    let first = Op::Edit { item: task.into(), patch: Box::new(Patch { after, ..patch }) };
    let blocked = blocks.iter().map(|number| Op::Edit {
        item: ItemRef::Number(*number),
        patch: Box::new(Patch { after: vec![task.into()], ..Patch::default() }),
    });
    let ops = Some(std::iter::once(first).chain(blocked).collect());
    Ok(Call { what: What::Update { task, blocks }, ops })
}
