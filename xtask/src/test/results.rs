//! The results of the group `agents`: collected from the notes of the tests, stored in the
//! repository, and made into the tables of docs/agents.md.
//!
//! A line is `agent, version, feature, how, test`, separated by tabs. The tests and the table know
//! the meaning; this file only sorts lines and replaces those of an earlier run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::documents;
use crate::print::say;
use crate::workspace::root;

/// The environment variable with the path of the notes.
pub(super) const VARIABLE: &str = "PUNCHLIST_TEST_RESULTS";

/// The stored results, relative to the root.
const KEPT: &str = "docs/agents.tsv";
/// The stored results of older releases.
const KEPT_OF_OLDER: &str = "docs/agents-older.tsv";

/// Where the tests of this run write their notes.
pub(super) fn noted() -> PathBuf {
    root().join("target/agents/noted.tsv")
}

/// Where the tests of older releases write their notes.
pub(super) fn noted_of_older() -> PathBuf {
    root().join("target/agents/noted-older.tsv")
}

/// Deletes the notes of an earlier run.
pub(super) fn begin(noted: &Path) -> Result<(), String> {
    match fs::remove_file(noted) {
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{} cannot be removed: {why}", noted.display()))
        }
        Err(_) | Ok(()) => Ok(()),
    }
}

/// Stores the results and generates the table. If `guards` is set, nothing is written, and a stored
/// result that was not shown again is a failure.
pub(super) fn finish(guards: bool) -> Result<(), Failure> {
    // There are no notes if no agent was available.
    let Ok(noted) = fs::read_to_string(noted()) else { return Ok(()) };
    let kept = root().join(KEPT);
    let old = fs::read_to_string(&kept).unwrap_or_default();
    let new = merged(&old, &noted);
    if guards {
        let lost = lost(&old, &new);
        if lost.is_empty() {
            return Ok(());
        }
        let lost = lost.join("\n  ");
        return Err(Failure::Failed(format!(
            "{KEPT} says more than the tests showed:\n  {lost}\nrun `cargo xtask test agents` and look \
             at what becomes of docs/agents.md."
        )));
    }
    if new == old {
        return Ok(());
    }
    fs::write(&kept, new)
        .map_err(|why| Failure::Failed(format!("{KEPT} cannot be written: {why}")))?;
    say(&format!("{KEPT} has changed, and docs/agents.md with it. See `git diff`."));
    documents::generate()
}

/// Stores the results of older releases and generates their table.
pub(super) fn finish_older() -> Result<(), Failure> {
    let Ok(noted) = fs::read_to_string(noted_of_older()) else { return Ok(()) };
    let kept = root().join(KEPT_OF_OLDER);
    let old = fs::read_to_string(&kept).unwrap_or_default();
    let new = merged(&old, &noted);
    if new == old {
        return Ok(());
    }
    fs::write(&kept, new)
        .map_err(|why| Failure::Failed(format!("{KEPT_OF_OLDER} cannot be written: {why}")))?;
    say(&format!("{KEPT_OF_OLDER} has changed, and docs/agents.md with it. See `git diff`."));
    documents::generate()
}

fn agent(line: &str) -> &str {
    line.split('\t').next().unwrap_or_default()
}

/// The new lines for agents that were tested, and the old lines for the others.
fn merged(old: &str, noted: &str) -> String {
    let tried: BTreeSet<&str> = noted.lines().map(agent).collect();
    let stay = old.lines().filter(|it| !tried.contains(agent(it)));
    let lines: BTreeSet<&str> = stay.chain(noted.lines()).filter(|it| !it.is_empty()).collect();
    lines.into_iter().map(|it| format!("{it}\n")).collect()
}

/// Stored features that were not shown again, in any version and variant.
fn lost(old: &str, new: &str) -> Vec<String> {
    let features = |text: &str| -> BTreeSet<String> {
        let of = |line: &str| {
            let mut parts = line.split('\t');
            Some(format!("{}: {}", parts.next()?, parts.nth(1)?))
        };
        text.lines().filter_map(of).collect()
    };
    features(old).difference(&features(new)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str =
        "claude\t1\tgate\t\ta::b\nclaude\t1\tresume\t\ta::c\ncodex\t1\tgate\t\td::e\n";

    #[test]
    fn what_was_tried_takes_the_place_of_what_was_kept() {
        let noted = "claude\t2\tgate\t\ta::b\nclaude\t1\tgate\t\ta::b\nclaude\t2\tgate\t\ta::b\n";
        let expected = "claude\t1\tgate\t\ta::b\nclaude\t2\tgate\t\ta::b\ncodex\t1\tgate\t\td::e\n";
        assert_eq!(merged(OLD, noted), expected);
        assert_eq!(merged(OLD, ""), OLD);
        assert_eq!(merged("", OLD), OLD);
    }

    #[test]
    fn a_feature_that_is_shown_no_more_is_named_and_a_new_version_is_none() {
        let noted = "claude\t2\tgate\t\ta::other\n";
        assert_eq!(lost(OLD, &merged(OLD, noted)), ["claude: resume"]);
        assert_eq!(lost(OLD, OLD), [] as [&str; 0]);
        assert_eq!(lost("", OLD), [] as [&str; 0]);
    }
}
