//! What earlier runs of a plan left: items that were under way when they were ended, and answers that came
//! too late for them.
//!
//! An item that was under way is marked as interrupted before anything else is forgotten of that run, and
//! the mark stays until the item is done again, proved, completed or skipped, however many runs later.
//! A question of a run that is gone can still be answered; the next run that would ask the same takes the
//! answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use punchlist_formats::text;
use punchlist_model::call::{
    Answered, Asked, CallRecord, CallState, CallStore, INTERRUPTED, Question, QuestionFilter,
    RunFilter, RunRecord, Said, Standing,
};
use punchlist_model::needs::Needs;
use punchlist_model::store::{Change, PlanStore};
use punchlist_model::{
    Actor, Ctx, Item, ItemRef, Mode, Number, Op, Patch, Plan, RunId, Status, Timestamp,
};
use punchlist_store::Threaded;
use serde_json::{Map, Value};

use super::course::Held;
use super::step::Resumed;
use super::{Ask, Person, nest, session};
use crate::block_on;
use crate::error::Fail;
use crate::{clock, identity, last_call, print};

/// In how many runs answers are looked for that nobody has heard, the newest first.
const RUNS: u32 = 64;

/// What is said of an item that was under way when its run was ended.
const SAID: &str = "interrupted: the run was ended while it was under way";

/// What earlier runs left.
pub(super) struct Left {
    pub(super) plan: Plan,
    /// Items that cannot be done in this run, and why.
    pub(super) not: BTreeMap<Number, Held>,
    /// Items that were under way, and what may be done with them.
    pub(super) resumed: BTreeMap<Number, Resumed>,
    /// What was asked about items and nobody has heard an answer to.
    pub(super) late: Late,
}

/// Questions of runs that are gone, by the item that they are about, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Late(BTreeMap<Number, Vec<Unheard>>);

impl Late {
    /// The items about which something was answered.
    pub(super) fn answered(&self) -> BTreeSet<Number> {
        let has_answer = |it: &Vec<Unheard>| it.iter().any(|it| it.answered.is_some());
        self.0.iter().filter(|(_, it)| has_answer(it)).map(|(number, _)| *number).collect()
    }

    /// What was answered to exactly this question, if anything. It is asked anew now, so those of the
    /// runs that are gone wait no longer.
    pub(super) async fn take(
        &mut self,
        store: &Threaded,
        asked: &Asked,
        now: Timestamp,
    ) -> Result<Option<Answered>, Fail> {
        let unheard = asked.item.and_then(|it| self.0.remove(&it)).unwrap_or_default();
        for it in &unheard {
            it.settle(store, now).await?;
        }
        let is_same = |it: &&Unheard| it.answered.is_some() && it.is_same(asked);
        Ok(unheard.iter().rfind(is_same).and_then(|it| it.answered.clone()))
    }
}

/// A question of a run that is gone.
#[derive(Clone, Debug)]
struct Unheard {
    run: RunId,
    /// The call that asked, and waits still.
    call: CallRecord,
    asked: Asked,
    /// What was answered, if anything.
    answered: Option<Answered>,
}

impl Unheard {
    /// Whether it asked for exactly this: only then the answer is one to it.
    fn is_same(&self, other: &Asked) -> bool {
        let it = &self.asked;
        (&it.tool, &it.arguments, &it.command, &it.diff, &it.touches)
            == (&other.tool, &other.arguments, &other.command, &other.diff, &other.touches)
    }

    /// Its call waits no longer: somebody else asks the same, or nobody will.
    async fn settle(&self, store: &Threaded, now: Timestamp) -> Result<(), Fail> {
        let state = CallState::Cancelled;
        let detail = Some(Value::from(INTERRUPTED));
        let call = CallRecord { state, detail, at: now, ..self.call.clone() };
        store.record(self.run, vec![call], Vec::new(), None).await?;
        Ok(())
    }
}

