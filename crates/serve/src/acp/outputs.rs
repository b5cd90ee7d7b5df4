//! The output of running calls on its way to the client. It is collected, of a long one only the end, and
//! sent at most ten times a second: a client that shows every line of a fast command would do nothing
//! else.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use punchlist_formats::prompt::fence;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::tool_call::content;

/// The time between two updates.
const PAUSE: Duration = Duration::from_millis(100);

/// How much of an output is sent, in bytes: the end.
const MOST: usize = 8 * 1024;

/// Stands before an output whose beginning was left out.
const LEFT_OUT: &str = "…\n";

/// The outputs of the calls that run.
#[derive(Default)]
pub(super) struct Outputs {
    /// The calls by their ids.
    calls: BTreeMap<String, Collected>,
    /// The calls with output that was not sent. The first has waited longest.
    waiting: VecDeque<String>,
    /// When the last update was sent.
    last: Option<Instant>,
}

/// The output of a call.
#[derive(Default)]
struct Collected {
    text: String,
    is_cut: bool,
}

impl Outputs {
    /// Adds a line that a call printed.
    pub(super) fn add(&mut self, call: &str, line: &str) {
        let collected = self.calls.entry(call.to_owned()).or_default();
        collected.text.push_str(line);
        collected.text.push('\n');
        // Cut only once in a while, so that not each line moves the whole text.
        if collected.text.len() > 2 * MOST {
            let from = collected.text.len() - MOST;
            collected.text = tail(&collected.text, from).to_owned();
            collected.is_cut = true;
        }
        if !self.waiting.iter().any(|it| it == call) {
            self.waiting.push_back(call.to_owned());
        }
    }

    /// Forgets a call that has ended: its whole result is sent instead.
    pub(super) fn end(&mut self, call: &str) {
        self.calls.remove(call);
        self.waiting.retain(|it| it != call);
    }

    /// When the next update may be sent, from `now` on; `None` if there is nothing to send.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        self.waiting.front()?;
        Some(self.last.map_or(now, |it| now.max(it + PAUSE)))
    }

    /// The next update for the client. Only called when it is due.
    pub(super) fn take(&mut self, now: Instant) -> Option<Value> {
        let call = self.waiting.pop_front()?;
        self.last = Some(now);
        let collected = self.calls.get(&call)?;
        let from = collected.text.len().saturating_sub(MOST);
        let cut = if collected.is_cut || from > 0 { LEFT_OUT } else { "" };
        let text = format!("{cut}{}", tail(&collected.text, from).trim_end());
        Some(json!({"toolCallId": call, "content": [content(&fence("text", &text))]}))
    }

    /// Puts off the next update: the client has not read the earlier ones.
    pub(super) fn put_off(&mut self, now: Instant) {
        self.last = Some(now);
    }
}

/// The text from a byte on, beginning with a whole line if there is one.
fn tail(text: &str, from: usize) -> &str {
    if from == 0 {
        return text;
    }
    let start = (from..=text.len()).find(|it| text.is_char_boundary(*it)).unwrap_or(text.len());
    let rest = text.get(start..).unwrap_or_default();
    rest.split_once('\n').map(|it| it.1).filter(|it| !it.is_empty()).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(update: &Value) -> String {
        update["content"][0]["content"]["text"].as_str().unwrap().to_owned()
    }

    #[test]
    fn many_lines_are_one_update_and_the_next_waits() {
        let (mut outputs, now) = (Outputs::default(), Instant::now());
        assert_eq!(outputs.due(now), None);
        for line in 1..=1000 {
            outputs.add("a", &format!("line {line}"));
        }
        assert_eq!(outputs.due(now), Some(now));
        let update = outputs.take(now).unwrap();
        assert_eq!(update["toolCallId"], "a");
        let shown = text(&update);
        assert!(shown.starts_with("```text\n…\nline ") && shown.ends_with("line 1000\n```"));
        assert!(shown.len() < MOST + 100, "{}", shown.len());
        assert_eq!((outputs.due(now), outputs.take(now)), (None, None));
        outputs.add("a", "more");
        assert_eq!(outputs.due(now), Some(now + PAUSE));
        assert_eq!(outputs.due(now + 2 * PAUSE), Some(now + 2 * PAUSE));
    }

    #[test]
    fn calls_take_turns_and_one_that_ended_is_silent() {
        let (mut outputs, now) = (Outputs::default(), Instant::now());
        outputs.add("a", "1");
        outputs.add("b", "2");
        outputs.add("a", "3");
        assert_eq!(text(&outputs.take(now).unwrap()), "```text\n1\n3\n```");
        outputs.add("a", "4");
        assert_eq!(text(&outputs.take(now + PAUSE).unwrap()), "```text\n2\n```");
        outputs.end("a");
        assert_eq!(outputs.due(now), None);
    }

    #[test]
    fn a_line_of_any_length_and_any_characters_is_cut() {
        let mut outputs = Outputs::default();
        outputs.add("a", &"ü€😀".repeat(10_000));
        let shown = text(&outputs.take(Instant::now()).unwrap());
        assert!(shown.starts_with("```text\n…\n") && shown.len() < MOST + 100, "{}", shown.len());
    }
}
