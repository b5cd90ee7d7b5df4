//! A database that is deleted, moved, replaced, locked or damaged under a running server.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::client::{Client, text};
use crate::held::Stopped;
use crate::world::World;

const DATABASE: &str = "home/.local/share/punchlist/punchlist.db";

/// The existing files of the database.
fn files(world: &World) -> Vec<PathBuf> {
    let all = ["", "-wal", "-shm"].map(|it| world.path(&format!("{DATABASE}{it}")));
    all.into_iter().filter(|it| it.exists()).collect()
}

/// The titles that a new process finds on all lists.
fn found(world: &World) -> Vec<String> {
    let plans = world.run(&["plans", "--all", "--json"]).json();
    let ids = plans["plans"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap());
    let titles = |id: &str| {
        let list = world.run(&["list", "--all", "--json", "--plan", id]).json();
        let items = list["items"].as_array().unwrap().iter();
        items.map(|it| it["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    ids.flat_map(titles).collect()
}

/// A call that is refused because the database was replaced; then the same call, which succeeds.
fn refused_once(client: &mut Client, title: &str, why: &str) {
    let arguments = json!({"items": [{"title": title}]});
    let refused = client.call("create_todo", arguments);
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(text(&refused).contains(why), "{refused}");
    client.create(&[title]);
}

#[test]
fn a_call_is_not_acknowledged_into_a_database_that_was_deleted() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    client.create(&["A"]);
    files(&world).iter().for_each(|it| fs::remove_file(it).unwrap());
    refused_once(&mut client, "B", "was moved or deleted");
    assert_eq!(found(&world), ["B"]);
    assert_eq!(client.titles(), ["B"]);
}

#[test]
fn a_call_is_not_acknowledged_into_a_database_that_was_renamed() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    client.create(&["A"]);
    for it in files(&world) {
        let name = it.to_str().unwrap().replace("punchlist.db", "elsewhere.db");
        fs::rename(&it, name).unwrap();
    }
    refused_once(&mut client, "B", "was moved or deleted");
    assert_eq!(found(&world), ["B"]);
}

#[test]
fn a_call_goes_to_the_database_that_replaced_the_old_one() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    client.create(&["A"]);
    world.typed("add --db ../other.db C").works();
    files(&world).iter().for_each(|it| fs::remove_file(it).unwrap());
    for ending in ["", "-wal"] {
        let from = world.path(&format!("other.db{ending}"));
        fs::rename(from, world.path(&format!("{DATABASE}{ending}"))).unwrap();
    }
    refused_once(&mut client, "B", "was replaced by another file");
    let mut titles = found(&world);
    titles.sort();
    assert_eq!(titles, ["B", "C"]);
}

#[test]
fn nothing_that_was_acknowledged_is_lost_with_a_wal_that_is_deleted() {
    for endings in [&["-wal"][..], &["-wal", "-shm"][..]] {
        let world = World::new();
        let mut client = Client::older(&world, &[]);
        client.create(&["A"]);
        for ending in endings {
            fs::remove_file(world.path(&format!("{DATABASE}{ending}"))).unwrap();
        }
        client.create(&["B"]);
        assert_eq!(client.titles(), ["A", "B"]);
        assert_eq!(found(&world), ["A", "B"], "{endings:?}");
    }
}

/// A server with a short timeout for locks.
fn impatient(world: &World) -> Client {
    let mut command = world.command("project");
    command.env("PUNCHLIST_WAIT_MS", "10000,50");
    let mut client = Client::of(command, &[]);
    client.shake_hands(super::OLDER[3], &json!({}));
    client
}

#[test]
fn a_call_that_meets_a_writer_that_was_stopped_is_refused_by_name_and_the_next_one_works() {
    let world = World::new();
    world.typed("add First").works();
    let mut client = impatient(&world);
    let stopped = Stopped::new(&world);
    let refused = client.call("create_todo", json!({"items": [{"title": "A"}]}));
    let holder = format!("punchlist add (process {})", stopped.pid());
    assert!(refused["isError"] == true && text(&refused).contains(&holder), "{refused}");
    // The server does not hang.
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    stopped.go_on();
    client.create(&["A"]);
    assert_eq!(client.titles(), ["A"]);
}

#[test]
fn a_call_on_a_schema_that_became_newer_is_refused_until_it_is_known_again() {
    let world = World::new();
    let mut client = impatient(&world);
    client.create(&["A"]);
    let schema = |change: i64| {
        let database = rusqlite::Connection::open(world.path(DATABASE)).unwrap();
        let now: i64 = database.pragma_query_value(None, "user_version", |it| it.get(0)).unwrap();
        database.pragma_update(None, "user_version", now + change).unwrap();
    };
    schema(10_000);
    let refused = client.call("create_todo", json!({"items": [{"title": "B"}]}));
    assert!(refused["isError"] == true && text(&refused).contains("schema"), "{refused}");
    schema(-10_000);
    client.create(&["B"]);
    assert_eq!(client.titles(), ["A", "B"]);
}
