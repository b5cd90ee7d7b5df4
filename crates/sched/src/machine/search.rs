//! Explores every order of events for small batches, and checks the invariants in each state.
//!
//! `World` plays the driver: it has a set of pending tasks, and at each point any of them may end
//! in any way, or everything may be cancelled.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use punchlist_model::call::Answer;
use punchlist_model::{Attempt, Timestamp};

use super::{Attended, Effect, Input, Limits, Options, Scheduler, Target, WakeToken};
use crate::access::Access;
use crate::call::{
    ArgumentsVersion, CallId, CancelReason, Checked, Ended, Kind, Live, Outcome, Output,
    QuestionId, Request, Retry, State,
};
use crate::policy::{Decision, Policy, Rule, Subject};

/// A pending task of the driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Task {
    Validate(CallId, ArgumentsVersion),
    Ask(QuestionId),
    Run(CallId, Attempt),
    Wake(WakeToken),
}

/// A call of a test batch.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) access: Access,
    pub(super) kind: Kind,
    pub(super) asks: bool,
    pub(super) retries: u32,
    pub(super) after: Vec<u32>,
}

#[derive(Clone)]
pub(super) struct World {
    pub(super) machine: Scheduler,
    pub(super) tasks: Vec<Task>,
    plans: Vec<Plan>,
    done: u32,
    killed: BTreeSet<(CallId, Attempt)>,
    started: BTreeSet<(CallId, Attempt)>,
    limits: Limits,
}

impl World {
    pub(super) fn new(plans: Vec<Plan>, limits: Limits) -> Self {
        let policy = Policy::new(vec![Rule::tool(Decision::Allow, "free")], Vec::new());
        let options = Options {
            limits: limits.clone(),
            policy,
            attended: Attended::Yes,
            ..Options::default()
        };
        let mut world = Self {
            machine: Scheduler::new(options),
            tasks: Vec::new(),
            plans: plans.clone(),
            done: 0,
            killed: BTreeSet::new(),
            started: BTreeSet::new(),
            limits,
        };
        let requests = plans.into_iter().map(|plan| Request {
            tool: if plan.asks { "careful" } else { "free" }.to_owned(),
            after: plan.after.into_iter().map(CallId).collect(),
            retry: Retry { times: plan.retries, wait_ms: 10 },
            ..Request::default()
        });
        world.tell(Input::Schedule(requests.collect()));
        world
    }

    /// Sends an input to the machine, performs the effects, and checks the invariants.
    pub(super) fn tell(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.machine.handle(Timestamp::UNIX_EPOCH, input, &mut effects);
        let mut recorded: BTreeMap<CallId, State> = BTreeMap::new();
        for effect in effects {
            match effect {
                Effect::Record(id, state) => drop(recorded.insert(id, state)),
                Effect::Validate(id, version) => self.tasks.push(Task::Validate(id, version)),
                Effect::Ask(id, question) => {
                    let state = State::Live(Live::AwaitingApproval { question });
                    assert_eq!(recorded.get(&id), Some(&state), "asked before it was recorded");
                    self.tasks.push(Task::Ask(question));
                }
                Effect::Run(id, attempt) => {
                    let recorded = recorded.get(&id);
                    let is_recorded = matches!(
                        recorded,
                        Some(State::Live(Live::Executing { attempt: it, .. })) if *it == attempt
                    );
                    assert!(is_recorded, "{id} runs before that was recorded: {recorded:?}");
                    assert!(self.started.insert((id, attempt)), "{id} started twice");
                    self.check_dependencies(id);
                    self.tasks.push(Task::Run(id, attempt));
                }
                Effect::Kill(id, attempt) => {
                    assert!(self.killed.insert((id, attempt)), "{id} killed twice");
                }
                Effect::Wake { token, .. } => self.tasks.push(Task::Wake(token)),
                Effect::BatchDone(_) => self.done += 1,
                Effect::Illegal(id, illegal) => panic!("{id}: {illegal}"),
            }
        }
        self.check();
    }

    fn check_dependencies(&self, id: CallId) {
        for other in &self.machine.call(id).unwrap().request.after {
            let state = &self.machine.call(*other).unwrap().state;
            let well = state.outcome().is_some_and(Outcome::is_success);
            assert!(well, "{id} runs before {other}, which is {state:?}");
        }
    }

