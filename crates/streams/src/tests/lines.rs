//! Helpers for hand-written streams.

use serde_json::Value;

use super::{lists, parse, read};
use crate::event::owned;
use crate::{Options, Source, Tally};

/// Lines as a program writes them.
pub(super) fn bytes(lines: &[Value]) -> Vec<u8> {
    lines.iter().flat_map(|it| format!("{it}\n").into_bytes()).collect()
}

/// Checks the lists that follow from lines, also with other ways to split the stream.
#[track_caller]
pub(super) fn check(source: Source, lines: &[Value], expected: &[&str]) {
    let bytes = bytes(lines);
    super::check(source, &bytes);
    let lists = lists(source, &bytes);
    assert_eq!(lists.lines().collect::<Vec<_>>(), expected);
}

/// Checks the warnings that follow from lines.
#[track_caller]
pub(super) fn check_warnings(source: Source, lines: &[Value], expected: &[&str]) {
    let all = super::check(source, &bytes(lines));
    let mut warnings = Vec::new();
    for line in all.lines() {
        if let owned::Kind::Warning { line, why } = parse(line).kind {
            warnings.push(format!("{line}: {why}"));
        }
    }
    assert_eq!(warnings, expected);
}

/// Checks all events that follow from lines: the type of each, and the values of its short fields.
#[track_caller]
pub(super) fn check_events(source: Source, lines: &[Value], expected: &[&str]) {
    let all = super::check(source, &bytes(lines));
    let brief = |line: &str| {
        let event: Value = serde_json::from_str(line).expect("JSON");
        let fields = event.as_object().expect("an object");
        let mut brief = fields["type"].as_str().expect("a text").to_owned();
        for (key, value) in fields {
            let is_envelope =
                ["eventId", "agentId", "agentType", "timestamp", "type", "items"].contains(&&**key);
            if !is_envelope {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                brief.push_str(&format!(" {key}={value}"));
            }
        }
        brief
    };
    assert_eq!(all.lines().map(brief).collect::<Vec<_>>(), expected);
}

/// The counts of lines.
pub(super) fn tally(source: Source, lines: &[Value]) -> Tally {
    read(source, Options::default(), &bytes(lines), 1 << 16).1
}

/// The agents of the events, each once.
pub(super) fn agents(source: Source, lines: &[Value]) -> Vec<String> {
    let all = super::check(source, &bytes(lines));
    let mut agents: Vec<String> = all.lines().map(|it| parse(it).agent_id).collect();
    agents.dedup();
    agents
}

/// Checks that every kind of line in the recordings is known.
#[track_caller]
pub(super) fn check_known(source: Source) {
    for (name, bytes) in super::recordings(source.name()) {
        let (_, tally) = read(source, Options::default(), &bytes, 1 << 16);
        assert!(tally.unknown.is_empty(), "{name}: {:?}", tally.unknown);
        let is_silent = tally.todo_calls > 0 && tally.lists == 0 && tally.warnings == 0;
        assert!(!is_silent, "{name}: calls without a list, and nobody says so");
    }
}
