//! The last call for an item: its outcome, and the end of its output.

use punchlist_model::Timestamp;
use punchlist_model::call::CallState;

use super::{Options, duration};
use crate::text::{Line, Style, isolated, many_lines, one_line, pad};

/// How many lines of output are shown.
const SHOWN: usize = 20;
/// Field names are padded to this column, as in the view of the item.
const NAMES: usize = 12;

/// The last call that a run made for an item.
pub struct Ended<'a> {
    /// Its state.
    pub state: CallState,
    /// Why it failed or was cancelled.
    pub why: Option<&'a str>,
    /// Since when it has this state.
    pub at: Timestamp,
    /// The output, as much as is kept.
    pub output: &'a str,
    /// The file with the whole output.
    pub whole: Option<&'a str>,
    /// The number of lines of the whole output.
    pub lines: u64,
}

/// The call in a few lines.
pub fn ended(call: &Ended<'_>, options: &Options) -> Vec<Line> {
    let field = |name: &str, value: &str| {
        let mut line = Line::new();
        line.fill(2).push(&pad(name, NAMES), Style::Dim).push(" ", Style::Plain);
        line.push(&isolated(value), Style::Plain);
        line
    };
    let state = match call.state {
        CallState::Validating | CallState::Scheduled => "waits for its turn",
        CallState::AwaitingApproval => "waits for an answer",
        CallState::Executing => "was under way when it was last heard of",
        CallState::Success => "succeeded",
        CallState::Error => "failed",
        CallState::Cancelled => "cancelled",
    };
    // Most reasons already begin with the word for the state.
    let words = match call.why.map(one_line) {
        Some(why) if why.starts_with(state) => why.into_owned(),
        Some(why) => format!("{state}: {why}"),
        None => state.to_owned(),
    };
    let age = duration::ago(call.at, options.now);
    let mut out = vec![field("last run", &format!("{words}, {age}"))];
    let output = many_lines(call.output);
    let lines: Vec<&str> = output.trim_matches('\n').lines().collect();
    if !output.trim().is_empty() {
        out.push(Line::of("output", Style::Dim).indented(2));
        let from = lines.len().saturating_sub(SHOWN);
        let shown = u64::try_from(lines.len() - from).unwrap_or(u64::MAX);
        let before = call.lines.saturating_sub(shown);
        if before > 0 {
            let word = if before == 1 { "line" } else { "lines" };
            out.push(Line::of(&format!("… {before} {word} before"), Style::Plain).indented(4));
        }
        for line in lines.into_iter().skip(from) {
            out.push(Line::of(&isolated(line), Style::Plain).indented(4).trimmed_end());
        }
    }
    if let Some(whole) = call.whole {
        out.push(field("whole output", &one_line(whole)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::line::to_plain;

    #[test]
    fn a_cancelled_call_is_shown_with_its_reason_and_the_end_of_its_output() {
        let output: String = (1..=22).map(|n| format!("line {n}\n")).collect();
        let call = Ended {
            state: CallState::Cancelled,
            why: Some("cancelled: stopped"),
            at: Timestamp::UNIX_EPOCH,
            output: &format!("{output}\u{1b}[31mred\n"),
            whole: Some("/data/output/0.txt"),
            lines: 23,
        };
        let text = to_plain(&ended(&call, &Options::plain(Timestamp::UNIX_EPOCH)));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "  last run     cancelled: stopped, just now");
        assert_eq!(lines[1..4], ["  output", "    … 3 lines before", "    line 4"]);
        assert!(!text.contains('\u{1b}') && text.contains("red"), "{text:?}");
        assert_eq!(lines.last(), Some(&"  whole output /data/output/0.txt"));
    }
}
