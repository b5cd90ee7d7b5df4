//! Agents on two machines with one database: each session has its own list, the plans of a repository are
//! shared, and equal paths are different projects.

use std::path::{Path, PathBuf};
use std::process::Command;

use punchlist_testkit::postgres::database;
use serde_json::{Value, json};

use super::{at, git, hook_of, programs, wrote_in};
use crate::mcp::client::Client;
use crate::run::until;
use crate::work::Process;
use crate::world::{Ran, World, finish};

/// A machine with its own name and home, and a checkout.
struct Machine {
    world: World,
    host: &'static str,
    checkout: PathBuf,
    session: &'static str,
}

impl Machine {
    fn new(address: &str, host: &'static str, session: &'static str) -> Self {
        let world = at(address);
        let checkout = world.path("checkout");
        Self { world, host, checkout, session }
    }

    fn command(&self) -> Command {
        let mut command = self.world.command("");
        command.env("PUNCHLIST_HOST", self.host).env("PATH", std::env::var_os("PATH").unwrap());
        command.current_dir(&self.checkout);
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = self.command();
        command.args(arguments);
        finish(command, b"")
    }

    /// The agent's own list gets a task, and the hook hears of it.
    fn writes(&self, title: &str) {
        let event = wrote_in(&self.checkout, self.session, title);
        let ran = hook_of(self.command(), &event);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    }

    /// The agent wants to end its turn. Returns what the hook says.
    fn stops(&self) -> Value {
        let event = json!({
            "session_id": self.session, "cwd": self.checkout, "hook_event_name": "Stop",
        });
        hook_of(self.command(), &event).json()
    }

    /// The tools of the agent's session.
    fn tools(&self, arguments: &[&str]) -> Client {
        let mut command = self.command();
        command.env("CLAUDE_CODE_SESSION_ID", self.session);
        Client::older_of(command, arguments)
    }

    /// The plans of the project: the session that each was made for, and the number of items.
    fn plans(&self) -> Vec<(String, u64)> {
        let plans = self.run(&["plans", "--json"]).json();
        let plan = |it: &Value| {
            let whose = it["conversation"].as_str().unwrap_or("nobody").to_owned();
            (whose, it["progress"]["total"].as_u64().unwrap())
        };
        let mut plans: Vec<_> = plans["plans"].as_array().unwrap().iter().map(plan).collect();
        plans.sort();
        plans
    }
}

/// Makes a repository, and a clone of it.
fn checkouts(one: &Machine, other: &Machine) {
    std::fs::create_dir_all(&one.checkout).unwrap();
    git(&one.world, "checkout", &["init", "-q"]);
    git(&one.world, "checkout", &["commit", "-q", "--allow-empty", "-m", "first"]);
    let from = one.checkout.to_str().unwrap();
    git(&other.world, "", &["clone", "-q", from, "checkout"]);
}

