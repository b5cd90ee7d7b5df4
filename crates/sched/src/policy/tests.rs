//! Tests: the verdicts of rules, and that a project's rules never allow anything.

use proptest::prelude::*;

use super::{Commands, Decision, Policy, Reader, Rule, Subject, Verdict, Words, allowing, like};

/// A command; a last word `…` stands for unknown words.
fn words(line: &str) -> Words {
    let known = line.split_whitespace().filter(|it| *it != "…").map(str::to_owned).collect();
    Words { known, more: line.contains('…') }
}

/// A shell call with commands separated by `;`.
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
    // A chain is allowed only if each of its commands is.
    check(&shell("cargo test; ls -l"), "allow");
    check(&shell("cargo test; curl x"), "ask");
    check(&shell("cargo test; rm -rf /"), "deny");
    check(&shell(""), "ask");
    check(&opaque(), "ask");
    // A project's rules restrict and never allow.
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

/// The sets of rules that "always" offers, one per line.
fn offered(policy: &Policy, subject: &Subject) -> String {
    let line = |rules: Vec<Rule>| {
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        rules.join(" and ") + "\n"
    };
    policy.offers(subject).into_iter().map(line).collect()
}

#[test]
fn always_means_a_rule_that_changes_something_and_is_enough() {
    use Decision::{Allow, Ask};
    let policy = Policy::new(
        vec![Rule::command(Allow, "shell", &["ls"]), Rule::command(Ask, "shell", &["git", "push"])],
        Vec::new(),
    );
    let tool = |tool: &str| Subject { tool: tool.to_owned(), ..Subject::default() };
    let path = |name: &str, path: &str| Subject {
        arguments: vec![("path".into(), path.into())],
        ..tool(name)
    };
    let foreign = Subject { server: Some("docs".into()), ..tool("search") };
    let subjects = [
        ("alone", shell("make all")),
        ("the other one is allowed already", shell("ls; make all")),
        ("two are needed", shell("make all; ./publish.sh")),
        ("one of the two is never offered", shell("make all; rm -rf x")),
        ("a rule wants it asked", shell("git push origin")),
        ("one of them a rule wants asked", shell("make all; git push")),
        ("nobody can tell", shell("…")),
        ("opaque, and one may be a push", opaque()),
        ("a tool", tool("edit")),
        ("a path", path("edit", "src/a.rs")),
        ("a path with a star in its name", path("edit", "src/*.rs")),
        ("a tool of a server", foreign),
    ];
    let told: Vec<String> = subjects
        .iter()
        .map(|(name, subject)| {
            assert!(matches!(policy.verdict(subject), Verdict::Ask(_)), "{name}");
            format!("{name}\n{}", offered(&policy, subject))
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"));
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
    // A program is denied under its other names too, but allowed only under the given name.
    check("/bin/rm a", "deny");
    check("./rm a", "deny");
    check("RM a", "deny");
    check("GIT status", "ask");
    check("x", "allow");
    check("/opt/x", "deny");
    // A redirection into a file counts as a command.
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
        policy.unasked(&shell("cargo test --workspace; ls; > log.txt"), None, Reader::Person),
        policy.unasked(&shell("ls; > …"), None, Reader::Person),
        policy.unasked(&opaque(), None, Reader::Person),
        policy.unasked(&shell("git push"), Some(&ask), Reader::Person),
        policy.unasked(&opaque(), Some(&ask), Reader::Person),
        hostile.to_toml(),
    ];
    insta::assert_snapshot!(texts.join("\n--------\n"));
}

#[test]
fn an_agent_is_told_to_ask_its_user_and_is_shown_no_rule() {
    let policy = Policy::default();
    for subject in [shell("make all"), opaque(), Subject::default(), shell("> log.txt")] {
        let text = policy.unasked(&subject, None, Reader::Agent);
        assert!(text.ends_with("Ask your user to do it, or to allow it"), "{text}");
        assert!(!text.contains("[[policy]]") && !text.contains("config.toml"), "{text}");
    }
}

#[test]
fn what_always_asks_is_allowed_by_no_rule_and_offers_none() {
    let asks = |subject: Subject| Subject { always_asks: true, harmless: true, ..subject };
    let rules =
        vec![Rule::tool(Decision::Allow, "*"), Rule::command(Decision::Deny, "shell", &["rm"])];
    for policy in [Policy::default(), Policy::new(rules.clone(), Vec::new())] {
        assert_eq!(policy.verdict(&asks(shell("make"))), Verdict::Ask(None));
        assert_eq!(policy.offers(&asks(shell("make"))), Vec::<Vec<Rule>>::new());
    }
    let policy = Policy::new(rules, Vec::new());
    assert_eq!(name(&policy.verdict(&asks(shell("rm x")))), "deny", "a rule may still forbid it");
}

#[test]
fn always_is_never_offered_where_the_next_words_are_a_program_or_a_target() {
    let policy = Policy::default();
    for line in [
        "python3 -c code",
        "python -",
        "python3.12 -c code",
        "node -e code",
        "perl -e code",
        "bash script …",
        "awk code",
        "sed -i s/a/b/ x",
        "rm -rf build",
        "rm x",
        "mv a b",
        "curl https://example.invalid",
        "chmod 777 x",
        "kill 1",
        "docker run image",
        "kubectl exec pod",
        "git rebase -x cmd",
        "make -f …",
        "make …",
        "> …",
    ] {
        let is_script = line.starts_with("bash script");
        assert_eq!(policy.offers(&shell(line)).is_empty(), !is_script, "{line}");
    }
    for (line, expected) in [
        ("python3 -m pytest -q", "python3 -m pytest"),
        ("python3 manage.py test", "python3 manage.py"),
        ("git push origin main", "git push"),
        ("git push …", "git push"),
        ("make -j4 all", "make -j4 all"),
        ("./publish.sh", "./publish.sh"),
        ("> log.txt", "> log.txt"),
        ("timeout …", "timeout"),
    ] {
        let offers = policy.offers(&shell(line));
        let words = offers[0][0].command.clone().unwrap_or_default().join(" ");
        assert_eq!(words, expected, "{line}");
    }
}

#[test]
fn a_secret_is_allowed_only_by_a_rule_that_names_it() {
    let read = |path: &str| Subject {
        tool: "read".into(),
        harmless: true,
        is_secret: true,
        arguments: vec![("path".into(), path.into())],
        ..Subject::default()
    };
    let check = |rules: Vec<Rule>, expected: &str| {
        assert_eq!(name(&Policy::new(rules, Vec::new()).verdict(&read(".env"))), expected);
    };
    check(Vec::new(), "ask");
    check(vec![Rule::tool(Decision::Allow, "*")], "ask");
    check(vec![Rule::argument(Decision::Allow, "read", "path", ".env")], "allow");
    check(vec![Rule::tool(Decision::Deny, "read")], "deny");
    let text = Policy::default().unasked(&read(".env"), None, Reader::Person);
    assert!(text.contains("argument = [\"path\", \".env\"]"), "{text}");
}

#[test]
fn rules_that_tighten_see_what_hides_in_a_command_and_rules_that_allow_do_not() {
    let hides = |line: &str, hidden: &str| Subject { hidden: vec![words(hidden)], ..shell(line) };
    let policy = |decision| {
        Policy::new(vec![Rule::command(decision, "shell", &["git", "push"])], Vec::new())
    };
    let push = hides("git -C x push", "git push");
    assert_eq!(name(&policy(Decision::Deny).verdict(&push)), "deny");
    assert_eq!(name(&policy(Decision::Ask).verdict(&push)), "ask");
    assert_eq!(policy(Decision::Allow).verdict(&push), Verdict::Ask(None));
    let opaque = Subject { hidden: vec![words("git push")], ..opaque() };
    assert_eq!(name(&policy(Decision::Deny).verdict(&opaque)), "deny");
}

#[test]
fn the_reason_of_a_rule_is_told_before_the_rule() {
    let reason = Some("use git clean".to_owned());
    let rule = Rule { reason, ..Rule::command(Decision::Deny, "shell", &["rm"]) };
    assert_eq!(
        rule.told(),
        r#"use git clean (the rule: { decision = "deny", tool = "shell", command = ["rm"] })"#
    );
    assert!(rule.to_toml().contains("reason = \"use git clean\"\n"));
}

#[test]
fn a_tool_that_a_rule_denies_wholly_is_known_as_such() {
    let rules = vec![
        Rule::tool(Decision::Deny, "wr*"),
        Rule::command(Decision::Deny, "shell", &["rm"]),
        Rule::argument(Decision::Deny, "edit", "path", "x"),
        Rule::tool(Decision::Ask, "read"),
        Rule::server(Decision::Deny, "prod"),
    ];
    let policy = Policy::new(Vec::new(), rules);
    let denied = |tool, server| policy.denies_all_of(tool, server);
    assert!(denied("write", None) && denied("mcp__prod__x", Some("prod")));
    assert!(!denied("shell", None) && !denied("edit", None) && !denied("read", None));
    assert!(!denied("mcp__test__x", Some("test")));
}

#[test]
fn a_program_is_the_same_by_roundabout_paths_to_a_rule_that_denies() {
    let policy =
        Policy::new(vec![Rule::command(Decision::Deny, "shell", &["tools/x"])], Vec::new());
    for line in ["tools/x", "./tools/x", "./tools//./x a"] {
        assert_eq!(name(&policy.verdict(&shell(line))), "deny", "{line}");
    }
    assert_eq!(name(&policy.verdict(&shell("other/x"))), "ask");
}

#[test]
fn each_command_of_a_chain_is_explained_by_its_rule() {
    let allow = Rule::command(Decision::Allow, "shell", &["cd"]);
    let deny = Rule::command(Decision::Deny, "shell", &["git", "push"]);
    let policy = Policy::new(vec![allow.clone(), deny.clone()], Vec::new());
    let subject =
        Subject { hidden: vec![words("git push")], ..shell("cd src; make; git -C x push") };
    let told = policy.explain(&subject);
    assert_eq!((name(&told.verdict), told.by), ("deny", Some(deny.clone())));
    let parts: Vec<_> = told
        .parts
        .iter()
        .map(|it| (it.words.known.join(" "), name(&it.verdict), it.by.clone()))
        .collect();
    assert_eq!(
        parts,
        [
            ("cd src".to_owned(), "allow", Some(allow)),
            ("make".to_owned(), "ask", None),
            ("git -C x push".to_owned(), "ask", None),
            ("git push".to_owned(), "deny", Some(deny)),
        ]
    );
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
    /// Whatever rules a project has, no call is allowed because of them.
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

    /// Offered rules are new, and allow the call.
    #[test]
    fn whatever_is_offered_is_new_and_enough(
        user in prop::collection::vec(rule(), 0..5),
        line in "[ab ;]{0,9}",
    ) {
        let (policy, subject) = (Policy::new(user.clone(), Vec::new()), shell(&line));
        prop_assume!(matches!(policy.verdict(&subject), Verdict::Ask(_)));
        for rules in policy.offers(&subject) {
            let mut with = policy.clone();
            for rule in rules {
                prop_assert!(!user.contains(&rule), "{rule} holds already");
                with.add(rule);
            }
            prop_assert_eq!(with.verdict(&subject), Verdict::Allow);
        }
    }

    /// A further command never makes a chain easier to allow.
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
