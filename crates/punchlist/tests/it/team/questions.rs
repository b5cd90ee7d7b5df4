//! What members may do: asked at the team's screen, answered there or elsewhere, refused where nobody is.

use super::*;

const CONFIG: &str = "home/.config/punchlist/config.toml";

/// The members that can ask: Claude Code, an agent that speaks ACP, and our own runtime.
fn asking_world() -> World {
    let world = world("");
    let write = json!({"path": "made.txt", "content": "new\n"});
    let answers = json!({"answers": [
        {"calls": [{"tool": "write", "arguments": write}]},
        {"text": "It is written."},
        {"text": "Again."},
    ]});
    world.write("scenario.json", answers.to_string());
    let scenario = world.path("scenario.json").display().to_string();
    world.write(
        "team.toml",
        format!(
            "[[team.members]]\nname = 'max'\ndisplayName = 'Max'\nagentType = 'claude'\n\
             [[team.members]]\nname = 'ed'\nagentType = 'acp'\ncommand = ['editor', '--acp']\n\
             [[team.members]]\nname = 'own'\ndisplayName = 'Ada'\nagentType = 'punchlist'\n\
             model = 'scripted:{scenario}'\n"
        ),
    );
    world
}

const ASK: [(&str, &str); 2] = [("claude", "asks"), ("editor", "asks")];

/// The team at a terminal.
fn at_terminal(world: &World, more: &str) -> Option<Terminal> {
    let terminal = Terminal::open(world, 100)?;
    let (bin, file) = (world.path("home/bin"), world.path("team.toml"));
    let record = world.path("talk.jsonl");
    let line = format!(
        "clear; unset PUNCHLIST_NOW; PATH={}:$PATH PART_claude=asks PART_editor=asks {PROGRAM} team \
         --file {} --record {} {more}; echo end $?",
        bin.display(),
        file.display(),
        record.display()
    );
    terminal.types(&[&line, "Enter"]);
    terminal.until(|it| it.contains("nobody addressed yet"));
    Some(terminal)
}

/// The answers that the programs got.
fn answers(world: &World) -> Vec<Value> {
    let told = read(world, "home/told.txt");
    let lines = told.lines().filter_map(|it| it.strip_prefix("answer "));
    lines.map(|it| serde_json::from_str(it).unwrap()).collect()
}

#[test]
fn each_kind_of_member_asks_the_person_at_the_screen_and_hears_the_answer() {
    let world = asking_world();
    let Some(terminal) = at_terminal(&world, "") else { return };
    terminal.types(&["@max install it", "Enter"]);
    let shown = terminal.until(|it| it.contains("Max wants to run") && it.contains("y once"));
    assert!(shown.contains("make install") && shown.contains("asks you"), "{shown}");
    terminal.types(&["y"]);
    terminal.until(|it| it.contains("Claude has fixed it."));
    let answer = &answers(&world)[0]["response"]["response"];
    let input = json!({"command": "make install", "timeout": 5});
    assert_eq!(*answer, json!({"behavior": "allow", "updatedInput": input}));

    terminal.types(&["@ed install it", "Enter"]);
    terminal.until(|it| it.contains("ed wants to run") && it.contains("y once"));
    terminal.types(&["y"]);
    terminal.until(|it| it.contains("to ed · /help"));
    assert_eq!(answers(&world)[1]["result"]["outcome"]["optionId"], "yes");

    terminal.types(&["@own write it", "Enter"]);
    let shown =
        terminal.until(|it| it.contains("Ada wants to create made.txt") && it.contains("y once"));
    assert!(shown.contains("1 + new"), "the change is shown: {shown}");
    assert!(!world.path("project/made.txt").exists());
    terminal.types(&["y"]);
    terminal.until(|it| it.contains("It is written."));
    assert_eq!(read(&world, "project/made.txt"), "new\n");
    terminal.types(&["C-d"]);
    terminal.until(|it| it.contains("end 0"));
    // The record has the questions and who answered.
    let all = events(&read(&world, "talk.jsonl"));
    for member in ["max", "ed", "own"] {
        let told = of(&all, member);
        let waits = told.iter().position(|it| it == "tool.waiting").expect(member);
        let answered = told.iter().position(|it| it == "tool.answered").expect(member);
        assert!(waits < answered, "{told:?}");
    }
    let answered: Vec<&Value> = all.iter().filter(|it| it["type"] == "tool.answered").collect();
    assert!(answered.iter().all(|it| it["answer"] == "yes, once"), "{answered:?}");
    assert!(world.run(&["questions", "--json"]).out.contains("[]"));
}

