//! Steps: classify, plan, work off, validate; and how each can go wrong.

use punchlist_agent::session::SessionSettings;
use punchlist_agent::turn::{Ending, Options, StepLimits, Strategy};
use punchlist_testkit::model::{Message, Script};
use serde_json::{Value, json};

use super::{one, read, steps};

const COMPLEX: &str = r#"{"isSimple": false, "reasoning": "several things"}"#;
const COMPLETE: &str = r#"{"isComplete": true, "reasoning": "all is there"}"#;

fn add(titles: &[&str]) -> (&'static str, Value) {
    let todos: Vec<Value> = titles.iter().map(|it| json!({"content": it})).collect();
    ("todo_manager", json!({"action": "add_multiple", "todos": todos}))
}

fn skip(item: u32) -> (&'static str, Value) {
    ("todo_manager", json!({"action": "skip", "ids": [item], "reason": "not needed"}))
}

/// A complex task whose plan has these items.
fn planned(titles: &[&str]) -> Script {
    Script::new().stops(COMPLEX).calls_all([add(titles)]).stops("That is the plan.")
}

#[test]
fn a_simple_task_is_done_without_a_list() {
    let script = Script::new()
        .stops("```json\n{\"isSimple\": true, \"reasoning\": \"one call\"}\n```")
        .calls_all([read("note.txt")])
        .stops("It is about milk.");
    one(script, |stage| async move {
        let ran = stage.run(steps()).await;
        assert_eq!((&ran.ended.ending, ran.ended.exit()), (&Ending::Answered, 0));
        assert_eq!(ran.ended.answer, "It is about milk.");
        assert_eq!(ran.infos(), ["Task completed successfully."]);
        assert!(ran.ended.plan.is_none());
        let sent = stage.sent();
        assert!(
            sent[0].tools().is_empty() && !sent[1].tools().contains(&"todo_manager".to_owned())
        );
        assert!(sent[0].text().contains("Answer with JSON alone"));
    });
}

#[test]
fn the_classifier_names_the_todo_tool_and_in_doubt_the_task_is_planned() {
    for unclear in ["Hm.", r#"{"isSimple": "perhaps"}"#, r#"{"isSimple": tr"#, "[true]"] {
        let script = Script::new()
            .stops(unclear)
            .calls_all([add(&["One"])])
            .stops("That is the plan.")
            .stops("One is done.")
            .stops(COMPLETE);
        one(script, |stage| async move {
            let ran = stage.run(steps()).await;
            assert_eq!(ran.ended.ending, Ending::Answered, "{unclear}");
            assert_eq!(ran.infos()[0], "Executing as a multi-step task.", "{unclear}");
            assert_eq!(ran.list(), ["completed One"], "{unclear}");
            let sent = stage.sent();
            assert!(sent[0].text().contains("a TODO list with `todo_manager`"), "{unclear}");
            // The answer is for the runtime: the model does not read it again.
            assert!(sent[1..].iter().all(|it| !it.text().contains(unclear)), "{unclear}");
        });
    }
}

#[test]
fn a_simple_task_has_ten_model_calls() {
    let simple = r#"{"isSimple": true, "reasoning": "one call"}"#;
    let script = Script::new().stops(simple).always(|request| match request.tools().as_slice() {
        // The calls of an answer without tools are not run.
        [] => Message::new().says("So far.").calls("read", json!({"path": "note.txt"})),
        _ => Message::new().calls("read", json!({"path": "note.txt"})),
    });
    one(script, |stage| async move {
        let ran = stage.run(steps()).await;
        assert_eq!((&ran.ended.ending, ran.ended.answer.as_str()), (&Ending::Limit, "So far."));
        assert_eq!(stage.sent().len(), 11);
    });
}

#[test]
fn a_plan_without_items_is_a_failure() {
    let script = Script::new().stops(COMPLEX).stops("There is nothing to plan.");
    one(script, |stage| async move {
        let ran = stage.run(steps()).await;
        assert_eq!((&ran.ended.ending, ran.ended.exit()), (&Ending::PlanningFailed, 6));
        let failed = "Planning failed. Could not generate next steps.";
        assert_eq!(ran.infos(), ["Executing as a multi-step task.", failed]);
    });
}

#[test]
fn planning_has_five_calls_and_cannot_begin_the_work() {
    let write = ("write", json!({"path": "early.txt", "content": "x"}));
    let reads = [read("note.txt"), read("note.txt"), read("note.txt"), read("note.txt")];
    let script = Script::new()
        .stops(COMPLEX)
        .calls_all([add(&["A"]), write])
        .calls_all(reads)
        .stops("A is done.")
        .stops(COMPLETE);
    one(script, |stage| async move {
        let ran = stage.run(steps()).await;
        assert_eq!(
            (ran.ended.exit(), ran.ended.answer.as_str()),
            (0, "Task validated as complete: all is there")
        );
        assert!(!stage.path("early.txt").exists());
        let sent = stage.sent();
        let results = sent[2].results();
        assert!(results[1].text.contains("write is not offered now"), "{}", results[1].text);
        // Two calls and then three are five.
        let texts: Vec<String> = sent[3].results().into_iter().map(|it| it.text).collect();
        assert!(texts[2].contains("Remember the milk."), "{texts:?}");
        assert!(texts[3].contains("not run: the calls of this step are used up"), "{texts:?}");
    });
}

