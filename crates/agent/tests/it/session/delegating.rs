//! Sessions that delegate: which item a worker gets, and what its work costs.

use std::sync::Arc;

use jiff::tz::TimeZone;
use punchlist_agent::provider::Price;
use punchlist_agent::session::{Event, Input, ModelLoop, SessionSettings};
use punchlist_agent::turn::{Abort, Ending};
use punchlist_agent::workers::acp::RefuseAll;
use punchlist_agent::workers::delegate::Delegate;
use punchlist_agent::workers::{ProgramEnvironment, WorkerConfig, WorkerOptions, Workers};
use punchlist_engine::Around;
use punchlist_sched::{Decision, Policy, Rule, Tool};
use punchlist_testkit::model::{Message, Script};
use serde_json::{Value, json};

use super::front_end::Front;
use super::{Stage, complete, one, read, results, shell, supervisor, todos};

/// Gives the session a worker `w` of this configuration.
pub(super) fn with_worker(mut stage: Stage, config: Value) -> Stage {
    let config = WorkerConfig::read("w", &config).unwrap();
    let root = stage.path("");
    let allow = |tool: &str| Rule::tool(Decision::Allow, tool);
    stage.world.tools.policy = Policy::new(["delegate", "shell"].map(allow).to_vec(), Vec::new());
    let (clock, world) = (stage.clock.clone(), stage.world.clone());
    stage.world.tools.turn_tools = Arc::new(move |plan, sender| {
        let clock = clock.clone();
        let options = WorkerOptions {
            root: root.clone(),
            environment: ProgramEnvironment {
                variables: vec![("PATH".into(), "/usr/bin:/bin".into())],
                ..ProgramEnvironment::default()
            },
            worktrees: None,
            models: Arc::new(ModelLoop::new(world.clone(), plan.clone(), sender.clone())),
            approver: Arc::new(RefuseAll),
            clock: Arc::new(move || clock.now()),
            time_zone: TimeZone::UTC,
        };
        let workers = Workers::new([config.clone()], options);
        let (agent, plan) = (plan.agent().to_owned(), Arc::new(plan.clone()));
        vec![Arc::new(Delegate::new(workers, plan, agent, root.clone())) as Arc<dyn Tool>]
    });
    stage
}

fn delegate(item: u32) -> (&'static str, Value) {
    ("delegate", json!({"todoId": item, "agentType": "w", "task": "Do it."}))
}

fn manager(action: &str, fields: Value) -> (&'static str, Value) {
    let Value::Object(mut fields) = fields else { panic!("{fields}") };
    fields.insert("action".to_owned(), json!(action));
    ("todo_manager", Value::Object(fields))
}

#[test]
fn where_ids_are_positions_the_worker_gets_the_item_at_that_position() {
    let todos =
        |titles: &[&str]| titles.iter().map(|it| json!({"content": it})).collect::<Vec<_>>();
    let script = Script::new()
        .calls_all([manager("add_multiple", json!({"todos": todos(&["Bake", "Cool"])}))])
        .calls_all([manager(
            "add_after_position",
            json!({"position": 0, "todos": todos(&["Answer"])}),
        )])
        .calls_all([delegate(1)])
        .calls_all([manager("replace_all", json!({"todos": todos(&["Xerox", "Yawn"])}))])
        .calls_all([delegate(2)])
        .calls_all([delegate(3)])
        .calls_all([manager("complete_multiple", json!({"ids": [1, 2]}))])
        .stops("Done.");
    one(script, |stage| async move {
        let stage = with_worker(stage, json!({"kind": "shell", "command": "cat"}));
        let settings = SessionSettings { dialect: Some("manager".to_owned()), ..supervisor() };
        let ran = stage.run(settings).await;
        assert_eq!(ran.ended.ending, Ending::Answered);
        let sent = stage.sent();
        let first = results(&sent[3]).remove(0);
        assert!(first.contains("Answer") && first.contains("Item 1 is open"), "{first}");
        let second = results(&sent[5]).remove(0);
        assert!(second.contains("Yawn") && second.contains("Item 2 is open"), "{second}");
        let third = results(&sent[6]).remove(0);
        assert!(third.contains("there is no item"), "{third}");
    });
}

/// Plans and delegates; the worker reads a file with each of its calls.
fn delegating(tokens: u64) -> Script {
    let (create, items) = todos(&["A"]);
    let (tool, arguments) = delegate(1);
    let first = Message::new().counting(tokens).calls(create, items).calls(tool, arguments);
    Script::new().turn(first).always(move |_| {
        let (tool, path) = read("note.txt");
        Message::new().counting(tokens).calls(tool, path)
    })
}

