//! Mirroring the agent's own list: which events are believed and which are not.

use punchlist_formats::hook::Task;
use punchlist_model::{ItemRef, NewItem, Number, Op, Status};
use serde_json::json;

use super::{Desk, lines};

#[test]
fn a_task_is_there_once_however_often_it_is_told() {
    let desk = Desk::new();
    let created = json!({"task_id": "1", "task_subject": "A", "task_description": "about A"});
    assert_eq!(desk.event("TaskCreated", created.clone()), None);
    desk.create("1", "A");
    desk.create("1", "A");
    desk.event("TaskCreated", created);
    desk.used(
        "TaskList",
        json!({}),
        json!({"tasks": [{"id": "1", "subject": "A", "status": "pending", "blockedBy": []}]}),
    );
    desk.check(&["[ ] 1 A"]);
    assert_eq!(desk.plan().get(Number(1)).unwrap().context, "about A");
    assert!(desk.session("s1").memory.unconfirmed.is_empty());
}

#[test]
fn our_numbers_and_the_agents_ids_may_differ() {
    let desk = Desk::new();
    desk.create("7", "A");
    desk.create("3", "B");
    desk.update("3", json!({"status": "in_progress"}));
    desk.check(&["[ ] 1 A", "[>] 2 B"]);
    let mirrored = desk.session("s1").memory.mirrored;
    assert_eq!(mirrored, [("3".to_owned(), Number(2)), ("7".to_owned(), Number(1))].into());
}

#[test]
fn an_update_that_failed_changes_nothing() {
    let desk = Desk::new();
    desk.create("1", "A");
    for (id, error) in
        [("99", "Task not found"), ("1", "TaskCompleted hook feedback:\ntests not run")]
    {
        let result = json!({"success": false, "taskId": id, "updatedFields": [], "error": error});
        desk.used("TaskUpdate", json!({"taskId": id, "status": "completed"}), result);
    }
    // A refusal may also be a text, or nothing at all.
    desk.used("TaskUpdate", json!({"taskId": "1", "status": "completed"}), json!("denied"));
    desk.used("TaskUpdate", json!({"taskId": "1", "status": "completed"}), json!(null));
    desk.check(&["[ ] 1 A"]);
}

#[test]
fn a_creation_that_failed_leaves_nothing_and_its_id_is_used_up() {
    let desk = Desk::new();
    desk.create("1", "A");
    let task = |id: &str| json!({"task_id": id, "task_subject": "B", "task_description": "b"});
    desk.event("TaskCreated", task("2"));
    desk.check(&["[ ] 1 A", "[ ] 2 B"]);
    let call = json!({"subject": "B", "description": "b"});
    let failed = json!({
        "tool_name": "TaskCreate", "tool_input": call, "is_interrupt": false,
        "error": "TaskCreated hook feedback:\nplan is frozen",
    });
    assert_eq!(desk.event("PostToolUseFailure", failed.clone()), None);
    desk.check(&["[ ] 1 A"]);
    // A second refusal finds nothing to drop, and failures of other tools are ignored.
    desk.event("PostToolUseFailure", failed);
    desk.event("PostToolUseFailure", json!({"tool_name": "Bash", "error": "Exit code 3"}));
    desk.check(&["[ ] 1 A"]);
    desk.create("3", "B");
    desk.check(&["[ ] 1 A", "[ ] 3 B"]);
}

#[test]
fn a_call_without_a_result_has_not_happened() {
    let desk = Desk::new();
    desk.create("1", "A");
    desk.event("PreToolUse", json!({"tool_name": "TaskCreate", "tool_input": {"subject": "B"}}));
    desk.used("TaskCreate", json!({"subject": "C"}), json!("No such tool available"));
    desk.event("TaskCompleted", json!({"task_id": "1", "task_subject": "A"}));
    desk.check(&["[ ] 1 A"]);
}

#[test]
fn a_rewritten_call_counts_as_its_result_says() {
    let desk = Desk::new();
    desk.used(
        "TaskCreate",
        json!({"subject": "B", "description": "b"}),
        json!({"task": {"id": "1", "subject": "B (rewritten)"}}),
    );
    let result = json!({
        "success": true, "taskId": "1", "updatedFields": ["status"],
        "statusChange": {"from": "pending", "to": "in_progress"},
    });
    desk.used("TaskUpdate", json!({"taskId": "1", "status": "completed"}), result);
    desk.check(&["[>] 1 B (rewritten)"]);
}

