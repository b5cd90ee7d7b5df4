//! Both strategies over every kind of provider: what we send before each call.

use punchlist_agent::provider::Kind;
use punchlist_agent::turn::Ending;
use punchlist_testkit::model::{Message, Request, Script};
use serde_json::json;

use super::{REQUEST, Stage, complete, each, next, read, shell, steps, supervisor, todos};

const PLAN_TOOLS: [&str; 5] =
    ["create_todo", "list_todo", "complete_todo", "update_todo", "next_todo"];
const OTHER_TOOLS: [&str; 6] = ["shell", "read", "write", "edit", "list", "search"];

fn write() -> (&'static str, serde_json::Value) {
    ("write", json!({"path": "copy.txt", "content": "Remember the milk.\n"}))
}

/// The model plans, works, answers too early, and answers.
fn supervised() -> Script {
    let (tool, items) = todos(&["Copy the note", "Check the copy"]);
    Script::new()
        .turn(Message::new().thinks("hm").signs().calls(tool, items))
        .calls_all([next(), read("note.txt"), write()])
        .calls_all([shell("cat copy.txt"), complete(1)])
        .stops("All done.")
        .calls_all([complete(2)])
        .stops("The note is copied.")
}

/// Whether request and list are the last thing that the model reads.
fn check_latest(kind: Kind, sent: &Request, list: &[&str]) {
    let news = sent.news();
    let at = news.find("The request of this turn:\n").unwrap_or_else(|| panic!("{kind}: {news}"));
    let latest = &news[at..];
    assert!(latest.contains(REQUEST), "{kind}: {news}");
    assert_eq!(latest.contains("TODO list (as of now):"), !list.is_empty(), "{kind}: {news}");
    for line in list {
        assert!(latest.contains(line), "{kind}: no {line} in {latest}");
    }
}

#[test]
fn the_supervisor_works_off_a_plan_over_every_provider() {
    each(supervised, |stage| async move {
        let kind = stage.kind;
        let ran = stage.run(supervisor()).await;
        assert_eq!(ran.ended.ending, Ending::Answered, "{kind}");
        assert_eq!((ran.ended.answer.as_str(), ran.ended.exit()), ("The note is copied.", 0));
        assert_eq!(ran.list(), ["completed Copy the note", "completed Check the copy"], "{kind}");
        let copy = std::fs::read_to_string(stage.path("copy.txt")).unwrap();
        assert_eq!(copy, "Remember the milk.\n", "{kind}");
        let sent = stage.sent();
        assert_eq!((sent.len(), stage.server.left()), (6, 0), "{kind}");
        let lists: [&[&str]; 6] = [
            &[],
            &["[pending]", "Copy the note", "Check the copy"],
            &["[in_progress]", "Item in progress:"],
            &["[completed]", "[pending]"],
            &["[completed]", "[pending]"],
            &["[completed]"],
        ];
        for (it, list) in sent.iter().zip(lists) {
            check_latest(kind, it, list);
            let mut tools = it.tools();
            let mut expected: Vec<&str> = PLAN_TOOLS.into_iter().chain(OTHER_TOOLS).collect();
            tools.sort();
            expected.sort_unstable();
            assert_eq!(tools, expected, "{kind}");
            assert!(it.text().contains("MUST NOT"), "{kind}: the plan section is missing");
            assert!(!it.text().contains("turns without todo update"), "{kind}: a nag");
        }
        let refused = sent[4].news();
        assert!(refused.contains("Not finished: 1 of 2 items is open."), "{kind}: {refused}");
        assert!(!sent[5].news().contains("[pending]"), "{kind}");
        check_results(kind, &sent);
        check_thinking(kind, &sent);
        check_cache_marks(&stage, &ran.session.to_string());
    });
}

/// Each result goes back with the call that it belongs to.
fn check_results(kind: Kind, sent: &[Request]) {
    if kind != Kind::Ollama {
        let results = sent[2].results();
        let tools: Vec<&str> = results.iter().map(|it| it.tool.as_str()).collect();
        assert_eq!(tools, ["next_todo", "read", "write"], "{kind}");
    }
    let text = &super::results(&sent[2])[1];
    assert!(text.starts_with("read:\n```data\n"), "{kind}: {text}");
    assert!(text.contains("Remember the milk."), "{kind}: {text}");
    assert!(super::results(&sent[3])[0].contains("Remember the milk."), "{kind}");
}

/// Thinking goes back as it was received, with every later call of the turn.
fn check_thinking(kind: Kind, sent: &[Request]) {
    let mark = match kind {
        Kind::Anthropic => "c2lnbmF0dXJl",
        Kind::OpenAi => "c2VhbGVk",
        Kind::OpenAiChat => r#""reasoning_content":"hm""#,
        Kind::Gemini => "dGhvdWdodA==",
        // Ollama takes no thinking back.
        Kind::Ollama => return,
    };
    for it in &sent[1..] {
        assert_eq!(it.body.to_string().matches(mark).count(), 1, "{kind}: {}", it.body);
    }
}

