//! Converts the arguments of the five tools to operations.

use punchlist_model::{ItemId, ItemRef, NewItem, Number, Op, Patch, Place, Position, Status};
use serde_json::Value;

use super::super::Reply;
use super::super::args::{self, Bad, BadEntries, Fields, Object};
use super::reply::error;
use super::{Call, Filter, What};

const TOOLS: &str = "create_todo, list_todo, complete_todo, update_todo or next_todo";

const FILTERS: [(&str, Filter); 5] = [
    ("pending", Filter::Only(Status::Pending)),
    ("in_progress", Filter::Only(Status::InProgress)),
    ("completed", Filter::Only(Status::Completed)),
    ("cancelled", Filter::Only(Status::Cancelled)),
    ("all", Filter::All),
];

pub(crate) fn call(tool: &str, decoded: Result<Object, Bad>) -> Result<Call, Reply> {
    let read = match tool {
        "create_todo" => create,
        "list_todo" => list,
        "complete_todo" => complete,
        "update_todo" => update,
        "next_todo" => next,
        _ => return Err(error(&format!("unknown tool {}: use {TOOLS}", args::brief(tool)))),
    };
    decoded.and_then(|fields| read(Fields::of_call(&fields))).map_err(|bad| error(&bad.text()))
}

fn create(fields: Fields<'_>) -> Result<Call, Bad> {
    let mut bad = Bad::default();
    if fields.get("items").is_none() {
        fields.fault("items", "is required: an array of {\"title\": \"…\"}", &mut bad);
    }
    let sent = fields.list("items", None, &mut bad);
    if sent.is_some_and(<[Value]>::is_empty) {
        fields.fault("items", "must have at least one entry", &mut bad);
    }
    let sent = sent.unwrap_or_default();
    let mut ops = Vec::with_capacity(sent.len());
    let mut entries: Vec<usize> = (0..sent.len()).collect();
    let mut later = Vec::new();
    let mut bad_entries = BadEntries::new();
    for (n, value) in sent.iter().enumerate() {
        let mut own = Bad::default();
        let mut new = NewItem::default();
        if let Some(fields) = Fields::of_entry(n, value, &mut own) {
            let mut links = links(fields, sent.len(), &mut own);
            if let Some(patch) = links.take_later(n) {
                later.push(Op::Edit { item: batch(n), patch: Box::new(patch) });
                entries.push(n);
            }
            new = entry(fields, links, &mut own);
        }
        if !own.is_empty() {
            new = NewItem::default();
            bad_entries.insert(n, own);
        }
        ops.push(Op::Add(Box::new(new)));
    }
    // No entry is left that could be checked.
    if bad_entries.len() == sent.len() {
        bad.note_entries(std::mem::take(&mut bad_entries));
    }
    bad.none()?;
    ops.append(&mut later);
    Ok(Call { what: What::Create { entries, bad: bad_entries }, ops: Some(ops) })
}

fn entry(fields: Fields<'_>, links: Links, bad: &mut Bad) -> NewItem {
    let order = fields.integer("order", 1, bad);
    NewItem {
        context: fields.text("context", bad).unwrap_or_default().to_owned(),
        completion_criteria: fields.text("completionCriteria", bad).unwrap_or_default().to_owned(),
        agent_type: filled(fields.text("agentType", bad)),
        depends_on: links.depends_on,
        parent: links.parent,
        place: order.map_or(Place::Back, |order| Place::At(Position(order))),
        ..NewItem::titled(fields.needed("title", bad))
    }
}

/// The dependencies and the parent of an entry.
struct Links {
    depends_on: Vec<ItemRef>,
    parent: Option<ItemRef>,
}

impl Links {
    /// Removes and returns the links to this entry or a later one. Those items do not exist yet
    /// when this entry is added, so the links are set after all entries were added.
    fn take_later(&mut self, n: usize) -> Option<Patch> {
        let here = batch(n);
        let is_later = |item: &ItemRef| matches!(item, ItemRef::Batch(_)) && *item >= here;
        let (after, before) = self.depends_on.drain(..).partition(is_later);
        self.depends_on = before;
        let parent = self.parent.take_if(|parent| is_later(parent));
        let patch = Patch { after, parent: parent.map(Some), ..Patch::default() };
        (!patch.after.is_empty() || patch.parent.is_some()).then_some(patch)
    }
}

fn links(fields: Fields<'_>, entries: usize, bad: &mut Bad) -> Links {
    let depends_on = match fields.get("dependsOn") {
        Some(Value::Array(_)) => fields.list("dependsOn", None, bad).unwrap_or_default(),
        // A single id in place of a list counts as a list of one.
        Some(single @ (Value::String(_) | Value::Number(_))) => std::slice::from_ref(single),
        Some(_) => fields.list("dependsOn", None, bad).unwrap_or_default(),
        None => &[],
    };
    let depends_on =
        depends_on.iter().filter_map(|it| link(fields, "dependsOn", it, entries, bad)).collect();
    let parent = fields.get("parent").and_then(|it| link(fields, "parent", it, entries, bad));
    Links { depends_on, parent }
}

