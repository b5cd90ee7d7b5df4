//! What holds in every dialect, and the texts for a failing store.

use punchlist_model::item::CheckRun;
use punchlist_model::store::{Entry, Error};
use punchlist_model::{
    Broken, Check, Evidence, ItemRef, Level, Number, Op, Origin, Patch, PlanId, PlanPatch,
    Position, Problem, Refusal, Revision, Rules, Status, Tag,
};
use serde_json::json;

use super::{Caller, json};
use crate::dialect::{Answer, Call, Dialect};

#[test]
fn an_id_means_in_each_dialect_what_the_model_was_shown() {
    let (second, third) = (ItemRef::Position(Position(2)), ItemRef::Number(Number(3)));
    let prefix = ItemRef::Prefix("0193a".to_owned());
    for (dialect, id, expected) in [
        (Dialect::Manager, "2", Some(&second)),
        (Dialect::Manager, " #2 ", Some(&second)),
        (Dialect::Manager, "0193a", Some(&prefix)),
        (Dialect::UpdatePlan, "2", Some(&second)),
        (Dialect::WriteTodos, "2", Some(&second)),
        (Dialect::TodoWrite, "2", Some(&second)),
        (Dialect::TodoWrite, "#3", Some(&third)),
        (Dialect::Turn, "3", Some(&third)),
        (Dialect::Turn, "#3", Some(&third)),
        (Dialect::Turn, "0193a", Some(&prefix)),
        (Dialect::Tasks, "3", Some(&third)),
        (Dialect::Tasks, "the third", None),
        (Dialect::Manager, "", None),
    ] {
        assert_eq!(dialect.item(id).as_ref(), expected, "{dialect} {id}");
    }
}

#[test]
fn all_dialects_work_on_the_same_plan() {
    let mut caller = Caller::new(Dialect::Turn);
    caller.ok("create_todo", json!({"items": [{"title": "A"}, {"title": "B"}]}));
    caller.dialect = Dialect::Manager;
    caller.ok("todo_manager", json!({"action": "start", "ids": [1]}));
    caller.dialect = Dialect::TodoWrite;
    let entry = |content, status| json!({"content": content, "status": status, "activeForm": "…"});
    let todos = json!({"todos": [entry("A", "completed"), entry("B", "in_progress")]});
    assert_eq!(caller.ok("TodoWrite", todos), "[x] A\n[>] B <- …\n\n(1/2 completed)");
    caller.dialect = Dialect::Turn;
    let value = json(&caller.ok("list_todo", json!({"status": "all"})));
    assert_eq!(value["items"][0]["status"], "completed");
    assert_eq!(value["items"][1]["id"], json!(caller.id(2)));
    caller.dialect = Dialect::Tasks;
    caller.ok("TaskUpdate", json!({"taskId": "2", "status": "pending"}));
    caller.dialect = Dialect::WriteTodos;
    let entry = |title, status| json!({"description": title, "status": status});
    caller.ok("write_todos", json!({"todos": [entry("A", "completed"), entry("B", "blocked")]}));
    caller.dialect = Dialect::UpdatePlan;
    let entry = |title, status| json!({"step": title, "status": status});
    caller.ok("update_plan", json!({"plan": [entry("A", "completed"), entry("B", "pending")]}));
    caller.dialect = Dialect::Tasks;
    let text = caller.ok("TaskList", json!({}));
    assert_eq!(text, "#1 [completed] A\n#2 [pending] B [waiting for blocked]");
}

#[test]
fn foreign_additions_to_arguments_are_tolerated() {
    for (dialect, tool, arguments) in samples() {
        let mut caller = Caller::new(dialect);
        let mut more = arguments.clone();
        for (name, value) in [
            ("wait_for_previous", json!(true)),
            ("turnId", json!("another turn")),
            ("conversationId", json!(7)),
            ("agent", json!({"id": []})),
        ] {
            more[name] = value;
        }
        assert_eq!(
            caller.dialect.call(tool, more.to_string().as_bytes()),
            sample(dialect, tool, &arguments)
        );
        caller.call(tool, more);
    }
}

