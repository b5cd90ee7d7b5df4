//! What only a person at a terminal may do, and attempts to pass for one. See `docs/security.md`.

use std::fs;

use crate::person::{Person, typed};
use crate::world::{Ran, World, finish};

/// A call from an agent's shell tool, in an environment that the agent has chosen.
fn by_agent(world: &World, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = world.command("project");
    command.args(arguments).env("CLAUDECODE", "1").envs(variables.iter().copied());
    finish(command, b"")
}

/// A call in a terminal whose input was filled with yes before the call, until it asks.
fn typed_ahead(world: &World, arguments: &[&str]) -> (i32, String) {
    filled(world, arguments, "y\ny\ny\ny\n", "[y/N]").ends()
}

/// The same with these keys, until these words appear.
fn filled(world: &World, arguments: &[&str], keys: &str, words: &str) -> Person {
    let mut command = world.command("project");
    command.args(arguments);
    // The shell reads the first line, so all lines are in the input when the program starts.
    let line = format!("read first; {}", typed(&command));
    let mut person = Person::calls(&command, &line);
    person.types(&format!("go\n{keys}"));
    assert!(person.sees(|it| it.contains(words)), "{arguments:?}: {}", person.seen);
    person
}

/// A session of Claude Code in the project.
fn begin_session(world: &World) {
    let mut command = world.command("project");
    command.args(["hook", "claude"]);
    let event = serde_json::json!({
        "hook_event_name": "SessionStart", "session_id": "1234", "cwd": world.path("project"),
    });
    assert_eq!(finish(command, event.to_string().as_bytes()).code, 0);
}

#[test]
fn keys_that_were_pressed_before_the_question_neither_answer_nor_loosen_the_gate() {
    let world = World::new();
    begin_session(&world);
    let gate = || world.run(&["gate", "--json"]).json()["gate"].clone();
    let before = gate();
    let (code, seen) = typed_ahead(&world, &["gate", "off"]);
    assert_eq!(code, 130, "{seen}");
    assert_eq!(gate(), before);
    crate::questions::asks(&world);
    let waiting = || {
        let told = world.run(&["questions", "--json"]).json();
        let all = told["questions"].as_array().unwrap().iter();
        all.map(|it| it["id"].as_str().unwrap().to_owned()).collect::<Vec<String>>()
    };
    let all = waiting();
    assert_eq!(all.len(), 2);
    for answer in [&["yes"][..], &["edit", "--arguments", "{\"command\": \"ls\"}"]] {
        let (code, seen) = typed_ahead(&world, &[&["answer", &all[0]][..], answer].concat());
        assert_eq!(code, 130, "{answer:?}: {seen}");
    }
    // Without an answer each question is shown in turn; none of the keys answers any.
    let mut person = filled(&world, &["answer"], "y\ny\ny\ny\n", "Publish");
    for _ in &all {
        assert!(person.sees_question(), "{}", person.seen);
        person.types("\n");
    }
    let (code, seen) = person.ends();
    assert_eq!(code, 130, "{seen}");
    assert_eq!(waiting(), all);
}

#[test]
fn keys_that_were_pressed_before_the_question_start_nothing_and_consent_to_nothing() {
    let world = World::new();
    // A step that asks.
    world.write("project/plan.md", "- [ ] Publish\n  approve: yes\n  run: touch published\n");
    let mut person = filled(&world, &["run", "plan.md"], "yyyy\ny\n", "q refuse and stop");
    person.types("q");
    let (code, seen) = person.ends();
    assert_eq!(code, 7, "{seen}");
    assert!(!world.path("project/published").exists(), "{seen}");
    // A person's own check that a rule asks about.
    world.write(
        "home/.config/punchlist/config.toml",
        "[[policy]]\ndecision = 'ask'\ntool = 'verify'\ncommand = 'touch'\n",
    );
    world.typed("add A --verify 'touch checked'").works();
    let (code, seen) = typed_ahead(&world, &["verify", "1"]);
    assert_eq!(code, 130, "{seen}");
    assert!(!world.path("project/checked").exists());
    // The entries of `install`, and the consents that it bypasses.
    let (code, seen) = typed_ahead(&world, &["install", "claude"]);
    assert_eq!(code, 130, "{seen}");
    assert!(!world.path("home/.claude/settings.json").exists());
    // Evidence of others in an imported file.
    let export = world.run(&["export"]).ok();
    world.write("project/theirs.json", export);
    let other = World::new();
    other.write("project/theirs.json", fs::read(world.path("project/theirs.json")).unwrap());
    let (code, seen) = typed_ahead(&other, &["import", "theirs.json"]);
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("are kept as an agent's"), "{seen}");
    // A goal that is declared met although an item was given up.
    world.typed("goal \"It is out\" --accept 1").works();
    world.typed("skip 1").ok_with_warnings();
    let (code, seen) = typed_ahead(&world, &["goal", "--met"]);
    assert_eq!(code, 130, "{seen}");
    assert!(seen.contains("Is the goal met?"), "{seen}");
    assert_eq!(world.run(&["goal", "--json"]).json()["goal"]["standing"], "unmet");
    let met = world.person("goal --met --json");
    assert_eq!(met.json()["goal"]["met"]["level"], "approved", "{}", met.out);
}

