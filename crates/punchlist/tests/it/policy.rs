//! Policy rules in the user's and the project's files, as the verbs apply them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::doctor::doctor;
use crate::world::{Ran, World, finish};

const USER: &str = "home/.config/punchlist/config.toml";
const PROJECT: &str = "project/punchlist.toml";

const ALLOW: &str = "[[policy]]\ndecision = 'allow'\ntool = 'shell'\ncommand = 'cargo test'\n";
const DENY: &str = "[[policy]]\ndecision = 'deny'\ncommand = ['rm', '-rf']\n";

fn rules(world: &World) -> Option<String> {
    let ran = doctor(world, &[]);
    let line = ran.out.lines().find(|it| it.starts_with("policy"))?;
    Some(line.split_whitespace().skip(3).collect::<Vec<_>>().join(" "))
}

#[test]
fn rules_are_read_from_the_users_file_and_from_a_project_that_is_trusted() {
    let world = World::new();
    assert_eq!(rules(&world), None);
    world.write(USER, format!("{ALLOW}\n{DENY}"));
    assert_eq!(rules(&world).as_deref(), Some("2 of yours"));
    world.write(PROJECT, DENY);
    assert_eq!(rules(&world).as_deref(), Some("2 of yours"), "a file in a tree is not believed");
    world.typed("init").works();
    assert_eq!(rules(&world).as_deref(), Some("2 of yours, 1 of this project's"));
}

#[test]
fn what_a_project_allows_is_ignored_with_one_line() {
    let world = World::new();
    world.write(PROJECT, format!("{ALLOW}{ALLOW}{DENY}"));
    world.typed("init").works();
    let ran = world.typed("list");
    let said: Vec<&str> =
        ran.err.lines().filter(|it| it.contains("policy") || it.contains("rule")).collect();
    assert_eq!(said.len(), 1, "{}", ran.err);
    assert!(said[0].contains("ignored 2 rules of "), "{}", said[0]);
    assert!(said[0].ends_with("that allow something: a project may only tighten"), "{}", said[0]);
    assert_eq!(rules(&world).as_deref(), Some("1 of this project's"));
}

#[test]
fn a_rule_that_cannot_be_read_stops_every_verb_and_names_file_line_and_key() {
    let world = World::new();
    world.write(USER, "gate = 'once'\n\n[[policy]]\ndecision = 'alow'\ntool = 'shell'\n");
    let place = format!("{}:4: policy.decision = \"alow\" is not", world.path(USER).display());
    for line in ["list", "add A"] {
        let ran = world.typed(line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.err);
        assert!(ran.err.contains(&place), "{line}: {}", ran.err);
    }
    // The doctor reports this among other things.
    let ran = world.typed("doctor");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains(&place) && ran.out.contains("database"), "{}", ran.out);
}

