//! The queue of a team outlives the program: it is in the store.

use super::*;
use crate::pseudo_terminal::PseudoTerminal;

/// The messages with which a member's turns began.
fn prompts(record: &str) -> Vec<String> {
    let all = events(record);
    let begun = all.iter().filter(|it| it["type"] == "turn.started");
    begun.map(|it| it["prompt"].as_str().unwrap_or_default().to_owned()).collect()
}

/// What became of queued messages, in words.
fn queue_events(record: &str) -> Vec<String> {
    let all = events(record);
    let queued = all.iter().filter(|it| it["type"] == "message.queued");
    let word = |it: &Value| {
        let change = it["change"].as_str().unwrap_or("queued").to_owned();
        format!("{change} {}", it["text"].as_str().unwrap_or_default())
    };
    queued.map(word).collect()
}

#[test]
fn a_team_that_was_killed_has_its_queue_again_first_in_first_out_and_nothing_twice() {
    let world = world(TEAM);
    let mut terminal = PseudoTerminal::open(&world, 100);
    let path = format!("PATH={}:$PATH; export PATH PART_claude", world.path("home/bin").display());
    terminal.types(&[&path, "Enter", "PART_claude=hangs", "Enter"]);
    let starts = |terminal: &mut PseudoTerminal, record: &str| {
        let (file, record) = (world.path("team.toml"), world.path(record));
        terminal.starts(&format!("team --file {} --record {}", file.display(), record.display()));
        terminal.until(|it| it.contains("nobody addressed yet"));
    };
    starts(&mut terminal, "one.jsonl");
    for text in ["@max one", "@max two", "@max three", "@max four"] {
        terminal.types(&[text, "Enter"]);
    }
    terminal.until(|it| it.contains(" queued for Max: four"));
    // Another team in this project leaves the messages of one that runs alone.
    if let Some(other) = Terminal::open(&world, 100) {
        let line = format!(
            "clear; unset PUNCHLIST_NOW; {PROGRAM} team --file {}; echo end $?",
            world.path("team.toml").display()
        );
        other.types(&[&line, "Enter"]);
        other.until(|it| it.contains("nobody addressed yet"));
        other.types(&["/queue", "Enter"]);
        let shown = other.until(|it| it.contains("nothing is queued"));
        assert!(!shown.contains("since the last time"), "{shown}");
        other.types(&["C-d"]);
        other.until(|it| it.contains("end 0"));
    }
    assert!(terminal.kill());
    terminal.until(|it| it.contains("end 137"));
    assert_eq!(prompts(&read(&world, "one.jsonl")), ["one"]);
    terminal.types(&["PART_claude=", "Enter"]);
    starts(&mut terminal, "two.jsonl");
    let shown = terminal.until(|it| it.contains("3 messages wait since the last time"));
    let waiting = " queued for Max: two\n queued for Max: three\n queued for Max: four\n";
    assert!(shown.contains(waiting), "{shown}");
    // One is removed, and the others are sent one after the other.
    terminal.types(&["/queue remove 2", "Enter", "/queue go", "Enter"]);
    terminal.until(|it| it.contains("> Max: four") && !it.contains("● Max"));
    terminal.types(&["C-d"]);
    terminal.until(|it| it.contains("end 0"));
    assert_eq!(prompts(&read(&world, "two.jsonl")), ["two", "four"]);
    let changes = ["removed three", "taken two", "taken four"];
    assert_eq!(queue_events(&read(&world, "two.jsonl")), changes);
    let queued = ["queued two", "queued three", "queued four"];
    assert_eq!(queue_events(&read(&world, "one.jsonl")), queued);
    starts(&mut terminal, "three.jsonl");
    terminal.types(&["/queue", "Enter"]);
    let shown = terminal.until(|it| it.contains("nothing is queued"));
    assert!(!shown.contains("since the last time"), "{shown}");
    terminal.types(&["C-d"]);
    terminal.until(|it| it.contains("end 0"));
}

#[test]
fn who_leaves_a_team_is_told_what_stays_queued() {
    let world = world(TEAM);
    let mut terminal = PseudoTerminal::open(&world, 100);
    let path = format!("PATH={}:$PATH; export PATH PART_claude", world.path("home/bin").display());
    terminal.types(&[&path, "Enter", "PART_claude=hangs", "Enter"]);
    terminal.starts(&format!("team --file {}", world.path("team.toml").display()));
    terminal.until(|it| it.contains("nobody addressed yet"));
    terminal.types(&["@max one", "Enter", "@max two", "Enter"]);
    terminal.until(|it| it.contains(" queued for Max: two"));
    terminal.types(&["C-d"]);
    let shown = terminal.until(|it| it.contains("end 0"));
    assert!(shown.contains("1 message stays queued; `punchlist team` has it again"), "{shown}");
}