/// An existing item, or the n-th entry of the same call.
fn link(
    fields: Fields<'_>,
    name: &str,
    value: &Value,
    entries: usize,
    bad: &mut Bad,
) -> Option<ItemRef> {
    let found = match (args::integer(value), value) {
        (Some(n), _) => {
            let n = usize::try_from(n).unwrap_or(usize::MAX);
            (1..=entries).contains(&n).then(|| batch(n - 1))
        }
        (_, Value::String(text)) => item(text),
        _ => None,
    };
    if found.is_none() {
        let legal = match entries {
            0 | 1 => "an id from list_todo".to_owned(),
            _ => format!("an id from list_todo, or an entry of this call from 1 to {entries}"),
        };
        fields.fault(name, &format!("must be {legal}, not {}", args::shown(value)), bad);
    }
    found
}

fn batch(index: usize) -> ItemRef {
    ItemRef::Batch(u32::try_from(index + 1).unwrap_or(u32::MAX))
}

fn list(fields: Fields<'_>) -> Result<Call, Bad> {
    let mut bad = Bad::default();
    let filter = fields.choice("status", &FILTERS, &mut bad).unwrap_or(Filter::Remaining);
    bad.none()?;
    Ok(Call { what: What::List(filter), ops: None })
}

fn complete(fields: Fields<'_>) -> Result<Call, Bad> {
    let mut bad = Bad::default();
    let item = todo_id(fields, &mut bad);
    let outcome = fields.needed("outcome", &mut bad).to_owned();
    let statuses = [("completed", true), ("cancelled", false)];
    let completed = fields.choice("status", &statuses, &mut bad).unwrap_or(true);
    let Some(item) = item.filter(|_| bad.is_empty()) else { return Err(bad) };
    let op = if completed {
        Op::Complete { item: item.clone(), outcome: Some(outcome), with_children: false }
    } else {
        Op::Cancel { item: item.clone(), reason: Some(outcome) }
    };
    Ok(Call { what: What::Complete(item), ops: Some(vec![op]) })
}

fn update(fields: Fields<'_>) -> Result<Call, Bad> {
    let mut bad = Bad::default();
    let item = todo_id(fields, &mut bad);
    let statuses = [("in_progress", true), ("pending", false)];
    let start = match fields.get("status").and_then(Value::as_str) {
        Some(word @ ("completed" | "cancelled")) => {
            let what =
                format!("must be \"in_progress\" or \"pending\": use complete_todo for \"{word}\"");
            fields.fault("status", &what, &mut bad);
            None
        }
        _ => fields.choice("status", &statuses, &mut bad),
    };
    let waiting = fields.text("waitingOn", &mut bad);
    let title = fields.get("title").map(|_| fields.needed("title", &mut bad).to_owned());
    let context = fields.text("context", &mut bad).map(str::to_owned);
    let depends_on = fields.get("dependsOn").map(|_| links(fields, 0, &mut bad).depends_on);
    let given = ["status", "waitingOn", "title", "context", "dependsOn"];
    if given.iter().all(|name| fields.get(name).is_none()) {
        bad.note(format!("nothing to change: give at least one of {}", given.join(", ")));
    }
    let Some(item) = item.filter(|_| bad.is_empty()) else { return Err(bad) };
    let mut ops = Vec::new();
    if title.is_some() || context.is_some() || depends_on.is_some() {
        let patch = Box::new(Patch { title, context, depends_on, ..Patch::default() });
        ops.push(Op::Edit { item: item.clone(), patch });
    }
    ops.extend(start.map(|start| match start {
        true => Op::Start(item.clone()),
        false => Op::Release(item.clone()),
    }));
    // This comes after the start, because starting an item ends its wait.
    ops.extend(waiting.map(|on| match filled(Some(on)) {
        Some(on) => Op::Wait { item: item.clone(), on },
        None => Op::Resume(item.clone()),
    }));
    Ok(Call { what: What::Update(item), ops: Some(ops) })
}

fn next(_fields: Fields<'_>) -> Result<Call, Bad> {
    Ok(Call { what: What::Next, ops: Some(vec![Op::Next]) })
}

/// The item that `todoId` names: an id, or the number that reminders show.
fn todo_id(fields: Fields<'_>, bad: &mut Bad) -> Option<ItemRef> {
    if let Some(number @ Value::Number(_)) = fields.get("todoId") {
        let found = args::integer(number).map(|number| ItemRef::Number(Number(number)));
        if found.is_none() {
            let what = format!("{} not found: list_todo shows the ids", args::shown(number));
            fields.fault("todoId", &what, bad);
        }
        return found;
    }
    let text = fields.needed("todoId", bad);
    if text.trim().is_empty() {
        return None;
    }
    let found = args::digits(text).map(|number| ItemRef::Number(Number(number)));
    let found = found.or_else(|| item(text));
    if found.is_none() {
        let what = format!("{} not found: list_todo shows the ids", args::brief(text));
        fields.fault("todoId", &what, bad);
    }
    found
}

/// An id, the beginning of one, or `#` and a number. `None` if the text can be none of these.
fn item(text: &str) -> Option<ItemRef> {
    let text = text.trim();
    if let Some(number) = text.strip_prefix('#') {
        return args::digits(number).map(|number| ItemRef::Number(Number(number)));
    }
    if let Ok(id) = text.parse::<ItemId>() {
        return Some(ItemRef::Id(id));
    }
    let could_be = (1..36).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    could_be.then(|| ItemRef::Prefix(text.to_ascii_lowercase()))
}

fn filled(text: Option<&str>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty()).map(str::to_owned)
}