#[test]
fn an_item_whose_calls_are_used_up_goes_back_with_a_note_and_is_skipped_the_second_time() {
    let script = planned(&["A", "B"])
        .calls_all([read("note.txt"), read("note.txt"), read("note.txt")])
        .calls_all([read("note.txt"), read("note.txt"), read("note.txt")])
        .stops("The plan stays.")
        .calls_all([read("note.txt"), read("note.txt"), read("note.txt"), read("note.txt")])
        .calls_all([read("note.txt")])
        .stops("B is done.")
        .stops(COMPLETE);
    one(script, |stage| async move {
        let ran = stage.run(steps()).await;
        assert_eq!((ran.ended.exit(), stage.server.left()), (0, 0));
        assert_eq!(ran.list(), ["cancelled A", "completed B"]);
        let plan = ran.ended.plan.as_ref().unwrap();
        let note = "The limit of 5 tool calls for this item was used up.";
        let a = plan.listed()[0].clone();
        assert!(a.context.contains(note) && format!("{a:?}").matches(note).count() >= 2, "{a:?}");
        let sent = stage.sent();
        // Planning again, with the item back on the list.
        assert!(sent[5].text().contains("## Now: plan"), "{}", sent[5].text());
        assert!(sent[5].news().contains(r#"<todo id="1" status="todo">"#), "{}", sent[5].news());
        assert!(sent[6].news().contains(note), "{}", sent[6].news());
    });
}

#[test]
fn an_answer_completes_the_item_only() {
    let script = planned(&["A", "B"])
        .stops("Everything is done, the whole task.")
        .stops("B is done.")
        .stops(COMPLETE);
    one(script, |stage| async move {
        let ran = stage.run(steps()).await;
        assert_eq!(ran.list(), ["completed A", "completed B"]);
        let outcomes: Vec<Option<String>> =
            ran.ended.plan.unwrap().listed().iter().map(|it| it.outcome.clone()).collect();
        let first = "Everything is done, the whole task.".to_owned();
        assert_eq!(outcomes, [Some(first), Some("B is done.".to_owned())]);
        assert_eq!(stage.sent().len(), 6);
    });
}

#[test]
fn an_incomplete_validation_is_planned_again_and_a_second_one_ends_the_task() {
    let incomplete = r#"{"isComplete": false, "reasoning": "No tests.", "suggestions": ["Write tests", "Run them"]}"#;
    let script = planned(&["A"])
        .stops("A is done.")
        .stops(incomplete)
        .calls_all([add(&["Write tests"])])
        .stops("Tests next.")
        .calls_all([skip(2)])
        .stops(r#"{"isComplete": false, "reasoning": "Still no tests."}"#);
    one(script, |stage| async move {
        let ran = stage.run(steps()).await;
        assert_eq!((&ran.ended.ending, ran.ended.exit()), (&Ending::NotValidated, 6));
        assert_eq!((ran.ended.answer.as_str(), stage.server.left()), ("", 0));
        assert_eq!(ran.list(), ["completed A", "cancelled Write tests"]);
        let told = "Validation result: No tests.\nSuggestions: Write tests, Run them";
        let news = stage.sent()[5].news();
        assert!(news.contains(told), "{news}");
    });
}

#[test]
fn a_validation_without_suggestions_is_its_own_suggestion() {
    let script = planned(&["A"])
        .stops("A is done.")
        .stops("I think that the tests are missing.")
        .calls_all([add(&["Write tests"])])
        .stops("Tests next.")
        .stops("Tests are written.")
        .stops(COMPLETE);
    one(script, |stage| async move {
        let ran = stage.run(steps()).await;
        assert_eq!(ran.ended.exit(), 0);
        let news = stage.sent()[5].news();
        assert!(news.contains("Validation result: I think that the tests are missing."), "{news}");
        assert!(!news.contains("Suggestions:"), "{news}");
    });
}

#[test]
fn the_steps_are_limited() {
    let script = planned(&["A", "B", "C"]).stops("A is done.").stops("B is done.");
    one(script, |stage| async move {
        let limits = StepLimits { steps: 3, ..StepLimits::default() };
        let turn = Options { strategy: Strategy::Steps, steps: limits, ..Options::default() };
        let ran = stage.run(SessionSettings { turn, ..SessionSettings::default() }).await;
        assert_eq!((&ran.ended.ending, ran.ended.exit()), (&Ending::Limit, 7));
        let last = ran.infos().pop().unwrap();
        assert_eq!(last, "Task did not complete within the maximum of 3 steps.");
        assert!(ran.ended.answer.ends_with("Still open:\n- C"), "{}", ran.ended.answer);
    });
}

#[test]
fn when_nothing_can_be_started_planning_is_tried_once_more() {
    // The item waits for somebody.
    let script = Script::new().stops("I cannot plan more.");
    one(script, |stage| async move {
        let plan = stage.world.place.engine.create_named("Ask Bob", "ask").await.unwrap();
        plan.by("bob").add([punchlist_engine::item("A")]).await.unwrap();
        let claim = plan.by("bob").next().await.unwrap();
        let ran = stage.run(SessionSettings { plan: Some("ask".to_owned()), ..steps() }).await;
        drop(claim);
        assert_eq!((&ran.ended.ending, ran.ended.exit()), (&Ending::Stuck, 7));
        assert_eq!(stage.sent().len(), 1);
    });
}
