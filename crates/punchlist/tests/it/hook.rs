//! `punchlist hook claude` with the real program: normal, many in parallel, and with every kind of
//! broken environment.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::init::read_only;
use crate::world::{Ran, World, finish};

fn event(world: &World, name: &str, fields: Value) -> Vec<u8> {
    let mut event = json!({
        "session_id": "12345678-aaaa-bbbb", "cwd": world.path("project"), "hook_event_name": name,
    });
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    event.to_string().into_bytes()
}

fn hook(world: &World, name: &str, fields: Value) -> Ran {
    hook_with(world, name, fields, &[])
}

fn hook_with(world: &World, name: &str, fields: Value, variables: &[(&str, &str)]) -> Ran {
    let mut command = world.command("home");
    command.args(["hook", "claude"]).env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    command.envs(variables.iter().copied());
    finish(command, &event(world, name, fields))
}

/// Checks that the hook had no answer, so that the agent goes on.
#[track_caller]
fn silent(ran: &Ran) {
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
}

fn create(id: usize) -> Value {
    let subject = format!("Task no. {id}");
    json!({"tool_name": "TaskCreate", "tool_input": {"subject": subject, "description": "d"},
        "tool_response": {"task": {"id": id.to_string(), "subject": subject}}})
}

fn update(id: usize, status: &str) -> Value {
    json!({"tool_name": "TaskUpdate", "tool_input": {"taskId": id.to_string(), "status": status},
        "tool_response": {"success": true, "taskId": id.to_string(), "updatedFields": ["status"]}})
}

/// The session's plan.
fn plan(world: &World) -> Value {
    let plans = world.run(&["plans", "--all", "--json"]).json();
    let plans = plans["plans"].as_array().unwrap();
    assert_eq!(plans.len(), 1, "{plans:?}");
    let id = plans[0]["id"].as_str().unwrap();
    world.run(&["list", "--all", "--json", "--plan", id]).json()
}

fn failures(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.path("home/.local/share/punchlist/hook-failures.jsonl"));
    let what = |line: &str| serde_json::from_str::<Value>(line).unwrap()["what"].to_string();
    text.unwrap_or_default().lines().map(what).collect()
}

#[test]
fn a_list_that_an_agent_was_let_go_from_says_so_until_it_is_taken_up_again() {
    let world = World::new();
    silent(&hook(&world, "SessionStart", json!({"source": "startup"})));
    silent(&hook(&world, "PostToolUse", create(1)));
    let id = plan(&world)["plan"]["id"].as_str().unwrap().to_owned();
    let shown = |view: &str| world.run(&["list", "--view", view, "--plan", &id]).out;
    let say_so =
        || ["plain", "box", "list"].map(|it| shown(it).contains("Stopped with open items"));
    assert_eq!(say_so(), [false; 3]);
    let stop = || hook(&world, "Stop", json!({"last_assistant_message": "Done."}));
    assert_eq!((0..9).take_while(|_| stop().out.contains("block")).count(), 3);
    assert_eq!(say_so(), [true; 3], "{}", shown("plain"));
    assert!(!shown("markdown").contains("topped"), "a notation of its own");
    silent(&hook(&world, "PostToolUse", update(1, "in_progress")));
    assert_eq!(say_so(), [false; 3]);
}

#[test]
fn where_nobody_can_answer_a_question_holds_the_turn_and_where_somebody_can_it_ends_it() {
    for (entrypoint, holds) in [("sdk-cli", true), ("cli", false)] {
        let world = World::new();
        let variables = [("CLAUDE_CODE_ENTRYPOINT", entrypoint)];
        silent(&hook_with(&world, "SessionStart", json!({"source": "startup"}), &variables));
        silent(&hook_with(&world, "PostToolUse", create(1), &variables));
        let asks = json!({"last_assistant_message": "Would you like me to commit?"});
        let said = hook_with(&world, "Stop", asks, &variables).out;
        assert_eq!(said.contains("waitingOn"), holds, "{entrypoint}: {said}");
    }
}