    fn check(&self) {
        let running: Vec<CallId> = self
            .machine
            .calls()
            .filter(|call| matches!(call.state, State::Live(Live::Executing { .. })))
            .map(|call| call.id)
            .collect();
        assert!(running.len() <= self.limits.all as usize, "too many run: {running:?}");
        for (kind, most) in &self.limits.of_kind {
            let count = running.iter().filter(|id| self.plan(**id).kind == *kind).count();
            assert!(count <= *most as usize, "too many of one kind run: {running:?}");
        }
        for (n, one) in running.iter().enumerate() {
            for other in &running[n + 1..] {
                let (this, that) = (self.plan(*one), self.plan(*other));
                let conflict = this.access.conflicts_with(&that.access);
                assert!(!conflict, "{one} and {other} run at once");
            }
        }
        if self.machine.is_idle() {
            assert_eq!(self.done, 1, "a batch that is done is told of once");
        } else {
            assert_eq!(self.done, 0, "told that it was done too soon");
        }
    }

    fn plan(&self, id: CallId) -> &Plan {
        &self.plans[id.0 as usize]
    }

    /// When no task is pending, every call must have ended.
    pub(super) fn check_end(&self) {
        for call in self.machine.calls() {
            assert!(call.state.outcome().is_some(), "{} is stuck: {:?}", call.id, call.state);
        }
        assert_eq!(self.done, 1);
    }

    /// The ways in which a task may end.
    pub(super) fn ways(&self, task: &Task) -> Vec<Input> {
        match task {
            Task::Validate(call, version) => {
                let plan = self.plan(*call);
                let tool = if plan.asks { "careful" } else { "free" }.to_owned();
                let subject = Subject { tool, ..Subject::default() };
                let checked = Checked { access: plan.access.clone(), kind: plan.kind, subject };
                vec![Input::Validated { call: *call, version: *version, found: Ok(checked) }]
            }
            Task::Ask(question) => {
                let answered = |answer| Input::Answered { question: *question, answer };
                vec![
                    answered(Answer::Once),
                    answered(Answer::Refuse(None)),
                    answered(Answer::Refuse(Some("no".to_owned()))),
                    answered(Answer::RefuseAndStop(None)),
                ]
            }
            Task::Run(call, attempt) => {
                let ended = |how| Input::Ended { call: *call, attempt: *attempt, how };
                let badly = Ended::Badly { what: "bad".to_owned(), output: Output::default() };
                vec![ended(Ended::Well(Output::default())), ended(badly)]
            }
            Task::Wake(token) => vec![Input::Woke(*token)],
        }
    }

    /// Identifies a state of the world.
    fn key(&self, cancelled: bool) -> String {
        let states: Vec<&State> = self.machine.calls().map(|call| &call.state).collect();
        let Scheduler { coming, validating, line, .. } = &self.machine;
        format!("{states:?} {coming:?} {validating:?} {line:?} {:?} {cancelled}", self.tasks)
    }
}

/// Explores all orders; returns the number of different states.
fn explore(plans: &[Plan], limits: &Limits) -> usize {
    let mut seen = BTreeSet::new();
    let mut open = vec![(World::new(plans.to_vec(), limits.clone()), false)];
    while let Some((world, cancelled)) = open.pop() {
        if !seen.insert(world.key(cancelled)) {
            continue;
        }
        if world.tasks.is_empty() {
            world.check_end();
        }
        for (n, task) in world.tasks.iter().enumerate() {
            for input in world.ways(task) {
                let mut next = world.clone();
                next.tasks.remove(n);
                next.tell(input);
                open.push((next, cancelled));
            }
        }
        if !cancelled {
            let mut next = world.clone();
            let reason = CancelReason::Asked(None);
            next.tell(Input::Cancel(Target::All, reason));
            open.push((next, true));
        }
    }
    seen.len()
}

/// Three accesses: one that reads, one that writes the same, one that must run alone.
fn accesses() -> [Access; 3] {
    [Access::reads(["a"]), Access::writes(["a"]), Access::exclusive()]
}

