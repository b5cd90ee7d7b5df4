//! Exhaustive search of the turn machine: every behaviour of a model over small plans.
//!
//! The model's moves are real changes, decided by `model::decide`. In every state it may add, start,
//! complete, cancel, park in waiting or delegate an item, use another tool, answer, ask, or answer with a
//! steering message waiting; the user may abort, a budget may run out, and the program may be killed. The
//! search has no cycle, so every turn ends. A referee that shares no code with the machine keeps its own
//! count.

use std::collections::HashMap;

use punchlist_model::guard::Standing;
use punchlist_model::id::{IdSource, ItemId, Position};
use punchlist_model::{Ctx, Item, ItemRef, NewItem, Op, Plan, PlanId, Status, Timestamp, decide};

use super::*;

const ME: &str = "agent";
const WORKER: &str = "agent/1";

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn plan_of(items: u32) -> Plan {
    let ids = IdSource::fixed(now(), 1);
    let mut plan = Plan::new(PlanId(ids.nth(0)), "/project", now());
    for number in 1..=items {
        let id = ItemId(ids.nth(number));
        let mut item = Item::new(id, Number(number), format!("Item {number}"), now());
        item.position = Some(Position(number));
        plan.items.insert(Number(number), item);
    }
    (plan.placed, plan.open) = plan.recount();
    plan.next_number = Number(items + 1);
    plan
}

fn changed(plan: &Plan, op: Op, worker: &str) -> Option<Plan> {
    let ctx = Ctx::new(worker, now(), IdSource::fixed(now(), 9));
    let decision = decide(plan, &[op], &ctx).ok()?;
    let mut plan = plan.clone();
    for event in &decision.events {
        plan.evolve(event);
    }
    Some(plan)
}

/// Performs a change of the turn's as the runtime does. `None` if the plan refuses it.
fn perform(plan: &Plan, change: &PlanChange) -> Option<Plan> {
    let item = |number: &Number| ItemRef::Number(*number);
    match change {
        PlanChange::Start(it) => changed(plan, Op::Start(item(it)), ME),
        PlanChange::Complete(it, text) => {
            let outcome = Some(text.clone());
            changed(plan, Op::Complete { item: item(it), outcome, with_children: false }, ME)
        }
        PlanChange::GiveBack(it, _) => changed(plan, Op::Release(item(it)), ME),
        PlanChange::Skip(it, why) => {
            changed(plan, Op::Cancel { item: item(it), reason: Some(why.clone()) }, ME)
        }
        PlanChange::Release(all) => {
            let mut plan = plan.clone();
            for it in all {
                let holder = plan.get(*it)?.claim.as_ref().map(|claim| claim.holder.name.clone());
                plan = changed(&plan, Op::Release(item(it)), holder.as_deref().unwrap_or(ME))?;
            }
            Some(plan)
        }
        PlanChange::Park(all) => changed(plan, Op::Park(all.clone()), ME),
    }
}

/// The referee's own count of a supervisor's calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Referee {
    calls: u32,
    limit: u32,
    refusals: u32,
}

/// Everything that decides how the world goes on.
#[derive(Clone)]
struct World {
    plan: Plan,
    turn: Turn,
    /// What the runtime is doing: the last effect that expects an input.
    doing: Option<Effect>,
    referee: Referee,
    /// How often the user still replies. Without a bound a model could ask for ever.
    replies: u32,
}

type ItemKey = (u32, Status, bool, Option<String>, bool);
type Key = (Vec<ItemKey>, Turn, Referee, u32);

impl World {
    fn new(items: u32, replies: u32, options: &Options) -> Self {
        let referee = Referee { limit: options.calls.first, ..Referee::default() };
        let turn = Turn::new(options.clone());
        let mut world = Self { plan: plan_of(items), turn, doing: None, referee, replies };
        world.step(Input::Begin, options);
        world
    }

    fn key(&self) -> Key {
        let items = self.plan.listed().into_iter().map(|item| {
            let holder = item.claim.as_ref().map(|claim| claim.holder.name.clone());
            let is_parked = item.marks.contains(&punchlist_model::Mark::Parked);
            (item.number.0, item.status, item.waiting_on.is_some(), holder, is_parked)
        });
        (items.collect(), self.turn.clone(), self.referee, self.replies)
    }

