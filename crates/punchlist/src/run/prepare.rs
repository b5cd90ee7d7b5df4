//! Before anything runs: the plan is made what the file says, and what an earlier run left is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use punchlist_db::Threaded;
use punchlist_formats::planfile::{Changed, Import};
use punchlist_formats::text;
use punchlist_model::call::{CallStore, RunFilter};
use punchlist_model::needs::Needs;
use punchlist_model::store::{self, Change, NewPlan, PlanStore};
use punchlist_model::{
    Ctx, Item, ItemRef, Number, Op, Origin, Plan, PlanPatch, Process, Rules, Status, decide,
};

use super::book;
use super::course::{Chosen, Held};
use super::file::Source;
use super::step::Resumed;
use super::{Ask, Person, nest};
use crate::app::App;
use crate::error::Fail;
use crate::settle::settle;
use crate::{clock, consent, permit, print, who};

/// A plan that is ready to be worked off.
pub(super) struct Prepared {
    pub(super) plan: Plan,
    /// Items that cannot be done in this run, and why.
    pub(super) not: BTreeMap<Number, Held>,
    /// Items that an earlier run left half done, and what may be done with them.
    pub(super) resumed: BTreeMap<Number, Resumed>,
    pub(super) notes: Vec<String>,
}

/// Who a run acts as.
pub(super) fn ctx(app: &App, process: Option<Process>) -> Result<Ctx, Fail> {
    let mut ctx = app.ctx()?;
    ctx.holder = book::holder(process);
    // The file decides how long its list is.
    ctx.limits.open_items = u32::MAX;
    Ok(ctx)
}

/// The plan as the file wants it, without changing anything: for a look.
pub(super) fn look(plan: Option<Plan>, source: &Source, ctx: &Ctx) -> Result<Plan, Fail> {
    let mut plan = plan.unwrap_or_else(|| Plan::new(source.plan(), "", ctx.now));
    let import = source.import(&plan, Origin::Person);
    let ops = import.ops(|_| true);
    let decision = decide(&plan, &ops, ctx)?;
    for event in &decision.events {
        plan.evolve(event);
    }
    Ok(plan)
}

/// Makes the plan what the file says.
pub(super) fn prepare(
    app: &App,
    ask: &Ask,
    source: &Source,
    store: &Arc<Threaded>,
    person: Person,
    jobs: u32,
) -> Result<Prepared, Fail> {
    let project = app.project()?.name.clone();
    let id = source.plan();
    let ctx = ctx(app, None)?;
    let plan = match settle(store.read(id, Needs::whole())) {
        Ok(plan) => plan,
        Err(store::Error::NoPlan(_)) => {
            // What the file asks for is looked at first: a refused one leaves no empty plan behind.
            look(None, source, &ctx)?;
            let title = source.title();
            let new = |name| NewPlan {
                id,
                project: project.clone(),
                name,
                title: title.clone(),
                rules: Rules::default(),
                at: ctx.now,
            };
            match settle(store.create(new(name(source)))) {
                // A name is a convenience; the file's path is what counts.
                Err(store::Error::NameTaken(_)) => settle(store.create(new(None)))?,
                other => other?,
            }
        }
        Err(error) => return Err(error.into()),
    };
    let mut notes = Vec::new();
    let (plan, not, resumed) = left_behind(ask, store, plan, &ctx, person)?;
    let origin = if person.is_agent { Origin::Agent } else { Origin::Person };
    let import = source.import(&plan, origin);
    for item in import.dropped.iter().filter(|it| it.open) {
        let title = text::one_line(&item.title).into_owned();
        notes.push(format!(
            "item {} \"{title}\" is not in the file any more and is dropped",
            item.number
        ));
    }
    let mut ops = import.ops(|changed| again(&plan, changed, person, &mut notes));
    if ask.fresh {
        ops.extend(reopened(&plan, &import));
        // What agents had on lists of their own goes; with an item that is dropped it does by itself.
        let gone: BTreeSet<Number> = import.dropped.iter().map(|it| it.number).collect();
        ops.extend(nest::dropped(&plan, |under| !gone.contains(&under)));
    }
    // How many run at once is the scheduler's business; here is room for them, and for what agents have
    // in progress on lists of their own.
    let agents = source.file.items.iter().filter(|it| it.fields.agent.is_some()).count();
    let room =
        u32::try_from(agents).unwrap_or(u32::MAX).saturating_mul(100).saturating_add(jobs.max(1));
    let rules = Rules { max_in_progress: Some(room), ..plan.rules };
    if rules != plan.rules {
        ops.push(Op::Plan(Box::new(PlanPatch { rules: Some(rules), ..PlanPatch::default() })));
    }
    let plan = if ops.is_empty() {
        plan
    } else {
        settle(store.change(id, Change::new(ops, anew(&ctx)?)))?;
        settle(store.read(id, Needs::whole()))?
    };
    let resumed = resumed.into_iter().filter(|(number, _)| is_open(&plan, *number)).collect();
    Ok(Prepared { plan, not, resumed, notes })
}

fn is_open(plan: &Plan, number: Number) -> bool {
    plan.get(number).is_some_and(Item::is_open)
}

/// The same, with ids for another change.
fn anew(ctx: &Ctx) -> Result<Ctx, Fail> {
    Ok(Ctx { ids: clock::ids(ctx.now)?, ..ctx.clone() })
}

/// What the plan of a file is called: by the file's name.
fn name(source: &Source) -> Option<String> {
    let name = source.path.file_name()?.to_str()?.trim();
    (!name.is_empty() && name.chars().count() <= 60).then(|| name.to_owned())
}

