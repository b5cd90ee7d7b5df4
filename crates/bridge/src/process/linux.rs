//! Processes on Linux, from `/proc`.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use punchlist_model::Process;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::{Ancestor, Argv, BYTES, DEPTH, Fate, lossy};

pub(super) fn process(host: &str, pid: u32) -> Option<Process> {
    let here = Here::look(host)?;
    let stat = Stat::read(pid).filter(|stat| !stat.is_over)?;
    Some(here.process(pid, stat.start_time))
}

pub(super) fn has_ended(process: &Process) -> bool {
    boot_id().as_ref() == Some(&process.boot_id) && fate(process) == Fate::Ended
}

pub(super) fn fate(process: &Process) -> Fate {
    let (Some(boot_id), Some(namespace)) = (boot_id(), namespace()) else { return Fate::Unknown };
    if boot_id != process.boot_id {
        return Fate::Ended;
    }
    if namespace != process.pid_namespace {
        return Fate::Unknown;
    }
    let runs = match Stat::read(process.pid) {
        Some(stat) => !stat.is_over && stat.start_time == process.start_time,
        // Processes of other users may be hidden, but their existence can still be tested.
        None => is_there(process.pid),
    };
    if runs { Fate::Runs } else { Fate::Ended }
}

pub(super) fn has_terminal(process: &Process) -> Option<bool> {
    let stdin = fs::read_link(format!("/proc/{}/fd/0", process.pid)).ok()?;
    let stdin = stdin.to_string_lossy();
    Some(stdin.starts_with("/dev/pts/") || stdin.starts_with("/dev/tty"))
}

pub(super) fn ancestors(host: &str, pid: u32, is_it: impl Fn(&Ancestor) -> bool) -> Vec<Ancestor> {
    let mut found: Vec<Ancestor> = Vec::new();
    let (Some(here), Some(mut below)) = (Here::look(host), Stat::read(pid)) else { return found };
    // The parent of the first process of a namespace is 0, because the real one is not visible.
    while below.parent != 0 && found.len() < DEPTH {
        let pid = below.parent;
        let Some(stat) = Stat::read(pid) else { break };
        // A parent is older than its child. A younger process has got the pid of a parent that
        // ended meanwhile.
        if stat.start_time > below.start_time || found.iter().any(|it| it.process.pid == pid) {
            break;
        }
        let next = Ancestor {
            process: here.process(pid, stat.start_time),
            name: stat.name.clone(),
            argv: arguments(pid),
        };
        let is_last = is_it(&next);
        found.push(next);
        if is_last {
            break;
        }
        below = stat;
    }
    found
}

pub(super) fn arguments(pid: u32) -> Argv {
    Argv { bytes: bounded(&format!("/proc/{pid}/cmdline")).unwrap_or_default() }
}

/// What all visible processes have in common.
struct Here {
    host: String,
    boot_id: String,
    pid_namespace: u64,
}

impl Here {
    fn look(host: &str) -> Option<Self> {
        Some(Self { host: host.to_owned(), boot_id: boot_id()?, pid_namespace: namespace()? })
    }

    fn process(&self, pid: u32, start_time: u64) -> Process {
        Process {
            host: self.host.clone(),
            boot_id: self.boot_id.clone(),
            pid_namespace: self.pid_namespace,
            pid,
            start_time,
        }
    }
}

fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

fn namespace() -> Option<u64> {
    Some(fs::metadata("/proc/self/ns/pid").ok()?.ino())
}

fn is_there(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH)))
}

/// A process name in `/proc/PID/stat` ends before this byte: the kernel cuts names to 64 bytes.
const LONGEST_NAME: usize = 128;

