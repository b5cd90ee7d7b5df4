//! `read`: shows a text file, in pieces if it is large. It needs little memory, however large the
//! file is.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};

use futures_core::future::BoxFuture;
use punchlist_sched::call::{Checked, Ended};
use punchlist_sched::{Preview, Tool, Work};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::text::{is_binary, is_file};
use super::{Place, Root, arguments, reads, run_blocking, schema};

/// Maximum of lines, unless the caller wants fewer.
const MOST_LINES: u64 = 2_000;
/// Maximum of bytes that are shown.
const MOST_BYTES: usize = 64 * 1024;
/// Maximum of bytes of a line that are shown.
const LONGEST: usize = 2_000;

/// The tool.
pub struct Read {
    root: Root,
    schema: Value,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The file, relative to the project's root.
    path: String,
    /// The first line to show, from 1.
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// How many lines to show.
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<u64>,
}

impl Read {
    /// Reads files of the project, and others if the policy allows it.
    pub fn new(root: Root) -> Self {
        Self { root, schema: schema::<Arguments>() }
    }
}

impl Tool for Read {
    fn name(&self) -> &'static str {
        "read"
    }

    fn description(&self) -> &'static str {
        "Show a text file with line numbers, up to 2000 lines at a time; use offset and limit for the \
         rest. The number and the tab in front of each line are not part of the file."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, input: &Value) -> Result<Checked, String> {
        let input: Arguments = arguments(input)?;
        Ok(reads(self.name(), &self.root.resolve(&input.path)?))
    }

    fn preview(&self, input: &Value) -> Preview {
        let place = arguments::<Arguments>(input).and_then(|it| self.root.resolve(&it.path));
        let shown: Vec<String> = place.into_iter().map(|it| it.shown).collect();
        Preview { what: format!("read {}", shown.concat()), touches: shown, ..Preview::default() }
    }

    fn run(&self, input: Value, work: Work) -> BoxFuture<'static, Ended> {
        let root = self.root.clone();
        run_blocking(work, move |work| {
            let input: Arguments = arguments(&input)?;
            let (offset, limit) = (input.offset.unwrap_or(1), input.limit.unwrap_or(MOST_LINES));
            shown(&root.resolve(&input.path)?, offset, limit.min(MOST_LINES), work)
        })
    }
}

fn shown(place: &Place, offset: u64, limit: u64, work: &Work) -> Result<String, String> {
    let name = &place.shown;
    let failed = |why: std::io::Error| format!("cannot read {name}: {why}");
    let meta = fs::metadata(&place.real).map_err(failed)?;
    is_file(&meta).map_err(|what| format!("{name} is {what}; list shows directories"))?;
    let mut file = BufReader::new(File::open(&place.real).map_err(failed)?);
    if is_binary(file.fill_buf().map_err(failed)?) {
        let size = meta.len();
        return Err(format!("{name} is not text but a binary file of {size} bytes"));
    }
    let mut out = String::new();
    let mut line = Line::default();
    let (mut number, mut count) = (0, 0);
    loop {
        if work.is_stopping() {
            return Err("stopped".to_owned());
        }
        if !line.next(&mut file).map_err(failed)? {
            break;
        }
        number += 1;
        if number < offset {
            continue;
        }
        if count == limit || out.len() >= MOST_BYTES {
            out.push_str(&format!("(there is more; continue with offset {number})\n"));
            return Ok(out);
        }
        out.push_str(&format!("{number:>6}\t{}\n", line.text()));
        count += 1;
    }
    match (number, count) {
        (0, _) => Ok(format!("({name} is empty)\n")),
        (lines, 0) => Err(format!("{name} has {lines} lines, none from {offset} on")),
        (_, _) => Ok(out),
    }
}

/// A line, of which only as much is kept as is shown.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    cut: bool,
}

impl Line {
    /// Reads the next line. Returns whether there is one.
    fn next(&mut self, file: &mut impl BufRead) -> std::io::Result<bool> {
        self.bytes.clear();
        self.cut = false;
        let mut any = false;
        loop {
            let buffer = file.fill_buf()?;
            if buffer.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = buffer.iter().position(|it| *it == b'\n');
            let (piece, used) = match end {
                Some(end) => (buffer.get(..end).unwrap_or_default(), end + 1),
                None => (buffer, buffer.len()),
            };
            let room = LONGEST.saturating_sub(self.bytes.len());
            self.cut |= piece.len() > room;
            self.bytes.extend(piece.iter().take(room));
            file.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn text(&self) -> String {
        let bytes = if self.cut {
            // A character that was cut in two is left out.
            let whole = std::str::from_utf8(&self.bytes).map_or_else(
                |why| if why.error_len().is_none() { why.valid_up_to() } else { self.bytes.len() },
                str::len,
            );
            self.bytes.get(..whole).unwrap_or_default()
        } else {
            self.bytes.strip_suffix(b"\r").unwrap_or(&self.bytes)
        };
        let text = String::from_utf8_lossy(bytes);
        if self.cut { format!("{text}… (the line is longer)") } else { text.into_owned() }
    }
}
