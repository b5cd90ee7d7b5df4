//! Prepares a run: updates the plan from the file, or resets it with `--fresh`.

pub(crate) mod earlier_runs;
pub(crate) mod late_answer;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use punchlist_formats::planfile::{Changed, Import};
use punchlist_formats::text;
use punchlist_formats::view::Reader;
use punchlist_model::store;
use punchlist_model::{Ctx, Item, Number, Op, Origin, Plan, PlanPatch, Process, Rules, decide};

use super::front_end::FrontEnd;
use super::ledger;
use super::lock;
use super::options::{Caller, Choice, Options, Permissions, Surroundings};
use super::plan_file::{Source, fresh};
use super::schedule::{Chosen, Held};
use super::steps::Resumed;
use crate::fail::Fail;
use crate::plan_service::{self, LivePlan, PlanRequest, Which};
use crate::policy::checks;
use earlier_runs::{Late, Left};

/// A plan that is ready to run.
pub(crate) struct Prepared {
    pub(crate) plan: LivePlan,
    /// Items that cannot be done in this run, with the reason.
    pub(crate) cannot_run: BTreeMap<Number, Held>,
    /// Items that an earlier run left interrupted, and what may be done with them.
    pub(crate) resumed: BTreeMap<Number, Resumed>,
    /// Questions about items that earlier runs asked.
    pub(crate) late: Late,
    pub(crate) notes: Vec<String>,
    /// Which items to run.
    pub(crate) chosen: Chosen,
}

/// The context that a run acts with.
pub(crate) fn ctx(caller: &Caller, process: Option<Process>) -> Ctx {
    let mut ctx = caller.ctx.clone();
    ctx.holder = ledger::holder(process);
    // The file decides how many items its list has.
    ctx.limits.open_items = u32::MAX;
    // A run decides itself what it starts and in which order; `--only` and `--from` choose.
    ctx.anyway = true;
    ctx
}

/// Computes the plan that the file asks for, without storing anything.
pub(crate) fn look(plan: Option<Plan>, source: &Source, ctx: &Ctx) -> Result<Plan, Fail> {
    let mut plan = plan.unwrap_or_else(|| Plan::new(source.plan(), "", ctx.now));
    let import = source.import(&plan, Origin::Person);
    let ops = import.ops(|_| true);
    let decision = decide(&plan, &ops, ctx)?;
    for event in &decision.events {
        plan.evolve(event);
    }
    Ok(plan)
}

/// Updates the plan from the file.
pub(crate) async fn prepare(
    source: &Source,
    options: &Options,
    surroundings: &Surroundings,
    front_end: &mut dyn FrontEnd,
) -> Result<Prepared, Fail> {
    let caller = &surroundings.caller;
    let ctx = ctx(caller, None);
    let plan = found(source, surroundings, &ctx).await?;
    let mut notes = Vec::new();
    let Left { mut plan, cannot_run, resumed, late } =
        earlier_runs::left(options, surroundings, plan, &ctx, front_end).await?;
    // The scheduler limits how many items run at once. The plan's limit must leave room for those
    // and for what agents have in progress on their own lists.
    let agents = source.file.items.iter().filter(|it| it.fields.agent.is_some()).count();
    let room = u32::try_from(agents)
        .unwrap_or(u32::MAX)
        .saturating_mul(100)
        .saturating_add(options.jobs.get());
    let rules = Rules { max_in_progress: Some(room), ..plan.plan().rules };
    let fresh = options.earlier.fresh;
    import(source, fresh, rules, surroundings, &mut plan, &mut notes, front_end).await?;
    if fresh {
        plan.change(&anew(surroundings, &ctx)?, |plan| fresh::ops(plan, source)).await?;
    }
    let is_open = |number: Number| plan.plan().get(number).is_some_and(Item::is_open);
    let resumed = resumed.into_iter().filter(|(number, _)| is_open(*number)).collect();
    let chosen = chosen(&options.choice, plan.plan())?;
    Ok(Prepared { plan, cannot_run, resumed, late, notes, chosen })
}

/// Changes the plan so that it has what the file says, and these rules.
pub(crate) async fn import(
    source: &Source,
    fresh: bool,
    rules: Rules,
    surroundings: &Surroundings,
    plan: &mut LivePlan,
    notes: &mut Vec<String>,
    front_end: &mut dyn FrontEnd,
) -> Result<(), Fail> {
    let caller = &surroundings.caller;
    let ctx = ctx(caller, None);
    let origin = if caller.person.is_agent { Origin::Agent } else { Origin::Person };
    let import = source.import(plan.plan(), origin);
    for item in import.dropped.iter().filter(|it| it.open) {
        let title = text::one_line(&item.title).into_owned();
        notes.push(format!(
            "item {} \"{title}\" is no longer in the file and is dropped",
            item.number
        ));
    }
    let again = if fresh {
        BTreeSet::new()
    } else {
        again(plan.plan(), &import, caller, notes, front_end).await
    };
    let mut ops = import.ops(|changed| fresh || again.contains(&changed.number));
    if rules != plan.plan().rules {
        ops.push(Op::Plan(Box::new(PlanPatch { rules: Some(rules), ..PlanPatch::default() })));
    }
    Ok(plan.change(&anew(surroundings, &ctx)?, |_| ops.clone()).await?)
}

