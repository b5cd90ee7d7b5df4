//! The built-in tools through the driver: schema, policy, question, processes and outcome.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::sync::Arc;

use punchlist_agent::rules;
use punchlist_agent::tools::{self, Options};
use punchlist_model::Timestamp;
use punchlist_sched::call::{QuestionId, State};
use punchlist_sched::driver::{self, Driver, Event, Events, NoLedger};
use punchlist_sched::machine::{self, Answer};
use punchlist_sched::{
    Handle, Limits, Outcome, Policy, Processes, Request, Tools, output, process,
};
use serde_json::{Value, json};

const RULES: &str = r#"
[[policy]]
decision = "allow"
tool = "shell"
command = "echo"

[[policy]]
decision = "deny"
tool = "shell"
command = "rm"
"#;

/// A project whose calls run under the user's rules.
struct Project {
    directory: tempfile::TempDir,
    handle: Handle,
    events: Events,
}

impl Project {
    fn new(attended: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let environment = vec![(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))];
        let options = Options { root: directory.path().to_owned(), environment };
        let mut all = Tools::new();
        tools::all(options).unwrap().into_iter().for_each(|it| all.add(it).unwrap());
        let guardian = process::Options::new(env!("CARGO_BIN_EXE_punchlist"), ["guardian".into()]);
        let policy = Policy::new(rules::read(RULES).unwrap(), Vec::new());
        let limits = Limits { all: 9, of_kind: BTreeMap::new() };
        let options = driver::Options {
            machine: machine::Options { limits, policy, attended },
            output: output::Options::default(),
            patience: driver::Options::PATIENCE,
            clock: Arc::new(|| Timestamp::UNIX_EPOCH),
        };
        let (driver, handle) = Driver::new(options, all, Processes::new(guardian), NoLedger);
        tokio::spawn(driver.run());
        let events = handle.subscribe();
        Self { directory, handle, events }
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.directory.path().join(path)).unwrap_or_default()
    }

    /// Makes calls, answers what is asked, and gives the questions and what came of each call.
    async fn calls(
        &mut self,
        calls: &[(&str, Value)],
        answer: &Answer,
    ) -> (Vec<String>, Vec<String>) {
        let request = |(tool, arguments): &(&str, Value)| Request {
            tool: (*tool).to_owned(),
            arguments: arguments.clone(),
            ..Request::default()
        };
        let scheduled = self.handle.schedule(calls.iter().map(request).collect()).await.unwrap();
        let mut asked = Vec::new();
        while let Some(event) = self.events.next().await {
            match event {
                Event::Asked(it) => {
                    let preview = &it.preview;
                    let more = preview.command.as_ref().or(preview.diff.as_ref());
                    asked.push(format!("{}\n{}", preview.what, more.cloned().unwrap_or_default()));
                    let question: QuestionId = it.question;
                    self.handle.answer(question, answer.clone()).await.unwrap();
                }
                Event::BatchDone(batch) if batch == scheduled.batch => break,
                Event::BatchDone(_)
                | Event::Moved { .. }
                | Event::Output { .. }
                | Event::Lost { .. } => {}
            }
        }
        let mut ended = Vec::new();
        for id in scheduled.ids() {
            let call = self.handle.call(id).await.unwrap().unwrap();
            ended.push(match call.state {
                State::Done(Outcome::Success(output)) => output.text,
                State::Done(Outcome::Error(why)) => format!("error: {why}"),
                State::Done(Outcome::Cancelled(why)) => format!("cancelled: {why:?}"),
                State::Live(live) => format!("still {live:?}"),
            });
        }
        (asked, ended)
    }
}

#[tokio::test]
async fn what_is_allowed_runs_without_a_question() {
    let mut project = Project::new(true);
    fs::write(project.directory.path().join("a.txt"), "one\n").unwrap();
    let calls = [
        ("shell", json!({"command": "echo 'from the shell' && echo 2>&1 more"})),
        ("read", json!({"path": "a.txt"})),
        ("list", json!({})),
        ("search", json!({"pattern": "on."})),
    ];
    let (asked, ended) = project.calls(&calls, &Answer::Refuse(None)).await;
    assert_eq!(asked, [""; 0]);
    assert_eq!(
        ended,
        ["from the shell\nmore\n", "     1\tone\n", "a.txt\n", "a.txt\n     1: one\n"]
    );
}

#[tokio::test]
async fn what_writes_is_asked_about_with_what_it_would_change() {
    let mut project = Project::new(true);
    let calls = [
        ("write", json!({"path": "src/a.rs", "content": "one\n"})),
        ("shell", json!({"command": "echo two > b.txt"})),
    ];
    let (asked, ended) = project.calls(&calls, &Answer::Once).await;
    assert_eq!(asked, ["create src/a.rs\n@@ -0,0 +1 @@\n+one\n", "run\necho two > b.txt"]);
    assert_eq!(ended, ["created src/a.rs (1 line)", ""]);
    assert_eq!(
        (project.text("src/a.rs").as_str(), project.text("b.txt").as_str()),
        ("one\n", "two\n")
    );
    let edit = [("edit", json!({"path": "src/a.rs", "old": "one", "new": "1"}))];
    let (asked, ended) = project.calls(&edit, &Answer::Once).await;
    assert_eq!(asked, ["edit src/a.rs\n@@ -1 +1 @@\n-one\n+1\n"]);
    assert_eq!(ended, ["edited src/a.rs (1 place)"]);
    let (_, ended) = project.calls(&edit, &Answer::Refuse(Some("no".to_owned()))).await;
    assert!(ended[0].starts_with("cancelled: ") && ended[0].contains("no"), "{}", ended[0]);
    assert_eq!(project.text("src/a.rs"), "1\n");
}

#[tokio::test]
async fn what_is_denied_or_cannot_be_asked_about_does_not_run() {
    let mut project = Project::new(false);
    let calls = [
        ("shell", json!({"command": "echo x; rm -rf y"})),
        ("shell", json!({"command": "echo $(rm -rf y)"})),
        ("shell", json!({"command": "touch made"})),
        ("shell", json!({"command": "eval touch made"})),
        ("shell", json!({"command": "echo x > made"})),
        ("write", json!({"path": "made", "content": "x"})),
        ("read", json!({"path": "/etc/hostname"})),
        ("write", json!({"path": 3})),
        ("shell", json!({"command": "echo fails; false"})),
    ];
    let (asked, ended) = project.calls(&calls, &Answer::Once).await;
    assert_eq!(asked, [""; 0]);
    assert!(project.text("made").is_empty());
    told!(ended.join("\n--------\n"));
}

#[tokio::test]
async fn a_rule_that_was_answered_with_counts_from_then_on() {
    let mut project = Project::new(true);
    let calls = [("shell", json!({"command": "printf hello"}))];
    let rule =
        punchlist_sched::Rule::command(punchlist_sched::Decision::Allow, "shell", &["printf"]);
    let config = project.directory.path().join("config.toml");
    rules::remember(&config, &rule).unwrap();
    let always = Answer::Always(rule);
    assert_eq!(project.calls(&calls, &always).await.0.len(), 1);
    assert_eq!(
        project.calls(&calls, &Answer::Refuse(None)).await,
        (Vec::new(), vec!["hello".to_owned()])
    );
    assert_eq!(rules::read(&project.text("config.toml")).unwrap().len(), 1);
}