    fn status(&self) -> PlanStatus {
        PlanStatus::of(&self.plan, ME, now())
    }

    /// Steps the machine, performs what it wants of the plan, and checks each effect.
    fn step(&mut self, input: Input, options: &Options) {
        let mut input = Some(input);
        while let Some(now) = input.take() {
            let worked = now == Input::CallsEnded;
            let status = self.status();
            if worked && !status.open.is_empty() {
                let CallLimits { more, most, .. } = options.calls;
                self.referee.limit = self.referee.limit.max(self.referee.calls + more).min(most);
            }
            let ends_by_user = matches!(now, Input::Abort(_));
            let effects = self.turn.step(now, &status);
            let stored = serde_json::to_string(&self.turn).unwrap();
            assert_eq!(serde_json::from_str::<Turn>(&stored).unwrap(), self.turn);
            self.doing = None;
            for effect in effects {
                input = self.perform(effect, &status, options);
            }
            if let Some(doing) = &self.doing {
                let resumed = self.turn.resume();
                assert_eq!(resumed.as_slice(), std::slice::from_ref(doing), "after a crash");
            }
            if ends_by_user {
                let left = self.status().in_progress;
                assert_eq!(left, [], "an abort leaves nothing in progress");
            }
        }
    }

    fn perform(&mut self, effect: Effect, before: &PlanStatus, options: &Options) -> Option<Input> {
        match &effect {
            Effect::CallModel(ask) => {
                self.called(ask, options);
                self.doing = Some(effect);
            }
            Effect::RunCalls { most } => {
                assert!(*most > 0, "a round without a call");
                self.doing = Some(effect);
            }
            Effect::Change(change) => {
                let after = perform(&self.plan, change);
                let is_over = self.turn.ending().is_some();
                assert!(!is_over || after.is_some(), "{change:?} is refused at the end");
                let input = match after {
                    Some(plan) => {
                        self.plan = plan;
                        Input::Changed
                    }
                    None => Input::ChangeRefused("refused".to_owned()),
                };
                return (!is_over).then_some(input);
            }
            Effect::RefuseAnswer { open, .. } => {
                assert!(!open.is_empty(), "there is no goal");
                self.referee.refusals += 1;
                assert!(self.referee.refusals <= 8, "refused more often than the governor may");
            }
            Effect::End(ending) => self.ended(ending, before),
            Effect::Tell(_) | Effect::Inform(_) | Effect::Cancel => {}
        }
        None
    }

    fn called(&mut self, ask: &Ask, options: &Options) {
        if options.strategy == Strategy::Supervisor {
            let is_last = self.referee.calls >= self.referee.limit;
            assert_eq!(ask.purpose == Purpose::FinalAnswer, is_last, "{:?}", self.referee);
            self.referee.calls += 1;
            assert!(self.referee.calls <= options.calls.most + 1 + SCHEMA_TRIES);
        }
        let is_without =
            matches!(ask.purpose, Purpose::FinalAnswer | Purpose::Classify | Purpose::Validate);
        if is_without {
            assert_eq!(ask.tools, Offered::Nothing);
        }
        if ask.purpose == Purpose::Plan {
            assert_eq!(ask.tools, Offered::Planning);
        }
        if ask.purpose == Purpose::Direct {
            assert!(!matches!(ask.tools, Offered::Everything | Offered::Planning));
        }
    }

    /// No answer passes with open items, except by governor, limit, budget or user.
    fn ended(&mut self, ending: &Ending, before: &PlanStatus) {
        let holding: Vec<_> =
            before.outlook.values().filter(|it| **it == Standing::Holds).collect();
        match ending {
            Ending::Answered => assert_eq!(holding, [&Standing::Holds; 0], "an early answer"),
            Ending::NotValidated | Ending::PlanningFailed => assert_eq!(before.open.len(), 0),
            Ending::Planned | Ending::Stuck => assert_ne!(before.open.len(), 0),
            Ending::LetGo => assert!(self.referee.refusals >= 3, "let go too early"),
            // Before the limit an answer is held against the schema only when nothing is open.
            Ending::Unfit => {
                let is_last = self.referee.calls > self.referee.limit;
                assert!(is_last || holding.is_empty(), "an early answer");
            }
            Ending::Asked | Ending::Limit | Ending::Failed(_) | Ending::Aborted(_) => {}
        }
    }

