//! Generates the documents that are made from the code.
//!
//! The `tidy` test of the binary has the list of documents and compares them, and a test of `tui`
//! has the pictures of screens. These commands make the tests write them instead. Pictures of the
//! program in tmux are written by the test that plays their story.

use std::process::Command;

use crate::Failure;
use crate::print::{say, warn};
use crate::workspace::cargo;

/// The variable that makes a test write what it compares.
const WRITE: &str = "PUNCHLIST_WRITE_DOCUMENTS";

/// Writes all generated documents.
pub(crate) fn generate() -> Result<(), Failure> {
    let test = "tidy::generated_documents_are_what_the_code_generates";
    write(&["--package", "punchlist", "--test", "it"], test)?;
    say(
        "docs/reference, the pictures and the tables of docs/agents.md are what the code generates. See \
         `git diff`.",
    );
    Ok(())
}

/// Draws all pictures of screens.
pub(crate) fn screens() -> Result<(), Failure> {
    let test = "screens::the_pictures_show_what_the_code_draws";
    // First those of the program in tmux: the document refers to them.
    let has_tmux = Command::new("tmux").arg("-V").output().is_ok_and(|it| it.status.success());
    if has_tmux {
        for test in [
            "terminal_pictures::the_terminal_ui_in_tmux_from_a_plan_to_a_resumed_session",
            "team::pictures::a_team_in_tmux_works_side_by_side_and_asks",
        ] {
            write(&["--package", "punchlist", "--test", "it"], test)?;
        }
    } else {
        warn("there is no tmux: the pictures of the terminal UI stay as they are");
    }
    write(&["--package", "punchlist-tui", "--lib"], test)?;
    say("docs/screens.md and its pictures show what the code draws. See `git diff`.");
    Ok(())
}

/// Runs the test that compares some documents, and makes it write them.
fn write(target: &[&str], test: &str) -> Result<(), Failure> {
    let mut command = cargo();
    command.args(["test", "--quiet", "--locked"]).args(target);
    command.args(["--", "--exact", test]).env(WRITE, "1");
    let output = command
        .output()
        .map_err(|error| Failure::Failed(format!("cargo could not be started: {error}")))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::Failed(format!("the documents were not written:\n{printed}{errors}")));
    }
    // If the test was renamed, the filter would match nothing, and cargo would still succeed.
    if !printed.contains("1 passed") {
        return Err(Failure::Failed(format!("there is no test {test:?} any more")));
    }
    Ok(())
}
