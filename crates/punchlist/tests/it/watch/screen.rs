//! `watch` on a terminal: drawn in place, resized, left. The terminal is tmux, where it exists.

use super::{CODEX, append, fixture, three};
use crate::terminal::Terminal;
use crate::world::World;

/// The screen below the last line that is not ours.
fn ours(shown: &str) -> String {
    let at = shown.rfind("| twelve\n").map_or(0, |it| it + "| twelve\n".len());
    shown[at..].lines().map(|it| it.trim_end().to_owned() + "\n").collect()
}

/// Fills a part of the screen, so that wrong drawing would show.
const BEFORE: &str = "clear; for n in one two three four five six seven eight nine ten eleven twelve; do echo \"| $n\"; done; ";

fn watch() -> String {
    format!("{BEFORE}{} watch; echo left $?", env!("CARGO_BIN_EXE_punchlist"))
}

#[test]
fn a_terminal_is_drawn_in_place_resized_and_left_as_it_was() {
    let world = World::new();
    three(&world);
    let Some(terminal) = Terminal::open(&world, 80) else { return };
    terminal.types(&[&watch(), "Enter"]);
    // A frame may be captured before it is complete.
    let is_drawn = |shown: &str| ours(shown).lines().count() == 7 && shown.contains("q leaves");
    let mut story = format!("== 80\n{}", ours(&terminal.until(is_drawn)));
    for columns in [40, 200, 80] {
        terminal.resize(columns);
        // The header is drawn first, and ends at the edge of the window.
        let is_drawn = |shown: &str| {
            let head = ours(shown);
            let head = head.lines().next().unwrap_or_default().trim_end();
            let is_whole = ours(shown).lines().count() == 7;
            is_whole
                && head.ends_with("q leaves")
                && head.chars().count() == usize::from(columns.min(121)) - 1
        };
        story.push_str(&format!("== {columns}\n{}", ours(&terminal.until(is_drawn))));
    }
    append(&world, CODEX, &fixture("codex/rollout-a-plan.jsonl")[18..].concat());
    terminal.until(|shown| ours(shown).contains("3/3"));
    terminal.types(&["j"]);
    terminal.types(&["Enter"]);
    // The list, the agent's last line, and its context.
    let opened = terminal
        .until(|shown| ours(shown).contains("○ Write docs") && ours(shown).lines().count() == 10);
    story.push_str(&format!("== opened\n{}", ours(&opened)));
    terminal.types(&["q"]);
    let left = terminal.until(|shown| shown.contains("left 0") && shown.ends_with('$'));
    story.push_str(&format!("== left\n{}", ours(&left)));
    // One frame is left, and nothing above it has changed.
    assert_eq!(left.matches(" agents ").count(), 1, "{left}");
    assert!(left.contains("| eleven\n| twelve\n"), "{left}");
    insta::assert_snapshot!(story);
}

#[test]
fn ctrl_c_leaves_the_terminal_as_it_was() {
    let world = World::new();
    three(&world);
    let Some(terminal) = Terminal::open(&world, 80) else { return };
    terminal.types(&[&watch(), "Enter"]);
    terminal.until(|shown| shown.contains("q leaves"));
    terminal.types(&["C-c"]);
    let left = terminal.until(|shown| shown.contains("left 130"));
    assert!(!left.contains("q leaves"), "{left}");
    // Keys are echoed again, and the cursor is visible.
    terminal.types(&["echo seen-again", "Enter"]);
    terminal.until(|shown| shown.matches("seen-again").count() == 2);
    let cursor = terminal.run(&["display-message", "-p", "#{cursor_flag}"]).stdout;
    assert_eq!(String::from_utf8_lossy(&cursor).trim(), "1");
}

#[test]
fn no_color_is_obeyed() {
    let world = World::new();
    three(&world);
    let Some(terminal) = Terminal::open(&world, 80) else { return };
    let colours = |terminal: &Terminal| {
        let out = terminal.run(&["capture-pane", "-p", "-e"]).stdout;
        String::from_utf8_lossy(&out).contains("\u{1b}[3")
    };
    terminal.types(&[&format!("export NO_COLOR=1; {}", watch()), "Enter"]);
    terminal.until(|shown| shown.contains("q leaves"));
    assert!(!colours(&terminal));
    terminal.types(&["q"]);
    terminal.until(|shown| shown.contains("left 0"));
    terminal.types(&[&format!("unset NO_COLOR; {}", watch()), "Enter"]);
    terminal.until(|shown| shown.contains("q leaves"));
    assert!(colours(&terminal));
}
