//! `todo_manager`, action by action.

use punchlist_model::store::PlanStore;
use punchlist_model::{ItemRef, Number, Op, Revision, Status};
use serde_json::{Value, json};

use super::{Caller, json, now};
use crate::dialect::Dialect;

const TOOL: &str = "todo_manager";

fn caller(titles: &[&str]) -> Caller {
    let mut caller = Caller::new(Dialect::Manager);
    if !titles.is_empty() {
        act(&mut caller, json!({"action": "add_multiple", "todos": titles}));
    }
    caller
}

/// Makes a call that must succeed; returns `output`.
fn act(caller: &mut Caller, arguments: Value) -> String {
    let value = json(&caller.ok(TOOL, arguments));
    assert_eq!(value["ok"], true);
    value["output"].as_str().unwrap().to_owned()
}

/// Makes a call that must fail; returns `error`.
fn fail(caller: &mut Caller, arguments: Value) -> String {
    let value = json(&caller.err(TOOL, arguments));
    assert_eq!(value["ok"], false);
    value["error"].as_str().unwrap().to_owned()
}

#[test]
fn list_gives_xml_escaped_with_positions_as_ids() {
    let mut caller = caller(&["Fix tests", "Say \"<b>&'\" to\u{1b}[2J ]]>"]);
    act(&mut caller, json!({"action": "start", "ids": [1]}));
    assert_eq!(
        caller.ok(TOOL, json!({"action": "list"})),
        json!({
            "ok": true,
            "output": "<todos><todo id=\"1\" status=\"doing\">Fix tests</todo><todo id=\"2\" \
                status=\"todo\">Say &quot;&lt;b&gt;&amp;&apos;&quot; to ]]&gt;</todo></todos>",
        })
        .to_string()
    );
}

#[test]
fn an_empty_list_is_an_empty_element() {
    assert_eq!(act(&mut caller(&[]), json!({"action": "list"})), "<todos></todos>");
}

#[test]
fn statuses_are_todo_doing_done_and_skipped() {
    let mut caller = caller(&["A", "B", "C", "D"]);
    act(&mut caller, json!({"action": "start", "ids": [2]}));
    act(&mut caller, json!({"action": "complete_multiple", "ids": [3]}));
    act(&mut caller, json!({"action": "skip", "ids": [4]}));
    let xml = act(&mut caller, json!({"action": "list"}));
    for (id, status) in [(1, "todo"), (2, "doing"), (3, "done"), (4, "skipped")] {
        assert!(xml.contains(&format!("<todo id=\"{id}\" status=\"{status}\">")), "{xml}");
    }
}

#[test]
fn add_multiple_appends() {
    let mut caller = caller(&["A"]);
    let todos = json!([{"content": "B"}, {"content": "C"}, {"content": "D"}]);
    let output = act(&mut caller, json!({"action": "add_multiple", "todos": todos}));
    assert_eq!(output, "Added 3 TODOs");
    assert_eq!(caller.list(), ["#1 pending A", "#2 pending B", "#3 pending C", "#4 pending D"]);
}

#[test]
fn add_after_position_inserts_and_shifts_and_0_is_the_front() {
    let mut caller = caller(&["A", "B"]);
    let todos = json!([{"content": "X"}, {"content": "Y"}]);
    let output =
        act(&mut caller, json!({"action": "add_after_position", "position": 1, "todos": todos}));
    assert_eq!(output, "Added 2 TODOs after position 1");
    assert_eq!(caller.list(), ["#1 pending A", "#3 pending X", "#4 pending Y", "#2 pending B"]);
    let front = json!({"action": "add_after_position", "position": 0, "todos": todos});
    assert_eq!(act(&mut caller, front), "Added 2 TODOs at the front");
    assert_eq!(caller.list()[..3], ["#5 pending X", "#6 pending Y", "#1 pending A"]);
    let xml = act(&mut caller, json!({"action": "list"}));
    assert!(xml.contains("<todo id=\"6\" status=\"todo\">B</todo>"), "{xml}");
}

#[test]
fn add_after_a_position_that_is_not_there_is_refused() {
    let mut caller = caller(&["A"]);
    let todos = json!([{"content": "X"}]);
    let error =
        fail(&mut caller, json!({"action": "add_after_position", "position": 7, "todos": todos}));
    assert_eq!(error, "entry 1: TODO at position 7 not found. Use list to see the ids.");
}

