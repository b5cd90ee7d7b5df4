//! Running a plan file: its items become calls of the scheduler, and what comes of them is kept in the plan.
//!
//! A program reads the file ([`Source::read`]), says what it wants ([`Options`]) and in which surroundings
//! ([`Surroundings`], [`Permissions`]), and calls [`run`]. A [`FrontEnd`] is told what happens and gives the
//! answers of a person. [`preview`] shows what would be done. Whether a rule allows a call is decided by the
//! scheduler's policy, never here.
//!
//! `plan_file` and `prepare` come before anything runs; `schedule` says what is run and in which order; `steps`
//! are the tools that are called; `ledger` writes to the store; `board` holds how each item stands; `runner` is
//! the loop that connects them. [`JsonEvents`] writes a run down for programs.

mod board;
mod end;
mod front_end;
mod json_events;
mod ledger;
mod lock;
mod options;
mod plan_file;
mod prepare;
mod printed;
mod runner;
mod schedule;
mod steps;

use punchlist_model::Plan;
use punchlist_model::session::Store;
use punchlist_model::store;

use crate::fail::Fail;
use lock::Lock;
use plan_file::{fresh, moved};
use schedule::{There, Tree};

pub use board::{Board, Sum};
pub use end::{Aim, Ended};
pub use front_end::{Event, FrontEnd, Input};
pub use json_events::JsonEvents;
pub use options::{Caller, Choice, Earlier, OnFailure, Options, Permissions, Person, Surroundings};
pub use plan_file::Source;
pub use schedule::{Held, Planned, Schedule, Task};
pub use steps::BY_HAND;

/// Runs a plan file to its end. Returns how it ended; what went wrong before or around it is an error.
pub async fn run(
    mut source: Source,
    options: &Options,
    surroundings: &Surroundings,
    permissions: &Permissions,
    front_end: &mut dyn FrontEnd,
) -> Result<Ended, Fail> {
    let (store, caller) = (&*surroundings.store, &surroundings.caller);
    let found = moved::find(&source, options, store, caller, Some(&mut *front_end)).await?;
    for note in source.belongs(found) {
        front_end.warn(&note);
    }
    let locks = surroundings.data.join("runs");
    let waits = || {
        let text = "waiting for the processes of the run that was killed to end";
        front_end.say(text, caller.around.now())
    };
    let lock = Lock::take(&locks, source.plan(), &source.name, waits).await?;
    let prepared = prepare::prepare(&source, options, surroundings, front_end).await?;
    runner::work(&source, options, surroundings, permissions, prepared, &lock, front_end).await
}

/// What a run would do.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The plan as the file would make it.
    pub plan: Plan,
    /// What would be done, in which order, and what would not.
    pub schedule: Schedule,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Finds out what a run would do, and changes nothing. Where there is no store yet, no plan is known.
pub async fn preview(
    mut source: Source,
    options: &Options,
    store: Option<&dyn Store>,
    caller: &Caller,
    permissions: &Permissions,
) -> Result<Preview, Fail> {
    let (mut notes, mut known) = (Vec::new(), None);
    if let Some(store) = store {
        let found = moved::find(&source, options, store, caller, None).await?;
        notes = source.belongs(found);
        known = match store.whole(source.plan()).await {
            Ok(plan) => Some(plan),
            Err(store::Error::NoPlan(_)) => None,
            Err(error) => return Err(error.into()),
        };
    }
    let mut plan = prepare::look(known, &source, &prepare::ctx(caller, None))?;
    if plan.title.is_empty() {
        plan.title = source.title();
    }
    if options.earlier.fresh {
        fresh::look(&mut plan);
    }
    let tree = Tree::of(&plan);
    let chosen = prepare::chosen(&options.choice, &plan)?;
    // Somebody may be there when it is really run, so nothing is left for want of a person.
    let there = There { person: true, yes: options.yes, ..There::default() };
    let not = prepare::unchecked(permissions, &plan, caller.person.reader());
    let schedule = Schedule::plot(&plan, &tree, &chosen, &there, &not);
    Ok(Preview { plan, schedule, notes })
}
