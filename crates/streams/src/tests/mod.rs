//! Helpers for the tests of all parsers: events as text, and properties of every event.
//!
//! [`golden`] compares input with exact events; [`hostile`] checks that no input makes a parser
//! fail, and that other ways to split a stream change nothing.

mod agents;
mod lines;
mod ours;
mod readme;
mod schema;
mod together;
mod traps;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::event::owned::{self, AgentEvent};
use crate::event::{Event, KindName, KindSet};
use crate::{Options, Source, Stream, Tally};

/// The events of a stream that arrives in chunks of one size, as lines of JSON.
pub(super) fn read(
    source: Source,
    options: Options,
    bytes: &[u8],
    chunk: usize,
) -> (String, Tally) {
    let mut out = Vec::new();
    let mut sink = |event: &Event<'_>| event.write_json(&mut out);
    let mut stream = Stream::new(source, options);
    bytes.chunks(chunk.max(1)).for_each(|chunk| stream.push(chunk, &mut sink));
    stream.end(&mut sink);
    let tally = stream.tally().clone();
    (String::from_utf8(out).expect("what we write is UTF-8"), tally)
}

/// All events of a stream.
pub(super) fn events(source: Source, bytes: &[u8]) -> String {
    read(source, Options::default(), bytes, bytes.len()).0
}

/// The lists of a stream in a short form: `todoId: [x] done, [>] doing, [ ] pending`, one per line.
pub(super) fn lists(source: Source, bytes: &[u8]) -> String {
    let only = KindSet::of([KindName::TodoList]);
    let (lines, _) = read(source, Options { only, ..Options::default() }, bytes, bytes.len());
    lines.lines().map(|line| in_short(&parse(line)) + "\n").collect()
}

/// The short form of a list; the type of any other event.
pub(super) fn in_short(event: &AgentEvent) -> String {
    let owned::Kind::TodoList { todo_id, items, unconfirmed } = &event.kind else {
        return format!("{:?}", event.kind);
    };
    let items: Vec<String> = items
        .iter()
        .map(|item| {
            let sign = match item.status {
                owned::Status::Pending => "[ ]",
                owned::Status::InProgress => "[>]",
                owned::Status::Completed => "[x]",
                owned::Status::Cancelled => "[-]",
            };
            let id = item.id.as_ref().map_or_else(String::new, |it| format!("#{it} "));
            let blocked = if item.blocked { " (blocked)" } else { "" };
            format!("{sign} {id}{}{blocked}", item.text)
        })
        .collect();
    let mark = if *unconfirmed { " unconfirmed" } else { "" };
    format!("{todo_id}{mark}: {}", items.join(", "))
}

/// Parses one line of our output.
#[track_caller]
pub(super) fn parse(line: &str) -> AgentEvent {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Compares input with a snapshot of its exact events, named after the input. Checks every line
/// against the published schema and the owned form, and the whole against other ways to split the
/// stream.
#[track_caller]
pub(super) fn golden(source: Source, name: &str, bytes: &[u8]) {
    let all = check(source, bytes);
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path(format!("../snapshots/{}", source.name()));
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, all));
}

/// The recordings in a folder, by name.
pub(super) fn recordings(folder: &str) -> Vec<(String, Vec<u8>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/");
    let entries = std::fs::read_dir(format!("{path}{folder}")).expect("the folder is there");
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.expect("it can be listed").path();
        if path.extension().is_some_and(|it| it == "jsonl") {
            let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
            all.push((name, std::fs::read(&path).expect("it can be read")));
        }
    }
    all.sort();
    all
}

/// Checks the properties of all events of some bytes. Returns the events.
#[track_caller]
pub(super) fn check(source: Source, bytes: &[u8]) -> String {
    let (all, tally) = read(source, Options::default(), bytes, bytes.len());
    schema::check(&all);
    let mut warnings = 0;
    let mut lists = String::new();
    for line in all.lines() {
        let event = parse(line);
        warnings += u64::from(matches!(event.kind, owned::Kind::Warning { .. }));
        if matches!(event.kind, owned::Kind::TodoList { .. }) {
            lists.push_str(line);
            lists.push('\n');
        }
    }
    assert_eq!(tally.warnings, warnings, "warnings are counted");
    assert_eq!(tally.events, all.lines().count() as u64, "events are counted");
    assert_eq!(tally.lists, lists.lines().count() as u64, "lists are counted");
    for chunk in [7, 4093] {
        assert_eq!(read(source, Options::default(), bytes, chunk).0, all, "chunks of {chunk}");
    }
    let only = KindSet::of([KindName::TodoList]);
    let (quick, quick_tally) = read(source, Options { only, ..Options::default() }, bytes, 4093);
    assert_eq!(quick, lists, "lists alone are the same lists");
    assert_eq!(quick_tally.lines, tally.lines, "lines that are not read are counted");
    all
}

