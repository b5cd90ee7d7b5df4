//! Verifying items: selects the checks that are due, runs one, and records the result as evidence.
//!
//! The caller decides first whether a check may run ([`crate::policy::checks`]).

use std::path::{Path, PathBuf};

use punchlist_formats::typed::items;
use punchlist_formats::view::check::Checked;
use punchlist_formats::view::json;
use punchlist_model::item::{CheckRun, CoveredFile};
use punchlist_model::store::{Change, Error, PlanStore};
use punchlist_model::{
    Check, Ctx, Evidence, Item, ItemRef, Level, Number, Op, Plan, Status, Verification,
};

use super::evidence;
use super::runner::{Checker, Ran};
use crate::around::Around;
use crate::fail::Fail;
use crate::project::Project;

/// Where the call was made: the project, and the directory in it.
#[derive(Clone, Copy, Debug)]
pub struct CalledIn<'a> {
    /// The project.
    pub project: &'a Project,
    /// The directory, if there is one.
    pub directory: Option<&'a Path>,
}

/// Which checks of a plan to run if no item is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Checks of items in progress or completed that have not passed or whose files have changed.
    Due,
    /// Checks that passed and whose files have changed.
    Stale,
    /// All checks except those of cancelled items.
    All,
}

/// A check to run.
#[derive(Clone, Debug)]
pub struct Due<'a> {
    /// The item.
    pub item: &'a Item,
    /// Its check.
    pub check: &'a Check,
    /// The directory that the check runs in.
    pub directory: PathBuf,
}

/// The checks of the named items, in that order. An item without a check is an error.
pub fn named<'a>(
    plan: &'a Plan,
    named: &[ItemRef],
    from: CalledIn<'_>,
) -> Result<Vec<Due<'a>>, Fail> {
    let mut all: Vec<Due<'_>> = Vec::new();
    for item in named {
        let item = items::find(plan, item)?;
        if !all.iter().any(|it| it.item.number == item.number) {
            all.push(of(plan, item, from)?);
        }
    }
    Ok(all)
}

/// The checks of a plan in this scope, in the order of the list.
pub fn due<'a>(plan: &'a Plan, scope: Scope, from: CalledIn<'_>) -> Result<Vec<Due<'a>>, Fail> {
    let mut due = Vec::new();
    for item in plan.listed() {
        if item.check.is_none() || item.status == Status::Cancelled {
            continue;
        }
        let it = of(plan, item, from)?;
        if scope == Scope::All || is_due(plan, &it, scope)? {
            due.push(it);
        }
    }
    Ok(due)
}

/// The check of one item, and the directory that it runs in.
pub fn of<'a>(plan: &'a Plan, item: &'a Item, from: CalledIn<'_>) -> Result<Due<'a>, Fail> {
    let check = check_of(item)?;
    let directory = evidence::place(from.project, from.directory, plan, item)?;
    Ok(Due { item, check, directory })
}

/// The check of an item; an error if it has none.
pub(crate) fn check_of(item: &Item) -> Result<&Check, Fail> {
    item.check.as_ref().ok_or_else(|| no_check(item))
}

fn is_due(plan: &Plan, it: &Due<'_>, scope: Scope) -> Result<bool, Fail> {
    let stale = match evidence::believed(it.item) {
        Some(run) => evidence::has_changed(&it.directory, it.check, run)?,
        None => false,
    };
    Ok(match plan.verification(it.item, stale) {
        Verification::Stale => true,
        Verification::Required | Verification::Failed => {
            scope != Scope::Stale && it.item.status != Status::Pending
        }
        Verification::None | Verification::Passed => false,
    })
}

fn no_check(item: &Item) -> Fail {
    let (number, title) = (item.number, item.title.chars().take(80).collect::<String>());
    let fail = Fail::usage(format!("item {number} {title:?} has no check"))
        .hint(format!("give it one: `punchlist edit {number} --verify \"make test\"`."));
    Fail { items: vec![number], ..fail }
}

/// Runs one check of a plan and records the result, whether it passed or failed. With `complete`,
/// an open item whose check passed is also completed, if the plan's rules allow it.
///
/// `ctx` names the caller. The change gets the time and the ids of the end of the check.
pub async fn verify(
    store: &dyn PlanStore,
    checker: &Checker,
    plan: &Plan,
    due: Due<'_>,
    mut ctx: Ctx,
    around: &dyn Around,
    complete: bool,
) -> Result<Checked, Fail> {
    let Due { item, check, directory } = due;
    // The files are read before the check runs: the check does not cover changes made while it
    // runs.
    let covered = covered(directory.clone(), check.covers.clone()).await?;
    let variables = [
        ("PUNCHLIST_RUN", "verify".to_owned()),
        ("PUNCHLIST_PLAN", plan.id.to_string()),
        ("PUNCHLIST_ITEM", item.number.to_string()),
    ];
    let ran = checker.run(&check.command, &directory, item.timeout, &variables).await?;
    let run = CheckRun {
        command: check.command.clone(),
        exit_code: ran.code(),
        output_digest: ran.digest.clone(),
        covered,
        worktree: directory.to_string_lossy().into_owned(),
    };
    ctx.now = around.now();
    ctx.ids = around.ids(ctx.now)?;
    let complete = complete && ran.passed() && item.is_open();
    record(store, plan, item.number, run, ran, ctx, complete).await
}

/// Reads the files that a check covers, in a thread that may block.
async fn covered(directory: PathBuf, globs: Vec<String>) -> Result<Vec<CoveredFile>, Fail> {
    let read = tokio::task::spawn_blocking(move || evidence::cover(&directory, &globs)).await;
    read.map_err(|why| Fail::ours(format!("the covered files could not be read: {why}")))?
}

/// Records a run of a check as evidence.
async fn record(
    store: &dyn PlanStore,
    plan: &Plan,
    number: Number,
    run: CheckRun,
    ran: Ran,
    ctx: Ctx,
    complete: bool,
) -> Result<Checked, Fail> {
    let evidence = Evidence {
        level: Level::Checked,
        at: ctx.now,
        by: ctx.actor.name.clone(),
        run: Some(run.clone()),
    };
    let prove = Op::Prove { item: number.into(), evidence: Box::new(evidence) };
    let mut ops = vec![prove.clone()];
    if complete {
        let item = number.into();
        ops.push(Op::Complete { item, outcome: None, with_children: false });
    }
    let mut refused = None;
    let mut applied = store.change(plan.id, Change::new(ops, ctx.clone())).await;
    // The evidence is recorded even if the item cannot be completed yet.
    if let Err(Error::Refused(refusal)) = applied {
        refused = Some(refusal);
        applied = store.change(plan.id, Change::new(vec![prove], ctx)).await;
    }
    let revision = applied?.revision();
    let now = store.whole(plan.id).await?;
    let item = items::find(&now, &number.into())?;
    Ok(Checked {
        verification: now.verification(item, false),
        json: json::item(&now, item, false),
        item: item.clone(),
        passed: ran.passed(),
        ended: ran.words(),
        output: ran.said,
        run,
        revision,
        refused,
    })
}