#[test]
fn the_budget_of_a_run_is_looked_at_before_each_call_of_a_worker() {
    one(delegating(1000), |mut stage| async move {
        stage.world.model.price =
            Some(Price { input: 1000.0, output: 0.0, cache_read: None, cache_write: None });
        let stage = with_worker(stage, json!({"kind": "model"}));
        let budget = "tokens=2500,cost=100".parse().unwrap();
        let ran = stage.run(SessionSettings { budget, ..supervisor() }).await;
        assert!(
            matches!(&ran.ended.ending, Ending::Aborted(Abort::Budget(why)) if why.contains("2500 tokens")),
            "{:?}",
            ran.ended.ending
        );
        // One of the session, two of the worker. Nobody calls after that.
        assert_eq!((stage.sent().len(), ran.ended.used.calls), (3, 3));
        assert!(ran.ended.used.input + ran.ended.used.output >= 3000, "{:?}", ran.ended.used);
        assert!(ran.ended.used.cost_micros >= 2_900_000, "{:?}", ran.ended.used);
        let store = stage.world.place.engine.store();
        let row = store.turns(ran.session).await.unwrap().remove(0);
        assert_eq!(row.used, ran.ended.used, "the store has the same");
        assert_eq!(ran.list(), ["pending A"]);
    });
}

#[test]
fn the_budget_of_a_day_holds_for_workers_too() {
    one(delegating(1000), |stage| async move {
        let stage = with_worker(stage, json!({"kind": "model"}));
        let budget = "day.tokens=1500".parse().unwrap();
        let ran = stage.run(SessionSettings { budget, ..supervisor() }).await;
        let Ending::Aborted(Abort::Budget(why)) = &ran.ended.ending else {
            panic!("{:?}", ran.ended.ending)
        };
        assert!(why.starts_with("the budget of this day is used up"), "{why}");
        assert_eq!(stage.sent().len(), 2);
    });
}

#[test]
fn an_item_can_be_added_and_delegated_in_one_answer() {
    let script = Script::new()
        .calls_all([todos(&["A", "B"]), delegate(2)])
        // The list refuses the first call, so the second is not made.
        .calls_all([todos(&[""]), delegate(3)])
        .calls_all([complete(1), complete(2)])
        .stops("Done.");
    one(script, |stage| async move {
        let stage = with_worker(stage, json!({"kind": "shell", "command": "cat"}));
        let ran = stage.run(supervisor()).await;
        assert_eq!(ran.ended.ending, Ending::Answered);
        let sent = stage.sent();
        let [_, delegated] = &results(&sent[1])[..] else { panic!("{:?}", results(&sent[1])) };
        assert!(delegated.contains("Item 2 is open"), "{delegated}");
        let [_, refused] = &results(&sent[2])[..] else { panic!("{:?}", results(&sent[2])) };
        assert!(refused.contains("did not succeed"), "{refused}");
    });
}

#[test]
fn what_a_worker_does_is_told_under_its_name() {
    let script = Script::new()
        .calls_all([todos(&["A"]), delegate(1)])
        .calls_all([read("note.txt")])
        .stops("It is about milk.")
        .calls_all([complete(1)])
        .stops("Done.");
    one(script, |stage| async move {
        let stage = with_worker(stage, json!({"kind": "model"}));
        let ran = stage.run(supervisor()).await;
        assert_eq!((&ran.ended.ending, ran.ended.used.calls), (&Ending::Answered, 5));
        let own = ran
            .events
            .iter()
            .filter(|it| matches!(it, Event::CallStarted(call) if call.tool == "read"));
        assert_eq!(own.count(), 0);
        let calls = ran.events.iter().filter(|it| {
            let Event::Worker { worker, event } = it else { return false };
            worker == "w" && matches!(&**event, Event::CallStarted(call) if call.tool == "read")
        });
        assert_eq!(calls.count(), 1);
    });
}

#[test]
fn a_call_while_the_last_runs_is_run_and_each_has_its_result() {
    let script = Script::new()
        .calls_all([todos(&["A"])])
        .calls_all([delegate(1)])
        // The worker still runs, and waits for what this call does.
        .calls_all([shell("echo 'All is well.' > go")])
        .calls_all([delegate(1)])
        .calls_all([complete(1)])
        .stops("Done.");
    one(script, |stage| async move {
        let command = "while [ ! -e go ]; do sleep 0.05; done; cat go";
        let stage = with_worker(stage, json!({"kind": "shell", "command": command}));
        let begins = |it: &Event| matches!(it, Event::CallStarted(call) if call.tool == "delegate");
        let front = Front::default().when(begins, Input::Steer("Hurry.".to_owned()));
        let ran = stage.run_with(supervisor(), front).await;
        assert_eq!(
            (&ran.ended.ending, ran.list()),
            (&Ending::Answered, vec!["completed A".to_owned()])
        );
        let sent = stage.sent();
        assert!(results(&sent[2])[0].starts_with("still running"), "{:?}", results(&sent[2]));
        assert_eq!(results(&sent[3]).len(), 1, "the call that came meanwhile");
        assert!(results(&sent[4])[0].contains("All is well."), "{:?}", results(&sent[4]));
    });
}
