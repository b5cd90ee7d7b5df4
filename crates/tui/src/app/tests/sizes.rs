//! Every size from 40×10 to 200×60, and resizing at each step.

use punchlist_agent::session::Event;
use punchlist_model::Status::{Completed, InProgress, Pending};

use super::harness::{Harness, call, question};

const SIZES: [(u16, u16); 4] = [(40, 10), (80, 24), (120, 40), (200, 60)];

/// Everything at once.
fn full(columns: u16, rows: u16) -> Harness {
    let mut ui = Harness::new(columns, rows);
    ui.begins("Release it");
    let titles: Vec<String> = (1..=20).map(|n| format!("Step {n} 日本語")).collect();
    let mut items: Vec<_> = titles.iter().map(|it| (Pending, it.as_str())).collect();
    items[0].0 = Completed;
    items[1].0 = InProgress;
    ui.plan(&items).says(&["Now the second one"]);
    for n in 0..3 {
        ui.event(Event::CallStarted(call(n, "shell", "make")));
    }
    ui.queued(&["and then\nthis", "!rather that", "c"], false).press("a draft");
    ui
}

#[test]
fn input_status_and_the_work_in_progress_are_on_every_screen() {
    for (columns, rows) in SIZES {
        let mut ui = full(columns, rows);
        let screen = ui.screen();
        let about = format!("{columns}×{rows}\n{screen}");
        assert!(screen.lines().last().unwrap().contains("local/qwen3"), "{about}");
        assert!(screen.contains("> a draft"), "{about}");
        assert!(screen.contains("Step 2 日本語"), "{about}");
        assert!(screen.contains("Esc ends the turn") || columns == 40, "{about}");
        assert_eq!(ui.cursor().0, 9, "{about}");
    }
}

#[test]
fn the_plan_stands_beside_the_rest_from_140_columns_on() {
    let beside = |columns| {
        let mut ui = full(columns, 40);
        let screen = ui.screen();
        screen.lines().any(|it| it.find("Step 3").is_some_and(|at| at > 60))
    };
    assert!(!beside(139));
    assert!(beside(140));
}

#[test]
fn a_question_has_its_command_and_its_keys_on_every_screen() {
    for (columns, rows) in SIZES {
        let mut ui = full(columns, rows);
        let (_, asked) = question(1);
        ui.asks(&[asked]).passes(1_000);
        let screen = ui.screen();
        let about = format!("{columns}×{rows}\n{screen}");
        assert!(screen.contains("./publish.sh") && screen.contains("y once"), "{about}");
        assert!(screen.lines().last().unwrap().contains("local/qwen3"), "{about}");
    }
}

#[test]
fn after_a_resize_at_any_step_nothing_is_there_twice() {
    for (columns, rows) in SIZES {
        let mut ui = Harness::new(100, 30);
        ui.begins("Release it").resize(columns, rows);
        ui.plan(&[(InProgress, "Fix"), (Pending, "Write")]).resize(100, 30);
        ui.says(&["One.\n\n", "Two."]).resize(columns, rows);
        ui.answered("One.\n\nTwo.").resize(100, 30).resize(columns, rows);
        let all = ui.all();
        for text in ["> Release it", "One.", "Two.", "Fix the", " ▶ Fix"] {
            assert!(all.matches(text).count() <= 1, "{columns}×{rows}: {text}\n{all}");
        }
    }
}

/// Texts that are hard to draw: wide, combining, right-to-left, hostile.
const HARD: [&str; 5] = [
    "日本語の長い題名がここにある",
    "e\u{301}e\u{301} 👩‍👩‍👧 flags 🇩🇪",
    "שלום עולם, מה שלומך",
    "\u{1b}[2J\u{1b}]0;owned\u{7}evil",
    "\u{202e}txet\u{2066} isolated",
];

/// A step of a flow.
type Do = fn(&mut Harness, &str);

