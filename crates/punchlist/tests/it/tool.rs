//! `punchlist tool`: exactly what a model would read.

use crate::world::World;

#[test]
fn a_conversation_has_a_list_of_its_own() {
    let world = World::new();
    world.typed("add \"A person's item\"").works();
    told!(world.story(
        r#"
        tool todowrite TodoWrite --conversation c1 < {"todos": [{"content": "A", "status": "in_progress", "activeForm": "Doing A"}, {"content": "B", "status": "pending", "activeForm": "Doing B"}]}
        tool todowrite TodoWrite --conversation c1 < {"todos": [{"content": "A", "status": "completed", "activeForm": "Doing A"}]}
        tool todowrite TodoWrite --conversation c2 < {"todos": [{"content": "Z", "status": "pending", "activeForm": "Doing Z"}]}
        tool manager todo_manager --conversation m --turn 1 < {"action": "add_multiple", "todos": ["One", "Two"]}
        tool manager todo_manager --conversation m --turn 1 < {"action": "list"}
        tool manager todo_manager --conversation m --turn 2 < {"action": "list"}
        list
        plans
        "#
    ));
}

#[test]
fn a_todowrite_list_outlives_its_process_and_is_shown_as_the_box() {
    let world = World::new();
    told!(world.story(
        r#"
        tool todowrite TodoWrite --conversation c < {"todos": [{"content": "Fix failing tests", "status": "completed", "activeForm": "Fixing failing tests"}, {"content": "Update documentation", "status": "in_progress", "activeForm": "Updating documentation"}, {"content": "Run final build verification", "status": "pending", "activeForm": "Running final build verification"}]}
        list --view box
        tool todowrite TodoWrite --conversation c < {"todos": [{"content": "Fix failing tests", "status": "completed", "activeForm": "Fixing failing tests"}, {"content": "Update documentation", "status": "completed", "activeForm": "Updating documentation"}, {"content": "Run final build verification", "status": "in_progress", "activeForm": "Running final build verification"}]}
        list --view box
        "#
    ));
}

#[test]
fn other_agents_tools_work_on_the_same_list() {
    let world = World::new();
    told!(world.story(
        r#"
        add Build --plan release
        tool tasks TaskCreate --plan release < {"subject": "Publish", "description": "Upload it"}
        tool tasks TaskUpdate --plan release < {"taskId": "2", "addBlockedBy": ["1"]}
        tool tasks TaskUpdate --plan release < {"taskId": "2", "status": "in_progress"}
        tool tasks TaskList --plan release < {}
        tool tasks TaskGet --plan release < {"taskId": "2"}
        tool write_todos write_todos --agent gemini --plan release < {"todos": [{"description": "Build", "status": "blocked"}, {"description": "Publish", "status": "in_progress"}]}
        tool update_plan update_plan --agent codex --plan release < {"explanation": "Mine", "plan": [{"step": "Build", "status": "completed"}]}
        tool update_plan update_plan --agent codex --plan release < {"plan": [{"step": "Build", "status": "completed"}, {"step": "Publish", "status": "in_progress"}, {"step": "Tell", "status": "pending"}]}
        tool write_todos write_todos --agent gemini --plan release < {"todos": [{"description": "Build", "status": "pending"}, {"description": "Publish", "status": "in_progress"}]}
        list --plan release
        "#
    ));
}

#[test]
fn what_only_lacks_a_persons_approval_waits_for_it() {
    let world = World::new();
    told!(world.story(
        r#"
        add Publish Tell --plan release
        goal "It ships" --demand approved --plan release
        tool turn complete_todo --plan release < {"todoId": "1", "outcome": "uploaded"}
        list --plan release
        "#
    ));
}

