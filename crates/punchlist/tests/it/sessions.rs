//! Verbs inside and outside sessions of agents, with real processes: the agent is a script named
//! `claude` that runs the given commands.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use pollster::block_on;
use punchlist_bridge::process;
use punchlist_engine::session;
use punchlist_model::guard::Gate;
use punchlist_model::remind::Kind;
use punchlist_model::session::SessionStore;
use punchlist_model::{Process, Session, SessionKey, Timestamp};
use punchlist_store::{Durability, Options, Sqlite};

use crate::world::World;

/// Runs each line of its input as a call of the program, and prints the output.
const SCRIPT: &str = r#"#!/bin/sh
while read -r PUNCHLIST_NOW PUNCHLIST_SEED line; do
  eval "\"$PROGRAM\" $line" 2>&1 </dev/null
  echo "[exit $?]"
done
"#;

/// A running agent.
struct Agent<'w> {
    world: &'w World,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    process: Process,
}

impl<'w> Agent<'w> {
    /// Starts an agent in the project.
    fn start(world: &'w World) -> Self {
        Self::start_with(world, &[])
    }

    fn start_with(world: &'w World, variables: &[(&str, &str)]) -> Self {
        let script = world.path("bin/claude");
        if !script.exists() {
            world.write("bin/claude", SCRIPT);
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let program = world.command("project");
        let mut command = std::process::Command::new(script);
        command.env_clear().current_dir(world.path("project"));
        command.env("PROGRAM", program.get_program());
        for (name, value) in program.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        // The script's children see the script as ancestor, and not the program that runs the
        // tests.
        command.env("PUNCHLIST_ANCESTORS", "1").envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let process = process::process("host", child.id()).unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { world, input: child.stdin.take(), output, process, child }
    }

    /// The output of a call from inside the agent.
    fn runs(&mut self, line: &str) -> String {
        let command = self.world.command("project");
        let variable = |name: &str| {
            let found = command.get_envs().find(|it| it.0 == name).and_then(|it| it.1);
            found.unwrap().to_str().unwrap()
        };
        let (now, seed) = (variable("PUNCHLIST_NOW"), variable("PUNCHLIST_SEED"));
        writeln!(self.input.as_mut().unwrap(), "{now} {seed} {line}").unwrap();
        let mut out = String::new();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the agent ended: {out}");
            match line.trim_end() {
                "[exit 0]" => return out,
                _ => out.push_str(&line),
            }
            if line.starts_with("[exit ") {
                return out;
            }
        }
    }

