//! Agents from npm: their versions, and where they are installed.
//!
//! They are installed only under `target/agents`. Asking one for its version runs it without a
//! network and without the user's home, as in the tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::agents::enclosed;
use super::text_of;
use crate::print::warn;
use crate::workspace::root;

/// A package with a program in it.
pub(super) struct Package {
    /// Its name in npm.
    pub(super) name: &'static str,
    /// The name of its program.
    pub(super) program: &'static str,
    /// Whether it needs its install script.
    pub(super) has_script: bool,
}

impl Package {
    /// The newest version that npm has.
    pub(super) fn newest(&self) -> Result<String, String> {
        let mut npm = npm();
        npm.args(["view", self.name, "version"]).stderr(Stdio::null());
        let version = text_of(npm).ok_or("npm is not there, or cannot reach its registry")?;
        let is_plain = |it: char| it.is_ascii_alphanumeric() || ".-+".contains(it);
        if version.is_empty() || !version.chars().all(is_plain) {
            return Err(format!("npm names no version of {} but {version:?}", self.name));
        }
        Ok(version)
    }

    /// The path of the program in this version, which is installed if necessary.
    pub(super) fn installed(&self, version: &str, enclosure: &[&str]) -> Result<PathBuf, String> {
        let Self { name, program, has_script } = self;
        let place = root().join("target/agents").join(format!("{program}-{version}"));
        let program = place.join("node_modules/.bin").join(program);
        let made = std::fs::create_dir_all(place.join("home"));
        made.map_err(|why| format!("{} cannot be made: {why}", place.display()))?;
        if says_version(&program, version, enclosure) {
            return Ok(program);
        }
        warn(&format!("installing {name} {version}; some hundred megabytes …"));
        let mut npm = npm();
        npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--loglevel", "error"]);
        if !has_script {
            npm.arg("--ignore-scripts");
        }
        npm.arg("--prefix").arg(&place).arg(format!("{name}@{version}")).stdout(Stdio::null());
        if !npm.status().is_ok_and(|it| it.success()) {
            return Err("npm could not install it".to_owned());
        }
        if says_version(&program, version, enclosure) {
            return Ok(program);
        }
        Err("it was installed but does not run; it may need a newer Node".to_owned())
    }
}

fn npm() -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(root()).stdin(Stdio::null());
    npm
}

/// Whether the program runs and reports this version.
fn says_version(program: &Path, version: &str, enclosure: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.arg("--version");
    let mut command = enclosed(enclosure, &command);
    let home = program.ancestors().nth(3).unwrap_or(program).join("home");
    command.env("HOME", home).stderr(Stdio::null());
    program.exists()
        && text_of(command).is_some_and(|it| it.split_whitespace().any(|word| word == version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_has_no_version() {
        assert!(!says_version(Path::new("/nonexistent/a/b/claude"), "1.2.3", &["-n"]));
    }
}