#[test]
fn no_reply_carries_controls_escapes_or_bidi_overrides_raw() {
    let hostile = "a\u{1b}[2Jb\u{9b}31mc\u{202e}d\u{7f}e\u{2066}f";
    let mut caller = Caller::new(Dialect::Turn);
    let mut texts = vec![caller.ok("create_todo", json!({"items": [{"title": hostile}]}))];
    texts.push(caller.ok("next_todo", json!({})));
    texts.push(caller.ok("list_todo", json!({})));
    texts.push(caller.err("update_todo", json!({"todoId": 1, "status": "in_progress"})));
    texts.push(caller.ok("update_todo", json!({"todoId": 1, "waitingOn": hostile})));
    // JSON loses nothing: characters that are not allowed are written as escapes.
    assert_eq!(json(&texts[2])["items"][0]["title"], hostile);
    caller.dialect = Dialect::Manager;
    texts.push(caller.ok("todo_manager", json!({"action": "list"})));
    texts.push(caller.ok("todo_manager", json!({"action": "next"})));
    texts.push(caller.err("todo_manager", json!({"action": hostile})));
    caller.dialect = Dialect::TodoWrite;
    let entry = json!({"content": hostile, "status": "pending", "activeForm": hostile});
    texts.push(caller.ok("TodoWrite", json!({"todos": [entry]})));
    texts.push(caller.ok("TodoWrite", json!({"todos": []})));
    assert!(texts[9].contains("Not of this list, and still open: #1 a"), "{}", texts[9]);
    caller.dialect = Dialect::WriteTodos;
    let entry = json!({"description": hostile, "status": "blocked"});
    texts.push(caller.ok("write_todos", json!({"todos": [entry]})));
    texts.push(caller.err("write_todos", json!({"todos": [{"status": hostile}]})));
    caller.dialect = Dialect::UpdatePlan;
    texts.push(caller.err("update_plan", json!({"plan": [{"step": "A", "status": hostile}]})));
    texts.push(caller.ok("update_plan", json!({"plan": []})));
    caller.dialect = Dialect::Tasks;
    let all = json!({"subject": hostile, "description": format!("{hostile}\n{hostile}")});
    texts.push(caller.ok("TaskCreate", all));
    texts.push(caller.ok("TaskUpdate", json!({"taskId": "2", "owner": hostile})));
    texts.push(caller.ok("TaskGet", json!({"taskId": "2"})));
    texts.push(caller.ok("TaskList", json!({})));
    texts.push(caller.err("TaskUpdate", json!({"taskId": "2", "status": hostile})));
    texts.push(caller.err("TaskUpdate", json!({"taskId": "2", "addBlocks": [hostile, "2"]})));
    texts.push(caller.err("TaskUpdate", json!({"taskId": "2", "addBlocks": ["2"]})));
    for text in texts {
        let raw = |char: char| {
            (char.is_control() && char != '\n') || matches!(char, '\u{202e}' | '\u{2066}')
        };
        assert!(!text.contains(raw), "{text:?}");
    }
}

/// A valid call of every tool.
fn samples() -> Vec<(Dialect, &'static str, serde_json::Value)> {
    vec![
        (Dialect::Manager, "todo_manager", json!({"action": "add_multiple", "todos": ["A"]})),
        (Dialect::Turn, "create_todo", json!({"items": [{"title": "A"}]})),
        (Dialect::Turn, "list_todo", json!({})),
        (Dialect::Turn, "complete_todo", json!({"todoId": "1", "outcome": "x"})),
        (Dialect::Turn, "update_todo", json!({"todoId": "1", "status": "pending"})),
        (Dialect::Turn, "next_todo", json!({})),
        (
            Dialect::TodoWrite,
            "TodoWrite",
            json!({"todos": [{"content": "A", "status": "pending", "activeForm": "B"}]}),
        ),
        (
            Dialect::WriteTodos,
            "write_todos",
            json!({"todos": [{"description": "A", "status": "blocked"}]}),
        ),
        (Dialect::UpdatePlan, "update_plan", json!({"plan": [{"step": "A", "status": "pending"}]})),
        (Dialect::Tasks, "TaskCreate", json!({"subject": "A", "description": "B"})),
        (Dialect::Tasks, "TaskGet", json!({"taskId": "1"})),
        (Dialect::Tasks, "TaskList", json!({})),
        (Dialect::Tasks, "TaskUpdate", json!({"taskId": "1", "status": "completed"})),
    ]
}

fn sample(
    dialect: Dialect,
    tool: &str,
    arguments: &serde_json::Value,
) -> Result<Call, crate::dialect::Reply> {
    dialect.call(tool, arguments.to_string().as_bytes())
}

fn tag(number: u32, title: &str, status: Status) -> Tag {
    Tag { number: Number(number), title: title.into(), status }
}