#[test]
fn a_question_of_a_member_is_answered_from_another_terminal_with_its_name() {
    let world = asking_world();
    let Some(terminal) = at_terminal(&world, "") else { return };
    for (message, name, said) in [
        ("@max go", "Max", "Claude has fixed it."),
        ("@ed go", "ed", "to ed · /help"),
        ("@own go", "Ada", "It is written."),
    ] {
        terminal.types(&[message, "Enter"]);
        terminal.until(|it| it.contains(&format!("{name} wants to ")));
        let listed = world.run(&["questions"]).out;
        assert!(listed.contains(&format!("{name} wants to ")), "{listed}");
        let mut command = world.command("project");
        command.env_remove("PUNCHLIST_NOW").env_remove("PUNCHLIST_SEED").args(["answer", "yes"]);
        let (ran, seen) = world.answering(&command, &["y"]);
        assert_eq!(ran.code, 0, "{}\n{seen}", ran.err);
        let shown = terminal.until(|it| it.contains(said));
        let told = format!("{name} was answered by me@host: yes, once");
        assert!(shown.contains(&told), "{shown}");
    }
    assert_eq!(answers(&world).len(), 2);
    assert_eq!(read(&world, "project/made.txt"), "new\n");
}

#[test]
fn a_person_refuses_with_a_reason_changes_the_command_or_ends_the_turn() {
    let world = asking_world();
    let Some(terminal) = at_terminal(&world, "") else { return };
    let ask = |message: &str| {
        terminal.types(&[message, "Enter"]);
        terminal.until(|it| it.contains("Max wants to run") && it.contains("y once"));
    };
    let answer = |number: usize| answers(&world)[number]["response"]["response"].clone();
    ask("@max one");
    terminal.types(&["r"]);
    terminal.until(|it| it.contains("why not:"));
    terminal.types(&["not on a Friday", "Enter"]);
    terminal.until(|it| it.matches("Claude has fixed it.").count() == 1);
    let refused = json!({"behavior": "deny", "message": "the user refused: not on a Friday",
                         "interrupt": false});
    assert_eq!(answer(0), refused);
    ask("@max two");
    terminal.types(&["e"]);
    terminal.until(|it| it.contains("run instead:"));
    terminal.types(&[" -n", "Enter"]);
    terminal.until(|it| it.contains("this would run instead:") && it.contains("y run it"));
    terminal.types(&["y"]);
    terminal.until(|it| it.matches("Claude has fixed it.").count() == 2);
    let input = json!({"command": "make install -n", "timeout": 5});
    assert_eq!(answer(1)["updatedInput"], input);
    ask("@max three");
    terminal.types(&["q"]);
    terminal.until(|it| it.contains("Max was stopped"));
    // Esc takes the question away too.
    ask("@max four");
    terminal.types(&["Escape"]);
    terminal.until(|it| it.matches("Max was stopped").count() == 2);
    terminal.until(|it| !it.contains("Max wants to run"));
    assert!(world.run(&["questions", "--json"]).out.contains("[]"));
}