    /// Every way on from here.
    fn next(&self, options: &Options, adds: u32) -> Vec<Self> {
        let mut all = Vec::new();
        let mut add = |plan: Plan, input: Input| {
            let mut world = Self { plan, ..self.clone() };
            world.step(input, options);
            all.push(world);
        };
        match &self.doing {
            None if self.turn.ending() == Some(&Ending::Asked) && self.replies > 0 => {
                // A reply is counted like a new request.
                let referee = Referee { limit: options.calls.first, ..Referee::default() };
                let replies = self.replies - 1;
                let mut world = Self { referee, replies, ..self.clone() };
                world.step(Input::Reply, options);
                return vec![world];
            }
            None => return Vec::new(),
            Some(Effect::CallModel(ask)) => {
                for answer in answers(ask, options) {
                    add(self.plan.clone(), Input::Answered(answer));
                }
                add(self.plan.clone(), Input::ModelFailed("no network".to_owned()));
            }
            Some(_) => {
                for plan in self.rounds(adds) {
                    add(plan, Input::CallsEnded);
                }
            }
        }
        add(self.plan.clone(), Input::Abort(Abort::User));
        add(self.plan.clone(), Input::Abort(Abort::Budget("tokens".to_owned())));
        all
    }

    /// What a round of tools may do to the plan. A worker may still run after the round, or give its item
    /// back: then, whether it succeeded or failed, the item is the agent's to settle. After a usage limit
    /// the item waits.
    fn rounds(&self, adds: u32) -> Vec<Plan> {
        let mut plans = vec![self.plan.clone()];
        for item in self.plan.listed() {
            let it = ItemRef::Number(item.number);
            let complete = Op::Complete { item: it.clone(), outcome: None, with_children: false };
            let wait = Op::Wait { item: it.clone(), on: "a person".to_owned() };
            let ops = [
                Op::Start(it.clone()),
                complete,
                Op::Cancel { item: it.clone(), reason: None },
                wait,
            ];
            plans.extend(ops.into_iter().filter_map(|op| changed(&self.plan, op, ME)));
            let is_workers = item.claim.as_ref().is_some_and(|claim| claim.holder.name == WORKER);
            if is_workers {
                plans.extend(changed(&self.plan, Op::Release(it.clone()), WORKER));
            }
            plans.extend(changed(&self.plan, Op::Start(it), WORKER));
        }
        if u32::try_from(self.plan.items.len()).unwrap() < adds {
            let op = Op::Add(Box::new(NewItem::titled("More")));
            plans.extend(changed(&self.plan, op, ME));
        }
        plans
    }
}