/// Verbs that only a person may call. An agent is told to ask its user.
const PERSONS: [&str; 11] = [
    "punchlist approve",
    "punchlist answer",
    "punchlist init",
    "punchlist forget",
    "punchlist policy",
    "punchlist uninstall",
    "punchlist install",
    "--consent",
    "gate off",
    "--anyway",
    "move-project",
];

#[test]
fn no_message_to_an_agent_names_what_only_a_person_may_call() {
    let world = World::new();
    crate::questions::asks(&world);
    begin_session(&world);
    world.typed("add Build Publish Announce --verify true").works();
    world.typed("edit 3 --after 2").works();
    world.typed("goal \"It is out\" --accept 1,2 --demand approved").works();
    world.write("project/punchlist.toml", "gate = 'off'\n");
    world.write("project/.punchlist/punchlist.db", "not ours");
    world.write("elsewhere/x", "");
    world.typed_in("elsewhere", "add Gone").works();
    fs::remove_dir_all(world.path("elsewhere")).unwrap();
    let plan = "- [ ] Ask\n  approve: yes\n  run: true\n";
    world.write("project/plan.md", plan);
    let own = by_agent(&world, &["add", "Theirs", "--verify", "true"], &[]);
    assert_eq!(own.code, 0, "{}", own.err);
    let first = [
        &["done", "3"][..],
        &["start", "3"],
        &["done", "1"],
        &["verify", "4"],
        &["approve", "1"],
        &["answer", "yes"],
        &["init"],
        &["forget", "1"],
        &["gate", "off"],
        &["gate", "--session", "9999"],
        &["verify", "--consent"],
        &["uninstall", "claude"],
        &["install", "claude", "--yes"],
        &["install", "claude", "--dry-run"],
        &["goal", "--clear"],
        &["goal", "--demand", "reported"],
        &["move-project", "a", "b"],
        &["list", "--db", "other.db"],
        &["questions"],
        &["plans", "--all"],
        &["doctor"],
        &["doctor", "--json"],
        &["watch", "--once"],
        &["run", "plan.md"],
        &["run", "plan.md", "--yes"],
    ];
    let then = [
        &["list"][..],
        &["list", "--view", "list"],
        &["list", "--json"],
        &["goal"],
        &["goal", "--json"],
        &["goal", "--met"],
        &["show"],
        &["show", "--json"],
        &[],
    ];
    let mut told = String::new();
    let mut check = |arguments: &[&str]| {
        let ran = by_agent(&world, arguments, &[]);
        let said = format!("{}{}", ran.out, ran.err);
        for words in PERSONS {
            assert!(!said.contains(words), "{arguments:?} names `{words}`:\n{said}");
        }
        told.push_str(&said);
    };
    first.into_iter().for_each(&mut check);
    // All items are settled, but the goal is not met: the rest needs a person.
    for item in ["1", "2", "3", "4"] {
        world.person(&format!("skip {item}")).ok_with_warnings();
    }
    then.into_iter().for_each(&mut check);
    assert!(told.contains("ask your user"), "{told}");
    assert!(told.contains("is for your user to say"), "{told}");
    assert!(world.typed("list").ok_with_warnings().contains("punchlist goal --met"));
}

#[test]
fn keys_that_were_pressed_before_the_question_confirm_nothing() {
    let world = World::new();
    world.typed("add A").works();
    for arguments in [
        &["init"][..],
        &["init", "--instructions"],
        &["forget", "1"],
        &["forget", "--whole-plan"],
        &["approve", "1"],
        &["verify", "--consent"],
    ] {
        let (code, seen) = typed_ahead(&world, arguments);
        assert_eq!(code, 130, "{arguments:?}: {seen}");
    }
    let item = &world.run(&["show", "1", "--json"]).json()["item"];
    assert_eq!(
        (item["title"].as_str(), item["evidence"].as_array().map(Vec::len)),
        (Some("A"), Some(0))
    );
    for record in ["checks", "instructions"] {
        assert!(!world.path("home/.local/share/punchlist").join(record).exists(), "{record}");
    }
    assert!(!world.path("project/.punchlist").exists());
}

