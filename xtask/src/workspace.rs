//! The workspace's directory, and how to call cargo.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The directory of the workspace's manifest.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The cargo that runs xtask, in the workspace's root and without stdin.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).stdin(Stdio::null());
    command
}
