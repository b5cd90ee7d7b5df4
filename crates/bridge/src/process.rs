//! Processes: which one a pid means, whether it has ended, and which ones stand above it.
//!
//! A process is told apart from every other that has or had its pid, so a record of one can be kept
//! for ever. Everything here is a look at the system that may come back empty: where processes are
//! hidden, nothing is known, and that is never an error.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod ps;

use punchlist_model::Process;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use ps as system;

/// Most processes above one that are looked at. Deeper chains than this are a runaway.
const DEPTH: usize = 64;

/// Most arguments of a process that are kept, and most bytes of them all. What is asked is which
/// program it is and how it was started, and that stands in front.
const ARGUMENTS: usize = 32;
const BYTES: usize = 4096;

/// A process above another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ancestor {
    /// Which.
    pub process: Process,
    /// What the system calls it: usually the file that it was started from, cut to 15 bytes on
    /// Linux, or what it calls itself.
    pub name: String,
    /// Its first arguments, the program among them. Empty where they are not known.
    pub argv: Vec<String>,
}

/// A running process, by what no other process ever shares; `None` if there is none that can be
/// seen.
pub fn process(host: &str, pid: u32) -> Option<Process> {
    system::process(host, pid)
}

/// Whether it is certain that a process has ended. Of one on another host, of an earlier boot or in
/// another pid namespace nothing is certain.
pub fn has_ended(host: &str, process: &Process) -> bool {
    process.host == host && system::has_ended(process)
}

/// What can be said of a process from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It runs.
    Runs,
    /// It has ended.
    Ended,
    /// It is not for us to see.
    Unknown,
}

/// What has become of a process, by all that speaks for it. Other than [`has_ended`] this also takes
/// a host's name for the host: what ran there before it was started anew has ended.
pub fn fate(host: &str, process: &Process) -> Fate {
    if process.host != host {
        return Fate::Unknown;
    }
    system::fate(process)
}

/// The processes above one, nearest first. It ends early where the next one cannot be seen.
pub fn ancestors(host: &str, pid: u32) -> Vec<Ancestor> {
    system::ancestors(host, pid)
}

/// Whether a process reads from a terminal; `None` if that cannot be seen.
pub fn has_terminal(process: &Process) -> Option<bool> {
    system::has_terminal(process)
}

/// Arguments in one piece, each ended by a NUL, as far as they are kept. Some programs overwrite
/// theirs with a title and leave the rest empty.
#[cfg(target_os = "linux")]
fn arguments(bytes: &[u8]) -> Vec<String> {
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.take(ARGUMENTS).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}