/// The same context, with ids for another change.
pub(crate) fn anew(surroundings: &Surroundings, ctx: &Ctx) -> Result<Ctx, Fail> {
    Ok(Ctx { ids: surroundings.caller.around.ids(ctx.now)?, ..ctx.clone() })
}

/// The plan of the file, created if it does not exist, and recorded as the plan of this path.
pub(crate) async fn found(
    source: &Source,
    surroundings: &Surroundings,
    ctx: &Ctx,
) -> Result<LivePlan, Fail> {
    let mut plan = found_or_made(source, surroundings, ctx).await?;
    if plan.plan().made_for != Some(source.made_for()) {
        let made_for = Some(source.made_for());
        surroundings.store.set_made_for(plan.plan().id, made_for).await?;
        plan.read_again().await?;
    }
    if source.is_moved {
        rename(surroundings, &mut plan, source, ctx).await?;
    }
    Ok(plan)
}

/// The plan of the file, created if it does not exist.
async fn found_or_made(
    source: &Source,
    surroundings: &Surroundings,
    ctx: &Ctx,
) -> Result<LivePlan, Fail> {
    let (store, id) = (&surroundings.store, source.plan());
    let plan = match store.whole(id).await {
        Ok(plan) => plan,
        Err(store::Error::NoPlan(_)) => {
            // The plan is computed first, so that a refused file leaves no empty plan behind.
            look(None, source, ctx)?;
            let project = surroundings.caller.project.clone();
            let (which, title, now) = (source.which(), source.title(), ctx.now);
            let request = PlanRequest { project, which, title, id, now };
            let made = plan_service::ensure(&**store, request).await?;
            if made != id {
                return Err(lock::already_running(&source.name, None));
            }
            store.whole(id).await?
        }
        Err(error) => return Err(error.into()),
    };
    Ok(LivePlan::new(Arc::clone(store), plan))
}

/// Gives the plan of a moved file the file's name, if that name is free.
async fn rename(
    surroundings: &Surroundings,
    plan: &mut LivePlan,
    source: &Source,
    ctx: &Ctx,
) -> Result<(), Fail> {
    let Which::File { name: Some(name), .. } = source.which() else { return Ok(()) };
    if plan.plan().name.as_ref() == Some(&name) {
        return Ok(());
    }
    let patch = PlanPatch { name: Some(Some(name)), ..PlanPatch::default() };
    let op = Op::Plan(Box::new(patch));
    match plan.change(&anew(surroundings, ctx)?, |_| vec![op.clone()]).await {
        // A plan file is identified by its path, so the name is optional.
        Err(store::Error::NameTaken(_)) => Ok(()),
        other => Ok(other?),
    }
}

/// The closed items that the file has changed and that are to be done again.
async fn again(
    plan: &Plan,
    import: &Import<'_>,
    caller: &Caller,
    notes: &mut Vec<String>,
    front_end: &mut dyn FrontEnd,
) -> BTreeSet<Number> {
    let mut again = BTreeSet::new();
    for Changed { number, fields, .. } in &import.changed {
        let title = plan.get(*number).map(|it| text::one_line(&it.title).into_owned());
        let title = title.unwrap_or_default();
        let what = fields.join(", ");
        let changed = format!("\"{title}\" was done, but its {what} changed since");
        let is_again = if caller.person.is_there {
            front_end.confirm(&format!("{changed}. Do it again?")).await
        } else {
            notes.push(format!("{changed}: it is done again"));
            true
        };
        again.extend(is_again.then_some(*number));
    }
    again
}

/// Items whose check an agent wrote and nobody has allowed. It would run outside of the agent's
/// sandbox.
pub(crate) fn unchecked(
    permissions: &Permissions,
    plan: &Plan,
    reader: Reader,
) -> BTreeMap<Number, Held> {
    let Permissions { checks: policy, is_consent_given, .. } = permissions;
    let held = |it: &Item| {
        let check = it.check.as_ref();
        let why = check.and_then(|it| checks::held(policy, it, *is_consent_given, reader))?;
        it.is_open().then_some((it.number, Held::Check(why)))
    };
    plan.listed().into_iter().filter_map(held).collect()
}

/// The items that the options choose.
pub(crate) fn chosen(choice: &Choice, plan: &Plan) -> Result<Chosen, Fail> {
    match choice {
        Choice::All => Ok(Chosen::All),
        Choice::From(from) => Ok(Chosen::From(find(plan, from)?)),
        Choice::Only(only) => {
            only.iter().map(|it| find(plan, it)).collect::<Result<_, _>>().map(Chosen::Only)
        }
    }
}

/// Finds an item by its title, if that is unique, or by its number.
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
