//! The tools as the scheduler uses them, on real files: what they touch, preview and do.

mod files;
mod finding;
mod places;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use punchlist_agent::tools::{self, Options};
use punchlist_sched::call::Ended;
use punchlist_sched::policy::{Commands, Policy, Verdict};
use punchlist_sched::sandbox::InForce;
use punchlist_sched::{Decision, Preview, Processes, Rule, Tool, Tools, Work, output};
use serde_json::{Value, json};

/// A project in a directory that has other files too.
pub(crate) struct Project {
    directory: tempfile::TempDir,
    tools: Tools,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self::with(InForce::Off(String::new()))
    }

    /// A project whose commands run in this sandbox.
    pub(crate) fn with(sandbox: InForce) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("project");
        fs::create_dir(&root).unwrap();
        let mut all = Tools::new();
        let options = Options {
            root,
            environment: Vec::new(),
            guarded: Vec::new(),
            sandbox,
            shell_timeout: tools::ShellTimeout::default(),
        };
        for tool in tools::all(options).unwrap() {
            all.add(tool).unwrap();
        }
        Self { directory, tools: all }
    }

    /// A path below the directory that contains the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.directory.path()).unwrap().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.get(name).unwrap()
    }

    /// Replaces the directory of the test, so that results are the same everywhere.
    pub(crate) fn without_place(&self, text: &str) -> String {
        let place = self.path("");
        let place = place.to_str().unwrap().trim_end_matches('/');
        text.replace(place, "/w")
    }

    /// The result of a call that is checked and then allowed.
    pub(crate) fn call(&self, name: &str, arguments: Value) -> String {
        if let Err(why) = self.tools.check(name, &arguments) {
            return self.without_place(&format!("refused: {why}"));
        }
        self.run(name, arguments)
    }

    /// The result of a call that runs without being checked.
    pub(crate) fn run(&self, name: &str, arguments: Value) -> String {
        let work = Work::alone(Processes::none(), output::Options::default());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let output = match runtime.block_on(self.tool(name).run(arguments, work)) {
            Ended::Well(output) => output.text,
            Ended::Badly { what, .. } => format!("failed: {what}"),
            Ended::Declined(what) | Ended::Panicked(what) => format!("panicked: {what}"),
        };
        self.without_place(&output)
    }

    /// The preview that a person would see.
    pub(crate) fn preview(&self, name: &str, arguments: &Value) -> String {
        let Preview { what, command, diff, touches, .. } = self.tool(name).preview(arguments);
        let command = command.map(|it| format!("\n$ {it}")).unwrap_or_default();
        let diff = diff.map(|it| format!("\n{it}")).unwrap_or_default();
        let touches =
            if touches.is_empty() { String::new() } else { format!(" [{}]", touches.join(", ")) };
        self.without_place(&format!("{what}{touches}{command}{diff}"))
    }

    /// The policy's verdict on a call.
    pub(crate) fn verdict(&self, rules: &[Rule], name: &str, arguments: &Value) -> &'static str {
        let Ok(checked) = self.tools.check(name, arguments) else { return "refused" };
        match Policy::new(rules.to_vec(), Vec::new()).verdict(&checked.subject) {
            Verdict::Allow => "allow",
            Verdict::Ask(_) => "ask",
            Verdict::Deny(_) => "deny",
        }
    }
}

#[test]
fn models_are_told_this_of_the_tools() {
    let project = Project::new();
    let mut report = String::new();
    for tool in project.tools.iter() {
        let schema = serde_json::to_string_pretty(tool.schema()).unwrap();
        report.push_str(&format!("{}: {}\n{schema}\n\n", tool.name(), tool.description()));
    }
    assert!(!report.contains("$ref") && !report.contains("$defs"));
    insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!(report) });
}

#[test]
fn arguments_that_nobody_asked_for_do_no_harm_and_wrong_ones_are_named() {
    let project = Project::new();
    project.write("project/a", "x\n");
    assert_eq!(
        project.call("read", json!({"path": "a", "wait_for_previous": true})),
        "     1\tx\n"
    );
    for (name, arguments) in [
        ("read", json!({})),
        ("read", json!({"path": 3})),
        ("read", json!({"path": "a", "offset": 0})),
        ("read", json!({"path": "a", "limit": -1})),
        ("read", json!([])),
        ("edit", json!({"path": "a", "old": "", "new": "b"})),
        ("edit", json!({"path": "a", "old": "x", "new": "x"})),
        ("search", json!({"pattern": "("})),
        ("search", json!({"pattern": "a", "glob": "["})),
        ("shell", json!({"command": ""})),
        ("shell", json!({"command": " \n"})),
        ("shell", json!({"command": "a\0b"})),
        ("shell", json!({"command": "-c x"})),
        ("shell", json!({"command": "ls", "directory": "/"})),
        ("shell", json!({"command": "ls", "directory": ".."})),
        ("shell", json!({"command": "ls", "directory": "a"})),
    ] {
        let output = project.call(name, arguments.clone());
        assert!(output.starts_with("refused: "), "{name} {arguments}: {output}");
        // A refused call is not supposed to run; if it does, nothing must break.
        project.run(name, arguments);
    }
}

