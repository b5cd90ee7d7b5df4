//! What rules say of calls, and that no project frees anything.

use proptest::prelude::*;

use super::{Commands, Decision, Policy, Rule, Subject, Verdict, Words, allowing, like};

/// A command; a last word `…` stands for words that cannot be told.
fn words(line: &str) -> Words {
    let known = line.split_whitespace().filter(|it| *it != "…").map(str::to_owned).collect();
    Words { known, more: line.contains('…') }
}

/// A shell call of commands that are divided by `;`.
fn shell(line: &str) -> Subject {
    let commands = line.split(';').map(words).filter(|it| *it != Words::default()).collect();
    Subject { tool: "shell".to_owned(), commands: Commands::All(commands), ..Subject::default() }
}

fn opaque() -> Subject {
    Subject { tool: "shell".to_owned(), commands: Commands::Opaque, ..Subject::default() }
}

fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny(_) => "deny",
    }
}

#[test]
fn what_a_call_may_do() {
    use Decision::{Allow, Ask, Deny};
    let policy = Policy::new(
        vec![
            Rule::command(Allow, "shell", &["cargo", "test"]),
            Rule::command(Allow, "shell", &["ls"]),
            Rule::command(Deny, "shell", &["rm", "-rf"]),
            Rule::server(Allow, "docs*"),
            Rule { argument: Some(("path".into(), "src/*".into())), ..Rule::tool(Allow, "edit") },
        ],
        vec![
            Rule::tool(Allow, "deploy"),
            Rule::tool(Ask, "fetch"),
            Rule::command(Ask, "shell", &["ls", "/etc"]),
        ],
    );
    let check = |subject: &Subject, expected: &str| {
        assert_eq!(name(&policy.verdict(subject)), expected, "{subject:?}");
    };
    let tool = |tool: &str| Subject { tool: tool.to_owned(), ..Subject::default() };
    check(&shell("cargo test --workspace"), "allow");
    check(&shell("cargo"), "ask");
    check(&shell("cargo testing"), "ask");
    // A chain passes only if every link does.
    check(&shell("cargo test; ls -l"), "allow");
    check(&shell("cargo test; curl x"), "ask");
    check(&shell("cargo test; rm -rf /"), "deny");
    check(&shell(""), "ask");
    check(&opaque(), "ask");
    // A project tightens and never allows.
    check(&shell("ls /etc"), "ask");
    check(&tool("deploy"), "ask");
    check(&Subject { harmless: true, ..tool("read") }, "allow");
    check(&Subject { harmless: true, ..tool("fetch") }, "ask");
    check(&Subject { server: Some("docs.internal".into()), ..tool("search") }, "allow");
    check(&tool("search"), "ask");
    let edit =
        |path: &str| Subject { arguments: vec![("path".into(), path.into())], ..tool("edit") };
    check(&edit("src/main.rs"), "allow");
    check(&edit("/etc/passwd"), "ask");
}

#[test]
fn the_rules_that_are_proposed_allow_the_call() {
    let subjects = ["cargo test; git status --short", "git …", "ls; > a.txt", "> …"].map(shell);
    for subject in subjects.into_iter().chain([opaque(), Subject::default()]) {
        let mut policy = Policy::default();
        assert_eq!(policy.verdict(&subject), Verdict::Ask(None));
        allowing(&subject).into_iter().for_each(|rule| policy.add(rule));
        assert_eq!(policy.verdict(&subject), Verdict::Allow, "{subject:?}");
    }
    insta::assert_snapshot!(
        Rule::command(Decision::Allow, "shell", &["git", "status"]),
        @r#"{ decision = "allow", tool = "shell", command = ["git", "status"] }"#
    );
}

/// What "always" would mean, one rule a line.
fn offered(policy: &Policy, subject: &Subject) -> String {
    let rules = policy.offers(subject);
    rules.iter().map(|it| format!("{it}\n")).collect()
}

