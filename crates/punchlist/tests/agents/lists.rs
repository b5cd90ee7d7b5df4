//! The lists that `punchlist events` finds in an agent's output or files, one per line.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::place::Place;
use crate::run::Ended;

/// Unified events.
pub(crate) struct Told {
    pub(crate) events: Vec<Value>,
    /// The summary on stderr.
    pub(crate) summary: String,
}

impl Place {
    /// The events of the program's output.
    #[track_caller]
    pub(crate) fn printed(&self, ended: &Ended) -> Told {
        let mut command = self.command(&self.punchlist);
        command.arg("events").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let printed = ended.printed.clone();
        let writer = std::thread::spawn(move || stdin.write_all(printed.as_bytes()));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        Told::new(&output)
    }

    /// The events of a file.
    #[track_caller]
    pub(crate) fn kept(&self, file: &Path) -> Told {
        let output = self.command(&self.punchlist).arg("events").arg(file).output().unwrap();
        Told::new(&output)
    }
}

impl Told {
    #[track_caller]
    fn new(output: &std::process::Output) -> Self {
        let summary = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {summary}", output.status);
        let lines = std::str::from_utf8(&output.stdout).unwrap().lines();
        let events = lines.map(|it| serde_json::from_str(it).unwrap()).collect();
        Self { events, summary }
    }

    /// Checks that there are no warnings and no unknown kinds.
    #[track_caller]
    pub(crate) fn understood(self) -> Self {
        let warnings: Vec<&Value> = self.of_kind("warning").collect();
        let end = "0 warnings, 0 unknown kinds";
        assert!(self.summary.trim_end().ends_with(end), "{}\n{warnings:#?}", self.summary);
        self
    }

    /// Every list, in order: `[x] completed, [>] in progress, [ ] pending, [-] cancelled`, with
    /// marks for further fields.
    pub(crate) fn lists(&self) -> Vec<String> {
        self.of_kind("todo_list").map(list).collect()
    }

    /// The last list.
    #[track_caller]
    pub(crate) fn last(&self) -> String {
        self.lists().pop().expect("no list")
    }

    /// The agents that the events name, each once.
    pub(crate) fn agents(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.events.iter().filter_map(|it| it["agentId"].as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    pub(crate) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |it| it["type"] == kind)
    }
}

/// A list on one line, as in [`Told::lists`].
pub(crate) fn list(event: &Value) -> String {
    let entry = |item: &Value| {
        let sign = match item["status"].as_str().unwrap() {
            "completed" => 'x',
            "in_progress" => '>',
            "cancelled" => '-',
            "pending" => ' ',
            other => panic!("no status: {other}"),
        };
        let marks = ["blocked", "assumed", "unconfirmed"].iter().filter(|it| item[**it] == true);
        let marks: String = marks.map(|it| format!(" ({it})")).collect();
        format!("[{sign}] {}{marks}", item["text"].as_str().unwrap())
    };
    let entries: Vec<String> = event["items"].as_array().unwrap().iter().map(entry).collect();
    entries.join(", ")
}
