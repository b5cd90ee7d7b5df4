//! What a person sees of a question before they answer it.

use punchlist_model::Status::{InProgress, Pending};
use punchlist_model::call::{Asked, Offer, Permit};

use super::harness::{Harness, question};

/// A command of 43 lines that ends in the line that matters.
fn long() -> Asked {
    let mut command: String = (1..43).map(|n| format!("echo step {n}\n")).collect();
    command.push_str("rm -rf /tmp/zzz");
    Asked { command: Some(command), ..question(1).1 }
}

#[test]
fn a_long_command_shows_its_beginning_and_its_end_and_v_shows_all_of_it() {
    let mut ui = Harness::new(80, 24);
    ui.begins("Clean up").asks(&[long()]);
    let screen = ui.screen();
    for text in ["echo step 1\n", "rm -rf /tmp/zzz", "more lines", "v view all", "y once"] {
        assert!(screen.contains(text), "{text}: {screen}");
    }
    ui.press("v").press("G");
    let screen = ui.screen();
    assert!(screen.contains("echo step 42\n     rm -rf /tmp/zzz"), "{screen}");
    ui.press("\u{1b}");
    assert_eq!(ui.intended(), "", "reading answers nothing");
    assert!(ui.screen().contains("y once"), "{}", ui.screen());
}

#[test]
fn on_a_small_screen_a_key_leads_to_the_whole_command() {
    let mut ui = Harness::new(40, 10);
    ui.begins("Clean up").asks(&[long()]);
    assert!(ui.screen().contains("v view all"), "{}", ui.screen());
    let mut seen = ui.press("v").screen();
    for _ in 0..20 {
        seen.push_str(&ui.press(" ").screen());
    }
    for line in ["echo step 1\n", "echo step 21\n", "echo step 42\n", "rm -rf /tmp/zzz"] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
}

#[test]
fn at_40_by_10_the_first_line_of_a_long_command_is_beside_the_keys() {
    let words = ["cargo", "test", "--workspace", "--all-features", "--no-fail-fast"];
    let words = words.map(str::to_owned).to_vec();
    let permit = Permit { command: Some(words.clone()), ..Permit::default() };
    let lines: String = (1..43).map(|n| format!("\necho step {n}")).collect();
    let command = Some(format!("{}{lines}", words.join(" ")));
    let title = "Check everything before the release".to_owned();
    let offers = vec![Offer::Once, Offer::Always(vec![permit]), Offer::Modify];
    let asked = Asked { command, title, offers, ..question(1).1 };
    for draft in ["", "a draft that needs two rows at forty columns"] {
        let mut ui = Harness::new(40, 10);
        ui.begins("Release it").press(draft).asks(std::slice::from_ref(&asked));
        let screen = ui.screen();
        for text in ["     cargo test", "…", "v view all", "y once", "a always", " stop"] {
            assert!(screen.contains(text), "{text}: {screen}");
        }
        ui.press("v");
        assert!(ui.screen().contains("--no-fail-fast"), "{}", ui.screen());
    }
}

/// An edit of one line.
fn edit() -> Asked {
    let diff = "@@ -1,2 +1,2 @@\n one line\n-the old text\n+the new text\n";
    let what = "edit src/main.rs".to_owned();
    Asked { diff: Some(diff.to_owned()), command: None, what, ..question(1).1 }
}

#[test]
fn old_and_new_text_stand_side_by_side_above_120_columns() {
    for (columns, is_wide) in [(80, false), (120, false), (121, true), (200, true)] {
        let mut ui = Harness::new(columns, 40);
        ui.begins("Fix it").asks(&[edit()]);
        let screen = ui.screen();
        let row = screen.lines().find(|it| it.contains("the old text")).unwrap();
        assert_eq!(row.contains("the new text"), is_wide, "{columns}:\n{screen}");
    }
}

#[test]
fn beside_a_plan_a_diff_still_has_its_two_sides() {
    for columns in [140, 178, 179, 200] {
        let mut ui = Harness::new(columns, 40);
        ui.begins("Fix it").plan(&[(InProgress, "Fix"), (Pending, "Write")]).asks(&[edit()]);
        let screen = ui.screen();
        let row = screen.lines().find(|it| it.contains("the old text")).unwrap();
        assert!(row.contains("the new text"), "{columns}:\n{screen}");
        assert!(screen.contains("▶ Fix") && screen.contains("○ Write"), "{screen}");
        // Without the question the plan is beside the rest again.
        ui.press("y").appears(&[]);
        let screen = ui.screen();
        let at = screen.lines().find_map(|it| it.find("▶ Fix"));
        assert!(at.is_some_and(|it| it > 60), "{columns}:\n{screen}");
    }
}

#[test]
fn a_long_diff_shows_its_end_too() {
    let added: String = (1..=60).map(|n| format!("+line {n}\n")).collect();
    let diff = Some(format!("@@ -0,0 +1,60 @@\n{added}"));
    let mut ui = Harness::new(80, 24);
    ui.begins("Write it").asks(&[Asked { diff, command: None, ..question(1).1 }]);
    let screen = ui.screen();
    assert!(screen.contains("line 1\n") && screen.contains("line 60"), "{screen}");
    ui.press("v").press("G");
    assert!(ui.screen().contains("line 59"), "{}", ui.screen());
}

#[test]
fn a_short_question_needs_no_key_to_be_seen_whole() {
    let mut ui = Harness::new(80, 24);
    ui.begins("Publish it").asks(&[question(1).1]);
    let screen = ui.screen();
    assert!(!screen.contains("v view"), "{screen}");
    assert!(
        screen.ends_with(" @ writes a message · local/qwen3 · sandbox on · supervisor"),
        "{screen}"
    );
}

#[test]
fn a_dialog_says_that_somebody_asks() {
    for (columns, rows) in [(40, 10), (80, 24), (200, 60)] {
        let mut ui = Harness::new(columns, rows);
        ui.begins("Publish it").press("?");
        assert!(!ui.screen().contains("question"), "{}", ui.screen());
        ui.asks(&[question(1).1]);
        assert!(ui.screen().ends_with("1 question waits"), "{}", ui.screen());
        ui.asks(&[question(1).1, question(2).1]);
        assert!(ui.screen().ends_with("2 questions wait"), "{}", ui.screen());
    }
}