#[test]
fn what_a_session_is_offered_runs_as_it_stands_in_a_shell() {
    let world = World::new();
    let database = world.path("home/my plans/own.db");
    fs::create_dir_all(database.parent().unwrap()).unwrap();
    let tell = |session: &str, name: &str, fields: Value| {
        let mut fields = fields;
        fields["session_id"] = json!(session);
        let mut command = world.command("home");
        command.args(["hook", "claude", "--db"]).arg(&database);
        finish(command, &event(&world, name, fields)).out
    };
    tell("first-session", "SessionStart", json!({"source": "startup"}));
    tell("first-session", "PostToolUse", create(1));
    tell("first-session", "SessionEnd", json!({"reason": "exit"}));
    let said = tell("second-session", "SessionStart", json!({"source": "startup"}));
    let said: Value = serde_json::from_str(&said).unwrap();
    let said = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let offered: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
    let [look, adopt] = offered.as_slice() else { panic!("{said}") };
    assert!(look.ends_with(" plans") && adopt.ends_with(" adopt"), "{said}");
    // The program is not on the search path, and its database is not the default one.
    let run = |line: &str| {
        let plain = world.command("home");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]).env_clear().current_dir(world.path("project"));
        let kept = plain.get_envs().filter(|it| it.0 != "PATH");
        shell.envs(kept.filter_map(|(name, value)| Some((name, value?))));
        shell.env("PATH", "/usr/bin:/bin");
        finish(shell, b"")
    };
    let ran = run(look);
    assert_eq!((ran.code, ran.out.contains(" 0/1 ")), (0, true), "{look}: {}{}", ran.out, ran.err);
    let ran = run(&format!("{adopt} --list"));
    assert!(ran.out.contains("1 open"), "{adopt}: {} {}{}", ran.code, ran.out, ran.err);
}

#[test]
fn a_sessions_plan_is_called_like_what_the_user_last_said_before_it() {
    let long = format!("Build {} and test it", "a very good parser ".repeat(10));
    for (said, title) in [
        (&["Hello", "Build a parser\n\nof TOML, please"][..], "Build a parser"),
        (&["Build it", "/compact"], "Build it"),
        (&[&long], "Build a very good parser a very good parser a very good par…"),
        (&["  \n"], ""),
        (&[], ""),
    ] {
        let world = World::new();
        hook(&world, "SessionStart", json!({"source": "startup"}));
        for prompt in said {
            silent(&hook(&world, "UserPromptSubmit", json!({"prompt": prompt})));
        }
        silent(&hook(&world, "PostToolUse", create(1)));
        silent(&hook(&world, "UserPromptSubmit", json!({"prompt": "Something else"})));
        silent(&hook(&world, "PostToolUse", create(2)));
        assert_eq!(plan(&world)["plan"]["title"], title, "{said:?}");
    }
}

