//! A question to git: which commit a repository began with.
//!
//! It tells a repository that was moved from one that is new. The answer is a hash and nothing else, the
//! question is bounded in time, and git is kept from asking anybody over a network: a repository's own
//! configuration could name a program for that.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::doctor::run::run;

/// The first commit of the repository at `root`; of several the one with the smallest hash. Nothing if
/// there is no repository, commit or git, if its history is not all here, or if git takes too long.
pub fn first_commit(
    root: &Path,
    path: Option<&std::ffi::OsStr>,
    patience: Duration,
) -> Option<String> {
    // What begins a shallow clone is not what the repository began with.
    if root.join(".git/shallow").exists() || root.join("shallow").exists() {
        return None;
    }
    let mut command = Command::new("git");
    command.env_clear().env("GIT_NO_LAZY_FETCH", "1").env("GIT_OPTIONAL_LOCKS", "0");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C").env("HOME", "/nonexistent");
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.args(["-c", "protocol.allow=never", "-c", "core.fsmonitor=false"]);
    command.arg("-C").arg(root).args(["rev-list", "--max-parents=0", "HEAD"]);
    let ran = run(command, b"", patience).ok().filter(|it| it.code == Some(0))?;
    let text = String::from_utf8(ran.out).ok()?;
    let is_hash = |it: &&str| {
        (40..=64).contains(&it.len()) && it.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    text.lines().map(str::trim).filter(is_hash).min().map(str::to_owned)
}
