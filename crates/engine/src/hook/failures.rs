//! Failures of hooks, for `doctor`. The hook itself reports nothing and lets the agent continue.
//!
//! Each failure is one line of JSON in a file of bounded size that only the user can read. Prompts
//! and titles are not written there, and texts that look like secrets are masked, because an error
//! may quote a line of the configuration.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use punchlist_formats::text::{mask, one_line};
use punchlist_model::Timestamp;
use punchlist_model::store::Error;
use serde::{Deserialize, Serialize};

use crate::replace;

/// The file's name, in the user's data directory.
pub const FILE: &str = "hook-failures.jsonl";

/// If the file is longer, only its second half is kept.
const MOST_BYTES: u64 = 64 * 1024;
/// Maximum length of a description, in characters.
const MOST_TEXT: usize = 300;

/// A failed hook call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The time of the failure.
    pub at: Timestamp,
    /// The agent of the hook, such as `claude`.
    pub agent: String,
    /// The event, if known.
    pub event: Option<String>,
    /// The description.
    pub what: String,
}

/// Describes a store's error. A refusal may name titles, so its text is not used.
pub fn describe(error: &Error) -> String {
    match error {
        Error::Refused(_) | Error::Undo(_) => "a change was refused".to_owned(),
        Error::Revision { .. } => "the plan was written by too many processes at once".to_owned(),
        Error::NameTaken(_) => "the plan's name is taken".to_owned(),
        Error::NoPlan(_)
        | Error::Exists(_)
        | Error::AlreadyMade(_)
        | Error::NoRun(_)
        | Error::NoCall { .. }
        | Error::CallMoved { .. }
        | Error::NoQuestion(_)
        | Error::NoConversation(_)
        | Error::ConversationExists(_)
        | Error::Held { .. }
        | Error::Message(_)
        | Error::MessageChanged(_)
        | Error::NewerSchema { .. }
        | Error::ReadOnly(_)
        | Error::Busy(_)
        | Error::Denied { .. }
        | Error::Server { .. }
        | Error::Unusable { .. }
        | Error::Unconfirmed { .. } => error.to_string(),
    }
}

/// Records a failure. Callers may ignore the result, because there is nobody to report it to.
pub fn note(directory: &Path, failure: &Failure) -> io::Result<()> {
    let what: String = one_line(&mask(&failure.what)).chars().take(MOST_TEXT).collect();
    let failure = Failure { what, ..failure.clone() };
    let mut line = serde_json::to_string(&failure)?;
    line.push('\n');
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let path = directory.join(FILE);
    shorten(&path)?;
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
    // One write call per line, so that lines of several hooks do not mix.
    file.write_all(line.as_bytes())
}

/// The failures, oldest first. Invalid lines are skipped.
pub fn read(directory: &Path) -> Vec<Failure> {
    let Some(text) = contents(&directory.join(FILE)) else { return Vec::new() };
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn contents(path: &PathBuf) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MOST_BYTES * 4).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Shortens the file. If two hooks do so at once, a few lines may be lost.
fn shorten(path: &PathBuf) -> io::Result<()> {
    let long = fs::metadata(path).is_ok_and(|meta| meta.len() > MOST_BYTES);
    let Some(text) = long.then(|| contents(path)).flatten() else { return Ok(()) };
    let lines: Vec<&str> = text.lines().collect();
    let kept = lines[lines.len() / 2..].join("\n") + "\n";
    replace::private(path, kept.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(what: &str) -> Failure {
        let (agent, event) = ("claude".to_owned(), Some("Stop".to_owned()));
        Failure { at: Timestamp::UNIX_EPOCH, agent, event, what: what.to_owned() }
    }

    #[test]
    fn failures_are_kept_in_order_and_harmless() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("made on the way");
        assert_eq!(read(&dir), []);
        note(&dir, &failure("first")).unwrap();
        note(&dir, &failure(&format!("second \u{1b}[31m\nline {}", "x".repeat(9000)))).unwrap();
        let found = read(&dir);
        assert_eq!((found.len(), found[0].clone()), (2, failure("first")));
        assert!(!found[1].what.contains(char::is_control) && found[1].what.len() < 400);
    }

    #[test]
    fn a_secret_that_an_error_quotes_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let secret = format!("sk-ant-api03-{}", "Ab3".repeat(12));
        note(dir.path(), &failure(&format!("config.toml: line 2: token = {secret}"))).unwrap();
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        assert!(text.contains("line 2") && !text.contains(&secret), "{text}");
    }

    #[test]
    fn the_file_does_not_grow_for_ever_and_keeps_the_newest() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..2000 {
            note(dir.path(), &failure(&format!("failure {n}"))).unwrap();
        }
        let size = fs::metadata(dir.path().join(FILE)).unwrap().len();
        assert!(size <= MOST_BYTES + 1000, "{size}");
        let found = read(dir.path());
        assert!(found.len() > 100);
        assert_eq!(found.last().unwrap().what, "failure 1999");
    }

    #[test]
    fn lines_that_are_no_failures_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), b"nonsense\n{}\n\xff\n").unwrap();
        note(dir.path(), &failure("real")).unwrap();
        assert_eq!(read(dir.path()), [failure("real")]);
    }
}
