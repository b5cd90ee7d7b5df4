//! What only a person at a terminal may do, and what does not pass for one. See `docs/security.md`.

use std::fs;

use crate::person::{Person, typed};
use crate::world::{Ran, World, finish};

/// A call as an agent's shell tool makes it, in an environment that the agent has made up.
fn by_agent(world: &World, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = world.command("project");
    command.args(arguments).env("CLAUDECODE", "1").envs(variables.iter().copied());
    finish(command, b"")
}

/// A call in a terminal that was filled with yes before the call was made.
fn typed_ahead(world: &World, arguments: &[&str]) -> (i32, String) {
    let mut command = world.command("project");
    command.args(arguments);
    // The shell takes the first line, so all of them are there when the program begins.
    let line = format!("read first; {}", typed(&command));
    let mut person = Person::calls(&command, &line);
    person.types("go\ny\ny\ny\ny\n");
    assert!(person.sees(|it| it.contains("[y/N]")), "{arguments:?}: {}", person.seen);
    person.ends()
}

#[test]
fn keys_that_were_pressed_before_the_question_confirm_nothing() {
    let world = World::new();
    world.typed("add A").works();
    for arguments in [
        &["init"][..],
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
    assert!(!world.path("home/.local/share/punchlist/checks").exists());
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
    // A person may keep things where they like.
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