#[test]
fn a_tool_sees_only_the_plan_of_its_context_and_a_foreign_id_is_not_found() {
    let world = World::new();
    let create = "tool turn create_todo --conversation c1 --turn t1 --agent a \
                  < {\"items\": [{\"title\": \"Mine\"}]}";
    let created: serde_json::Value = serde_json::from_str(&world.typed(create).ok()).unwrap();
    let id = created["created"][0]["id"].as_str().unwrap().to_owned();
    let mine = "--conversation c1 --turn t1 --agent a";
    for context in [
        "--conversation c2 --turn t1 --agent a",
        "--conversation c1 --turn t2 --agent a",
        "--conversation c1 --turn t1 --agent b",
        "--conversation c1",
        "",
    ] {
        let list = world.typed(&format!("tool turn list_todo {context} < {{}}")).ok();
        assert!(list.contains("\"total\":0"), "{context}: {list}");
        for (tool, rest) in
            [("complete_todo", "\"outcome\": \"x\""), ("update_todo", "\"title\": \"x\"")]
        {
            let arguments = format!("{{\"todoId\": \"{id}\", {rest}}}");
            let ran = world.typed(&format!("tool turn {tool} {context} < {arguments}"));
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{context}");
            assert!(ran.out.contains(&format!("item {id} not found")), "{context}: {}", ran.out);
        }
    }
    let arguments = format!("{{\"todoId\": \"{id}\", \"outcome\": \"x\"}}");
    let done = world.typed(&format!("tool turn complete_todo {mine} < {arguments}")).ok();
    assert!(done.contains("\"remaining\":0"), "{done}");
}

#[test]
fn what_others_did_since_the_list_was_shown_is_not_overwritten() {
    let world = World::new();
    world.typed("add A B --plan shared").works();
    told!(world.story(
        r#"
        # a whole-list write shows the list
        tool todowrite TodoWrite --conversation c --plan shared < {"todos": [{"content": "A", "status": "pending", "activeForm": "Doing A"}, {"content": "B", "status": "pending", "activeForm": "Doing B"}]}
        # meanwhile a person adds one and renames one
        add C --plan shared
        edit 2 --title "B, better" --plan shared
        # the conversation is attached now: it needs no --plan
        tool todowrite TodoWrite --conversation c < {"todos": [{"content": "A", "status": "completed", "activeForm": "Doing A"}, {"content": "B", "status": "pending", "activeForm": "Doing B"}]}
        # what a person added did not come from this list, and is not its to drop
        tool todowrite TodoWrite --conversation c < {"todos": [{"content": "A", "status": "completed", "activeForm": "Doing A"}]}
        log --plan shared
        "#
    ));
}

#[test]
fn a_mistake_of_the_model_is_a_result_and_leaves_nothing() {
    let world = World::new();
    let before = world.typed("plans --all --json").ok();
    for line in [
        "tool turn complete_todo --conversation c < {}",
        "tool turn complete_todo --conversation c < not json",
        "tool turn no_such_tool --conversation c < {}",
        "tool turn create_todo --conversation c < {\"todos\": [{\"title\": \"\"}]}",
        "tool manager todo_manager < {\"action\": \"start\", \"ids\": [7]}",
        "tool todowrite TodoWrite < {\"todos\": 3}",
        "tool todowrite TodoWrite < [[[[[[",
        "tool write_todos write_todos < {\"todos\": [{\"description\": \"\"}]}",
        "tool update_plan update_plan < {\"plan\": 3}",
        "tool tasks TaskUpdate < {\"taskId\": \"1\", \"status\": \"completed\"}",
        "tool tasks TaskCreate < {}",
    ] {
        let ran = world.typed(line);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{line}");
        assert!(!ran.out.trim().is_empty(), "{line}");
        assert_eq!(world.typed("plans --all --json").ok(), before, "{line}");
    }
    let ran = world.run_with(&["tool", "turn", "create_todo"], b"\xff\xfe");
    assert_eq!(ran.code, 0);
    let ran = world.run_with(&["tool", "turn", "create_todo"], &vec![b'['; 10 * 1024 * 1024]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.len() < 5000);
    assert_eq!(world.typed("plans --all --json").ok(), before);
}