/// The needed fields of `/proc/PID/stat`.
#[derive(PartialEq, Eq, Debug)]
struct Stat {
    name: String,
    /// It is a zombie: it has ended, and its parent has not waited for it yet.
    is_over: bool,
    parent: u32,
    /// In ticks since boot.
    start_time: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&bounded(&format!("/proc/{pid}/stat"))?)
    }

    fn parse(line: &[u8]) -> Option<Self> {
        // The name may contain anything, even parentheses, so the fields are counted from its end.
        // After it there are only numbers.
        let head = &line[..line.len().min(LONGEST_NAME)];
        let begin = head.iter().position(|byte| *byte == b'(')?;
        let end = head.iter().rposition(|byte| *byte == b')')?;
        let name = line.get(begin + 1..end)?;
        let rest = str::from_utf8(line.get(end + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        Some(Self {
            name: lossy(name).into_owned(),
            is_over: matches!(fields.next()?, "Z" | "X"),
            parent: fields.next()?.parse().ok()?,
            start_time: fields.nth(17)?.parse().ok()?,
        })
    }
}

fn bounded(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(512);
    let most = u64::try_from(BYTES).unwrap_or(u64::MAX);
    File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio, id};

    use super::*;

    #[test]
    fn this_process_runs_and_an_earlier_one_with_its_pid_has_ended() {
        let me = process("here", id()).unwrap();
        assert!(!has_ended(&me));
        assert!(has_ended(&Process { start_time: me.start_time - 1, ..me.clone() }));
        assert!(!has_ended(&Process { boot_id: "another boot".to_owned(), ..me.clone() }));
        assert!(!has_ended(&Process { pid_namespace: 1, start_time: 0, ..me.clone() }));
        assert_eq!(fate(&me), Fate::Runs);
        assert_eq!(fate(&Process { start_time: 1, ..me.clone() }), Fate::Ended);
        assert_eq!(fate(&Process { boot_id: "another".to_owned(), ..me.clone() }), Fate::Ended);
        assert_eq!(fate(&Process { pid_namespace: 1, ..me.clone() }), Fate::Unknown);
        assert_eq!(super::super::fate("elsewhere", &me), Fate::Unknown);
        assert!(super::super::has_ended("here", &Process { start_time: 1, ..me.clone() }));
        assert!(!super::super::has_ended("elsewhere", &Process { start_time: 1, ..me }));
    }

    #[test]
    fn a_process_that_ended_has_ended_before_anybody_asked_how() {
        let mut child = Command::new("true").spawn().unwrap();
        let then = process("here", child.id());
        // The child becomes a zombie until it is waited for.
        while Stat::read(child.id()).is_some_and(|stat| !stat.is_over) {
            std::thread::yield_now();
        }
        assert_eq!(process("here", child.id()), None);
        let then =
            then.unwrap_or_else(|| Process { pid: child.id(), ..process("here", id()).unwrap() });
        assert!(has_ended(&then));
        child.wait().unwrap();
        assert!(has_ended(&then));
    }

    #[test]
    fn a_process_that_is_not_there_is_none() {
        assert_eq!(process("here", u32::MAX - 1), None);
        assert_eq!(ancestors("here", u32::MAX - 1, |_| false), []);
        assert!(!is_there(u32::MAX - 1) && !is_there(0) && is_there(id()));
    }

    #[test]
    fn the_one_above_comes_first_and_the_chain_ends() {
        // The shell waits for its child, which reports that it runs and then waits for input.
        let mut shell = Command::new("sh")
            .args(["-c", "sh -c 'echo $$; read line' one two; true", "outer"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(shell.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let chain = ancestors("here", line.trim().parse().unwrap(), |_| false);
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert_eq!(chain[0].process.pid, shell.id());
        assert_eq!((chain[0].name.as_str(), chain[0].argv.program().as_ref()), ("sh", "sh"));
        assert_eq!(chain[0].argv.words().last().as_deref(), Some("outer"));
        assert_eq!(chain[1].process, process("here", id()).unwrap());
        assert_eq!(&chain[2..], ancestors("here", id(), |_| false));
        let nearest = ancestors("here", id(), |_| true);
        assert_eq!(nearest, chain[2..].iter().take(1).cloned().collect::<Vec<_>>());
    }

    #[test]
    fn fields_are_counted_behind_the_last_parenthesis() {
        let tail = "S 7 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1000 2000 0";
        for name in ["sh", "a b", ") Z 1 (", "((", "", "\u{1b}[31m", "tmux: server"] {
            let stat = Stat::parse(format!("42 ({name}) {tail}").as_bytes()).unwrap();
            let name = name.to_owned();
            assert_eq!(stat, Stat { name, is_over: false, parent: 7, start_time: 4711 });
        }
        let zombie = format!("42 (sh) {}", tail.replace('S', "Z"));
        assert!(Stat::parse(zombie.as_bytes()).unwrap().is_over);
        for broken in
            ["", "42", "42 (sh", "42 sh)", ")(", "42 (sh) S", "42 (sh) S x", "42 (sh) S 7 1"]
        {
            assert_eq!(Stat::parse(broken.as_bytes()), None, "{broken}");
        }
        assert_eq!(Stat::parse(b"\xff (\xff) S 7"), None);
    }

    #[test]
    fn arguments_are_kept_as_far_as_they_tell_the_program() {
        let check = |bytes: &[u8], expected: &[&str]| {
            let argv = Argv { bytes: bytes.to_vec() };
            assert_eq!(argv.words().collect::<Vec<_>>(), expected);
            assert_eq!(argv.program(), expected.first().copied().unwrap_or_default());
        };
        check(b"node\0/usr/bin/claude\0-p\0", &["node", "/usr/bin/claude", "-p"]);
        check(b"claude\0\0\0\0", &["claude"]);
        check(b"sh\0\xff\0x", &["sh", "\u{fffd}", "x"]);
        check(b"", &[]);
        check(&[b'a', 0].repeat(100), &["a"; super::super::ARGUMENTS]);
    }
}