fn check_cache_marks(stage: &Stage, session: &str) {
    let mark = json!({"type": "ephemeral"});
    for it in stage.sent() {
        let marks = it.body.to_string().matches("cache_control").count();
        match stage.kind {
            Kind::Anthropic => {
                assert_eq!(it.body["system"][0]["cache_control"], mark);
                assert_eq!(marks, 2, "{}", it.body);
                // The last message differs from call to call, and is not marked.
                let last = it.body["messages"].as_array().unwrap().last().unwrap();
                let parts = last["content"].as_array().cloned().unwrap_or_default();
                let last = parts.last().cloned().unwrap_or_else(|| last.clone());
                assert!(!last.to_string().contains("cache_control"), "{last}");
            }
            Kind::OpenAi => assert_eq!(it.body["prompt_cache_key"], session),
            Kind::OpenAiChat | Kind::Gemini | Kind::Ollama => assert_eq!(marks, 0),
        }
    }
}

#[test]
fn each_call_begins_as_the_one_before() {
    each(supervised, |stage| async move {
        stage.run(supervisor()).await;
        let key = match stage.kind {
            Kind::Anthropic | Kind::OpenAiChat | Kind::Ollama => "messages",
            Kind::OpenAi => "input",
            Kind::Gemini => "contents",
        };
        let sent = stage.sent();
        for pair in sent.windows(2) {
            let list = |it: &Request| it.body[key].as_array().unwrap().clone();
            let without_marks = |it: &serde_json::Value| {
                it.to_string().replace(r#""cache_control":{"type":"ephemeral"},"#, "")
            };
            let (before, after) = (list(&pair[0]), list(&pair[1]));
            // The last message of the earlier call was not stored. Some formats join it with the one
            // before.
            for (one, other) in before.iter().zip(&after).take(before.len().saturating_sub(2)) {
                assert_eq!(without_marks(one), without_marks(other), "{}", stage.kind);
            }
        }
    });
}

fn manager(action: &str, more: &serde_json::Value) -> (&'static str, serde_json::Value) {
    let mut arguments = json!({"action": action});
    for (key, value) in more.as_object().unwrap() {
        arguments[key] = value.clone();
    }
    ("todo_manager", arguments)
}

/// Classify, plan, two items, validate.
fn stepwise() -> Script {
    let two = json!({"todos": [{"content": "Copy the note"}, {"content": "Check the copy"}]});
    let (tool, items) = manager("add_multiple", &two);
    Script::new()
        .stops(r#"{"isSimple": false, "reasoning": "two steps"}"#)
        .turn(Message::new().thinks("hm").signs().calls(tool, items))
        .stops("Copy, then check.")
        .calls_all([read("note.txt"), write()])
        .stops("The note is copied.")
        .calls_all([shell("cat copy.txt")])
        .stops("The copy is right.")
        .stops(r#"{"isComplete": true, "reasoning": "the copy is there", "suggestions": []}"#)
}

#[test]
fn steps_work_off_a_plan_over_every_provider() {
    each(stepwise, |stage| async move {
        let kind = stage.kind;
        let ran = stage.run(steps()).await;
        assert_eq!(ran.ended.ending, Ending::Answered, "{kind}");
        assert_eq!(
            (ran.ended.answer.as_str(), ran.ended.exit()),
            ("Task validated as complete: the copy is there", 0)
        );
        assert_eq!(ran.list(), ["completed Copy the note", "completed Check the copy"], "{kind}");
        assert_eq!(
            ran.infos(),
            [
                "Executing as a multi-step task.",
                "Created new plan: Copy the note; Check the copy",
                "Step 2: Copy the note",
                "Step 3: Check the copy",
                "Task validated as complete: the copy is there",
            ],
            "{kind}"
        );
        let sent = stage.sent();
        assert_eq!((sent.len(), stage.server.left()), (8, 0), "{kind}");
        let doing = r#"<todo id="1" status="doing">"#;
        let second = r#"<todo id="2" status="doing">"#;
        let done = r#"<todo id="2" status="done">"#;
        let lists: [&[&str]; 8] = [
            &[],
            &[],
            &[r#"<todo id="1" status="todo">"#],
            &[doing, "Item in progress:"],
            &[doing],
            &[second],
            &[second],
            &[done],
        ];
        let planning = ["list", "read", "search", "todo_manager"].as_slice();
        let all = ["edit", "list", "read", "search", "shell", "todo_manager", "write"].as_slice();
        let offered = [&[], planning, planning, all, all, all, all, &[]];
        for ((it, list), offered) in sent.iter().zip(lists).zip(offered) {
            check_latest(kind, it, list);
            let mut tools = it.tools();
            tools.sort();
            assert_eq!(tools, offered, "{kind}");
        }
        assert!(sent[0].text().contains("todo_manager"), "{kind}: the classifier");
        assert!(sent[1].text().contains("After planning, call todo_manager"), "{kind}");
        assert!(sent[4].results().iter().any(|it| it.text.contains("Remember the milk.")));
        // Neither the classification nor the validation is shown again.
        assert!(sent[1..].iter().all(|it| !it.text().contains("two steps")), "{kind}");
        let check = sent[7].text();
        assert!(check.contains("The copy is right.") && check.contains("(Called shell"), "{kind}");
    });
}
