//! What a run passes to the scheduler: tools, requests, limits and policy.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::Arc;

use punchlist_formats::planfile::is_from_file;
use punchlist_model::{Ctx, Item, Number, Origin, Plan, RunId};
use punchlist_sched::call::{CallId, Request, Retry};
use punchlist_sched::machine::{self, Attended, Limits};
use punchlist_sched::policy::{Policy, Reader};
use punchlist_sched::process::{self, Processes};
use punchlist_sched::{Batch, Options, PlannedCall, output, tool::Tools};

use super::reports::Reports;
use crate::fail::Fail;
use crate::policy::checks;
use crate::run::lease::Lease;
use crate::run::lock::Lock;
use crate::run::options::{OnFailure, Person, Surroundings};
use crate::run::schedule::{Planned, Schedule, Task};
use crate::run::steps::judge::Judge;
use crate::run::steps::proof::Prover;
use crate::run::steps::{self, ByHand, Job, Place, Resumed, Shell, worker};
use crate::run::workplace::Workplace;

/// The wait before a retry, if the file does not say.
const RETRY_WAIT_MS: u64 = 1_000;

/// The jobs of the planned items.
pub(crate) fn jobs(
    schedule: &Schedule,
    plan: &Plan,
    resumed: &BTreeMap<Number, Resumed>,
    person: Person,
) -> BTreeMap<Number, Job> {
    let job = |it: &Planned| {
        let item = plan.get(it.number)?;
        Some((it.number, job(&it.task, item, resumed.get(&it.number).copied(), person)))
    };
    schedule.planned.iter().filter_map(job).collect()
}

/// The job of an item.
pub(crate) fn job(task: &Task, item: &Item, resumed: Option<Resumed>, person: Person) -> Job {
    // A command that an agent wrote needs a policy rule of the user.
    let is_agents = match task {
        Task::Step => item.run.as_ref().is_some_and(|it| it.origin == Origin::Agent),
        // Anybody can add such an item to the plan; if it is in the file, a person has named it.
        Task::Agent(_) => !is_from_file(item),
        Task::ByHand => false,
    };
    Job {
        check: item.check.clone(),
        asks: person.is_agent || is_agents,
        is_foreign: false,
        approve: item.approve,
        resumed,
    }
}

/// The tools that do items.
pub(crate) fn tools(place: &Arc<Place>) -> Result<Tools, Fail> {
    let mut tools = Tools::new();
    let bad = |why: punchlist_sched::tool::BadTool| Fail::ours(why.to_string());
    tools.add(Arc::new(Shell::new(Arc::clone(place)))).map_err(bad)?;
    tools.add(Arc::new(ByHand::new(Arc::clone(place)))).map_err(bad)?;
    tools.add(worker::tool(place)).map_err(bad)?;
    Ok(tools)
}

/// What the tools of a run are made from.
pub(crate) struct Basis<'a> {
    pub(crate) workplace: &'a Workplace<'a>,
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) policy: &'a Policy,
    pub(crate) plan: &'a Plan,
    pub(crate) ctx: &'a Ctx,
    pub(crate) run: RunId,
}

/// The environment that the tools share.
pub(crate) fn place(
    basis: &Basis<'_>,
    jobs: BTreeMap<Number, Job>,
    reports: Reports,
    lease: Option<&Lease>,
) -> Arc<Place> {
    let Basis { workplace, surroundings, policy, plan, ctx, run } = *basis;
    let around = &surroundings.caller.around;
    let (directory, by) = (workplace.directory.clone(), ctx.actor.name.clone());
    let mut environment: Vec<(OsString, OsString)> = surroundings.environment.clone();
    environment.push(("PUNCHLIST_RUN".into(), run.to_string().into()));
    environment.push((steps::PLAN.into(), plan.id.to_string().into()));
    Arc::new(Place {
        jobs,
        plan: plan.id,
        title: plan.title.clone(),
        reports,
        directory: directory.clone(),
        environment,
        prover: Prover { directory, by, around: Arc::clone(around) },
        around: Arc::clone(around),
        store: Arc::clone(&surroundings.store),
        ctx: ctx.clone(),
        judge: Judge { policy: policy.clone(), below: checks::below(&workplace.directory) },
        lease: lease.map(Lease::lost),
    })
}

