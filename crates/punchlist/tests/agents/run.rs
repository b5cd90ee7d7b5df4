//! Runs a real program without a terminal, and returns the result. Knows no agent.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

/// The timeout of one run.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// The next input for a program.
pub(crate) enum Say {
    /// No input now.
    Nothing,
    /// This text, with its line breaks.
    This(String),
    /// The end of the input.
    Over,
}

/// Decides the first input, and the next one after each line of output.
type Talk = Box<dyn FnMut(Option<&str>) -> Say + Send>;

/// A run that has not started.
pub(crate) struct Run {
    command: Command,
    talk: Option<Talk>,
}

impl Run {
    pub(crate) fn new(command: Command) -> Self {
        Self { command, talk: None }
    }

    /// Sends these lines on stdin, each after the answer to the one before.
    pub(crate) fn told(self, lines: impl Iterator<Item = String>) -> Self {
        let mut lines: VecDeque<String> = lines.collect();
        self.talked_to(move |heard| match heard {
            Some(line) if !line.contains("\"type\":\"result\"") => Say::Nothing,
            Some(_) | None => lines.pop_front().map_or(Say::Over, Say::This),
        })
    }

    /// Sends input on stdin depending on the output.
    pub(crate) fn talked_to(
        mut self,
        talk: impl FnMut(Option<&str>) -> Say + Send + 'static,
    ) -> Self {
        self.talk = Some(Box::new(talk));
        self
    }

    pub(crate) fn args(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn begin(self) -> Running {
        let Self { mut command, talk } = self;
        let stdin = if talk.is_some() { Stdio::piped() } else { Stdio::null() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        // In its own process group, so that everything it started ends with it.
        let mut child = command.process_group(0).spawn().unwrap();
        let mut stdin = child.stdin.take();
        let mut talk = talk.unwrap_or_else(|| Box::new(|_| Say::Nothing));
        let mut hear = move |line: Option<&str>| match (talk(line), &mut stdin) {
            // The program may not read its input any more; how it ends shows the rest.
            (Say::This(text), Some(pipe)) => drop(pipe.write_all(text.as_bytes())),
            (Say::This(_) | Say::Nothing, _) => {}
            (Say::Over, _) => drop(stdin.take()),
        };
        hear(None);
        let group = Pid::from_child(&child);
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let lines = thread::spawn(move || {
            let lines = stdout.lines().map_while(Result::ok);
            lines.inspect(|line| hear(Some(line))).collect()
        });
        let errors = thread::spawn(move || {
            let mut text = String::new();
            drop(stderr.read_to_string(&mut text));
            text
        });
        let (done, is_done) = mpsc::channel::<()>();
        let watch = thread::spawn(move || {
            let in_time = is_done.recv_timeout(LIMIT) != Err(mpsc::RecvTimeoutError::Timeout);
            if !in_time {
                kill_process_group(group, Signal::KILL).ok();
            }
            in_time
        });
        Running { child, group, lines, errors, done, watch }
    }

    #[track_caller]
    pub(crate) fn ends(self) -> Ended {
        self.begin().ends()
    }
}

/// A running program.
pub(crate) struct Running {
    child: Child,
    group: Pid,
    lines: thread::JoinHandle<Vec<String>>,
    errors: thread::JoinHandle<String>,
    done: mpsc::Sender<()>,
    watch: thread::JoinHandle<bool>,
}

impl Running {
    /// Kills it.
    #[track_caller]
    pub(crate) fn killed(self) -> Ended {
        kill_process_group(self.group, Signal::KILL).unwrap();
        let ended = self.ends();
        assert_eq!(ended.status.signal(), Some(9));
        ended
    }

    /// Sends SIGINT.
    #[track_caller]
    pub(crate) fn interrupted(self) -> Ended {
        kill_process_group(self.group, Signal::INT).unwrap();
        self.ends()
    }

    #[track_caller]
    pub(crate) fn ends(mut self) -> Ended {
        let status = self.child.wait().unwrap();
        drop(self.done);
        let in_time = self.watch.join().unwrap();
        let lines = self.lines.join().unwrap();
        let errors = self.errors.join().unwrap();
        let transcript = lines.join("\n");
        assert!(in_time, "it took longer than {LIMIT:?}:\n{transcript}\n{errors}");
        let printed = lines.iter().map(|it| format!("{it}\n")).collect();
        let lines = lines.iter().filter_map(|it| serde_json::from_str(it).ok()).collect();
        Ended { status, printed, lines, errors }
    }
}

/// The result of a run.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// The output.
    pub(crate) printed: String,
    /// The output as JSON, line by line.
    pub(crate) lines: Vec<Value>,
    pub(crate) errors: String,
}

impl Ended {
    /// The id of its session, or of its thread.
    #[track_caller]
    pub(crate) fn session(&self) -> String {
        let id = |line: &Value| line.get("session_id").or(line.get("thread_id")).cloned();
        let id = self.lines.iter().filter_map(id).find_map(|it| it.as_str().map(str::to_owned));
        id.unwrap_or_else(|| panic!("no session: {}", self.errors))
    }
}

/// Checks that a text contains each of these, and none of those.
#[track_caller]
pub(crate) fn assert_says(text: &str, these: &[&str], not_those: &[&str]) {
    for it in these {
        assert!(text.contains(it), "{it:?} is not in:\n{text}");
    }
    for it in not_those {
        assert!(!text.contains(it), "{it:?} is in:\n{text}");
    }
}

/// The command for adopting open items, as the model reads it.
#[track_caller]
pub(crate) fn offered(told: &str) -> String {
    let end = told.find(" adopt`").unwrap_or_else(|| panic!("nothing is offered:\n{told}"));
    let from = told[..end].rfind('`').map_or(0, |at| at + 1);
    format!("{} adopt", &told[from..end])
}
