//! What a run would do, to be shown. Pure.

use std::num::NonZeroU32;

use punchlist_formats::text::{Line, Style, one_line};
use punchlist_formats::view;
use punchlist_formats::view::json;
use punchlist_formats::view::order::{Node, order};
use punchlist_model::{Item, Number, Progress};
use serde_json::{Value, json};

use super::{Preview, Task};

impl Preview {
    /// The items in the order in which they would run, and below them those that would not. `jobs` is how
    /// many items run in parallel, if the user said so.
    pub fn lines(&self, jobs: Option<NonZeroU32>, options: &view::Options) -> Vec<Line> {
        let leaves = self.plan.leaves();
        let to_do = self.schedule.planned.iter().filter(|it| leaves.contains(&it.number)).count();
        let Progress { completed, total, percent } = self.plan.progress();
        let title = one_line(&self.plan.title);
        let mut head = format!("{title}: {completed}/{total} done ({percent} %), {to_do} to do");
        if let Some(jobs) = jobs {
            head.push_str(&format!(", {jobs} at once"));
        }
        let mut lines = vec![Line::of(&head, Style::Plain)];
        let nodes: Vec<Node> = self
            .schedule
            .planned
            .iter()
            .filter_map(|it| {
                let item = self.plan.get(it.number)?;
                let note = note(item, &it.task);
                Some(Node { title: item.title.clone(), note, after: it.after.clone() })
            })
            .collect();
        lines.extend(order(&nodes, options));
        for (number, why) in &self.schedule.held {
            let (what, why) = (self.title(*number), why.words(&|it| self.title(it)));
            let text = format!(" left: {}  {}", one_line(&what), one_line(&why));
            lines.push(Line::of(&text, Style::Plain));
        }
        if self.schedule.planned.is_empty() && self.schedule.held.is_empty() {
            lines.push(Line::of(" everything is done; `--fresh` starts over", Style::Plain));
        }
        lines
    }

    /// The same as JSON.
    pub fn json(&self) -> Value {
        let number = |at: &usize| self.schedule.planned.get(*at).map(|it| it.number);
        let step = |it: &super::Planned| {
            let item = self.plan.get(it.number)?;
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
        };
        let steps: Vec<Value> = self.schedule.planned.iter().filter_map(step).collect();
        let left = self.schedule.held.iter().map(|(number, why)| {
            let why = why.words(&|it| self.title(it));
            json!({"item": number, "title": self.title(*number), "why": why})
        });
        json!({
            "plan": self.plan.id,
            "title": self.plan.title,
            "progress": json::progress(self.plan.progress()),
            "steps": steps,
            "left": left.collect::<Vec<_>>(),
        })
    }

    fn title(&self, number: Number) -> String {
        self.plan.get(number).map(|it| it.title.clone()).unwrap_or_default()
    }
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
