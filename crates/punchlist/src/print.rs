//! Prints the result or the error of a verb, and knows the properties of stdout.
//!
//! Results go to stdout in one piece, everything else to stderr. A closed pipe is not an error.
//! [`output`] prints while a verb runs.

use std::borrow::Cow;
use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write};

use punchlist_formats::view::json;
use punchlist_tui::terminal::{kind, output};

use crate::fail::Fail;
use crate::person;

pub(crate) use punchlist_tui::Screen;
pub(crate) use punchlist_tui::terminal::keyboard::{Said, can_ask, confirm};
pub(crate) use punchlist_tui::terminal::output::{aside, live, live_json, notes, say};
pub(crate) use punchlist_tui::terminal::progress::Progress;

/// The result of a verb.
#[derive(Default, Debug)]
pub(crate) struct Reply {
    /// The text for stdout.
    pub(crate) out: String,
    /// Notes for the caller, printed on stderr.
    pub(crate) notes: Vec<String>,
    /// Whether the verb changed anything.
    pub(crate) changed: bool,
    /// The exit code, for a verb that has a result but did not succeed.
    pub(crate) exit: u8,
    /// Whether the text is prose, which is wrapped on a terminal.
    pub(crate) prose: bool,
}

impl Reply {
    pub(crate) fn text(out: impl Into<String>) -> Self {
        Self { out: out.into(), ..Self::default() }
    }

    /// Prose, or lines that may be long.
    pub(crate) fn prose(out: impl Into<String>) -> Self {
        Self { prose: true, ..Self::text(out) }
    }

    /// A JSON value, on one line.
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

impl Colour {
    /// Whether to use colour, by stdout and the environment.
    fn is_on(self, is_terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => is_terminal && kind::has_colour(&variable),
        }
    }
}

/// A variable of the environment, unless it is empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    let value = env::var_os(name).filter(|it| !it.is_empty())?;
    Some(value.to_string_lossy().into_owned())
}

/// The properties of stdout.
pub(crate) fn screen(colour: Colour) -> Screen {
    let is_terminal = io::stdout().is_terminal();
    Screen {
        is_terminal,
        width: width(is_terminal),
        colour: colour.is_on(is_terminal),
        cuts_lines: kind::cuts_lines(&variable),
    }
}

/// Whether stdout is a terminal that supports drawing in place.
pub(crate) fn draws_in_place() -> bool {
    io::stdout().is_terminal() && kind::draws_in_place(&variable)
}

fn width(is_terminal: bool) -> u16 {
    let given = env::var("COLUMNS").ok().and_then(|text| text.parse::<u16>().ok());
    let asked = || {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok().filter(|_| is_terminal)?;
        Some(size.ws_col)
    };
    given.or_else(asked).filter(|width| *width > 0).unwrap_or(80)
}

/// Prints a result. Returns the exit code.
pub(crate) fn reply(reply: &Reply, json: bool) -> u8 {
    notes(&reply.notes, json);
    let is_wrapped = reply.prose && !json && io::stdout().is_terminal();
    let shown =
        if is_wrapped { output::wrapped(&reply.out, width(true)) } else { Cow::from(&reply.out) };
    match out(shown.as_bytes()) {
        Ok(()) => reply.exit,
        Err(why) if reply.changed => fail(
            &Fail::ours(format!("the change was made, but its result cannot be written: {why}")),
            false,
        ),
        Err(why) => fail(&Fail::ours(format!("cannot write the result: {why}")), json),
    }
}

/// Prints an error. Returns the exit code.
pub(crate) fn fail(fail: &Fail, json: bool) -> u8 {
    output::fail(fail, fail.hint_for(person::is_agent()), json);
    fail.code.exit()
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
