//! The screen of a run: the board, and the open question below it. Pure.

use punchlist_formats::text::Line;
use punchlist_formats::view::run::{Run, run};
use punchlist_formats::view::{Options, questions};

use crate::prompt::Prompt;

/// Draws a run and its open question, if any, into this many rows.
pub(super) fn picture(
    board: &Run,
    prompt: Option<&Prompt>,
    rows: u16,
    options: &Options,
) -> Vec<Line> {
    // The last row is for the cursor.
    let most = usize::from(rows).saturating_sub(1).max(3);
    // The question is more important than the board, but three rows of the board stay, or two on a screen that
    // is very low.
    let for_question = most.saturating_sub(3).max(most.saturating_sub(2).min(5)).max(2);
    let asked = prompt.and_then(|it| it.shown(options));
    let panel = asked.map(|(asked, count, below)| {
        questions::asking(asked, count, &below, for_question, options)
    });
    let panel = panel.unwrap_or_default();
    let room = most.saturating_sub(panel.len());
    let mut lines = run(board, Some(room), options);
    // A frame that is taller than the screen would scroll.
    lines.truncate(room);
    lines.extend(panel);
    lines
}

#[cfg(test)]
mod tests {
    use punchlist_formats::text::Glyphs;
    use punchlist_formats::view::run::{State, Step};
    use punchlist_model::call::Printed;
    use punchlist_model::{Progress, Timestamp};

    use super::*;
    use crate::prompt::tests::{asked, prompt};

    fn board(count: u32) -> Run {
        let step = |n: u32| Step {
            title: format!("Step {n} 日本"),
            depth: 0,
            worker: String::new(),
            state: if n == 0 { State::Asks } else { State::Open },
            ms: None,
            note: String::new(),
            printed: Printed::default(),
        };
        Run {
            title: "Release".to_owned(),
            how: Vec::new(),
            steps: (0..count).map(step).collect(),
            progress: Progress::of(0, count, true),
            ms: 0,
            hint: "Ctrl-C stops".to_owned(),
        }
    }

    #[test]
    fn a_question_stands_below_the_board_and_both_fit() {
        let mut waits = prompt();
        waits.ask(asked(1, "shell"));
        for (width, rows) in [(40, 8), (100, 30), (20, 4), (1, 1)] {
            for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
                let options = Options { width, glyphs, ..Options::plain(Timestamp::UNIX_EPOCH) };
                for steps in [1, 5, 50] {
                    let lines = picture(&board(steps), Some(&waits), rows, &options);
                    let text: Vec<String> = lines.iter().map(Line::to_plain).collect();
                    let about = format!("{width}×{rows}, {steps} steps: {text:#?}");
                    if rows >= 8 {
                        assert!(lines.len() < usize::from(rows), "{about}");
                        assert!(text[0].contains("Release"), "{about}");
                        assert!(text.iter().any(|it| it.contains("./publish.sh")), "{about}");
                        assert!(text.last().unwrap().contains("stop"), "{about}");
                    }
                    assert!(lines.iter().all(|it| it.width() <= usize::from(width.max(2))));
                }
            }
        }
    }

    #[test]
    fn without_a_question_the_board_stands_alone() {
        let options = Options::plain(Timestamp::UNIX_EPOCH);
        let alone = picture(&board(3), Some(&prompt()), 24, &options);
        assert_eq!(alone, picture(&board(3), None, 24, &options));
        assert!(alone.last().unwrap().to_plain().contains("Ctrl-C stops"));
    }
}
