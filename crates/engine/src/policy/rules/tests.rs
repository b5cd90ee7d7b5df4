//! Parsing rules from files, errors in them, and that adding a rule changes nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;
use punchlist_sched::policy::{Decision, Rule, Verdict};

use super::{Placed, Rules, Unkept, placed, read, remember};

#[test]
fn a_rule_is_a_table_and_a_command_is_a_text_or_its_words() {
    let text = r#"
gate = "once"

[[policy]]
decision = "allow"
tool = "shell"
command = "cargo  test"

[[policy]]
decision = "deny"
command = ["git", "commit", "-m", "a b"]

[[policy]]
decision = "ask"
server = "prod-*"
argument = ["path", "src/*"]
"#;
    let shown: Vec<String> = read(text).unwrap().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    { decision = "allow", tool = "shell", command = ["cargo", "test"] }
    { decision = "deny", command = ["git", "commit", "-m", "a b"] }
    { decision = "ask", server = "prod-*", argument = ["path", "src/*"] }
    "#);
    assert_eq!(read("").unwrap(), []);
    assert_eq!(read("gate = 'once'").unwrap(), []);
    assert_eq!(read("policy = [{ decision = 'ask', tool = 'edit' }]").unwrap().len(), 1);
}

#[test]
fn a_rule_that_cannot_be_understood_is_an_error_with_its_line_and_key() {
    let texts = [
        "[[policy]]\ndecision = 'maybe'\ntool = 'edit'",
        "[[policy]]\ndecision = 3\ntool = 'edit'",
        "[[policy]]\ntool = 'edit'",
        "\n\n[[policy]]\ndecision = 'allow'",
        "[[policy]]\ndecision = 'allow'\ntools = 'x'",
        "[[policy]]\ndecision = 'allow'\ntool = ''",
        "[[policy]]\ndecision = 'allow'\ntool = ['x']",
        "[[policy]]\ndecision = 'allow'\ncommand = ''",
        "[[policy]]\ndecision = 'allow'\ncommand = []",
        "[[policy]]\ndecision = 'allow'\ncommand = ['']",
        "[[policy]]\ndecision = 'allow'\ncommand = ['git', 3]",
        "[[policy]]\ndecision = 'allow'\ncommand = \"git commit -m 'x'\"",
        "[[policy]]\ndecision = 'allow'\ncommand = 'a && b'",
        "[[policy]]\ndecision = 'allow'\nargument = 'path'",
        "[[policy]]\ndecision = 'allow'\nargument = ['path']",
        "[[policy]]\ndecision = 'allow'\nargument = ['', 'x']",
        "[policy]\ndecision = 'allow'",
        "policy = 'allow'",
        "policy = ['allow']",
        "[[policy]]\ndecision = 'allow'\ndecision = 'deny'",
        "[[policy]\n",
    ];
    let shown: Vec<String> = texts
        .iter()
        .map(|text| {
            format!("{}\n    {}", text.trim().replace('\n', " / "), read(text).unwrap_err())
        })
        .collect();
    insta::with_settings!({omit_expression => true}, {
        insta::assert_snapshot!(shown.join("\n"));
    });
}

#[test]
fn what_a_project_allows_is_counted_and_does_not_count() {
    let rules = Rules {
        user: placed("[[policy]]\ndecision = 'allow'\ntool = 'edit'").unwrap(),
        project: placed(
            "[[policy]]\ndecision = 'allow'\ntool = 'write'\n[[policy]]\ndecision = 'deny'\ntool = 'edit'",
        )
        .unwrap(),
    };
    assert_eq!(rules.ignored(), 1);
    let verdict = |tool: &str| {
        let tool = tool.to_owned();
        rules.policy("/p").verdict(&punchlist_sched::Subject { tool, ..Default::default() })
    };
    assert_eq!(verdict("write"), Verdict::Ask(None));
    assert!(matches!(verdict("edit"), Verdict::Deny(_)));
}