/// Looks at what earlier runs left, marks what was under way and frees it, and finds out what may be done
/// with it. Nobody else runs this plan now, so whatever did has ended.
pub(super) fn behind(
    ask: &Ask,
    store: &Arc<Threaded>,
    plan: Plan,
    ctx: &Ctx,
    person: Person,
) -> Result<Left, Fail> {
    let filter = RunFilter { plan: Some(plan.id), running: true, ..RunFilter::default() };
    let ended = block_on(store.runs(filter))?;
    let under_way = under_way(store, &ended)?;
    let gone = identity::gone(&plan);
    let mut not = BTreeMap::new();
    let mut resumed = BTreeMap::new();
    let mut ops = Vec::new();
    for item in plan.listed().into_iter().filter(|it| it.is_open()) {
        let is_begun = item.status == Status::InProgress;
        if is_begun {
            let holder = item.claim.as_ref().map(|it| &it.holder);
            let is_ours = holder.is_none_or(|it| {
                let is_gone = it.process.as_ref().is_some_and(|it| gone.contains(it));
                it.name == ctx.holder.name || is_gone
            });
            if !is_ours {
                let name = holder.map(|it| it.name.clone()).unwrap_or_default();
                not.insert(item.number, Held::Claimed(name));
                continue;
            }
            ops.push(Op::Release(ItemRef::Number(item.number)));
        }
        // What an agent has on a list of its own is not done by a run, and a check alone does no harm.
        let can_harm = item.run.is_some() || item.agent_type.is_some();
        let is_new = can_harm && (is_begun || under_way.contains(&item.number));
        if ask.fresh || nest::is_entry(item) || !(is_new || item.is_interrupted()) {
            continue;
        }
        if is_new && !item.is_interrupted() {
            ops.push(marked(item.number));
        }
        match may_run_again(ask, item, person) {
            true => drop(resumed.insert(item.number, Resumed::Again)),
            false if item.check.is_some() => {
                resumed.insert(item.number, Resumed::CheckOnly);
            }
            false => drop(not.insert(item.number, Held::Interrupted)),
        }
    }
    let plan = if ops.is_empty() {
        plan
    } else {
        let ids = clock::ids(ctx.now)?;
        block_on(store.change(plan.id, Change::new(ops, Ctx { gone, ids, ..ctx.clone() })))?;
        block_on(store.read(plan.id, Needs::whole()))?
    };
    // Only now: as long as these have not ended, the next run finds what they left.
    for run in &ended {
        let said = said_so_far(store, run.id)?;
        block_on(store.interrupt(run.id, ctx.now, said))?;
        block_on(store.end_run(run.id, ctx.now))?;
    }
    let plan = from_workers(store, plan, &under_way, ctx)?;
    let late = late(ask, store, &plan, ctx.now)?;
    Ok(Left { plan, not, resumed, late })
}

/// The items whose calls were found executing.
fn under_way(store: &Arc<Threaded>, ended: &[RunRecord]) -> Result<BTreeSet<Number>, Fail> {
    let mut items = BTreeSet::new();
    for run in ended {
        let calls = block_on(store.calls(run.id))?.into_iter();
        items.extend(calls.filter(|it| it.state == CallState::Executing).filter_map(|it| it.item));
    }
    Ok(items)
}

