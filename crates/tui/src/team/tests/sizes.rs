//! Every size from 40×10 to 200×60 with texts that are hard to draw, and resizing at each step.

use punchlist_agent::workers::WorkerEnd;
use punchlist_model::call::Asked;
use punchlist_testkit::dangers;

use super::*;
use crate::prompt::tests::asked;

const SIZES: [(u16, u16); 4] = [(40, 10), (80, 24), (120, 40), (200, 60)];

/// Texts that are hard to draw: wide, combining, right-to-left, hostile, long. The emulator draws families and
/// flags wider than terminals do and wraps full rows although it is told not to, so these are left out.
const HARD: [&str; 6] = [
    "日本語の長い題名がここにある",
    "e\u{301}e\u{301} 👩 한국어 ｆｕｌｌ",
    "שלום עולם, מה שלומך",
    "\u{1b}[2J\u{1b}]0;owned\u{7}evil",
    "\u{202e}txet\u{2066} isolated",
    "a very long text that goes on and on, over more columns than any of these screens has, and then some \
     more, until nobody wants to read it any more, and even then it does not end before two hundred columns \
     are full of it",
];

/// A step of a flow, with a text wherever a text goes.
type Do = fn(&mut Harness, &str);

/// Members take turns.
const TURNS: [(&str, Do); 12] = [
    ("types", |team, text| team.model.input.set_text(&format!("@max {text}"))),
    ("sends", |team, _| {
        team.press("\r");
    }),
    ("lists", |team, text| {
        team.lists(0, &[(text, "completed"), (text, "in_progress"), (text, "pending")]);
    }),
    ("says", |team, text| {
        team.prints(0, Source::ClaudeCode, &says(text));
    }),
    ("queues", |team, text| {
        for n in 0..3 {
            team.model.input.set_text(&format!("@max {n} {text}\nand more\nand more\nand more"));
            team.press("\r");
        }
    }),
    ("asks", |team, text| {
        let asked = Asked { command: Some(text.to_owned()), ..asked(1, "shell") };
        team.msg(Msg::Report(Report::Asked { member: 0, asked: Box::new(asked) }));
        team.msg(Msg::Tick(at(60_000)));
    }),
    ("answers", |team, _| {
        team.press("y");
    }),
    ("ends", |team, text| {
        team.ends(0, WorkerEnd::Well, text);
    }),
    ("fails", |team, text| {
        team.ends(0, WorkerEnd::Failed(text.to_owned()), "");
    }),
    ("passes on", |team, text| {
        team.model.input.set_text(&format!("/pass kim {text}"));
        team.press("\r");
    }),
    ("shows the queue", |team, _| {
        team.press("/queue\r");
    }),
    ("drafts", |team, text| team.model.input.set_text(&format!("{text}\n{text}"))),
];

/// Members work side by side.
const SIDE_BY_SIDE: [(&str, Do); 8] = [
    ("sends", |team, text| {
        team.model.input.set_text(&format!("@all {text}"));
        team.press("\r");
    }),
    ("lists", |team, text| {
        for member in 0..3 {
            team.lists(member, &[(text, "completed"), (text, "in_progress"), (text, "pending")]);
        }
    }),
    ("says", |team, text| {
        for member in 0..3 {
            team.prints(member, Source::ClaudeCode, &says(text));
        }
    }),
    ("queues", |team, text| {
        team.model.input.set_text(&format!("@all {text}"));
        team.press("\r");
    }),
    ("ends one", |team, text| {
        team.ends(0, WorkerEnd::Well, text);
    }),
    ("stops one", |team, _| {
        team.press("/stop kim\r").ends(1, WorkerEnd::Cancelled, "");
    }),
    ("drafts", |team, text| team.model.input.set_text(text)),
    ("stops all", |team, _| {
        team.press("\u{1b}").ends(0, WorkerEnd::Cancelled, "").ends(2, WorkerEnd::TimedOut(9), "");
    }),
];

/// A team whose names are this text.
fn named(text: &str, columns: u16, rows: u16) -> Harness {
    let member = |name: &str| json!({"name": name, "displayName": format!("{name} {text}"), "agentType": "claude"});
    let members = ["max", "kim", "zoe"].map(member);
    Harness::of(&json!({ "members": members }), columns, rows)
}

