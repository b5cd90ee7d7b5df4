//! The program behind pgbouncer in transaction mode, where each transaction may go to another process of the
//! server. `cargo xtask test postgres` runs these where pgbouncer is, and with `--full` installs it.

use std::path::PathBuf;

use punchlist_testkit::pooler::Pooler;

use crate::mcp::client::Client;
use crate::postgres::{at, follower_hears, hook, items, programs, wrote};
use crate::run::until;
use crate::work::{called, item, publish, read, status, worker};
use crate::world::{World, finish};

fn pooler() -> Pooler {
    let program = std::env::var_os("PUNCHLIST_TEST_PGBOUNCER");
    let program = PathBuf::from(program.expect("run by `cargo xtask test postgres --full`"));
    Pooler::start(&program, &programs())
}

#[test]
#[ignore = "needs pgbouncer: cargo xtask test postgres --full"]
fn verbs_tools_and_hooks_work_and_doctor_names_the_pooler() {
    let pooler = pooler();
    let world = at(&pooler.address());
    world.typed("add Build Test Publish").ok();
    world.typed("start 1").ok();
    world.typed("done 1").ok_with_warnings();
    world.typed("skip 3").ok_with_warnings();
    world.typed("undo").ok_with_warnings();
    assert_eq!(items(&world), ["Build completed", "Test pending", "Publish pending"]);
    assert_eq!(world.person("forget 3").code, 0);
    assert!(items(&world)[2].starts_with("[forgotten]"));
    assert!(world.typed("export --all").ok().contains("Build"));
    let mut client = Client::older(&world, &["--plan", "tools"]);
    client.create(&["A", "B"]);
    assert_eq!(client.titles(), ["A", "B"]);
    assert!(client.end().0.success());
    let ran = hook(&world, &wrote(&world));
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    let plans = world.run(&["plans", "--all", "--json"]).json();
    assert_eq!(plans["plans"].as_array().unwrap().len(), 3, "{plans}");
    let doctor = world.typed("doctor").out;
    assert!(doctor.contains("a pooler is between"), "{doctor}");
}

#[test]
#[ignore = "needs pgbouncer: cargo xtask test postgres --full"]
fn a_follower_looks_and_hears_of_other_processes() {
    let pooler = pooler();
    let world = at(&pooler.address());
    follower_hears(&world, || {
        // While it waits, it listens nowhere: its last statement looks into the journal.
        let looks = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'plans' \
                     AND query LIKE '%punchlist.journal%'";
        until(|| pooler.server.query("postgres", looks).unwrap() != ["0"]);
        let listens = "SELECT count(*) FROM pg_stat_activity WHERE query ILIKE 'listen%'";
        assert_eq!(pooler.server.query("postgres", listens).unwrap(), ["0"]);
    });
}

#[test]
#[ignore = "needs pgbouncer: cargo xtask test postgres --full"]
fn a_plan_file_is_run_here_and_by_workers() {
    let pooler = pooler();
    let world = World::new();
    let config = format!(
        "[store]\nurl = \"{}\"\nproject = \"tests\"\n\n[work]\ntrust = [\"postgres\"]\n",
        pooler.address()
    );
    world.write("home/.config/punchlist/config.toml", config);
    world.write(
        "project/own.md",
        "- [ ] Build\n  run: echo built > built\n- [ ] Test\n  after: Build\n  run: test -e built\n",
    );
    let mut command = world.command("project");
    command.args(["run", "own.md"]);
    let ran = finish(command, b"");
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    publish(
        &world,
        "- [ ] Build\n  run: echo built >> log.txt\n  verify: test -s log.txt\n\
         - [ ] Test\n  after: Build\n  run: echo tested | tee -a log.txt\n",
    );
    let _workers = (worker(&world, "one", &[]), worker(&world, "two", &[]));
    until(|| status(&world, 2) == "completed");
    assert_eq!(read(&world, "project/log.txt"), "built\ntested\n");
    assert_eq!(item(&world, 1)["evidence"][0]["level"], "checked");
    let shown = called(&world, &["show", "2", "--output", "--plan", "plan.md"]).ok();
    assert!(shown.contains("tested"), "{shown}");
}