#[test]
fn reading_before_the_first_change_shows_an_empty_list_and_makes_nothing() {
    let world = World::new();
    assert_eq!(world.typed("tool turn list_todo --conversation c < {}").code, 0);
    assert!(!world.path("home/.local").exists());
}

#[test]
fn the_dialects_cap_holds_unless_the_user_chose_one() {
    let world = World::new();
    let todos: Vec<String> = (0..31).map(|n| format!("\"Item {n}\"")).collect();
    let call = format!("{{\"action\": \"add_multiple\", \"todos\": [{}]}}", todos.join(","));
    let run = |arguments: &[&str]| {
        let all = [&["tool", "manager", "todo_manager"], arguments].concat();
        world.run_with(&all, call.as_bytes()).ok()
    };
    assert!(run(&[]).contains("\"ok\":false"), "{}", run(&[]));
    assert!(run(&["-c", "limits.open_items=50"]).contains("\"ok\":true"));
}

#[test]
fn a_conversation_can_be_given_a_plan() {
    let world = World::new();
    world.typed("add A --plan release").works();
    let out = world
        .typed("tool manager todo_manager --conversation c --plan release < {\"action\": \"list\"}")
        .ok();
    assert!(out.contains(">A<"), "{out}");
}

#[test]
fn a_reminder_follows_a_change_where_the_dialect_has_one() {
    let world = World::new();
    told!(world.story(
        r#"
        tool manager todo_manager --reminder < {"action": "add_multiple", "todos": ["One", "<Two>"]}
        tool manager todo_manager --reminder < {"action": "list"}
        tool manager todo_manager --reminder < {"action": "start", "ids": [9]}
        tool todowrite TodoWrite --reminder --conversation x < {"todos": []}
        "#
    ));
}

#[test]
fn tools_are_listed_as_text_and_as_mcp_lists_them() {
    let world = World::new();
    for dialect in ["manager", "turn", "todowrite", "write_todos", "update_plan", "tasks"] {
        let text = world.run(&["tools", dialect]).ok();
        let json = world.run(&["tools", dialect, "--json"]).json();
        for tool in json["tools"].as_array().unwrap() {
            assert!(text.contains(tool["name"].as_str().unwrap()));
            assert_eq!(tool["inputSchema"]["type"], "object");
        }
        let thin = world.run(&["tools", dialect, "--surface", "thin", "--json"]).ok();
        assert!(thin.len() < world.run(&["tools", dialect, "--json"]).ok().len());
        assert_eq!(world.run(&["tools", dialect, "--surface", "off"]).ok(), "no tools\n");
    }
}

#[test]
fn the_example_in_its_help_works() {
    let world = World::new();
    let help = world.typed("help tool").ok();
    let (_, example) = help.split_once("echo '").expect("there is an example");
    let (arguments, _) = example.split_once("' |").expect("it goes into a pipe");
    let ran = world.run_with(&["tool", "turn", "create_todo"], arguments.as_bytes());
    assert!(ran.json()["created"][0]["title"] == "Fix the tests", "{}", ran.out);
}

#[test]
fn json_tells_an_error_from_a_result() {
    let world = World::new();
    let call = |arguments: &str| {
        world.run_with(&["tool", "manager", "todo_manager", "--json"], arguments.as_bytes()).json()
    };
    let added = call(r#"{"action": "add_multiple", "todos": [{"content": "A"}]}"#);
    assert_eq!((&added["isError"], &added["changed"]), (&false.into(), &true.into()), "{added}");
    assert_eq!(added["result"]["ok"], true, "{added}");
    let bad = call(r#"{"action": "start", "ids": [7]}"#);
    assert_eq!((&bad["isError"], &bad["changed"]), (&true.into(), &false.into()), "{bad}");
    assert!(bad["text"].as_str().unwrap().contains("not found"), "{bad}");
    let bad = call("no JSON");
    assert_eq!(bad["isError"], true, "{bad}");
    let list = call(r#"{"action": "list"}"#);
    assert_eq!(list["isError"], false, "{list}");
}
