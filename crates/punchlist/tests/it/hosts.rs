//! Workers on several hosts: links that are cut, workers and servers that are killed, a standby that is
//! promoted. Nothing that was acknowledged is lost, and no item is done twice, except those whose lease
//! ended, which the journal lists.
//!
//! The hosts are network namespaces that the test makes itself: `cargo xtask test postgres --full`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use punchlist_testkit::network::Network;
use punchlist_testkit::postgres::{Server, Setup};
use rustix::process::Signal;

use crate::run::until;
use crate::work::{Process, call, read};
use crate::world::{Ran, World, finish};

/// How many items the workers do.
const ITEMS: usize = 40;

fn programs() -> PathBuf {
    let programs = std::env::var_os("PUNCHLIST_TEST_POSTGRES");
    PathBuf::from(programs.expect("run by `cargo xtask test postgres --full`"))
}

/// A machine with its own home and checkout.
struct Machine<'a> {
    network: &'a Network,
    host: &'static str,
    world: World,
}

impl<'a> Machine<'a> {
    fn new(network: &'a Network, host: &'static str, address: &str) -> Self {
        let world = World::new();
        let config = format!(
            "[store]\nurl = \"{address}\"\nproject = \"tests\"\n\n\
             [work]\ntrust = [\"postgres\"]\n\n[claim]\nlease = \"4s\"\n"
        );
        world.write("home/.config/punchlist/config.toml", config);
        Self { network, host, world }
    }

    fn call(&self, arguments: &[&str]) -> Command {
        let mut command = call(&self.world, arguments);
        command.env("PUNCHLIST_HOST", self.host);
        self.network.on(self.host, &command)
    }

    fn called(&self, arguments: &[&str]) -> Ran {
        finish(self.call(arguments), b"")
    }

    /// Publishes the plan and stops watching.
    fn publish(&self) {
        let item =
            |n| format!("- [ ] Item {n}\n  run: sleep 0.3; echo {n} >> log.txt\n  retry: 9\n");
        let plan: String = (1..=ITEMS).map(item).collect();
        self.world.write("project/plan.md", plan);
        let command = self.call(&["run", "plan.md", "--share", "--json"]);
        let share = Process::start(&self.world, command, "share");
        share.until_it_says("\"todo_list\"");
        share.signal(Signal::INT);
        assert_eq!(share.ends().0, 130);
    }

    fn worker(&self, name: &str) -> Process {
        let command = self.call(&["work", "--jobs", "2", "--as", name]);
        let worker = Process::start(&self.world, command, name);
        worker.until_it_says("works in");
        worker
    }

    /// How many items of the plan are completed.
    fn completed(&self) -> usize {
        let list = self.called(&["list", "--plan", "plan.md", "--all", "--json"]);
        if list.code != 0 {
            // The server is away.
            return 0;
        }
        let list = list.json();
        let items = list["items"].as_array().unwrap();
        items.iter().filter(|it| it["status"] == "completed").count()
    }

    /// Adds items to another plan until it is told to stop. Returns which were acknowledged.
    fn add_until(&self, is_over: &AtomicBool) -> Vec<String> {
        let mut acknowledged = Vec::new();
        for n in 0.. {
            if is_over.load(Ordering::SeqCst) {
                break;
            }
            let title = format!("note {n}");
            if self.called(&["add", "--plan", "notes", &title]).code == 0 {
                acknowledged.push(title);
            }
        }
        acknowledged
    }
}

fn say(what: &str) {
    std::io::stderr().write_all(format!("{what}\n").as_bytes()).unwrap();
}

