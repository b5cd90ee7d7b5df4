//! Questions at a terminal: the possible answers, their effects, and typing another command.

use std::fs;
use std::process::{Child, Stdio};

use super::until;
use crate::questions::at_terminal;
use crate::terminal::Terminal;
use crate::world::{World, finish};

const CONFIG: &str = "home/.config/punchlist/config.toml";
const ALLOW_ECHO: &str = "[[policy]]\ndecision = \"allow\"\ntool = \"shell\"\ncommand = \"echo\"\n";

/// Runs a file in a terminal; `left N` appears when it has ended.
fn run(terminal: &Terminal, arguments: &str) {
    let program = env!("CARGO_BIN_EXE_punchlist");
    let line = format!("clear; {program} run {arguments}; echo left $?");
    terminal.types(&[&line, "Enter"]);
}

fn left(terminal: &Terminal, code: i32) -> String {
    let end = format!("left {code}");
    terminal.until(|it| it.lines().any(|it| it == end))
}

fn is_asked(shown: &str) -> bool {
    shown.contains("q refuse and stop")
}

fn text(world: &World, path: &str) -> String {
    fs::read_to_string(world.path(path)).unwrap_or_default()
}

const PUBLISH: &str = "- [ ] Publish\n  approve: yes\n  run: echo published >> log.txt\n";

#[test]
fn approve_yes_asks_although_a_rule_allows_the_command_and_always_is_not_offered() {
    let world = World::new();
    world.write("project/plan.md", PUBLISH);
    let write = "[[policy]]\ndecision = \"allow\"\ntool = \"*\"\n";
    world.write(CONFIG, format!("{ALLOW_ECHO}{write}"));
    let Some(terminal) = Terminal::open(&world, 100) else { return };
    run(&terminal, "plan.md");
    let shown = terminal.until(is_asked);
    assert!(shown.contains("the plan asks first (approve: yes)"), "{shown}");
    assert!(!shown.contains("always") && !shown.contains("s this run"), "{shown}");
    terminal.types(&["a", "s", "y"]);
    left(&terminal, 0);
    assert_eq!(text(&world, "project/log.txt"), "published\n");
}

#[test]
fn a_persons_yes_beforehand_answers_approve_yes_and_an_agents_does_not() {
    let world = World::new();
    world.write("project/plan.md", PUBLISH);
    world.write(CONFIG, "[[policy]]\ndecision = \"allow\"\ntool = \"*\"\n");
    let by_agent = |arguments: &[&str]| {
        let mut command = world.command("project");
        command.args(arguments).env("CLAUDECODE", "1");
        finish(command, b"")
    };
    assert_eq!(by_agent(&["run", "plan.md", "--yes"]).code, 3);
    assert_eq!(by_agent(&["run", "plan.md"]).code, 7);
    assert_eq!(text(&world, "project/log.txt"), "");
    assert_eq!(world.run(&["run", "plan.md", "--yes"]).code, 0);
    assert_eq!(text(&world, "project/log.txt"), "published\n");
}

/// A run that an agent has started, until it asks. It ends with the test.
struct OfAgent(Child);

impl OfAgent {
    fn starts(world: &World, plan: &str) -> Self {
        world.write("project/plan.md", plan);
        let mut command = world.command("project");
        command.args(["run", "plan.md", "--wait", "--jobs", "1"]).env("CLAUDECODE", "1");
        command.env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        until(|| !waiting(world).is_empty());
        Self(child)
    }