#[test]
fn always_means_a_rule_that_changes_something_and_is_enough() {
    use Decision::{Allow, Ask};
    let policy = Policy::new(
        vec![Rule::command(Allow, "shell", &["ls"]), Rule::command(Ask, "shell", &["git", "push"])],
        Vec::new(),
    );
    let tool = |tool: &str| Subject { tool: tool.to_owned(), ..Subject::default() };
    let foreign = Subject { server: Some("docs".into()), ..tool("search") };
    let subjects = [
        ("alone", shell("make all")),
        ("the other one is allowed already", shell("ls; make all")),
        ("two would be needed", shell("make all; ./publish.sh")),
        ("a rule wants it asked", shell("git push origin")),
        ("one of them a rule wants asked", shell("make all; git push")),
        ("nobody can tell", shell("…")),
        ("opaque, and one may be a push", opaque()),
        ("a tool", tool("edit")),
        ("a tool of a server", foreign),
    ];
    let told: Vec<String> = subjects
        .iter()
        .map(|(name, subject)| {
            assert!(matches!(policy.verdict(subject), Verdict::Ask(_)), "{name}");
            format!("{name}\n{}", offered(&policy, subject))
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    alone
    { decision = "allow", tool = "shell", command = ["make", "all"] }

    the other one is allowed already
    { decision = "allow", tool = "shell", command = ["make", "all"] }

    two would be needed

    a rule wants it asked

    one of them a rule wants asked

    nobody can tell

    opaque, and one may be a push

    a tool
    { decision = "allow", tool = "edit" }

    a tool of a server
    { decision = "allow", tool = "search" }
    { decision = "allow", server = "docs" }
    "#);
}

#[test]
fn a_rule_that_tightens_holds_where_nobody_can_tell_that_it_does_not() {
    use Decision::{Allow, Ask, Deny};
    let policy = Policy::new(
        vec![
            Rule::command(Allow, "shell", &["git"]),
            Rule::command(Allow, "shell", &["/bin/rm"]),
            Rule::command(Deny, "shell", &["git", "push"]),
            Rule::command(Ask, "shell", &["git", "reset", "--hard"]),
            Rule::command(Deny, "shell", &["rm"]),
            Rule::command(Deny, "shell", &["/opt/x"]),
            Rule::command(Allow, "shell", &["x"]),
            Rule::command(Allow, "shell", &[">", "log.txt"]),
        ],
        Vec::new(),
    );
    let check = |line: &str, expected: &str| {
        assert_eq!(name(&policy.verdict(&shell(line))), expected, "{line}");
    };
    check("git status …", "allow");
    check("git …", "ask");
    check("git push", "deny");
    check("git push …", "deny");
    check("git reset …", "ask");
    check("git reset --soft …", "allow");
    check("…", "ask");
    // A program is forbidden under its other names too, and allowed under the one that was given.
    check("/bin/rm a", "deny");
    check("./rm a", "deny");
    check("RM a", "deny");
    check("GIT status", "ask");
    check("x", "allow");
    check("/opt/x", "deny");
    // Writing into a file is a command of its own.
    check("git status; > log.txt", "allow");
    check("git status; > other.txt", "ask");
    check("git status; > …", "ask");
}

#[test]
fn a_rule_that_surely_forbids_counts_before_one_that_may() {
    use Decision::Deny;
    let rules = vec![Rule::command(Deny, "shell", &["rm"]), Rule::tool(Deny, "shell")];
    assert_eq!(name(&Policy::new(rules, Vec::new()).verdict(&opaque())), "deny");
}

#[test]
fn a_refusal_where_nobody_can_be_asked_names_the_rule_to_add() {
    let ask = Rule::command(Decision::Ask, "shell", &["git", "push"]);
    let allow = Rule::command(Decision::Allow, "shell", &["ls"]);
    let policy = Policy::new(vec![allow], Vec::new());
    let hostile = Rule::command(Decision::Allow, "sh\"ell", &["\u{1b}[2J\0\n", "\u{202e}é\\"]);
    let texts = [
        policy.unasked(&shell("cargo test --workspace; ls; > log.txt"), None),
        policy.unasked(&shell("ls; > …"), None),
        policy.unasked(&opaque(), None),
        policy.unasked(&shell("git push"), Some(&ask)),
        policy.unasked(&opaque(), Some(&ask)),
        hostile.to_toml(),
    ];
    insta::assert_snapshot!(texts.join("\n--------\n"));
}

#[test]
fn a_star_stands_for_any_text() {
    for (pattern, text, fits) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("a*", "ab", true),
        ("*b", "ab", true),
        ("a*a", "a", false),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "a-c-b", false),
        ("*", "", true),
        ("", "x", false),
    ] {
        assert_eq!(like(pattern, text), fits, "{pattern:?} and {text:?}");
    }
}

fn rule() -> impl Strategy<Value = Rule> {
    let decision = prop::sample::select(vec![Decision::Allow, Decision::Ask, Decision::Deny]);
    let command = prop::option::of(prop::collection::vec("[ab]", 0..3));
    (decision, command)
        .prop_map(|(decision, command)| Rule { command, ..Rule::tool(decision, "shell") })
}

proptest! {
    /// Whatever a project writes, a call is never freer for it.
    #[test]
    fn a_project_only_tightens(
        user in prop::collection::vec(rule(), 0..5),
        project in prop::collection::vec(rule(), 0..5),
        line in "[ab ;]{0,9}",
        opaque in any::<bool>(),
    ) {
        let mut subject = shell(&line);
        if opaque {
            subject.commands = Commands::Opaque;
        }
        let rank = |verdict: &Verdict| match verdict {
            Verdict::Allow => 0,
            Verdict::Ask(_) => 1,
            Verdict::Deny(_) => 2,
        };
        let alone = Policy::new(user.clone(), Vec::new()).verdict(&subject);
        let both = Policy::new(user, project).verdict(&subject);
        prop_assert!(rank(&both) >= rank(&alone), "{alone:?}, {both:?}");
    }

    /// What is offered was lacking, and lets the call pass.
    #[test]
    fn whatever_is_offered_is_new_and_enough(
        user in prop::collection::vec(rule(), 0..5),
        line in "[ab ;]{0,9}",
    ) {
        let (policy, subject) = (Policy::new(user.clone(), Vec::new()), shell(&line));
        prop_assume!(matches!(policy.verdict(&subject), Verdict::Ask(_)));
        for rule in policy.offers(&subject) {
            prop_assert!(!user.contains(&rule), "{rule} holds already");
            let mut with = policy.clone();
            with.add(rule);
            prop_assert_eq!(with.verdict(&subject), Verdict::Allow);
        }
    }

    /// One command more never makes a chain freer.
    #[test]
    fn a_longer_chain_is_never_freer(
        user in prop::collection::vec(rule(), 0..5),
        line in "[ab ;]{1,9}",
        more in "[ab]",
    ) {
        prop_assume!(shell(&line).commands != Commands::All(Vec::new()));
        let policy = Policy::new(user, Vec::new());
        let before = policy.verdict(&shell(&line));
        let after = policy.verdict(&shell(&format!("{line};{more}")));
        prop_assert!(before == Verdict::Allow || after != Verdict::Allow);
    }
}
