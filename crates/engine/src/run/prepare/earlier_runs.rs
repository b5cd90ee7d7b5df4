//! What earlier runs of a plan left: interrupted items, and answers that came too late for them.
//!
//! An item that was executing when its run was killed is marked as interrupted before anything else
//! of that run is cleaned up. The mark stays until the item is done again, proved, completed or
//! skipped, however many runs later. A question of a run that has ended can still be answered; the
//! next run that would ask the same uses the answer.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_formats::text;
use punchlist_model::call::{
    Answered, Asked, CallRecord, CallState, INTERRUPTED, Question, QuestionFilter, RunFilter,
    RunRecord, Said, Standing,
};
use punchlist_model::session::Store;
use punchlist_model::{
    Actor, Ctx, Item, ItemRef, Mode, Number, Op, Patch, Plan, PlanId, RunId, Status, Timestamp,
};
use serde_json::{Map, Value};

use super::anew;
use crate::around;
use crate::fail::Fail;
use crate::ledger::masked;
use crate::outputs::last_call;
use crate::plan_service::LivePlan;
use crate::run::front_end::FrontEnd;
use crate::run::options::{Options, Surroundings};
use crate::run::schedule::Held;
use crate::run::steps::Resumed;
use crate::workers::sub_lists;
use crate::workers::worker_session::{self, Destination};

/// In how many runs late answers are searched, newest first.
const RUNS: u32 = 64;

/// The outcome text of an interrupted item.
const INTERRUPTED_TEXT: &str = "interrupted: the run was killed while the item was executing";

/// What earlier runs left.
pub(crate) struct Left {
    pub(crate) plan: LivePlan,
    /// Items that cannot be done in this run, with the reason.
    pub(crate) cannot_run: BTreeMap<Number, Held>,
    /// Interrupted items, and what may be done with them.
    pub(crate) resumed: BTreeMap<Number, Resumed>,
    /// Questions about items whose answers no run has used yet.
    pub(crate) late: Late,
}

/// Questions of runs that have ended, by their item, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Late(BTreeMap<Number, Vec<LateQuestion>>);

impl Late {
    /// The items with an answered question.
    pub(crate) fn answered(&self) -> BTreeSet<Number> {
        let has_answer = |it: &Vec<LateQuestion>| it.iter().any(|it| it.answered.is_some());
        self.0.iter().filter(|(_, it)| has_answer(it)).map(|(number, _)| *number).collect()
    }

    /// The answer to exactly this question, if there is one. The question is asked again now, so
    /// the calls of the ended runs no longer wait.
    pub(crate) async fn take(
        &mut self,
        store: &dyn Store,
        asked: &Asked,
        now: Timestamp,
    ) -> Result<Option<Answered>, Fail> {
        let questions = asked.item.and_then(|it| self.0.remove(&it)).unwrap_or_default();
        for it in &questions {
            it.settle(store, now).await?;
        }
        let is_same = |it: &&LateQuestion| it.answered.is_some() && it.asked.asks_the_same(asked);
        Ok(questions.iter().rfind(is_same).and_then(|it| it.answered.clone()))
    }
}

/// A question of a run that has ended.
#[derive(Clone, Debug)]
struct LateQuestion {
    run: RunId,
    /// The call that asked and still waits.
    call: CallRecord,
    asked: Asked,
    /// The answer, if there is one.
    answered: Option<Answered>,
}

impl LateQuestion {
    /// Cancels the waiting call: another run asks the same now, or nobody will.
    async fn settle(&self, store: &dyn Store, now: Timestamp) -> Result<(), Fail> {
        let state = CallState::Cancelled;
        let detail = Some(Value::from(INTERRUPTED));
        let call = CallRecord { state, detail, at: now, ..self.call.clone() };
        store.record(self.run, vec![call], Vec::new(), None).await?;
        Ok(())
    }
}

