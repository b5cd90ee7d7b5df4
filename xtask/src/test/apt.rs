//! Programs from Debian, installed by apt where that is possible: for root.

use std::path::Path;
use std::process::{Command, Stdio};

use super::text_of;
use crate::print::warn;

/// Installs packages.
pub(super) fn install(packages: &[&str]) -> Result<(), String> {
    let names = packages.join(" ");
    let mut id = Command::new("id");
    id.arg("-u").stderr(Stdio::null());
    if text_of(id).as_deref() != Some("0") || !Path::new("/usr/bin/apt-get").exists() {
        return Err(format!("on Debian: apt-get install {names}"));
    }
    warn(&format!("installing {names} …"));
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        apt.stdin(Stdio::null()).stdout(Stdio::null()).status().is_ok_and(|it| it.success())
    };
    let install = [&["install", "-y", "-q", "--no-install-recommends"][..], packages].concat();
    if apt(&["update", "-q"]) && apt(&install) {
        return Ok(());
    }
    Err(format!("apt could not install {names}"))
}
