//! The group `providers`: model providers, played by aimock, a mock server that others wrote.
//!
//! Our own scripted server and our client could share a mistake about an API. aimock is a second
//! opinion. It is installed only under `target/providers`, in a fixed version, and runs without a
//! network.

use std::process::{Command, Stdio};

use super::agents::{enclosed, enclosure};
use super::npm::packages;
use super::tally::Report;
use super::{Program, Step, text_of};
use crate::workspace::cargo;

const PACKAGES: [(&str, &str); 1] = [("@copilotkit/aimock", "1.43.0")];

/// The environment variable with the path of the packages.
const PLACE: &str = "PUNCHLIST_TEST_AIMOCK";

/// The filter for the tests.
const TESTS: &str = "aimock::";

/// Installs what is missing and builds the tests, or says what is not available.
pub(super) fn prepare() -> Result<Vec<Step>, String> {
    let enclosure = enclosure()?;
    let mut node = Command::new("node");
    node.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    text_of(node).ok_or("Node is not there")?;
    let place = packages("providers", "aimock", &PACKAGES)?;
    // Built outside of the namespace, so that cargo can download what is missing.
    if !tests(cargo()).arg("--no-run").status().is_ok_and(|it| it.success()) {
        return Err("the tests did not build".to_owned());
    }
    let mut command = enclosed(enclosure, &tests(cargo()));
    command.args(["--offline", TESTS, "--", "--ignored"]).env(PLACE, &place);
    let about = String::new();
    Ok(vec![Step::Run(Box::new(Program { command, report: Report::Harness, about }))])
}

fn tests(mut cargo: Command) -> Command {
    cargo.args(["test", "--workspace", "--locked", "--test", "it"]);
    cargo
}
