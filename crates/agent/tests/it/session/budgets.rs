//! Budgets are looked at before each model call. A budget that is used up ends the turn like an abort.

use punchlist_agent::provider::Price;
use punchlist_agent::session::{Event, SessionSettings};
use punchlist_agent::turn::{Abort, Ending};
use punchlist_engine::item;
use punchlist_model::{Goal, Op, PlanPatch, goal};
use punchlist_testkit::model::{Message, Script};

use super::front_end::Front;
use super::{Ran, Stage, next, one, read, steps, supervisor, todos};

fn with_budget(budget: &str) -> SessionSettings {
    SessionSettings { budget: budget.parse().unwrap(), ..supervisor() }
}

/// Works on an item, with this many tokens for each call.
fn busy(tokens: u64) -> Script {
    let (create, items) = todos(&["A"]);
    let (claim, none) = next();
    let first = Message::new().counting(tokens).calls(create, items).calls(claim, none);
    Script::new().turn(first).always(move |_| {
        let (tool, path) = read("note.txt");
        Message::new().counting(tokens).calls(tool, path)
    })
}

fn reached(ran: &Ran) -> &str {
    let Ending::Aborted(Abort::Budget(why)) = &ran.ended.ending else {
        panic!("{:?}", ran.ended.ending)
    };
    why
}

#[test]
fn tokens_of_a_run() {
    one(busy(1000), |stage| async move {
        let ran = stage.run(with_budget("tokens=2500")).await;
        let why = reached(&ran);
        assert!(why.starts_with("the budget of this run is used up: 3"), "{why}");
        assert!(why.ends_with("of 2500 tokens are used"), "{why}");
        assert_eq!((stage.sent().len(), ran.ended.exit()), (3, 7));
        assert_eq!(ran.list(), ["pending A"]);
        let row = stage.world.place.engine.store().turns(ran.session).await.unwrap().remove(0);
        assert_eq!((row.ending.as_deref(), row.used), (Some("budget"), ran.ended.used));
    });
}

#[test]
fn a_budget_that_ends_a_turn_without_an_answer_is_a_failure() {
    let (tool, path) = read("note.txt");
    let script = Script::new().turn(Message::new().counting(1000).calls(tool, path));
    one(script, |stage| async move {
        let ran = stage.run(with_budget("tokens=500")).await;
        reached(&ran);
        assert_eq!((ran.ended.exit(), ran.ended.answer.as_str()), (6, ""));
    });
}

#[test]
fn minutes_of_a_run() {
    one(busy(100), |stage| async move {
        let clock = stage.clock.clone();
        let front = Front::default().at(move |it| {
            if matches!(it, Event::CallEnded { call, .. } if call.tool == "read") {
                clock.advance(6);
            }
            None
        });
        let ran = stage.run_with(with_budget("minutes=10"), front).await;
        assert_eq!(reached(&ran), "the budget of this run is used up: 12 of 10 minutes are over");
        assert_eq!((stage.sent().len(), ran.ended.exit()), (3, 7));
    });
}

#[test]
fn cost_of_a_run() {
    one(busy(1_000_000), |mut stage| async move {
        stage.world.model.price =
            Some(Price { input: 2.0, output: 0.0, cache_read: None, cache_write: None });
        let ran = stage.run(with_budget("cost=3")).await;
        assert_eq!(reached(&ran), "the budget of this run is used up: 4.00 of 3.00 are spent");
        assert_eq!((stage.sent().len(), ran.ended.used.cost_micros), (2, 4_000_000));
    });
}

#[test]
fn minutes_of_all_runs_of_a_day() {
    let (tool, path) = read("note.txt");
    let script = Script::new().calls(tool, path).stops("One.").stops("Two.");
    one(script, |stage| async move {
        // Not over midnight.
        let minute = punchlist_engine::Around::now(&stage.clock).as_second() / 60 % (24 * 60);
        stage.clock.advance(24 * 60 - minute + 1);
        let clock = stage.clock.clone();
        let front = Front::default().at(move |it| {
            if matches!(it, Event::CallEnded { .. }) {
                clock.advance(40);
            }
            None
        });
        let first = stage.run_with(with_budget("day.minutes=60"), front).await;
        assert_eq!(first.ended.answer, "One.");
        // Time without a turn does not count.
        stage.clock.advance(60);
        let reached_at = |most: u64| with_budget(&format!("day.minutes={most}"));
        let second = stage.run(reached_at(40)).await;
        let expected = "the budget of this day is used up: 40 of 40 minutes are over";
        assert_eq!(reached(&second), expected);
        stage.clock.advance(24 * 60);
        let third = stage.run(reached_at(40)).await;
        assert_eq!(third.ended.answer, "Two.");
    });
}