/// Reads what earlier runs left, marks and releases interrupted items, and decides what may be done
/// with them. The caller holds the lock on the plan's run, so all earlier runs have ended.
pub(crate) async fn left(
    options: &Options,
    surroundings: &Surroundings,
    mut plan: LivePlan,
    ctx: &Ctx,
    front_end: &mut dyn FrontEnd,
) -> Result<Left, Fail> {
    let (store, caller) = (&*surroundings.store, &surroundings.caller);
    let filter = RunFilter { plan: Some(plan.plan().id), running: true, ..RunFilter::default() };
    let ended = store.runs(filter).await?;
    let under_way = under_way(store, &ended).await?;
    let gone = around::gone(&*caller.around, plan.plan());
    let mut cannot_run = BTreeMap::new();
    let mut resumed = BTreeMap::new();
    let mut ops = Vec::new();
    for item in plan.plan().listed().into_iter().filter(|it| it.is_open()) {
        let is_begun = item.status == Status::InProgress;
        if is_begun {
            let holder = item.claim.as_ref().map(|it| &it.holder);
            let is_ours = holder.is_none_or(|it| {
                let is_gone = it.process.as_ref().is_some_and(|it| gone.contains(it));
                it.name == ctx.holder.name || is_gone
            });
            if !is_ours {
                let name = holder.map(|it| it.name.clone()).unwrap_or_default();
                cannot_run.insert(item.number, Held::Claimed(name));
                continue;
            }
            ops.push(Op::Release(ItemRef::Number(item.number)));
        }
        // A run does not do entries of agents' own lists. Running a check again does no harm.
        let is_new = item.can_harm() && (is_begun || under_way.contains(&item.number));
        if options.earlier.fresh || sub_lists::is_entry(item) || !(is_new || item.is_interrupted())
        {
            continue;
        }
        if is_new && !item.is_interrupted() {
            ops.push(marked(item.number));
        }
        let is_wanted = options.earlier.retry_interrupted || item.retry.is_some();
        let may_run_again =
            is_wanted || caller.person.is_there && front_end.confirm(&run_again(item)).await;
        match may_run_again {
            true => drop(resumed.insert(item.number, Resumed::Again)),
            false if item.check.is_some() => {
                resumed.insert(item.number, Resumed::CheckOnly);
            }
            false => drop(cannot_run.insert(item.number, Held::Interrupted)),
        }
    }
    plan.change(&Ctx { gone, ..anew(surroundings, ctx)? }, |_| ops.clone()).await?;
    // This comes last: as long as these runs have not ended, the next run finds what they left.
    for run in &ended {
        let said = outputs_so_far(surroundings, run.id).await?;
        store.interrupt(run.id, ctx.now, said).await?;
        store.end_run(run.id, ctx.now).await?;
    }
    from_workers(surroundings, &mut plan, &under_way, ctx).await?;
    let late = late(options.earlier.fresh, store, plan.plan(), ctx.now).await?;
    Ok(Left { plan, cannot_run, resumed, late })
}

/// Ends the runs of other workers for an item that this worker has claimed since: they have lost it.
pub(crate) async fn end_others(
    surroundings: &Surroundings,
    plan: PlanId,
    item: Number,
    now: Timestamp,
) -> Result<(), Fail> {
    let store = &*surroundings.store;
    let filter = RunFilter { plan: Some(plan), running: true, ..RunFilter::default() };
    for run in store.runs(filter).await? {
        let calls = store.calls(run.id).await?;
        if !calls.is_empty() && calls.iter().all(|it| it.item == Some(item)) {
            let said = outputs_so_far(surroundings, run.id).await?;
            store.interrupt(run.id, now, said).await?;
            store.end_run(run.id, now).await?;
        }
    }
    Ok(())
}

/// The items whose calls were executing.
async fn under_way(store: &dyn Store, ended: &[RunRecord]) -> Result<BTreeSet<Number>, Fail> {
    let mut items = BTreeSet::new();
    for run in ended {
        let calls = store.calls(run.id).await?.into_iter();
        items.extend(calls.filter(|it| it.state == CallState::Executing).filter_map(|it| it.item));
    }
    Ok(items)
}

