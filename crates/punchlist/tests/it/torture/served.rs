//! Many streams of events and many changes over HTTP, while the server is killed and started again.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use punchlist_testkit::http_client::Request;
use serde_json::{Value, json};

use super::{Round, scenario};
use crate::serve::Server;

/// How many clients write at once.
const WRITERS: usize = 8;

/// How many changes a second are made.
const A_SECOND: u32 = 200;

/// How long a client tries.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn clients_of_a_server_that_is_killed_miss_nothing() {
    scenario("served", served);
}

pub(super) fn served(round: &mut Round<'_>) {
    let streams = round.of(8, 200);
    let changes = round.of(80, 12_000);
    let kills = round.of(2, 10);
    let place = round.place();
    place.run(&["add", "0"]).works();
    let mut command = place.command(&["token", "create", "w", "--role", "admin"]);
    command.env("PUNCHLIST_HOME", place.world.path("home"));
    let made = place.world.answering(&command, &[]).0;
    let token = made.out.trim().to_owned();
    let start = |listen: &str| {
        Server::spawn(place.command(&["serve", "--rate", "1000000", "--listen", listen]))
    };
    let mut server = start("127.0.0.1:0");
    let (address, listen) = (server.address, server.address.to_string());
    let plan = server.get(&token, "/api/v1/plans")["plans"][0]["id"].as_str().unwrap().to_owned();
    let written = AtomicUsize::new(0);
    let seen = thread::scope(|scope| {
        let (token, plan, written) = (&token, &plan, &written);
        let readers: Vec<_> =
            (0..streams).map(|_| scope.spawn(move || follow(address, token, changes))).collect();
        for writer in 0..WRITERS {
            scope.spawn(move || {
                let began = Instant::now();
                for at in (writer..changes).step_by(WRITERS) {
                    // Not faster than the rate, however fast the server is.
                    let due = Duration::from_secs(1) * u32::try_from(at).unwrap() / A_SECOND;
                    thread::sleep(due.saturating_sub(began.elapsed()));
                    let write = format!("0199aaaa-0000-7000-8000-{at:012}");
                    let ops = json!([{"op": "add", "title": at.to_string()}]);
                    change(address, token, plan, &json!({"write": write, "ops": ops}));
                    written.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for kill in 1..=kills {
            let until = Instant::now() + PATIENCE;
            while written.load(Ordering::SeqCst) < changes * kill / (kills + 1) {
                assert!(Instant::now() < until, "nothing is written");
                thread::yield_now();
            }
            server.kill();
            server = start(&listen);
        }
        readers.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    let tally = &mut *round.tally;
    tally.processes += 1 + kills;
    tally.kills += kills;
    tally.writes += changes;
    tally.acknowledged += written.load(Ordering::SeqCst);
    let expected: Vec<u64> = (2..=changes as u64 + 1).collect();
    for (at, revisions) in seen.into_iter().enumerate() {
        if revisions != expected {
            tally.lose(format!("stream {at} saw {} of {changes} changes", revisions.len()));
        }
    }
    let revision = server.get(&token, &format!("/api/v1/plans/{plan}"))["plan"]["revision"].clone();
    tally.must(revision == json!(changes + 1), || format!("the plan is at {revision}"));
    tally.must(server.stop().0 == 0, || "the server did not end well".to_owned());
}

/// Sends a change until it is acknowledged.
fn change(address: SocketAddr, token: &str, plan: &str, body: &Value) {
    let request = Request::post(&format!("/api/v1/plans/{plan}/changes")).token(token).json(body);
    let until = Instant::now() + PATIENCE;
    while request.try_send(address).is_none_or(|it| it.status != 200) {
        assert!(Instant::now() < until, "the change is not acknowledged");
        thread::yield_now();
    }
}

/// The revisions that a client sees that reconnects whenever its stream ends.
fn follow(address: SocketAddr, token: &str, most: usize) -> Vec<u64> {
    let last_revision = most as u64 + 1;
    let (mut seen, mut last) = (Vec::new(), "1".to_owned());
    let until = Instant::now() + PATIENCE;
    while seen.last() != Some(&last_revision) && Instant::now() < until {
        let request = Request::get("/api/v1/events").token(token).header("Last-Event-ID", &last);
        let Some(mut events) = request.try_stream(address) else {
            thread::yield_now();
            continue;
        };
        while let Some(event) = events.event() {
            last = event.id.unwrap_or(last);
            if event.event == "entry" {
                let revision = event.data["revision"].as_u64().unwrap();
                // A reader that goes on from where it was may get entries again, and knows them.
                if revision > seen.last().copied().unwrap_or(1) {
                    seen.push(revision);
                }
            }
            if seen.last() == Some(&last_revision) {
                break;
            }
        }
    }
    seen
}
