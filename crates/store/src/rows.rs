//! Converts values to columns, and rows to values.
//!
//! Columns are read by their index in the lists here, so a list and its reader are in one file. The
//! lists are macros, so that statements are built at compile time.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_model::store::AttachmentKey;
use punchlist_model::{
    Attempt, Check, End, Evidence, Goal, Item, ItemId, Level, MadeFor, Mark, Number, PlanId,
    Position, Revision, Rules, Run, Slice, Status, Timestamp,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::columns::{self, Columns, flag, numbers, optional_number, optional_string, string};
pub(crate) use crate::columns::{from_json, optional_time, parsed, revision, time};

/// Column names, each with the same prefix.
macro_rules! column_names {
    ($of:literal, $first:ident $(, $name:ident)*) => {
        concat!($of, stringify!($first) $(, ", ", $of, stringify!($name))*)
    };
}
pub(crate) use column_names;

/// The columns of an item, with the table's name.
macro_rules! item_columns {
    ($of:literal) => {
        $crate::rows::column_names!(
            $of,
            number,
            id,
            position,
            status,
            priority,
            parent,
            attempt,
            created_at,
            started_at,
            completed_at,
            superseded_at,
            depends_on,
            waiting_on,
            claim,
            title,
            active_form,
            agent_type,
            owner,
            outcome,
            context,
            completion_criteria,
            extra
        )
    };
}
pub(crate) use item_columns;

/// The columns of a plan, with the table's name.
macro_rules! plan_columns {
    ($of:literal) => {
        $crate::rows::column_names!(
            $of,
            key,
            id,
            project,
            name,
            title,
            revision,
            rules,
            goal,
            end,
            next_number,
            placed,
            open,
            created_at,
            updated_at,
            is_own,
            plan_file,
            conversation_key
        )
    };
}
pub(crate) use plan_columns;

/// A statement that selects the columns of an item.
macro_rules! select_item {
    ($from:literal) => {
        concat!("SELECT ", $crate::rows::item_columns!(""), " FROM ", $from)
    };
}
pub(crate) use select_item;

/// A statement that selects the columns of a plan.
macro_rules! select_plan {
    ($from:literal) => {
        concat!("SELECT ", $crate::rows::plan_columns!(""), " FROM ", $from)
    };
}
pub(crate) use select_plan;

/// A plan's row number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PlanKey(pub(crate) i64);

/// Fields that few items have, in one column.
#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Extra {
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Check>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    approve: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<Evidence>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    marks: BTreeSet<Mark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<serde_json::Map<String, serde_json::Value>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    from_list: bool,
}

/// The `extra` column of an item; `None` if the item has none of these fields.
pub(crate) fn extra(item: &Item) -> Option<String> {
    let plain = item.check.is_none()
        && item.run.is_none()
        && !item.approve
        && item.retry.is_none()
        && item.timeout.is_none()
        && item.evidence.is_empty()
        && item.marks.is_empty()
        && item.metadata.is_none()
        && !item.from_list;
    (!plain).then(|| {
        json(&Extra {
            check: item.check.clone(),
            run: item.run.clone(),
            approve: item.approve,
            retry: item.retry,
            timeout: item.timeout,
            evidence: item.evidence.clone(),
            marks: item.marks.clone(),
            metadata: item.metadata.clone(),
            from_list: item.from_list,
        })
    })
}

/// Reads fields, and remembers whether one could not be read.
#[derive(Default)]
struct Fields {
    is_bad: bool,
}

impl Fields {
    /// A field, or a default if it cannot be read.
    fn or<T, E>(&mut self, read: Result<T, E>, otherwise: T) -> T {
        read.unwrap_or_else(|_| {
            self.is_bad = true;
            otherwise
        })
    }
}

/// Reads an item from a row with the columns [`item_columns`]. Unreadable fields are left out and
/// the item is marked, so that one bad row does not make the others unreadable.
pub(crate) fn item<R: Columns>(row: &R) -> Result<Item, R::Error> {
    let number = Number(columns::number(row, 0)?);
    let mut fields = Fields::default();
    let nobody = ItemId(Default::default());
    let id = fields.or(parsed(row, 1, str::parse::<ItemId>), nobody);
    let created_at = fields.or(time(row, 7), Timestamp::UNIX_EPOCH);
    let title = fields.or(string(row, 14), UNREADABLE.to_owned());
    let extra: Extra = fields.or(from_json(row, 21), None).unwrap_or_default();
    let mut item = Item {
        position: optional_number(row, 2)?.map(Position),
        status: fields.or(parsed(row, 3, str::parse::<Status>), Status::Pending),
        priority: optional_number(row, 4)?,
        parent: optional_number(row, 5)?.map(Number),
        attempt: Attempt(columns::number(row, 6)?),
        started_at: fields.or(optional_time(row, 8), None),
        completed_at: fields.or(optional_time(row, 9), None),
        superseded_at: fields.or(optional_time(row, 10), None),
        depends_on: fields.or(numbers(row, 11), BTreeSet::new()),
        waiting_on: fields.or(optional_string(row, 12), None),
        claim: fields.or(from_json(row, 13), None),
        active_form: fields.or(optional_string(row, 15), None),
        agent_type: fields.or(optional_string(row, 16), None),
        owner: fields.or(optional_string(row, 17), None),
        outcome: fields.or(optional_string(row, 18), None),
        context: fields.or(string(row, 19), String::new()),
        completion_criteria: fields.or(string(row, 20), String::new()),
        check: extra.check,
        run: extra.run,
        approve: extra.approve,
        retry: extra.retry,
        timeout: extra.timeout,
        evidence: extra.evidence,
        marks: extra.marks,
        metadata: extra.metadata,
        from_list: extra.from_list,
        ..Item::new(id, number, title, created_at)
    };
    if fields.is_bad {
        item.marks.insert(Mark::Unreadable);
    }
    Ok(item)
}