/// Every rule that a change can break.
fn every_rule() -> Vec<Broken> {
    let other = || tag(2, "Other", Status::InProgress);
    let until = punchlist_model::Timestamp::UNIX_EPOCH;
    vec![
        Broken::NotFound { what: "9".into() },
        Broken::Ambiguous { what: "01".into(), candidates: vec![Number(1), Number(2)] },
        Broken::Superseded,
        Broken::EmptyTitle { entry: 0 },
        Broken::EmptyText { field: "outcome" },
        Broken::TooLong { field: "title", length: 501, most: 500 },
        Broken::Nul { field: "context" },
        Broken::TooManyOpen { open: 30, adding: 1, most: 30 },
        Broken::Illegal { to: Status::Completed, legal: vec![Status::Pending] },
        Broken::NotOpen,
        Broken::AlreadyInProgress { holder: other(), by: Some("model".into()), most: 1 },
        Broken::AlreadyInProgress { holder: other(), by: None, most: 3 },
        Broken::HeldByOther { holder: "another".into(), until },
        Broken::StaleAttempt {
            yours: punchlist_model::Attempt(1),
            current: punchlist_model::Attempt(2),
        },
        Broken::Cycle { path: vec![Number(1), Number(2), Number(1)] },
        Broken::ParentCycle { path: vec![Number(1), Number(1)] },
        Broken::OpenChild { child: other() },
        Broken::ParentCompleted { parent: tag(2, "Other", Status::Completed) },
        Broken::Unverified { demanded: Level::Checked, failed: false },
        Broken::Unverified { demanded: Level::Checked, failed: true },
        Broken::Unverified { demanded: Level::Approved, failed: false },
        Broken::NameTaken { name: "x".into() },
        Broken::Twice { entries: vec![0, 1] },
    ]
}

#[test]
fn every_refusal_is_an_error_in_the_tools_style_that_says_what_to_use() {
    for dialect in Dialect::ALL {
        let mut caller = Caller::new(Dialect::Manager);
        caller.ok("todo_manager", json!({"action": "add_multiple", "todos": ["One", "Other"]}));
        let plan = caller.whole();
        let (_, tool, arguments) = samples().into_iter().rfind(|(it, ..)| *it == dialect).unwrap();
        let call = sample(dialect, tool, &arguments).unwrap();
        let mut table = String::new();
        for broken in every_rule() {
            let unnamed = matches!(
                broken,
                Broken::NotFound { .. } | Broken::Ambiguous { .. } | Broken::TooManyOpen { .. }
            );
            let item = (!unnamed).then(|| tag(1, "One", Status::Cancelled));
            let problem = Problem { entry: 0, item, broken };
            let error = Error::Refused(Refusal { problems: vec![problem], entries: 1 });
            let reply = call.reply(Answer::Failed(&error, Some(&plan)));
            assert!(reply.is_error && !reply.changed);
            table.push_str(&reply.text);
            table.push('\n');
            // Without the plan, the reply names the item by title.
            assert!(call.reply(Answer::Failed(&error, None)).is_error);
        }
        for (id, name) in [(caller.id(1), "ID-1"), (caller.id(2), "ID-2")] {
            table = table.replace(&id, name);
        }
        insta::assert_snapshot!(format!("refusals_{dialect}"), table);
    }
}

/// A call of every dialect that completes the second item of two.
fn completions() -> Vec<(Dialect, &'static str, serde_json::Value)> {
    let list = |title: &str| {
        let entry =
            |name: &str, status: &str| json!({title: name, "status": status, "activeForm": "…"});
        json!([entry("One", "pending"), entry("Other", "completed")])
    };
    vec![
        (Dialect::Manager, "todo_manager", json!({"action": "complete_multiple", "ids": [2]})),
        (Dialect::Turn, "complete_todo", json!({"todoId": "2", "outcome": "x"})),
        (Dialect::TodoWrite, "TodoWrite", json!({"todos": list("content")})),
        (Dialect::WriteTodos, "write_todos", json!({"todos": list("description")})),
        (Dialect::UpdatePlan, "update_plan", json!({"plan": list("step")})),
        (Dialect::Tasks, "TaskUpdate", json!({"taskId": "2", "status": "completed"})),
    ]
}

