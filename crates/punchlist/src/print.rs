//! The only place that writes to the terminal, and what is known of it.
//!
//! Results go to stdout in one piece, everything else to stderr. A reader that went away is no
//! error.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};

use punchlist_formats::text::{self, Line};
use punchlist_formats::view::json;

use crate::fail::Fail;
use crate::keyboard::Keyboard;
use crate::person;

/// What a verb answers.
#[derive(Default, Debug)]
pub(crate) struct Reply {
    /// The result.
    pub(crate) out: String,
    /// What the caller should know besides.
    pub(crate) notes: Vec<String>,
    /// Whether something was changed on the way.
    pub(crate) changed: bool,
    /// The exit code, for a verb that has something to say and still does not end well.
    pub(crate) exit: u8,
    /// Whether the result is sentences, which a terminal shows broken between words.
    pub(crate) prose: bool,
}

impl Reply {
    pub(crate) fn text(out: impl Into<String>) -> Self {
        Self { out: out.into(), ..Self::default() }
    }

    /// Sentences for a person, or lines that may be long.
    pub(crate) fn prose(out: impl Into<String>) -> Self {
        Self { prose: true, ..Self::text(out) }
    }

    /// A JSON value on a line of its own.
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self::text(json::render(value) + "\n")
    }
}

/// When to use colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What stdout leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Whether a person looks at it.
    pub(crate) is_terminal: bool,
    /// How many columns it has.
    pub(crate) width: u16,
    /// Whether to use colour.
    pub(crate) colour: bool,
}

impl Colour {
    /// Whether to use it, by where stdout leads and what the environment says.
    fn is_on(self, is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                is_terminal
                    && variable("NO_COLOR").is_none_or(|value| value.is_empty())
                    && variable("TERM").is_none_or(|term| term != "dumb")
            }
        }
    }
}

impl Screen {
    pub(crate) fn look(colour: Colour) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let colour = colour.is_on(is_terminal, |name| env::var_os(name));
        Self { is_terminal, width: width(is_terminal), colour }
    }

    /// Lines of a view as text for this screen, each with its line break.
    pub(crate) fn drawn(self, lines: &[Line]) -> String {
        lines.iter().map(|it| self.line(it) + "\n").collect()
    }

    /// One line of a view as text for this screen.
    pub(crate) fn line(self, line: &Line) -> String {
        line.to_ansi(self.colour)
    }
}

fn width(is_terminal: bool) -> u16 {
    let given = env::var("COLUMNS").ok().and_then(|text| text.parse::<u16>().ok());
    let asked = || {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok().filter(|_| is_terminal)?;
        Some(size.ws_col)
    };
    given.or_else(asked).filter(|width| *width > 0).unwrap_or(80)
}

/// Writes what a verb answered. Gives the exit code.
pub(crate) fn reply(reply: &Reply, json: bool) -> u8 {
    notes(&reply.notes, json);
    let is_wrapped = reply.prose && !json && io::stdout().is_terminal();
    let shown = if is_wrapped { wrapped(&reply.out, width(true)) } else { Cow::from(&reply.out) };
    match out(shown.as_bytes()) {
        Ok(()) => reply.exit,
        Err(why) if reply.changed => fail(
            &Fail::ours(format!("the change was made, but its result cannot be written: {why}")),
            false,
        ),
        Err(why) => fail(&Fail::ours(format!("cannot write the result: {why}")), json),
    }
}

/// Lines broken between words, where a terminal of that width would break them anywhere.
fn wrapped(text: &str, width: u16) -> Cow<'_, str> {
    let lines = text.split('\n').map(|line| text::wrap(line, usize::from(width)).join("\n"));
    Cow::from(lines.collect::<Vec<_>>().join("\n"))
}

/// Writes a part of a result that goes on. Gives whether anybody still reads.
pub(crate) fn live(part: &str) -> Result<bool, Fail> {
    live_bytes(part.as_bytes())
}

/// The same, of bytes that are fit for wherever stdout leads.
pub(crate) fn live_bytes(part: &[u8]) -> Result<bool, Fail> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(part).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(why) if why.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(why) => Err(Fail::ours(format!("cannot write the result: {why}"))),
    }
}

/// The same, of lines of JSON. Characters that act on whoever looks at them are written as escapes, wherever
/// stdout leads: a log is looked at later.
pub(crate) fn live_json(lines: Vec<u8>) -> Result<bool, Fail> {
    match String::from_utf8(lines) {
        Ok(text) => live_bytes(text::escape::json(&text).as_bytes()),
        Err(error) => live_bytes(error.as_bytes()),
    }
}

/// Warnings beside the result; for programs each is a JSON object on a line of its own, as errors are.
pub(crate) fn notes(lines: &[String], json: bool) {
    let mut all = String::new();
    for line in lines {
        if json {
            let value = serde_json::json!({"warning": line});
            all.push_str(&format!("{}\n", punchlist_formats::view::json::render(&value)));
        } else {
            all.push_str(&format!("warning: {}\n", text::one_line(line)));
        }
    }
    if json { err(&all) } else { err_prose(&all) }
}

