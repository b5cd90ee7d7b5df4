//! Observes what an agent says over the Agent Client Protocol, while every byte is passed on
//! unchanged.
//!
//! Passing on never waits: each piece is written and flushed before it is parsed, and a parser that
//! is too slow misses pieces. The next list makes up for a gap, because lists are always complete.
//! Only messages about plans are kept, never prompts, answers or files.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use punchlist_formats::text::mask;
use punchlist_model::{ListEntry, Status};
use punchlist_streams::event::{self, Event, Kind};
use punchlist_streams::lines::{Lines, Piece};
use punchlist_streams::{Options, Parser, Source};
use serde_json::{Value, json};

/// The largest piece that is passed on at once.
const PIECE: usize = 64 * 1024;
/// How many pieces the queue to the parser holds.
const BEHIND: usize = 128;
/// The longest line that is parsed. A plan is a few kilobytes.
const LONGEST: usize = 4 * 1024 * 1024;

/// A message from the thread that passes on to the parser.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// The next bytes.
    Bytes(Vec<u8>),
    /// Bytes are missing here.
    Gap,
}

/// The queue from the thread that passes on to the parser.
pub fn line() -> (SyncSender<Heard>, std::sync::mpsc::Receiver<Heard>) {
    sync_channel(BEHIND)
}

/// Passes everything on until the input ends or the output is closed.
pub fn pass_on(
    from: &mut impl Read,
    to: &mut impl Write,
    listener: &SyncSender<Heard>,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut missed = false;
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        to.write_all(&piece[..read])?;
        to.flush()?;
        if missed {
            missed = matches!(listener.try_send(Heard::Gap), Err(TrySendError::Full(_)));
        }
        if !missed {
            let sent = listener.try_send(Heard::Bytes(piece[..read].to_owned()));
            missed = matches!(sent, Err(TrySendError::Full(_)));
        }
    }
}

/// What the parser found.
#[derive(Clone, PartialEq, Debug)]
pub enum Told {
    /// A message about plans or sessions, on one line, without control characters.
    Message(String),
    /// The whole list of a session.
    List {
        /// The agent's id of the session.
        session: String,
        /// Its entries.
        entries: Vec<ListEntry>,
    },
}

/// Parses an agent's messages.
pub struct Ear {
    lines: Lines,
    parser: Parser,
    /// Inside a line whose beginning is missing.
    is_cut: bool,
    /// Sessions that have had a list.
    listed: BTreeSet<String>,
}

impl Default for Ear {
    fn default() -> Self {
        let options = Options { longest_line: LONGEST, ..Options::default() };
        Self {
            lines: Lines::new(LONGEST),
            parser: Parser::new(Source::Acp, options),
            is_cut: false,
            listed: BTreeSet::new(),
        }
    }
}

