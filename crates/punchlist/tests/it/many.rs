//! Several processes, workers and versions at the same time.

use std::collections::BTreeSet;

use crate::world::World;

#[test]
fn two_processes_that_add_first_make_one_plan() {
    let world = World::new();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let world = &world;
            scope.spawn(move || {
                for n in 0..5 {
                    world
                        .run(&["add", &format!("{worker}/{n}"), "-c", "store.durability=normal"])
                        .works();
                }
            });
        }
    });
    let list = world.typed("list --json").json();
    assert_eq!(list["plan"]["revision"], 20);
    let titles: BTreeSet<&str> =
        list["items"].as_array().unwrap().iter().map(|it| it["title"].as_str().unwrap()).collect();
    assert_eq!(titles.len(), 20);
    assert_eq!(world.typed("plans --json").json()["plans"].as_array().unwrap().len(), 1);
}

#[test]
fn workers_never_get_the_same_item() {
    let world = World::new();
    world.typed("add A B C D E F").works();
    let taken: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|n| {
                let world = &world;
                scope.spawn(move || {
                    let name = format!("worker-{n}");
                    world.run(&["next", "--claim", "--as", &name, "--json"]).json()["changed"]
                            [0]["title"]
                            .to_string()
                })
            })
            .collect();
        workers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 4, "{taken:?}");
}

#[test]
fn a_lease_runs_out_and_a_late_write_is_refused() {
    let world = World::new();
    let story = world.story(
        r#"
        add A
        next --claim --as ann -c claim.lease=90s
        next --claim --as bob
        # reading shows what claiming would take
        next --as bob
        next --claim --as bob
        show 1
        done 1 --as ann --attempt 1
        done 1 --as bob --attempt 2
        "#,
    );
    told!(story);
}

#[test]
fn the_holder_is_the_name_after_as_else_the_session_else_user_at_host() {
    let world = World::new();
    world.typed("add A B").works();
    let holder = |answer: &serde_json::Value| answer["claim"]["holder"].clone();
    let started = |line: &str| holder(&world.typed(line).json()["changed"][0]);
    // A claim is never bound to the verb's own process, which ends at once.
    let named = |name: &str| serde_json::json!({"name": name, "process": null});
    assert_eq!(started("start 1 --json"), named("me@host"));
    assert_eq!(started("start 2 --as ann --json"), named("ann"));
    let call = "todowrite TodoWrite --conversation c1 --agent claude < \
                {\"todos\": [{\"content\": \"C\", \"status\": \"in_progress\", \"activeForm\": \"C\"}]}";
    world.typed(&format!("tool {call}")).works();
    let plans = world.typed("plans --json").json();
    let of_c1 = plans["plans"].as_array().unwrap().iter().find(|it| it["conversation"] == "c1");
    let id = of_c1.unwrap()["id"].as_str().unwrap().to_owned();
    let list = world.run(&["list", "--json", "--plan", &id]).json();
    assert_eq!(holder(&list["items"][0]), named("claude/c1"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_claim_ends_with_its_process() {
    let world = World::new();
    world.typed("add A B").works();
    let mut worker = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let pid = worker.id().to_string();
    world.run(&["start", "1", "--as", "ann", "--pid", &pid]).works();
    assert_eq!(world.typed("done 1").code, 3, "it runs still");
    worker.kill().unwrap();
    worker.wait().unwrap();
    let taken = world.typed("next --claim --as bob --json").json();
    let titles: Vec<&str> = taken["changed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["A"]);
}

#[test]
fn a_newer_schema_is_refused() {
    let world = World::new();
    world.typed("add A --db ../x.db").works();
    let database = rusqlite::Connection::open(world.path("x.db")).unwrap();
    database.pragma_update(None, "user_version", 9999).unwrap();
    drop(database);
    for line in ["list --db ../x.db", "add B --db ../x.db"] {
        let ran = world.typed(line);
        assert_eq!(ran.code, 8, "{line}: {}", ran.err);
        assert!(ran.err.contains("newer version"), "{line}: {}", ran.err);
    }
}