#[test]
fn all_runs_of_a_day_together() {
    let script = Script::new().turn(Message::new().counting(1000).says("One.")).stops("Two.");
    one(script, |stage| async move {
        let first = stage.run(with_budget("day.tokens=500")).await;
        assert_eq!(first.ended.answer, "One.");
        let second = stage.run(with_budget("day.tokens=500")).await;
        let why = reached(&second);
        assert!(why.starts_with("the budget of this day is used up: 10"), "{why}");
        assert_eq!((stage.sent().len(), second.ended.exit()), (1, 6));
        stage.clock.advance(24 * 60);
        let third = stage.run(with_budget("day.tokens=500")).await;
        assert_eq!(third.ended.answer, "Two.");
    });
}

/// Works on a plan whose goal has a budget.
async fn on_goal(stage: &Stage, budget: goal::Budget) -> SessionSettings {
    let plan = stage.world.place.engine.create_named("A plan", "door").await.unwrap();
    let door = plan.by_person("ann");
    door.add([item("A")]).await.unwrap();
    let goal = Goal { statement: "The door is blue".to_owned(), budget, ..Goal::default() };
    let patch = PlanPatch { goal: Some(Some(goal)), ..PlanPatch::default() };
    door.change(vec![Op::Plan(Box::new(patch))]).await.unwrap();
    SessionSettings { plan: Some("door".to_owned()), ..supervisor() }
}

/// Reads a file again and again, with this many tokens for each call.
fn reads(tokens: u64) -> Script {
    Script::new().always(move |_| {
        let (tool, path) = read("note.txt");
        Message::new().counting(tokens).calls(tool, path)
    })
}

#[test]
fn tokens_of_a_goal_in_all_sessions_together() {
    one(reads(1000), |stage| async move {
        let budget = goal::Budget { tokens: Some(2500), ..goal::Budget::default() };
        let settings = on_goal(&stage, budget).await;
        let ran = stage.run(settings.clone()).await;
        let why = reached(&ran);
        assert!(why.starts_with("the budget of the goal is used up: 3"), "{why}");
        assert!(why.ends_with("of 2500 tokens are used"), "{why}");
        assert_eq!((stage.sent().len(), ran.ended.exit()), (3, 7));
        reached(&stage.run(settings).await);
        assert_eq!(stage.sent().len(), 3);
    });
}

#[test]
fn turns_of_a_goal() {
    one(Script::new().always(|_| Message::new().says("No.")), |stage| async move {
        let budget = goal::Budget { turns: Some(1), ..goal::Budget::default() };
        let settings = on_goal(&stage, budget).await;
        let first = stage.run(settings.clone()).await;
        assert_eq!(first.ended.ending, Ending::LetGo);
        let sent = stage.sent().len();
        let second = stage.run(settings).await;
        assert_eq!(
            reached(&second),
            "the budget of the goal is used up: 1 of 1 turns have worked on it"
        );
        assert_eq!(stage.sent().len(), sent);
    });
}

#[test]
fn minutes_of_a_goal_bound_steps_too() {
    let script = Script::new().calls_all([next()]);
    one(script, |stage| async move {
        let budget = goal::Budget { minutes: Some(10), ..goal::Budget::default() };
        let on_goal = on_goal(&stage, budget).await;
        let settings = SessionSettings { plan: on_goal.plan, ..steps() };
        stage.clock.advance(12);
        let ran = stage.run(settings).await;
        assert_eq!(reached(&ran), "the budget of the goal is used up: 12 of 10 minutes are over");
        assert_eq!((stage.sent().len(), ran.list()), (0, vec!["pending A".to_owned()]));
    });
}