    /// Kills the agent, without an end of its session.
    fn dies(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn at(minute: i64) -> Timestamp {
    let begin: Timestamp = "2026-01-02T03:00:00Z".parse().unwrap();
    Timestamp::from_second(begin.as_second() + 60 * minute).unwrap()
}

fn key(id: &str) -> SessionKey {
    SessionKey { agent: "claude".to_owned(), id: id.to_owned() }
}

fn store(world: &World) -> Sqlite {
    let path = world.path("home/.local/share/punchlist/punchlist.db");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    Sqlite::open(&Options { path, durability: Durability::Normal }).unwrap()
}

/// Records a session, as a hook would.
fn seen(world: &World, id: &str, agent: Option<&Agent<'_>>, minute: i64, ended: bool) -> Session {
    let seen = session::Seen {
        key: key(id),
        project: world.path("project").display().to_string(),
        directory: world.path("project").display().to_string(),
        process: agent.map(|it| it.process.clone()),
        interactive: Some(true),
        now: at(minute),
        ended,
    };
    block_on(session::record(&store(world), seen)).unwrap()
}

/// Each line is one call: `NAME: arguments`; without a name it is a person's.
fn story(world: &World, agents: &mut [(&str, &mut Agent<'_>)], lines: &str) -> String {
    let mut story = String::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let by = agents.iter_mut().find_map(|(name, agent)| {
            Some((*name, agent, line.strip_prefix(&format!("{name}: "))?))
        });
        match by {
            Some((name, agent, line)) => {
                story.push_str(&format!("{name}$ punchlist {line}\n{}\n", agent.runs(line)));
            }
            None => {
                let text = world.story(line);
                story.push_str(&text);
            }
        }
    }
    world.without_chance(&story)
}

#[test]
fn a_verb_below_an_agent_works_on_its_sessions_plan_and_in_its_name() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    seen(&world, "12345678-aaaa", Some(&agent), 1, false);
    told!(story(
        &world,
        &mut [("claude", &mut agent)],
        r#"
        claude: add "Write the parser" "Test it"
        claude: start 1
        claude: list
        # a person finds the one session that has a plan
        list
        add "Tell everybody"
        done 1
        claude: done 1
        claude: undo
        log
        plans
        "#
    ));
}

#[test]
fn a_name_that_an_agent_gives_itself_is_one_within_its_session() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    seen(&world, "12345678-aaaa", Some(&agent), 1, false);
    agent.runs("add Parse");
    agent.runs("start 1 --as bob");
    let shown = agent.runs("show 1");
    assert!(shown.contains("claude:12345678-aaaa/bob"), "{shown}");
    // Its own session is still responsible for it.
    let stop = format!(
        "{{\"session_id\":\"12345678-aaaa\",\"cwd\":\"{}\",\"hook_event_name\":\"Stop\"}}",
        world.path("project").display()
    );
    world.write("stop.json", &stop);
    let refused = agent.runs(&format!("hook claude < {}", world.path("stop.json").display()));
    assert!(refused.contains("\"decision\":\"block\""), "{refused}");
}

#[test]
fn two_sessions_keep_two_plans_and_a_person_must_say_which() {
    let world = World::new();
    let (mut one, mut two) = (Agent::start(&world), Agent::start(&world));
    seen(&world, "11111111", Some(&one), 1, false);
    seen(&world, "22222222", Some(&two), 2, false);
    assert_eq!(one.runs("add First"), "added 1  First\n");
    assert_eq!(two.runs("add Second"), "added 1  Second\n");
    assert_eq!(one.runs("list"), "[ ] 1 First\n\n(0/1 completed)\n");
    assert_eq!(two.runs("list"), "[ ] 1 Second\n\n(0/1 completed)\n");
    let ran = world.typed("list");
    assert_eq!(ran.code, 2, "{}", ran.err);
    for word in ["several agents work here", "claude:11111111", "claude:22222222", "--plan"] {
        assert!(ran.err.contains(word), "{}", ran.err);
    }
    // One of them is killed: only one live session is left.
    one.dies();
    assert_eq!(world.typed("list").ok(), "[ ] 1 Second\n\n(0/1 completed)\n");
    seen(&world, "22222222", Some(&two), 9, true);
}

#[test]
fn after_all_sessions_have_ended_verbs_show_the_latest_plan_and_say_whose_it_is() {
    let world = World::new();
    let (mut one, mut two) = (Agent::start(&world), Agent::start(&world));
    seen(&world, "11111111", Some(&one), 1, false);
    seen(&world, "22222222", Some(&two), 2, false);
    one.runs("add First");
    two.runs("add Second");
    one.dies();
    seen(&world, "22222222", Some(&two), 9, true);
    // The other one has its own session, and sees nobody else's list.
    let mut three = Agent::start(&world);
    seen(&world, "33333333", Some(&three), 10, false);
    assert!(three.runs("list").contains("No plan here yet"));
    three.dies();

    for (verb, shows) in [("list", "[ ] 1 Second"), ("log", "Second"), ("show 1", "Second")] {
        let ran = world.typed(verb);
        assert_eq!(ran.code, 0, "{verb}: {}", ran.err);
        assert!(ran.out.contains(shows), "{verb}: {}", ran.out);
        let whose = "of claude:22222222, which has ended; last changed ";
        assert!(ran.err.contains(whose) && ran.err.lines().count() == 1, "{verb}: {}", ran.err);
    }
    let ran = world.typed("list --json");
    assert_eq!((ran.err.as_str(), &ran.json()["plan"]["conversation"]), ("", &"22222222".into()));
    // A person's item goes on the project's own list, which is then the default.
    world.typed("add \"By hand\"").works();
    assert_eq!(world.typed("list").ok(), "[ ] 1 By hand\n\n(0/1 completed)\n");
}

#[test]
fn a_session_without_a_plan_works_on_the_projects_own_and_else_begins_one() {
    let world = World::new();
    world.typed("add \"By hand\"").works();
    let mut agent = Agent::start(&world);
    seen(&world, "12345678", Some(&agent), 2, false);
    assert_eq!(agent.runs("list"), "[ ] 1 By hand\n\n(0/1 completed)\n");
    assert_eq!(agent.runs("add More"), "added 2  More\n");
    assert_eq!(world.typed("list").ok(), "[ ] 1 By hand\n[ ] 2 More\n\n(0/2 completed)\n");
    // A named plan is used wherever the call is made.
    assert_eq!(agent.runs("add Other --plan other"), "added 1  Other\n");
    assert_eq!(agent.runs("list --plan other"), "[ ] 1 Other\n\n(0/1 completed)\n");
    // The same for another project's directory.
    fs::create_dir_all(world.path("elsewhere")).unwrap();
    assert!(agent.runs("list -C ../elsewhere").contains("No plan here yet"));
}

#[test]
fn the_environment_names_the_session_where_no_process_does() {
    let world = World::new();
    let mut agent = Agent::start_with(&world, &[("CLAUDE_CODE_SESSION_ID", "12345678")]);
    // The session is not recorded: it has a name, and works on the project's own plan.
    assert_eq!(agent.runs("add One"), "added 1  One\n");
    let log = world.typed("log --json").ok();
    assert!(log.contains(r#""actor":{"kind":"agent","name":"claude:12345678"}"#), "{log}");
    seen(&world, "12345678", None, 3, false);
    seen(&world, "87654321", Some(&agent), 4, false);
    // After /clear the environment variable is outdated; the process is not.
    agent.runs("add Two --plan two").clear();
    let log = world.typed("log --json --plan two").ok();
    assert!(log.contains("claude:87654321"), "{log}");
}

#[test]
fn an_agents_word_that_the_goal_is_met_is_kept_under_the_agents_name() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    seen(&world, "12345678-aaaa", Some(&agent), 1, false);
    agent.runs("add One");
    agent.runs("goal \"It ships\"");
    agent.runs("done 1");
    let told = agent.runs("goal --met");
    assert!(told.contains("yes, reported by claude:12345678"), "{told}");
}

#[test]
fn the_gate_is_set_by_people_in_mid_session() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    seen(&world, "12345678-aaaa", Some(&agent), 1, false);
    let gate =
        || block_on(store(&world).session(key("12345678-aaaa"))).unwrap().unwrap().memory.gate;
    assert_eq!(gate(), None);
    told!(story(
        &world,
        &mut [("claude", &mut agent)],
        r#"
        gate
        gate off
        claude: gate
        claude: gate full
        gate -c gate=full --json
        gate default
        gate -c gate=full
        gate once --session 1234
        gate off --session 9999
        gate sometimes
        "#
    ));
    assert_eq!(gate(), Some(Gate::Once));
    let mut command = world.command("project");
    command.args(["gate", "off"]).env("CLAUDECODE", "1");
    let ran = crate::world::finish(command, b"");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert_eq!(gate(), Some(Gate::Once));
}

#[test]
fn an_agent_cannot_erase_what_it_wrote() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    seen(&world, "12345678-aaaa", Some(&agent), 1, false);
    agent.runs("add Tidy");
    for arguments in ["forget 1", "forget --whole-plan"] {
        let told = agent.runs(arguments);
        assert!(told.contains("texts are erased by people, and this call is made by"), "{told}");
    }
    assert!(agent.runs("list").contains("Tidy"));
}