#[test]
fn always_holds_for_the_next_member_too_and_session_for_the_same_one() {
    let world = asking_world();
    let Some(terminal) = at_terminal(&world, "") else { return };
    terminal.types(&["@ed go", "Enter"]);
    terminal.until(|it| it.contains("ed wants to run") && it.contains("y once"));
    terminal.types(&["s"]);
    terminal.until(|it| it.contains("to ed · /help"));
    terminal.types(&["@ed again", "Enter"]);
    terminal.until(|it| it.contains("✅ Step 2") && it.contains("to ed · /help"));
    assert_eq!(answers(&world).len(), 2, "the second was not asked");
    terminal.types(&["@max go", "Enter"]);
    terminal.until(|it| it.contains("Max wants to run") && it.contains("y once"));
    terminal.types(&["a"]);
    terminal.until(|it| it.contains("this would be added to"));
    terminal.types(&["p"]);
    terminal.until(|it| it.matches("Claude has fixed it.").count() == 1);
    assert!(read(&world, CONFIG).contains(r#"command = ["make", "install"]"#));
    terminal.types(&["@max again", "Enter"]);
    terminal.until(|it| it.matches("Claude has fixed it.").count() == 2);
    assert_eq!(answers(&world).len(), 4);
    assert_eq!(answers(&world)[3]["response"]["response"]["behavior"], "allow");
}

#[test]
fn without_a_terminal_the_policy_decides_and_what_it_leaves_open_is_refused() {
    let world = asking_world();
    let Ran { code, out, err } = ran(&world, &ASK, &["--send", "@all go"], "");
    assert_eq!(code, 0, "{out}\n{err}");
    for name in ["Max", "ed"] {
        let told = format!("{name}: not allowed: make install: ");
        assert!(out.contains(&told), "{out}");
    }
    assert!(out.contains("Ada: not allowed: "), "{out}");
    assert!(!world.path("project/made.txt").exists());
    assert!(world.run(&["questions", "--json"]).out.contains("[]"));
    let given = answers(&world);
    assert_eq!(given.len(), 2);
    for it in &given {
        let is_denied = it["response"]["response"]["behavior"] == "deny"
            || it["result"]["outcome"]["optionId"] == "no";
        assert!(is_denied, "{it}");
    }
    // What the user's policy allows needs nobody.
    world.write(
        CONFIG,
        "[[policy]]\ndecision = 'allow'\ntool = 'shell'\ncommand = ['make', 'install']\n",
    );
    let Ran { code, out, .. } = ran(&world, &ASK, &["--send", "@max @ed go"], "");
    assert!(code == 0 && !out.contains("not allowed"), "{out}");
    let given = &answers(&world)[2..];
    assert!(given.iter().any(|it| it["response"]["response"]["behavior"] == "allow"), "{given:?}");
    assert!(given.iter().any(|it| it["result"]["outcome"]["optionId"] == "yes"), "{given:?}");
}

#[test]
fn an_agent_whose_program_died_loads_its_conversation_or_says_that_it_cannot() {
    let team = "[[team.members]]\nname = 'ed'\nagentType = 'acp'\ncommand = ['editor', '--acp']\n";
    let world = world(team);
    let Ran { code, out, err } = ran(&world, &[("editor", "loads")], &[], "one\ntwo\n");
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(out.contains("ed: its program had ended: it was started again and goes on"), "{out}");
    assert!(!out.contains("What was said before."), "it is no news: {out}");
    assert_eq!(out.matches("Turn 1 of the editor.").count(), 2, "{out}");
    let told = read(&world, "home/told.txt");
    assert!(told.contains(r#""sessionId":"a-1""#) && told.contains("load "), "{told}");
    let Ran { code, out, .. } = ran(&world, &[("editor", "dies")], &[], "one\ntwo\n");
    assert_eq!(code, 0, "{out}");
    let said =
        "ed: its program had ended and cannot load conversations: this is a new conversation";
    assert!(out.contains(said), "{out}");
}

#[test]
fn our_own_runtime_goes_on_with_its_conversation_after_it_was_killed() {
    let world = world("");
    let answers = json!({"answers": [
        {"calls": [{"tool": "shell", "arguments": {"command": "kill -9 $(ps -o ppid= -p $PPID)"}}]},
        {"text": "Alive."},
        {"text": "And well."},
    ]});
    world.write("scenario.json", answers.to_string());
    let scenario = world.path("scenario.json").display().to_string();
    let config = "[agent]\nsandbox = 'off'\n[[policy]]\ndecision = 'allow'\ntool = 'shell'\n";
    world.write(CONFIG, config);
    world.write(
        "team.toml",
        format!("[[team.members]]\nname = 'own'\nagentType = 'punchlist'\nmodel = 'scripted:{scenario}'\n"),
    );
    let Ran { out, err, .. } = ran(&world, &[], &[], "one\ntwo\n");
    assert!(out.contains("own failed: it ended before it answered"), "{out}\n{err}");
    assert!(out.contains("own: its program had ended: it was started again and goes on"), "{out}");
    assert!(out.contains("Alive.") && out.contains("And well."), "{out}");
    let sessions = world.run(&["sessions", "--all", "--json"]).json();
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(1), "{sessions}\n{out}\n{err}");
}