/// Writes what a person wants to know besides the result; for programs, the value instead.
pub(crate) fn aside(text: &str, json: Option<&serde_json::Value>) {
    match json {
        Some(value) => err(&(json::render(value) + "\n")),
        None => {
            let lines = text.lines().map(|it| text::one_line(it).into_owned() + "\n");
            err_prose(&lines.collect::<String>());
        }
    }
}

/// Writes why a call failed. Gives the exit code.
pub(crate) fn fail(fail: &Fail, json: bool) -> u8 {
    let hint = fail.hint_for(person::is_agent());
    if json {
        err(&(json::render(&fail.json(hint)) + "\n"));
        return fail.code.exit();
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
    fail.code.exit()
}

/// How far reading has come: one line on the terminal, and nothing anywhere else.
pub(crate) struct Progress {
    /// How much there is in all.
    total: u64,
    files: usize,
    is_shown: bool,
    drawn: String,
}

impl Progress {
    /// Over so much, if that is known. It stays away where the result itself goes to the terminal.
    pub(crate) fn over(total: Option<u64>, files: usize) -> Self {
        let is_shown = total.is_some() && io::stderr().is_terminal() && !io::stdout().is_terminal();
        Self { total: total.unwrap_or(0), files, is_shown, drawn: String::new() }
    }

    pub(crate) fn draw(&mut self, bytes: u64, done: usize) {
        if !self.is_shown {
            return;
        }
        let bar = bar(bytes, self.total, done, self.files);
        if self.drawn != bar {
            // A line that the terminal would break could not be taken back.
            let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |it| it.ws_col);
            let columns = if columns == 0 { 80 } else { usize::from(columns) };
            err(&format!("\r\x1b[K{}", text::truncate(&bar, columns - 1)));
            self.drawn = bar;
        }
    }

    pub(crate) fn clear(&mut self) {
        if !self.drawn.is_empty() {
            self.drawn.clear();
            err("\r\x1b[K");
        }
    }
}

/// ` 45 %  █████████░░░░░░░░░░░  136 of 300 MB, file 2 of 7`
fn bar(bytes: u64, total: u64, done: usize, files: usize) -> String {
    const CELLS: u64 = 20;
    let bytes = bytes.min(total);
    let share = |of: u64| (u128::from(bytes) * u128::from(of) / u128::from(total.max(1))) as u64;
    let (full, percent) = (share(CELLS) as usize, share(100));
    let cells = "█".repeat(full) + &"░".repeat(CELLS as usize - full);
    let (bytes, total) = (bytes / 1_000_000, total / 1_000_000);
    let at = (done + 1).min(files);
    format!("{percent:>3} %  {cells}  {bytes} of {total} MB, file {at} of {files}")
}

/// What came of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// Yes.
    Yes,
    /// Anything else.
    No,
    /// There is nobody to ask.
    Nothing,
}

/// Says what a question is about, before it is asked: lines that are no result.
pub(crate) fn say(lines: &[String]) {
    let text: String = lines.iter().map(|it| text::many_lines(it).into_owned() + "\n").collect();
    err_prose(&text);
}

/// Whether there is a terminal to ask at.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a yes at the terminal. What was typed before the question stood there is no answer.
pub(crate) fn confirm(question: &str) -> Said {
    let Some(mut keyboard) = Keyboard::open().filter(|_| can_ask()) else { return Said::Nothing };
    if keyboard.confirms(question) { Said::Yes } else { Said::No }
}

fn out(bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(why) if why.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Sentences for a person, which a terminal shows broken between words.
fn err_prose(text: &str) {
    let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
    err(&if columns > 0 { wrapped(text, columns) } else { Cow::from(text) });
}

fn err(text: &str) {
    // If even stderr is gone, there is nobody left to tell.
    if !text.is_empty() {
        io::stderr().lock().write_all(text.as_bytes()).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_up_and_never_overflows() {
        let at = |bytes, total| bar(bytes, total, 0, 2);
        assert_eq!(at(0, 0), "  0 %  ░░░░░░░░░░░░░░░░░░░░  0 of 0 MB, file 1 of 2");
        let half = "50 %  ██████████░░░░░░░░░░  150 of 300 MB, file 1 of 2";
        assert_eq!(at(150_000_000, 300_000_000), format!(" {half}"));
        let full = "100 %  ████████████████████  300 of 300 MB, file 2 of 2";
        assert_eq!(bar(u64::MAX, 300_000_000, 2, 2), full);
    }

    #[test]
    fn no_color_is_obeyed_unless_colour_is_asked_for() {
        #[track_caller]
        fn check(colour: Colour, is_terminal: bool, name: &str, value: &str, expected: bool) {
            let variable = |asked: &str| (asked == name).then(|| OsString::from(value));
            let about = format!("{colour:?} {is_terminal} {name}={value}");
            assert_eq!(colour.is_on(is_terminal, variable), expected, "{about}");
        }
        check(Colour::Auto, true, "", "", true);
        check(Colour::Auto, false, "", "", false);
        check(Colour::Auto, true, "NO_COLOR", "1", false);
        check(Colour::Auto, true, "NO_COLOR", "0", false);
        check(Colour::Auto, true, "NO_COLOR", "", true);
        check(Colour::Auto, true, "TERM", "dumb", false);
        check(Colour::Auto, true, "TERM", "xterm", true);
        check(Colour::Always, false, "NO_COLOR", "1", true);
        check(Colour::Never, true, "", "", false);
    }
}
