//! The group `api`: the HTTP API against its OpenAPI document by schemathesis, and MCP over HTTP against the
//! protocol's conformance suite.
//!
//! schemathesis is installed only under `target/api`, in a fixed version, and both run without a network.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::agents::{enclosed, enclosure};
use super::mcp;
use super::tally::Report;
use super::{Program, Step, text_of};
use crate::print::warn;
use crate::workspace::{cargo, root};

/// The version of schemathesis; what it checks changes with the version.
const VERSION: &str = "4.32.5";

/// The environment variable with the path of schemathesis.
const PLACE: &str = "PUNCHLIST_TEST_SCHEMATHESIS";

/// Installs what is missing and builds the tests, or says what is not available.
pub(super) fn prepare() -> Result<Vec<Step>, String> {
    let enclosure = enclosure()?;
    // Built outside of the namespace, so that cargo can download what is missing.
    if !tests(cargo()).arg("--no-run").status().is_ok_and(|it| it.success()) {
        return Err("the tests did not build".to_owned());
    }
    let run = |about: &str, filter: &str, (name, place): (&str, &PathBuf)| {
        let mut command = enclosed(enclosure, &tests(cargo()));
        command.args(["--offline", filter, "--", "--ignored", "--nocapture"]).env(name, place);
        let (report, about) = (Report::Harness, about.to_owned());
        Step::Run(Box::new(Program { command, report, about }))
    };
    let schema = match schemathesis() {
        Ok(place) => run("-- schemathesis", "the_api_is_what_its_document_says", (PLACE, &place)),
        Err(why) => Step::Skip(format!("schemathesis: {why}")),
    };
    let conformance = match mcp::suite() {
        Ok(place) => run("-- the conformance suite", "mcp_over_http_passes", (mcp::PLACE, &place)),
        Err(why) => Step::Skip(format!("the conformance suite: {why}")),
    };
    Ok(vec![schema, conformance])
}

/// The program, which is installed if necessary.
fn schemathesis() -> Result<PathBuf, String> {
    let place = root().join("target/api/venv");
    let program = place.join("bin/schemathesis");
    let is_there = || {
        let mut command = Command::new(&program);
        command.arg("--version").stderr(Stdio::null());
        text_of(command).is_some_and(|it| it.contains(VERSION))
    };
    if is_there() {
        return Ok(program);
    }
    warn(&format!("installing schemathesis {VERSION} …"));
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&place).stdout(Stdio::null());
    if !venv.status().is_ok_and(|it| it.success()) {
        return Err("Python with venv is not there".to_owned());
    }
    let mut pip = Command::new(place.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"]);
    pip.arg(format!("schemathesis=={VERSION}"));
    if !pip.status().is_ok_and(|it| it.success()) || !is_there() {
        return Err("pip could not install it".to_owned());
    }
    Ok(program)
}

fn tests(mut cargo: Command) -> Command {
    cargo.args(["test", "--workspace", "--locked", "--test", "it"]);
    cargo
}