fn check(steps: &[(&str, Do)]) {
    for text in HARD {
        for (columns, rows) in SIZES {
            let mut team = named(text, columns, rows);
            for (name, step) in steps {
                step(&mut team, text);
                // What a person sees here, and after the window had every other size.
                for (columns, rows) in SIZES.into_iter().chain([(columns, rows)]) {
                    team.resize(columns, rows);
                    let screen = team.screen();
                    let about = format!("{name} at {columns}×{rows}, {text:?}:\n{screen}");
                    assert!(screen.lines().count() <= usize::from(rows), "{about}");
                    let last = screen.lines().last().unwrap_or_default();
                    let statuses = ["to ", "nobody addressed yet", "Ctrl-C again", "the question"];
                    assert!(statuses.iter().any(|it| last.contains(it)), "{about}");
                    let drawn = view(&team.model);
                    let rows_drawn = ansi::rows(&drawn.buffer);
                    assert!(
                        rows_drawn.iter().all(|it| it.width <= usize::from(columns)),
                        "{about}"
                    );
                    assert!(
                        drawn.cursor.is_none_or(|it| it.0 <= columns && it.1 < rows),
                        "{about}"
                    );
                    // The isolates around text that reads from right to left are our own.
                    let foreign = screen.replace(['\n', '\u{2068}', '\u{2069}'], "");
                    assert!(dangers(&foreign).is_empty(), "{about}");
                }
            }
            // A list is never in the scrollback, unless the window became lower than what is drawn.
            let mut team = named(text, columns, rows);
            steps.iter().for_each(|(_, step)| step(&mut team, text));
            team.model.panels.clear();
            team.draw();
            let all = team.all();
            assert!(!all.contains("📋 Plan ("), "{columns}×{rows}, {text:?}:\n{all}");
        }
    }
}

#[test]
fn members_that_take_turns_fit_every_screen_with_any_text_and_survive_a_resize() {
    check(&TURNS);
}

#[test]
fn members_side_by_side_fit_every_screen_with_any_text_and_survive_a_resize() {
    check(&SIDE_BY_SIDE);
}

#[test]
fn on_every_screen_lists_members_queue_and_input_are_there() {
    for (columns, rows) in SIZES {
        let mut team = Harness::new(columns, rows);
        team.press("@all go\r@all and then\ra draft");
        for member in 0..3 {
            team.lists(member, &[("First", "completed"), ("第二件事", "in_progress")]);
        }
        let screen = team.screen();
        let about = format!("{columns}×{rows}\n{screen}");
        for text in ["● Max", "● Kim", "● zoe", "> a draft", "3 queued", "to Max"] {
            assert!(screen.contains(text), "{text}: {about}");
        }
        let beside = screen.lines().map(|it| it.matches("📋 Plan (").count()).max();
        let expected = [(40, 1), (80, 2), (120, 3), (200, 3)];
        let expected = expected.iter().find(|it| it.0 == columns).map(|it| it.1);
        assert_eq!(beside, expected, "{about}");
        // At 40×10 one list is shown, with what is in progress, and how many are not.
        assert!(screen.contains("第二件事"), "{about}");
        assert_eq!(screen.contains("+2 more lists"), columns == 40, "{about}");
        let shows_message = screen.contains(" queued for Max: and then");
        assert_eq!(shows_message, rows > 10, "{about}");
    }
}

#[test]
fn a_question_of_a_member_has_its_command_and_its_keys_on_every_screen() {
    for (columns, rows) in SIZES {
        let mut team = Harness::new(columns, rows);
        team.press("@all go\r@all and then\r");
        for member in 0..3 {
            team.lists(member, &[("First", "completed"), ("Second", "in_progress")]);
        }
        let command = format!("make install\n{}", "echo more\n".repeat(50));
        let asked = Asked { command: Some(command), ..asked(1, "shell") };
        team.msg(Msg::Report(Report::Asked { member: 0, asked: Box::new(asked) }));
        team.msg(Msg::Tick(at(60_000)));
        let screen = team.screen();
        let about = format!("{columns}×{rows}\n{screen}");
        for text in ["     make install", "…", "y once", "q "] {
            assert!(screen.contains(text), "{text}: {about}");
        }
    }
}