/// What a person and an agent do, step by step, with this text wherever a text goes.
fn steps() -> Vec<(&'static str, Do)> {
    vec![
        ("types", |ui, text| {
            ui.model.input.set_text(text);
        }),
        ("sends", |ui, text| {
            ui.press("\r").begins(text);
        }),
        ("plan", |ui, text| {
            ui.plan(&[(Completed, text), (InProgress, text), (Pending, text)]);
        }),
        ("thinks", |ui, text| {
            ui.event(Event::Thinking(text.to_owned()));
        }),
        ("streams", |ui, text| {
            ui.says(&[text, "\n\n", "- ", text]);
        }),
        ("calls", |ui, text| {
            ui.event(Event::CallStarted(call(0, "shell", text)));
        }),
        ("queues", |ui, text| {
            ui.queued(&[text, &format!("!{text}"), "c", "d"], false);
        }),
        ("asks", |ui, _| {
            ui.asks(&[question(1).1, question(2).1]).passes(1_000);
        }),
        ("answers", |ui, _| {
            ui.press("y").press("n");
        }),
        ("dialog", |ui, _| {
            ui.press("\u{14}");
        }),
        ("scrolls", |ui, _| {
            ui.press("jk\tG/x\u{1b}");
        }),
        ("returns", |ui, _| {
            while ui.model.dialog.is_some() {
                ui.press("\u{1b}");
            }
        }),
        ("help", |ui, _| {
            ui.press("\u{15}/help\r").press("/queue\r");
        }),
        ("completes", |ui, _| {
            ui.press("/q");
        }),
        ("drafts", |ui, text| {
            ui.press("\u{1b}").press("\u{15}");
            ui.model.input.set_text(&format!("{text}\n{text}"));
        }),
        ("ends", |ui, text| {
            ui.plan(&[(Completed, text), (Completed, text), (Completed, text)]);
            ui.answered(text).ends(punchlist_agent::turn::Ending::Answered, text);
        }),
    ]
}

#[test]
fn every_step_of_a_conversation_fits_every_screen_with_any_text_and_survives_a_resize() {
    for text in HARD {
        for (columns, rows) in SIZES {
            let mut ui = Harness::new(columns, rows);
            for (name, step) in steps() {
                step(&mut ui, text);
                for (columns, rows) in SIZES.into_iter().chain([(columns, rows)]) {
                    ui.resize(columns, rows);
                    let screen = ui.screen();
                    let about = format!("{name} at {columns}×{rows}, {text:?}:\n{screen}");
                    assert!(screen.lines().count() <= usize::from(rows), "{about}");
                    let has_status = screen.lines().last().is_some_and(|it| !it.trim().is_empty());
                    assert!(has_status, "{about}");
                    if ui.model.dialog.is_none() {
                        let last = screen.lines().last().unwrap_or_default();
                        assert!(
                            last.contains("local/qwen3") || ui.model.notice.is_some(),
                            "{about}"
                        );
                        let (column, row) = ui.cursor();
                        assert!(column <= columns && row < rows, "{about}");
                    }
                    let is_hostile = |it: char| it.is_control() || "\u{202e}\u{2066}".contains(it);
                    assert!(!screen.replace('\n', "").contains(is_hostile), "{about}");
                }
            }
            let all = ui.all();
            assert!(!all.contains("▶") && !all.contains("○"), "a list never stays: {all}");
        }
    }
}

#[test]
fn a_terminal_that_knows_only_ascii_gets_nothing_else() {
    let mut ui = Harness::ascii(80, 24);
    ui.begins("Paint it").plan(&[(punchlist_model::Status::InProgress, "Paint the door")]);
    let call = super::harness::call(0, "shell", "make");
    ui.event(punchlist_agent::session::Event::CallStarted(call));
    ui.queued(&["later"], true).asks(&[super::harness::question(1).1]);
    ui.answered("Blue.").ends(punchlist_agent::turn::Ending::Limit, "Blue.");
    let all = ui.all();
    assert!(all.is_ascii(), "{all}");
}
