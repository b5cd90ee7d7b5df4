//! Notices of a team, and its records in `watch`.

use super::*;

const CONFIG: &str = "home/.config/punchlist/config.toml";

/// A team whose user is told by a command that keeps what it is given.
fn told_world() -> World {
    let world = world(TEAM);
    let file = world.path("notices.jsonl").display().to_string();
    world.write(CONFIG, format!("[notify]\ncommand = 'cat >> {file}'\nafter = 0\n"));
    world
}

/// What the user was told, once there are this many notices.
fn told(world: &World, count: usize) -> Vec<Value> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let text = read(world, "notices.jsonl");
        if text.ends_with('\n') && text.lines().count() >= count {
            return events(&text);
        }
        assert!(Instant::now() < until, "{text}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_ends_of_turns_are_told_once_with_the_members_name_and_last_sentence() {
    let world = told_world();
    let parts = [("codex", "killed")];
    let Ran { code, out, err } = ran(&world, &parts, &["--send", "@all go"], "");
    assert_eq!(code, 6, "{out}\n{err}");
    let mut told = told(&world, 3);
    told.sort_by_key(|it| it["agent"].as_str().unwrap().to_owned());
    assert_eq!(told.len(), 3, "{told:#?}");
    let fields = |it: &Value| {
        let text = |name: &str| it[name].as_str().unwrap().to_owned();
        (text("agent"), text("kind"), text("title"))
    };
    let expected = [
        ("Max", "done", "Max in project is done"),
        ("kim", "failed", "kim in project failed"),
        ("zoe", "done", "zoe in project is done"),
    ];
    let expected =
        expected.map(|(agent, kind, title)| (agent.to_owned(), kind.to_owned(), title.to_owned()));
    assert_eq!(told.iter().map(fields).collect::<Vec<_>>(), expected);
    assert_eq!(told[0]["text"], "Claude has **fixed** it.");
    assert!(told[1]["text"].as_str().unwrap().contains("SIGKILL"), "{told:#?}");
    assert_eq!(told[0]["session"], "s-1");
}

#[test]
fn a_question_of_a_member_is_told_with_the_command_that_answers_it() {
    let world = told_world();
    let Some(terminal) = Terminal::open(&world, 100) else { return };
    let line = format!(
        "clear; unset PUNCHLIST_NOW; PATH={}:$PATH PART_claude=asks {PROGRAM} team --file {}; echo end $?",
        world.path("home/bin").display(),
        world.path("team.toml").display(),
    );
    terminal.types(&[&line, "Enter"]);
    terminal.until(|it| it.contains("nobody addressed yet"));
    terminal.types(&["@max go", "Enter"]);
    terminal.until(|it| it.contains("Max wants to run") && it.contains("y once"));
    let question = told(&world, 1).remove(0);
    assert_eq!((&question["kind"], &question["agent"]), (&json!("question"), &json!("Max")));
    assert_eq!(question["text"], "Max: make install");
    let answer = question["answer"].as_str().unwrap();
    assert!(answer.starts_with("punchlist answer "), "{question}");
    terminal.types(&["y"]);
    terminal.until(|it| it.contains("Claude has fixed it."));
    assert_eq!(told(&world, 2)[1]["kind"], "done");
}

#[test]
fn a_watcher_reads_a_teams_record_from_a_file_and_from_a_pipe() {
    let world = world(TEAM);
    let record = world.path("talk.jsonl");
    let record = record.to_str().unwrap();
    let more = ["--send", "@all go", "--record", record];
    assert_eq!(ran(&world, &[], &more, "").code, 0);
    let shown = world.run(&["watch", "--once", record]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    for text in ["claude", "codex", "gemini", "1/2", "1/1", "3 agents idle"] {
        assert!(shown.out.contains(text), "{text}\n{}", shown.out);
    }
    let piped = world.run_with(&["watch", "--json", "-"], read(&world, "talk.jsonl").as_bytes());
    assert_eq!(piped.code, 0, "{}", piped.err);
    let told = events(&piped.out);
    for (member, agent) in
        [("max", "claude-code"), ("kim", "openai-codex"), ("zoe", "google-gemini")]
    {
        let lists = told.iter().filter(|it| it["agentId"] == member && it["type"] == "todo_list");
        let lists: Vec<&Value> = lists.collect();
        assert_eq!(lists.len(), 1, "{member}: {}", piped.out);
        assert_eq!(lists[0]["agentType"], agent);
    }
}
