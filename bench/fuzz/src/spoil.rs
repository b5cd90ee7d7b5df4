//! Ways to spoil a recording. They know JSON a little, so that what they make is often still JSON and
//! gets past the first check.

use crate::Corpus;
use crate::chance::Chance;

/// The longest stream. Mutations that repeat could go on for ever.
const LONGEST: usize = 64 << 10;

/// Pieces that have a meaning somewhere.
const PIECES: &[&[u8]] = &[
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xf0\x9f",
    b"\\ud800",
    b"\\udc00",
    b"\\u0000",
    b"\\",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"true",
    b"-1",
    b"0",
    b"1e999",
    b"1e-999",
    b"99999999999999999999",
    b"\"\"",
    b"\" \"",
    b"{}",
    b"[]",
    b"\r",
    b"\n",
    b"\t",
    b"\xef\xbb\xbf",
    b"\"deleted\"",
    b"\"pending\"",
    b"\"completed\"",
    b"\"in_progress\"",
    b"\"cancelled\"",
    b"\"blocked\"",
    b"\"TodoWrite\"",
    b"\"TaskCreate\"",
    b"\"TaskUpdate\"",
    b"\"TaskList\"",
    b"\"update_plan\"",
    b"\"write_todos\"",
    b"\"tracker_create_task\"",
    b"\"plan\"",
    b"\"plan_update\"",
    b"\"plan_removed\"",
    b"\"$set\"",
    b"\"$rewindTo\"",
    b"\"result\"",
    b"\"is_error\":true,",
    b"\"success\":false,",
    b"\"type\":\"user\",",
    b"\"type\":\"assistant\",",
    b"\"session_id\":\"other\",",
    b"\"sessionId\":\"other\",",
    b"\"timestamp\":\"1969-12-31T23:59:59.999Z\",",
];

/// A few lines of some recording, spoilt.
pub(crate) fn stream(corpus: &Corpus, chance: &mut Chance) -> Vec<u8> {
    if corpus.is_empty() || chance.one_in(256) {
        return (0..chance.below(200)).map(|_| chance.below(256) as u8).collect();
    }
    let recording = chance.pick(corpus);
    let first = if chance.one_in(3) { 0 } else { chance.index(recording.len()) };
    let count = 1 + chance.index(12);
    let mut lines: Vec<Vec<u8>> = recording.iter().skip(first).take(count).cloned().collect();
    for _ in 0..chance.below(8) {
        whole_lines(&mut lines, corpus, chance);
        let at = chance.index(lines.len());
        if let Some(line) = lines.get_mut(at) {
            bytes(line, chance);
        }
    }
    let mut all = lines.join(&b'\n');
    all.truncate(LONGEST);
    all
}

fn whole_lines(lines: &mut Vec<Vec<u8>>, corpus: &Corpus, chance: &mut Chance) {
    let at = chance.index(lines.len());
    match chance.below(12) {
        0 if lines.len() > 1 => {
            lines.remove(at);
        }
        1 => {
            let again = lines[at].clone();
            lines.insert(at, again);
        }
        2 => {
            let other = chance.index(lines.len());
            lines.swap(at, other);
        }
        3 => {
            let recording = chance.pick(corpus);
            lines.insert(at, chance.pick(recording).clone());
        }
        4 => {
            // One line's beginning with another's end.
            let other = chance.index(lines.len());
            let cut = chance.index(lines[other].len() + 1);
            let tail = lines[other][cut..].to_vec();
            let cut = chance.index(lines[at].len() + 1);
            lines[at].truncate(cut);
            lines[at].extend(tail);
        }
        _ => {}
    }
}

fn bytes(line: &mut Vec<u8>, chance: &mut Chance) {
    if line.is_empty() {
        return;
    }
    let at = chance.index(line.len());
    match chance.below(8) {
        0 => line[at] = chance.below(256) as u8,
        1 => line[at] ^= 1 << chance.below(8),
        2 => line.truncate(at),
        3 => {
            let end = (at + chance.index(64)).min(line.len());
            line.drain(at..end);
        }
        4 => {
            let end = (at + chance.index(64)).min(line.len());
            let again = line[at..end].repeat(1 + chance.index(4));
            line.splice(at..at, again);
        }
        5 => {
            let piece = chance.pick(PIECES);
            line.splice(at..at, piece.iter().copied());
        }
        _ => {
            // One value for another: from a colon or comma to the next sign that ends a value.
            let begins = |it: &u8| matches!(it, b':' | b',' | b'[');
            let Some(begin) = line[at..].iter().position(begins).map(|it| at + it + 1) else {
                return;
            };
            let ends = |it: &u8| matches!(it, b',' | b'}' | b']');
            let Some(end) = line[begin..].iter().position(ends).map(|it| begin + it) else {
                return;
            };
            let piece = chance.pick(PIECES);
            line.splice(begin..end, piece.iter().copied());
        }
    }
}