/// Verbs run checks and give approvals. The refusal names the verb and the item's current status.
#[test]
fn what_cannot_be_completed_without_evidence_names_the_verb_that_gets_it_and_who_may_run_it() {
    let it = || ItemRef::Number(Number(2));
    let check = |origin| {
        let check = Check { command: "true".into(), covers: Vec::new(), origin };
        let patch = Patch { check: Some(Some(check)), ..Patch::default() };
        Op::Edit { item: it(), patch: Box::new(patch) }
    };
    let demand = |level| {
        let rules = Rules { demand: Some(level), ..Rules::default() };
        Op::Plan(Box::new(PlanPatch { rules: Some(rules), ..PlanPatch::default() }))
    };
    let failed = || {
        let run = CheckRun {
            command: "true".into(),
            exit_code: Some(1),
            output_digest: String::new(),
            covered: Vec::new(),
            worktree: String::new(),
        };
        let at = punchlist_model::Timestamp::UNIX_EPOCH;
        let evidence = Evidence { level: Level::Checked, at, by: "ann".into(), run: Some(run) };
        Op::Prove { item: it(), evidence: Box::new(evidence) }
    };
    let cases: [(&str, Vec<Op>); 7] = [
        ("a person's check", vec![check(Origin::Person)]),
        ("the same, begun", vec![check(Origin::Person), Op::Start(it())]),
        ("an agent's check", vec![check(Origin::Agent)]),
        ("no check", vec![demand(Level::Checked)]),
        ("a check that failed", vec![check(Origin::Person), Op::Start(it()), failed()]),
        ("a person's word", vec![demand(Level::Approved)]),
        (
            "a person's word, but the check failed",
            vec![demand(Level::Approved), check(Origin::Person), failed()],
        ),
    ];
    let mut table = String::new();
    for (what, ops) in cases {
        table.push_str(&format!("# {what}\n"));
        for (dialect, tool, arguments) in completions() {
            let mut caller = Caller::new(Dialect::Manager);
            caller.ok("todo_manager", json!({"action": "add_multiple", "todos": ["One", "Other"]}));
            caller.beside(ops.clone());
            caller.dialect = dialect;
            let text = caller.err(tool, arguments).replace(&caller.id(2), "ID-2");
            table.push_str(&format!("{dialect}: {text}\n"));
        }
        table.push('\n');
    }
    insta::assert_snapshot!("without_evidence", table);
}

#[test]
fn a_store_that_fails_is_told_in_the_tools_style() {
    let plan =
        PlanId(punchlist_model::IdSource::fixed(punchlist_model::Timestamp::UNIX_EPOCH, 1).nth(0));
    let errors = [
        Error::Revision {
            plan,
            expected: Revision(1),
            actual: Revision(3),
            since: Vec::<Entry>::new(),
        },
        Error::ReadOnly("a read-only file system".into()),
        Error::NewerSchema { found: 9, known: 1 },
        Error::Unusable { what: "the disk is full".into(), source: None },
        Error::Unconfirmed { what: "the change is made, but it may not last".into(), source: None },
        Error::Busy(format!(
            "another program has been using {}/punchlist.db",
            "/a/path".repeat(20)
        )),
        Error::NoPlan(plan),
    ];
    let mut table = String::new();
    for (dialect, tool, arguments) in samples() {
        let call = sample(dialect, tool, &arguments).unwrap();
        for error in &errors {
            let reply = call.reply(Answer::Failed(error, None));
            assert!(reply.is_error && !reply.changed);
            let alike = ["list_todo", "update_todo", "complete_todo", "TaskCreate", "TaskGet"];
            if !alike.contains(&tool) {
                table.push_str(&format!("{tool}: {}\n", reply.text));
            }
        }
    }
    insta::assert_snapshot!("store_errors", table.replace(&plan.to_string(), "ID"));
}

#[test]
fn the_wrong_kind_of_answer_is_an_error_and_no_panic() {
    let mut caller = Caller::new(Dialect::Manager);
    caller.ok("todo_manager", json!({"action": "add_multiple", "todos": ["A"]}));
    let plan = caller.whole();
    for (dialect, tool, arguments) in samples() {
        let call = sample(dialect, tool, &arguments).unwrap();
        let reply = call.reply(Answer::Read(plan.clone().into()));
        assert_eq!(reply.is_error, call.ops().is_some(), "{tool}");
    }
    let applied = caller.beside(Vec::new());
    for (dialect, tool, arguments) in [
        (Dialect::Turn, "list_todo", json!({})),
        (Dialect::Tasks, "TaskList", json!({})),
        (Dialect::Tasks, "TaskGet", json!({"taskId": "1"})),
        (Dialect::Tasks, "TaskCreate", json!({"subject": "A"})),
    ] {
        let call = sample(dialect, tool, &arguments).unwrap();
        assert!(call.reply(Answer::Changed(&applied)).is_error, "{tool}");
    }
}