#[test]
fn a_rule_that_can_never_match_is_an_error_with_the_nearest_name() {
    let rules = [
        "tool = 'shel'",
        "tool = 'Shell'",
        "tool = 'exec'",
        "tool = 'raed*'",
        "tool = 'edit'\ncommand = 'git push'",
        "server = 'docs'\ncommand = 'git push'",
        "tool = 'edit'\nargument = ['pth', 'src/*']",
        "tool = 'write'\nargument = ['content', '*secret*']",
        "argument = ['comand', '*rm*']",
        "command = 'sudo apt'",
        "command = ['sh', '-c', 'x']",
        "command = 'eval'",
    ];
    let shown: Vec<String> = rules
        .iter()
        .map(|rule| {
            let why = read(&format!("[[policy]]\ndecision = 'allow'\n{rule}")).unwrap_err();
            format!("{}\n    {why}", rule.replace('\n', " / "))
        })
        .collect();
    insta::with_settings!({omit_expression => true}, {
        insta::assert_snapshot!(shown.join("\n"));
    });
    for rule in [
        "tool = '*'",
        "tool = 're*'",
        "tool = 'read:outside'",
        "tool = 'mcp__docs__search'",
        "tool = '*__search'",
        "tool = 'search_pages'\nserver = 'docs'",
        "server = 'docs'\nargument = ['url', 'https://*']",
        "argument = ['url', 'https://*']",
        "command = ['>', 'log.txt']",
        "command = 'timeout'",
        "command = 'sh build.sh'",
        "tool = 'verify'\ncommand = 'make test'",
        "tool = 'agent'\nargument = ['agent', 'claude']",
    ] {
        read(&format!("[[policy]]\ndecision = 'allow'\n{rule}")).unwrap();
    }
    // What cannot be allowed can still be denied.
    read("[[policy]]\ndecision = 'deny'\ncommand = 'sudo'").unwrap();
}

#[test]
fn examples_are_held_against_their_rule_when_it_is_read() {
    for good in [
        "decision = 'deny'\ncommand = 'git push'\nfits = ['git push origin', 'cd x && git -C y push']\nnot = 'git pull'",
        "decision = 'allow'\ncommand = 'cargo test'\nfits = 'cargo test -p a'\nnot = ['cargo test && rm x', 'cargo run']",
        "decision = 'ask'\ntool = 'edit'\nargument = ['path', 'docs/*']\nfits = 'docs/a.md'\nnot = 'src/a.rs'",
        "decision = 'deny'\ntool = 're*'\nfits = 'read'\nnot = 'write'",
        "decision = 'allow'\nserver = 'docs*'\nfits = 'docs.internal'\nnot = 'prod'",
    ] {
        let rule = &read(&format!("[[policy]]\n{good}")).unwrap()[0];
        assert_eq!(rule.reason, None);
    }
    let bad = |rule: &str| read(&format!("[[policy]]\n{rule}")).unwrap_err().to_string();
    insta::assert_snapshot!(
        bad("decision = 'deny'\ncommand = 'git push'\nfits = ['git push', 'git pull']"),
        @r#"line 4: policy.fits: "git pull" does not fit the rule { decision = "deny", command = ["git", "push"] }"#
    );
    insta::assert_snapshot!(
        bad("decision = 'allow'\ncommand = 'git'\nnot = 'git push'"),
        @r#"line 4: policy.not: "git push" fits the rule { decision = "allow", command = ["git"] }"#
    );
    assert!(bad("decision = 'deny'\ncommand = 'a'\nfits = [3]").contains("policy.fits"));
}

#[test]
fn a_rule_with_a_relative_program_belongs_to_its_project() {
    let text = "\
[[policy]]
decision = 'allow'
command = './check.sh'

[[policy]]
decision = 'allow'
command = 'tools/lint'
project = '/home/me/one/'

[[policy]]
decision = 'deny'
command = './publish.sh'

[[policy]]
decision = 'allow'
command = 'make'
project = '/home/me/one'
";
    let rules = Rules { user: placed(text).unwrap(), project: Vec::new() };
    let verdict = |line: &str, project: &str| {
        rules.policy(project).verdict(&crate::policy::shell::subject("shell", line))
    };
    assert_eq!(verdict("./check.sh", "/home/me/one"), Verdict::Ask(None), "of no project");
    assert_eq!(verdict("tools/lint", "/home/me/one"), Verdict::Allow);
    assert_eq!(verdict("tools/lint", "/home/me/two"), Verdict::Ask(None));
    assert_eq!(verdict("make all", "/home/me/one"), Verdict::Allow);
    assert_eq!(verdict("make all", "/home/me/two"), Verdict::Ask(None));
    assert!(matches!(verdict("./publish.sh", "/home/me/two"), Verdict::Deny(_)), "it tightens all");
    let lines: Vec<usize> = rules.of_no_project().map(|it: &Placed| it.line).collect();
    assert_eq!(lines, [1]);
    assert!(read("[[policy]]\ndecision = 'allow'\ntool = 'edit'\nproject = 'one'").is_err());
}

