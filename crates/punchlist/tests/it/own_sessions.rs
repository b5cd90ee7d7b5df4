//! Sessions of our own agent in the real binary, with a model that plays a scenario.

mod detached;
mod models;
mod queue;
mod resume;
mod stored;
mod watched;

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{Ran, World, finish};

/// Shell commands that begin with `echo` need no question.
const RULES: &str = "[[policy]]\ndecision = 'allow'\ntool = 'shell'\ncommand = 'echo'\n";

/// How long a test waits for something that another process does.
const PATIENCE: Duration = Duration::from_secs(60);

/// A project, and a model that plays a scenario. The clock and the ids are real, because one process
/// needs many of them.
struct Project {
    world: World,
}

impl Project {
    fn new(answers: &Value) -> Self {
        let world = World::new();
        world.write("home/.config/punchlist/config.toml", RULES);
        let project = Self { world };
        project.plays(answers);
        project
    }

    /// From now on the model plays this.
    fn plays(&self, answers: &Value) {
        self.world.write("scenario.json", json!({ "answers": answers }).to_string());
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command("project");
        command.env_remove("PUNCHLIST_NOW").env_remove("PUNCHLIST_SEED").args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments), b"")
    }

    fn model(&self) -> String {
        format!("scripted:{}", self.world.path("scenario.json").display())
    }

    /// `do`, with more options before the task.
    fn does(&self, options: &[&str], task: &str) -> Command {
        let model = self.model();
        let mut command = self.command(&["do", "--model", &model]);
        command.args(options).arg(task);
        command
    }

    fn done(&self, task: &str) -> Ran {
        finish(self.does(&[], task), b"")
    }

    /// The sessions, the one that changed last first.
    fn sessions(&self) -> Vec<Value> {
        self.run(&["sessions", "--json"]).json()["sessions"].as_array().unwrap().clone()
    }

    /// The id of the session that changed last.
    fn id(&self) -> String {
        self.sessions()[0]["id"].as_str().unwrap().to_owned()
    }

    /// What was recorded of the last session.
    fn entries(&self) -> Vec<Value> {
        let lines = self.run(&["sessions", "export", "--format", "jsonl"]).ok();
        let lines = lines.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
        lines.filter(|it| it["type"] == "entry").map(|it| it["entry"].clone()).collect()
    }

    /// The items of the plan of the last session's first turn: number, title, status.
    fn items(&self) -> Vec<String> {
        let session = self.run(&["sessions", "show", "--json"]).json();
        let plan = session["turnList"][0]["plan"].as_str().unwrap().to_owned();
        let plan = self.run(&["list", "--all", "--json", "--plan", &plan]).json();
        let items = plan["items"].as_array().unwrap().iter();
        let text = |it: &Value| it.as_str().unwrap().to_owned();
        items.map(|it| format!("{} {}", text(&it["title"]), text(&it["status"]))).collect()
    }

    /// Starts a process that works on a session, and waits until this holds.
    fn starts(&self, mut command: Command, is_so: impl Fn(&Self) -> bool) -> Running {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = Running(Some(command.spawn().unwrap()));
        self.until(is_so);
        running
    }

    /// Waits until something holds.
    #[track_caller]
    fn until(&self, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "it did not come to that: {:?}", self.sessions());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A text without what differs between runs: ids, times and paths.
    fn without_chance(&self, text: &str) -> String {
        let text = text.replace(&self.world.path("").display().to_string(), "/w/");
        // On a busy machine a second has passed.
        let text =
            (1..60).fold(text, |text, n| text.replace(&format!("  {n} s ago"), "  just now"));
        let short: Vec<String> = self.sessions().iter().map(|it| short(&it["id"])).collect();
        let mut plain = String::new();
        let mut word = String::new();
        for ch in text.chars().chain(['\0']) {
            if ch.is_ascii_alphanumeric() || matches!(ch, '-' | ':' | '.') {
                word.push(ch);
                continue;
            }
            let is_id = word.len() == 36 && word.matches('-').count() == 4;
            let is_time = word.starts_with("20") && word.ends_with('Z') && word.contains('T');
            plain.push_str(match word.as_str() {
                _ if is_id => "[id]",
                _ if is_time => "[time]",
                it if short.iter().any(|id| id == it) => "[session]",
                it => it,
            });
            word.clear();
            plain.extend((ch != '\0').then_some(ch));
        }
        plain
    }
}

/// The end of a session's id, as it is shown.
fn short(id: &Value) -> String {
    let id = id.as_str().unwrap();
    id[id.len() - 4..].to_owned()
}

/// A process that works on a session. It is killed at the end of the test.
struct Running(Option<Child>);

impl Running {
    fn kill(mut self) {
        let mut child = self.0.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Waits until it has printed this. Returns what it printed so far.
    #[track_caller]
    fn sees(&mut self, words: &str) -> String {
        let out = self.0.as_mut().unwrap().stdout.as_mut().unwrap();
        let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            let text = String::from_utf8_lossy(&seen);
            if text.contains(words) {
                return text.into_owned();
            }
            let count = out.read(&mut piece).unwrap();
            assert!(count > 0, "it ended before that: {text}");
            seen.extend_from_slice(&piece[..count]);
        }
    }

    /// Waits for its end.
    fn ends(mut self) -> Ran {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap_or(-1);
        Ran { code, out: text(output.stdout), err: text(output.stderr) }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let child = self.0.as_ref().unwrap();
        let pid = rustix::process::Pid::from_child(child);
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// A call of a tool in a scenario.
fn call(tool: &str, arguments: Value) -> Value {
    json!({"tool": tool, "arguments": arguments})
}

fn create(titles: &[&str]) -> Value {
    let items: Vec<Value> = titles.iter().map(|it| json!({ "title": it })).collect();
    call("create_todo", json!({ "items": items }))
}

fn complete(number: u32) -> Value {
    let outcome = format!("outcome of {number}");
    call("complete_todo", json!({"todoId": number.to_string(), "outcome": outcome}))
}

fn shell(command: &str) -> Value {
    call("shell", json!({ "command": command }))
}

/// An answer that never comes.
fn silence() -> Value {
    json!({"failure": "silence"})
}