fn plan(access: &Access, kind: u16) -> Plan {
    let (access, kind) = (access.clone(), Kind(kind));
    Plan { access, kind, asks: false, retries: 0, after: Vec::new() }
}

fn limits(all: u32) -> Limits {
    Limits { all, of_kind: BTreeMap::from([(Kind(1), 1)]) }
}

#[test]
fn three_calls_of_any_kinds_in_any_order_keep_all_promises() {
    let mut worlds = 0;
    for kinds in 0..27_usize {
        for after in 0..8_u32 {
            let mut plans: Vec<Plan> =
                (0..3_u32).map(|n| plan(&accesses()[kinds / 3_usize.pow(n) % 3], 0)).collect();
            // The second call may depend on the first, the third on either.
            for (bit, (who, whom)) in [(1, 0), (2, 0), (2, 1)].into_iter().enumerate() {
                if after & (1 << bit) != 0 {
                    plans[who].after.push(whom);
                }
            }
            worlds += explore(&plans, &limits(2));
        }
    }
    // Fewer states would mean that the search was cut short.
    assert!(worlds > 10_000, "{worlds} worlds");
}

#[test]
fn four_calls_with_questions_and_second_attempts_keep_all_promises() {
    let [read, write, alone] = accesses();
    let asks = |plan: Plan| Plan { asks: true, ..plan };
    let again = |plan: Plan| Plan { retries: 1, ..plan };
    let after = |plan: Plan, calls: &[u32]| Plan { after: calls.to_vec(), ..plan };
    let cases = [
        // Two writers, one of which asks, between readers.
        vec![plan(&read, 0), asks(plan(&write, 1)), plan(&write, 1), plan(&read, 0)],
        // A diamond whose last call must run alone.
        vec![
            plan(&write, 0),
            after(plan(&read, 1), &[0]),
            after(plan(&read, 1), &[0]),
            after(plan(&alone, 0), &[1, 2]),
        ],
        // A call that is retried keeps its place before the next writer.
        vec![again(plan(&write, 0)), plan(&write, 0), plan(&alone, 1)],
        // A call that depends on a later one that conflicts with it.
        vec![after(plan(&write, 0), &[2]), plan(&alone, 0), asks(plan(&write, 0))],
    ];
    for plans in cases {
        let worlds = explore(&plans, &limits(2));
        assert!(worlds > 50, "{worlds} worlds of {plans:?}");
    }
}

fn any_plan(count: u32) -> impl Strategy<Value = Plan> {
    let access = prop::sample::select(vec![
        Access::none(),
        Access::reads(["a"]),
        Access::writes(["a/b"]),
        Access::writes(["a"]),
        Access::writes(["c"]),
        Access::exclusive(),
    ]);
    let after = prop::collection::vec(0..count, 0..3);
    (access, 0..3_u16, any::<bool>(), 0..3_u32, after).prop_map(
        |(access, kind, asks, retries, after)| Plan {
            access,
            kind: Kind(kind),
            asks,
            retries,
            after,
        },
    )
}

proptest! {
    /// Random larger batches, also with cycles, with one random order each; some inputs are
    /// repeated.
    #[test]
    fn whatever_happens_to_a_batch_it_ends_and_keeps_all_promises(
        plans in prop::collection::vec(any_plan(12), 12),
        ways in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index, u8)>(), 200),
    ) {
        let mut world = World::new(plans, limits(3));
        for (which, how, odd) in ways {
            if world.tasks.is_empty() {
                break;
            }
            let n = which.index(world.tasks.len());
            let ways = world.ways(&world.tasks[n]);
            let input = ways[how.index(ways.len())].clone();
            if odd % 8 != 0 {
                world.tasks.remove(n);
            }
            if odd == 1 {
                let call = CallId(u32::from(odd) % 12);
                let target = Target::Call(call);
                world.tell(Input::Cancel(target, CancelReason::Asked(None)));
            }
            world.tell(input);
        }
        // The remaining tasks end normally.
        for _ in 0..1_000 {
            let Some(task) = world.tasks.pop() else { break };
            let input = world.ways(&task).remove(0);
            world.tell(input);
        }
        world.check_end();
    }
}
