//! The built-in tools through the driver: schema, policy, question, processes and outcome.

use std::ffi::OsString;
use std::fs;

use punchlist_agent::tools::{self, Options, ShellTimeout};
use punchlist_engine::policy::rules;
use punchlist_model::call::Permit;
use punchlist_sched::call::{QuestionId, State};
use punchlist_sched::sandbox::InForce;
use punchlist_sched::{
    Answer, Event, Events, Limits, Outcome, Policy, Processes, Request, Run, Tools, process,
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

/// A project whose calls run under the user's policy.
struct Project {
    directory: tempfile::TempDir,
    run: Run,
    events: Events,
}

impl Project {
    fn new(attended: bool) -> Self {
        Self::with(attended, rules::read(RULES).unwrap())
    }

    fn with(attended: bool, rules: Vec<punchlist_sched::Rule>) -> Self {
        Self::sandboxed(attended, rules, InForce::Off(String::new()))
    }

    fn sandboxed(attended: bool, rules: Vec<punchlist_sched::Rule>, sandbox: InForce) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let environment = vec![(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))];
        let root = directory.path().to_owned();
        let shell_timeout = ShellTimeout::default();
        let options = Options { root, environment, guarded: Vec::new(), sandbox, shell_timeout };
        let mut all = Tools::new();
        tools::all(options).unwrap().into_iter().for_each(|it| all.add(it).unwrap());
        let guardian = process::Options::new(env!("CARGO_BIN_EXE_punchlist"), ["guardian".into()]);
        let policy = Policy::new(rules, Vec::new());
        let builder = Run::builder(all)
            .policy(policy)
            .limits(Limits { all: 9, ..Limits::default() })
            .processes(Processes::new(guardian));
        let run = if attended { builder.attended().start() } else { builder.start() };
        let events = run.subscribe();
        Self { directory, run, events }
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.directory.path().join(path)).unwrap_or_default()
    }

    /// Makes calls, answers the questions, and returns the questions and the outcome of each call.
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
        let scheduled =
            self.run.schedule(calls.iter().map(request).collect::<Vec<_>>()).await.unwrap();
        let mut asked = Vec::new();
        while let Some(event) = self.events.next().await {
            match event {
                Event::Asked(it) => {
                    let more = it.command.as_ref().or(it.diff.as_ref());
                    asked.push(format!("{}\n{}", it.what, more.cloned().unwrap_or_default()));
                    self.run.answer(it.id, answer.clone(), None).await.unwrap();
                }
                Event::BatchDone(batch) if batch == scheduled.id() => break,
                Event::BatchDone(_)
                | Event::Moved { .. }
                | Event::Output { .. }
                | Event::Lost { .. } => {}
            }
        }
        let mut ended = Vec::new();
        for id in scheduled.calls() {
            let call = self.run.call(id).await.unwrap().unwrap();
            ended.push(match call.state {
                State::Done(outcome) => match &*outcome {
                    Outcome::Success(output) => output.text.clone(),
                    Outcome::Error(why) => format!("error: {why}"),
                    Outcome::Cancelled { reason, .. } => format!("cancelled: {reason:?}"),
                },
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
    let rule = punchlist_sched::Rule::command(
        punchlist_sched::Decision::Allow,
        "shell",
        &["printf", "hello"],
    );
    let config = project.directory.path().join("config.toml");
    rules::remember(&config, std::slice::from_ref(&rule)).unwrap();
    let always = Answer::Session(vec![Permit::from(&rule)]);
    assert_eq!(project.calls(&calls, &always).await.0.len(), 1);
    assert_eq!(
        project.calls(&calls, &Answer::Refuse(None)).await,
        (Vec::new(), vec!["hello".to_owned()])
    );
    assert_eq!(rules::read(&project.text("config.toml")).unwrap().len(), 1);
}

impl Project {
    /// The next question: its text, and whether it is asked again.
    async fn asked(&mut self) -> (QuestionId, String, bool) {
        loop {
            if let Event::Asked(it) = self.events.next().await.unwrap() {
                let diff = it.diff.clone().unwrap_or_default();
                return (it.id, diff, it.why.contains("has changed while the question waited"));
            }
        }
    }
}

#[tokio::test]
async fn a_write_whose_file_differs_from_the_one_in_the_question_asks_again() {
    let write = ("write", json!({"path": "a.txt", "content": "new\n"}));
    let edit = ("edit", json!({"path": "a.txt", "old": "one", "new": "1"}));
    for ((tool, arguments), written) in [(write, "new\n"), (edit, "1\ntwo\n")] {
        let mut project = Project::new(true);
        let file = project.directory.path().join("a.txt");
        fs::write(&file, "one\n").unwrap();
        let request = Request { tool: tool.to_owned(), arguments, ..Request::default() };
        let scheduled = project.run.schedule(vec![request]).await.unwrap();
        let (question, diff, is_again) = project.asked().await;
        assert!(diff.contains("-one") && !is_again, "{diff}");
        fs::write(&file, "one\ntwo\n").unwrap();
        project.run.answer(question, Answer::Once, None).await.unwrap();
        let (question, diff, is_again) = project.asked().await;
        assert!(diff.contains("two") && is_again, "{diff}");
        assert_eq!(project.text("a.txt"), "one\ntwo\n", "what somebody wrote meanwhile is there");
        project.run.answer(question, Answer::Once, None).await.unwrap();
        let outcomes = scheduled.outcomes().await.unwrap();
        assert!(matches!(outcomes[0], Outcome::Success(_)), "{outcomes:?}");
        assert_eq!(project.text("a.txt"), written);
    }
}

#[tokio::test]
async fn files_with_secrets_ask_before_they_are_read_and_are_left_out_of_a_search() {
    let mut project = Project::new(true);
    let root = project.directory.path().to_owned();
    for name in [".env", ".env.local", "deploy.key", "id_rsa", "plain.txt"] {
        fs::write(root.join(name), "password\n").unwrap();
    }
    fs::create_dir(root.join(".ssh")).unwrap();
    fs::write(root.join(".ssh/config"), "password\n").unwrap();
    for (path, asks) in [
        (".env", true),
        ("./.env.local", true),
        ("deploy.key", true),
        ("id_rsa", true),
        (".ssh/config", true),
        ("plain.txt", false),
    ] {
        for tool in ["read", "search"] {
            let arguments = json!({"path": path, "pattern": "password"});
            let arguments = if tool == "read" { json!({"path": path}) } else { arguments };
            let (asked, _) = project.calls(&[(tool, arguments)], &Answer::Once).await;
            assert_eq!(!asked.is_empty(), asks, "{tool} {path}");
        }
    }
    let (asked, ended) =
        project.calls(&[("search", json!({"pattern": "password"}))], &Answer::Once).await;
    assert!(asked.is_empty());
    assert!(ended[0].starts_with("plain.txt\n"), "{}", ended[0]);
    assert!(ended[0].contains("(5 files left out that may hold secrets"), "{}", ended[0]);
    let (asked, _) = project.calls(&[("list", json!({}))], &Answer::Once).await;
    assert!(asked.is_empty(), "names are no secret");
}

#[tokio::test]
async fn files_that_decide_what_runs_are_not_written() {
    let allow = punchlist_sched::Rule::tool(punchlist_sched::Decision::Allow, "*");
    let mut project = Project::with(true, vec![allow]);
    let (asked, _) =
        project.calls(&[("write", json!({"path": "x", "content": "x"}))], &Answer::Once).await;
    assert!(asked.is_empty(), "the rule allows it");
    let other = tempfile::tempdir().unwrap();
    let outside = other.path().join(".config/punchlist/config.toml").display().to_string();
    for path in [
        ".git/hooks/pre-commit",
        ".vscode/tasks.json",
        ".mcp.json",
        "sub/.claude/settings.json",
        ".codex/config.toml",
        ".Gemini/settings.json",
        ".punchlist/punchlist.db",
        "punchlist.toml",
        &outside,
    ] {
        let calls = [("write", json!({"path": path, "content": "x"}))];
        let (asked, ended) = project.calls(&calls, &Answer::Once).await;
        assert!(asked.is_empty(), "{path}");
        assert!(ended[0].contains("tools may not write "), "{path}: {}", ended[0]);
        assert!(ended[0].contains("; ask the user"), "{path}: {}", ended[0]);
    }
    let calls = [("shell", json!({"command": "echo x > .git/hooks/pre-commit"}))];
    let (_, ended) = project.calls(&calls, &Answer::Once).await;
    assert!(ended[0].contains("tools may not write "), "{}", ended[0]);
}

#[test]
fn tools_that_rules_deny_wholly_are_not_offered_to_a_model() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_owned();
    let mut all = Tools::new();
    let sandbox = InForce::Off(String::new());
    let options = Options {
        root,
        environment: Vec::new(),
        guarded: Vec::new(),
        sandbox,
        shell_timeout: ShellTimeout::default(),
    };
    tools::all(options).unwrap().into_iter().for_each(|it| all.add(it).unwrap());
    let text = "[[policy]]\ndecision = 'deny'\ntool = 'shell'\n[[policy]]\ndecision = 'deny'\ntool = 'edit'\nargument = ['path', 'docs/*']\n";
    let policy = Policy::new(rules::read(text).unwrap(), Vec::new());
    let offered: Vec<&str> = all.offered(&policy).map(|it| it.name()).collect();
    assert_eq!(offered, ["edit", "list", "read", "search", "write"]);
    assert_eq!(all.offered(&Policy::default()).count(), 6);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_that_the_sandbox_stopped_runs_outside_only_after_a_persons_yes() {
    if !crate::sandbox::is_supported() {
        return;
    }
    let rules = || rules::read(RULES).unwrap();
    let other = tempfile::tempdir().unwrap();
    let file = other.path().join("file");
    let line = format!("echo text | tee {} {}", "inside", file.display());
    let inside = json!({"command": line});
    let outside = json!({"command": line, "outside_sandbox": true, "reason": "it goes there"});

    let mut project = Project::sandboxed(true, rules(), InForce::On);
    let (asked, ended) = project.calls(&[("shell", inside)], &Answer::Refuse(None)).await;
    assert_eq!(asked, [""; 0]);
    assert_eq!(project.text("inside"), "text\n");
    assert!(!file.exists());
    assert!(ended[0].contains("the sandbox may have stopped it"), "{}", ended[0]);
    assert!(ended[0].contains("outside_sandbox"), "{}", ended[0]);

    let calls = [("shell", outside)];
    let (asked, _) = project.calls(&calls, &Answer::Refuse(None)).await;
    assert_eq!(asked, [format!("run outside the sandbox\n{line}")]);
    assert!(!file.exists());
    let (asked, ended) = project.calls(&calls, &Answer::Once).await;
    assert_eq!((asked.len(), ended), (1, vec!["text\n".to_owned()]));
    assert!(file.exists());

    let mut alone = Project::sandboxed(false, rules(), InForce::On);
    let (_, ended) = alone.calls(&calls, &Answer::Once).await;
    assert!(ended[0].contains("a person must approve it, whatever the rules allow"), "{ended:?}");
    // In the sandbox a command runs also where nobody can be asked.
    let (_, ended) =
        alone.calls(&[("shell", json!({"command": "pwd | wc -l"}))], &Answer::Once).await;
    assert_eq!(ended, ["1\n"]);
}
