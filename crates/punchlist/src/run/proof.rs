//! How a check that ran becomes evidence: what was run, how it ended, and what it said.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use punchlist_model::item::CheckRun;
use punchlist_model::{Check, Evidence, Level};
use punchlist_sched::call::Output;
use punchlist_sched::tool::Finished;
use sha2::{Digest, Sha256};

use super::step::Prove;
use crate::clock;

/// How checks become evidence in a directory, in somebody's name.
pub(super) fn prover(directory: &Path, by: &str) -> Prove {
    let (directory, by) = (directory.to_owned(), by.to_owned());
    Arc::new(move |check, finished| checked(check, finished, &directory, &by))
}

fn checked(check: &Check, finished: &Finished, directory: &Path, by: &str) -> Evidence {
    let run = CheckRun {
        command: check.command.clone(),
        exit_code: finished.exit.as_ref().ok().and_then(|it| it.code),
        output_digest: digest(&finished.output),
        covered: Vec::new(),
        worktree: directory.display().to_string(),
    };
    Evidence { level: Level::Checked, at: clock::now(), by: by.to_owned(), run: Some(run) }
}

/// SHA-256 of all that was said: of the file that has it, where the text was cut.
fn digest(output: &Output) -> String {
    let mut sum = Sha256::new();
    let whole = output.whole.as_ref().and_then(|it| File::open(it).ok());
    match whole {
        None => sum.update(output.text.as_bytes()),
        Some(mut file) => {
            let mut piece = vec![0; 64 << 10];
            while let Ok(count @ 1..) = file.read(&mut piece) {
                sum.update(piece.get(..count).unwrap_or_default());
            }
        }
    }
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