/// What workers that were killed had on plans of their own goes under their items.
fn from_workers(
    store: &Arc<Threaded>,
    mut plan: Plan,
    under_way: &BTreeSet<Number>,
    ctx: &Ctx,
) -> Result<Plan, Fail> {
    for number in under_way {
        let Some(item) = plan.get(*number).filter(|it| it.is_open()) else { continue };
        let (Some(key), Some(agent)) = (session::of(item), item.agent_type.clone()) else {
            continue;
        };
        let anew = || Ok::<_, Fail>(Ctx { ids: clock::ids(ctx.now)?, ..ctx.clone() });
        let to = (&plan, *number);
        let mut list = block_on(session::taken_over(&**store, key, to, &anew()?))?;
        // Nobody is at any of it now.
        let begun = list.iter_mut().filter(|it| it.status == Status::InProgress);
        begun.for_each(|it| it.status = Status::Pending);
        if !list.is_empty() {
            let ops = nest::ops(&plan, *number, &agent, &list);
            let (actor, mode) = (Actor::agent(agent), Mode::Recorded);
            let ctx = Ctx { actor, mode, ..anew()? };
            block_on(store.change(plan.id, Change::new(ops, ctx)))?;
            plan = block_on(store.read(plan.id, Needs::whole()))?;
        }
    }
    Ok(plan)
}

/// What the calls of a run that was killed had said until then.
fn said_so_far(store: &Arc<Threaded>, run: RunId) -> Result<Said, Fail> {
    let mut said = Said::new();
    for call in block_on(store.calls(run))? {
        if call.state == CallState::Executing
            && let Some(output) = last_call::so_far(run, &call)?
            && let Ok(output) = serde_json::to_value(output)
        {
            said.insert(call.number, output);
        }
    }
    Ok(said)
}

/// Says that an item was under way when its run was ended.
fn marked(item: Number) -> Op {
    let merge = Map::from_iter([(Item::INTERRUPTED.to_owned(), Value::Bool(true))]);
    let patch = Patch { outcome: Some(Some(SAID.to_owned())), merge, ..Patch::default() };
    Op::Edit { item: ItemRef::Number(item), patch: Box::new(patch) }
}

/// Takes the mark away: the item has begun once more.
pub(super) fn unmarked(item: Number) -> Op {
    let merge = Map::from_iter([(Item::INTERRUPTED.to_owned(), Value::Null)]);
    let patch = Patch { outcome: Some(None), merge, ..Patch::default() };
    Op::Edit { item: ItemRef::Number(item), patch: Box::new(patch) }
}

fn may_run_again(ask: &Ask, item: &Item, person: Person) -> bool {
    if ask.retry_interrupted || item.retry.is_some() {
        return true;
    }
    let title = text::one_line(&item.title);
    let first = if item.check.is_some() { " (its check is asked first)" } else { "" };
    let question = format!("\"{title}\" was under way when a run was ended. Run it again?{first}");
    person.is_there && print::confirm(&question) == print::Said::Yes
}

/// The questions of runs that are gone whose calls wait still. What nobody will ask about again waits no
/// longer.
fn late(ask: &Ask, store: &Arc<Threaded>, plan: &Plan, now: Timestamp) -> Result<Late, Fail> {
    let mut found: BTreeMap<Number, Vec<Unheard>> = BTreeMap::new();
    let filter = RunFilter { plan: Some(plan.id), most: Some(RUNS), ..RunFilter::default() };
    let mut runs = block_on(store.runs(filter))?;
    runs.reverse();
    for run in runs {
        let filter = QuestionFilter { run: Some(run.id), ..QuestionFilter::default() };
        let questions = block_on(store.questions(filter))?;
        if questions.is_empty() {
            continue;
        }
        let calls = block_on(store.calls(run.id))?;
        let waiting = calls.into_iter().filter(|it| it.state == CallState::AwaitingApproval);
        for call in waiting {
            let of_call = |it: &&Question| it.asked.call == call.number;
            let Some(question) = questions.iter().rfind(of_call).cloned() else { continue };
            let answered = match question.standing {
                Standing::Answered(answered) => Some(answered),
                Standing::Waiting | Standing::Settled => None,
            };
            let item = call.item;
            let it = Unheard { run: run.id, call, asked: question.asked, answered };
            match item.filter(|it| !ask.fresh && plan.get(*it).is_some_and(Item::is_open)) {
                Some(item) => found.entry(item).or_default().push(it),
                None => block_on(it.settle(store, now))?,
            }
        }
    }
    Ok(Late(found))
}
