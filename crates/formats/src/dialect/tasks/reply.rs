//! Results of the four tools, in Claude Code's words. Additional lines appear only when they are
//! needed.

use punchlist_model::event::Field;
use punchlist_model::store::{Applied, Error};
use punchlist_model::{Broken, Event, Item, Number, Plan, Refusal, Slice};

use super::super::refuse::{self, Names};
use super::super::{Answer, MISMATCH, Reply};
use super::read::NOT_FOUND;
use super::{Call, What};
use crate::text::{many_lines, one_line};

impl Call {
    pub(crate) fn reply(&self, answer: Answer<'_>) -> Reply {
        match answer {
            Answer::Changed(applied) => self.changed(applied),
            Answer::Read(plan) => match &self.what {
                What::Get(task) => Reply::text(get(&plan, *task), false),
                What::List => match plan.whole() {
                    Some(plan) => Reply { shows: true, ..Reply::text(list(&plan), false) },
                    None => mismatch(),
                },
                What::Create | What::Update { .. } | What::Delete(_) => mismatch(),
            },
            Answer::Failed(Error::Refused(refusal), _) if self.is_missing(refusal) => {
                Reply::error(NOT_FOUND.to_owned())
            }
            Answer::Failed(why, plan) => {
                Reply::error(capital(&refuse::failed(why, &Names::new(self, plan))))
            }
        }
    }

    fn changed(&self, applied: &Applied) -> Reply {
        let result = match &self.what {
            What::Create => applied.decision.added.first().and_then(|number| {
                let subject = one_line(&applied.plan.get(*number)?.title).into_owned();
                Some(format!("Task #{number} created successfully: {subject}"))
            }),
            What::Update { task, blocks } => {
                let fields = updated(applied, *task, blocks).join(", ");
                Some(format!("Updated task #{task} {fields}"))
            }
            What::Delete(task) => Some(format!("Updated task #{task} deleted")),
            What::Get(_) | What::List => None,
        };
        let Some(mut text) = result else { return mismatch() };
        let warnings = refuse::warnings(applied.warnings(), &Names::new(self, Some(&applied.plan)));
        if !warnings.is_empty() {
            let lines: Vec<String> = warnings.iter().map(|line| capital(line)).collect();
            text.push_str("\n\n");
            text.push_str(&lines.join("\n"));
        }
        Reply::text(text, !applied.decision.events.is_empty())
    }

    /// Whether the task itself does not exist, and not one that it depends on.
    fn is_missing(&self, refusal: &Refusal) -> bool {
        let (What::Update { task, .. } | What::Delete(task)) = &self.what else { return false };
        refusal.problems.iter().any(|problem| match &problem.broken {
            Broken::NotFound { what } => *what == task.to_string(),
            Broken::Superseded => problem.item.as_ref().is_some_and(|tag| tag.number == *task),
            Broken::Ambiguous { .. }
            | Broken::EmptyTitle { .. }
            | Broken::EmptyText { .. }
            | Broken::TooLong { .. }
            | Broken::Nul { .. }
            | Broken::TooDeep { .. }
            | Broken::PersonsGoal
            | Broken::PersonsApproval
            | Broken::Blocked { .. }
            | Broken::TooManyOpen { .. }
            | Broken::Illegal { .. }
            | Broken::NotOpen
            | Broken::AlreadyInProgress { .. }
            | Broken::HeldByOther { .. }
            | Broken::StaleAttempt { .. }
            | Broken::Cycle { .. }
            | Broken::ParentCycle { .. }
            | Broken::OpenChild { .. }
            | Broken::ParentCompleted { .. }
            | Broken::Unverified { .. }
            | Broken::NameTaken { .. }
            | Broken::Twice { .. }
            | Broken::Conflict(_) => false,
        })
    }
}

fn mismatch() -> Reply {
    Reply::error(MISMATCH.to_owned())
}

/// The text with a capital first letter.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// The fields that changed, in Claude Code's order.
fn updated(applied: &Applied, task: Number, blocks: &[Number]) -> Vec<&'static str> {
    let changed = |of: Number, field: Field| {
        applied.decision.events.iter().any(|event| match event {
            Event::Changed { number, deltas, .. } => {
                *number == of && deltas.iter().any(|delta| delta.field() == field)
            }
            Event::Added { .. }
            | Event::Moved { .. }
            | Event::Superseded { .. }
            | Event::Restored { .. }
            | Event::PlanChanged { .. }
            | Event::Forgotten { .. } => false,
        })
    };
    let mut names: Vec<&'static str> = [
        (Field::Title, "subject"),
        (Field::Context, "description"),
        (Field::ActiveForm, "activeForm"),
        (Field::Owner, "owner"),
        (Field::Metadata, "metadata"),
        (Field::Status, "status"),
    ]
    .into_iter()
    .filter(|(field, _)| changed(task, *field))
    .map(|(_, name)| name)
    .collect();
    if blocks.iter().any(|number| changed(*number, Field::DependsOn)) {
        names.push("blocks");
    }
    if changed(task, Field::DependsOn) {
        names.push("blockedBy");
    }
    names
}

fn get(plan: &Slice, task: Option<Number>) -> String {
    let found = task.and_then(|number| plan.get(number)).filter(|item| !item.is_superseded());
    let Some(item) = found else { return NOT_FOUND.to_owned() };
    let listed = |number: &Number| plan.get(*number).is_some_and(|item| !item.is_superseded());
    let blocked_by = ids(item.depends_on.iter().copied().filter(listed));
    let dependants = plan.items.values().filter(|it| it.depends_on.contains(&item.number));
    let blocks = ids(dependants.filter(|it| !it.is_superseded()).map(|it| it.number));
    let mut text = format!(
        "Task #{}: {}\nStatus: {}\nDescription: {}",
        item.number,
        one_line(&item.title),
        item.status,
        many_lines(&item.context)
    );
    for (name, ids) in [("Blocked by", blocked_by), ("Blocks", blocks)] {
        if !ids.is_empty() {
            text.push_str(&format!("\n{name}: {ids}"));
        }
    }
    if let Some(on) = waits(item) {
        text.push_str(&format!("\nWaiting for: {on}"));
    }
    text
}

fn list(plan: &Plan) -> String {
    let listed = plan.listed();
    if listed.is_empty() {
        return "No tasks found".to_owned();
    }
    listed.into_iter().map(|item| line(plan, item)).collect::<Vec<_>>().join("\n")
}

fn line(plan: &Plan, item: &Item) -> String {
    let mut line = format!("#{} [{}] {}", item.number, item.status, one_line(&item.title));
    if let Some(owner) = item.owner.as_deref().filter(|owner| !owner.trim().is_empty()) {
        line.push_str(&format!(" ({})", one_line(owner)));
    }
    let blockers = ids(plan.blockers(item).map(|it| it.number));
    if !blockers.is_empty() {
        line.push_str(&format!(" [blocked by {blockers}]"));
    }
    if let Some(on) = waits(item) {
        line.push_str(&format!(" [waiting for {on}]"));
    }
    line
}

/// What an open item waits for. Claude Code has no such field, but an agent that looks for work
/// needs it.
fn waits(item: &Item) -> Option<String> {
    let on = item.waiting_on.as_deref().filter(|_| item.is_open())?;
    Some(one_line(on).into_owned())
}

fn ids(numbers: impl Iterator<Item = Number>) -> String {
    numbers.map(|number| format!("#{number}")).collect::<Vec<_>>().join(", ")
}
