//! Writes to stdout and stderr while a verb runs.
//!
//! Parts of a result go to stdout, everything else to stderr. A closed pipe is not an error.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};

use punchlist_engine::fail::Fail;
use punchlist_formats::text;
use punchlist_formats::view::json;

/// Wraps lines between words, for a terminal of this width.
pub fn wrapped(text: &str, width: u16) -> Cow<'_, str> {
    let lines = text.split('\n').map(|line| text::wrap(line, usize::from(width)).join("\n"));
    Cow::from(lines.collect::<Vec<_>>().join("\n"))
}

/// Writes a part of a continuous result. Returns whether anybody still reads.
pub fn live(part: &str) -> Result<bool, Fail> {
    live_bytes(part.as_bytes())
}

/// The same for bytes that are already escaped as stdout needs it.
fn live_bytes(part: &[u8]) -> Result<bool, Fail> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(part).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(why) if why.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(why) => Err(Fail::ours(format!("cannot write the result: {why}"))),
    }
}

/// The same for lines of JSON. Control characters are escaped even if stdout is no terminal,
/// because somebody may view a log later.
pub fn live_json(lines: Vec<u8>) -> Result<bool, Fail> {
    match String::from_utf8(lines) {
        Ok(text) => live_bytes(text::escape::json(&text).as_bytes()),
        Err(error) => live_bytes(error.as_bytes()),
    }
}

/// Prints warnings; with `json`, each is a JSON object on its own line, like errors.
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

/// Prints additional information for a person; with `json`, the value instead.
pub fn aside(text: &str, json: Option<&serde_json::Value>) {
    match json {
        Some(value) => err(&(json::render(value) + "\n")),
        None => {
            let lines = text.lines().map(|it| text::one_line(it).into_owned() + "\n");
            err_prose(&lines.collect::<String>());
        }
    }
}

/// Prints an error and a hint.
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

/// Prints lines that are not part of the result, such as the text above a question.
pub fn say(lines: &[String]) {
    let text: String = lines.iter().map(|it| text::many_lines(it).into_owned() + "\n").collect();
    err_prose(&text);
}

/// Prints prose, wrapped on a terminal.
fn err_prose(text: &str) {
    let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
    err(&if columns > 0 { wrapped(text, columns) } else { Cow::from(text) });
}

pub(crate) fn err(text: &str) {
    // If stderr is closed too, the message is lost.
    if !text.is_empty() {
        io::stderr().lock().write_all(text.as_bytes()).ok();
    }
}
