//! Where the workspace is, and how its tools are called.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The directory that the workspace's manifest is in.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The cargo that runs us, in the workspace's root and without input.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).stdin(Stdio::null());
    command
}
