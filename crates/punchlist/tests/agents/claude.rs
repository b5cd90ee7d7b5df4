//! Runs the real program without a screen, and tells what came of it.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use punchlist_testkit::model::{Request, Server};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::place::Place;

/// The longest that one run of the program may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Claude Code, as the group installed it.
pub(crate) fn program() -> PathBuf {
    let path = std::env::var_os("PUNCHLIST_TEST_CLAUDE");
    path.expect("run `cargo xtask test agents`: it names the program").into()
}

impl Place {
    /// The program with a scripted model behind it. The key is no key.
    pub(crate) fn agent(&self, model: &Server) -> Command {
        let mut command = self.command(&program());
        command
            .env("TERM", "xterm-256color")
            .env("ANTHROPIC_BASE_URL", model.url())
            .env("ANTHROPIC_API_KEY", "dummy-key-for-loopback")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("DISABLE_ERROR_REPORTING", "1")
            .env("CLAUDE_CODE_TMPDIR", self.path("tmp"));
        command
    }

    /// One prompt, without a screen.
    pub(crate) fn claude(&self, model: &Server, prompt: &str) -> Run {
        let mut command = self.agent(model);
        command.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]);
        Run { command, prompts: None }
    }

    /// Several prompts to one process, each after the answer to the one before.
    pub(crate) fn claude_told(&self, model: &Server, prompts: &[&str]) -> Run {
        let mut command = self.agent(model);
        command.args(["-p", "--input-format", "stream-json", "--output-format", "stream-json"]);
        command.arg("--verbose");
        let line = |text: &&str| {
            let message = serde_json::json!({"role": "user", "content": text});
            let line = serde_json::json!({"type": "user", "message": message,
                "parent_tool_use_id": null, "session_id": ""});
            format!("{line}\n")
        };
        Run { command, prompts: Some(prompts.iter().map(line).collect()) }
    }
}

/// A run that has not begun.
pub(crate) struct Run {
    command: Command,
    prompts: Option<VecDeque<String>>,
}

impl Run {
    pub(crate) fn args(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn resume(self, session: &str) -> Self {
        self.args(&["--resume", session])
    }

    /// Offers the agent's own tasks to the model. Newer versions do so only if they are told to,
    /// and else would have the model search for them.
    pub(crate) fn with_tasks(self) -> Self {
        self.env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1").env("ENABLE_TOOL_SEARCH", "false")
    }

    /// Offers `TodoWrite` instead.
    pub(crate) fn with_todo_write(self) -> Self {
        self.with_tasks().env("CLAUDE_CODE_ENABLE_TASKS", "0")
    }

    pub(crate) fn begin(self) -> Running {
        let Self { mut command, prompts } = self;
        let stdin = if prompts.is_some() { Stdio::piped() } else { Stdio::null() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that its end is the end of what it started.
        let mut child = command.process_group(0).spawn().unwrap();
        let mut prompts = prompts.unwrap_or_default();
        let mut stdin = child.stdin.take();
        let mut ask = move || match (prompts.pop_front(), &mut stdin) {
            (Some(prompt), Some(pipe)) => drop(pipe.write_all(prompt.as_bytes())),
            // The end of its input tells it that nothing more will come.
            (Some(_) | None, _) => drop(stdin.take()),
        };
        ask();
        let group = Pid::from_child(&child);
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let lines = thread::spawn(move || {
            let lines = stdout.lines().map_while(Result::ok);
            let answered = |line: &String| {
                if line.contains("\"type\":\"result\"") {
                    ask();
                }
            };
            lines.inspect(answered).collect()
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

/// A run that goes on.
pub(crate) struct Running {
    child: Child,
    group: Pid,
    lines: thread::JoinHandle<Vec<String>>,
    errors: thread::JoinHandle<String>,
    done: mpsc::Sender<()>,
    watch: thread::JoinHandle<bool>,
}

impl Running {
    /// Ends it as a power cut would.
    #[track_caller]
    pub(crate) fn killed(self) -> Ended {
        kill_process_group(self.group, Signal::KILL).unwrap();
        let ended = self.ends();
        assert_eq!(ended.status.signal(), Some(9));
        ended
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
        let lines = lines.iter().filter_map(|it| serde_json::from_str(it).ok()).collect();
        Ended { status, lines, errors }
    }
}

/// What came of a run.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// The stream that it printed.
    pub(crate) lines: Vec<Value>,
    pub(crate) errors: String,
}

impl Ended {
    /// It ended as a run should, with an answer.
    #[track_caller]
    pub(crate) fn well(self) -> Self {
        let Self { status, lines, errors } = &self;
        assert!(status.success(), "{status}: {errors}\n{lines:#?}");
        let result = lines.iter().rev().find(|it| it["type"] == "result");
        let result = result.unwrap_or_else(|| panic!("no result: {errors}\n{lines:#?}"));
        assert_eq!(result["is_error"], false, "{result:#}");
        assert_eq!(result["permission_denials"], serde_json::json!([]), "{result:#}");
        self
    }

    /// The id of its session.
    #[track_caller]
    pub(crate) fn session(&self) -> String {
        let id = self.lines.iter().find_map(|it| it["session_id"].as_str());
        id.unwrap_or_else(|| panic!("no session: {}", self.errors)).to_owned()
    }

    /// What it answered last.
    pub(crate) fn answer(&self) -> &str {
        let results = self.lines.iter().rev().filter(|it| it["type"] == "result");
        results.filter_map(|it| it["result"].as_str()).next().unwrap_or_default()
    }
}

/// What the model was told each time it was not allowed to stop.
pub(crate) fn refusals(requests: &[Request]) -> Vec<String> {
    let told = requests.iter().map(Request::news);
    let refused = told.filter_map(|it| Some(it.split_once("Stop hook feedback:\n")?.1.to_owned()));
    refused.collect()
}

/// That a text contains each of these, and none of those.
#[track_caller]
pub(crate) fn assert_says(text: &str, these: &[&str], not_those: &[&str]) {
    for it in these {
        assert!(text.contains(it), "{it:?} is not in:\n{text}");
    }
    for it in not_those {
        assert!(!text.contains(it), "{it:?} is in:\n{text}");
    }
}
