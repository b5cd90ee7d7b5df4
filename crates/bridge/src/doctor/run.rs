//! Runs a program with a timeout and a limit for its output.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// The maximal output that is kept.
const MOST: u64 = 1024 * 1024;
/// How much of the standard error is kept.
const MOST_ERR: u64 = 16 * 1024;
/// How long to wait for the end of the standard error after the program has ended.
const HELD_OPEN: Duration = Duration::from_millis(100);

/// The result of a program.
pub(crate) struct Ran {
    /// Its exit code; `None` after a timeout or a signal.
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    /// The beginning of its standard error.
    pub(crate) err: Vec<u8>,
    pub(crate) took: Duration,
}

impl Ran {
    /// How it ended, in words.
    pub(crate) fn end(&self) -> String {
        match self.code {
            Some(0) => "prints something else".to_owned(),
            Some(code) => format!("exits with code {code}"),
            None => format!("does not end within {} ms", self.took.as_millis()),
        }
    }
}

/// A program whose process group is killed when this value is dropped.
pub(crate) struct Group(pub(crate) Child);

impl Group {
    /// Starts a program in a process group of its own, so that its children can be killed with it.
    pub(crate) fn start(mut command: Command, stderr: Stdio) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        command.process_group(0).spawn().map(Self)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // The group may have ended already.
            kill_process_group(pid, Signal::KILL).ok();
        }
        self.0.wait().ok();
    }
}

/// Runs a program with this input.
pub(crate) fn run(command: Command, input: &[u8], patience: Duration) -> io::Result<Ran> {
    let begun = Instant::now();
    let mut group = Group::start(command, Stdio::piped())?;
    let (stdin, stdout) = (group.0.stdin.take(), group.0.stdout.take());
    let (input, stderr) = (input.to_owned(), group.0.stderr.take());
    // Separate threads, because a program may answer before it has read its input, or do neither.
    thread::spawn(move || stdin.map(|mut it| it.write_all(&input).ok()));
    let (send_err, receive_err) = mpsc::channel();
    thread::spawn(move || {
        let Some(mut stderr) = stderr else { return };
        let mut err = Vec::new();
        let mut first = stderr.by_ref().take(MOST_ERR);
        // What is not kept is read too, so that the program can go on.
        if first.read_to_end(&mut err).is_ok() {
            io::copy(&mut stderr, &mut io::sink()).ok();
        }
        send_err.send(err).ok();
    });
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut out = Vec::new();
        let read = stdout.map(|it| it.take(MOST).read_to_end(&mut out));
        // After a timeout nobody receives this.
        send.send((out, read)).ok();
    });
    let out = receive.recv_timeout(patience).map(|it| it.0);
    let mut code = None;
    while out.is_ok() && begun.elapsed() < patience {
        if let Some(status) = group.0.try_wait()? {
            code = status.code();
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let took = begun.elapsed();
    // A process that the program left behind may hold the standard error open.
    let err = receive_err.recv_timeout(patience.saturating_sub(took).min(HELD_OPEN));
    Ok(Ran { code, out: out.unwrap_or_default(), err: err.unwrap_or_default(), took })
}