/// Takes over the own lists of workers that were killed, as entries under their items.
async fn from_workers(
    surroundings: &Surroundings,
    plan: &mut LivePlan,
    under_way: &BTreeSet<Number>,
    ctx: &Ctx,
) -> Result<(), Fail> {
    let store = &*surroundings.store;
    for number in under_way {
        let known = plan.plan();
        let Some(item) = known.get(*number).filter(|it| it.is_open()) else { continue };
        let (Some(key), Some(agent)) = (worker_session::of(item), item.agent_type.clone()) else {
            continue;
        };
        let to = Destination { plan: known.id, title: &known.title, item: *number };
        let mut list =
            worker_session::taken_over(store, key, to, &anew(surroundings, ctx)?).await?;
        // No worker is running any more.
        let begun = list.iter_mut().filter(|it| it.status == Status::InProgress);
        begun.for_each(|it| it.status = Status::Pending);
        if !list.is_empty() {
            let (actor, mode) = (Actor::agent(agent.clone()), Mode::Recorded);
            let ctx = Ctx { actor, mode, ..anew(surroundings, ctx)? };
            plan.change(&ctx, |plan| sub_lists::ops(plan, *number, &agent, &list)).await?;
        }
    }
    Ok(())
}

/// The outputs of a killed run's calls so far.
async fn outputs_so_far(surroundings: &Surroundings, run: RunId) -> Result<Said, Fail> {
    let outputs = surroundings.outputs();
    let mut said = Said::new();
    for call in surroundings.store.calls(run).await? {
        if call.state == CallState::Executing
            && let Some(output) = last_call::so_far(&outputs, run, &call)
            && let Ok(output) = serde_json::to_value(output)
        {
            said.insert(call.number, masked(output));
        }
    }
    Ok(said)
}

/// Marks an item as interrupted.
fn marked(item: Number) -> Op {
    let merge = Map::from_iter([(Item::INTERRUPTED.to_owned(), Value::Bool(true))]);
    let patch =
        Patch { outcome: Some(Some(INTERRUPTED_TEXT.to_owned())), merge, ..Patch::default() };
    Op::Edit { item: ItemRef::Number(item), patch: Box::new(patch) }
}

/// Removes the interrupted mark.
pub(crate) fn unmarked(item: Number) -> Op {
    let merge = Map::from_iter([(Item::INTERRUPTED.to_owned(), Value::Null)]);
    let patch = Patch { outcome: Some(None), merge, ..Patch::default() };
    Op::Edit { item: ItemRef::Number(item), patch: Box::new(patch) }
}

/// The question whether to run an interrupted item again.
fn run_again(item: &Item) -> String {
    let title = text::one_line(&item.title);
    let first = if item.check.is_some() { " (its check runs first)" } else { "" };
    format!("\"{title}\" was interrupted. Run it again?{first}")
}

/// The questions of ended runs whose calls still wait. Calls about items that are closed, or that
/// start over, are cancelled.
pub(crate) async fn late(
    fresh: bool,
    store: &dyn Store,
    plan: &Plan,
    now: Timestamp,
) -> Result<Late, Fail> {
    let mut found: BTreeMap<Number, Vec<LateQuestion>> = BTreeMap::new();
    let filter = RunFilter { plan: Some(plan.id), most: Some(RUNS), ..RunFilter::default() };
    let mut runs = store.runs(filter).await?;
    runs.reverse();
    for run in runs {
        let filter = QuestionFilter { run: Some(run.id), ..QuestionFilter::default() };
        let questions = store.questions(filter).await?;
        if questions.is_empty() {
            continue;
        }
        let calls = store.calls(run.id).await?;
        let waiting = calls.into_iter().filter(|it| it.state == CallState::AwaitingApproval);
        for call in waiting {
            let of_call = |it: &&Question| it.asked.call == call.number;
            let Some(question) = questions.iter().rfind(of_call).cloned() else { continue };
            let answered = match question.standing {
                Standing::Answered(answered) => Some(answered),
                Standing::Waiting | Standing::Settled => None,
            };
            let item = call.item;
            let it = LateQuestion { run: run.id, call, asked: question.asked, answered };
            match item.filter(|it| !fresh && plan.get(*it).is_some_and(Item::is_open)) {
                Some(item) => found.entry(item).or_default().push(it),
                None => it.settle(store, now).await?,
            }
        }
    }
    Ok(Late(found))
}
