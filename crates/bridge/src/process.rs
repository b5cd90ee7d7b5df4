//! Processes: which one a pid means, whether it has ended, and which ones stand above it.
//!
//! A process is told apart from every other that has or had its pid, so a record of one can be kept
//! for ever. Everything here is a look at the system that may come back empty: where processes are
//! hidden, nothing is known, and that is never an error.

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

/// Most processes above one that are looked at. Deeper chains than this are a runaway.
const DEPTH: usize = 64;

/// Most arguments of a process that are looked at, and most bytes of them all. What is asked is which
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
    pub argv: Argv,
}

/// The first arguments of a process, kept in one piece: of most processes hardly one is looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Argv {
    /// Each ends with a NUL, but perhaps the last.
    bytes: Vec<u8>,
}

impl Argv {
    /// The arguments. Some programs overwrite theirs with a title and leave the rest empty.
    pub fn words(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let words = self.bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        words.take(ARGUMENTS).map(lossy)
    }

    /// The program, as it was called; empty where it is not known.
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

/// A text; what is none in it is replaced. Nearly all are, which is quickly seen.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
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

/// The processes above one, nearest first. It ends early where the next one cannot be seen, and with
/// the first that is the one looked for.
pub fn ancestors(host: &str, pid: u32, is_it: impl Fn(&Ancestor) -> bool) -> Vec<Ancestor> {
    system::ancestors(host, pid, is_it)
}

/// The first arguments of a process, the program among them; none where they cannot be seen.
pub fn arguments(pid: u32) -> Argv {
    system::arguments(pid)
}

/// Whether a process reads from a terminal; `None` if that cannot be seen.
pub fn has_terminal(process: &Process) -> Option<bool> {
    system::has_terminal(process)
}