/// Mutated recordings: no input makes a parser fail or write an invalid line.
pub(super) fn hostile(source: Source, corpus: &[Vec<u8>]) {
    let lines = |it: &Vec<u8>| it.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let corpus: Vec<Vec<Vec<u8>>> = corpus.iter().map(lines).collect();
    let recording = prop::sample::select(corpus);
    let edits = prop::collection::vec((any::<prop::sample::Index>(), edit()), 1..6);
    // A long test run sets the number: `PROPTEST_CASES=100000`.
    let is_long = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if is_long { Config::default().cases } else { 96 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&(recording, edits), |(lines, edits)| {
        let mut lines = lines;
        for (at, edit) in edits {
            let at = at.index(lines.len());
            edit.apply(&mut lines, at);
        }
        check(source, &lines.join(&b'\n'));
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// A mutation of a recording.
#[derive(Clone, Debug)]
enum Edit {
    Drop,
    Repeat,
    Swap,
    Cut(prop::sample::Index),
    Set(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    /// Replaces one JSON value by another.
    Value(prop::sample::Index, serde_json::Value),
}

fn edit() -> impl Strategy<Value = Edit> {
    let index = any::<prop::sample::Index>;
    let bytes = prop_oneof![
        prop::sample::select(vec![
            &b"\0"[..],
            b"\xff",
            b"\xed\xa0\x80",
            b"\\ud800",
            b"\\u0000",
            b"{",
            b"}",
            b"[",
            b"]",
            b"\"",
            b"\\",
            b",",
            b"null",
            b"\r",
            b"\n",
            b"-",
            b"1e999",
            b"\xf0\x9f",
        ])
        .prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    let value = prop::sample::select(vec![
        serde_json::json!(null),
        serde_json::json!(true),
        serde_json::json!(-1),
        serde_json::json!(1.5e300),
        serde_json::json!(""),
        serde_json::json!(" \n\u{a0}"),
        serde_json::json!("deleted"),
        serde_json::json!("\u{1b}[2J\u{202e}\0\"\\"),
        serde_json::json!([]),
        serde_json::json!({}),
        serde_json::json!([[], {}, "", null, {"content": 1, "status": "?"}]),
        serde_json::json!({"type": "?", "id": [], "todos": {}, "tasks": null}),
    ]);
    prop_oneof![
        1 => Just(Edit::Drop),
        1 => Just(Edit::Repeat),
        1 => Just(Edit::Swap),
        1 => index().prop_map(Edit::Cut),
        1 => (index(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        1 => (index(), bytes).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        6 => (index(), value).prop_map(|(at, value)| Edit::Value(at, value)),
    ]
}

impl Edit {
    fn apply(self, lines: &mut Vec<Vec<u8>>, at: usize) {
        match self {
            Self::Drop => lines[at].clear(),
            Self::Repeat => lines.insert(at, lines[at].clone()),
            Self::Swap => {
                let other = (at + 1) % lines.len();
                lines.swap(at, other);
            }
            Self::Cut(to) => {
                let to = to.index(lines[at].len() + 1);
                lines[at].truncate(to);
            }
            Self::Set(place, byte) => {
                if !lines[at].is_empty() {
                    let place = place.index(lines[at].len());
                    lines[at][place] = byte;
                }
            }
            Self::Insert(place, bytes) => {
                let place = place.index(lines[at].len() + 1);
                lines[at].splice(place..place, bytes);
            }
            Self::Value(place, value) => {
                if let Ok(mut line) = serde_json::from_slice(&lines[at]) {
                    let place = place.index(count(&line));
                    replace(&mut line, &mut place.clone(), &value);
                    lines[at] = line.to_string().into_bytes();
                }
            }
        }
    }
}

fn children(value: &mut serde_json::Value) -> Vec<&mut serde_json::Value> {
    match value {
        serde_json::Value::Array(items) => items.iter_mut().collect(),
        serde_json::Value::Object(fields) => fields.values_mut().collect(),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => Vec::new(),
    }
}

fn count(value: &serde_json::Value) -> usize {
    1 + children(&mut value.clone()).into_iter().map(|it| count(it)).sum::<usize>()
}

/// Replaces the n-th value, counted from the top.
fn replace(value: &mut serde_json::Value, at: &mut usize, by: &serde_json::Value) -> bool {
    if *at == 0 {
        *value = by.clone();
        return true;
    }
    *at -= 1;
    children(value).into_iter().any(|child| replace(child, at, by))
}