#[test]
fn a_shell_call_is_judged_by_its_commands() {
    let project = Project::new();
    fs::create_dir(project.path("project/sub")).unwrap();
    let rules = [
        Rule::command(Decision::Allow, "shell", &["cargo", "test"]),
        Rule::command(Decision::Allow, "shell", &["./check"]),
        Rule::command(Decision::Allow, "shell", &[">", "log"]),
    ];
    let verdict = |command: &str, directory: Option<&str>| {
        let arguments = match directory {
            Some(directory) => json!({"command": command, "directory": directory}),
            None => json!({"command": command}),
        };
        project.verdict(&rules, "shell", &arguments)
    };
    assert_eq!(verdict("cargo test", None), "allow");
    assert_eq!(verdict("cargo test > log", None), "allow");
    assert_eq!(verdict("cargo test && rm x", None), "ask");
    assert_eq!(verdict("sh -c 'cargo test'", None), "ask");
    assert_eq!(verdict("./check", None), "allow");
    // In another directory it is another program and another file.
    assert_eq!(verdict("cargo test", Some("sub")), "allow");
    assert_eq!(verdict("./check", Some("sub")), "ask");
    assert_eq!(verdict("cargo test > log", Some("sub")), "ask");
    assert_eq!(verdict("./check", Some("sub/..")), "allow");
    let checked = project.tool("shell").check(&json!({"command": "ls | wc"})).unwrap();
    assert!(matches!(checked.subject.commands, Commands::All(all) if all.len() == 2));
    assert_eq!(project.preview("shell", &json!({"command": "ls | wc"})), "run\n$ ls | wc");
}

#[test]
fn a_command_in_the_sandbox_runs_unless_a_rule_asks_or_denies() {
    let rules = [
        Rule::command(Decision::Allow, "shell", &["cargo", "test"]),
        Rule::command(Decision::Ask, "shell", &["git", "push"]),
        Rule::command(Decision::Deny, "shell", &["rm"]),
    ];
    let no_rules: &[Rule] = &[];
    let call = |command: &str| json!({"command": command});
    let outside = |command: &str| json!({"command": command, "outside_sandbox": true, "reason": "it needs the network"});
    for (rules, arguments, on, asking, off) in [
        (no_rules, call("make"), "allow", "ask", "ask"),
        (no_rules, call("sh -c \"$X\""), "allow", "ask", "ask"),
        (&rules, call("make"), "allow", "ask", "ask"),
        (&rules, call("cargo test"), "allow", "allow", "allow"),
        (&rules, call("make; git push"), "ask", "ask", "ask"),
        (&rules, call("make; rm x"), "deny", "deny", "deny"),
        // It is unknown whether a rule matches.
        (&rules, call("sh -c \"$X\""), "ask", "ask", "ask"),
        // The sandbox does not limit reading, and the project is writable.
        (&rules, call("cat .env"), "ask", "ask", "ask"),
        (&rules, call("cp hook .git/hooks/pre-commit"), "ask", "ask", "ask"),
        // No rule allows to leave the sandbox. Without a sandbox there is nothing to leave.
        (&rules, outside("cargo test"), "ask", "ask", "allow"),
        (&rules, outside("rm x"), "deny", "deny", "deny"),
    ] {
        for (sandbox, expected) in
            [(InForce::On, on), (InForce::OnAndAsking, asking), (InForce::Off(String::new()), off)]
        {
            let verdict = Project::with(sandbox.clone()).verdict(rules, "shell", &arguments);
            assert_eq!(verdict, expected, "{arguments} with {sandbox}");
        }
    }
}

#[test]
fn leaving_the_sandbox_needs_a_reason_and_is_shown() {
    let project = Project::with(InForce::On);
    let shell = project.tool("shell");
    let outside = json!({"command": "make", "outside_sandbox": true});
    let why = shell.check(&outside).unwrap_err();
    assert_eq!(why, "outside_sandbox needs a reason, for the person who is asked");
    let outside = json!({"command": "make", "outside_sandbox": true, "reason": "it downloads"});
    let Preview { what, why, .. } = shell.preview(&outside);
    assert_eq!(what, "run outside the sandbox");
    assert_eq!(why.as_deref(), Some("the model says: it downloads"));
    fs::create_dir(project.path("project/sub")).unwrap();
    let inside = json!({"command": "make", "directory": "sub", "reason": "x"});
    assert_eq!(project.preview("shell", &inside), "run in the sandbox, in sub\n$ make");
    assert!(shell.schema()["properties"]["outside_sandbox"].is_object());
    let without = Project::new();
    let shell = without.tool("shell");
    assert!(shell.schema()["properties"].get("outside_sandbox").is_none());
}
