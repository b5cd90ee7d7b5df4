//! Generates the documents that are made from the code.
//!
//! The `tidy` test of the binary has the list of documents and compares them. This command makes
//! the test write them instead.

use crate::Failure;
use crate::print::say;
use crate::workspace::cargo;

/// The test that compares the documents, and the variable that makes it write them.
const TEST: &str = "tidy::generated_documents_are_what_the_code_generates";
const WRITE: &str = "PUNCHLIST_WRITE_DOCUMENTS";

/// Writes all generated documents.
pub(crate) fn generate() -> Result<(), Failure> {
    let mut command = cargo();
    command.args(["test", "--quiet", "--locked", "--package", "punchlist", "--test", "it", "--"]);
    command.args(["--exact", TEST]).env(WRITE, "1");
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
        return Err(Failure::Failed(format!("there is no test {TEST:?} any more")));
    }
    say(
        "docs/reference, the pictures and the tables of docs/agents.md are what the code generates. See \
         `git diff`.",
    );
    Ok(())
}