/// What must hold at the end, whatever happened.
fn check(machines: &[&Machine<'_>], acknowledged: &[String]) {
    let one = machines[0];
    let mut runs: BTreeMap<usize, usize> = BTreeMap::new();
    for machine in machines {
        for line in read(&machine.world, "project/log.txt").lines() {
            *runs.entry(line.parse().unwrap()).or_default() += 1;
        }
    }
    let log = one.called(&["log", "-n", "0", "--plan", "plan.md"]).ok();
    for number in 1..=ITEMS {
        let times = runs.get(&number).copied().unwrap_or_default();
        assert!(times > 0, "item {number} is completed and was never run");
        // Another worker took it over, or its own worker came back first and gave it up.
        let has_ended = ["lease ran out on", "released"]
            .iter()
            .any(|it| log.contains(&format!("{it} {number} ")));
        assert!(times == 1 || has_ended, "item {number} ran {times} times\n{log}");
    }
    let twice: Vec<usize> = runs.into_iter().filter(|it| it.1 > 1).map(|it| it.0).collect();
    say(&format!("done twice, after their lease had ended: {twice:?}"));
    let notes = one.called(&["list", "--plan", "notes", "--all", "--json"]).json();
    let mut titles: BTreeMap<String, usize> = BTreeMap::new();
    for item in notes["items"].as_array().unwrap() {
        *titles.entry(item["title"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    say(&format!("acknowledged: {}, stored: {}", acknowledged.len(), titles.len()));
    assert!(titles.values().all(|it| *it == 1), "{titles:?}");
    let lost: Vec<&String> = acknowledged.iter().filter(|it| !titles.contains_key(*it)).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    assert!(acknowledged.len() > 5, "{acknowledged:?}");
}

#[test]
#[ignore = "needs root and a server: cargo xtask test postgres --full"]
fn a_cut_link_a_killed_worker_and_a_killed_server_lose_nothing() {
    let network = Network::new(&["db", "one", "two"]);
    let host = network.host("db");
    let setup = Setup { fsync: true, host: Some(&host), ..Setup::default() };
    let mut server = Server::start(&programs(), setup);
    server.query("postgres", "CREATE DATABASE plans").unwrap();
    let address = format!("postgres://postgres@{}/plans?sslmode=disable", host.address);
    let (one, two) =
        (Machine::new(&network, "one", &address), Machine::new(&network, "two", &address));
    one.publish();
    let is_over = AtomicBool::new(false);
    let acknowledged = thread::scope(|scope| {
        let adder = scope.spawn(|| one.add_until(&is_over));
        let first = one.worker("first");
        let second = two.worker("second");
        until(|| one.completed() >= 4);
        network.cut("two");
        // The other host notices when the lease ends.
        until(|| {
            one.called(&["log", "-n", "0", "--plan", "plan.md"]).out.contains("lease ran out on")
        });
        network.join("two");
        first.killed();
        let third = one.worker("third");
        server.kill();
        server.run();
        until(|| one.completed() == ITEMS);
        is_over.store(true, Ordering::SeqCst);
        drop((second, third));
        adder.join().unwrap()
    });
    check(&[&one, &two], &acknowledged);
}

#[test]
#[ignore = "needs root and a server: cargo xtask test postgres --full"]
fn a_promoted_standby_has_all_that_was_acknowledged() {
    let network = Network::new(&["db", "other", "one", "two"]);
    let (host, other) = (network.host("db"), network.host("other"));
    let setup = |host| Setup { fsync: true, host: Some(host), ..Setup::default() };
    let mut server = Server::start(&programs(), setup(&host));
    server.query("postgres", "CREATE DATABASE plans").unwrap();
    let standby = Server::start_standby(&server, &host.address, setup(&other));
    // From now on, a commit waits for the standby.
    server.query("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'standby'").unwrap();
    server.query("postgres", "SELECT pg_reload_conf()").unwrap();
    let is_synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    until(|| server.query("postgres", is_synchronous).unwrap() == ["1"]);
    let address = format!(
        "postgres://postgres@{},{}/plans?sslmode=disable&target_session_attrs=read-write",
        host.address, other.address
    );
    let (one, two) =
        (Machine::new(&network, "one", &address), Machine::new(&network, "two", &address));
    one.publish();
    let is_over = AtomicBool::new(false);
    let acknowledged = thread::scope(|scope| {
        let adder = scope.spawn(|| one.add_until(&is_over));
        let workers = (one.worker("first"), two.worker("second"));
        until(|| one.completed() >= 4);
        // The host vanishes: nobody is told that its connections are gone.
        network.cut("db");
        server.kill();
        assert_eq!(standby.query("postgres", "SELECT pg_promote()").unwrap(), ["t"]);
        until(|| one.completed() == ITEMS);
        is_over.store(true, Ordering::SeqCst);
        drop(workers);
        adder.join().unwrap()
    });
    check(&[&one, &two], &acknowledged);
}
