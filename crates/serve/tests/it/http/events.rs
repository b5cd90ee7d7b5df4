//! Streams of events: nothing is missed, nobody sees what is not theirs.

use std::sync::Barrier;

use punchlist_engine::access as grants;
use punchlist_engine::around::Around;
use punchlist_model::PlanId;
use punchlist_model::store::access::Role;
use serde_json::{Value, json};

use super::World;
use punchlist_testkit::http_client::{Event, Events, Request};

fn add(world: &World, token: &str, plan: PlanId, title: &str) -> Value {
    let change = Request::post(&format!("/api/v1/plans/{plan}/changes")).token(token);
    world.send(change.json(&json!({"ops": [{"op": "add", "title": title}]}))).ok()
}

fn stream(world: &World, token: &str, after: Option<&str>) -> Events {
    let request = Request::get("/api/v1/events").token(token);
    let request = match after {
        Some(id) => request.header("Last-Event-ID", id),
        None => request,
    };
    request.stream(world.address)
}

fn title(event: &Event) -> &str {
    event.data["events"][0]["item"]["title"].as_str().unwrap()
}

#[test]
fn a_stream_begins_with_a_hint_to_read_again_and_then_has_every_change() {
    let world = World::new();
    let (plan, token) = (world.plan("/p"), world.token("w", Role::Worker, None));
    let mut events = stream(&world, &token, None);
    let first = events.event().unwrap();
    assert_eq!((first.event.as_str(), first.id.is_some()), ("reload", true));
    for at in 0..5 {
        add(&world, &token, plan, &format!("item {at}"));
    }
    for at in 0..5 {
        let event = events.entry();
        assert_eq!(title(&event), format!("item {at}"));
        assert_eq!(event.data["revision"], at + 1);
        assert_eq!(event.data["plan"], plan.to_string());
        assert!(event.id.is_some());
    }
}

#[test]
fn over_a_reconnect_and_a_restart_nothing_is_missed_and_nothing_comes_twice() {
    let mut world = World::new();
    let (plan, token) = (world.plan("/p"), world.token("w", Role::Admin, None));
    let mut events = stream(&world, &token, None);
    // The first id is that of the hint: what is written before the first entry is not missed either.
    let mut last = events.event().unwrap().id.unwrap();
    drop(events);
    let mut seen = Vec::new();
    let mut written = 0;
    for round in 0..4 {
        // More than one page is written while nobody listens.
        for _ in 0..(if round == 2 { 600 } else { 3 }) {
            add(&world, &token, plan, &format!("{written}"));
            written += 1;
        }
        if round > 0 {
            world.restart();
        }
        let mut events = stream(&world, &token, Some(&last));
        assert_eq!(events.event().unwrap().event, "reload", "one after each connect");
        add(&world, &token, plan, &format!("{written}"));
        written += 1;
        while seen.len() < written {
            let event = events.entry();
            seen.push(title(&event).to_owned());
            last = event.id.unwrap();
        }
    }
    let expected: Vec<String> = (0..written).map(|it| it.to_string()).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_stream_of_one_project_is_told_nothing_of_another() {
    let world = World::new();
    let (own, other) = (world.plan("/p"), world.plan("/q"));
    let token = world.token("p", Role::Viewer, Some("/p"));
    let all = world.token("all", Role::Worker, None);
    let mut events = stream(&world, &token, None);
    assert_eq!(events.event().unwrap().event, "reload");
    let mut every = stream(&world, &all, None);
    for at in 0..20 {
        add(&world, &all, other, &format!("secret {at}"));
    }
    add(&world, &all, own, "mine");
    // By now the other stream has all.
    while title(&every.entry()) != "mine" {}
    let first = events.event().unwrap();
    assert_eq!((first.event.as_str(), title(&first)), ("entry", "mine"), "not even a hint");
    // Nor from the beginning.
    let mut again = stream(&world, &token, Some("0"));
    assert_eq!(again.event().unwrap().event, "reload");
    assert_eq!(title(&again.event().unwrap()), "mine");
}

#[test]
fn a_revoked_token_loses_its_streams() {
    let world = World::new();
    let token = world.token("gone", Role::Viewer, None);
    let mut events = stream(&world, &token, None);
    assert_eq!(events.event().unwrap().event, "reload");
    world.runtime.block_on(grants::revoke(&*world.store, "gone", world.clock.now())).unwrap();
    while let Some(event) = events.event() {
        assert_eq!(event.event, "reload");
    }
    assert_eq!(world.get(&token, "/api/v1/me").status, 401);
}

#[test]
fn an_id_that_is_none_is_refused() {
    let world = World::new();
    let token = world.token("v", Role::Viewer, None);
    for id in ["a b", "ä", "made-up", "-1", ".", "1x", &"9".repeat(201)] {
        let request = Request::get("/api/v1/events").token(&token).header("Last-Event-ID", id);
        assert_eq!(world.send(request).status, 400, "{id:?}");
    }
}

/// The short form of the load test; `cargo xtask torture` has the long one.
#[test]
fn two_hundred_streams_miss_none_of_two_hundred_changes() {
    const STREAMS: usize = 200;
    const CHANGES: usize = 200;
    let world = World::new();
    let (plan, token) = (world.plan("/p"), world.token("w", Role::Admin, None));
    let begun = Barrier::new(STREAMS + 1);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..STREAMS)
            .map(|_| {
                scope.spawn(|| {
                    let mut events = stream(&world, &token, None);
                    assert_eq!(events.event().unwrap().event, "reload");
                    begun.wait();
                    (0..CHANGES)
                        .map(|_| events.entry().data["revision"].as_u64().unwrap())
                        .collect()
                })
            })
            .collect();
        begun.wait();
        for at in 0..CHANGES {
            add(&world, &token, plan, &format!("{at}"));
        }
        let expected: Vec<u64> = (1..=CHANGES as u64).collect();
        for reader in readers {
            let revisions: Vec<u64> = reader.join().unwrap();
            assert_eq!(revisions, expected);
        }
    });
}