#[test]
fn start_takes_one_id_and_a_second_start_is_refused_naming_the_one_that_holds_it() {
    let mut caller = caller(&["A", "B"]);
    assert_eq!(act(&mut caller, json!({"action": "start", "ids": [2]})), "Started TODO: 2");
    let error = fail(&mut caller, json!({"action": "start", "ids": [1]}));
    assert_eq!(
        error,
        "TODO 1 \"A\" cannot be started: TODO 2 \"B\" is doing. Use complete_multiple or skip on \
         2 first."
    );
    let error = fail(&mut caller, json!({"action": "start", "ids": [1, 2]}));
    assert_eq!(error, "start takes exactly one id, not 2: call it for each");
}

#[test]
fn next_gives_the_item_and_sets_it_to_doing_and_gives_it_again_until_it_is_done() {
    let mut caller = caller(&["A <1>", "B"]);
    let first = "<todo id=\"1\" status=\"doing\">A &lt;1&gt;</todo>";
    assert_eq!(act(&mut caller, json!({"action": "next"})), first);
    let again = caller.call(TOOL, json!({"action": "next"}));
    assert_eq!((json(&again.text)["output"].as_str(), again.changed), (Some(first), false));
    act(&mut caller, json!({"action": "complete_multiple", "ids": [1]}));
    let second = "<todo id=\"2\" status=\"doing\">B</todo>";
    assert_eq!(act(&mut caller, json!({"action": "next"})), second);
}

#[test]
fn next_says_why_there_is_none() {
    let mut caller = caller(&[]);
    let next = json!({"action": "next"});
    assert_eq!(act(&mut caller, next.clone()), "The list is empty: add_multiple first");
    act(&mut caller, json!({"action": "add_multiple", "todos": ["A"]}));
    let item = ItemRef::Number(Number(1));
    caller.beside(vec![Op::Wait { item: item.clone(), on: "legal".into() }]);
    assert_eq!(
        act(&mut caller, next.clone()),
        "No TODO is ready: 1 open, all waiting, blocked or with somebody else"
    );
    caller.beside(vec![Op::Cancel { item, reason: None }]);
    assert_eq!(act(&mut caller, next), "Nothing is left: every TODO is done or skipped");
}

#[test]
fn complete_multiple_marks_done_and_positions_stay() {
    let mut caller = caller(&["A", "B", "C"]);
    let output = act(&mut caller, json!({"action": "complete_multiple", "ids": [1, 2, 1]}));
    assert_eq!(output, "Completed TODOs: 1, 2");
    assert_eq!(caller.list(), ["#1 completed A", "#2 completed B", "#3 pending C"]);
}

#[test]
fn complete_multiple_with_one_bad_id_changes_nothing_and_names_every_bad_one() {
    let mut caller = caller(&["A", "B"]);
    act(&mut caller, json!({"action": "complete_multiple", "ids": [2]}));
    assert_eq!(
        fail(&mut caller, json!({"action": "complete_multiple", "ids": [1, 2, 8, 9]})),
        "TODO 2 \"B\" is already done\nTODO at position 8 not found\nTODO at position 9 not found. \
         Use add_multiple for further work. Use list to see the ids."
    );
}

#[test]
fn skip_takes_exactly_one_id_and_keeps_the_item_with_its_reason() {
    let mut caller = caller(&["A", "B", "C"]);
    let skip = json!({"action": "skip", "ids": [2], "reason": "out of scope"});
    assert_eq!(act(&mut caller, skip), "Skipped TODO: 2");
    assert_eq!(caller.list(), ["#1 pending A", "#2 cancelled B", "#3 pending C"]);
    assert_eq!(caller.item(2).outcome.as_deref(), Some("out of scope"));
    let error = fail(&mut caller, json!({"action": "skip", "ids": [1, 3]}));
    assert_eq!(error, "skip takes exactly one id, not 2: call it for each");
    let error = fail(&mut caller, json!({"action": "skip_multiple", "ids": [1, 3]}));
    assert_eq!(error, "skip takes exactly one id, not 2: call it for each");
    assert_eq!(act(&mut caller, json!({"action": "skip_multiple", "ids": [3]})), "Skipped TODO: 3");
}

#[test]
fn skip_warns_of_what_depends_on_it_by_position() {
    let mut caller = caller(&["A", "B"]);
    let patch = punchlist_model::Patch {
        after: vec![ItemRef::Number(Number(1))],
        ..punchlist_model::Patch::default()
    };
    caller.beside(vec![Op::Edit { item: ItemRef::Number(Number(2)), patch: Box::new(patch) }]);
    assert_eq!(
        json(&caller.ok(TOOL, json!({"action": "skip", "ids": [1]}))),
        json!({
            "ok": true,
            "output": "Skipped TODO: 1",
            "warnings": ["Depends on TODO 1 \"A\", which was skipped: TODO 2 \"B\""],
        })
    );
}

