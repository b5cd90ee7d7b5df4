//! Agents that speak ACP: recordings, and every trap that they do not show.

use serde_json::{Value, json};

use super::{golden, hostile, lists, parse, recordings};
use crate::stream::{Source, owned, recognise};

#[test]
fn every_recording_gives_these_events() {
    for (name, bytes) in recordings("acp") {
        golden(Source::Acp, &name, &bytes);
    }
}

#[test]
fn every_recording_is_recognised() {
    for (name, bytes) in recordings("acp") {
        assert_eq!(recognise(&bytes), Some(Source::Acp), "{name}");
    }
}

#[test]
fn spoilt_recordings_are_read_as_far_as_they_go() {
    let corpus: Vec<Vec<u8>> = recordings("acp").into_iter().map(|it| it.1).collect();
    hostile(Source::Acp, &corpus);
}
