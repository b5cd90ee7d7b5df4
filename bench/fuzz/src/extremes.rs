//! What no recording has: lines of a gigabyte, no newline at all, NULs, nesting without end, and a
//! thousand sessions at once. Each for every parser, with the memory that it took.

use punchlist_streams::event::{Event, KindSet};
use punchlist_streams::{Options, Source, Stream};

use crate::{BOUND, Corpus, peak, read, say};

const GIGABYTE: usize = 1 << 30;
const CHUNK: usize = 1 << 20;
const SESSIONS: usize = 1_000;

pub(crate) fn all(corpora: &[(Source, Corpus)]) -> Result<(), String> {
    for (source, corpus) in corpora {
        long_line(*source, b"x", "a line of 1 GB")?;
        long_line(
            *source,
            b"{\"type\":\"assistant\",\"message\":\"",
            "a line of 1 GB that begins well",
        )?;
        long_line(*source, b"\0", "1 GB of NULs")?;
        nested(*source)?;
        sessions(*source, corpus)?;
    }
    say(&format!("extremes: {} MB at most, {} MB allowed\n", peak() >> 10, BOUND >> 10));
    if peak() > BOUND { Err("too much memory".to_owned()) } else { Ok(()) }
}

/// A gigabyte without a newline, then a line that must be counted.
fn long_line(source: Source, beginning: &[u8], name: &str) -> Result<(), String> {
    let mut events = Vec::new();
    let mut sink = |event: &Event<'_>| event.write_json(&mut events);
    let mut stream = Stream::new(source, Options::default());
    stream.push(beginning, &mut sink);
    let filler =
        vec![beginning.last().map_or(b'x', |it| if *it == b'"' { b'x' } else { *it }); CHUNK];
    for _ in 0..GIGABYTE / CHUNK {
        stream.push(&filler, &mut sink);
    }
    stream.push(b"\n{}\n", &mut sink);
    stream.end(&mut sink);
    let tally = stream.tally();
    if tally.lines != 2 || tally.warnings < 1 {
        return Err(format!("{}: {name}: {tally:?}", source.name()));
    }
    Ok(())
}

fn nested(source: Source) -> Result<(), String> {
    for piece in ["[", "{\"a\":", "{\"message\":{\"content\":[", "\"\\"] {
        let line = piece.repeat(100_000);
        let (out, (lines, _)) = read(source, KindSet::ALL, line.as_bytes(), 4096);
        let is_told = out
            .windows(17)
            .any(|it| it == b"\"type\":\"warning\"," || it.starts_with(b"\"type\":\"warning\""));
        if lines != 1 || !is_told {
            return Err(format!("{}: nesting of {piece} is not told", source.name()));
        }
    }
    Ok(())
}

/// A thousand streams, one chunk of each after the other.
fn sessions(source: Source, corpus: &Corpus) -> Result<(), String> {
    let mut streams: Vec<(Stream, Vec<u8>)> = (0..SESSIONS)
        .map(|at| {
            let recording = corpus.get(at % corpus.len().max(1));
            let bytes = recording.map_or_else(Vec::new, |it| it.join(&b'\n'));
            (Stream::new(source, Options::default()), bytes)
        })
        .collect();
    let mut out = Vec::new();
    let longest = streams.iter().map(|it| it.1.len()).max().unwrap_or(0);
    for from in (0..longest).step_by(1_000) {
        for (stream, bytes) in &mut streams {
            let chunk = bytes.get(from..(from + 1_000).min(bytes.len())).unwrap_or_default();
            out.clear();
            stream.push(chunk, &mut |event: &Event<'_>| event.write_json(&mut out));
        }
    }
    let lines: u64 = streams.iter().map(|it| it.0.tally().lines).sum();
    say(&format!(
        "{}: {SESSIONS} sessions at once, {lines} lines, {} MB\n",
        source.name(),
        peak() >> 10
    ));
    Ok(())
}
