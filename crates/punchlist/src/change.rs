//! Making a change and saying what came of it: what all changing verbs share.

use std::str::FromStr;
use std::sync::Arc;

use punchlist_formats::text;
use punchlist_formats::view::json;
use punchlist_model::needs::{Around, Needs, Reach};
use punchlist_model::session::Store;
use punchlist_model::store::{Applied, Change, Error};
use punchlist_model::{
    Attempt, Broken, Event, Item, ItemRef, Number, Op, Plan, PlanId, Refusal, Revision, What,
    decide,
};

use crate::app::{App, no_plan};
use crate::block_on;
use crate::error::{Code, Fail};
use crate::identity;
use crate::person;
use crate::plan_choice::{self, Missing};
use crate::print::Reply;

/// The option of every verb that changes a plan.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Changing {
    /// Change nothing unless the plan is at this revision; `any` takes it as it is
    #[arg(long, value_name = "REV|any")]
    pub(crate) expect: Option<Expect>,
}

/// The revision that a caller believes the plan to be at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expect {
    /// Whichever it is.
    Any,
    /// This one.
    At(Revision),
}

impl FromStr for Expect {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "any" => Ok(Self::Any),
            _ => text
                .parse()
                .map(Self::At)
                .map_err(|_| "a revision is a number, or `any`".to_owned()),
        }
    }
}

impl Changing {
    /// The revision that the store is to insist on.
    pub(crate) fn revision(&self) -> Option<Revision> {
        match self.expect {
            Some(Expect::At(revision)) => Some(revision),
            Some(Expect::Any) | None => None,
        }
    }
}

/// A change that a verb asks for.
pub(crate) struct Request {
    /// What is asked.
    pub(crate) ops: Vec<Op>,
    /// Whether this change makes the plan if there is none.
    pub(crate) makes_plan: bool,
    /// The revision to insist on.
    pub(crate) changing: Changing,
    /// The attempt under which the worker writes.
    pub(crate) attempt: Option<u32>,
    /// The process that holds what is started.
    pub(crate) pid: Option<u32>,
    /// What is blocked is started or completed all the same, by a person's word.
    pub(crate) anyway: bool,
}

impl Request {
    /// A change of a plan that is there.
    pub(crate) fn new(ops: Vec<Op>, changing: Changing) -> Self {
        Self { ops, changing, makes_plan: false, attempt: None, pid: None, anyway: false }
    }

    /// Makes the change.
    pub(crate) fn make(self, app: &App) -> Result<(Arc<dyn Store>, Applied), Fail> {
        if !self.makes_plan && !app.has_store()? {
            return Err(no_plan());
        }
        if self.anyway {
            person::not_an_agent("blocked items are started and completed")?;
        }
        let mut ctx = app.ctx()?;
        ctx.anyway = self.anyway;
        ctx.attempt = self.attempt.map(Attempt);
        if self.pid.is_some() {
            ctx.holder = identity::holder(&ctx.holder.name, self.pid)?;
        }
        let store = app.store()?;
        let ctx = app.in_session(ctx, &*store)?;
        let expect = self.changing.revision();
        let begins = self.ops.iter().any(begins);
        let change = Change { expect, ..Change::new(self.ops, ctx) };
        let act = |id| {
            let gone =
                || block_on(store.read(id, Needs::header())).map(|plan| identity::gone(&plan));
            let mut change = change.clone();
            if begins {
                change.ctx.gone = gone()?;
            }
            match block_on(store.change(id, change.clone())) {
                // Looked at only now, because most changes meet no claim of somebody else's.
                Err(Error::Refused(refusal)) if !begins && is_held(&refusal) => {
                    change.ctx.gone = gone()?;
                    if change.ctx.gone.is_empty() {
                        return Err(Error::Refused(refusal));
                    }
                    block_on(store.change(id, change))
                }
                other => other,
            }
        };
        let check = || {
            if let Some(expected) = expect.filter(|it| *it != Revision(0)) {
                return Err(never_changed(expected));
            }
            let empty = Plan::new(PlanId(change.ctx.ids.nth(0)), "", change.ctx.now);
            decide(&empty, &change.ops, &change.ctx)?;
            Ok(())
        };
        let missing = if self.makes_plan { Missing::Make(&check) } else { Missing::Refuse };
        let applied = plan_choice::with(app, &*store, missing, act)?;
        Ok((store, applied))
    }

    /// Makes the change and says what came of it.
    pub(crate) fn answer(self, app: &App) -> Result<Reply, Fail> {
        let (store, applied) = self.make(app)?;
        report(app, &*store, applied)
    }
}

/// A plan that is not there yet is at revision 0, whatever its first change would be.
fn never_changed(expected: Revision) -> Fail {
    Fail::new(Code::Conflict, format!("there is no plan here yet (you had revision {expected})"))
        .hint("`--expect 0` or `--expect any` makes one; `punchlist plans --all` shows those elsewhere.")
}

