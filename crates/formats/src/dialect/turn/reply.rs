//! Results of the five tools: exactly the keys that models of this dialect know, ours only when
//! they are set.

use punchlist_model::json::Json;
use punchlist_model::store::Applied;
use punchlist_model::{Item, ItemId, Number, Plan, Status, Timestamp};
use serde::{Serialize, Serializer};

use super::super::refuse::{self, Names};
use super::super::{Answer, MISMATCH, Reply};
use super::{Call, Filter, What};
use crate::view::json::Moment;

/// A failure is a sentence and no JSON: a client that reads JSON out of any text holds it against the
/// schema of results, and shows its model the mismatch instead of what we said.
pub(super) fn error(text: &str) -> Reply {
    Reply::error(text.to_owned())
}

impl Call {
    pub(crate) fn reply(&self, answer: Answer<'_>) -> Reply {
        match answer {
            Answer::Changed(applied) => self.changed(applied),
            Answer::Read(plan) => match self.what {
                What::List(filter) => {
                    Reply { shows: true, ..Reply::written(list(plan, filter), false) }
                }
                What::Create { .. } | What::Complete(_) | What::Update(_) | What::Next => {
                    error(MISMATCH)
                }
            },
            Answer::Failed(why, plan) => error(&refuse::failed(why, &Names::new(self, plan))),
        }
    }

    fn changed(&self, applied: &Applied) -> Reply {
        let plan = &applied.plan;
        let names = Names::new(self, Some(plan));
        let warnings = refuse::warnings(applied.warnings(), &names);
        let changed = !applied.decision.events.is_empty();
        let meant = |item| plan.find(item).ok().flatten().and_then(|number| plan.get(number));
        match &self.what {
            What::Create { .. } => Reply::written(created(applied, &warnings), changed),
            What::Complete(item) => match meant(item) {
                Some(item) => Reply::json(&Completed::of(item, plan.open, warnings), changed),
                None => error(MISMATCH),
            },
            What::Update(item) => match meant(item) {
                Some(item) => Reply::json(&Updated::of(item, plan.open, warnings), changed),
                None => error(MISMATCH),
            },
            What::Next => Reply::written(next(applied, &warnings), changed),
            What::List(_) => error(MISMATCH),
        }
    }
}

/// What the caller should know, left out where there is nothing.
type Warnings = Vec<String>;

fn created(applied: &Applied, warnings: &Warnings) -> String {
    let plan = &applied.plan;
    let items = applied.decision.added.iter().filter_map(|number| plan.get(*number));
    // Most titles are shorter.
    let mut json = Json::with_room(64 + 192 * applied.decision.added.len());
    let mut before = "{\"created\":[";
    for item in items {
        json.raw(before).raw("{\"id\":\"").raw(item.id.spelt(&mut [0; 36]));
        json.raw("\",\"title\":").text(&item.title);
        json.raw(",\"order\":").number(position(item)).raw("}");
        before = ",";
    }
    if before != "," {
        json.raw(before);
    }
    let in_progress = u32::try_from(plan.in_progress().count()).unwrap_or(u32::MAX);
    json.raw("],\"totalPending\":").number(plan.open.saturating_sub(in_progress));
    if !warnings.is_empty() {
        json.raw(",\"warnings\":").value(warnings);
    }
    json.raw("}");
    json.done()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Completed<'a> {
    id: ItemId,
    title: &'a str,
    status: Status,
    outcome: &'a str,
    completed_at: MomentOrEmpty,
    remaining: u32,
    #[serde(skip_serializing_if = "Warnings::is_empty")]
    warnings: Warnings,
}

impl<'a> Completed<'a> {
    fn of(item: &'a Item, remaining: u32, warnings: Warnings) -> Self {
        Self {
            id: item.id,
            title: &item.title,
            status: item.status,
            outcome: item.outcome.as_deref().unwrap_or_default(),
            completed_at: MomentOrEmpty(item.completed_at.map(Moment::of)),
            remaining,
            warnings,
        }
    }
}

/// A time that is an empty text where it is missing.
struct MomentOrEmpty(Option<Moment>);

