//! Adopting the open items that an ended session left.
//!
//! A session without open items is attached to the plan; otherwise the open items are moved into
//! its own plan. Each step is one change of one plan. If the process is killed between two steps,
//! adopting again continues: moved items carry a mark that says where they came from.

use std::collections::BTreeMap;

use punchlist_model::needs::Needs;
use punchlist_model::session::{Memory, Session, Store};
use punchlist_model::store::{Change, Error};
use punchlist_model::{
    Ctx, Event, Holder, Item, ItemRef, NewItem, Number, Op, Patch, Place, Plan, PlanId, Status,
};
use serde_json::{Map, Value};

use super::{TRIES, update};

/// The metadata key that says where an item was moved from.
const FROM: &str = "adopted_from";
/// The metadata key that says who adopted an item in place.
const BY: &str = "adopted_by";

/// The result of adopting.
#[derive(Clone, PartialEq, Debug)]
pub struct Adopted {
    /// The session's whole plan after adopting.
    pub plan: Plan,
    /// Whether items were moved into the plan; otherwise the session was attached to it.
    pub moved: bool,
}

/// Gives a session the open items of a plan. `before` is the session that had them; its claims are
/// released. The model is shown the list with its next prompt.
///
/// `ctx` names the adopting session, which is also the holder.
pub async fn adopt(
    store: &dyn Store,
    session: &Session,
    plan: PlanId,
    before: Option<&Session>,
    ctx: &Ctx,
) -> Result<Adopted, Error> {
    let attached = store.attachment(session.attachment()).await?.map(|it| it.plan);
    // The previous session no longer holds anything, even if one of its processes still runs.
    let heir = match before {
        Some(before) => Ctx {
            holder: Holder::named(before.actor_name("")),
            gone: before.process.iter().chain(&ctx.gone).cloned().collect(),
            ..ctx.clone()
        },
        None => ctx.clone(),
    };
    let own = match attached {
        Some(own) if own != plan => Some(store.read(own, Needs::header()).await?),
        Some(_) | None => None,
    };
    let adopted = match own.filter(|own| own.open > 0) {
        Some(own) => {
            Adopted { plan: move_into(store, own.id, plan, &heir, ctx).await?, moved: true }
        }
        None => {
            let taken = take(store, session, plan, &heir).await?;
            store.attach(session.attachment(), plan, ctx.now).await?;
            Adopted { plan: taken, moved: false }
        }
    };
    let changed_plan = attached.is_some_and(|it| it != plan) && !adopted.moved;
    update(store, &session.key, |memory| remember(memory, changed_plan)).await?;
    Ok(adopted)
}

fn remember(memory: &mut Memory, changed_plan: bool) {
    memory.watch.took_over();
    memory.watch.owe();
    if changed_plan {
        // These refer to items of the session's previous plan.
        memory.mirrored.clear();
        memory.unconfirmed.clear();
        memory.sub_agents.clear();
    }
}

/// Marks the open items of a plan as adopted, and releases claims.
async fn take(
    store: &dyn Store,
    session: &Session,
    plan: PlanId,
    heir: &Ctx,
) -> Result<Plan, Error> {
    let there = store.whole(plan).await?;
    let mut ops = Vec::new();
    for item in there.listed().into_iter().filter(|it| it.is_open()) {
        if item.status == Status::InProgress {
            ops.push(Op::Release(item.number.into()));
        }
        // A change makes a parked item count again.
        let merge = Map::from_iter([(BY.to_owned(), Value::from(session.actor_name("")))]);
        let patch = Box::new(Patch { merge, ..Patch::default() });
        ops.push(Op::Edit { item: item.number.into(), patch });
    }
    if ops.is_empty() {
        return Ok(there);
    }
    store.change(plan, Change::new(ops, heir.clone())).await?;
    store.whole(plan).await
}