/// Whether a step takes an item for the worker: then it matters whose processes have ended.
fn begins(op: &Op) -> bool {
    matches!(
        op,
        Op::Start(_)
            | Op::Next
            | Op::Replace(_)
            | Op::ReplaceAll(_)
            | Op::Reopen { start: true, .. }
    )
}

fn is_held(refusal: &Refusal) -> bool {
    refusal.problems.iter().any(|problem| matches!(problem.broken, Broken::HeldByOther { .. }))
}

/// What came of a change, for people or programs.
pub(crate) fn report(app: &App, store: &dyn Store, applied: Applied) -> Result<Reply, Fail> {
    let warnings: Vec<String> = applied.warnings().iter().map(ToString::to_string).collect();
    if app.globals.json {
        let applied = with_obstacles(store, applied)?;
        let changed: Vec<_> =
            changed(&applied).map(|item| json::item(&applied.plan, item, false)).collect();
        let value = serde_json::json!({
            "revision": applied.revision(),
            "changed": changed,
            "warnings": warnings,
        });
        return Ok(Reply { changed: true, ..Reply::json(&value) });
    }
    Ok(Reply { notes: warnings, changed: true, ..Reply::prose(lines(&applied)) })
}

/// The items that changed or were picked, by number. That a claim was renewed is no change to speak
/// of: every write of its holder does that.
fn changed(applied: &Applied) -> impl Iterator<Item = &Item> {
    let told = |number| {
        let about = |event: &&Event| event.number() == Some(number) && word(event).is_some();
        applied.decision.picked == Some(number)
            || applied.decision.events.iter().any(|it| about(&it))
    };
    applied.items().into_iter().filter(move |item| told(item.number))
}

/// Whether an item is ready follows from what it depends on and what is under it, which a slice need not
/// have. Nothing is under a new one that is not new itself.
fn with_obstacles(store: &dyn Store, mut applied: Applied) -> Result<Applied, Fail> {
    let lacks = |item: &&Item| {
        item.depends_on.iter().any(|on| applied.plan.get(*on).is_none())
            || (applied.plan.is_ready(item) && !applied.decision.added.contains(&item.number))
    };
    let around = |item: &Item| Reach {
        item: ItemRef::Number(item.number),
        around: vec![Around::Dependencies, Around::Children],
    };
    let items: Vec<Reach> = changed(&applied).filter(lacks).map(around).collect();
    if items.is_empty() {
        return Ok(applied);
    }
    let needs = Needs { items, ..Needs::default() };
    for (number, item) in block_on(store.read(applied.plan.id, needs))?.items {
        applied.plan.items.entry(number).or_insert(item);
    }
    Ok(applied)
}

/// One line for each item that changed.
fn lines(applied: &Applied) -> String {
    let mut out = String::new();
    let mut told: Vec<(Number, &str)> = Vec::new();
    for event in &applied.decision.events {
        let (Some(number), Some(word)) = (event.number(), word(event)) else { continue };
        if !told.contains(&(number, word)) {
            told.push((number, word));
            out.push_str(&line(applied, number, word));
        }
    }
    if let Some(number) =
        applied.decision.picked.filter(|it| !told.iter().any(|told| told.0 == *it))
    {
        out.push_str(&line(applied, number, "in progress"));
    }
    if out.is_empty() {
        out.push_str("nothing changed\n");
    }
    out
}

fn line(applied: &Applied, number: Number, word: &str) -> String {
    let item = applied.plan.get(number);
    let title = item.map(|item| text::one_line(&item.title)).unwrap_or_default();
    let waiting = item.and_then(|item| item.waiting_on.as_deref()).filter(|_| word == "waiting");
    match waiting {
        Some(on) => format!("{word} {number}  {title}: {}\n", text::one_line(on)),
        None => format!("{word} {number}  {title}\n"),
    }
}

/// What happened to an item, in a word; nothing for what only the journal cares about.
fn word(event: &Event) -> Option<&'static str> {
    Some(match event {
        Event::Added { .. } => "added",
        Event::Moved { .. } => "moved",
        Event::Superseded { .. } => "dropped",
        Event::Restored { .. } => "restored",
        Event::Forgotten { .. } => "forgotten",
        Event::PlanChanged { .. } => return None,
        Event::Changed { what, .. } => match what {
            What::Started => "started",
            What::Completed => "completed",
            What::Cancelled => "cancelled",
            What::Released => "released",
            What::LeaseRanOut => "lease ran out on",
            What::Reopened => "reopened",
            What::Waiting => "waiting",
            What::Resumed => "no longer waiting",
            What::Edited => "edited",
            What::Evidence => "added evidence to",
            What::Parked => "parked",
            What::Undone => "undid a change of",
            What::Renewed | What::Unreadable => return None,
        },
    })
}
