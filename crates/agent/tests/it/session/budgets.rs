//! Budgets are looked at before each model call. A budget that is used up ends the turn like an abort.

use punchlist_agent::provider::Price;
use punchlist_agent::session::{Event, SessionSettings};
use punchlist_agent::turn::{Abort, Ending};
use punchlist_testkit::model::{Message, Script};

use super::front_end::Front;
use super::{Ran, next, one, read, supervisor, todos};

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
        let row = stage.world.engine.store().turns(ran.session).await.unwrap().remove(0);
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
        stage.world.price =
            Some(Price { input: 2.0, output: 0.0, cache_read: None, cache_write: None });
        let ran = stage.run(with_budget("cost=3")).await;
        assert_eq!(reached(&ran), "the budget of this run is used up: 4.00 of 3.00 are spent");
        assert_eq!((stage.sent().len(), ran.ended.used.cost_micros), (2, 4_000_000));
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