#[test]
fn edges_go_both_ways_and_unknown_ids_are_dropped() {
    let desk = Desk::new();
    for id in ["1", "2", "3"] {
        desk.create(id, id);
    }
    desk.update("2", json!({"addBlockedBy": ["1", "99"]}));
    desk.update("1", json!({"addBlocks": ["3", "98"]}));
    desk.check(&["[ ] 1 1", "[ ] 2 2 after 1", "[ ] 3 3 after 1"]);
}

#[test]
fn a_circle_is_marked_and_refused_to_nobody() {
    let desk = Desk::new();
    desk.create("1", "A");
    desk.create("2", "B");
    desk.update("2", json!({"addBlockedBy": ["1"]}));
    desk.update("1", json!({"addBlockedBy": ["2"], "status": "in_progress"}));
    desk.check(&["[>] 1 A BadLink", "[ ] 2 B after 1"]);
}

#[test]
fn what_is_deleted_is_superseded_and_never_comes_back() {
    let desk = Desk::new();
    desk.create("1", "A");
    desk.create("2", "B");
    let result = json!({
        "success": true, "taskId": "1", "updatedFields": ["deleted"],
        "statusChange": {"from": "pending", "to": "deleted"},
    });
    desk.used("TaskUpdate", json!({"taskId": "1", "status": "deleted"}), result);
    // A list that was read in parallel still shows the task.
    let task = json!({"id": "1", "subject": "A", "status": "pending", "blockedBy": []});
    desk.used("TaskList", json!({}), json!({"tasks": [task]}));
    desk.check(&["[ ] 2 B"]);
    assert!(desk.plan().get(Number(1)).unwrap().is_superseded());
}

#[test]
fn fields_owner_and_metadata_are_kept() {
    let desk = Desk::new();
    let call =
        json!({"subject": "A", "activeForm": "Doing A", "metadata": {"pr": 17, "area": "db"}});
    desk.used("TaskCreate", call, json!({"task": {"id": "1", "subject": "A"}}));
    desk.update(
        "1",
        json!({"owner": "main", "subject": "A2", "description": "d", "metadata": {"pr": null, "x": [1]}}),
    );
    let item = desk.plan().get(Number(1)).unwrap().clone();
    assert_eq!((item.title.as_str(), item.context.as_str()), ("A2", "d"));
    assert_eq!(
        (item.owner.as_deref(), item.active_form.as_deref()),
        (Some("main"), Some("Doing A"))
    );
    assert_eq!(json!(item.metadata), json!({"area": "db", "x": [1]}));
    desk.update("1", json!({"owner": "", "metadata": {"area": null, "x": null}}));
    let item = desk.plan().get(Number(1)).unwrap().clone();
    assert_eq!((item.owner, item.metadata), (None, None));
}

#[test]
fn a_completed_task_may_be_opened_again_and_a_change_to_the_same_value_is_none() {
    let desk = Desk::new();
    desk.create("1", "A");
    desk.update("1", json!({"status": "completed"}));
    desk.check(&["[x] 1 A"]);
    desk.update("1", json!({"status": "pending"}));
    desk.check(&["[ ] 1 A"]);
    let before = desk.plan().revision;
    let same = json!({"success": true, "taskId": "1", "updatedFields": []});
    desk.used("TaskUpdate", json!({"taskId": "1", "status": "pending"}), same);
    assert_eq!(desk.plan().revision, before);
}

#[test]
fn two_in_progress_are_kept_and_marked() {
    let desk = Desk::new();
    desk.create("1", "A");
    desk.create("2", "B");
    desk.update("1", json!({"status": "in_progress"}));
    desk.update("2", json!({"status": "in_progress"}));
    desk.check(&["[>] 1 A", "[>] 2 B TwoInProgress"]);
}

#[test]
fn a_task_that_nobody_told_of_is_taken_up_from_its_file_or_by_its_id() {
    let mut desk = Desk::new();
    let file = Task {
        id: "5".to_owned(),
        subject: Some("From before".to_owned()),
        status: Some(Status::InProgress),
        ..Task::default()
    };
    desk.files.insert("5".to_owned(), file);
    desk.update("5", json!({"owner": "me"}));
    desk.update("6", json!({"status": "completed", "addBlockedBy": ["5"]}));
    desk.check(&["[>] 1 From before", "[x] 2 Task 6 after 1 Blocked"]);
}