/// The answers that a model may give.
fn answers(ask: &Ask, options: &Options) -> Vec<Answer> {
    let text = |text: &str| Answer { text: text.to_owned(), ..Answer::default() };
    let mut answers = match ask.purpose {
        Purpose::Classify => {
            vec![text(r#"{"isSimple": true}"#), text(r#"{"isSimple": false}"#), text("Hm.")]
        }
        Purpose::Validate => vec![
            text(r#"{"isComplete": true, "reasoning": "done"}"#),
            text(r#"{"isComplete": false, "reasoning": "no", "suggestions": ["more"]}"#),
            text("I think so."),
        ],
        Purpose::Work
        | Purpose::FinalAnswer
        | Purpose::Direct
        | Purpose::Plan
        | Purpose::Item(_) => {
            vec![
                text("All done."),
                Answer { asks_user: true, ..text("Which one?") },
                Answer { calls: 1, ..Answer::default() },
                Answer { calls: 3, ..Answer::default() },
            ]
        }
    };
    answers.push(Answer { has_steering: true, ..answers[0].clone() });
    if options.has_schema {
        answers.push(Answer { misfit: Some("no JSON".to_owned()), ..answers[0].clone() });
    }
    answers
}

#[derive(Default, Debug)]
struct Tally {
    states: usize,
    endings: HashMap<String, usize>,
}

/// Walks all states in which nobody replies to a question.
fn search(items: u32, adds: u32, options: &Options) -> Tally {
    search_replying(items, adds, 0, options)
}

/// Walks all states in depth-first order and fails on a cycle. The user replies so often.
fn search_replying(items: u32, adds: u32, replies: u32, options: &Options) -> Tally {
    let mut tally = Tally::default();
    // `false` while the states behind this one are walked.
    let mut is_done: HashMap<Key, bool> = HashMap::new();
    let first = World::new(items, replies, options);
    let mut path = vec![(first.key(), vec![first])];
    is_done.insert(path[0].0.clone(), false);
    let mut path: Vec<(Key, Vec<World>)> =
        path.drain(..).map(|(key, worlds)| (key, worlds[0].next(options, adds))).collect();
    while let Some((key, ways)) = path.last_mut() {
        let Some(world) = ways.pop() else {
            is_done.insert(key.clone(), true);
            path.pop();
            continue;
        };
        let key = world.key();
        match is_done.get(&key) {
            Some(true) => {}
            Some(false) => panic!("a turn that never ends: {key:?}"),
            None => {
                tally.states += 1;
                if let Some(ending) = world.turn.ending() {
                    let name = format!("{ending:?}");
                    let name = name.split('(').next().unwrap_or_default().to_owned();
                    *tally.endings.entry(name).or_default() += 1;
                }
                is_done.insert(key.clone(), false);
                let ways = world.next(options, adds);
                path.push((key, ways));
            }
        }
    }
    tally
}

fn endings(tally: &Tally) -> Vec<&str> {
    let mut names: Vec<&str> = tally.endings.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

fn supervisor() -> Options {
    let calls = CallLimits { first: 3, more: 2, most: 5 };
    Options { calls, is_attended: true, ..Options::default() }
}

fn steps() -> Options {
    let steps = StepLimits { direct: 3, planning: 2, item: 2, steps: 6 };
    Options { strategy: Strategy::Steps, steps, is_attended: true, ..Options::default() }
}

/// Fewer steps, for more items.
fn small_steps() -> Options {
    let limits = StepLimits { direct: 2, planning: 1, item: 1, steps: 5 };
    Options { steps: limits, ..steps() }
}

#[test]
fn a_supervisors_turn_always_ends_and_never_early() {
    let tally = search(2, 3, &supervisor());
    assert!(tally.states > 10_000, "{tally:?}");
    assert_eq!(endings(&tally), ["Aborted", "Answered", "Asked", "Failed", "LetGo", "Limit"]);
}

#[test]
fn a_supervisors_turn_that_begins_without_a_plan_always_ends() {
    let tally = search(0, 2, &Options { has_schema: true, ..supervisor() });
    assert!(tally.states > 1_000, "{tally:?}");
}

#[test]
fn a_headless_answer_that_asks_is_an_answer_like_any_other() {
    let tally = search(1, 2, &Options { is_attended: false, ..supervisor() });
    assert_eq!(endings(&tally), ["Aborted", "Answered", "Failed", "LetGo", "Limit"]);
}

#[test]
fn steps_always_end_and_never_early() {
    let tally = search(0, 2, &steps());
    assert!(tally.states > 10_000, "{tally:?}");
    assert_eq!(
        endings(&tally),
        [
            "Aborted",
            "Answered",
            "Asked",
            "Failed",
            "Limit",
            "NotValidated",
            "PlanningFailed",
            "Stuck"
        ]
    );
}

#[test]
fn a_turn_that_goes_on_with_a_reply_always_ends_and_never_early() {
    let calls = CallLimits { first: 2, more: 1, most: 3 };
    let tally = search_replying(2, 2, 2, &Options { calls, ..supervisor() });
    assert!(tally.states > 1_000, "{tally:?}");
    for items in 0..=2 {
        let tally = search_replying(items, 2, 1, &small_steps());
        assert!(tally.states > 100, "{tally:?}");
        assert!(endings(&tally).contains(&"Answered"), "{tally:?}");
    }
}

#[test]
fn steps_with_three_items_on_an_existing_plan_always_end() {
    for items in 1..=3 {
        let tally = search(items, 3, &small_steps());
        assert!(tally.states > 100, "{tally:?}");
        assert!(endings(&tally).contains(&"Answered"), "{tally:?}");
    }
}

#[test]
fn a_turn_that_only_plans_ends_with_the_plan() {
    for options in [supervisor(), steps()] {
        let tally = search(0, 2, &Options { is_plan_only: true, ..options });
        assert!(endings(&tally).contains(&"Planned"), "{tally:?}");
    }
}
