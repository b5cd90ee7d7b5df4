//! The five tools of `turn`.

use punchlist_model::{Holder, ItemRef, NewItem, Number, Op, Patch, Status};
use serde_json::{Value, json};

use super::{Caller, foreign, json};
use crate::dialect::Dialect;

fn caller(titles: &[&str]) -> Caller {
    let mut caller = Caller::new(Dialect::Turn);
    if !titles.is_empty() {
        create(&mut caller, titles.iter().map(|title| json!({"title": title})).collect());
    }
    caller
}

fn create(caller: &mut Caller, items: Vec<Value>) -> Value {
    json(&caller.ok("create_todo", json!({"items": items})))
}

fn fail(caller: &mut Caller, tool: &str, arguments: Value) -> String {
    let text = caller.err(tool, arguments);
    let as_json = serde_json::from_str::<Value>(&text);
    assert!(as_json.is_err(), "a client would take it for a result: {text}");
    text
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn create_todo_takes_a_batch_and_answers_with_exactly_the_seeds_keys() {
    let mut caller = caller(&[]);
    let text = caller.ok("create_todo", json!({"items": [{"title": "A"}, {"title": "B"}]}));
    let (a, b) = (caller.id(1), caller.id(2));
    assert_eq!(
        text,
        format!(
            r#"{{"created":[{{"id":"{a}","title":"A","order":1}},{{"id":"{b}","title":"B","order":2}}],"totalPending":2}}"#
        )
    );
    assert_eq!(caller.whole().revision.0, 1);
}

#[test]
fn order_inserts_at_that_position_and_shifts() {
    let mut caller = caller(&["A", "B"]);
    let value = create(
        &mut caller,
        vec![
            json!({"title": "X", "order": 1}),
            json!({"title": "Y", "order": "2"}),
            json!({"title": "Z", "order": 99}),
            json!({"title": "W", "order": 1}),
        ],
    );
    // Items are added in the given order; the reply has their final positions.
    let orders: Vec<_> =
        value["created"].as_array().unwrap().iter().map(|it| &it["order"]).collect();
    assert_eq!(orders, [2, 3, 6, 1]);
    let titles: Vec<_> = caller.whole().listed().iter().map(|it| it.title.clone()).collect();
    assert_eq!(titles, ["W", "X", "Y", "A", "B", "Z"]);
}

#[test]
fn total_pending_does_not_count_what_is_in_progress() {
    let mut caller = caller(&["A", "B"]);
    caller.ok("next_todo", json!({}));
    assert_eq!(create(&mut caller, vec![json!({"title": "C"})])["totalPending"], 2);
}

#[test]
fn context_criteria_and_agent_type_are_kept() {
    let mut caller = caller(&[]);
    let item = json!({
        "title": "A", "context": "c", "completionCriteria": "d", "agentType": "coder",
    });
    create(&mut caller, vec![item, json!({"title": "B", "agentType": ""})]);
    let item = caller.item(1);
    assert_eq!((item.context.as_str(), item.completion_criteria.as_str()), ("c", "d"));
    assert_eq!(item.agent_type.as_deref(), Some("coder"));
    assert_eq!(caller.item(2).agent_type, None);
}

#[test]
fn depends_on_and_parent_are_each_an_id_or_the_nth_entry_of_this_batch() {
    let mut caller = caller(&["Old"]);
    let old = caller.id(1);
    create(
        &mut caller,
        vec![
            json!({"title": "A", "dependsOn": [old, 2], "parent": "3"}),
            json!({"title": "B", "dependsOn": "3"}),
            json!({"title": "C", "parent": &old}),
        ],
    );
    let numbers = |n| caller.item(n).depends_on.iter().map(|it| it.0).collect::<Vec<_>>();
    assert_eq!((numbers(2), numbers(3), numbers(4)), (vec![1, 3], vec![4], vec![]));
    assert_eq!((caller.item(2).parent, caller.item(4).parent), (Some(Number(4)), Some(Number(1))));
    let value = json(&caller.ok("list_todo", json!({})));
    assert_eq!(value["items"][1]["dependsOn"], json!([old, caller.id(3)]));
    assert_eq!(value["items"][1]["parent"], json!(caller.id(4)));
}

#[test]
fn links_that_cannot_be_are_refused_in_the_words_of_the_batch() {
    let mut caller = caller(&["Old"]);
    for (items, error) in [
        (
            json!([{"title": "A", "dependsOn": [3]}, {"title": "B", "parent": 0}]),
            "entry 1: dependsOn must be an id from list_todo, or an entry of this call from 1 to \
             2, not 3\nentry 2: parent must be an id from list_todo, or an entry of this call from \
             1 to 2, not 0"
                .to_owned(),
        ),
        (
            json!([{"title": "A", "dependsOn": [foreign()]}]),
            format!("entry 1: item {} not found. list_todo shows the ids of this list.", foreign()),
        ),
        (
            json!([{"title": "A", "dependsOn": ["2"]}, {"title": "B", "dependsOn": ["1"]}]),
            "entry 1 \"A\" would depend on itself: entry 1 → entry 2 → entry 1. Leave one of them \
             out of dependsOn."
                .to_owned(),
        ),
        (
            json!([{"title": "A", "parent": 1}]),
            "entry 1 \"A\" would be under itself: entry 1 → entry 1. Use create_todo with another \
             parent, or none."
                .to_owned(),
        ),
        (
            json!([{"title": "A", "dependsOn": {"id": 1}, "parent": true}]),
            "entry 1: dependsOn must be an array, not an object\nentry 1: parent must be an id \
             from list_todo, not a boolean"
                .to_owned(),
        ),
    ] {
        assert_eq!(fail(&mut caller, "create_todo", json!({"items": items})), error);
    }
}

#[test]
fn list_todo_gives_exactly_the_seeds_keys_and_ours_only_when_set() {
    let mut caller = caller(&["A", "B"]);
    caller.ok("next_todo", json!({}));
    let text = caller.ok("list_todo", json!({}));
    let (a, b) = (caller.id(1), caller.id(2));
    assert_eq!(
        text,
        format!(
            concat!(
                r#"{{"items":[{{"id":"{}","title":"A","context":"","completionCriteria":"","#,
                r#""agentType":null,"status":"in_progress","priority":0,"outcome":null,"#,
                r#""createdAt":"2027-01-15T08:00:01.001Z","startedAt":"2027-01-15T08:00:02.002Z","#,
                r#""completedAt":null}},{{"id":"{}","title":"B","context":"","#,
                r#""completionCriteria":"","agentType":null,"status":"pending","priority":1,"#,
                r#""outcome":null,"createdAt":"2027-01-15T08:00:01.001Z","startedAt":null,"#,
                r#""completedAt":null}}],"summary":{{"total":2,"pending":1,"inProgress":1,"#,
                r#""completed":0,"cancelled":0}}}}"#
            ),
            a, b
        )
    );
    caller.ok("update_todo", json!({"todoId": b, "waitingOn": "legal"}));
    let value = json(&caller.ok("list_todo", json!({"status": "pending"})));
    assert_eq!(value["items"][0]["waitingOn"], "legal");
}

#[test]
fn priority_is_position_minus_one_unless_set() {
    let mut caller = caller(&["A", "B"]);
    let patch = Patch { priority: Some(Some(7)), ..Patch::default() };
    caller.beside(vec![Op::Edit { item: ItemRef::Number(Number(1)), patch: Box::new(patch) }]);
    let value = json(&caller.ok("list_todo", json!({})));
    assert_eq!(
        (&value["items"][0]["priority"], &value["items"][1]["priority"]),
        (&json!(7), &json!(1))
    );
}

#[test]
fn list_todo_filters_by_status_and_by_default_gives_what_remains() {
    let mut caller = caller(&["Pending", "Running", "Done", "Dropped"]);
    let (running, done, dropped) = (caller.id(2), caller.id(3), caller.id(4));
    caller.ok("update_todo", json!({"todoId": running, "status": "in_progress"}));
    caller.ok("complete_todo", json!({"todoId": done, "outcome": "ok"}));
    caller.ok("complete_todo", json!({"todoId": dropped, "outcome": "no", "status": "cancelled"}));
    let gone = NewItem::titled("Superseded");
    caller.beside(vec![Op::Add(Box::new(gone)), Op::Supersede(ItemRef::Batch(1))]);
    for (arguments, titles) in [
        (json!({}), vec!["Pending", "Running"]),
        (json!({"status": null}), vec!["Pending", "Running"]),
        (json!({"status": "pending"}), vec!["Pending"]),
        (json!({"status": "in_progress"}), vec!["Running"]),
        (json!({"status": "completed"}), vec!["Done"]),
        (json!({"status": "cancelled"}), vec!["Dropped"]),
        (json!({"status": "all"}), vec!["Pending", "Running", "Done", "Dropped"]),
    ] {
        let value = json(&caller.ok("list_todo", arguments.clone()));
        let items = value["items"].as_array().unwrap();
        assert_eq!(items.iter().map(|it| &it["title"]).collect::<Vec<_>>(), titles, "{arguments}");
        assert_eq!(
            value["summary"],
            json!({"total": 4, "pending": 1, "inProgress": 1, "completed": 1, "cancelled": 1})
        );
    }
    assert_eq!(json(&caller.raw("list_todo", b"").text)["items"].as_array().unwrap().len(), 2);
}

#[test]
fn complete_todo_answers_with_exactly_the_seeds_keys_and_what_remains() {
    let mut caller = caller(&["A", "B"]);
    let (a, b) = (caller.id(1), caller.id(2));
    assert_eq!(
        caller.ok("complete_todo", json!({"todoId": a, "outcome": "built"})),
        format!(
            r#"{{"id":"{a}","title":"A","status":"completed","outcome":"built","completedAt":"2027-01-15T08:00:02.002Z","remaining":1}}"#
        )
    );
    let text =
        caller.ok("complete_todo", json!({"todoId": b, "outcome": "n/a", "status": "cancelled"}));
    let value = json(&text);
    assert_eq!((&value["status"], &value["remaining"]), (&json!("cancelled"), &json!(0)));
    assert_eq!(caller.item(2).outcome.as_deref(), Some("n/a"));
}

#[test]
fn complete_todo_requires_an_outcome() {
    let mut caller = caller(&["A"]);
    let id = caller.id(1);
    for (arguments, error) in [
        (json!({"todoId": id}), "outcome is required: a string that is not empty"),
        (json!({"todoId": id, "outcome": " "}), "outcome must not be empty"),
        (json!({"todoId": id, "outcome": 1}), "outcome must be a string, not a number"),
    ] {
        assert_eq!(fail(&mut caller, "complete_todo", arguments), error);
    }
}

#[test]
fn a_todo_id_may_be_an_id_the_beginning_of_one_or_the_number_that_reminders_show() {
    let mut caller = caller(&["A", "B", "C", "D", "E"]);
    let ids = [json!(caller.id(1)), json!(2), json!("3"), json!("#4"), json!(caller.id(5)[..35])];
    for (n, id) in (1..).zip(ids) {
        caller.ok("complete_todo", json!({"todoId": id, "outcome": "ok"}));
        assert_eq!(caller.item(n).status, Status::Completed);
    }
}

#[test]
fn a_foreign_id_is_not_found() {
    let mut caller = caller(&["A"]);
    let id = foreign();
    for tool in ["complete_todo", "update_todo"] {
        let arguments = |id: Value| json!({"todoId": id, "outcome": "ok", "title": "X"});
        assert_eq!(
            fail(&mut caller, tool, arguments(json!(id))),
            format!("item {id} not found. list_todo shows the ids of this list.")
        );
        for (id, shown) in
            [(json!("A"), "item a"), (json!(9), "item 9"), (json!("%"), "todoId \"%\"")]
        {
            let error = fail(&mut caller, tool, arguments(id));
            assert!(error.starts_with(&format!("{shown} not found")), "{error}");
        }
    }
}

#[test]
fn update_todo_starts_puts_back_waits_and_changes_texts() {
    let mut caller = caller(&["A", "B"]);
    let (a, b) = (caller.id(1), caller.id(2));
    assert_eq!(
        caller.ok("update_todo", json!({"todoId": a, "status": "in_progress"})),
        format!(r#"{{"id":"{a}","title":"A","status":"in_progress","remaining":2}}"#)
    );
    assert_eq!(
        caller.ok("update_todo", json!({"todoId": a, "status": "pending", "waitingOn": "legal"})),
        format!(
            r#"{{"id":"{a}","title":"A","status":"pending","waitingOn":"legal","remaining":2}}"#
        )
    );
    // A waiting item does not block the others.
    assert_eq!(json(&caller.ok("next_todo", json!({})))["item"]["id"], json!(b));
    assert_eq!(
        caller.ok("update_todo", json!({"todoId": a, "waitingOn": ""})),
        format!(r#"{{"id":"{a}","title":"A","status":"pending","remaining":2}}"#)
    );
    let change = json!({"todoId": b, "title": "B2", "context": "why", "waitingOn": "a reply"});
    caller.ok("update_todo", change);
    let item = caller.item(2);
    assert_eq!((item.title.as_str(), item.context.as_str()), ("B2", "why"));
    assert_eq!(item.waiting_on.as_deref(), Some("a reply"));
}

#[test]
fn update_todo_needs_something_to_change_and_leaves_finishing_to_complete_todo() {
    let mut caller = caller(&["A"]);
    let id = caller.id(1);
    for (arguments, error) in [
        (
            json!({"todoId": id}),
            "nothing to change: give at least one of status, waitingOn, title, context, dependsOn",
        ),
        (json!({"status": "pending"}), "todoId is required: a string that is not empty"),
        (json!({"todoId": id, "title": ""}), "title must not be empty"),
        (
            json!({"todoId": id, "status": "completed"}),
            "status must be \"in_progress\" or \"pending\": use complete_todo for \"completed\"",
        ),
        (
            json!({"todoId": id, "status": "doing"}),
            "status must be \"in_progress\" or \"pending\", not \"doing\"",
        ),
    ] {
        assert_eq!(fail(&mut caller, "update_todo", arguments), error);
    }
}

#[test]
fn next_todo_claims_and_returns_the_next_ready_item() {
    let mut caller = caller(&[]);
    create(
        &mut caller,
        vec![
            json!({"title": "Last", "dependsOn": ["2"]}),
            json!({"title": "First", "context": "here", "agentType": "coder"}),
        ],
    );
    let value = json(&caller.ok("next_todo", json!({})));
    assert_eq!(keys(&value), ["item", "remaining"]);
    assert_eq!(
        keys(&value["item"]),
        [
            "id",
            "title",
            "context",
            "completionCriteria",
            "agentType",
            "status",
            "priority",
            "outcome",
            "createdAt",
            "startedAt",
            "completedAt",
        ]
    );
    assert_eq!((&value["item"]["title"], &value["remaining"]), (&json!("First"), &json!(2)));
    assert_eq!(value["item"]["status"], "in_progress");
    let claim = caller.item(2).claim.unwrap();
    assert_eq!(claim.holder, Holder::named("model"));
    // The second call returns the same item and changes nothing.
    let again = caller.call("next_todo", json!({}));
    assert_eq!((json(&again.text), again.changed), (value, false));
    // Nothing is ready for another worker: the rest is blocked.
    caller.who = "another";
    assert_eq!(caller.ok("next_todo", json!({})), r#"{"item":null,"remaining":2}"#);
}

#[test]
fn a_refusal_names_the_tool_and_the_item_to_use() {
    let mut caller = caller(&["A", "B", "C"]);
    let (a, b, c) = (caller.id(1), caller.id(2), caller.id(3));
    caller.ok("next_todo", json!({}));
    caller.ok("complete_todo", json!({"todoId": c, "outcome": "ok"}));
    for (tool, arguments, error) in [
        (
            "update_todo",
            json!({"todoId": b, "status": "in_progress"}),
            format!(
                "item {b} \"B\" cannot be started: item {a} \"A\" is in_progress. First use \
                 complete_todo on {a}, or update_todo on it with status pending."
            ),
        ),
        (
            "complete_todo",
            json!({"todoId": c, "outcome": "again"}),
            format!("item {c} \"C\" is already completed. Use create_todo for further work."),
        ),
        (
            "update_todo",
            json!({"todoId": c, "status": "in_progress"}),
            format!(
                "item {c} \"C\" is completed and stays so: it cannot become in_progress. Use \
                 create_todo for further work."
            ),
        ),
        (
            "update_todo",
            json!({"todoId": c, "waitingOn": "legal"}),
            format!(
                "item {c} \"C\" is completed: only what is open can wait. Use create_todo for \
                 further work."
            ),
        ),
        (
            "update_todo",
            json!({"todoId": b, "status": "pending"}),
            format!(
                "item {b} \"B\" is already pending. Use next_todo or update_todo with status \
                 in_progress to start it."
            ),
        ),
        (
            "update_todo",
            json!({"todoId": a, "status": "in_progress"}),
            format!(
                "item {a} \"A\" is already in_progress. Use complete_todo when it is finished."
            ),
        ),
    ] {
        assert_eq!(fail(&mut caller, tool, arguments), error);
    }
    caller.who = "another";
    assert_eq!(
        fail(&mut caller, "complete_todo", json!({"todoId": a, "outcome": "ok"})),
        format!(
            "item {a} \"A\" is held by model until 2027-01-15T08:15:03Z. Use next_todo to take \
             another."
        )
    );
}

#[test]
fn a_parent_is_not_completed_while_a_child_is_open() {
    let mut caller = caller(&[]);
    create(&mut caller, vec![json!({"title": "P"}), json!({"title": "C", "parent": "1"})]);
    let (parent, child) = (caller.id(1), caller.id(2));
    assert_eq!(
        fail(&mut caller, "complete_todo", json!({"todoId": parent, "outcome": "ok"})),
        format!(
            "item {parent} \"P\" cannot be completed: item {child} \"C\" under it is open. Use \
             complete_todo on {child} first."
        )
    );
}

#[test]
fn warnings_are_a_list_in_json_and_only_with_cause() {
    let mut caller = caller(&[]);
    create(&mut caller, vec![json!({"title": "A"}), json!({"title": "B", "dependsOn": ["1"]})]);
    let (a, b) = (caller.id(1), caller.id(2));
    let value = json(
        &caller.ok("complete_todo", json!({"todoId": a, "outcome": "no", "status": "cancelled"})),
    );
    assert_eq!(
        value["warnings"],
        json!([format!("Depends on item {a} \"A\", which was cancelled: item {b} \"B\"")])
    );
    let start = json!({"todoId": b, "status": "in_progress"});
    let text = caller.err("update_todo", start.clone());
    let refused = format!(
        "item {b} \"B\" cannot be started: it depends on item {a} \"A\", which is cancelled. Use \
         update_todo with a dependsOn that leaves out {a}, which will not be done."
    );
    assert_eq!(text, refused);
    let value = json(&caller.ok("update_todo", json!({"todoId": b, "dependsOn": []})));
    assert_eq!(value.get("warnings"), None);
    caller.ok("update_todo", start);
}

#[test]
fn what_an_item_depends_on_can_be_said_anew() {
    let mut caller = caller(&[]);
    create(&mut caller, ["A", "B", "C"].map(|title| json!({"title": title})).to_vec());
    let ids = [1, 2, 3].map(|n| caller.id(n));
    caller.ok("update_todo", json!({"todoId": ids[2], "dependsOn": [ids[0]]}));
    caller.ok("update_todo", json!({"todoId": ids[2], "dependsOn": [ids[1]]}));
    let plan = caller.whole();
    let on: Vec<u32> = plan.get(Number(3)).unwrap().depends_on.iter().map(|it| it.0).collect();
    assert_eq!(on, [2]);
    let text = caller.err("update_todo", json!({"todoId": ids[1], "dependsOn": [ids[2]]}));
    assert!(text.contains("would depend on itself"), "{text}");
    let text = caller.err("update_todo", json!({"todoId": ids[1], "dependsOn": ["1"]}));
    assert!(text.contains("must be an id from list_todo"), "{text}");
}

#[test]
fn a_batch_with_one_bad_entry_changes_nothing_and_the_error_names_every_bad_entry() {
    let mut caller = caller(&[]);
    let items = json!([
        {"title": "A"}, {}, "x", {"title": 4}, {"title": "B", "order": 0}, {"title": "", "context": []},
    ]);
    assert_eq!(
        fail(&mut caller, "create_todo", json!({"items": items})),
        "entry 2: title is required: a string that is not empty\nentry 3: must be an object, not a \
         string\nentry 4: title must be a string, not a number\nentry 5: order must be a whole \
         number from 1, not 0\nentry 6: context must be a string, not an array\nentry 6: title \
         must not be empty"
    );
    let long = "é".repeat(501);
    let items = json!([{"title": "A"}, {"title": long}, {"title": "C\u{0}"}]);
    assert_eq!(
        fail(&mut caller, "create_todo", json!({"items": items})),
        "entry 2: the title has 501 characters; at most 500 are allowed\nentry 3: the title \
         contains a NUL character. Shorten it. Fix it and make the whole call again."
    );
}

#[test]
fn bad_entries_of_different_kinds_are_all_named() {
    let mut caller = caller(&[]);
    let (long, nul) = ("x".repeat(501), "C\u{0}");
    let items = json!([
        {"title": " "}, {"title": "ok"}, {"title": long}, 3,
        {"title": nul, "dependsOn": [6]}, {"title": 7, "dependsOn": [5]},
    ]);
    assert_eq!(
        fail(&mut caller, "create_todo", json!({"items": items})),
        "entry 1: title must not be empty\nentry 3: the title has 501 characters; at most 500 are \
         allowed\nentry 4: must be an object, not a number\nentry 5: the title contains a NUL \
         character\nentry 6: title must be a string, not a number. Shorten it. Fix it and make the \
         whole call again."
    );
    let many: Vec<_> =
        (0..300).map(|n| json!({"title": if n % 2 == 0 { " " } else { &long }})).collect();
    let error = fail(&mut caller, "create_todo", json!({"items": many}));
    assert_eq!(error.lines().count(), 101, "{error}");
    assert!(error.contains("entry 100: ") && error.contains("… and 200 more."), "{error}");
    assert_eq!(caller.ok("list_todo", json!({"status": "all"})), caller.ok("list_todo", json!({})));
}

#[test]
fn a_title_in_an_error_is_shown_as_lists_show_it() {
    let mut caller =
        caller(&["tab\tand \"quote\" and back\\slash \u{1b}[31mred\u{1b}[0m \u{202e}x"]);
    let id = caller.id(1);
    caller.ok("complete_todo", json!({"todoId": id, "outcome": "done"}));
    let error = fail(&mut caller, "complete_todo", json!({"todoId": id, "outcome": "again"}));
    let title = "\"tab and \"quote\" and back\\slash red x\"";
    assert!(error.starts_with(&format!("item {id} {title} is ")), "{error}");
}

#[test]
fn bad_arguments_are_named_with_what_is_legal() {
    let mut caller = caller(&["A"]);
    for (tool, arguments, error) in [
        ("create_todo", json!({}), "items is required: an array of {\"title\": \"…\"}"),
        ("create_todo", json!({"items": []}), "items must have at least one entry"),
        ("create_todo", json!({"items": "A"}), "items must be an array, not a string"),
        (
            "list_todo",
            json!({"status": "open"}),
            "status must be \"pending\" or \"in_progress\" or \"completed\" or \"cancelled\" or \
             \"all\", not \"open\"",
        ),
        ("list_todo", json!({"status": 1}), "status must be a string, not a number"),
        (
            "complete_todo",
            json!({}),
            "todoId is required: a string that is not empty\noutcome is required: a string that \
             is not empty",
        ),
        (
            "complete_todo",
            json!({"todoId": [1], "outcome": "x", "status": "done"}),
            "todoId must be a string, not an array\nstatus must be \"completed\" or \"cancelled\", \
             not \"done\"",
        ),
        (
            "complete_todo",
            json!({"todoId": -1, "outcome": "x"}),
            "todoId -1 not found: list_todo shows the ids",
        ),
    ] {
        assert_eq!(fail(&mut caller, tool, arguments), error);
    }
}

#[test]
fn more_open_items_than_configured_are_refused() {
    let mut caller = caller(&["A"]);
    caller.limits.open_items = 2;
    assert_eq!(
        fail(&mut caller, "create_todo", json!({"items": [{"title": "B"}, {"title": "C"}]})),
        "That would make 3 open items; at most 2 may be open at once. Use complete_todo on some \
         first, with status cancelled for what will not be done."
    );
}