/// Everything that is closed, opened again.
fn reopened(plan: &Plan, import: &Import<'_>) -> Vec<Op> {
    let again: BTreeSet<Number> = import.changed.iter().map(|it| it.number).collect();
    let dropped: BTreeSet<Number> = import.dropped.iter().map(|it| it.number).collect();
    let is_closed = |it: &&Item| {
        let closed = matches!(it.status, Status::Completed | Status::Cancelled);
        closed
            && !nest::is_entry(it)
            && !again.contains(&it.number)
            && !dropped.contains(&it.number)
    };
    let closed = plan.listed().into_iter().filter(is_closed);
    closed.map(|it| Op::Reopen { item: ItemRef::Number(it.number), start: false }).collect()
}

/// Whether a finished item that the file has changed is to be done again.
fn again(plan: &Plan, changed: &Changed, person: Person, notes: &mut Vec<String>) -> bool {
    let title = plan.get(changed.number).map(|it| text::one_line(&it.title).into_owned());
    let title = title.unwrap_or_default();
    let what = changed.fields.join(", ");
    if !person.is_there {
        notes.push(format!("\"{title}\" was done, but its {what} changed since: it is done again"));
        return true;
    }
    print::confirm(&format!("\"{title}\" was done, but its {what} changed since. Do it again?"))
        == print::Said::Yes
}

type LeftBehind = (Plan, BTreeMap<Number, Held>, BTreeMap<Number, Resumed>);

/// What an earlier run left: its calls are written off, its items are free again, and it is known what may
/// be done with each.
fn left_behind(
    ask: &Ask,
    store: &Arc<Threaded>,
    plan: Plan,
    ctx: &Ctx,
    person: Person,
) -> Result<LeftBehind, Fail> {
    // Nobody else runs this plan now, so whatever did has ended.
    let filter = RunFilter { plan: Some(plan.id), running: true, ..RunFilter::default() };
    for run in settle(store.runs(filter))? {
        settle(store.interrupt(run.id, ctx.now))?;
        settle(store.end_run(run.id, ctx.now))?;
    }
    let gone = who::gone(&plan);
    let mut not = BTreeMap::new();
    let mut resumed = BTreeMap::new();
    let mut free = Vec::new();
    for item in plan.in_progress() {
        let holder = item.claim.as_ref().map(|it| &it.holder);
        let is_ours = holder.is_none_or(|it| {
            it.name == ctx.holder.name || it.process.as_ref().is_some_and(|it| gone.contains(it))
        });
        if !is_ours {
            let name = holder.map(|it| it.name.clone()).unwrap_or_default();
            not.insert(item.number, Held::Claimed(name));
            continue;
        }
        free.push(Op::Release(ItemRef::Number(item.number)));
        if nest::is_entry(item) {
            continue;
        }
        match may_run_again(ask, item, person) {
            true => drop(resumed.insert(item.number, Resumed::Again)),
            false if item.check.is_some() => {
                resumed.insert(item.number, Resumed::CheckOnly);
            }
            false => drop(not.insert(item.number, Held::Interrupted)),
        }
    }
    if free.is_empty() {
        return Ok((plan, not, resumed));
    }
    let id = plan.id;
    settle(store.change(id, Change::new(free, Ctx { gone, ..anew(ctx)? })))?;
    Ok((settle(store.read(id, Needs::whole()))?, not, resumed))
}

/// Items whose check an agent wrote and nobody has allowed: it would run outside of the agent's bounds.
pub(super) fn unchecked(app: &App, plan: &Plan) -> Result<BTreeMap<Number, Held>, Fail> {
    let (policy, project) = (app.policy()?, &app.project()?.name);
    let is_given = consent::is_given(project)?;
    let held = |it: &Item| {
        let why = it.check.as_ref().and_then(|it| permit::held(&policy, it, is_given))?;
        it.is_open().then_some((it.number, Held::Check(why)))
    };
    Ok(plan.listed().into_iter().filter_map(held).collect())
}

fn may_run_again(ask: &Ask, item: &Item, person: Person) -> bool {
    if ask.retry_interrupted || ask.fresh || item.retry.is_some() {
        return true;
    }
    let title = text::one_line(&item.title);
    let first = if item.check.is_some() { " (its check is asked first)" } else { "" };
    let question =
        format!("\"{title}\" was under way when the last run was ended. Run it again?{first}");
    person.is_there && print::confirm(&question) == print::Said::Yes
}

/// Which items are meant.
pub(super) fn chosen(ask: &Ask, plan: &Plan) -> Result<Chosen, Fail> {
    if let Some(from) = &ask.from {
        return Ok(Chosen::From(find(plan, from)?));
    }
    if ask.only.is_empty() {
        return Ok(Chosen::All);
    }
    ask.only.iter().map(|it| find(plan, it)).collect::<Result<_, _>>().map(Chosen::Only)
}

/// An item by its number, or by its title where that is the only one.
fn find(plan: &Plan, text: &str) -> Result<Number, Fail> {
    let listed = plan.listed();
    let same = |it: &&&Item| it.title.trim().to_lowercase() == text.trim().to_lowercase();
    let titled: Vec<&&Item> = listed.iter().filter(same).collect();
    match titled.as_slice() {
        [one] => return Ok(one.number),
        [] => {}
        [..] => {
            let numbers = titled.iter().map(|it| format!("{}  {}", it.number, it.title)).collect();
            return Err(Fail::usage(format!("{text:?} is the title of several items"))
                .details(numbers)
                .hint("name it by its number."));
        }
    }
    let number = text.trim().parse::<u32>().ok().map(Number);
    if let Some(number) = number.filter(|it| listed.iter().any(|item| item.number == *it)) {
        return Ok(number);
    }
    Err(Fail::not_found(format!("there is no item {text:?} in this plan"))
        .hint("`--dry-run` shows the titles; `punchlist list --plan NAME` the numbers."))
}
