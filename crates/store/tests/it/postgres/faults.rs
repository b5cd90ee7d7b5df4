//! Connections that are cut, and a server that is away: nothing acknowledged is lost, nothing happens
//! twice.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use punchlist_model::call::{CallState, NewMessage};
use punchlist_model::store::{Change, Error};
use punchlist_store::postgres::{Options, Postgres};
use punchlist_testkit::postgres::{Held, Server, Setup, free_port, query};

use super::{open, options, server};
use crate::support::{Desk, add, call, database, message_id, plan_id, run, run_id, wait};

/// Cuts every connection to a database but this one.
fn cut(address: &str) {
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    // If the server has no room for another connection, this change is not cut.
    query(address, cut).ok();
}

/// A way to a server that can fall silent: nothing is closed or refused, and nothing arrives any longer.
struct Way {
    port: u16,
    is_silent: Arc<AtomicBool>,
}

impl Way {
    fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let way = Self { port: listener.local_addr().unwrap().port(), is_silent: Arc::default() };
        let is_silent = Arc::clone(&way.is_silent);
        // These threads end with the test's process.
        thread::spawn(move || {
            let mut kept = Vec::new();
            for from in listener.incoming().flatten() {
                if !is_silent.load(Ordering::SeqCst)
                    && let Ok(to) = TcpStream::connect(("127.0.0.1", port))
                {
                    pass_on(from.try_clone().unwrap(), to.try_clone().unwrap(), &is_silent);
                    pass_on(to, from.try_clone().unwrap(), &is_silent);
                }
                kept.push(from);
            }
        });
        way
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, is_silent: &Arc<AtomicBool>) {
    let is_silent = Arc::clone(is_silent);
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count) = from.read(&mut bytes) {
            while is_silent.load(Ordering::SeqCst) {
                thread::park();
            }
            if count == 0 || to.write_all(&bytes[..count]).is_err() {
                to.shutdown(Shutdown::Both).ok();
                return;
            }
        }
    });
}