/// One call per item, in the order of the schedule.
pub(crate) fn batch(schedule: &Schedule, requests: Vec<Request>) -> Batch {
    let mut batch = Batch::new();
    let calls: Vec<PlannedCall> = requests.into_iter().map(|it| batch.add(it)).collect();
    for (planned, call) in schedule.planned.iter().zip(&calls) {
        call.clone().after(planned.after.iter().filter_map(|it| calls.get(*it)));
    }
    batch
}

/// The requests for the items, in the order of the schedule.
pub(crate) fn requests(on_failure: OnFailure, schedule: &Schedule, plan: &Plan) -> Vec<Request> {
    let request = |it: &Planned| {
        let item = plan.get(it.number);
        let command = item.and_then(|it| it.run.as_ref()).map(|it| it.command.as_str());
        Request {
            tool: match it.task {
                Task::Step => steps::SHELL.to_owned(),
                Task::ByHand => steps::BY_HAND.to_owned(),
                Task::Agent(_) => steps::AGENT.to_owned(),
            },
            arguments: match (&it.task, item) {
                (Task::Agent(agent), Some(item)) => worker::arguments(item, agent),
                (Task::Agent(_) | Task::Step | Task::ByHand, _) => {
                    steps::arguments(it.number, command)
                }
            },
            timeout_ms: item.and_then(|it| it.timeout).map(|seconds| u64::from(seconds) * 1_000),
            retry: item.map(|it| retry(on_failure, it)).unwrap_or_default(),
            vital: on_failure != OnFailure::Skip,
            ..Request::default()
        }
    };
    schedule.planned.iter().map(request).collect()
}

/// How often an item is retried: the higher of what its file says and what the call says.
fn retry(on_failure: OnFailure, item: &Item) -> Retry {
    let asked = match on_failure {
        OnFailure::Retry(times) => times,
        OnFailure::Stop | OnFailure::Skip => 0,
    };
    let wait = punchlist_formats::planfile::retry_wait(item).map(|it| u64::from(it) * 1_000);
    Retry { times: item.retry.unwrap_or(0).max(asked), wait_ms: wait.unwrap_or(RETRY_WAIT_MS) }
}

/// Which questions can be asked: all if the run is attended, else only those that were answered
/// before.
pub(crate) fn attended(
    is_attended: bool,
    schedule: &Schedule,
    answered: &BTreeSet<Number>,
) -> Attended {
    if is_attended {
        return Attended::Yes;
    }
    let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let planned = schedule.planned.iter().enumerate();
    let known = planned.filter(|(_, it)| answered.contains(&it.number));
    // A run schedules one batch, so a call's number is its index.
    let calls: BTreeSet<CallId> = known.map(|(at, _)| CallId(number(at))).collect();
    if calls.is_empty() { Attended::No } else { Attended::Only(calls) }
}

/// The scheduler's options.
pub(crate) fn options(
    jobs: u32,
    policy: Policy,
    attended: Attended,
    run: RunId,
    surroundings: &Surroundings,
) -> Result<Options, Fail> {
    let limits = Limits { all: jobs.max(1), of_kind: BTreeMap::new() };
    let directory = Some(surroundings.outputs().join(run.to_string()));
    let caller = &surroundings.caller;
    let reader = if caller.person.is_agent { Reader::Agent } else { Reader::Person };
    let around = Arc::clone(&caller.around);
    let ids = around.ids(around.now())?;
    Ok(Options {
        machine: machine::Options { limits, policy, attended, reader, ids },
        output: output::Options { directory, ..output::Options::default() },
        clock: Arc::new(move || around.now()),
        ..Options::default()
    })
}

/// Starts processes. As long as any of them lives, the lock on the run is held.
pub(crate) fn processes(lock: &Lock, surroundings: &Surroundings) -> Processes {
    let held = lock.share().ok().map(Arc::new);
    Processes::new(process::Options { held, ..surroundings.processes.clone() })
}
