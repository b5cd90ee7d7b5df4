//! `punchlist run --dry-run`: shows what would run and in which order. Changes nothing.

use punchlist_engine::run::{Person, Preview, Schedule, Source, Task, preview};
use punchlist_formats::text;
use punchlist_formats::view::json;
use punchlist_formats::view::order::{Node, order};
use punchlist_model::{Item, Plan, Progress};
use serde_json::json;

use super::{Ask, caller, permissions};
use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::print::{self, Reply};

/// Shows what would run.
pub(super) fn run(app: &App, ask: &Ask, source: Source) -> Result<Reply, Fail> {
    let store = app.store_to_read()?;
    let store = store.as_deref();
    let caller = caller(app, Person { is_there: false, is_agent: false })?;
    let permissions = permissions(app, source.directory())?;
    let Preview { plan, schedule, notes } =
        block_on(preview(source, &ask.options, store, &caller, &permissions))?;
    print::notes(&notes, app.globals.json);
    if app.globals.json {
        return Ok(Reply::json(&as_json(&plan, &schedule)));
    }
    Ok(Reply::text(drawn(app, ask, &plan, &schedule)))
}

fn drawn(app: &App, ask: &Ask, plan: &Plan, schedule: &Schedule) -> String {
    let screen = app.screen();
    let leaves = plan.leaves();
    let to_do = schedule.planned.iter().filter(|it| leaves.contains(&it.number)).count();
    let Progress { completed, total, percent } = plan.progress();
    let title = text::one_line(&plan.title);
    let mut out = format!("{title}: {completed}/{total} done ({percent} %), {to_do} to do");
    if let Some(jobs) = ask.jobs {
        out.push_str(&format!(", {jobs} at once"));
    }
    out.push('\n');
    let nodes: Vec<Node> = schedule
        .planned
        .iter()
        .filter_map(|it| {
            let item = plan.get(it.number)?;
            let note = note(item, &it.task);
            Some(Node { title: item.title.clone(), note, after: it.after.clone() })
        })
        .collect();
    out.push_str(&screen.drawn(&order(&nodes, &app.view(screen))));
    let title = |number| plan.get(number).map(|it| it.title.clone()).unwrap_or_default();
    for (number, why) in &schedule.held {
        let (what, why) = (title(*number), why.words(&title));
        out.push_str(&format!(" left: {}  {}\n", text::one_line(&what), text::one_line(&why)));
    }
    if schedule.planned.is_empty() && schedule.held.is_empty() {
        out.push_str(" everything is done; `--fresh` starts over\n");
    }
    out
}

/// How an item is done: `cargo build, then checked`.
fn note(item: &Item, task: &Task) -> String {
    let mut parts = Vec::new();
    match task {
        Task::Agent(agent) => parts.push(format!("by {agent}")),
        Task::ByHand => parts.push("by hand".to_owned()),
        Task::Step => parts.extend(item.run.as_ref().map(|it| first_line(&it.command))),
    }
    if let Some(check) = &item.check {
        parts.push(format!("check: {}", first_line(&check.command)));
    }
    if item.approve {
        parts.insert(0, "asks".to_owned());
    }
    parts.join(" · ")
}

fn first_line(command: &str) -> String {
    let mut lines = command.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    if lines.next().is_some() { first + " …" } else { first }
}

fn as_json(plan: &Plan, schedule: &Schedule) -> serde_json::Value {
    let title = |number| plan.get(number).map(|it| it.title.clone()).unwrap_or_default();
    let number = |at: &usize| schedule.planned.get(*at).map(|it| it.number);
    let steps: Vec<serde_json::Value> = schedule
        .planned
        .iter()
        .filter_map(|it| {
            let item = plan.get(it.number)?;
            let after: Vec<_> = it.after.iter().filter_map(number).collect();
            let worker = match &it.task {
                Task::Agent(agent) => agent.as_str(),
                Task::ByHand => "person",
                Task::Step => "shell",
            };
            Some(json!({
                "item": it.number,
                "title": item.title,
                "worker": worker,
                "run": item.run.as_ref().map(|it| &it.command),
                "verify": item.check.as_ref().map(|it| &it.command),
                "approve": item.approve,
                "after": after,
            }))
        })
        .collect();
    let left: Vec<serde_json::Value> = schedule
        .held
        .iter()
        .map(|(number, why)| json!({"item": number, "title": title(*number), "why": why.words(&title)}))
        .collect();
    let progress = json::progress(plan.progress());
    json!({"plan": plan.id, "title": plan.title, "progress": progress, "steps": steps, "left": left})
}