/// Replaces an unreadable title.
const UNREADABLE: &str = "[unreadable]";

/// Reads a plan without items from a row that begins with [`plan_columns`]. Unreadable rules or
/// goals are replaced by strict ones, so that nothing counts as done that they might forbid.
pub(crate) fn plan<R: Columns>(row: &R) -> Result<(PlanKey, Slice), R::Error> {
    let id = parsed(row, 1, str::parse::<PlanId>)?;
    let mut fields = Fields::default();
    let created_at = fields.or(time(row, 12), Timestamp::UNIX_EPOCH);
    let mut plan = Slice::new(id, string(row, 2)?, created_at);
    plan.name = fields.or(optional_string(row, 3), None);
    plan.title = fields.or(string(row, 4), UNREADABLE.to_owned());
    plan.revision = revision(row, 5)?;
    let strict = Rules { demand: Some(Level::Approved), ..Rules::default() };
    plan.rules = from_json::<_, Rules>(row, 6).unwrap_or(Some(strict)).unwrap_or_default();
    let unknown = || Some(Box::new(Goal { statement: UNREADABLE.to_owned(), ..Goal::default() }));
    plan.goal = from_json::<_, Box<Goal>>(row, 7).unwrap_or_else(|_| unknown());
    plan.end = fields.or(parsed(row, 8, end), End::Open);
    plan.next_number = Number(columns::number(row, 9)?);
    plan.placed = columns::number(row, 10)?;
    plan.open = columns::number(row, 11)?;
    plan.updated_at = fields.or(time(row, 13), created_at);
    plan.made_for = fields.or(made_for(row, 14, &plan.project), None);
    Ok((PlanKey(columns::number(row, 0)?), plan))
}

/// What a plan was made for, from three columns.
fn made_for<R: Columns>(row: &R, n: usize, project: &str) -> Result<Option<MadeFor>, R::Error> {
    if flag(row, n)? {
        return Ok(Some(MadeFor::Project(project.to_owned())));
    }
    if let Some(path) = optional_string(row, n + 1)? {
        return Ok(Some(MadeFor::File(path)));
    }
    let key: Option<[String; 5]> = from_json(row, n + 2)?;
    Ok(key.map(|[project, agent, conversation, sub_agent, turn]| {
        MadeFor::Conversation(AttachmentKey { project, agent, conversation, sub_agent, turn })
    }))
}

/// The columns `is_own`, `plan_file` and `conversation_key`.
pub(crate) fn made_for_columns(made_for: Option<&MadeFor>) -> (bool, Option<&str>, Option<String>) {
    match made_for {
        Some(MadeFor::Project(_)) => (true, None, None),
        Some(MadeFor::File(path)) => (false, Some(path), None),
        Some(MadeFor::Conversation(key)) => (false, None, Some(conversation_key(key))),
        None => (false, None, None),
    }
}

/// The `conversation_key` column of a plan, unique for each conversation.
pub(crate) fn conversation_key(key: &AttachmentKey) -> String {
    let AttachmentKey { project, agent, conversation, sub_agent, turn } = key;
    json(&[project, agent, conversation, sub_agent, turn])
}

/// The `rules` column; `None` for the default rules.
pub(crate) fn rules(plan: &Slice) -> Option<String> {
    (plan.rules != Rules::default()).then(|| json(&plan.rules))
}

/// The `goal` column.
pub(crate) fn goal(plan: &Slice) -> Option<String> {
    plan.goal.as_ref().map(json)
}

/// The end state with that name.
pub(crate) fn end(text: &str) -> Result<End, String> {
    [End::Open, End::Drained, End::Stopped]
        .into_iter()
        .find(|end| end.as_str() == text)
        .ok_or_else(|| format!("unknown end state {text:?}"))
}

/// A list of numbers as a column; `None` if it is empty.
pub(crate) fn number_list(numbers: &BTreeSet<Number>) -> Option<String> {
    if numbers.is_empty() {
        return None;
    }
    let mut text = String::new();
    for number in numbers {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&number.to_string());
    }
    Some(text)
}

/// A value as JSON. Our types have only string keys, so this cannot fail.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Reads our own JSON. It may contain foreign JSON that was as deep as readers accept when it was
/// stored; with our levels around it, it is too deep. Then our levels are read one by one.
pub(crate) fn read_json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|error| match peeled(text, OUR_LEVELS) {
        Some(value) => serde_json::from_value(value),
        None => Err(error),
    })
}

/// The maximum number of our own levels around foreign JSON.
const OUR_LEVELS: u32 = 8;

fn peeled(text: &str, levels: u32) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let levels = levels.checked_sub(1)?;
    if let Ok(fields) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text) {
        let field = |(name, raw): (String, Box<RawValue>)| Some((name, peeled(raw.get(), levels)?));
        return fields.into_iter().map(field).collect::<Option<_>>().map(Value::Object);
    }
    let values = serde_json::from_str::<Vec<Box<RawValue>>>(text).ok()?;
    values.iter().map(|raw| peeled(raw.get(), levels)).collect::<Option<_>>().map(Value::Array)
}

/// A time as a column.
pub(crate) fn millis(time: Timestamp) -> i64 {
    time.as_millisecond()
}

/// A revision as a column. No real revision is too large for it.
pub(crate) fn signed(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}