#[test]
fn replace_all_makes_every_entry_todo_keeps_equal_titles_and_warns_of_what_was_open() {
    let mut caller = caller(&["A", "B", "C"]);
    act(&mut caller, json!({"action": "complete_multiple", "ids": [1, 2]}));
    let before = caller.item(1);
    let todos = json!([{"content": "X"}, {"content": "A"}]);
    assert_eq!(
        caller.ok(TOOL, json!({"action": "replace_all", "todos": todos})),
        r#"{"ok":true,"output":"Replaced all TODOs with 2 new items","warnings":["Dropped while open: TODO \"C\""]}"#
    );
    assert_eq!(caller.list(), ["#4 pending X", "#1 pending A"]);
    let after = caller.item(1);
    assert_eq!((after.id, after.created_at), (before.id, before.created_at));
    assert!(caller.item(2).is_superseded());
}

#[test]
fn replace_all_with_nothing_clears_the_list_and_deletes_nothing() {
    let mut caller = caller(&["A"]);
    act(&mut caller, json!({"action": "complete_multiple", "ids": [1]}));
    let reply = caller.ok(TOOL, json!({"action": "replace_all", "todos": []}));
    assert_eq!(reply, r#"{"ok":true,"output":"Replaced all TODOs with 0 new items"}"#);
    assert!(caller.list().is_empty());
    assert_eq!(caller.item(1).status, Status::Completed);
}

#[test]
fn names_with_todos_or_todo_appended_are_accepted() {
    let mut caller = caller(&["A", "B", "C", "D"]);
    let todos = json!([{"content": "X"}]);
    for (action, output) in [
        ("add_multiple_todos", "Added 1 TODOs"),
        ("add_after_position_todo", "Added 1 TODOs after position 1"),
        ("start_todo", "Started TODO: 1"),
        ("next_todo", "<todo id=\"1\" status=\"doing\">A</todo>"),
        ("skip_todo", "Skipped TODO: 1"),
        ("replace_all_todos", "Replaced all TODOs with 1 new items"),
        ("complete_multiple_todos", "Completed TODOs: 1"),
        ("list_todos", "<todos><todo id=\"1\" status=\"done\">X</todo></todos>"),
    ] {
        let arguments = json!({"action": action, "todos": todos, "ids": [1], "position": 1});
        assert_eq!(act(&mut caller, arguments), output, "{action}");
    }
}

#[test]
fn ids_may_be_strings_a_single_number_or_a_field_called_id() {
    let mut caller = caller(&["A", "B", "C", "D"]);
    for (arguments, output) in [
        (json!({"action": "complete_multiple", "ids": ["1"]}), "Completed TODOs: 1"),
        (json!({"action": "complete_multiple", "ids": 2.0}), "Completed TODOs: 2"),
        (json!({"action": "skip_todo", "id": 3}), "Skipped TODO: 3"),
        (json!({"action": "skip_todo", "id": "4"}), "Skipped TODO: 4"),
    ] {
        assert_eq!(act(&mut caller, arguments), output);
    }
}

#[test]
fn at_most_30_may_be_open_and_done_ones_do_not_count() {
    let titles: Vec<String> = (1..=30).map(|n| format!("T{n}")).collect();
    let mut caller = caller(&[]);
    act(&mut caller, json!({"action": "add_multiple", "todos": titles}));
    let more = json!({"action": "add_multiple", "todos": ["X", "Y"]});
    assert_eq!(
        fail(&mut caller, more.clone()),
        "That would make 32 open TODOs; at most 30 may be open at once. Use complete_multiple or \
         skip first."
    );
    act(&mut caller, json!({"action": "complete_multiple", "ids": [1, 2]}));
    assert_eq!(act(&mut caller, more), "Added 2 TODOs");
}

#[test]
fn an_abort_puts_what_is_doing_back() {
    let mut caller = caller(&["A"]);
    act(&mut caller, json!({"action": "next"}));
    caller.beside(vec![Op::Release(ItemRef::Number(Number(1)))]);
    let xml = act(&mut caller, json!({"action": "list"}));
    assert_eq!(xml, "<todos><todo id=\"1\" status=\"todo\">A</todo></todos>");
}

#[test]
fn a_todo_that_requires_verification_stays_doing_until_verified() {
    let mut caller = caller(&["A"]);
    act(&mut caller, json!({"action": "next"}));
    let check = punchlist_model::Check {
        command: "true".into(),
        covers: Vec::new(),
        origin: punchlist_model::Origin::Person,
    };
    let patch =
        punchlist_model::Patch { check: Some(Some(check)), ..punchlist_model::Patch::default() };
    caller.beside(vec![Op::Edit { item: ItemRef::Number(Number(1)), patch: Box::new(patch) }]);
    assert_eq!(
        fail(&mut caller, json!({"action": "complete_multiple", "ids": [1]})),
        "TODO 1 \"A\" cannot be completed: it needs checked evidence and has none. It stays doing \
         until it is verified: run `punchlist verify 1`. Then use complete_multiple again."
    );
    assert_eq!(caller.item(1).status, Status::InProgress);
}

#[test]
fn a_batch_is_one_change_and_a_list_is_none() {
    let mut caller = caller(&["A", "B"]);
    let reply = caller.call(TOOL, json!({"action": "complete_multiple", "ids": [1, 2]}));
    assert!(reply.changed);
    assert!(!caller.call(TOOL, json!({"action": "list"})).changed);
    let journal = now(caller.store.journal(caller.plan, Revision(0), 10)).unwrap();
    assert_eq!(journal.len(), 2);
}

#[test]
fn bad_arguments_are_named_with_what_is_legal() {
    let mut caller = caller(&["A"]);
    let legal = "\"list\" or \"add_multiple\" or \"add_after_position\" or \"start\" or \"next\" \
                 or \"complete_multiple\" or \"skip\" or \"replace_all\"";
    let like = "`todos` is a list of {\"content\": \"…\"}";
    for (arguments, error) in [
        (json!({}), format!("action is required: {legal}")),
        (json!({"action": 3}), "action must be a string, not a number".to_owned()),
        (json!({"action": "drop"}), format!("action must be {legal}, not \"drop\"")),
        (json!({"action": "add_multiple"}), format!("Todos required: {like}")),
        (
            json!({"action": "add_multiple", "todos": []}),
            format!("Todos required: {like} with at least one entry"),
        ),
        (json!({"action": "replace_all"}), format!("Todos required: {like}")),
        (
            json!({"action": "add_multiple", "todos": "A"}),
            "todos must be an array, not a string".to_owned(),
        ),
        (
            json!({"action": "add_multiple", "todos": [{"content": "ok"}, 5, {}, {"content": " "}, {"content": []}]}),
            "entry 2: must be an object, not a number\nentry 3: content is required: a string that \
             is not empty\nentry 4: content must not be empty\nentry 5: content must be a string, \
             not an array"
                .to_owned(),
        ),
        (
            json!({"action": "add_multiple", "todos": [{"content": " "}, "ok", "x".repeat(501), 5]}),
            "entry 1: content must not be empty\nentry 3: the title has 501 characters; at most 500 are \
             allowed\nentry 4: must be an object, not a number. Shorten it, or use several TODOs."
                .to_owned(),
        ),
        (
            json!({"action": "replace_all", "todos": [{"content": " "}, "ok", "x".repeat(501)]}),
            "entry 1: content must not be empty\nentry 3: the title has 501 characters; at most 500 are \
             allowed. Shorten it, or use several TODOs."
                .to_owned(),
        ),
        (
            json!({"action": "add_multiple", "todos": ["ok", " "]}),
            "entry 2: the title is empty. Fix it and send all entries again.".to_owned(),
        ),
        (
            json!({"action": "add_after_position", "todos": ["X"]}),
            "Position required: `position` is the id to insert after, 0 for the front".to_owned(),
        ),
        (
            json!({"action": "add_after_position", "todos": ["X"], "position": -1}),
            "position must be a whole number from 0, not -1".to_owned(),
        ),
        (
            json!({"action": "complete_multiple"}),
            "IDs required: `ids` is a list of positions such as [1, 2]".to_owned(),
        ),
        (
            json!({"action": "complete_multiple", "ids": []}),
            "IDs required: `ids` is empty; give positions such as [1, 2]".to_owned(),
        ),
        (
            json!({"action": "complete_multiple", "ids": [0, "x", 1.5, null]}),
            "ids must be positions from 1, not 0\nids must be positions from 1, not \"x\"\nids \
             must be positions from 1, not 1.5\nids must be positions from 1, not null"
                .to_owned(),
        ),
        (
            json!({"action": "start"}),
            "IDs required: `ids` is a list of positions such as [1, 2]".to_owned(),
        ),
        (
            json!({"action": "skip", "ids": [1], "reason": 5}),
            "reason must be a string, not a number".to_owned(),
        ),
        (
            json!({"action": "add_multiple", "todos": [{"content": "a\u{0}b"}]}),
            "entry 1: the title contains a NUL character. Fix it and send all entries again."
                .to_owned(),
        ),
    ] {
        assert_eq!(fail(&mut caller, arguments.clone()), error, "{arguments}");
    }
}
