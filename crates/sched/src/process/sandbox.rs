//! The sandbox of a command: it writes only where it may, and it has no network.
//!
//! The guardian starts a sandboxed command through our own program, which restricts itself and then
//! executes the command in its place. `files` limits writing with Landlock, `system_calls` refuses
//! sockets with seccomp, `capabilities` takes root's powers. The restrictions hold for every descendant, and no process can lift them.
//! Reading is not limited. `docs/design/sandbox.md` lists what else is not covered.

#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod system_calls;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The options of a sandbox.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SandboxOptions {
    /// The directories that the command may write, with everything below. Besides these it may
    /// write its own temporary directory (`TMPDIR`, removed when it has ended) and devices such as
    /// `/dev/null`.
    pub writable: Vec<PathBuf>,
}

/// Whether this machine can run commands in a sandbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Support {
    /// It can.
    Full,
    /// It cannot, for this reason.
    Missing(String),
}

/// The setting `agent.sandbox`: what happens with a model's shell commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sandbox {
    /// They run in the sandbox and need no approval, unless a rule asks or denies. Where there is
    /// no sandbox, they ask.
    #[default]
    Auto,
    /// They run in the sandbox, and ask unless a rule allows them.
    Ask,
    /// They run without a sandbox, and ask unless a rule allows them.
    Off,
}

/// What the setting means on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InForce {
    /// Commands run in the sandbox and need no approval, unless a rule asks or denies.
    On,
    /// Commands run in the sandbox, and ask unless a rule allows them.
    OnAndAsking,
    /// Commands run without a sandbox, for this reason, and ask unless a rule allows them.
    Off(String),
}

/// Whether this machine can run commands in a sandbox. Changes nothing.
pub fn support() -> Support {
    match missing() {
        None => Support::Full,
        Some(why) => Support::Missing(why),
    }
}

#[cfg(target_os = "linux")]
fn missing() -> Option<String> {
    if !std::path::Path::new("/proc/self/exe").exists() {
        return Some("/proc is not mounted".to_owned());
    }
    files::missing().or_else(system_calls::missing)
}

#[cfg(not(target_os = "linux"))]
fn missing() -> Option<String> {
    Some("this system is not Linux".to_owned())
}

/// Restricts this process and all that it will start. Fails if any part of the sandbox is missing.
#[cfg(target_os = "linux")]
pub(super) fn enter(writable: &[PathBuf]) -> Result<(), String> {
    capabilities::restrict()?;
    files::restrict(writable)?;
    system_calls::restrict()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn enter(_writable: &[PathBuf]) -> Result<(), String> {
    Err("this system is not Linux".to_owned())
}

impl Sandbox {
    /// What the setting means on a machine.
    pub fn in_force(self, support: Support) -> InForce {
        match (self, support) {
            (Self::Off, _) => InForce::Off("switched off".to_owned()),
            (Self::Auto | Self::Ask, Support::Missing(why)) => InForce::Off(why),
            (Self::Auto, Support::Full) => InForce::On,
            (Self::Ask, Support::Full) => InForce::OnAndAsking,
        }
    }
}

impl FromStr for Sandbox {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "auto" => Ok(Self::Auto),
            "ask" => Ok(Self::Ask),
            "off" => Ok(Self::Off),
            _ => Err(()),
        }
    }
}

impl InForce {
    /// Whether commands run in the sandbox.
    pub fn is_on(&self) -> bool {
        match self {
            Self::On | Self::OnAndAsking => true,
            Self::Off(_) => false,
        }
    }
}

impl fmt::Display for InForce {
    /// One line for the user.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ON: &str = "sandbox: on (writes: the project and a temporary directory; no network)";
        match self {
            Self::On => f.write_str(ON),
            Self::OnAndAsking => write!(f, "{ON}; commands ask"),
            Self::Off(why) => write!(f, "sandbox: off ({why}); commands ask"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_force_is_one_line() {
        let missing = || Support::Missing("the kernel has no Landlock ABI 4".to_owned());
        let lines: Vec<String> = [
            ("auto", Support::Full),
            ("auto", missing()),
            ("ask", Support::Full),
            ("ask", missing()),
            ("off", Support::Full),
        ]
        .into_iter()
        .map(|(name, support)| name.parse::<Sandbox>().unwrap().in_force(support).to_string())
        .collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        sandbox: on (writes: the project and a temporary directory; no network)
        sandbox: off (the kernel has no Landlock ABI 4); commands ask
        sandbox: on (writes: the project and a temporary directory; no network); commands ask
        sandbox: off (the kernel has no Landlock ABI 4); commands ask
        sandbox: off (switched off); commands ask
        ");
        assert_eq!("on".parse::<Sandbox>(), Err(()));
    }
}