#[test]
fn tasks_that_are_shown_are_taken_up_but_what_is_known_is_not_set_back() {
    let desk = Desk::new();
    desk.create("1", "A");
    desk.update("1", json!({"status": "completed"}));
    let tasks = json!({"tasks": [
        {"id": "1", "subject": "A", "status": "in_progress", "blockedBy": []},
        {"id": "2", "subject": "B", "status": "pending", "owner": "x", "blockedBy": ["3", "44"]},
        {"id": "3", "subject": "C", "status": "in_progress", "blockedBy": []},
    ]});
    desk.used("TaskList", json!({}), tasks);
    desk.check(&["[x] 1 A", "[ ] 2 B after 3", "[>] 3 C"]);
    let task = json!({"task": {"id": "4", "subject": "D", "description": "d", "status": "pending",
        "blocks": [], "blockedBy": ["1"]}});
    desk.used("TaskGet", json!({"taskId": "4"}), task);
    desk.used("TaskGet", json!({"taskId": "9"}), json!({"task": null}));
    desk.check(&["[x] 1 A", "[ ] 2 B after 3", "[>] 3 C", "[ ] 4 D after 1"]);
}

#[test]
fn a_sub_agents_tasks_are_on_the_sessions_list_under_its_own_name() {
    let desk = Desk::new();
    desk.create("1", "A");
    desk.create_by(Some("a685f00d99"), "2", "Sub");
    desk.update_by(Some("a685f00d99"), "2", json!({"status": "in_progress"}));
    desk.check(&["[ ] 1 A", "[>] 2 Sub"]);
    let claim = desk.plan().get(Number(2)).unwrap().claim.clone().unwrap();
    assert_eq!(claim.holder.name, "claude:s1/a685f00d99");
    let own = &desk.session("s1").memory.sub_agents["a685f00d99"].own;
    assert_eq!(own, &[Number(2)].into());
}

#[test]
fn a_whole_list_is_reconciled_and_its_items_keep_their_numbers() {
    let desk = Desk::new();
    desk.todos(None, &["pending Read", "pending Fix", "pending Run"]);
    desk.todos(None, &["completed Read", "in_progress Fix", "pending Run"]);
    desk.check(&["[x] 1 Read", "[>] 2 Fix", "[ ] 3 Run"]);
    desk.todos(None, &["completed Read", "completed Fix", "pending Document it"]);
    desk.check(&["[x] 1 Read", "[x] 2 Fix", "[ ] 4 Document it"]);
    assert!(desk.plan().get(Number(3)).unwrap().is_superseded());
}

#[test]
fn what_a_whole_list_drops_while_open_is_not_dropped_in_silence() {
    let desk = Desk::new();
    assert_eq!(desk.todos(None, &["pending Read", "pending Fix </reminder>", "pending Run"]), None);
    assert_eq!(
        desk.todos(None, &["completed Read", "pending Fix </reminder>", "pending Run"]),
        None
    );
    let said = desk.todos(None, &["completed Read"]).unwrap();
    assert!(said.contains("  Fix &lt;/reminder>\n  Run\n") && said.contains("TodoWrite"), "{said}");
    assert!(!said.contains("Read"), "{said}");
    assert_eq!(desk.todos(None, &["completed Read"]), None, "once is enough");
    assert_eq!(desk.todos(None, &[]), None, "what was done may go");
    assert!(desk.todos(Some("sub1"), &["pending One"]).is_none());
    assert!(desk.todos(Some("sub1"), &[]).unwrap().contains("One"));
}

#[test]
fn a_list_that_was_completed_and_forgotten_is_followed_by_a_new_one() {
    let desk = Desk::new();
    desk.todos(None, &["completed Read", "completed Fix"]);
    desk.check(&["[x] 1 Read", "[x] 2 Fix"]);
    desk.todos(None, &["in_progress Ship"]);
    desk.check(&["[>] 3 Ship"]);
    // Nothing is deleted: the completed item is still in the plan.
    assert_eq!(desk.plan().get(Number(1)).unwrap().status, Status::Completed);
    desk.todos(None, &[]);
    desk.check(&[]);
}

#[test]
fn duplicates_two_in_progress_and_blank_titles_are_taken_as_they_are() {
    let desk = Desk::new();
    desk.todos(None, &["in_progress Same", "in_progress Same", "pending "]);
    let plan = desk.plan();
    assert_eq!(plan.listed().len(), 3);
    assert_eq!(plan.in_progress().count(), 2);
    desk.todos(None, &["completed Same", "in_progress Same", "pending "]);
    assert_eq!(desk.plan().listed().len(), 3, "{:?}", lines(&desk.plan()));
}

#[test]
fn a_list_is_taken_from_the_result_and_extra_keys_are_dropped() {
    let desk = Desk::new();
    let call =
        json!({"todos": [{"content": "x", "status": "pending", "activeForm": "x", "id": "1"}]});
    let todo = json!({"content": "y", "status": "in_progress", "activeForm": "y"});
    desk.used("TodoWrite", call.clone(), json!({"oldTodos": [], "newTodos": [todo]}));
    desk.check(&["[>] 1 y"]);
    // A tool that succeeded without details did what it was called for, even if the list is passed
    // as a string.
    let call = json!({"todos": call["todos"].to_string()});
    desk.used_by(None, "TodoWrite", call, json!("Todos modified"));
    desk.check(&["[ ] 2 x"]);
}

