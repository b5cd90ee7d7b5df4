//! The group `browser`: the dashboard in Debian's Chromium, driven over WebDriver.
//!
//! Browser and driver are installed by apt where that is possible, that is for root on Debian.
//! axe-core is installed only under `target/browser`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::apt;
use super::npm::packages;
use super::tally::Report;
use super::{Program, Step, text_of};
use crate::workspace::cargo;

/// The installed package: it finds what people cannot use who do not see or click.
const PACKAGES: [(&str, &str); 1] = [("axe-core", "4.14.0")];

/// Browser and driver, with the variable for the path of each. Others name their packages
/// differently, so other names are looked for too.
const PROGRAMS: [(&str, &[&str]); 2] = [
    ("PUNCHLIST_TEST_CHROMIUM", &["chromium", "chromium-browser", "google-chrome"]),
    ("PUNCHLIST_TEST_CHROMEDRIVER", &["chromedriver"]),
];

/// Installs what is missing and builds the tests, or says what is not available.
pub(super) fn prepare() -> Result<Vec<Step>, String> {
    let mut script = Command::new("script");
    script.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    text_of(script).ok_or("it needs `script` of util-linux, which makes terminals")?;
    if found().is_none() {
        install()?;
    }
    let programs = found().ok_or("there is no Chromium with its chromedriver")?;
    let place = packages("browser", "axe-core", &PACKAGES)?;
    if !tests(cargo()).arg("--no-run").status().is_ok_and(|it| it.success()) {
        return Err("the tests did not build".to_owned());
    }
    let mut command = tests(cargo());
    // Each test has a browser of its own; more at once would only wait for each other.
    command.args(["--", "--ignored", "--test-threads", "2"]);
    command
        .envs(programs)
        .env("PUNCHLIST_TEST_AXE", place.join("node_modules/axe-core/axe.min.js"));
    let about = String::new();
    Ok(vec![Step::Run(Box::new(Program { command, report: Report::Harness, about }))])
}

fn tests(mut cargo: Command) -> Command {
    cargo.args(["test", "--workspace", "--locked", "--test", "browser"]);
    cargo
}

/// The paths of both programs, if both are there.
fn found() -> Option<Vec<(&'static str, PathBuf)>> {
    let path = std::env::var_os("PATH")?;
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let find = |names: &[&str]| {
        let at = |name: &&str| directories.iter().map(|it| it.join(name)).find(|it| is_file(it));
        names.iter().find_map(at)
    };
    PROGRAMS.iter().map(|(variable, names)| Some((*variable, find(names)?))).collect()
}

fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Installs both by apt.
fn install() -> Result<(), String> {
    apt::install(&["chromium", "chromium-driver", "fonts-dejavu-core"])
        .map_err(|why| format!("it needs Chromium and chromedriver; {why}"))
}
