//! Reads a record of unified events back: lines that this program wrote before.
//!
//! An event keeps its line as it was written, with its id. A line that is no event becomes a `warning`.

mod events;

use serde::Deserialize;
use serde_json::Value;

use crate::event::owned::AgentEvent;
use crate::event::{AgentId, AgentType, Event, Kind, KindName, KindSet};
use crate::lines::{LONGEST_LINE, Lines, Piece};
use crate::parse::emit::Tally;

pub use events::RecordEvents;

/// Reads a record.
pub struct Record {
    lines: Lines,
    only: KindSet,
    agent: AgentId,
    tally: Tally,
}

/// Whether a stream is a record, from its first line that is not blank.
pub fn is_record(head: &[u8]) -> bool {
    let mut lines = head.split(|it| *it == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|it| !it.is_empty()).unwrap_or_default();
    let first: Value = serde_json::from_slice(first).unwrap_or_default();
    ["eventId", "agentId", "agentType", "type"].iter().all(|it| first[*it].is_string())
}

impl Record {
    /// A record of which these kinds are wanted.
    pub fn new(only: KindSet) -> Self {
        let agent = AgentId::new(AgentType::Punchlist.name().to_owned());
        Self { lines: Lines::new(LONGEST_LINE), only, agent, tally: Tally::default() }
    }

    /// Adds bytes, and appends the lines of the wanted events.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(chunk, |piece| self.piece(piece, out));
        self.lines = lines;
    }

    /// Ends the record.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.end(|piece| self.piece(piece, out));
    }

    /// The counts so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<u8>) {
        match piece {
            Piece::Lines(lines) => {
                let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
                lines.split(|it| *it == b'\n').for_each(|it| self.line(it.trim_ascii(), out));
            }
            Piece::TooLong(bytes) => {
                self.tally.lines += 1;
                self.warn(format!("a line of {bytes} bytes; at most {LONGEST_LINE} are read"), out);
            }
        }
    }

    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        self.tally.lines += 1;
        match read(line) {
            Ok(Some((name, _))) => {
                self.count(name);
                if self.only.has(name) {
                    out.extend_from_slice(line);
                    out.push(b'\n');
                }
            }
            Ok(None) => {}
            Err(why) => self.warn(why, out),
        }
    }

    fn count(&mut self, name: KindName) {
        self.tally.events += 1;
        self.tally.lists += u64::from(name == KindName::TodoList);
        self.tally.warnings += u64::from(name == KindName::Warning);
    }

    fn warn(&mut self, why: String, out: &mut Vec<u8>) {
        self.count(KindName::Warning);
        if !self.only.has(KindName::Warning) {
            return;
        }
        let line = self.tally.lines;
        let kind = Kind::Warning { line, why: why.into() };
        let agent_type = AgentType::Punchlist;
        Event { agent: &self.agent, agent_type, timestamp: None, line, index: 0, kind }
            .write_json(out);
    }
}

