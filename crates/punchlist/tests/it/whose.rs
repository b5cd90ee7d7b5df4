//! Who may do what with an item: workers, blocked items, people and agents, with the real program.

use crate::world::{Ran, World, finish};

/// A call from an agent's shell.
fn by_agent(world: &World, words: &[&str]) -> Ran {
    let mut command = world.command("project");
    command.env("CLAUDECODE", "1").args(words);
    finish(command, b"")
}

#[track_caller]
fn refused(ran: &Ran, words: &[&str]) {
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    for word in words {
        assert!(ran.err.contains(word), "{word:?} is not in {}", ran.err);
    }
}

#[test]
fn after_undoing_done_the_item_is_its_workers_again_and_the_other_gets_the_next() {
    let world = World::new();
    world.typed("add A B C").works();
    assert_eq!(world.typed("next --claim --as ann").ok(), "started 1  A\n");
    world.typed("done 1 --as ann").works();
    world.typed("undo --as ann").works();
    assert_eq!(world.typed("next --as bob").ok(), "2  B\n");
    assert_eq!(world.typed("next --claim --as bob").ok(), "started 2  B\n");
    assert_eq!(world.typed("next --claim --as ann").ok(), "in progress 1  A\n");
    let list = world.typed("list --json").json();
    assert_eq!(list["items"][0]["claim"]["holder"]["name"], "ann");
}

#[test]
fn undoing_done_after_the_lease_leaves_the_item_to_anybody() {
    let world = World::new();
    world.typed("add A B").works();
    world.typed("next --claim --as ann -c claim.lease=1s").ok_with_warnings();
    world.typed("done 1 --as ann -c claim.lease=1s").works();
    world.typed("undo --as ann -c claim.lease=1s").works();
    assert_eq!(world.typed("next --as ann").ok(), "1  A\n");
    assert_eq!(world.typed("next --claim --as bob").ok(), "started 1  A\n");
    assert_eq!(world.typed("next --claim --as ann").ok(), "started 2  B\n");
}

#[test]
fn what_is_blocked_is_neither_started_nor_completed_unless_a_person_says_so() {
    let world = World::new();
    world.typed("add Dig").works();
    world.typed("add Pour --after 1").works();
    let words = ["item 2 \"Pour\"", "it depends on item 1 \"Dig\", which is pending", "--anyway"];
    refused(&world.typed("start 2"), &words);
    refused(&world.typed("done 2"), &words);
    refused(&by_agent(&world, &["start", "2", "--anyway"]), &["made by claude"]);
    refused(&by_agent(&world, &["done", "2", "--anyway"]), &["made by claude"]);
    let ran = world.typed("start 2 --anyway");
    assert_eq!((ran.code, ran.err.as_str()), (0, "warning: #2 Pour is blocked by #1 Dig\n"));
    world.typed("done 2 --anyway").ok_with_warnings();
    world.typed("add Dry --after 1").works();
    world.typed("skip 1 --reason no").ok_with_warnings();
    refused(&world.typed("done 3"), &["which is cancelled", "`punchlist edit 3 --not-after 1`"]);
    world.typed("edit 3 --not-after 1").works();
    world.typed("done 3").works();
}

#[test]
fn what_is_done_together_does_not_stand_in_its_own_way() {
    let world = World::new();
    world.typed("add Dig").works();
    world.typed("add Pour --after 1").works();
    world.typed("done 2 1").works();
}

