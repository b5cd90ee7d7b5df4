//! The capabilities that a sandboxed process of root keeps.
//!
//! With all of them it could go around the rest of the sandbox: read the environment of other
//! processes, load code into the kernel, write to disks. It keeps those that concern files and
//! users, so that work on files of other users succeeds. Processes of other users have none, and
//! cannot gain any, because Landlock and seccomp need `no_new_privs`.

use rustix::io;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities,
};

const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// Gives up the other capabilities, for this process and all that it will start.
pub(super) fn restrict() -> Result<(), String> {
    give_up().map_err(|why| format!("capabilities could not be given up: {why}"))
}

fn give_up() -> io::Result<()> {
    let now = capabilities(None)?;
    if now.permitted.is_empty() && !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    // A program that root executes has all capabilities of the bounding set.
    for (_, one) in CapabilitySet::all().iter_names().filter(|(_, it)| !KEPT.contains(*it)) {
        // An error means that the kernel does not know this capability.
        if capability_is_in_bounding_set(one).unwrap_or(false) {
            remove_capability_from_bounding_set(one)?;
        }
    }
    let CapabilitySets { effective, permitted, inheritable } = now;
    set_capabilities(
        None,
        CapabilitySets {
            effective: effective & KEPT,
            permitted: permitted & KEPT,
            inheritable: inheritable & KEPT,
        },
    )
}
