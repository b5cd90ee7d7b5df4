//! Fuzzing: builds a driver under `bench` and runs it on damaged recordings.
//!
//! A driver fails by itself, and names the seed and the number of the failed execution.

use std::path::PathBuf;
use std::process::Stdio;

use crate::Failure;
use crate::print::warn;
use crate::workspace::{cargo, root};

/// One fuzz target.
pub(crate) struct Target {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What it fuzzes.
    pub(crate) about: &'static str,
    manifest: &'static str,
}

/// All fuzz targets.
pub(crate) const TARGETS: &[Target] = &[Target {
    name: "streams",
    about: "the parsers of agents' streams, with the recordings as a corpus",
    manifest: "bench/fuzz/Cargo.toml",
}];

/// Runs a target: `NAME [EXECUTIONS [SEED [FIRST]]]`.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Failure> {
    let names = || TARGETS.iter().map(|it| it.name).collect::<Vec<_>>().join(", ");
    let [name, rest @ ..] = arguments else {
        return Err(Failure::Usage(format!("say what to fuzz: {}", names())));
    };
    let Some(target) = TARGETS.iter().find(|it| it.name == *name) else {
        return Err(Failure::Usage(format!(
            "nothing to fuzz is called {name:?}; there is: {}",
            names()
        )));
    };
    let is_number = |it: &&str| it.replace('_', "").parse::<u64>().is_ok();
    if rest.len() > 3 || !rest.iter().all(is_number) {
        let message = "after the name come numbers: executions, seed, first execution";
        return Err(Failure::Usage(message.to_owned()));
    }
    warn("building the driver");
    let fixtures: PathBuf = root().join("fixtures");
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--locked",
        "--release",
        "--manifest-path",
        target.manifest,
        "--",
    ]);
    command.arg(fixtures).args(rest).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failure::Reported),
        Err(error) => Err(Failure::Failed(format!("cargo did not start: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_wrongly_is_a_usage_error() {
        for (arguments, expected) in [
            (&[][..], "say what to fuzz: streams"),
            (&["moon"], "nothing to fuzz is called \"moon\"; there is: streams"),
            (
                &["streams", "many"],
                "after the name come numbers: executions, seed, first execution",
            ),
        ] {
            assert_eq!(run(arguments), Err(Failure::Usage(expected.to_owned())), "{arguments:?}");
        }
    }
}