#[test]
fn without_a_session_the_gate_says_what_would_hold_and_cannot_be_set() {
    let world = World::new();
    told!(world.story(
        "
        gate
        gate -c gate=off
        gate off
        gate --session 1
        "
    ));
}

#[test]
fn several_sessions_must_be_told_apart() {
    let world = World::new();
    let (one, two) = (Agent::start(&world), Agent::start(&world));
    seen(&world, "aaaa-1", Some(&one), 1, false);
    seen(&world, "aaaa-2", Some(&two), 2, false);
    for line in ["gate off", "gate off --session aaaa", "gate --session aaaa"] {
        let ran = world.typed(line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.err);
        assert!(ran.err.contains("aaaa-1") && ran.err.contains("--session"), "{}", ran.err);
    }
    let set = world.typed("gate off --session aaaa-2").ok();
    assert_eq!(set, "claude:aaaa-2  gate off  (set for this session)\n");
}

#[test]
fn reminders_are_told_by_kind_and_by_session() {
    let world = World::new();
    assert_eq!(world.typed("reminders").ok(), "There is no agent session here yet.\n");
    let agent = Agent::start(&world);
    seen(&world, "12345678-aaaa", Some(&agent), 1, false);
    assert_eq!(world.typed("reminders").ok(), "Nobody was reminded of anything yet.\n");
    seen(&world, "87654321-bbbb", None, 2, true);
    for (id, kind, text) in [
        ("12345678-aaaa", Kind::Initial, "a line"),
        ("12345678-aaaa", Kind::Nag, "a longer text that says more"),
        ("87654321-bbbb", Kind::Boundary, "a list"),
    ] {
        block_on(session::update(&store(&world), &key(id), |memory| {
            memory.watch.gave(kind, text, at(3));
        }))
        .unwrap()
        .unwrap();
    }
    told!(world.story(
        "
        reminders
        reminders --json
        "
    ));
}

