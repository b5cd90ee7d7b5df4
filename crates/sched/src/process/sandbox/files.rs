//! Where a sandboxed process may write, enforced by Landlock.
//!
//! Landlock decides by the path under which a file is opened, after links are resolved. A process
//! in the sandbox can also neither trace processes outside nor read their memory or environment.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// What the kernel must have: it limits truncation (ABI 3) and TCP (ABI 4).
const REQUIRED: ABI = ABI::V4;
/// What is used where the kernel has it: limits on device ioctls (ABI 5), and on signals and
/// abstract UNIX sockets (ABI 6).
const USED: ABI = ABI::V6;

/// Devices that are safe to write, for everybody.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Why Landlock cannot be used; `None` if it can.
pub(super) fn missing() -> Option<String> {
    let failed = |_| "the kernel has no Landlock ABI 4, which Linux 6.7 added".to_owned();
    ruleset().err().map(failed)
}

/// Restricts this process to writing below these directories, and to the devices.
pub(super) fn restrict(writable: &[PathBuf]) -> Result<(), String> {
    let failed = |why: RulesetError| format!("Landlock failed: {why}");
    // New device files would give access to any disk.
    let below = AccessFs::from_write(REQUIRED) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let device = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let mut ruleset = ruleset().map_err(failed)?;
    for directory in writable {
        ruleset = ruleset.add_rule(beneath(directory, below)?).map_err(failed)?;
    }
    for path in DEVICES.iter().map(Path::new).filter(|it| it.exists()) {
        ruleset = ruleset.add_rule(beneath(path, device)?).map_err(failed)?;
    }
    let status = ruleset.restrict_self().map_err(failed)?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err("Landlock is not enforced".to_owned());
    }
    Ok(())
}

/// Limits without exceptions. Fails if the kernel lacks what is required.
fn ruleset() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(REQUIRED))?
        .handle_access(AccessNet::from_all(REQUIRED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(USED))?
        .scope(Scope::from_all(USED))?
        .create()
}

/// An exception for a path and everything below it.
fn beneath(path: &Path, access: BitFlags<AccessFs>) -> Result<PathBeneath<PathFd>, String> {
    let opened = PathFd::new(path);
    let opened = opened.map_err(|why| format!("{} cannot be opened: {why}", path.display()))?;
    Ok(PathBeneath::new(opened, access))
}
