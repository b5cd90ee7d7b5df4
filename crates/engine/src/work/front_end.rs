//! The interface between a worker and its front end.

use futures_core::future::BoxFuture;
use punchlist_formats::text::one_line;
use punchlist_model::call::Asked;
use punchlist_model::{Attempt, Number, Plan, Timestamp};
use serde_json::{Value, json};

use crate::fail::Fail;

/// Shows what a worker does, and says when to stop.
pub trait FrontEnd: Send {
    /// Handles an event.
    fn event(&mut self, event: Event<'_>, now: Timestamp) -> Result<(), Fail>;

    /// Waits until somebody wants the worker to stop: the first time gracefully, the second time at once. The
    /// future may be dropped and created again at any time.
    fn stop(&mut self) -> BoxFuture<'_, ()>;
}

/// How a worker is being stopped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Stopping {
    /// It is not being stopped.
    #[default]
    No,
    /// It takes nothing new. What may be repeated is handed back, the rest is finished.
    Gracefully,
    /// It stops everything.
    AtOnce,
}

/// An event of a worker.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The worker begins.
    Begins {
        /// Its name.
        name: &'a str,
        /// The project.
        project: &'a str,
    },
    /// The worker has claimed an item.
    Took {
        /// The plan.
        plan: &'a Plan,
        /// The item.
        item: Number,
        /// The attempt.
        attempt: Attempt,
    },
    /// A person must answer a question. It is in the store.
    Asked {
        /// The plan's title.
        plan: &'a str,
        /// The question.
        asked: &'a Asked,
    },
    /// An item has ended.
    Ended {
        /// The plan's title.
        plan: &'a str,
        /// The item.
        item: Number,
        /// The item's title.
        title: &'a str,
        /// `done`, `failed`, or `handed back`.
        how: &'a str,
        /// Why it is not done; empty if it is.
        why: &'a str,
    },
    /// The worker does not take an item. Reported once for each reason.
    Skipped {
        /// The plan.
        plan: &'a Plan,
        /// The item.
        item: Number,
        /// The reason.
        why: &'a str,
    },
    /// There is nothing to take. The worker sleeps.
    Idle,
    /// The worker is being stopped.
    Stops(Stopping),
    /// The store cannot be used. The worker tries again.
    Away(&'a str),
    /// The store can be used again.
    Back,
    /// A note for a person.
    Note(&'a str),
}

fn title(plan: &Plan, item: Number) -> &str {
    plan.get(item).map(|it| it.title.as_str()).unwrap_or_default()
}

impl Event<'_> {
    /// The event as a line for people.
    pub fn words(&self) -> String {
        match self {
            Self::Begins { name, project } => format!("{name} works in {project}"),
            Self::Took { plan, item, attempt } => {
                let (of, what) = (one_line(&plan.title), one_line(title(plan, *item)));
                let again =
                    if attempt.0 > 1 { format!(", attempt {attempt}") } else { String::new() };
                format!("took       {item} {what} ({of}{again})")
            }
            Self::Asked { plan, asked } => {
                let (id, what) = (asked.id.short(), one_line(&asked.title).into_owned());
                format!("asks       {what} ({}): punchlist answer {id}", one_line(plan))
            }
            Self::Ended { plan, item, title, how, why } => {
                let (of, what) = (one_line(plan), one_line(title));
                let why = why.lines().next().unwrap_or_default();
                let why =
                    if why.is_empty() { String::new() } else { format!(": {}", one_line(why)) };
                format!("{how:<10} {item} {what} ({of}){why}")
            }
            Self::Skipped { plan, item, why } => {
                let (of, what) = (one_line(&plan.title), one_line(title(plan, *item)));
                format!("skipped    {item} {what} ({of}): {}", one_line(why))
            }
            Self::Idle => "nothing to do; waiting for work".to_owned(),
            Self::Stops(Stopping::AtOnce) => "stopping everything".to_owned(),
            Self::Stops(_) => "stopping: finishes what cannot be repeated, hands back the rest; \
                               a second signal stops everything"
                .to_owned(),
            Self::Away(why) => format!("the store cannot be used, trying again: {}", one_line(why)),
            Self::Back => "the store can be used again".to_owned(),
            Self::Note(text) => one_line(text).into_owned(),
        }
    }

    /// The event as JSON.
    pub fn json(&self, now: Timestamp) -> Value {
        let at = format!("{now:.3}");
        match self {
            Self::Begins { name, project } => {
                json!({"type": "begins", "at": at, "name": name, "project": project})
            }
            Self::Took { plan, item, attempt } => json!({
                "type": "took", "at": at, "plan": plan.id, "item": item, "attempt": attempt,
                "title": title(plan, *item),
            }),
            Self::Asked { plan, asked } => json!({
                "type": "asks", "at": at, "plan": plan, "question": asked.id, "item": asked.item,
                "title": asked.title,
            }),
            Self::Ended { plan, item, title, how, why } => json!({
                "type": "ended", "at": at, "plan": plan, "item": item, "title": title,
                "how": how, "why": why,
            }),
            Self::Skipped { plan, item, why } => json!({
                "type": "skipped", "at": at, "plan": plan.id, "item": item,
                "title": title(plan, *item), "why": why,
            }),
            Self::Idle => json!({"type": "idle", "at": at}),
            Self::Stops(how) => {
                json!({"type": "stops", "at": at, "atOnce": *how == Stopping::AtOnce})
            }
            Self::Away(why) => json!({"type": "away", "at": at, "why": why}),
            Self::Back => json!({"type": "back", "at": at}),
            Self::Note(text) => json!({"type": "note", "at": at, "text": text}),
        }
    }
}