impl Serialize for MomentOrEmpty {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.as_ref().map_or("", Moment::as_str))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Updated<'a> {
    id: ItemId,
    title: &'a str,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_on: Option<&'a str>,
    remaining: u32,
    #[serde(skip_serializing_if = "Warnings::is_empty")]
    warnings: Warnings,
}

impl<'a> Updated<'a> {
    fn of(item: &'a Item, remaining: u32, warnings: Warnings) -> Self {
        Self {
            id: item.id,
            title: &item.title,
            status: item.status,
            waiting_on: item.waiting_on.as_deref(),
            remaining,
            warnings,
        }
    }
}

fn next(applied: &Applied, warnings: &Warnings) -> String {
    let plan = &applied.plan;
    let mut json = Json::default();
    json.raw("{\"item\":");
    match applied.decision.picked.and_then(|number| plan.get(number)) {
        Some(item) => {
            full(item, &mut json);
            json.raw("}");
        }
        None => {
            json.raw("null");
        }
    }
    json.raw(",\"remaining\":").number(plan.open);
    if !warnings.is_empty() {
        json.raw(",\"warnings\":").value(warnings);
    }
    json.raw("}");
    json.done()
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Summary {
    total: usize,
    pending: usize,
    in_progress: usize,
    completed: usize,
    cancelled: usize,
}

fn list(plan: &Plan, filter: Filter) -> String {
    let listed = plan.listed();
    let mut summary = Summary { total: listed.len(), ..Summary::default() };
    for item in &listed {
        match item.status {
            Status::Pending => summary.pending += 1,
            Status::InProgress => summary.in_progress += 1,
            Status::Completed => summary.completed += 1,
            Status::Cancelled => summary.cancelled += 1,
        }
    }
    let mut json = Json::default();
    json.raw("{\"items\":[");
    let mut separator = "";
    for item in listed.into_iter().filter(|item| filter.fits(item.status)) {
        json.raw(separator);
        full(item, &mut json);
        links(item, plan, &mut json);
        json.raw("}");
        separator = ",";
    }
    json.raw("],\"summary\":").value(&summary).raw("}");
    json.done()
}

/// Writes an item with all that is needed to work on it, and leaves it open for more.
fn full(item: &Item, json: &mut Json) {
    let moment = |at: Option<Timestamp>, json: &mut Json| {
        match at {
            Some(at) => json.raw("\"").raw(Moment::of(at).as_str()).raw("\""),
            None => json.raw("null"),
        };
    };
    id(item, json.raw("{\"id\":"));
    json.raw(",\"title\":").text(&item.title);
    json.raw(",\"context\":").text(&item.context);
    json.raw(",\"completionCriteria\":").text(&item.completion_criteria);
    json.raw(",\"agentType\":").text_or_null(item.agent_type.as_deref());
    json.raw(",\"status\":\"").raw(item.status.as_str());
    let priority = item.priority.unwrap_or_else(|| position(item).saturating_sub(1));
    json.raw("\",\"priority\":").number(priority);
    json.raw(",\"outcome\":").text_or_null(item.outcome.as_deref());
    moment(Some(item.created_at), json.raw(",\"createdAt\":"));
    moment(item.started_at, json.raw(",\"startedAt\":"));
    moment(item.completed_at, json.raw(",\"completedAt\":"));
    if let Some(on) = &item.waiting_on {
        json.raw(",\"waitingOn\":").text(on);
    }
}

/// Adds what an item is tied to. Only a whole plan knows the ids behind the numbers.
fn links(item: &Item, plan: &Plan, json: &mut Json) {
    let listed = |number: Number| plan.get(number).filter(|it| !it.is_superseded());
    let mut separator = ",\"dependsOn\":[";
    for item in item.depends_on.iter().copied().filter_map(listed) {
        id(item, json.raw(separator));
        separator = ",";
    }
    if separator == "," {
        json.raw("]");
    }
    if let Some(parent) = item.parent.and_then(listed) {
        id(parent, json.raw(",\"parent\":"));
    }
}

fn id(item: &Item, json: &mut Json) {
    json.raw("\"").raw(item.id.spelt(&mut [0; 36])).raw("\"");
}

fn position(item: &Item) -> u32 {
    item.position.unwrap_or_default().0
}
