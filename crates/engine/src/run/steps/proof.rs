//! The evidence of a check in a run: the command, the exit code, the output's digest and the
//! covered files. It is passed on in the output of the step's call.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punchlist_model::item::{CheckRun, CoveredFile};
use punchlist_model::{Check, Evidence, Level};
use punchlist_sched::call::Output;
use punchlist_sched::tool::Finished;
use serde::{Deserialize, Serialize};

use crate::around::Around;
use crate::check::evidence::{self, Sum};

/// The result of a step, besides the text of its output.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Proof {
    /// The evidence for the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) evidence: Option<Evidence>,
    /// What the worker said about the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<String>,
    /// Whether an interrupted item has begun again in this run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_begun_again: bool,
}

impl Proof {
    /// Puts the proof into the output of a step.
    pub(crate) fn attach(self, output: Output) -> Output {
        if self.evidence.is_none() && self.outcome.is_none() && !self.has_begun_again {
            return output;
        }
        // All parts are plain data, so this does not fail.
        output.with_data(serde_json::to_value(self).unwrap_or_default())
    }

    /// Reads the proof from the output of a step.
    pub(crate) fn of(output: Option<&Output>) -> Self {
        output.and_then(|it| Self::deserialize(&it.data).ok()).unwrap_or_default()
    }
}

/// Where checks run, and under whose name.
#[derive(Clone)]
pub(crate) struct Prover {
    pub(crate) directory: PathBuf,
    pub(crate) by: String,
    pub(crate) around: Arc<dyn Around>,
}

impl Prover {
    /// The covered files before the check runs. Changes made while it runs count as later changes.
    pub(crate) async fn cover(&self, check: &Check) -> Result<Vec<CoveredFile>, String> {
        if check.covers.is_empty() {
            return Ok(Vec::new());
        }
        let (directory, covers) = (self.directory.clone(), check.covers.clone());
        let look = move || evidence::cover(&directory, &covers).map_err(|why| why.message);
        let found = tokio::task::spawn_blocking(look).await;
        found.unwrap_or_else(|why| Err(format!("the files that it covers: {why}")))
    }

    /// The evidence of a finished check.
    pub(crate) fn checked(
        &self,
        check: &Check,
        covered: Vec<CoveredFile>,
        finished: &Finished,
    ) -> Evidence {
        let run = CheckRun {
            command: check.command.clone(),
            exit_code: finished.exit.as_ref().ok().and_then(|it| it.code),
            output_digest: digest(&finished.output),
            covered,
            worktree: self.directory.to_string_lossy().into_owned(),
        };
        let at = self.around.now();
        Evidence { level: Level::Checked, at, by: self.by.clone(), run: Some(run) }
    }
}

/// SHA-256 of the whole output: of the file, if the text was cut.
fn digest(output: &Output) -> String {
    let mut sum = Sum::default();
    match output.whole.as_ref().and_then(|it| File::open(Path::new(it)).ok()) {
        None => sum.add(output.text.as_bytes()),
        Some(mut file) => {
            let mut piece = vec![0; 64 << 10];
            while let Ok(count @ 1..) = file.read(&mut piece) {
                sum.add(piece.get(..count).unwrap_or_default());
            }
        }
    }
    sum.digits()
}