fn two(address: &str) -> (Machine, Machine) {
    (Machine::new(address, "ann", "aaaaaaaa-1111"), Machine::new(address, "bob", "bbbbbbbb-2222"))
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn sessions_find_their_own_lists_and_the_plans_of_the_repository_are_shared() {
    let (ann, bob) = two(&database(&programs()));
    checkouts(&ann, &bob);
    ann.writes("From ann");
    bob.writes("From bob");
    // The tools of a session work on the list that its hooks made.
    let (mut of_ann, mut of_bob) = (ann.tools(&[]), bob.tools(&[]));
    assert_eq!(
        (of_ann.titles(), of_bob.titles()),
        (vec!["From ann".into()], vec!["From bob".into()])
    );
    of_ann.create(&["By a tool"]);
    assert_eq!(of_ann.titles(), ["From ann", "By a tool"]);
    assert_eq!(of_bob.titles(), ["From bob"]);
    // The gate holds a turn for the session's own items.
    let refused = bob.stops();
    let why = refused["reason"].as_str().unwrap_or_default();
    assert_eq!(refused["decision"], "block", "{refused}");
    assert!(why.contains("From bob") && !why.contains("From ann"), "{why}");
    // Both see all plans of the repository, and a plan with a name is one plan.
    let plans = [("aaaaaaaa-1111", 2), ("bbbbbbbb-2222", 1)];
    let plans = plans.map(|(whose, items)| (whose.to_owned(), items));
    assert_eq!((ann.plans(), bob.plans()), (plans.to_vec(), plans.to_vec()));
    ann.tools(&["--plan", "release"]).create(&["Build"]);
    bob.tools(&["--plan", "release"]).create(&["Test"]);
    assert_eq!(ann.tools(&["--plan", "release"]).titles(), ["Build", "Test"]);
    // Each machine names the plans by its own directory.
    for machine in [&ann, &bob] {
        let shown = machine.run(&["list", "--plan", "release", "--json"]).json();
        assert_eq!(shown["plan"]["project"], machine.checkout.to_str().unwrap());
    }
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn whoever_watches_sees_the_agents_of_the_other_machine_and_answers_their_questions() {
    let (ann, bob) = two(&database(&programs()));
    checkouts(&ann, &bob);
    ann.writes("First");
    let mut watch = bob.command();
    watch.args(["watch", "--json"]).env_remove("PUNCHLIST_NOW");
    let watch = Process::start(&bob.world, watch, "watch");
    watch.until_it_says("First");
    ann.writes("Second");
    watch.until_it_says("Second");
    let plan = "- [ ] Publish\n  run: echo published > published\n  approve: yes\n";
    std::fs::write(ann.checkout.join("plan.md"), plan).unwrap();
    let mut run = ann.command();
    run.args(["run", "plan.md", "--wait"]).env_remove("PUNCHLIST_NOW");
    let run = Process::start(&ann.world, run, "run");
    let mut id = None;
    until(|| {
        let questions = bob.run(&["questions", "--json"]).json();
        id = questions["questions"][0]["id"].as_str().map(str::to_owned);
        id.is_some()
    });
    let mut answer = bob.command();
    answer.args(["answer", &id.unwrap(), "yes"]);
    let answered = bob.world.answering(&answer, &["y"]).0;
    assert_eq!(answered.code, 0, "{} {}", answered.out, answered.err);
    let (code, said) = run.ends();
    assert_eq!(code, 0, "{said}");
    assert!(ann.checkout.join("published").exists());
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn init_prepares_a_database_and_a_project_that_has_a_name_is_one_on_all_machines() {
    let address = database(&programs());
    let (one, other) = (World::new(), World::new());
    for world in [&one, &other] {
        let line = format!("init -c store.project=website --db '{address}'");
        let said = world.typed(&line).ok();
        assert!(said.starts_with(&format!("the database is ready: {address}\n")), "{said}");
        assert!(said.contains(&format!("[store]\nurl = \"{address}\"\n")), "{said}");
    }
    one.run(&["add", "Build", "--db", &address]).works();
    let list = other.run(&["list", "--json", "--db", &address]).json();
    assert_eq!(list["items"][0]["title"], "Build", "{list}");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn agents_in_directories_with_the_same_path_do_not_meet() {
    let (mut ann, mut bob) = two(&database(&programs()));
    // The same path, and no commit that says what it is.
    let path: &Path = &ann.world.path("project");
    (ann.checkout, bob.checkout) = (path.to_owned(), path.to_owned());
    ann.writes("From ann");
    assert_eq!(bob.plans(), []);
    bob.writes("From bob");
    let (mut of_ann, mut of_bob) = (ann.tools(&[]), bob.tools(&[]));
    assert_eq!(
        (of_ann.titles(), of_bob.titles()),
        (vec!["From ann".into()], vec!["From bob".into()])
    );
    assert_eq!(ann.plans(), [("aaaaaaaa-1111".to_owned(), 1)]);
    assert_eq!(bob.plans(), [("bbbbbbbb-2222".to_owned(), 1)]);
    ann.tools(&["--plan", "release"]).create(&["Build"]);
    assert_eq!(bob.tools(&["--plan", "release"]).titles(), [""; 0]);
}
