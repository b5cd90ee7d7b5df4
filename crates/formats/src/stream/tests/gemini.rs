//! Gemini CLI: recordings, and every trap that they do not show.

use serde_json::{Value, json};

use super::{golden, hostile, lists, parse, recordings};
use crate::stream::{Source, owned, recognise};

#[test]
fn every_recording_gives_these_events() {
    for (name, bytes) in recordings("gemini") {
        golden(Source::Gemini, &name, &bytes);
    }
}

#[test]
fn every_recording_is_recognised() {
    for (name, bytes) in recordings("gemini") {
        // A program that could not begin says nothing.
        let expected = (!bytes.is_empty()).then_some(Source::Gemini);
        assert_eq!(recognise(&bytes), expected, "{name}");
    }
}

#[test]
fn spoilt_recordings_are_read_as_far_as_they_go() {
    let corpus: Vec<Vec<u8>> = recordings("gemini").into_iter().map(|it| it.1).collect();
    hostile(Source::Gemini, &corpus);
}
