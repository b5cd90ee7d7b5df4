//! `run` on a terminal: drawn in place, with questions, stopped, and restored.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::terminal::Terminal;
use crate::world::World;

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_punchlist")
}

/// The screen below the command line, without the next prompt.
fn below(shown: &str) -> String {
    let lines = shown.lines().skip_while(|it| !it.starts_with("| begin")).skip(1);
    let lines = lines.take_while(|it| !it.starts_with("left "));
    lines.map(|it| it.trim_end().to_owned() + "\n").collect()
}

/// Runs a file in a terminal; `echo` marks its beginning and its exit code.
fn run(terminal: &Terminal, arguments: &str) {
    let command = format!("PATH=$HOME/bin:$PATH {} run {arguments}", program());
    let line = format!("clear; echo '| begin'; {command}; echo left $?");
    terminal.types(&[&line, "Enter"]);
}

fn without_plan(text: &str) -> String {
    // The plan's id differs in each run.
    let cut = |line: &str| match line.rfind("plan ") {
        Some(at) if line.contains(" jobs") => format!("{}plan xxxx", &line[..at]),
        Some(_) | None => line.to_owned(),
    };
    text.lines().map(|it| cut(it) + "\n").collect()
}

/// A program in place of Claude Code. The real one is tested in `tests/agents`.
const CLAUDE: &str = r#"#!/bin/sh
echo '{"type":"system","subtype":"init","session_id":"s-1","cwd":"/","tools":[],"model":"m"}'
echo "Hello from a worker" > "$TMPDIR/punchlist-agent/hello.txt"
echo '{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":1,"result":"Wrote it.","session_id":"s-1"}'
"#;

#[test]
fn examples_at_40_80_and_120_columns() {
    let mut screens = String::new();
    for name in ["hello", "diamond", "data-fix", "flaky", "release", "agent"] {
        for columns in [40, 80, 120] {
            let world = World::new();
            world.write("home/bin/claude", CLAUDE);
            let executable = fs::Permissions::from_mode(0o755);
            fs::set_permissions(world.path("home/bin/claude"), executable).unwrap();
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
            let text = fs::read_to_string(folder.join(name).with_extension("md")).unwrap();
            world.write(&format!("project/{name}.md"), text);
            let Some(terminal) = Terminal::open(&world, columns) else { return };
            run(&terminal, &format!("{name}.md --jobs 2 --yes"));
            let shown = terminal.until(|it| it.lines().any(|it| it == "left 0"));
            screens.push_str(&format!(
                "== {name}, {columns} columns\n{}\n",
                without_plan(&below(&shown))
            ));
        }
    }
    insta::assert_snapshot!(screens);
}

const ASKS: &str = "\
# Careful
- [ ] Publish
  approve: yes
  run: echo $0 published > published.txt
- [ ] Tell the team
  after: Publish
";

#[test]
fn a_person_is_asked_and_answers_with_a_key() {
    let world = World::new();
    world.write("project/plan.md", ASKS);
    let Some(terminal) = Terminal::open(&world, 80) else { return };
    run(&terminal, "plan.md --jobs 2");
    // The keys are the last lines of a question.
    let mut story = below(&terminal.until(|it| it.contains("q refuse and stop")));
    terminal.types(&["y"]);
    story.push_str("-- y\n");
    // A frame may be captured before it is complete.
    let is_next = |it: &str| it.contains("y it is done") && !it.contains("y once");
    story.push_str(&below(&terminal.until(is_next)));
    terminal.types(&["n"]);
    story.push_str("-- n\n");
    story.push_str(&below(&terminal.until(|it| it.lines().any(|it| it == "left 7"))));
    assert!(world.path("project/published.txt").exists());
    insta::assert_snapshot!(without_plan(&story));
}

