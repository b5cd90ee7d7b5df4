//! Results of the five tools: the keys that models of this dialect know, and Punchlist's additional
//! keys only when they are set.

use punchlist_model::store::Applied;
use punchlist_model::{Item, ItemId, Number, Plan, Status};
use serde::Serialize;

use super::super::refuse::{self, Names};
use super::super::{Answer, MISMATCH, Reply};
use super::{Call, Filter, What};
use crate::view::json::time;

/// A failure is a sentence and not JSON. Some clients parse any JSON text, validate it against the
/// output schema, and show the model the validation error instead of our text.
pub(super) fn error(text: &str) -> Reply {
    Reply::error(text.to_owned())
}

impl Call {
    pub(crate) fn reply(&self, answer: Answer<'_>) -> Reply {
        match answer {
            Answer::Changed(applied) => self.changed(applied),
            Answer::Read(plan) => match self.what {
                What::List(filter) => match plan.whole() {
                    Some(plan) => {
                        Reply { shows: true, ..Reply::json(&Listed::of(&plan, filter), false) }
                    }
                    None => error(MISMATCH),
                },
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
            What::Create { .. } => Reply::json(&Created::of(applied, warnings), changed),
            What::Complete(item) => match meant(item) {
                Some(item) => Reply::json(&Completed::of(item, plan.open, warnings), changed),
                None => error(MISMATCH),
            },
            What::Update(item) => match meant(item) {
                Some(item) => Reply::json(&Updated::of(item, plan.open, warnings), changed),
                None => error(MISMATCH),
            },
            What::Next => Reply::json(&Next::of(applied, warnings), changed),
            What::List(_) => error(MISMATCH),
        }
    }
}

/// Warnings, omitted if there are none.
type Warnings = Vec<String>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Created<'a> {
    created: Vec<CreatedItem<'a>>,
    total_pending: u32,
    #[serde(skip_serializing_if = "Warnings::is_empty")]
    warnings: Warnings,
}

#[derive(Serialize)]
struct CreatedItem<'a> {
    id: ItemId,
    title: &'a str,
    order: u32,
}

impl<'a> Created<'a> {
    fn of(applied: &'a Applied, warnings: Warnings) -> Self {
        let plan = &applied.plan;
        let items = applied.decision.added.iter().filter_map(|number| plan.get(*number));
        let created = items
            .map(|it| CreatedItem { id: it.id, title: &it.title, order: position(it) })
            .collect();
        let in_progress = u32::try_from(plan.in_progress().count()).unwrap_or(u32::MAX);
        Self { created, total_pending: plan.open.saturating_sub(in_progress), warnings }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Completed<'a> {
    id: ItemId,
    title: &'a str,
    status: Status,
    outcome: &'a str,
    /// Empty if the item is not completed.
    completed_at: String,
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
            completed_at: item.completed_at.map(time).unwrap_or_default(),
            remaining,
            warnings,
        }
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

#[derive(Serialize)]
struct Next<'a> {
    item: Option<FullItem<'a>>,
    remaining: u32,
    #[serde(skip_serializing_if = "Warnings::is_empty")]
    warnings: Warnings,
}

impl<'a> Next<'a> {
    fn of(applied: &'a Applied, warnings: Warnings) -> Self {
        let plan = &applied.plan;
        let picked = applied.decision.picked.and_then(|number| plan.get(number));
        Self { item: picked.map(FullItem::of), remaining: plan.open, warnings }
    }
}

#[derive(Serialize)]
struct Listed<'a> {
    items: Vec<FullItem<'a>>,
    summary: Summary,
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

impl<'a> Listed<'a> {
    fn of(plan: &'a Plan, filter: Filter) -> Self {
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
        let items = listed.into_iter().filter(|item| filter.fits(item.status));
        Self {
            items: items.map(|item| FullItem::of(item).with_links(item, plan)).collect(),
            summary,
        }
    }
}

/// An item with everything that is needed to work on it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FullItem<'a> {
    id: ItemId,
    title: &'a str,
    context: &'a str,
    completion_criteria: &'a str,
    agent_type: Option<&'a str>,
    status: Status,
    priority: u32,
    outcome: Option<&'a str>,
    created_at: String,
    started_at: Option<String>,
    completed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_on: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<ItemId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<ItemId>,
}

impl<'a> FullItem<'a> {
    fn of(item: &'a Item) -> Self {
        Self {
            id: item.id,
            title: &item.title,
            context: &item.context,
            completion_criteria: &item.completion_criteria,
            agent_type: item.agent_type.as_deref(),
            status: item.status,
            priority: item.priority.unwrap_or_else(|| position(item).saturating_sub(1)),
            outcome: item.outcome.as_deref(),
            created_at: time(item.created_at),
            started_at: item.started_at.map(time),
            completed_at: item.completed_at.map(time),
            waiting_on: item.waiting_on.as_deref(),
            depends_on: Vec::new(),
            parent: None,
        }
    }

    /// Adds the ids of dependencies and parent. This needs the whole plan, because items store
    /// numbers.
    fn with_links(self, item: &Item, plan: &Plan) -> Self {
        let listed =
            |number: Number| plan.get(number).filter(|it| !it.is_superseded()).map(|it| it.id);
        let depends_on = item.depends_on.iter().copied().filter_map(listed).collect();
        Self { depends_on, parent: item.parent.and_then(listed), ..self }
    }
}

fn position(item: &Item) -> u32 {
    item.position.unwrap_or_default().0
}
