//! Running a plan file: its items become calls of the scheduler, and the results are stored in the
//! plan.
//!
//! A program reads the file ([`Source::read`]), passes in what to do ([`Options`]) and the
//! environment ([`Surroundings`], [`Permissions`]), and calls [`run`]. A [`FrontEnd`] receives
//! events and returns a person's answers. [`preview`] shows what would be done. The scheduler's
//! policy alone decides whether a call is allowed.
//!
//! `plan_file` and `prepare` come before anything runs; `schedule` determines what runs and in
//! which order; `steps` are the tools that are called; `ledger` writes to the store; `board` holds
//! the state of each item; `runner` is the loop that connects them. [`JsonEvents`] writes a run as
//! JSON for programs.

mod board;
mod claimed;
mod end;
mod front_end;
mod json_events;
mod lease;
mod ledger;
mod lock;
mod options;
mod plan_file;
mod prepare;
mod preview;
mod printed;
mod runner;
mod schedule;
mod share;
mod steps;
mod workplace;

use punchlist_model::Plan;
use punchlist_model::session::Store;
use punchlist_model::store;

use crate::fail::Fail;
use plan_file::{fresh, moved};

pub use board::{Board, Sum};
pub use end::{Aim, Ended};
pub use front_end::{Event, FrontEnd, Input};
pub use json_events::JsonEvents;
pub use options::{Caller, Choice, Earlier, OnFailure, Options, Permissions, Person, Surroundings};
pub use plan_file::Source;
pub use schedule::{Held, Planned, Schedule, Task};
pub use share::share;
pub use steps::BY_HAND;

pub(crate) use claimed::{asked, cut_off};
pub(crate) use lock::Lock;
pub(crate) use prepare::Prepared;
pub(crate) use prepare::earlier_runs::{Late, end_others, late as late_answers};
pub(crate) use runner::heard;
pub(crate) use runner::start::job;
pub(crate) use runner::work as work_on;
pub(crate) use schedule::{Attendance, Chosen, Tree};
pub(crate) use steps::judge::Judge;
pub(crate) use steps::{Job, Resumed};
pub(crate) use workplace::{Claimed, Slot, Workplace};

/// Runs a plan file to its end and returns how it ended. Failures before or around the run are
/// errors.
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
        let text = "waiting for the processes of the killed run to end";
        front_end.say(text, caller.around.now())
    };
    let lock = Lock::take(&locks, &source.plan().to_string(), &source.name, waits).await?;
    share::take_back(&source, surroundings, front_end).await?;
    let prepared = prepare::prepare(&source, options, surroundings, front_end).await?;
    let workplace = Workplace::from(&source);
    runner::work(&workplace, options, surroundings, permissions, prepared, &lock, front_end).await
}

/// What a run would do.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The plan as the file would make it.
    pub plan: Plan,
    /// The items to run, their order, and the items that would not run.
    pub schedule: Schedule,
    /// Notes for a person.
    pub notes: Vec<String>,
}

/// Computes what a run would do. Changes nothing. Without a store, no plan exists yet.
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
    // A person may be there in the real run, so nothing is held back for lack of one.
    let attendance = Attendance { person: true, yes: options.yes, ..Attendance::default() };
    let cannot_run = prepare::unchecked(permissions, &plan, caller.person.reader());
    let schedule = Schedule::build(&plan, &tree, &chosen, &attendance, &cannot_run);
    Ok(Preview { plan, schedule, notes })
}