#[test]
fn a_session_from_its_start_to_its_end() {
    let world = World::new();
    silent(&hook(&world, "SessionStart", json!({"source": "startup"})));
    silent(&hook(&world, "UserPromptSubmit", json!({"prompt": "Fix it"})));
    silent(&hook(&world, "PostToolUse", create(1)));
    silent(&hook(&world, "PostToolUse", create(2)));
    silent(&hook(&world, "PostToolUse", update(1, "completed")));
    let refused = hook(&world, "Stop", json!({"last_assistant_message": "Done."}));
    assert_eq!((refused.code, refused.err.as_str()), (0, ""));
    assert!(refused.out.ends_with("}\n") && refused.out.lines().count() == 1, "{}", refused.out);
    let answer = refused.json();
    assert_eq!(answer["decision"], "block");
    assert!(answer["reason"].as_str().unwrap().contains("2. Task no. 2 (pending, ready)"));
    let put_back = hook(&world, "SessionStart", json!({"source": "compact"})).json();
    let text = put_back["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(text.contains("[ ] 2. Task no. 2") && !text.contains("no. 1"), "{text}");
    silent(&hook(&world, "PostToolUse", update(2, "completed")));
    silent(&hook(&world, "Stop", json!({"last_assistant_message": "Now."})));
    silent(&hook(&world, "SessionEnd", json!({"reason": "other"})));
    let plan = plan(&world);
    assert_eq!(plan["plan"]["conversation"], "12345678-aaaa-bbbb");
    assert_eq!(plan["progress"]["percent"], 100);
    assert_eq!(failures(&world), [""; 0]);
}

#[test]
fn twenty_hooks_at_once_lose_nothing_and_numbers_stay() {
    let world = World::new();
    let all = |fields: &(dyn Fn(usize) -> (&'static str, Value) + Sync)| {
        std::thread::scope(|scope| {
            for id in 1..=20 {
                let (world, (name, fields)) = (&world, fields(id));
                scope.spawn(move || silent(&hook(world, name, fields)));
            }
        });
    };
    // The session is not recorded yet, and each task is reported twice, in parallel.
    all(&|n| ("PostToolUse", create(n.div_ceil(2))));
    all(&|n| ("PostToolUse", create(n)));
    let before = plan(&world);
    let items = before["items"].as_array().unwrap();
    let titles: BTreeSet<&str> = items.iter().map(|it| it["title"].as_str().unwrap()).collect();
    assert_eq!((items.len(), titles.len()), (20, 20), "{titles:?}");
    all(&|n| ("PostToolUse", update(n, "completed")));
    let after = plan(&world);
    let numbers = |list: &Value| -> Vec<(String, String)> {
        let items = list["items"].as_array().unwrap();
        items.iter().map(|it| (it["number"].to_string(), it["title"].to_string())).collect()
    };
    assert_eq!(numbers(&before), numbers(&after));
    assert_eq!(after["progress"]["completed"], 20);
    silent(&hook(&world, "Stop", json!({"last_assistant_message": "Done."})));
    assert_eq!(failures(&world), [""; 0]);
}

#[test]
fn sessions_share_a_plan_by_name_where_they_are_told_to() {
    let world = World::new();
    for (session, how) in [("one", "option"), ("two", "environment")] {
        let mut fields = create(1);
        fields["session_id"] = json!(session);
        let mut command = world.command("home");
        command.args(["hook", "claude"]);
        match how {
            "option" => command.args(["--plan", "release"]),
            _ => command.env("PUNCHLIST_PLAN", "release"),
        };
        silent(&finish(command, &event(&world, "PostToolUse", fields)));
    }
    let list = plan(&world);
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
}

#[test]
fn whoever_installed_it_is_told_the_version_by_event_or_by_argument() {
    let world = World::new();
    let version = json!({"systemMessage": concat!("punchlist ", env!("CARGO_PKG_VERSION"))});
    let told = world.run_with(&["hook", "claude"], br#"{"hook_event_name":"PunchlistDoctor"}"#);
    assert_eq!(told.json(), version);
    let told = world.run_with(&["hook", "claude", "punchlist-doctor"], b"{}");
    assert_eq!(told.json(), version);
    assert!(!world.path("home/.local/share/punchlist/punchlist.db").exists(), "it makes nothing");
}

#[test]
fn what_is_no_event_is_answered_with_nothing() {
    let world = World::new();
    for bytes in [
        &b""[..],
        b"{",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        br#"{"hook_event_name":"Stop"}"#,
        br#"{"hook_event_name":"Stop","session_id":""}"#,
        br#"{"hook_event_name":"Notification","session_id":"x"}"#,
        br#"{"hook_event_name":7,"session_id":"x"}"#,
    ] {
        silent(&world.run_with(&["hook", "claude"], bytes));
    }
    for it in punchlist_testkit::not_utf8() {
        silent(&world.run_with(&["hook", "claude"], it.bytes));
    }
}

#[test]
fn wrong_arguments_never_look_like_a_refusal() {
    let world = World::new();
    for arguments in [
        &["hook"][..],
        &["hook", "claude", "--nonsense"],
        &["hook", "claude", "Stop", "more"],
        &["hook", "nobody"],
        &["hook", "claude", "-c", "nonsense"],
        &["hook", "claude", "--plan", ""],
    ] {
        let ran = world.run_with(arguments, &event(&world, "Stop", json!({})));
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{arguments:?}");
    }
}

/// A stop that would be refused, with a broken database named by an option.
#[track_caller]
fn check_broken(db: &str, breaks: impl FnOnce(&World), expected: &str) {
    let world = World::new();
    let db = world.path(db);
    let run = || {
        let mut command = world.command("project");
        command.args(["hook", "claude", "--db"]).arg(&db);
        command.env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
        command
    };
    let stop = event(&world, "Stop", json!({"last_assistant_message": "Done."}));
    silent(&finish(run(), &event(&world, "PostToolUse", create(1))));
    assert!(finish(run(), &stop).out.contains("block"));
    breaks(&world);
    silent(&finish(run(), &stop));
    let told = failures(&world);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(expected), "{told:?}");
    assert!(!told[0].contains("Task no. 1"), "{told:?}");
}

#[test]
fn a_database_that_is_gone_begins_anew() {
    let world = World::new();
    silent(&hook(&world, "PostToolUse", create(1)));
    fs::remove_dir_all(world.path("home/.local")).unwrap();
    silent(&hook(&world, "Stop", json!({"last_assistant_message": "Done."})));
    silent(&hook(&world, "PostToolUse", update(1, "in_progress")));
    assert_eq!(plan(&world)["items"][0]["title"], "Task 1");
}

#[test]
fn a_broken_database_lets_the_agent_go_on() {
    let breaks = |world: &World| {
        for name in ["x.db-wal", "x.db-shm"] {
            fs::remove_file(world.path(name)).ok();
        }
        fs::write(world.path("x.db"), "no database at all, but long enough to be one".repeat(99))
            .unwrap();
    };
    check_broken("x.db", breaks, "x.db");
}

#[test]
fn a_database_of_a_newer_version_lets_the_agent_go_on() {
    let breaks = |world: &World| {
        let database = rusqlite::Connection::open(world.path("x.db")).unwrap();
        database.pragma_update(None, "user_version", 9999).unwrap();
    };
    check_broken("x.db", breaks, "schema 9999");
}

#[test]
fn a_database_that_is_no_file_lets_the_agent_go_on() {
    let breaks = |world: &World| {
        for name in ["x.db", "x.db-wal", "x.db-shm"] {
            fs::remove_file(world.path(name)).ok();
        }
        fs::create_dir(world.path("x.db")).unwrap();
    };
    check_broken("x.db", breaks, "x.db");
}

#[test]
fn a_database_that_cannot_be_written_lets_the_agent_go_on() {
    let world = World::new();
    let create = event(&world, "PostToolUse", create(1));
    silent(&world.run_with(&["hook", "claude", "--db", "../ro/my.db"], &create));
    let dir = world.path("ro");
    let Some(run) = read_only(&world, &dir) else { return };
    silent(&run(&["hook", "claude", "--db", "../ro/my.db"], &event(&world, "Stop", json!({}))));
    let told = failures(&world);
    assert!(told.len() == 1 && told[0].contains("my.db"), "{told:?}");
}

#[test]
fn a_database_that_others_hold_for_long_lets_the_agent_go_on_in_time() {
    let world = World::new();
    silent(&hook(&world, "PostToolUse", create(1)));
    let db = world.path("home/.local/share/punchlist/punchlist.db");
    let holder = rusqlite::Connection::open(db).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    // A first refusal must be recorded, which fails here.
    silent(&hook(&world, "Stop", json!({"last_assistant_message": "Done."})));
    let told = failures(&world);
    assert!(told.len() == 1 && told[0].contains("another program has been using"), "{told:?}");
    holder.execute_batch("ROLLBACK").unwrap();
    assert!(hook(&world, "Stop", json!({"last_assistant_message": "Done."})).out.contains("block"));
}

#[test]
fn without_a_home_a_named_database_still_works_and_nothing_else_fails() {
    let world = World::new();
    let run = |arguments: &[&str], name: &str, fields: Value| {
        let mut command = world.command("project");
        command.env_remove("HOME").args(["hook", "claude"]).args(arguments);
        finish(command, &event(&world, name, fields))
    };
    let db = world.path("x.db").display().to_string();
    silent(&run(&["--db", &db], "PostToolUse", create(1)));
    assert!(run(&["--db", &db], "Stop", json!({})).out.contains("block"));
    let without = run(&[], "Stop", json!({}));
    assert_eq!((without.code, without.out.as_str()), (0, ""));
}

#[test]
fn a_directory_that_is_gone_does_not_hide_the_session() {
    let world = World::new();
    let mut fields = create(1);
    fields["cwd"] = json!("/nowhere/at/all");
    silent(&hook(&world, "PostToolUse", fields));
    assert_eq!(plan(&world)["items"][0]["title"], "Task no. 1");
}

fn hanging(world: &World, stdin: Stdio) -> Command {
    let mut command = world.command("project");
    command.args(["hook", "claude"]).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_stdin_that_is_closed_or_never_ends_lets_the_agent_go_on() {
    let world = World::new();
    let closed = hanging(&world, Stdio::null()).output().unwrap();
    assert_eq!((closed.status.code(), closed.stdout), (Some(0), Vec::new()));

    // Endless input is read up to a limit.
    let mut child = hanging(&world, Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let chunk = vec![b' '; 1024 * 1024];
    while pipe.write_all(&chunk).is_ok() {}
    let endless = child.wait_with_output().unwrap();
    assert_eq!((endless.status.code(), endless.stdout), (Some(0), Vec::new()));

    // No input and no end of input: the watchdog ends the process.
    let mut child = hanging(&world, Stdio::piped()).spawn().unwrap();
    let pipe = child.stdin.take().unwrap();
    let silent = child.wait_with_output().unwrap();
    drop(pipe);
    assert_eq!((silent.status.code(), silent.stdout), (Some(0), Vec::new()));
    assert_eq!(
        failures(&world),
        ["\"cannot read stdin: more than 16 MB\"", "\"no answer within 2 seconds\""]
    );
}

#[test]
fn a_list_that_the_environment_names_is_where_the_agents_tasks_are() {
    let world = World::new();
    let file = json!({"id": "7", "subject": "Shared", "description": "d", "status": "pending",
        "blocks": [], "blockedBy": []});
    world.write("home/elsewhere/tasks/my-plan/7.json", file.to_string());
    let home = world.path("home/elsewhere");
    let variables =
        [("CLAUDE_CODE_TASK_LIST_ID", "my-plan"), ("CLAUDE_CONFIG_DIR", home.to_str().unwrap())];
    silent(&hook_with(&world, "PostToolUse", update(7, "in_progress"), &variables));
    assert_eq!(plan(&world)["items"][0]["title"], "Shared");
}

#[test]
fn a_task_from_before_is_taken_up_from_the_agents_own_file() {
    let world = World::new();
    let file = json!({"id": "7", "subject": "From before", "description": "d", "status": "pending",
        "blocks": [], "blockedBy": []});
    world.write("home/.claude/tasks/12345678-aaaa-bbbb/7.json", file.to_string());
    world.write(
        "home/.claude/secret.json",
        json!({"id": "../../secret", "subject": "x"}).to_string(),
    );
    silent(&hook(&world, "PostToolUse", update(7, "in_progress")));
    let mut odd = update(1, "in_progress");
    odd["tool_input"]["taskId"] = json!("../../secret");
    odd["tool_response"]["taskId"] = json!("../../secret");
    silent(&hook(&world, "PostToolUse", odd));
    let list = plan(&world);
    assert_eq!(list["items"][0]["title"], "From before");
    assert_eq!(list["items"][1]["title"], "Task ../../secret");
}
