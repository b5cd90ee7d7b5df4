//! The picture of a run: how it stands, and below it what is asked. Pure.

use punchlist_formats::text::Line;
use punchlist_formats::view::run::{Run, run};
use punchlist_formats::view::{Options, questions};

use super::prompt::Prompt;

/// Draws a run in so many rows of a terminal, and the question that waits, if it is to be seen.
pub(super) fn picture(
    board: &Run,
    prompt: Option<&Prompt>,
    rows: u16,
    options: &Options,
) -> Vec<Line> {
    // The last row is left to the cursor.
    let most = usize::from(rows).saturating_sub(1).max(3);
    // What is asked is more than how it stands; but that it stands somehow should be seen.
    let for_question = most.saturating_sub(3).max(2);
    let asked = prompt.and_then(|it| it.shown(options));
    let panel = asked.map(|(asked, count, below)| {
        questions::asking(asked, count, &below, for_question, options)
    });
    let panel = panel.unwrap_or_default();
    let mut lines = run(board, Some(most.saturating_sub(panel.len())), options);
    lines.extend(panel);
    lines
}