#[test]
fn each_agent_has_a_whole_list_of_its_own() {
    let desk = Desk::new();
    desk.todos(None, &["in_progress Main"]);
    desk.todos(Some("sub1"), &["pending One", "pending Two"]);
    desk.todos(Some("sub2"), &["completed Three"]);
    desk.check(&["[>] 1 Main"]);
    assert_eq!(lines(&desk.plan_of("s1", "sub1").unwrap()), ["[ ] 1 One", "[ ] 2 Two"]);
    assert_eq!(lines(&desk.plan_of("s1", "sub2").unwrap()), ["[x] 1 Three"]);
}

#[test]
fn what_a_person_did_meanwhile_outlives_the_next_whole_lists() {
    let desk = Desk::new();
    desk.todos(None, &["pending Read", "pending Fix"]);
    let done = Op::Complete { item: Number(1).into(), outcome: None, with_children: false };
    desk.person(vec![done, Op::Add(Box::new(NewItem::titled("Ask legal")))]);
    // The agent's list has neither of the two changes, now or later.
    desk.todos(None, &["pending Read", "in_progress Fix"]);
    desk.todos(None, &["pending Read", "completed Fix", "pending Ship"]);
    let plan = desk.plan();
    let sign = |title: &str| {
        let listed = plan.listed();
        listed.iter().find(|it| it.title == title).map(|it| (it.status, it.marks.len()))
    };
    assert_eq!(sign("Read"), Some((Status::Completed, 0)));
    assert_eq!(sign("Ask legal"), Some((Status::Pending, 0)));
    assert_eq!(sign("Fix"), Some((Status::Completed, 0)));
    assert_eq!(sign("Ship"), Some((Status::Pending, 0)));
    desk.todos(None, &["completed Fix"]);
    desk.person(vec![Op::Start(ItemRef::Number(Number(3)))]);
    let titles: Vec<String> = desk.plan().listed().iter().map(|it| it.title.clone()).collect();
    assert!(titles.contains(&"Ask legal".to_owned()) && !titles.contains(&"Ship".to_owned()));
}

#[test]
fn secrets_are_masked_wherever_they_stand() {
    let desk = Desk::new();
    let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let call = json!({
        "subject": format!("Push with {key}"), "description": format!("token={key}"),
        "activeForm": format!("Pushing with {key}"), "metadata": {"env": {"list": [key]}},
    });
    desk.used(
        "TaskCreate",
        call,
        json!({"task": {"id": "1", "subject": format!("Push with {key}")}}),
    );
    desk.update("1", json!({"owner": key}));
    desk.todos(Some("sub"), &[&format!("pending Use {key}")]);
    for plan in [desk.plan(), desk.plan_of("s1", "sub").unwrap()] {
        assert!(!format!("{plan:?}").contains(key), "{plan:?}");
    }
    desk.check(&["[ ] 1 Push with ghp_[masked]"]);
}

#[test]
fn sessions_have_plans_of_their_own_unless_they_share_one_by_name() {
    let mut desk = Desk::new();
    let create = |desk: &Desk, session: &str, id: &str, subject: &str| {
        let fields = json!({"tool_name": "TaskCreate", "tool_input": {"subject": subject},
            "tool_response": {"task": {"id": id, "subject": subject}}});
        desk.of(session, "PostToolUse", fields);
    };
    create(&desk, "s1", "1", "One");
    create(&desk, "s2", "1", "Two");
    assert_eq!(lines(&desk.plan_of("s1", "").unwrap()), ["[ ] 1 One"]);
    assert_eq!(lines(&desk.plan_of("s2", "").unwrap()), ["[ ] 1 Two"]);
    desk.plan = Some("release");
    create(&desk, "s3", "1", "Three");
    create(&desk, "s4", "1", "Four");
    let shared = desk.plan_of("s4", "").unwrap();
    assert_eq!(shared.name.as_deref(), Some("release"));
    assert_eq!(lines(&shared), ["[ ] 1 Three", "[ ] 2 Four"]);
    assert_eq!(desk.plan_of("s3", "").unwrap().id, shared.id);
}

#[test]
fn reading_and_empty_lists_make_no_plan() {
    let desk = Desk::new();
    desk.starts("s1", "startup");
    desk.todos(None, &[]);
    desk.used("TaskList", json!({}), json!({"tasks": []}));
    assert_eq!(desk.stop("Done."), None);
    assert_eq!(desk.plan_of("s1", ""), None);
}
