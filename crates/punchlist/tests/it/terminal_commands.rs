//! Commands of bare `punchlist` in a real terminal: plan files, compaction, rules, and what is kept for
//! the next start.

use std::process::Command;

use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::terminal_ui::says;
use crate::world::World;

const PROGRAM: &str = env!("CARGO_BIN_EXE_punchlist");

/// The UI in tmux, with a model that gives these answers; `None` where there is no tmux.
fn opened(world: &World, answers: &[Value], columns: u16) -> Option<Terminal> {
    world.write("scenario.json", json!({"answers": answers}).to_string());
    let terminal = Terminal::open(world, columns)?;
    let scenario = world.path("scenario.json").display().to_string();
    let line = format!("clear; {PROGRAM} --model scripted:{scenario}; echo end $?");
    // A question gets keys after a pause, so the clock must run.
    terminal.types(&["unset PUNCHLIST_NOW", "Enter", &line, "Enter"]);
    terminal.until(|it| it.contains("? keys") || it.contains("sandbox"));
    Some(terminal)
}

fn shows(terminal: &Terminal, text: &str) -> String {
    terminal.until(|it| it.contains(text))
}

/// Kills the UI of this test: only that one has this scenario in its command line.
fn kill(world: &World) {
    let scenario = format!("scripted:{}", world.path("").display());
    let found = Command::new("pgrep").args(["-f", &scenario]).output().unwrap();
    let pids = String::from_utf8_lossy(&found.stdout).into_owned();
    for pid in pids.split_whitespace() {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        if program.ends_with("punchlist") {
            Command::new("kill").args(["-9", pid]).status().unwrap();
        }
    }
}

/// Opens the UI again in the same terminal, after it was left.
fn again(world: &World, terminal: &Terminal) {
    let scenario = world.path("scenario.json").display().to_string();
    let count = |it: &str| it.matches("sandbox on").count() + it.matches("sandbox off").count();
    let before = count(&terminal.shows());
    let line = format!("{PROGRAM} --model scripted:{scenario}; echo end $?");
    terminal.types(&[&line, "Enter"]);
    terminal.until(|it| count(it) > before);
}

#[test]
fn what_was_typed_and_the_theme_are_there_after_a_restart() {
    let world = World::new();
    let Some(terminal) = opened(&world, &[says("Yes.")], 80) else { return };
    terminal.types(&["is it blue", "Enter"]);
    shows(&terminal, "Yes.");
    terminal.types(&["/theme light", "Enter"]);
    terminal.types(&[" /help is text here", "C-u", "C-d"]);
    shows(&terminal, "end 0");
    again(&world, &terminal);
    terminal.types(&["Up"]);
    shows(&terminal, "> /theme light");
    terminal.types(&["C-u", "C-r", "blue"]);
    shows(&terminal, "is it blue");
    terminal.types(&["Escape"]);
    shows(&terminal, "Type a message");
    terminal.types(&["/theme", "Enter"]);
    let shown = shows(&terminal, "● light");
    assert!(shown.contains("Themes"), "{shown}");
    terminal.types(&["Escape"]);
    shows(&terminal, "Type a message");
    terminal.types(&["C-c", "C-c"]);
    shows(&terminal, "end 0");
}

#[test]
fn a_plan_file_runs_in_the_ui_asks_and_goes_on_after_a_kill() {
    let world = World::new();
    let plan = "# Release 1.2\n- [ ] Build\n  run: echo once >> built\n- [ ] Test\n  after: Build\n  \
                run: test -e go || sleep 60\n  retry: 1\n- [ ] Publish\n  after: Test\n  \
                approve: yes\n  run: touch published\n";
    world.write("project/release.md", plan);
    let Some(terminal) = opened(&world, &[], 100) else { return };
    terminal.types(&["/run release.md", "Enter"]);
    let shown = shows(&terminal, "▶ Test");
    assert!(shown.contains("✓ Build") && shown.contains("Esc stops"), "{shown}");
    kill(&world);
    shows(&terminal, "end 137");
    world.write("project/go", "");
    again(&world, &terminal);
    terminal.types(&["/run release.md", "Enter"]);
    let shown = shows(&terminal, "y once");
    assert!(shown.contains("touch published"), "{shown}");
    terminal.types(&["y"]);
    shows(&terminal, "2 done, 1 before, 0 failed, 0 left.");
    assert!(world.path("project/published").exists());
    let built = std::fs::read_to_string(world.path("project/built")).unwrap();
    assert_eq!(built, "once\n", "what was finished is not repeated");
    terminal.types(&["C-d"]);
    shows(&terminal, "end 0");
}

#[test]
fn esc_stops_a_plan_file_and_leaving_the_ui_ends_it_too() {
    let world = World::new();
    world.write("project/slow.md", "# Slow\n- [ ] Sleep\n  run: sleep 60\n");
    let Some(terminal) = opened(&world, &[], 100) else { return };
    terminal.types(&["/run slow.md", "Enter"]);
    shows(&terminal, "▶ Sleep");
    terminal.types(&["Escape"]);
    let shown = terminal.until(|it| it.contains("1 left") && !it.contains("▶ Sleep"));
    assert!(shown.contains("? keys"), "the input is free: {shown}");
    terminal.types(&["/run slow.md", "Enter"]);
    terminal.until(|it| it.contains("▶ Sleep") || it.contains("Before the run"));
    terminal.types(&["C-c", "C-c"]);
    shows(&terminal, "end 0");
}