/// Moves the open items of one plan into another: first they are added here, then cancelled there.
async fn move_into(
    store: &dyn Store,
    own: PlanId,
    from: PlanId,
    heir: &Ctx,
    ctx: &Ctx,
) -> Result<Plan, Error> {
    for _ in 0..TRIES {
        let there = store.whole(from).await?;
        let mut here = store.whole(own).await?;
        let adds = additions(&there, &copies(&here, from));
        if !adds.is_empty() {
            store.change(own, Change::new(adds, ctx.clone())).await?;
            here = store.whole(own).await?;
        }
        let copies = copies(&here, from);
        // If another session closed or took some of them in between, our copies are dropped.
        let lost = lost(&there, &here, &copies);
        if !lost.is_empty() {
            store.change(own, Change::new(lost, ctx.clone())).await?;
        }
        let cancels = cancellations(&there, own, &copies);
        if cancels.is_empty() {
            return store.whole(own).await;
        }
        let change = Change { expect: Some(there.revision), ..Change::new(cancels, heir.clone()) };
        match store.change(from, change).await {
            Ok(_) => return store.whole(own).await,
            Err(Error::Revision { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let what = format!("plan {} is changed by too many processes at once", from.short());
    Err(Error::Unusable { what, source: None })
}

/// Reopens items in their original plan after a change dropped their copies, as undoing an adoption
/// does. Otherwise they would be open nowhere.
pub async fn give_back(
    store: &dyn Store,
    plan: PlanId,
    events: &[Event],
    ctx: &Ctx,
) -> Result<(), Error> {
    let here = store.whole(plan).await?;
    let mut origins: BTreeMap<PlanId, Vec<(Number, Number)>> = BTreeMap::new();
    for event in events {
        let Event::Superseded { number, .. } = event else { continue };
        if let Some((from, there)) = here.get(*number).and_then(origin) {
            origins.entry(from).or_default().push((there, *number));
        }
    }
    for (from, numbers) in origins {
        let there = match store.whole(from).await {
            Err(Error::NoPlan(_)) => continue,
            there => there?,
        };
        // Items that were changed there meanwhile stay as they are.
        let is_moved = |(from, to): &(Number, Number)| {
            there.get(*from).is_some_and(|it| {
                it.status == Status::Cancelled && it.outcome == Some(moved(plan, *to))
            })
        };
        let reopen = |it: &(Number, Number)| Op::Reopen { item: it.0.into(), start: false };
        let ops: Vec<Op> = numbers.iter().filter(|it| is_moved(it)).map(reopen).collect();
        if !ops.is_empty() {
            store.change(from, Change::new(ops, ctx.clone())).await?;
        }
    }
    Ok(())
}

/// The plan from which an item was moved, and its number there.
fn origin(item: &Item) -> Option<(PlanId, Number)> {
    let text = item.metadata.as_ref()?.get(FROM)?.as_str()?;
    let (plan, number) = text.split_once('#')?;
    Some((plan.parse().ok()?, number.parse().ok()?))
}

/// The items of a plan that came from another plan, by their numbers there.
fn copies(here: &Plan, from: PlanId) -> BTreeMap<Number, Number> {
    let is_here = |it: &&Item| !it.is_superseded();
    let copy = |it: &Item| Some((origin(it).filter(|it| it.0 == from)?.1, it.number));
    here.items.values().filter(is_here).filter_map(copy).collect()
}

/// The operations that add the open items that are not here yet, with their links.
fn additions(there: &Plan, copies: &BTreeMap<Number, Number>) -> Vec<Op> {
    let new = |it: &&Item| it.is_open() && !copies.contains_key(&it.number);
    let items: Vec<&Item> = there.listed().into_iter().filter(new).collect();
    let place = |number: Number| {
        let batch = items.iter().position(|it| it.number == number);
        let batch = batch.and_then(|at| u32::try_from(at + 1).ok()).map(ItemRef::Batch);
        batch.or_else(|| copies.get(&number).copied().map(ItemRef::Number))
    };
    let adds = items.iter().map(|it| Op::Add(Box::new(copy(there.id, it))));
    let ties = items.iter().filter_map(|it| {
        let after: Vec<ItemRef> = it.depends_on.iter().filter_map(|on| place(*on)).collect();
        let parent = it.parent.and_then(place);
        let item = place(it.number)?;
        let patch = Patch { parent: parent.map(Some), after, ..Patch::default() };
        (patch != Patch::default()).then(|| Op::Edit { item, patch: Box::new(patch) })
    });
    adds.chain(ties).collect()
}

fn copy(plan: PlanId, item: &Item) -> NewItem {
    let mut metadata = item.metadata.clone().unwrap_or_default();
    metadata.remove(BY);
    metadata.insert(FROM.to_owned(), Value::from(format!("{plan}#{}", item.number)));
    NewItem {
        id: None,
        title: item.title.clone(),
        active_form: item.active_form.clone(),
        context: item.context.clone(),
        completion_criteria: item.completion_criteria.clone(),
        agent_type: item.agent_type.clone(),
        owner: item.owner.clone(),
        priority: item.priority,
        depends_on: Vec::new(),
        parent: None,
        waiting_on: item.waiting_on.clone(),
        check: item.check.clone(),
        run: item.run.clone(),
        approve: item.approve,
        retry: item.retry,
        timeout: item.timeout,
        metadata: Some(metadata),
        from_list: false,
        place: Place::Back,
    }
}

fn cancellations(there: &Plan, own: PlanId, copies: &BTreeMap<Number, Number>) -> Vec<Op> {
    let cancel = |it: &Item| {
        let reason = moved(own, *copies.get(&it.number)?);
        Some(Op::Cancel { item: it.number.into(), reason: Some(reason) })
    };
    there.listed().into_iter().filter(|it| it.is_open()).filter_map(cancel).collect()
}

/// Drops copies of items that are closed there for another reason than being moved here.
fn lost(there: &Plan, here: &Plan, copies: &BTreeMap<Number, Number>) -> Vec<Op> {
    let is_lost = |(from, to): &(&Number, &Number)| {
        let settled = there.get(**from).is_none_or(|it| !it.is_open());
        let ours = moved(here.id, **to);
        let by_us = there.get(**from).is_some_and(|it| it.outcome.as_ref() == Some(&ours));
        let untouched =
            here.get(**to).is_some_and(|it| it.status == Status::Pending && !it.is_superseded());
        settled && !by_us && untouched
    };
    copies.iter().filter(is_lost).map(|(_, to)| Op::Supersede((*to).into())).collect()
}

fn moved(own: PlanId, number: Number) -> String {
    format!("moved to plan {} as {number}", own.short())
}
