//! Asks git for the first commit of a repository; [`worktree`] makes and removes worktrees.
//!
//! The first commit distinguishes a moved repository from a new one. The call has a timeout, and git
//! is prevented from using the network: a repository's own configuration could name a program for
//! that.

pub mod worktree;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::doctor::run::run;

/// The first commit of the repository at `root`; the smallest hash if there are several. `None` if
/// there is no repository, commit or git, if the history is incomplete, or after a timeout.
pub fn first_commit(
    root: &Path,
    path: Option<&std::ffi::OsStr>,
    patience: Duration,
) -> Option<String> {
    // The first commit of a shallow clone is not the first commit of the repository.
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
