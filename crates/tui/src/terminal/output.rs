//! What is written to stdout and stderr while a verb works.
//!
//! Parts of a result go to stdout, everything else to stderr. A reader that went away is no error.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};

use punchlist_engine::fail::Fail;
use punchlist_formats::text;
use punchlist_formats::view::json;

/// Lines broken between words, where a terminal of that width would break them anywhere.
pub fn wrapped(text: &str, width: u16) -> Cow<'_, str> {
    let lines = text.split('\n').map(|line| text::wrap(line, usize::from(width)).join("\n"));
    Cow::from(lines.collect::<Vec<_>>().join("\n"))
}

/// Writes a part of a result that goes on. Gives whether anybody still reads.
pub fn live(part: &str) -> Result<bool, Fail> {
    live_bytes(part.as_bytes())
}

/// The same, of bytes that are fit for wherever stdout leads.
fn live_bytes(part: &[u8]) -> Result<bool, Fail> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(part).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(why) if why.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(why) => Err(Fail::ours(format!("cannot write the result: {why}"))),
    }
}

/// The same, of lines of JSON. Characters that act on whoever looks at them are written as escapes, wherever
/// stdout leads: a log is looked at later.
pub fn live_json(lines: Vec<u8>) -> Result<bool, Fail> {
    match String::from_utf8(lines) {
        Ok(text) => live_bytes(text::escape::json(&text).as_bytes()),
        Err(error) => live_bytes(error.as_bytes()),
    }
}

/// Warnings beside the result; for programs each is a JSON object on a line of its own, as errors are.
pub fn notes(lines: &[String], json: bool) {
    let mut all = String::new();
    for line in lines {
        if json {
            let value = serde_json::json!({"warning": line});
            all.push_str(&format!("{}\n", json::render(&value)));
        } else {
            all.push_str(&format!("warning: {}\n", text::one_line(line)));
        }
    }
    if json { err(&all) } else { err_prose(&all) }
}

/// Writes what a person wants to know besides the result; for programs, the value instead.
pub fn aside(text: &str, json: Option<&serde_json::Value>) {
    match json {
        Some(value) => err(&(json::render(value) + "\n")),
        None => {
            let lines = text.lines().map(|it| text::one_line(it).into_owned() + "\n");
            err_prose(&lines.collect::<String>());
        }
    }
}

/// Writes why a call failed, and what to do next.
pub fn fail(fail: &Fail, hint: Option<&str>, json: bool) {
    if json {
        err(&(json::render(&fail.json(hint)) + "\n"));
        return;
    }
    let mut all = String::new();
    for line in fail.message.lines() {
        all.push_str(&format!("error: {}\n", text::one_line(line)));
    }
    for line in &fail.details {
        all.push_str(&format!("  {}\n", text::many_lines(line)));
    }
    for line in hint.iter().flat_map(|hint| hint.lines()) {
        all.push_str(&format!("hint: {}\n", text::one_line(line)));
    }
    err_prose(&all);
}

/// Says what a question is about, before it is asked: lines that are no result.
pub fn say(lines: &[String]) {
    let text: String = lines.iter().map(|it| text::many_lines(it).into_owned() + "\n").collect();
    err_prose(&text);
}

/// Sentences for a person, which a terminal shows broken between words.
fn err_prose(text: &str) {
    let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
    err(&if columns > 0 { wrapped(text, columns) } else { Cow::from(text) });
}

pub(crate) fn err(text: &str) {
    // If even stderr is gone, there is nobody left to tell.
    if !text.is_empty() {
        io::stderr().lock().write_all(text.as_bytes()).ok();
    }
}