#[test]
fn compact_summarises_the_conversation_and_says_what_that_saved() {
    let world = World::new();
    let summary = json!({"text": "SUMMARY: it is blue.", "expect": {"contains": ["Blue it is"]}});
    let last = json!({"text": "Still blue.", "expect": {"contains": ["SUMMARY: it is blue."]}});
    let answers = [says("Blue it is."), summary, last];
    let Some(terminal) = opened(&world, &answers, 100) else { return };
    terminal.types(&["/compact", "Enter"]);
    shows(&terminal, "there is nothing to compact yet");
    terminal.types(&["C-u", "Which colour", "Enter"]);
    shows(&terminal, "Blue it is.");
    terminal.types(&["/compact", "Enter"]);
    let shown = shows(&terminal, "are now a summary of about");
    assert!(shown.contains("2 messages of about"), "{shown}");
    assert!(!shown.contains("SUMMARY"), "the summary is for the model: {shown}");
    terminal.types(&["And now", "Enter"]);
    shows(&terminal, "Still blue.");
    terminal.types(&["C-d"]);
    shows(&terminal, "end 0");
}

#[test]
fn a_rule_of_ones_own_is_deleted_in_the_approvals() {
    let world = World::new();
    let rule = "[[policy]]\ndecision = \"ask\"\ncommand = \"git push\"\n";
    let other = "[[policy]]\ndecision = \"deny\"\ncommand = \"git reset\"\n";
    world.write("home/.config/punchlist/config.toml", format!("{rule}\n{other}"));
    let Some(terminal) = opened(&world, &[], 180) else { return };
    terminal.types(&["/approvals", "Enter"]);
    let shown = shows(&terminal, "Your rules");
    assert!(shown.contains("config.toml") && shown.contains("line 1"), "{shown}");
    terminal.types(&["x"]);
    shows(&terminal, "delete it");
    terminal.types(&["y"]);
    terminal.until(|it| !it.contains("\"push\"") && it.contains("\"reset\""));
    let left = std::fs::read_to_string(world.path("home/.config/punchlist/config.toml")).unwrap();
    assert_eq!(left, other);
    terminal.types(&["Escape"]);
    shows(&terminal, "is no longer in");
    terminal.types(&["C-d"]);
    shows(&terminal, "end 0");
}

#[test]
fn watch_is_a_dialog_and_esc_returns_to_the_session() {
    let world = World::new();
    let Some(terminal) = opened(&world, &[says("Hello.")], 100) else { return };
    terminal.types(&["hi", "Enter"]);
    shows(&terminal, "Hello.");
    terminal.types(&["/watch", "Enter"]);
    let shown = shows(&terminal, "1 agent idle");
    assert!(shown.contains("punchlist"), "{shown}");
    terminal.types(&["Escape"]);
    let shown = shows(&terminal, "Type a message");
    assert!(shown.contains("Hello.") && !shown.contains("1 agent idle"), "{shown}");
    terminal.types(&["C-d"]);
    shows(&terminal, "end 0");
}

/// Sends a signal to the UI of this test: only that one has this scenario in its command line.
fn signal(world: &World, name: &str) {
    let scenario = format!("scripted:{}", world.path("").display());
    let found = Command::new("pgrep").args(["-f", &scenario]).output().unwrap();
    for pid in String::from_utf8_lossy(&found.stdout).split_whitespace() {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        if program.ends_with("punchlist") {
            Command::new("kill").args([&format!("-{name}"), pid]).status().unwrap();
        }
    }
}

#[test]
fn the_terminal_is_as_before_after_sigterm_and_sighup_also_in_a_dialog() {
    for (name, code, keys) in [("TERM", 143, ""), ("HUP", 129, ""), ("TERM", 143, "?")] {
        let world = World::new();
        let Some(terminal) = opened(&world, &[], 80) else { return };
        if !keys.is_empty() {
            terminal.types(&[keys]);
            shows(&terminal, "Ctrl-T");
        }
        signal(&world, name);
        shows(&terminal, &format!("end {code}"));
        // What is typed before the prompt would appear before it.
        terminal.until(|it| it.ends_with('$'));
        terminal.types(&["echo us''able", "Enter"]);
        shows(&terminal, "\nusable");
        let state = terminal.run(&["display-message", "-p", "#{cursor_flag} #{alternate_on}"]);
        assert_eq!(String::from_utf8_lossy(&state.stdout).trim(), "1 0", "{name} {keys:?}");
    }
}

#[test]
fn ctrl_z_suspends_and_fg_goes_on_with_the_draft() {
    let world = World::new();
    let Some(terminal) = opened(&world, &[says("Yes.")], 80) else { return };
    terminal.types(&["a draft"]);
    shows(&terminal, "> a draft");
    terminal.types(&["C-z"]);
    terminal.until(|it| it.to_lowercase().contains("stopped"));
    // What is typed before the prompt would appear before it.
    terminal.until(|it| it.ends_with('$'));
    terminal.types(&["echo us''able", "Enter"]);
    shows(&terminal, "\nusable");
    terminal.types(&["fg", "Enter"]);
    terminal.until(|it| it.split("usable").last().is_some_and(|it| it.contains("> a draft")));
    terminal.types(&["Enter"]);
    shows(&terminal, "Yes.");
    terminal.types(&["C-d"]);
    terminal.until(|it| it.trim_end().ends_with('$'));
}