fn allow(words: &[&str]) -> Rule {
    Rule::command(Decision::Allow, "shell", words)
}

#[test]
fn a_rule_is_kept_at_the_end_of_the_file_and_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new/config.toml");
    assert!(remember(&path, &[allow(&["git", "status"])]).unwrap());
    assert!(!remember(&path, &[allow(&["git", "status"])]).unwrap());
    assert!(remember(&path, &[allow(&["x", "\u{1b}\"\\"])]).unwrap());
    insta::assert_snapshot!(fs::read_to_string(&path).unwrap(), @r#"
    [[policy]]
    decision = "allow"
    tool = "shell"
    command = ["git", "status"]

    [[policy]]
    decision = "allow"
    tool = "shell"
    command = ["x", "\U0000001b\"\\"]
    "#);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "no draft is left");
}

#[test]
fn what_was_in_the_file_stays_to_the_byte() {
    let directory = tempfile::tempdir().unwrap();
    let real = directory.path().join("real.toml");
    let path = directory.path().join("config.toml");
    symlink(&real, &path).unwrap();
    for (old, gap) in [
        ("# mine\r\ngate =   'once' # why\r\n", "\r\n[[policy]]\r\n"),
        ("gate = 'once'", "\n\n[[policy]]\n"),
        ("[workers.a]\nx = 1\n", "\n[[policy]]\n"),
    ] {
        fs::write(&real, old).unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        remember(&path, &[allow(&["ls"])]).unwrap();
        let new = fs::read_to_string(&real).unwrap();
        assert!(new.strip_prefix(old).is_some_and(|it| it.starts_with(gap)), "{new:?}");
        assert_eq!(read(&new).unwrap(), [allow(&["ls"])]);
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    }
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
}

#[test]
fn a_file_that_cannot_take_the_rule_is_left_alone_and_the_rule_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    for old in [
        "policy = [{ decision = 'ask', tool = 'edit' }]\n",
        "[[policy]]\ntool = 'edit'\n",
        "x = \n",
    ] {
        fs::write(&path, old).unwrap();
        let why = remember(&path, &[allow(&["ls"])]).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), old);
        if let Unkept::Unfit { .. } = why {
            assert!(why.to_string().contains("[[policy]]\ndecision = \"allow\""), "{why}");
        }
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    assert!(remember(&path, &[allow(&["ls"])]).unwrap_err().to_string().ends_with("is read-only"));
    fs::remove_file(&path).unwrap();
    symlink("nowhere", &path).unwrap();
    let why = remember(&path, &[allow(&["ls"])]).unwrap_err().to_string();
    assert!(why.ends_with("is a broken symbolic link"), "{why}");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(
        remember(&path, &[allow(&["ls"])]).unwrap_err().to_string().ends_with("not a plain file")
    );
}

#[test]
fn of_many_rules_at_once_none_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    std::thread::scope(|scope| {
        for n in 0..16 {
            let path = &path;
            scope.spawn(move || remember(path, &[allow(&["x", &n.to_string()])]).unwrap());
        }
    });
    assert_eq!(read(&fs::read_to_string(&path).unwrap()).unwrap().len(), 16);
}

proptest! {
    /// Whatever words an agent uses, the rule is read back as it was written.
    #[test]
    fn a_rule_is_read_back_as_it_was_written(
        words in prop::collection::vec(any::<String>(), 1..4),
        reason in ".{1,9}",
        pattern in any::<String>(),
    ) {
        prop_assume!(!words[0].is_empty());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut rule = Rule::command(Decision::Deny, "shell", &words);
        rule.argument = Some(("command".to_owned(), pattern));
        rule.reason = Some(reason);
        let text = rule.to_toml();
        prop_assert!(text.chars().all(|it| it == '\n' || !it.is_control()), "{text:?}");
        prop_assert_eq!(read(&text).unwrap(), [rule.clone()]);
        let inline = format!("policy = [{rule}]");
        prop_assert_eq!(read(&inline).unwrap(), [rule]);
    }

    /// Any text is either read or refused.
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), tail in any::<String>()) {
        read(&text).ok();
        read(&format!("[[policy]]\ndecision = \"allow\"\n{tail}")).ok();
    }
}