#[test]
fn forgetting_is_for_a_person_at_a_terminal() {
    let world = World::new();
    world.typed("add Secret").works();
    let piped = world.run_with(&["forget", "1"], b"y\n");
    assert_eq!(piped.code, 3, "{}", piped.err);
    let agent = by_agent(&world, &["forget", "1"], &[]);
    assert_eq!(agent.code, 3, "{}", agent.err);
    assert!(world.list().contains("Secret"));
    world.person("forget 1").ok();
    assert!(!world.list().contains("Secret"));
}

#[test]
fn when_an_agent_calls_home_and_xdg_do_not_count() {
    let world = World::new();
    world.typed("add Mine").works();
    world.write(
        "home/.config/punchlist/config.toml",
        "[[policy]]\ndecision = 'deny'\ntool = 'verify'\ncommand = 'touch'\n",
    );
    world.write(
        "theirs/.config/punchlist/config.toml",
        "[[policy]]\ndecision = 'allow'\ntool = 'verify'\ncommand = 'touch'\n",
    );
    let project = world.path("project").display().to_string();
    world.write("theirs/.local/share/punchlist/checks", format!("{project}\n"));
    let theirs = world.path("theirs").display().to_string();
    let (config, data) = (format!("{theirs}/.config"), format!("{theirs}/.local/share"));
    let variables = [("HOME", &*theirs), ("XDG_CONFIG_HOME", &*config), ("XDG_DATA_HOME", &*data)];
    assert!(by_agent(&world, &["list"], &variables).ok().contains("Mine"));
    by_agent(&world, &["add", "B", "--verify", "touch ran"], &variables).works();
    let refused = by_agent(&world, &["verify", "2"], &variables);
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(refused.err.contains("a rule denies"), "{}", refused.err);
    assert!(!world.path("project/ran").exists());
    // A person may use other directories.
    let mut command = world.command("project");
    command.args(["list"]).envs(variables);
    assert!(finish(command, b"").ok().contains("No plan here yet"));
}

#[test]
fn an_agents_calls_find_the_directories_that_install_recorded() {
    let world = World::new();
    let data = world.path("data").display().to_string();
    let config = world.path("config").display().to_string();
    let chosen = [("XDG_DATA_HOME", &*data), ("XDG_CONFIG_HOME", &*config)];
    let by_person = |line: &str| {
        let mut command = world.command("project");
        command.args(line.split(' ')).envs(chosen);
        finish(command, b"")
    };
    by_person("add Mine").works();
    world.write("config/punchlist/config.toml", "[limits]\ntitle = 5\n");
    let before = by_agent(&world, &["list"], &[]);
    assert!(before.ok().contains("No plan here yet"));
    by_person("install claude --yes").works();
    assert!(by_agent(&world, &["list"], &[]).ok().contains("Mine"));
    assert_eq!(by_agent(&world, &["add", "Longer"], &[]).code, 3);
    let record = world.path("home/.local/share/punchlist/places.json");
    assert!(record.exists());
    by_person("uninstall claude").works();
    assert!(!record.exists());
    assert!(!world.path("home/.local/share/punchlist").exists());
}

#[test]
fn a_hook_and_an_mcp_server_go_by_the_password_database_without_any_sign_of_an_agent() {
    let world = World::new();
    let mut command = world.command("project");
    command.args(["hook", "claude"]).env("HOME", world.path("theirs"));
    let event = serde_json::json!({
        "hook_event_name": "SessionStart", "session_id": "1234", "cwd": world.path("project"),
    });
    assert_eq!(finish(command, event.to_string().as_bytes()).code, 0);
    assert!(world.path("home/.local/share/punchlist/punchlist.db").exists());
    assert!(!world.path("theirs").exists());
    fs::remove_dir_all(world.path("home/.local")).unwrap();
    let mut command = world.command("project");
    command.args(["mcp"]).env("HOME", world.path("theirs"));
    let call = |id: u32, method: &str, params: serde_json::Value| {
        serde_json::json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            .to_string()
    };
    let hello = serde_json::json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let create =
        serde_json::json!({"name": "create_todo", "arguments": {"items": [{"title": "A"}]}});
    let lines = [
        call(1, "initialize", hello),
        r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#.to_owned(),
        call(2, "tools/call", create),
    ];
    let ran = finish(command, (lines.join("\n") + "\n").as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(world.path("home/.local/share/punchlist/punchlist.db").exists(), "{}", ran.out);
    assert!(!world.path("theirs").exists());
}