#[test]
fn a_file_that_is_no_toml_stops_every_verb_in_one_line() {
    let world = World::new();
    world.write(USER, "gate = 'once'\n[[policy]\ndecision = 'deny'\n");
    world.write("project/plan.md", "- [ ] A\n  run: touch ran\n");
    for line in ["list", "run plan.md", "verify"] {
        let ran = world.typed(line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.err);
        let place = format!("error: {}:2: ", world.path(USER).display());
        assert!(ran.err.starts_with(&place), "{line}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 2, "{line}: {}", ran.err);
    }
    assert!(!world.path("project/ran").exists());
}

#[test]
fn no_option_brings_a_rule_along() {
    let world = World::new();
    for key in ["policy", "policy.decision", "policy.0.tool"] {
        let ran = world.run(&["-c", &format!("{key}=allow"), "list"]);
        assert_eq!(ran.code, 2, "{key}: {}", ran.err);
        assert!(ran.err.contains("policy rules are only read from files"), "{}", ran.err);
    }
}

/// A call from an agent's shell tool.
fn by_agent(world: &World, directory: &str, arguments: &[&str]) -> Ran {
    let mut command = world.command(directory);
    command.args(arguments).env("CLAUDECODE", "1").env("PATH", "/usr/bin:/bin");
    finish(command, b"")
}

fn script(world: &World, path: &str) {
    world.write(path, "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\n");
    fs::set_permissions(world.path(path), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_rule_for_a_relative_program_belongs_to_its_project() {
    let world = World::new();
    world.repository("other/.git");
    for project in ["project", "other"] {
        world.write(&format!("{project}/plan.md"), "- [ ] Check\n  run: ./check.sh\n");
        script(&world, &format!("{project}/check.sh"));
    }
    let rule = "[[policy]]\ndecision = 'allow'\ntool = 'shell'\ncommand = './check.sh'\n";
    // Without a project, the rule allows nothing, and a warning says so.
    world.write(USER, rule);
    let ran = by_agent(&world, "project", &["run", "plan.md"]);
    assert_eq!(ran.code, 7, "{}", ran.out);
    let note = format!(
        "{}:1: this rule allows nothing: every project has its own",
        world.path(USER).display()
    );
    assert!(ran.err.contains(&note), "{}", ran.err);
    let project = world.path("project").display().to_string();
    world.write(USER, format!("{rule}project = '{project}'\n"));
    assert_eq!(by_agent(&world, "other", &["run", "plan.md"]).code, 7);
    // Nor does it help to call from the allowed project.
    assert_eq!(by_agent(&world, "project", &["run", "../other/plan.md"]).code, 7);
    assert!(!world.path("other/ran").exists());
    let ran = by_agent(&world, "project", &["run", "plan.md"]);
    assert_eq!((ran.code, world.path("project/ran").exists()), (0, true), "{}", ran.out);
    // In a subdirectory, the same relative path is another program.
    world.write("project/sub/plan.md", "- [ ] Check\n  run: ./check.sh\n");
    script(&world, "project/sub/check.sh");
    assert_eq!(by_agent(&world, "project", &["run", "sub/plan.md"]).code, 7);
    assert!(!world.path("project/sub/ran").exists());
}

#[test]
fn a_projects_own_rules_name_no_project() {
    let world = World::new();
    world.write(PROJECT, format!("{DENY}project = '/somewhere'\n"));
    world.typed("init").ok_with_warnings();
    let ran = world.typed("list");
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("a project's own rules are about itself"), "{}", ran.err);
}

#[test]
fn an_agent_is_told_to_ask_its_user_and_only_a_person_sees_the_rule() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Build\n  run: make all\n");
    let ran = by_agent(&world, "project", &["run", "plan.md"]);
    assert!(ran.out.contains("Ask your user to do it, or to allow it"), "{}", ran.out);
    let list = by_agent(&world, "project", &["list", "--plan", "plan.md", "--json"]);
    let ran = by_agent(&world, "project", &["policy", "make", "all"]);
    for text in [&ran.out, &ran.err, &list.out] {
        assert!(!text.contains("[[policy]]") && !text.contains("add to your config"), "{text}");
    }
    let ran = world.typed("policy make all");
    assert!(ran.out.contains("To allow it, add to your config.toml:\n\n[[policy]]"), "{}", ran.out);
    // Agents also read the outcome of a person's own run.
    world.write(USER, "[[policy]]\ndecision = 'ask'\ncommand = 'ls'\nreason = 'slow disk'\n");
    world.write("project/other.md", "- [ ] Look\n  run: ls\n");
    let ran = world.typed("run other.md");
    assert!(ran.out.contains("slow disk (the rule: { decision = \"ask\""), "{}", ran.out);
}

#[test]
fn policy_says_what_would_happen_and_why() {
    let world = World::new();
    let rules = "\
[[policy]]
decision = 'allow'
tool = 'shell'
command = 'cd'

[[policy]]
decision = 'deny'
command = 'git push'
reason = 'releases are made by the pipeline'
fits = 'git -C x push'

[[policy]]
decision = 'allow'
tool = 'shell'
command = 'tools/lint'
project = '/somewhere/else'

# The same on machines with and without a sandbox.
[agent]
sandbox = 'off'
";
    world.write(USER, rules);
    world.write(PROJECT, "[[policy]]\ndecision = 'allow'\ncommand = 'make'\n");
    world.typed("init").ok_with_warnings();
    world.write("project/.env", "KEY=1\n");
    let story = world.story(
        "
        policy 'cd src && make test'
        policy 'cd src && make test' --json
        policy env A=1 git -C sub push
        policy tools/lint src
        policy 'x=1; $x'
        policy --tool read src/a.rs
        policy --tool read .env
        policy --tool read .env --json
        policy --tool write .git/config
        policy --tool edit src/a.rs
        policy --tool agent claude
        policy --tool raed x
        ",
    );
    told!(story);
}

#[cfg(target_os = "linux")]
#[test]
fn policy_says_what_the_sandbox_of_a_session_changes() {
    if !crate::sandbox::is_supported() {
        return;
    }
    let world = World::new();
    world.write(USER, "[[policy]]\ndecision = 'ask'\ncommand = 'git push'\n");
    let said = |sandbox: &str, line: &str| {
        let setting = format!("agent.sandbox={sandbox}");
        world.run(&["-c", &setting, "policy", line, "--json"]).json()
    };
    for (sandbox, line, decision, is_on, in_session) in [
        ("auto", "make test", "ask", true, "allow"),
        ("auto", "git push -f", "ask", true, "ask"),
        ("ask", "make test", "ask", true, "ask"),
        ("off", "make test", "ask", false, "ask"),
    ] {
        let told = said(sandbox, line);
        assert_eq!(told["decision"], decision, "{sandbox} {line}: {told}");
        assert_eq!(told["sandbox"]["on"], is_on, "{sandbox} {line}: {told}");
        assert_eq!(told["sandbox"]["decision"], in_session, "{sandbox} {line}: {told}");
    }
    world.write(USER, DENY);
    assert!(said("auto", "rm -rf x")["sandbox"].is_null(), "what is denied runs nowhere");
    let text = world.run(&["policy", "make", "test"]).ok();
    assert!(
        text.contains("in `punchlist do` it runs in the sandbox, without a question"),
        "{text}"
    );
}

#[test]
fn a_team_is_read_from_files_alone() {
    let world = World::new();
    world.write(USER, "[[team.members]]\nagentType = 'claude'\n");
    let ran = world.typed("list");
    assert!(!ran.err.contains("team"), "{}", ran.err);
    let ran = world.run(&["-c", "team.members=[]", "list"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("-c team.members: [team] is only read from files"), "{}", ran.err);
}

#[test]
fn a_rule_that_can_never_match_stops_every_verb_with_the_nearest_name() {
    let world = World::new();
    world.write(USER, "[[policy]]\ndecision = 'deny'\ntool = 'shel'\ncommand = 'rm'\n");
    let ran = world.typed("list");
    assert_eq!(ran.code, 2);
    let words = format!(
        "{}:3: policy.tool: there is no tool \"shel\"; did you mean \"shell\"?",
        world.path(USER).display()
    );
    assert!(ran.err.contains(&words), "{}", ran.err);
}

#[test]
fn deny_rules_see_through_options_and_wrappers() {
    let world = World::new();
    world.write(USER, "[[policy]]\ndecision = 'deny'\ncommand = 'git push'\n");
    for line in [
        "git -C sub push",
        "git --no-pager -c a.b=c push origin",
        "choom -n 5 -- git push",
        "linux64 git push",
        "setarch x86_64 -R git push",
        "setarch -R git push",
        "env -u X A=1 git push",
        "nice -n 5 git push",
        "timeout -k 3 9 git push",
        "nohup git push",
        "stdbuf -oL git push",
        "ionice -c 3 git push",
        "chrt -r 10 git push",
        "taskset -c 0,1 git push",
        "ls | xargs -I{} git push",
        "sudo -u bob git push",
        "env nice timeout 3 git -C x push",
        "sh -c 'cd x; git push'",
        "find . -exec git push ';'",
        "fd -Hx git push",
        "eval git push",
        "A=1 git push",
        "echo $(git push)",
        "f() { git push; }; f",
    ] {
        let told = world.run(&["policy", line, "--json"]).json();
        assert_eq!(told["decision"], "deny", "{line}: {told:#}");
    }
    for line in ["git log push", "git --no-pager log push", "echo git push", "sudo echo git push"] {
        let told = world.run(&["policy", line, "--json"]).json();
        assert_eq!(told["decision"], "ask", "{line}: {told:#}");
    }
}

#[test]
fn the_policy_says_which_workers_may_be_used() {
    let world = World::new();
    let rule = "argument = ['agentType', 'reviewer']";
    world.write(USER, format!("[[policy]]\ndecision = 'allow'\ntool = 'delegate'\n{rule}\n"));
    let decision = |worker: &str| {
        let told = world.run(&["policy", "--tool", "delegate", worker, "--json"]).json();
        told["decision"].as_str().unwrap().to_owned()
    };
    assert_eq!([decision("reviewer"), decision("writer")], ["allow", "ask"]);
    let ran = world.run(&["policy", "--tool", "deleg", "reviewer"]);
    assert!(ran.code == 2 && ran.err.contains("agent and delegate"), "{}", ran.err);
}