#[test]
fn what_a_killed_session_left_is_adopted_by_one_that_has_nothing_open() {
    let world = World::new();
    let mut old = Agent::start(&world);
    seen(&world, "11111111", Some(&old), 1, false);
    old.runs("add Parse Print Publish");
    old.runs("start 2");
    old.runs("done 1");
    old.dies();
    let mut new = Agent::start(&world);
    seen(&world, "22222222", Some(&new), 9, false);
    told!(story(
        &world,
        &mut [("claude", &mut new)],
        r#"
        claude: adopt --list
        claude: list
        claude: adopt
        claude: start 2
        claude: done 2
        list
        adopt --list
        "#
    ));
    let session = block_on(store(&world).session(key("22222222"))).unwrap().unwrap();
    let watch = serde_json::to_value(&session.memory.watch).unwrap();
    assert_eq!(watch["owed"], true, "the model is shown the list with the next prompt");
}

#[test]
fn what_was_left_is_moved_into_a_plan_that_has_open_items() {
    let world = World::new();
    let mut old = Agent::start(&world);
    seen(&world, "11111111", Some(&old), 1, false);
    old.runs("add Parse Print Publish");
    old.runs("edit 2 --after 1");
    old.runs("add Proofread --under 2 --priority 3");
    old.runs("wait 3 legal");
    old.runs("start 1");
    // After /clear the process continues with another session.
    seen(&world, "11111111", Some(&old), 6, true);
    seen(&world, "22222222", Some(&old), 6, false);
    let mut new = old;
    new.runs("add Mine");
    told!(story(
        &world,
        &mut [("claude", &mut new)],
        r#"
        claude: adopt
        claude: adopt
        claude: adopt --list --json
        claude: show 3
        list
        "#
    ));
    // There, the output says where everything went.
    let plans = world.typed("plans --finished --json").json();
    let all = plans["plans"].as_array().unwrap();
    let left = all.iter().find(|it| it["conversation"] == "11111111").unwrap()["id"].clone();
    let there = world.typed(&format!("list --json --plan {}", left.as_str().unwrap())).json();
    for item in there["items"].as_array().unwrap() {
        let outcome = item["outcome"].as_str().unwrap();
        assert!(outcome.starts_with("moved to plan "), "{outcome}");
        assert_eq!(item["status"], "cancelled");
    }
}

#[test]
fn an_adoption_that_is_taken_back_leaves_the_items_open_where_they_were() {
    let world = World::new();
    let mut old = Agent::start(&world);
    seen(&world, "11111111", Some(&old), 1, false);
    old.runs("add Parse Print");
    old.dies();
    let mut new = Agent::start(&world);
    seen(&world, "22222222", Some(&new), 9, false);
    new.runs("add Mine");
    told!(story(
        &world,
        &mut [("claude", &mut new)],
        r#"
        claude: adopt
        claude: undo
        claude: list
        claude: adopt --list
        "#
    ));
}

#[test]
fn adopting_needs_somebody_who_can_and_something_that_may_be() {
    let world = World::new();
    let nothing = "No ended session has open items here.\n";
    assert_eq!(world.typed("adopt").ok(), nothing);
    assert!(!world.path("home/.local").exists());
    let mut old = Agent::start(&world);
    seen(&world, "11111111", Some(&old), 1, false);
    old.runs("add Parse");
    assert_eq!(world.typed("adopt").ok(), nothing, "it still runs");
    let ran = world.typed("plans --json").json();
    let id = ran["plans"][0]["id"].as_str().unwrap().to_owned();
    old.dies();
    let ran = world.typed("adopt");
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("start the agent in this project first"), "{}", ran.err);
    let mut one = Agent::start(&world);
    seen(&world, "22222222", Some(&one), 5, false);
    assert!(one.runs(&format!("adopt {id}")).contains("works on plan"));
    let adopted = one.runs("adopt --json");
    assert_eq!(adopted, "{\"leftOpen\":[]}\n");
    let mut two = Agent::start(&world);
    seen(&world, "33333333", Some(&two), 6, false);
    let refused = two.runs(&format!("adopt {id}"));
    assert!(refused.contains("another live session's"), "{refused}");
    assert!(refused.ends_with("[exit 3]\n"), "{refused}");
    assert!(two.runs("adopt nothing-like-it").ends_with("[exit 4]\n"));
}
