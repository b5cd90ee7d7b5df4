//! Workers on a PostgreSQL server: its roles, and what happens when it is killed.

use std::path::PathBuf;

use punchlist_testkit::postgres::database;

use crate::world::World;

fn programs() -> PathBuf {
    let programs = std::env::var_os("PUNCHLIST_TEST_POSTGRES");
    PathBuf::from(programs.expect("run by `cargo xtask test postgres`"))
}

/// Sets up the user's configuration.
fn config(world: &World, address: &str, trust: &str) {
    let text = format!(
        "[store]\nurl = \"{address}\"\nproject = \"tests\"\n\n[work]\ntrust = [\"{trust}\"]\n"
    );
    world.write("home/.config/punchlist/config.toml", text);
}

/// A world whose user has plans on a server, and trusts the role that publishes them.
pub(super) fn world() -> World {
    let world = World::new();
    config(&world, &database(&programs()), "postgres");
    world
}

mod postgres {
    use punchlist_testkit::postgres::{Server, Setup, database, query};

    use super::super::{Process, call, called, item, publish, read, status, worker};
    use super::{config, programs};
    use crate::run::until;
    use crate::world::World;

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn a_worker_role_does_what_a_trusted_role_published_and_can_publish_nothing() {
        let world = World::new();
        let owner = database(&programs());
        let name = owner.split(['/', '?']).nth(3).unwrap().to_owned();
        let (ann, bob) = (format!("ann_{name}"), format!("bob_{name}"));
        for role in [&ann, &bob] {
            query(&owner, &format!("CREATE ROLE {role} LOGIN")).unwrap();
        }
        let at = |role: &str| owner.replacen("postgres@", &format!("{role}@"), 1);
        config(&world, &owner, "nobody");
        for (role, right) in [(&ann, "admin"), (&bob, "worker")] {
            let said = called(&world, &["db", "grant", role, "--as", right]).ok();
            let article = if right == "admin" { "an" } else { "a" };
            assert_eq!(said, format!("{role} is {article} {right} of this database now\n"));
        }
        let bad = called(&world, &["db", "grant", &bob, "--as", "king"]);
        assert!(bad.code == 2 && bad.err.contains("viewer, worker, admin"), "{}", bad.err);
        let nobody = called(&world, &["db", "grant", "nobody_there", "--as", "worker"]);
        assert_eq!(nobody.code, 4, "{}", nobody.err);
        assert!(
            nobody.err.contains("CREATE ROLE") && !nobody.err.contains("file"),
            "{}",
            nobody.err
        );
        config(&world, &at(&ann), "nobody");
        publish(&world, "- [ ] Build\n  run: echo built >> log.txt\n  verify: test -s log.txt\n");
        // The worker does not trust ann.
        config(&world, &at(&bob), "somebody");
        let stranger = worker(&world, "stranger", &[]);
        stranger.until_it_says(&format!("{ann} published it, whom work.trust does not name"));
        drop(stranger);
        assert_eq!(status(&world, 1), "pending");
        // This one does.
        config(&world, &at(&bob), &ann);
        let _worker = worker(&world, "builder", &[]);
        until(|| status(&world, 1) == "completed");
        assert_eq!(read(&world, "project/log.txt"), "built\n");
        assert_eq!(item(&world, 1)["evidence"][0]["level"], "checked");
        // The role of a worker publishes nothing.
        let denied = called(&world, &["edit", "1", "--plan", "plan.md", "--verify", "echo evil"]);
        assert_eq!(denied.code, 3, "{}", denied.err);
        let grant = format!("punchlist db grant {bob} --as admin");
        assert!(denied.err.contains("may not write commands"), "{}", denied.err);
        assert!(denied.err.contains(&grant), "{}", denied.err);
        let file = called(&world, &["db", "grant", &bob, "--as", "admin"]);
        assert_eq!(file.code, 3, "a worker grants nothing: {}", file.out);
        assert!(file.err.contains("only the owner"), "{}", file.err);
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn a_server_that_is_killed_and_starts_again_loses_no_item() {
        let world = World::new();
        let mut server = Server::start(&programs(), Setup { fsync: true, ..Setup::default() });
        config(&world, &server.database(), "postgres");
        let slow = "echo x >> log.txt; until test -e go; do sleep 0.02; done; echo y >> log.txt";
        publish(
            &world,
            &format!(
                "- [ ] Slow\n  run: {slow}\n- [ ] Next\n  after: Slow\n  run: echo next >> log.txt\n"
            ),
        );
        let worker = worker(&world, "one", &[]);
        until(|| !read(&world, "project/log.txt").is_empty());
        server.kill();
        // The command ends while the server is away.
        world.write("project/go", "");
        until(|| read(&world, "project/log.txt").contains('y'));
        server.run();
        until(|| status(&world, 2) == "completed");
        worker.until_it_says("done       2 Next");
        assert_eq!(read(&world, "project/log.txt"), "x\ny\nnext\n");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn whoever_watches_a_shared_plan_goes_on_when_the_server_is_back() {
        let world = World::new();
        let mut server = Server::start(&programs(), Setup { fsync: true, ..Setup::default() });
        config(&world, &server.database(), "postgres");
        publish(&world, "- [ ] Build\n  run: echo built\n");
        let mut command = call(&world, &["run", "plan.md", "--share"]);
        // It waits only a moment for a server that is away.
        command.env("PUNCHLIST_WAIT_MS", "100,1000");
        let watching = Process::start(&world, command, "share");
        watching.until_it_says("no worker has taken an item yet");
        server.kill();
        watching.until_it_says("workers go on");
        server.run();
        watching.until_it_says("is back");
        let _worker = worker(&world, "one", &[]);
        let (code, out) = watching.ends();
        assert_eq!(code, 0, "{out}");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn doctor_says_what_each_role_may_do() {
        let world = World::new();
        let owner = database(&programs());
        config(&world, &owner, "nobody");
        called(&world, &["add", "a"]).works();
        let name = owner.split(['/', '?']).nth(3).unwrap().to_owned();
        for (right, said) in [
            ("viewer", "may read everything, and change nothing"),
            ("worker", "may do items of shared plans"),
            ("admin", "may change everything; only the owner"),
        ] {
            let role = format!("{right}_{name}");
            query(&owner, &format!("CREATE ROLE {role} LOGIN")).unwrap();
            config(&world, &owner, "nobody");
            called(&world, &["db", "grant", &role, "--as", right]).ok();
            config(&world, &owner.replacen("postgres@", &format!("{role}@"), 1), "nobody");
            let doctor = called(&world, &["doctor"]);
            assert!(doctor.out.contains(&format!("{role} {said}")), "{}", doctor.out);
            assert!(!doctor.out.contains("choose a file"), "{}", doctor.out);
            assert!(!doctor.out.contains("may only read"), "{}", doctor.out);
        }
    }
}