/// The options for two hosts: a way to a server, and the server.
fn two_hosts(patience: Duration) -> (Server, Way, Options) {
    let server = server(Setup { on_loopback: true, ..Setup::default() });
    server.query("postgres", "CREATE ROLE ann LOGIN SUPERUSER PASSWORD 'hush'").unwrap();
    let (port, way) = (server.port(), Way::to(server.port()));
    let address = format!("postgres://ann:hush@127.0.0.1:{},127.0.0.1:{port}/postgres", way.port);
    let options = Options { patience: Some(patience), ..options(&address) };
    (server, way, options)
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_host_that_says_nothing_is_passed_over_within_the_callers_limit() {
    let (_server, way, options) = two_hosts(Duration::from_secs(9));
    way.is_silent.store(true, Ordering::SeqCst);
    let began = Instant::now();
    let store = Arc::new(Postgres::open(&options).unwrap());
    let desk = Desk::new(store, "ann");
    desk.must(vec![add("a")]);
    assert_eq!(desk.list(), "1:a pending");
    assert!(began.elapsed() >= Duration::from_millis(500), "the first host was tried");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_change_goes_to_the_next_host_when_the_first_falls_silent() {
    let (_server, way, options) = two_hosts(Duration::from_secs(12));
    let desk = Desk::new(Arc::new(Postgres::open(&options).unwrap()), "ann");
    desk.must(vec![add("a")]);
    way.is_silent.store(true, Ordering::SeqCst);
    desk.must(vec![add("b")]);
    wait(desk.store.begin_run(run(1, None))).unwrap();
    assert_eq!(desk.list(), "1:a pending, 2:b pending");
    assert_eq!(desk.journal().len(), 2, "nothing happened twice");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_server_that_is_slow_but_there_is_waited_for() {
    let (server, _way, options) = two_hosts(Duration::from_secs(12));
    let desk = Desk::new(Arc::new(Postgres::open(&options).unwrap()), "ann");
    desk.must(vec![add("a")]);
    let held = Held::begin(&server.address("postgres"), "UPDATE punchlist.plan SET title = title");
    let waits = thread::spawn(move || desk.change(vec![add("b")]).map(|_| desk.list()));
    // One statement waits for longer than one host's share of the time: it was not given up meanwhile.
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'punchlist' \
                   AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > '4.2 s'";
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.query("postgres", waiting).unwrap() == ["0"] && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(50));
    }
    held.commit();
    assert_eq!(waits.join().unwrap().unwrap(), "1:a pending, 2:b pending");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_plan_that_another_process_changes_is_skipped_if_that_is_wanted() {
    let address = database();
    let desk = Desk::new(open(&address), "ann");
    desk.must(vec![add("a")]);
    let change = || Change { skip_locked: true, ..Change::new(vec![add("b")], desk.ctx()) };
    let held = Held::begin(&address, "SELECT 1 FROM punchlist.plan FOR NO KEY UPDATE");
    let skipped = wait(desk.store.change(desk.plan, change()));
    assert!(matches!(skipped, Err(Error::Busy(_))), "{skipped:?}");
    let unknown = wait(desk.store.change(plan_id(9), change()));
    assert!(matches!(unknown, Err(Error::NoPlan(_))), "{unknown:?}");
    held.commit();
    wait(desk.store.change(desk.plan, change())).unwrap();
    assert_eq!(desk.list(), "1:a pending, 2:b pending");
}

/// Changes that are made one after the other while something is going wrong.
const CHANGES: i64 = 60;

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_change_whose_connection_is_cut_happens_once() {
    let address = database();
    let desk = Desk::new(open(&address), "ann");
    thread::scope(|scope| {
        // Each change is cut once, at a moment that chance decides.
        let (now, is_now) = mpsc::channel();
        scope.spawn(|| is_now.into_iter().for_each(|()| cut(&address)));
        for n in 1..=CHANGES {
            now.send(()).unwrap();
            desk.must(vec![add(&format!("item {n}"))]);
        }
    });
    let plan = desk.whole();
    let titles: BTreeSet<&str> = plan.items.values().map(|it| it.title.as_str()).collect();
    assert_eq!((plan.items.len(), titles.len()), (60, 60));
    assert_eq!(desk.journal().len(), 60);
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn other_writes_whose_connection_is_cut_happen_once_too() {
    let address = database();
    let desk = Desk::new(open(&address), "ann");
    wait(desk.store.begin_run(run(1, Some(desk.plan)))).unwrap();
    thread::scope(|scope| {
        // Each change is cut once, at a moment that chance decides.
        let (now, is_now) = mpsc::channel();
        scope.spawn(|| is_now.into_iter().for_each(|()| cut(&address)));
        for n in 1..=40_u8 {
            now.send(()).unwrap();
            // A second start of the same run is refused, and so is a second end of the same call.
            wait(desk.store.begin_run(run(n + 1, None))).unwrap();
            let new = call(u32::from(n), CallState::Validating, 1);
            wait(desk.store.record(run_id(1), vec![new], Vec::new(), None)).unwrap();
            let end = call(u32::from(n), CallState::Cancelled, 2);
            wait(desk.store.record(run_id(1), vec![end], Vec::new(), None)).unwrap();
            let message = NewMessage {
                id: message_id(n),
                conversation: "c".to_owned(),
                text: n.to_string(),
                steer: false,
                at: crate::support::at(1),
            };
            wait(desk.store.queue(message)).unwrap();
        }
    });
    assert_eq!(wait(desk.store.story(run_id(1))).unwrap().len(), 80);
    let waiting = wait(desk.store.messages("c".to_owned())).unwrap();
    let texts: Vec<String> = (1..=40).map(|n| n.to_string()).collect();
    assert_eq!(waiting.iter().map(|it| it.text.clone()).collect::<Vec<_>>(), texts);
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_server_that_is_killed_and_started_again_loses_nothing_acknowledged() {
    let mut server = server(Setup::default());
    let address = server.database();
    let desk = Desk::new(open(&address), "ann");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (store, plan, is_over) = (Arc::clone(&desk.store), desk.plan, &is_over);
        let writer = scope.spawn(move || {
            let desk = Desk::at(store, plan, "bob");
            let mut acknowledged = 0;
            while !is_over.load(Ordering::Relaxed) {
                let mut ctx = desk.ctx();
                ctx.limits.open_items = u32::MAX;
                let ops = vec![add(&format!("item {acknowledged}"))];
                wait(desk.store.change(desk.plan, Change::new(ops, ctx))).unwrap();
                acknowledged += 1;
            }
            acknowledged
        });
        for _ in 0..4 {
            let before = desk_len(&address);
            server.kill();
            server.run();
            // The writer goes on by itself.
            let deadline = Instant::now() + Duration::from_secs(60);
            while desk_len(&address) < before + 5 {
                assert!(Instant::now() < deadline, "the writer has stopped");
                thread::sleep(Duration::from_millis(10));
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let acknowledged: usize = writer.join().unwrap();
        let plan = desk.whole();
        let titles: BTreeSet<String> = plan.items.values().map(|it| it.title.clone()).collect();
        assert_eq!((plan.items.len(), titles.len()), (acknowledged, acknowledged));
    });
}

fn desk_len(address: &str) -> usize {
    let counted = query(address, "SELECT count(*) FROM punchlist.item").unwrap_or_default();
    counted.first().and_then(|it| it.parse().ok()).unwrap_or_default()
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_server_that_is_away_is_an_error_once_patience_is_over() {
    let address = format!("postgres://ann@127.0.0.1:{}/plans", free_port());
    let patience = Some(Duration::from_millis(300));
    let options = Options { patience, ..options(&address) };
    let error = Postgres::open(&options).map(drop).unwrap_err();
    let Error::Server { what, .. } = &error else { panic!("{error}") };
    assert!(what.starts_with(&address) && what.contains("cannot be reached"), "{what}");
}