    fn ends(mut self) -> i32 {
        self.0.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for OfAgent {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The commands with an open question.
fn waiting(world: &World) -> Vec<String> {
    let told = world.run(&["questions", "--json"]).json();
    let all = told["questions"].as_array().unwrap();
    all.iter().map(|it| it["command"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn always_shows_every_rule_of_a_chain_and_where_and_writes_them_for_the_project() {
    let world = World::new();
    fs::create_dir_all(world.path("project/src")).unwrap();
    let plan = "\
- [ ] Test
  run: cd src && echo tested >> /dev/null
- [ ] Again
  run: cd src && echo more
- [ ] Once more
  run: cd src && echo more and more
";
    let run = OfAgent::starts(&world, plan);
    let project = world.path("project").display().to_string();
    // Going back adds nothing, and an empty line leaves a question open.
    let Some(ran) = at_terminal(&world, "answer", "a\n\n\n\n\n", &[]) else { return };
    for words in [
        "a always cd src, echo tested".to_owned(),
        format!("this is added to {}:", world.path(CONFIG).display()),
        format!("command = [\"cd\", \"src\"], project = \"{project}\""),
        format!("command = [\"echo\", \"tested\"], project = \"{project}\""),
        "p for this project, g without project, for all, Enter goes back?".to_owned(),
    ] {
        assert!(ran.out.replace('\n', " ").contains(&words), "{words}: {}", ran.out);
    }
    assert_eq!(text(&world, CONFIG), "");
    at_terminal(&world, "answer", "a\np\n\n\n", &[]).unwrap();
    until(|| waiting(&world).len() == 2);
    let rules = text(&world, CONFIG);
    assert_eq!(rules.matches("[[policy]]").count(), 2, "{rules}");
    assert_eq!(rules.matches(&format!("project = \"{project}\"")).count(), 2, "{rules}");
    // The others were asked before that. Rules for the session are not stored.
    let told = world.run(&["questions", "--json"]).json();
    let second = told["questions"][0]["id"].as_str().unwrap();
    let ran = at_terminal(&world, &format!("answer {second} session"), "y\n", &[]).unwrap();
    assert!(ran.out.contains("until the run ends, cd src, echo more"), "{}", ran.out);
    assert_eq!(run.ends(), 0, "the third begins like the second");
    assert_eq!(text(&world, CONFIG), rules);
}

#[test]
fn everywhere_is_said_and_a_program_of_the_project_is_allowed_there_alone() {
    let world = World::new();
    world.write("project/check.sh", "#!/bin/sh\ntrue\n");
    let run = OfAgent::starts(&world, "- [ ] Check\n  run: ./check.sh\n");
    let Some(ran) = at_terminal(&world, "answer always --everywhere", "", &[]) else { return };
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.out.contains("each project has its own program at that path"), "{}", ran.out);
    at_terminal(&world, "answer no --reason 'not now'", "", &[]).unwrap();
    assert_eq!(run.ends(), 7);
    let run = OfAgent::starts(&world, "- [ ] Say\n  run: echo more\n");
    let ran = at_terminal(&world, "answer always --everywhere", "y\n", &[]).unwrap();
    assert!(ran.out.contains("this is added to "), "{}", ran.out);
    assert_eq!(run.ends(), 0);
    let rules = text(&world, CONFIG);
    assert!(rules.contains("command = [\"echo\", \"more\"]"), "{rules}");
    assert!(!rules.contains("project ="), "{rules}");
}

#[test]
fn always_is_not_offered_for_commands_whose_next_words_are_a_program_or_a_target() {
    let world = World::new();
    let plan = "- [ ] Clean\n  run: rm -rf build\n";
    let run = OfAgent::starts(&world, plan);
    let Some(ran) = at_terminal(&world, "answer always", "", &[]) else { return };
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.out.contains("answer with one of: yes, edit, no, stop."), "{}", ran.out);
    at_terminal(&world, "answer stop", "", &[]).unwrap();
    assert_eq!(run.ends(), 7);
}

#[test]
fn an_item_for_an_agent_offers_that_agent_and_the_tool() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Build\n  run: true\n");
    assert_eq!(world.run(&["run", "plan.md"]).code, 0);
    // An item that an agent added for another agent.
    let mut command = world.command("project");
    command.args(["add", "Write it", "--plan", "plan.md", "--agent", "claude"]);
    command.env("CLAUDECODE", "1");
    finish(command, b"").works();
    let Some(terminal) = Terminal::open(&world, 120) else { return };
    run(&terminal, "plan.md");
    let shown = terminal.until(is_asked);
    assert!(shown.contains("a always agent claude"), "{shown}");
    terminal.types(&["a"]);
    let shown = terminal.until(|it| it.contains("Esc goes back"));
    assert!(shown.contains("argument = [\"agent\", \"claude\"]"), "{shown}");
    assert!(shown.contains("Tab rather whatever agent does"), "{shown}");
    terminal.types(&["Tab"]);
    terminal.until(|it| it.contains("tool = \"agent\", project"));
    assert_eq!(text(&world, CONFIG), "", "nothing is written before the second key");
    terminal.types(&["Escape"]);
    terminal.until(is_asked);
    terminal.types(&["n"]);
    left(&terminal, 7);
}

const TWO: &str = "\
- [ ] One
  approve: yes
  run: echo one >> log.txt
- [ ] Two
  approve: yes
  run: echo two >> log.txt
- [ ] Slow
  run: until test -e go; do sleep 0.02; done; echo slow >> log.txt
- [ ] Three
  after: Slow
  run: echo three >> log.txt
";

#[test]
fn a_refusal_without_a_reason_ends_what_has_not_begun_and_what_runs_goes_on() {
    let world = World::new();
    world.write("project/plan.md", TWO);
    let Some(terminal) = Terminal::open(&world, 100) else { return };
    run(&terminal, "plan.md --jobs 4");
    terminal.until(|it| is_asked(it) && it.contains("1 of 2 waiting") && it.contains('▶'));
    terminal.types(&["n"]);
    terminal.until(|it| it.contains("stopped: One was refused"));
    world.write("project/go", "");
    let shown = left(&terminal, 7);
    assert_eq!(text(&world, "project/log.txt"), "slow\n", "{shown}");
}

#[test]
fn with_a_reason_the_rest_goes_on() {
    let world = World::new();
    world.write("project/plan.md", TWO);
    world.write("project/go", "");
    let Some(terminal) = Terminal::open(&world, 100) else { return };
    run(&terminal, "plan.md --jobs 4");
    terminal.until(|it| is_asked(it) && it.contains("1 of 2 waiting"));
    terminal.types(&["r", "not today", "Enter"]);
    terminal.until(|it| is_asked(it) && it.contains("Two wants to run"));
    terminal.types(&["y"]);
    left(&terminal, 7);
    let log = text(&world, "project/log.txt");
    assert!(log.contains("two") && log.contains("three") && !log.contains("one"), "{log}");
}

#[test]
fn refuse_and_stop_ends_the_run_and_what_runs() {
    let world = World::new();
    world.write("project/plan.md", TWO);
    let Some(terminal) = Terminal::open(&world, 100) else { return };
    run(&terminal, "plan.md --jobs 4");
    terminal.until(|it| is_asked(it) && it.contains("1 of 2 waiting") && it.contains('▶'));
    terminal.types(&["q"]);
    left(&terminal, 7);
    assert_eq!(text(&world, "project/log.txt"), "");
}

#[test]
fn another_command_is_typed_with_all_the_usual_keys_and_runs_after_a_yes() {
    let world = World::new();
    let plan = "- [ ] Publish\n  approve: yes\n  run: ./publish.sh --prod --and more words than fit into the line\n";
    world.write("project/plan.md", plan);
    let Some(terminal) = Terminal::open(&world, 60) else { return };
    run(&terminal, "plan.md");
    terminal.until(is_asked);
    terminal.types(&["e"]);
    // The end of the command and the cursor are visible, and a mark that the beginning is cut off.
    let shown = terminal.until(|it| it.contains("Enter goes on"));
    let line = shown.lines().find(|it| it.contains("run instead:")).unwrap().to_owned();
    assert!(line.contains('…') && line.contains("into the line"), "{line}");
    assert!(line.chars().count() <= 60, "{line}");
    terminal.types(&["Home"]);
    terminal.until(|it| it.contains("run instead: ./publish.sh"));
    // Deletes everything after the cursor, then edits a new line by moving around.
    terminal.types(&["C-k"]);
    terminal.types(&["-l", "echo two  > lgo.txt"]);
    terminal.types(&["M-b", "Right", "DC", "Right", "g", "C-a", "C-Right", "C-Right"]);
    terminal.types(&["-l", " 日本 words"]);
    terminal.types(&["C-w"]);
    let shown = terminal.until(|it| it.contains("echo two 日本"));
    assert!(!shown.contains("[D") && !shown.contains("[1~"), "{shown}");
    terminal.run(&["set-buffer", "y\n"]);
    terminal.types(&["End", "BSpace", "BSpace", "BSpace", "BSpace"]);
    terminal.run(&["paste-buffer", "-p"]);
    let shown = terminal.until(|it| it.contains('↵'));
    assert!(
        shown.contains("run instead:"),
        "a line break that was pasted answers nothing: {shown}"
    );
    terminal.types(&["BSpace", "Enter"]);
    terminal.until(|it| it.contains("this would run instead:") && it.contains("y run it"));
    terminal.types(&["y"]);
    left(&terminal, 0);
    assert_eq!(text(&world, "project/logy"), "two 日本\n");
}
