//! Results of the five tools: exactly the keys that models of this dialect know, ours only when
//! they are set.

use punchlist_model::store::Applied;
use punchlist_model::{Item, Plan, Status};
use serde_json::{Value, json};

use super::super::refuse::{self, Names};
use super::super::{Answer, MISMATCH, Reply, schema};
use super::{Call, Filter, What};
use crate::view;
use crate::view::json::time;

pub(super) fn error(text: &str) -> Reply {
    Reply::error(view::json::render(&json!({"error": text})))
}

impl Call {
    pub(crate) fn reply(&self, answer: Answer<'_>) -> Reply {
        match answer {
            Answer::Changed(applied) => self.changed(applied),
            Answer::Read(plan) => match self.what {
                What::List(filter) => {
                    Reply { shows: true, ..Reply::json(list(plan, filter), false) }
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
        let value = match &self.what {
            What::Create { .. } => Some(created(applied)),
            What::Complete(item) => plan
                .find(item)
                .ok()
                .flatten()
                .and_then(|number| plan.get(number).map(|item| completed(item, plan.open))),
            What::Update(item) => plan
                .find(item)
                .ok()
                .flatten()
                .and_then(|number| plan.get(number).map(|item| updated(item, plan.open))),
            What::Next => Some(next(applied)),
            What::List(_) => None,
        };
        let Some(mut value) = value else { return error(MISMATCH) };
        let names = Names::new(self, Some(plan));
        let warnings = refuse::warnings(applied.warnings(), &names);
        if !warnings.is_empty() {
            schema::add(&mut value, "warnings", warnings.into());
        }
        Reply::json(value, !applied.decision.events.is_empty())
    }
}

fn created(applied: &Applied) -> Value {
    let plan = &applied.plan;
    let items = applied.decision.added.iter().filter_map(|number| plan.get(*number));
    let created: Vec<Value> = items
        .map(|item| json!({"id": item.id, "title": item.title, "order": position(item)}))
        .collect();
    let in_progress = u32::try_from(plan.in_progress().count()).unwrap_or(u32::MAX);
    json!({"created": created, "totalPending": plan.open.saturating_sub(in_progress)})
}

fn completed(item: &Item, remaining: u32) -> Value {
    json!({
        "id": item.id,
        "title": item.title,
        "status": item.status,
        "outcome": item.outcome.as_deref().unwrap_or_default(),
        "completedAt": item.completed_at.map(time).unwrap_or_default(),
        "remaining": remaining,
    })
}

fn updated(item: &Item, remaining: u32) -> Value {
    let mut value = json!({"id": item.id, "title": item.title, "status": item.status});
    waiting(item, &mut value);
    schema::add(&mut value, "remaining", remaining.into());
    value
}

fn next(applied: &Applied) -> Value {
    let plan = &applied.plan;
    let item = applied.decision.picked.and_then(|number| plan.get(number)).map(full);
    json!({"item": item, "remaining": plan.open})
}

fn list(plan: &Plan, filter: Filter) -> Value {
    let listed = plan.listed();
    let count = |status| listed.iter().filter(|item| item.status == status).count();
    let items: Vec<Value> = listed
        .iter()
        .filter(|item| filter.fits(item.status))
        .map(|item| linked(item, plan))
        .collect();
    json!({
        "items": items,
        "summary": {
            "total": listed.len(),
            "pending": count(Status::Pending),
            "inProgress": count(Status::InProgress),
            "completed": count(Status::Completed),
            "cancelled": count(Status::Cancelled),
        },
    })
}

/// An item with what it is tied to. Only a whole plan knows the ids behind the numbers.
fn linked(item: &Item, plan: &Plan) -> Value {
    let mut value = full(item);
    let id = |number| plan.get(number).filter(|it| !it.is_superseded()).map(|it| it.id.to_string());
    let depends_on: Vec<String> = item.depends_on.iter().copied().filter_map(id).collect();
    if !depends_on.is_empty() {
        schema::add(&mut value, "dependsOn", depends_on.into());
    }
    if let Some(parent) = item.parent.and_then(id) {
        schema::add(&mut value, "parent", parent.into());
    }
    value
}

/// An item with all that is needed to work on it.
fn full(item: &Item) -> Value {
    let mut value = json!({
        "id": item.id,
        "title": item.title,
        "context": item.context,
        "completionCriteria": item.completion_criteria,
        "agentType": item.agent_type,
        "status": item.status,
        "priority": item.priority.unwrap_or_else(|| position(item).saturating_sub(1)),
        "outcome": item.outcome,
        "createdAt": time(item.created_at),
        "startedAt": item.started_at.map(time),
        "completedAt": item.completed_at.map(time),
    });
    waiting(item, &mut value);
    value
}

fn waiting(item: &Item, value: &mut Value) {
    if let Some(on) = &item.waiting_on {
        schema::add(value, "waitingOn", on.as_str().into());
    }
}

fn position(item: &Item) -> u32 {
    item.position.unwrap_or_default().0
}