#[test]
fn every_dialect_refuses_what_is_blocked_in_its_own_words() {
    let list = |status: &str, name: &str, rest: &str| {
        format!(
            r#"[{{"{name}": "Dig", "status": "pending"{rest}}}, {{"{name}": "Pour", "status": "{status}"{rest}}}]"#
        )
    };
    let active = r#", "activeForm": "x""#;
    for (tool, arguments, words) in [
        (
            "manager todo_manager",
            r#"{"action": "start", "ids": [2]}"#.to_owned(),
            r#"TODO 2 \"Pour\" cannot be started: it depends on TODO 1 \"Dig\", which is todo. Use complete_multiple on 1 first."#,
        ),
        (
            "turn complete_todo",
            r##"{"todoId": "#2", "outcome": "x"}"##.to_owned(),
            r#""Pour" cannot be completed: it depends on item "#,
        ),
        (
            "tasks TaskUpdate",
            r#"{"taskId": "2", "status": "in_progress"}"#.to_owned(),
            r#"Task #2 "Pour" cannot be started: it depends on task #1 "Dig", which is pending. Use TaskUpdate on #1 first, with status completed or deleted."#,
        ),
        (
            "todowrite TodoWrite",
            format!(r#"{{"todos": {}}}"#, list("completed", "content", active)),
            r#"task #2 "Pour" cannot be completed: it depends on task #1 "Dig", which is pending. Send TodoWrite again with #1 completed, or this one pending."#,
        ),
        (
            "write_todos write_todos",
            format!(r#"{{"todos": {}}}"#, list("in_progress", "description", "")),
            r#"task "Pour" cannot be started: it depends on task "Dig", which is pending."#,
        ),
        (
            "update_plan update_plan",
            format!(r#"{{"plan": {}}}"#, list("completed", "step", "")),
            r#"step "Pour" cannot be completed: it depends on step "Dig", which is pending."#,
        ),
    ] {
        let world = World::new();
        world.typed("add Dig --plan one").works();
        world.typed("add Pour --after 1 --plan one").works();
        let ran = world.typed(&format!("tool {tool} --plan one < {arguments}"));
        let out = ran.ok();
        assert!(out.contains(words), "{tool}: {out}");
        let list = world.typed("list --json --plan one").json();
        assert_eq!(list["items"][1]["status"], "pending", "{tool}");
    }
}

#[test]
fn next_hands_out_what_is_under_an_item_before_the_item() {
    let world = World::new();
    world.typed("add House").works();
    world.typed("add Walls --under 1").works();
    world.typed("add Roof --under 1").works();
    assert_eq!(world.typed("next").ok(), "2  Walls\n");
    let ready = |world: &World| {
        let list = world.typed("list --json").json();
        let items = list["items"].as_array().unwrap().clone();
        items.iter().map(|it| it["ready"].as_bool().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ready(&world), [false, true, true]);
    refused(&world.typed("done 1"), &["item 2 \"Walls\" under it is open", "--with-children"]);
    world.typed("done 2").works();
    world.typed("skip 3").works();
    assert_eq!(ready(&world), [true, false, false]);
    assert_eq!(world.typed("next --claim").ok(), "started 1  House\n");
    world.typed("done 1").works();
    world.typed("reopen 1 2 3").works();
    world.typed("done 1 --with-children").works();
}

#[test]
fn an_agent_without_a_session_never_acts_as_the_person() {
    let world = World::new();
    world.typed("add A").works();
    world.typed("edit 1 --verify true").works();
    world.typed("goal \"it ships\" --demand checked").works();
    let before = world.typed("export").ok();
    let ran = by_agent(&world, &["undo"]);
    assert_eq!(ran.code, 4, "{}{}", ran.out, ran.err);
    assert_eq!(world.typed("export").ok(), before);
    // Nor under the person's own name.
    let ran = by_agent(&world, &["undo", "--as", "me@host"]);
    assert_eq!(ran.code, 4, "{}{}", ran.out, ran.err);
    assert_eq!(world.typed("export").ok(), before);
    by_agent(&world, &["add", "B"]).works();
    let log = world.typed("log --json").ok();
    let last: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!(last["actor"]["kind"], "agent", "{last}");
    assert_ne!(last["actor"]["name"], "me@host", "{last}");
    by_agent(&world, &["undo"]).works();
}

#[test]
fn an_agent_neither_changes_nor_clears_a_persons_goal() {
    let world = World::new();
    world.typed("add A").works();
    world.typed("goal \"it ships\"").works();
    refused(&by_agent(&world, &["goal", "it compiles"]), &["a person set the goal"]);
    refused(&by_agent(&world, &["goal", "--clear"]), &["a person set the goal"]);
    let goal = world.typed("goal --json").json();
    assert_eq!(goal["goal"]["statement"], "it ships", "{goal:#}");
    world.typed("goal --clear").works();
    by_agent(&world, &["goal", "it compiles"]).works();
    by_agent(&world, &["goal", "--clear"]).works();
}

#[test]
fn a_persons_list_is_as_long_as_the_person_likes_and_an_agents_is_not() {
    let world = World::new();
    let many: String = (1..=120).map(|n| format!("Item number {n}\\n")).collect();
    world.typed(&format!("add - < {many}")).works();
    world.typed("add One more").works();
    refused(&by_agent(&world, &["add", "Too many"]), &["the limit of 100"]);
    let list: String = (1..=130).map(|n| format!("- [ ] Thing {n}\\n")).collect();
    world.typed(&format!("replace < {list}")).ok_with_warnings();
    for (tool, arguments, most) in [
        ("manager todo_manager", r#"{"action": "add_multiple", "todos": ["x"]}"#, "30"),
        ("turn create_todo", r#"{"items": [{"title": "x"}]}"#, "100"),
        ("tasks TaskCreate", r#"{"subject": "x", "description": "y"}"#, "100"),
    ] {
        let plan = world.typed("show --json").json()["plan"]["id"].as_str().unwrap().to_owned();
        let out = world.typed(&format!("tool {tool} --plan {plan} < {arguments}")).ok();
        assert!(out.contains(&format!("at most {most} may be open")), "{tool}: {out}");
    }
}

#[test]
fn forgetting_an_open_item_settles_it() {
    let world = World::new();
    world.typed("add Secret").works();
    world.typed("add Other --after 1").works();
    let ran = world.typed("forget 1");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = ran.out + &ran.err;
    assert!(said.contains("Depends on #1 [forgotten], which was cancelled: #2 Other"), "{said}");
    let list = world.typed("list --json").json();
    assert_eq!(list["items"][0]["status"], "cancelled");
    assert_eq!(list["progress"]["total"], 1, "{list:#}");
    world.typed("edit 2 --not-after 1").works();
    world.typed("done 2").works();
    assert_eq!(world.typed("list --json").json()["plan"]["end"], "drained");
}

fn nested(levels: usize) -> String {
    format!("{{\"a\":{}1{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1))
}

#[test]
fn json_that_is_nested_too_deeply_is_refused_wherever_it_enters() {
    let world = World::new();
    world.typed("add A --plan one").works();
    for levels in [33, 100, 123, 126, 127, 500] {
        let deep = nested(levels);
        let ran = world.run(&["add", "B", "--meta", &deep, "--plan", "one"]);
        assert!(matches!(ran.code, 2 | 3), "{levels}: {} {}", ran.out, ran.err);
        let ran = world.run(&["edit", "1", "--meta", &deep, "--plan", "one"]);
        assert!(matches!(ran.code, 2 | 3), "{levels}: {} {}", ran.out, ran.err);
        let task = format!(r#"{{"subject": "C", "description": "d", "metadata": {deep}}}"#);
        let tool = ["tool", "tasks", "TaskCreate", "--plan", "one"];
        let said = world.run_with(&tool, task.as_bytes()).ok();
        assert!(said.contains("nested more than 32 levels deep"), "{levels}: {said}");
    }
    world.run(&["add", "D", "--meta", &nested(32), "--plan", "one"]).works();
    let list = world.typed("list --json --plan one").json();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    world.typed("log --plan one").works();
    world.typed("export --plan one").works();
}

/// A task that Claude Code created, as its hook reports it.
fn task_created(metadata: &str) -> String {
    format!(
        r#"{{"session_id": "90728822-0000-4000-8000-0123456789ab", "cwd": "/w", "hook_event_name": "PostToolUse", "tool_name": "TaskCreate", "tool_input": {{"subject": "Keep me", "description": "d", "metadata": {metadata}}}, "tool_response": {{"task": {{"id": "1", "subject": "Keep me"}}}}}}"#
    )
}

#[test]
fn a_mirrored_task_is_kept_without_metadata_that_is_too_deep() {
    for levels in [33, 110, 127, 4_000] {
        let world = World::new();
        let event = task_created(&nested(levels));
        let ran = world.run_with(&["hook", "claude"], event.as_bytes());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let plans = world.typed("plans --all --json").json();
        let plan = plans["plans"][0]["id"].as_str().unwrap_or_else(|| panic!("{levels}: {plans}"));
        let list = world.run(&["list", "--json", "--plan", plan]).json();
        assert_eq!(list["items"][0]["title"], "Keep me", "{levels}");
        let marks = list["items"][0]["marks"].to_string();
        assert!(marks.contains("over_limit"), "{levels}: {list:#}");
        assert!(!list.to_string().contains("[[[["), "{levels}: {list:#}");
    }
}

#[test]
fn one_plan_that_cannot_be_read_does_not_stop_the_others() {
    let world = World::new();
    world.typed("add Broken --plan one").works();
    world.typed("add Whole --plan two").works();
    let db = world.path("home/.local/share/punchlist/punchlist.db");
    let conn = rusqlite::Connection::open(db).unwrap();
    conn.execute_batch("UPDATE item SET position = -1 WHERE title = 'Broken'").unwrap();
    assert_eq!(world.typed("list --plan one").code, 8);
    let plans = world.typed("plans --json").json();
    assert_eq!(plans["plans"].as_array().unwrap().len(), 2);
    assert_eq!(world.typed("watch --once").code, 0);
    let exported = world.typed("export --all");
    assert_eq!(exported.code, 0, "{}", exported.err);
    assert!(exported.out.contains("Whole") && !exported.out.contains("Broken"));
    assert!(exported.err.contains("cannot be read and is left out"), "{}", exported.err);
}
