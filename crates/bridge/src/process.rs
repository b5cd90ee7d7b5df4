//! Processes: identity, whether one has ended, and its ancestors.
//!
//! A process is identified so that it cannot be confused with another one that has or had its pid.
//! All functions may return nothing, because processes can be hidden; that is never an error.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod ps;

use std::borrow::Cow;

use punchlist_model::Process;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use ps as system;

/// Most ancestors that are examined.
const DEPTH: usize = 64;

/// Most arguments of a process that are read, and most bytes of all of them. The program and its
/// options are at the beginning.
const ARGUMENTS: usize = 32;
const BYTES: usize = 4096;

/// An ancestor of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ancestor {
    /// Its identity.
    pub process: Process,
    /// The system's name of the process: usually its file name, cut to 15 bytes on Linux, or the
    /// name that it gave itself.
    pub name: String,
    /// Its first arguments, including the program. Empty if they are unknown.
    pub argv: Argv,
}

/// The first arguments of a process, in one buffer, because most are never read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Argv {
    /// Each argument ends with a NUL, except perhaps the last.
    bytes: Vec<u8>,
}

impl Argv {
    /// The arguments. Some programs overwrite theirs with a title and leave the rest empty.
    pub fn words(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let words = self.bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        words.take(ARGUMENTS).map(lossy)
    }

    /// The program as it was called; empty if it is unknown.
    pub fn program(&self) -> Cow<'_, str> {
        self.words().next().unwrap_or_default()
    }
}

impl<S: AsRef<str>> FromIterator<S> for Argv {
    fn from_iter<I: IntoIterator<Item = S>>(words: I) -> Self {
        let mut bytes = Vec::new();
        for word in words {
            bytes.extend_from_slice(word.as_ref().as_bytes());
            bytes.push(0);
        }
        Self { bytes }
    }
}

/// The bytes as text, with invalid UTF-8 replaced.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// The identity of a running process; `None` if no process with this pid is visible.
pub fn process(host: &str, pid: u32) -> Option<Process> {
    system::process(host, pid)
}

/// Whether a process has certainly ended. `false` for a process on another host, of an earlier boot
/// or in another pid namespace.
pub fn has_ended(host: &str, process: &Process) -> bool {
    process.host == host && system::has_ended(process)
}

/// What is known about a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is running.
    Runs,
    /// It has ended.
    Ended,
    /// It is not visible from here.
    Unknown,
}

/// Whether a process is running. Unlike [`has_ended`] it treats equal host names as the same host,
/// so a process of an earlier boot has ended.
pub fn fate(host: &str, process: &Process) -> Fate {
    if process.host != host {
        return Fate::Unknown;
    }
    system::fate(process)
}

/// The ancestors of a process, nearest first. Stops at one that is not visible, and after the first
/// for which `is_it` returns true.
pub fn ancestors(host: &str, pid: u32, is_it: impl Fn(&Ancestor) -> bool) -> Vec<Ancestor> {
    system::ancestors(host, pid, is_it)
}

/// The first arguments of a process, including the program; empty if they are not visible.
pub fn arguments(pid: u32) -> Argv {
    system::arguments(pid)
}

/// Whether a process reads from a terminal; `None` if that is unknown.
pub fn has_terminal(process: &Process) -> Option<bool> {
    system::has_terminal(process)
}