/// The event of a line; `None` for a blank line. An error says why it is none.
fn read(line: &[u8]) -> Result<Option<(KindName, AgentEvent)>, String> {
    if line.is_empty() {
        return Ok(None);
    }
    let event = serde_json::from_slice::<Value>(line).and_then(|value| {
        let name = value["type"].as_str().and_then(KindName::parse);
        AgentEvent::deserialize(value).map(|event| (name, event))
    });
    match event {
        Ok((Some(name), event)) => Ok(Some((name, event))),
        Ok((None, _)) => Err("not an event".to_owned()),
        Err(why) => Err(format!("not an event: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Source, Stream};

    const CODEX: &str = r#"{"type":"thread.started","thread_id":"t-1"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_0","type":"todo_list","items":[{"text":"A","completed":false}]}}
{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}
"#;

    fn written() -> Vec<u8> {
        let mut out = Vec::new();
        let mut stream = Stream::new(Source::Codex, Options::default());
        let mut write = |event: &Event<'_>| event.write_json(&mut out);
        stream.push(CODEX.as_bytes(), &mut write);
        stream.end(&mut write);
        out
    }

    fn read(bytes: &[u8], only: KindSet, piece: usize) -> (Vec<u8>, Tally) {
        let (mut record, mut out) = (Record::new(only), Vec::new());
        bytes.chunks(piece).for_each(|it| record.push(it, &mut out));
        record.end(&mut out);
        (out, record.tally().clone())
    }

    #[test]
    fn a_record_is_read_back_as_it_was_written() {
        let written = written();
        assert!(is_record(&written) && !is_record(CODEX.as_bytes()) && !is_record(b"\n{}"));
        for piece in [1, 7, 1000] {
            let (out, tally) = read(&written, KindSet::ALL, piece);
            assert_eq!(out, written);
            assert_eq!((tally.lists, tally.warnings), (1, 0));
        }
        let (out, _) = read(&written, KindSet::of([KindName::TodoList]), 64);
        assert_eq!(out.iter().filter(|it| **it == b'\n').count(), 1);
    }

    /// A record with every kind of event, by two agents.
    fn every_kind() -> Vec<u8> {
        let mut lines = Vec::new();
        for kind in [
            r#""type":"session.started","model":"m","cwd":"/p","version":"1""#,
            r#""type":"turn.started","prompt":"Do \"it\"""#,
            r#""type":"text","role":"assistant","text":"Ja\n","delta":true"#,
            r#""type":"thinking","text":"hm""#,
            r#""type":"info","text":"so""#,
            r#""type":"tool.scheduled","callId":"c","name":"Bash","input":{"command":"ls"}"#,
            r#""type":"tool.waiting","callId":"c","question":"run ls""#,
            r#""type":"tool.answered","callId":"c","answer":"yes, once","by":"me""#,
            r#""type":"tool.started","callId":"c","name":"Bash""#,
            r#""type":"tool.completed","callId":"c","name":"Bash","status":"success","output":"a""#,
            r#""type":"message.queued","text":"next","change":"taken","messageId":"1","steers":true"#,
            r#""type":"todo_list","todoId":"t","items":[{"text":"A","status":"in_progress","id":"1","activeForm":"Aing","parent":"0"}]"#,
            r#""type":"usage","inputTokens":1,"costUsd":0.5,"cumulative":true"#,
            r#""type":"error","message":"no","code":"429","recoverable":true"#,
            r#""type":"warning","line":3,"why":"odd""#,
            r#""type":"turn.completed","status":"cancelled","reason":"Esc""#,
        ] {
            for agent in ["max", "kim/sub"] {
                lines.extend_from_slice(
                    format!("{{\"eventId\":\"00000000-0000-0000-0000-000000000000\",\"agentId\":\"{agent}\",\"agentType\":\"claude-code\",\"timestamp\":5,{kind}}}\n").as_bytes(),
                );
            }
        }
        lines
    }

    #[test]
    fn every_kind_of_event_is_told_as_it_was_written() {
        let written = every_kind();
        for piece in [1, 100, 100_000] {
            let (mut record, mut out) = (RecordEvents::default(), Vec::new());
            let mut write = |event: &Event<'_>| event.write_json(&mut out);
            written.chunks(piece).for_each(|it| record.push(it, &mut write));
            record.end(&mut write);
            let values = |bytes: &[u8]| -> Vec<Value> {
                let lines = bytes.split(|it| *it == b'\n').filter(|it| !it.is_empty());
                let value = |it: &[u8]| {
                    let mut value: Value = serde_json::from_slice(it).unwrap();
                    // The id is that of the line.
                    value["eventId"] = Value::Null;
                    value
                };
                lines.map(value).collect()
            };
            assert_eq!(values(&out), values(&written));
        }
    }

    #[test]
    fn what_is_no_event_is_a_warning_with_its_line() {
        let mut bytes = written();
        bytes.extend_from_slice(b"\n{\"type\":\"todo_list\"}\n\xff\xfe{\nnonsense");
        let (out, tally) = read(&bytes, KindSet::of([KindName::Warning]), 5);
        assert_eq!(tally.warnings, 3);
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out.matches("\"type\":\"warning\"").count(), 3, "{out}");
        assert!(out.contains("missing field"), "{out}");
    }
}