#[test]
fn a_question_says_why_it_is_asked_and_what_comes_of_a_no() {
    let plan = "\
# Release 1.2
- [ ] Build
  run: true
- [ ] Publish
  Only from a clean checkout.
  after: Build
  run: ./publish.sh --prod
  verify: curl -f https://example.invalid/1.2
";
    let rule = "[[policy]]\ndecision = \"ask\"\ntool = \"shell\"\ncommand = \"./publish.sh\"\n";
    let mut story = String::new();
    for columns in [40, 80, 120] {
        let world = World::new();
        world.write("project/release.md", plan);
        world.write("home/.config/punchlist/config.toml", rule);
        let Some(terminal) = Terminal::open(&world, columns) else { return };
        run(&terminal, "release.md --jobs 2");
        let is_asked = |it: &str| it.contains("q refuse");
        story.push_str(&format!("== {columns} columns\n{}", below(&terminal.until(is_asked))));
        terminal.types(&["r", "not on a Friday", "Enter"]);
        let shown = terminal.until(|it| it.lines().any(|it| it == "left 7"));
        story.push_str(&format!("-- r\n{}", below(&shown)));
        let list = world.run(&["list", "--plan", "release.md", "--json"]).json();
        assert_eq!(list["items"][1]["outcome"], "refused: not on a Friday");
    }
    insta::assert_snapshot!(without_plan(&story));
}

#[test]
fn a_window_that_is_narrower_than_it_said_shows_one_frame() {
    let world = World::new();
    let title = "A title that is longer than the window is wide, by some words or other";
    let plan = format!(
        "# Narrow\n- [ ] {title}\n  run: for n in 1 2 3 4; do echo $n; sleep 0.1; done\n- [ ] Last\n  run: true\n"
    );
    world.write("project/plan.md", plan);
    let Some(terminal) = Terminal::open(&world, 50) else { return };
    // As between two reads of the window's size, only longer.
    terminal.types(&["stty cols 100", "Enter"]);
    run(&terminal, "plan.md --jobs 1");
    let shown = terminal.until(|it| it.lines().any(|it| it == "left 0"));
    assert_eq!(shown.matches("Narrow").count(), 1, "{shown}");
    assert_eq!(shown.matches("A title that is longer").count(), 1, "{shown}");
}

#[test]
fn ctrl_c_stops_it_and_the_next_run_goes_on() {
    let world = World::new();
    let plan = "- [ ] First\n  run: true\n- [ ] Slow\n  after: First\n  run: echo slow; while :; do sleep 0.05; done\n";
    world.write("project/plan.md", plan);
    let Some(terminal) = Terminal::open(&world, 80) else { return };
    run(&terminal, "plan.md");
    terminal.until(|it| it.contains("slow") && it.contains('▶'));
    terminal.types(&["C-c"]);
    let shown = terminal.until(|it| it.lines().any(|it| it == "left 130"));
    assert!(shown.contains("1 done, 0 failed, 1 left. Run it again to go on."), "{shown}");
    world.write("project/plan.md", plan.replace("while :; do sleep 0.05; done", "true"));
    run(&terminal, "plan.md");
    terminal.until(|it| it.lines().any(|it| it == "left 0"));
}

#[test]
fn a_question_may_be_answered_in_another_terminal() {
    let world = World::new();
    let plan = "\
- [ ] Publish
  approve: yes
  run: echo published > published.txt
- [ ] Wait
  after: Publish
  run: until test -e go; do sleep 0.02; done
";
    world.write("project/plan.md", plan);
    let Some(terminal) = Terminal::open(&world, 80) else { return };
    run(&terminal, "plan.md");
    terminal.until(|it| it.contains("r refuse and say why"));
    let home = world.path("home").display().to_string();
    let answer = format!(
        "env -i HOME={home} USER=she TERM=screen PUNCHLIST_HOST=host PUNCHLIST_ANCESTORS=0 {} answer yes",
        program()
    );
    let project = world.path("project").display().to_string();
    terminal.run(&["split-window", "-d", "-c", &project, &answer]);
    let other = || terminal.run(&["capture-pane", "-p", "-t", ".1"]).stdout;
    terminal.until(|_| String::from_utf8_lossy(&other()).contains("[y/N]"));
    terminal.run(&["send-keys", "-t", ".1", "y", "Enter"]);
    // The question is gone, with a note of who answered it. The screen may be captured while it is
    // drawn, so wait for both.
    terminal.until(|it| it.contains("Publish was answered by she@host") && !it.contains("y once"));
    world.write("project/go", "");
    terminal.until(|it| it.lines().any(|it| it == "left 0"));
    assert!(world.path("project/published.txt").exists());
    let told = world.run(&["questions", "--all", "--json"]).json();
    assert_eq!(told["questions"][0]["answer"]["by"]["name"], "she@host", "{told:#}");
}