impl Ear {
    /// Parses the next piece.
    pub fn hear(&mut self, heard: &Heard, tell: &mut dyn FnMut(Told)) {
        let mut bytes = match heard {
            Heard::Gap => {
                (self.lines, self.is_cut) = (Lines::new(LONGEST), true);
                return;
            }
            Heard::Bytes(bytes) => bytes.as_slice(),
        };
        if self.is_cut {
            let Some(end) = bytes.iter().position(|it| *it == b'\n') else { return };
            bytes = &bytes[end + 1..];
            self.is_cut = false;
        }
        let (parser, listed) = (&mut self.parser, &mut self.listed);
        self.lines.push(bytes, |piece| {
            let Piece::Lines(lines) = piece else { return };
            for line in lines.split(|it| *it == b'\n') {
                if let Some(message) = message(line) {
                    tell(Told::Message(message));
                }
                parser.line(line, &mut |event: &Event<'_>| tell_list(event, listed, tell));
            }
        });
    }
}

/// Reports a list that the agent accepted. An empty first list is ignored: agents send one when
/// they resume a conversation, whatever its list was.
fn tell_list(event: &Event<'_>, listed: &mut BTreeSet<String>, tell: &mut dyn FnMut(Told)) {
    let Kind::TodoList { items, unconfirmed: false, .. } = &event.kind else { return };
    let session = event.agent.as_str().to_owned();
    if items.is_empty() && !listed.contains(&session) {
        return;
    }
    listed.insert(session.clone());
    let masked = |text: std::borrow::Cow<'_, str>| mask(&text).into_owned();
    let entries = items.iter().map(|item| ListEntry {
        item: None,
        title: masked(item.text.to_str()),
        active_form: item.active_form.as_ref().map(|it| masked(it.to_str())),
        status: status(item.status),
        waiting_on: item.waiting_on.as_ref().map(|it| masked(it.to_str())),
    });
    tell(Told::List { session, entries: entries.collect() });
}

fn status(status: event::Status) -> Status {
    match status {
        event::Status::Pending => Status::Pending,
        event::Status::InProgress => Status::InProgress,
        event::Status::Completed => Status::Completed,
        event::Status::Cancelled => Status::Cancelled,
    }
}

/// A message worth keeping: about a plan, or about the begin or end of a session or turn. Other
/// messages are not parsed.
fn message(line: &[u8]) -> Option<String> {
    const SIGNS: [&[u8]; 4] = [b"plan", b"sessionId", b"stopReason", b"todo"];
    let has = |sign: &[u8]| line.windows(sign.len()).any(|it| it == sign);
    if line.len() > LONGEST || !SIGNS.iter().any(|it| has(it)) {
        return None;
    }
    let message: Value = serde_json::from_slice(line).ok()?;
    let update = &message["params"]["update"];
    let kind = update["sessionUpdate"].as_str().unwrap_or_default();
    let is_plan = kind.starts_with("plan")
        || kind.starts_with("tool_call") && update["title"].as_str() == Some("update_plan");
    let result = &message["result"];
    if is_plan {
        return Some(mask(&message.to_string()).into_owned());
    }
    // From a response only the fields about the session are kept.
    for name in ["sessionId", "stopReason"] {
        if let Some(said) = result.get(name).and_then(Value::as_str) {
            return Some(
                json!({"jsonrpc": "2.0", "id": message["id"], "result": {name: said}}).to_string(),
            );
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn heard(pieces: &[Heard]) -> Vec<Told> {
        let mut ear = Ear::default();
        let mut told = Vec::new();
        for piece in pieces {
            ear.hear(piece, &mut |it| told.push(it));
        }
        told
    }

    fn plan(session: &str, entries: &[(&str, &str)]) -> String {
        let entries: Vec<Value> = entries
            .iter()
            .map(|(content, status)| json!({"content": content, "status": status, "priority": "medium"}))
            .collect();
        let update = json!({"sessionUpdate": "plan", "entries": entries});
        let params = json!({"sessionId": session, "update": update});
        json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string() + "\n"
    }

    fn lists(told: &[Told]) -> Vec<String> {
        let list = |it: &Told| match it {
            Told::List { session, entries } => {
                let entries =
                    entries.iter().map(|it| format!("{} {}", it.status.as_str(), it.title));
                Some(format!("{session}: {}", entries.collect::<Vec<_>>().join(", ")))
            }
            Told::Message(_) => None,
        };
        told.iter().filter_map(list).collect()
    }

    fn bytes(text: &str) -> Heard {
        Heard::Bytes(text.as_bytes().to_owned())
    }

    #[test]
    fn plans_are_heard_however_they_are_cut_into_pieces() {
        let text = plan("s", &[("One", "completed"), ("Two", "in_progress")]);
        let pieces: Vec<Heard> = text.bytes().map(|it| Heard::Bytes(vec![it])).collect();
        assert_eq!(lists(&heard(&pieces)), ["s: completed One, in_progress Two"]);
        assert_eq!(lists(&heard(&[bytes(&text)])), ["s: completed One, in_progress Two"]);
    }

    #[test]
    fn after_a_gap_the_next_whole_line_counts() {
        let (one, two) = (plan("s", &[("One", "pending")]), plan("s", &[("Two", "pending")]));
        let cut = &one[..one.len() / 2];
        let told = heard(&[bytes(cut), Heard::Gap, bytes("rest\"}\n"), bytes(&two)]);
        assert_eq!(lists(&told), ["s: pending Two"]);
    }

    #[test]
    fn an_empty_list_clears_what_was_seen_and_nothing_else() {
        let empty = plan("s", &[]);
        assert_eq!(lists(&heard(&[bytes(&empty)])), [""; 0]);
        let one = plan("s", &[("One", "pending")]);
        assert_eq!(lists(&heard(&[bytes(&one), bytes(&empty)])), ["s: pending One", "s: "]);
    }

    #[test]
    fn only_what_is_about_plans_and_sessions_is_kept_and_secrets_are_masked() {
        let secret = format!("sk-ant-api03-{}", "Ab3".repeat(12));
        let text = plan("s", &[(&format!("Use {secret}"), "pending")]);
        let chat = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s",
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "my plan"}}}});
        let new =
            json!({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s", "modes": {"x": 1}}});
        let told = heard(&[bytes(&format!("{chat}\n{new}\nnot json plan\n{text}"))]);
        let kept: Vec<&String> = told
            .iter()
            .filter_map(|it| match it {
                Told::Message(it) => Some(it),
                Told::List { .. } => None,
            })
            .collect();
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert_eq!(kept[0], r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}"#);
        assert!(!kept[1].contains(&secret));
        let Some(Told::List { entries, .. }) = told.last() else { panic!("{told:?}") };
        assert!(!entries[0].title.contains(&secret) && entries[0].status == Status::Pending);
    }

    /// A reader that returns a few bytes at a time.
    struct Dribble<'a>(&'a [u8], usize);

    impl Read for Dribble<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn a_listener_that_stands_still_or_is_gone_holds_nothing_up() {
        let all = vec![b'x'; 10_000];
        let (send, receive) = line();
        let mut out = Vec::new();
        pass_on(&mut Dribble(&all, 10), &mut out, &send).unwrap();
        assert_eq!(out, all);
        let waiting: Vec<Heard> = receive.try_iter().collect();
        assert_eq!(waiting.len(), BEHIND);
        drop(receive);
        out.clear();
        pass_on(&mut Dribble(&all, 10), &mut out, &send).unwrap();
        assert_eq!(out, all);
    }

    proptest! {
        #[test]
        fn any_bytes_are_passed_on_as_they_are_and_understood_or_not(
            all in prop::collection::vec(any::<u8>(), 0..2000),
            size in 1_usize..300,
        ) {
            let (send, receive) = line();
            let mut out = Vec::new();
            pass_on(&mut Dribble(&all, size), &mut out, &send).unwrap();
            drop(send);
            prop_assert_eq!(&out, &all);
            let mut ear = Ear::default();
            for piece in receive {
                ear.hear(&piece, &mut |_| {});
            }
        }
    }
}
