//! Before anything runs: the plan is made what the file says, or with `--fresh` as if it had never been run.

use std::collections::BTreeMap;
use std::sync::Arc;

use punchlist_engine::policy::{checks, consent};
use punchlist_formats::planfile::Changed;
use punchlist_formats::text;
use punchlist_model::needs::Needs;
use punchlist_model::store::{self, Change, NewPlan, PlanStore};
use punchlist_model::{Ctx, Item, Number, Op, Origin, Plan, PlanPatch, Process, Rules, decide};
use punchlist_store::Threaded;

use super::book;
use super::course::{Chosen, Held};
use super::file::Source;
use super::left::{self, Late, Left};
use super::step::Resumed;
use super::{Ask, Person, fresh, lock};
use crate::app::App;
use crate::block_on;
use crate::error::Fail;
use crate::{clock, person, places, print};

/// A plan that is ready to be worked off.
pub(super) struct Prepared {
    pub(super) plan: Plan,
    /// Items that cannot be done in this run, and why.
    pub(super) not: BTreeMap<Number, Held>,
    /// Items that an earlier run left half done, and what may be done with them.
    pub(super) resumed: BTreeMap<Number, Resumed>,
    /// What was asked about items by runs that are gone.
    pub(super) late: Late,
    pub(super) notes: Vec<String>,
}

/// Who a run acts as.
pub(super) fn ctx(app: &App, process: Option<Process>) -> Result<Ctx, Fail> {
    let mut ctx = app.ctx()?;
    ctx.holder = book::holder(process);
    // The file decides how long its list is.
    ctx.limits.open_items = u32::MAX;
    // What a run begins, and in which order, it decides itself; `--only` and `--from` choose.
    ctx.anyway = true;
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
    let plan = match block_on(store.read(id, Needs::whole())) {
        Ok(plan) => plan,
        Err(store::Error::NoPlan(_)) => {
            // What the file asks for is looked at first: a refused one leaves no empty plan behind.
            look(None, source, &ctx)?;
            let title = source.title();
            let new = |name| NewPlan {
                name,
                made_for: Some(source.made_for()),
                title: title.clone(),
                ..NewPlan::new(id, project.clone(), ctx.now)
            };
            match block_on(store.create(new(name(source)))) {
                // A name is a convenience; the file's path is what counts.
                Err(store::Error::NameTaken(_)) => block_on(store.create(new(None)))?,
                Err(store::Error::AlreadyMade(_)) => return Err(lock::is_run(&source.name, None)),
                other => other?,
            }
        }
        Err(error) => return Err(error.into()),
    };
    if plan.made_for != Some(source.made_for()) {
        block_on(store.set_made_for(plan.id, Some(source.made_for())))?;
    }
    let plan = if source.is_moved { renamed(store, plan, source, &ctx)? } else { plan };
    let mut notes = Vec::new();
    let Left { plan, not, resumed, late } = left::behind(ask, store, plan, &ctx, person)?;
    let origin = if person.is_agent { Origin::Agent } else { Origin::Person };
    let import = source.import(&plan, origin);
    for item in import.dropped.iter().filter(|it| it.open) {
        let title = text::one_line(&item.title).into_owned();
        notes.push(format!(
            "item {} \"{title}\" is not in the file any more and is dropped",
            item.number
        ));
    }
    let mut ops = import.ops(|changed| ask.fresh || again(&plan, changed, person, &mut notes));
    // How many run at once is the scheduler's business; here is room for them, and for what agents have
    // in progress on lists of their own.
    let agents = source.file.items.iter().filter(|it| it.fields.agent.is_some()).count();
    let room =
        u32::try_from(agents).unwrap_or(u32::MAX).saturating_mul(100).saturating_add(jobs.max(1));
    let rules = Rules { max_in_progress: Some(room), ..plan.rules };
    if rules != plan.rules {
        ops.push(Op::Plan(Box::new(PlanPatch { rules: Some(rules), ..PlanPatch::default() })));
    }
    let plan = changed(store, plan, ops, &ctx)?;
    let plan = if ask.fresh {
        let ops = fresh::ops(&plan, source);
        changed(store, plan, ops, &ctx)?
    } else {
        plan
    };
    let resumed = resumed.into_iter().filter(|(number, _)| is_open(&plan, *number)).collect();
    Ok(Prepared { plan, not, resumed, late, notes })
}

/// The plan after these steps.
fn changed(store: &Arc<Threaded>, plan: Plan, ops: Vec<Op>, ctx: &Ctx) -> Result<Plan, Fail> {
    if ops.is_empty() {
        return Ok(plan);
    }
    let ctx = Ctx { ids: clock::ids(ctx.now)?, ..ctx.clone() };
    block_on(store.change(plan.id, Change::new(ops, ctx)))?;
    Ok(block_on(store.read(plan.id, Needs::whole()))?)
}

fn is_open(plan: &Plan, number: Number) -> bool {
    plan.get(number).is_some_and(Item::is_open)
}

/// The plan of a file that was moved, called by the file's name if that is free.
fn renamed(store: &Arc<Threaded>, plan: Plan, source: &Source, ctx: &Ctx) -> Result<Plan, Fail> {
    let name = name(source).filter(|it| plan.name.as_ref() != Some(it));
    let Some(name) = name else { return Ok(plan) };
    let patch = PlanPatch { name: Some(Some(name)), ..PlanPatch::default() };
    let ctx = Ctx { ids: clock::ids(ctx.now)?, ..ctx.clone() };
    match block_on(store.change(plan.id, Change::new(vec![Op::Plan(Box::new(patch))], ctx))) {
        // A name is a convenience.
        Err(store::Error::NameTaken(_)) => Ok(plan),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(block_on(store.read(plan.id, Needs::whole()))?),
    }
}

/// What the plan of a file is called: by the file's name.
fn name(source: &Source) -> Option<String> {
    let name = source.path.file_name()?.to_str()?.trim();
    (!name.is_empty() && name.chars().count() <= 60).then(|| name.to_owned())
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

/// Items whose check an agent wrote and nobody has allowed: it would run outside of the agent's bounds.
pub(super) fn unchecked(app: &App, plan: &Plan) -> Result<BTreeMap<Number, Held>, Fail> {
    let (policy, project) = (app.policy()?, &app.project()?.name);
    let is_given = consent::is_given(&places::data()?, project);
    let held = |it: &Item| {
        let why = it
            .check
            .as_ref()
            .and_then(|it| checks::held(&policy, it, is_given, person::reader()))?;
        it.is_open().then_some((it.number, Held::Check(why)))
    };
    Ok(plan.listed().into_iter().filter_map(held).collect())
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
