//! Claude Code: recordings, and every trap that they do not show.

use super::{golden, hostile, recordings};
use crate::stream::Source;

#[test]
fn every_recording_gives_these_events() {
    for (name, bytes) in recordings("claude") {
        golden(Source::ClaudeCode, &name, &bytes);
    }
}

#[test]
fn spoilt_recordings_are_read_as_far_as_they_go() {
    let corpus: Vec<Vec<u8>> = recordings("claude").into_iter().map(|it| it.1).collect();
    hostile(Source::ClaudeCode, &corpus);
}
