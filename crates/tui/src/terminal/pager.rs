//! Shows long texts in the user's pager, with control characters escaped.
//!
//! If stdout is no terminal, or no pager can be started, the text is printed. Only one line at a
//! time is in memory.

use std::io::{self, BufRead, ErrorKind, IsTerminal, Write};

use punchlist_engine::fail::Fail;
use punchlist_engine::pager;
use punchlist_formats::text;

/// Maximum length of a line; the rest is cut off.
const LONGEST: u64 = 64 << 10;

/// Shows a text, on a terminal in the pager, if there is one. A closed pipe is not an error.
pub fn show(text: impl BufRead, pager: Option<&str>) -> Result<(), Fail> {
    let shown = match pager.filter(|_| io::stdout().is_terminal()) {
        Some(pager) => paged(text, pager),
        None => copy(text, io::stdout()),
    };
    match shown {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            Err(Fail::ours(format!("cannot show it: {why}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn paged(text: impl BufRead, pager: &str) -> io::Result<()> {
    let Ok(mut child) = pager::start(pager) else { return copy(text, io::stdout()) };
    let copied = match child.stdin.take() {
        Some(stdin) => copy(text, stdin),
        None => Ok(()),
    };
    let ended = child.wait()?;
    match copied {
        // The shell did not find the pager, so nothing was shown.
        Err(why) if ended.code() == Some(127) => Err(io::Error::other(format!(
            "the pager {pager:?} is not there ({why}); set PAGER to another, or to `cat`"
        ))),
        other => other,
    }
}

fn copy(mut text: impl BufRead, mut to: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = io::Read::take(&mut text, LONGEST).read_until(b'\n', &mut line)?;
        if read == 0 {
            return to.flush();
        }
        let text_line = String::from_utf8_lossy(&line);
        to.write_all(text::one_line(text_line.trim_end_matches(['\n', '\r'])).as_bytes())?;
        if line.ends_with(b"\n") {
            to.write_all(b"\n")?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_made_harmless_line_by_line() {
        for (from, expected) in [
            ("", ""),
            ("one\ntwo\n", "one\ntwo\n"),
            ("no end", "no end"),
            ("red \u{1b}[31mred\u{1b}[0m\r\n", "red red\n"),
            ("\n\nx\n", "\n\nx\n"),
        ] {
            let mut out = Vec::new();
            copy(from.as_bytes(), &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{from:?}");
        }
        let mut out = Vec::new();
        copy(&b"\xff\xfe\n"[..], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\u{fffd}\u{fffd}\n");
    }
}
