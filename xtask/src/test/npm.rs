//! Programs from npm: their versions, and where they are installed.
//!
//! Agents are installed only under `target/agents`. Asking one for its version runs it without a
//! network and without the user's home, as in the tests. Packages of a fixed version are installed
//! under the name of their group.

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
        // npm does not complete what an earlier call left incomplete, for example because a part of a
        // new release was not there yet.
        std::fs::remove_dir_all(place.join("node_modules")).ok();
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

/// The path of a group's packages, a name and a version each, which are installed if necessary.
/// `what` says what they are.
pub(super) fn packages(
    group: &str,
    what: &str,
    packages: &[(&str, &str)],
) -> Result<PathBuf, String> {
    let place = root().join("target").join(group);
    if is_complete(&place, packages) {
        return Ok(place);
    }
    let mut version = npm();
    version.arg("--version").stderr(Stdio::null());
    if text_of(version).is_none() {
        return Err("npm is not there".to_owned());
    }
    warn(&format!("installing {what} …"));
    let made = std::fs::create_dir_all(&place);
    made.map_err(|why| format!("{} cannot be made: {why}", place.display()))?;
    let mut npm = npm();
    npm.current_dir(&place).stdout(Stdio::null());
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save"]);
    npm.args(["--loglevel", "error", "--prefix"]).arg(&place);
    npm.args(packages.iter().map(|(name, version)| format!("{name}@{version}")));
    if npm.status().is_ok_and(|it| it.success()) && is_complete(&place, packages) {
        return Ok(place);
    }
    Err(format!("npm could not install {what}"))
}

fn is_complete(place: &Path, packages: &[(&str, &str)]) -> bool {
    packages.iter().all(|(name, version)| {
        let manifest = place.join("node_modules").join(name).join("package.json");
        let wanted = format!("\"version\": \"{version}\"");
        std::fs::read_to_string(manifest).is_ok_and(|it| it.contains(&wanted))
    })
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

    #[test]
    fn nothing_is_complete_where_nothing_is() {
        assert!(!is_complete(Path::new("/nonexistent"), &[("a", "1.0.0")]));
    }
}
