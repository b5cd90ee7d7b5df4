//! Sessions of agents, and concurrent writes of them.

use punchlist_model::guard::{Gate, Turn};
use punchlist_model::session::{Kept, Session, SessionFilter, SessionKey, SubAgent};
use punchlist_model::store::{Change, Error};
use punchlist_model::{Number, Process};

use super::World;
use crate::support::{Desk, add, at, done, wait};

fn key(id: &str) -> SessionKey {
    SessionKey { agent: "claude".to_owned(), id: id.to_owned() }
}

fn process(pid: u32) -> Process {
    let (host, boot_id) = ("here".to_owned(), "b".to_owned());
    Process { host, boot_id, pid_namespace: 1, pid, start_time: 7 }
}

fn seen(id: &str, pid: u32, second: i64) -> Session {
    let mut session = Session::new(key(id), "/p", at(second));
    session.process = Some(process(pid));
    session
}

fn ids(sessions: &[Session]) -> Vec<&str> {
    sessions.iter().map(|session| session.key.id.as_str()).collect()
}

pub(crate) fn a_session_is_found_again_from_another_handle(world: &World) {
    let store = world.handle();
    assert_eq!(wait(store.session(key("a"))).unwrap(), None);
    assert_eq!(wait(store.keep(seen("a", 1, 5))).unwrap(), Kept::Stored(1));
    let there = wait(world.handle().session(key("a"))).unwrap();
    assert_eq!(there, Some(Session { version: 1, ..seen("a", 1, 5) }));
}

pub(crate) fn every_field_of_a_session_is_kept(world: &World) {
    let store = world.handle();
    let mut session = seen("a", 1, 5);
    session.directory = "/p/src".to_owned();
    session.interactive = Some(true);
    (session.seen_at, session.ended_at) = (at(6), Some(at(7)));
    session.memory.turn = Turn::Stopped;
    session.memory.gate = Some(Gate::Off);
    session.memory.mirrored.insert("4".to_owned(), Number(3));
    session.memory.unconfirmed.insert("5".to_owned());
    session.memory.written_with = Some("tasks".to_owned());
    let own = [Number(2)].into();
    session.memory.sub_agents.insert("x".to_owned(), SubAgent { turn: Turn::Fresh, own });
    wait(store.keep(session.clone())).unwrap();
    let there = wait(store.session(key("a"))).unwrap();
    assert_eq!(there, Some(Session { version: 1, ..session }));
}

pub(crate) fn who_comes_too_late_is_told_what_is_there(world: &World) {
    let (one, other) = (world.handle(), world.handle());
    wait(one.keep(seen("a", 1, 5))).unwrap();
    let there = Session { version: 1, ..seen("a", 1, 5) };
    let late = wait(other.keep(seen("a", 2, 6))).unwrap();
    assert_eq!(late, Kept::Stale(Some(Box::new(there.clone()))), "made twice");
    let next = Session { seen_at: at(9), ..there };
    assert_eq!(wait(one.keep(next.clone())).unwrap(), Kept::Stored(2));
    let late = wait(other.keep(next.clone())).unwrap();
    assert_eq!(late, Kept::Stale(Some(Box::new(Session { version: 2, ..next }))), "written since");
    let ghost = Session { version: 4, ..seen("b", 1, 5) };
    assert_eq!(wait(one.keep(ghost)).unwrap(), Kept::Stale(None), "not there");
}

pub(crate) fn the_one_that_was_seen_last_comes_first(world: &World) {
    let store = world.handle();
    for (id, second) in [("a", 5), ("b", 9), ("c", 7)] {
        wait(store.keep(seen(id, 1, second))).unwrap();
    }
    wait(store.keep(Session { project: "/q".to_owned(), ..seen("d", 1, 8) })).unwrap();
    let all = wait(store.sessions(SessionFilter::default())).unwrap();
    assert_eq!(ids(&all), ["b", "d", "c", "a"]);
    let project = Some("/p".to_owned());
    let here = SessionFilter { project, most: Some(2), ..SessionFilter::default() };
    assert_eq!(ids(&wait(store.sessions(here)).unwrap()), ["b", "c"]);
    let ended = Session { ended_at: Some(at(10)), version: 1, ..seen("b", 1, 9) };
    assert_eq!(wait(store.keep(ended)).unwrap(), Kept::Stored(2));
    let running = SessionFilter { running: true, ..SessionFilter::default() };
    assert_eq!(ids(&wait(store.sessions(running.clone())).unwrap()), ["d", "c", "a"]);
    let of_one = SessionFilter { processes: Some(vec![process(1)]), ..running };
    assert_eq!(ids(&wait(store.sessions(of_one)).unwrap()), ["d", "c", "a"]);
}

pub(crate) fn who_stays_for_long_sees_what_others_write(world: &World) {
    let (store, other) = (world.handle(), world.handle());
    let of = |pid| {
        let processes = Some(vec![process(pid)]);
        let filter = SessionFilter { processes, ..SessionFilter::default() };
        let sessions = wait(store.sessions(filter)).unwrap();
        ids(&sessions).join(" ")
    };
    for round in 0..20 {
        let id = |who: &str| format!("{who}{round:02}");
        wait(other.keep(seen(&id("other"), 1, round))).unwrap();
        assert!(of(1).starts_with(&id("other")), "round {round}");
        assert_eq!(of(2), "", "another question");
        assert_eq!(of(1), of(1), "asked again");
        wait(store.keep(seen(&id("own"), 1, round))).unwrap();
        assert_eq!(of(1).matches("own").count(), usize::try_from(round).unwrap() + 1);
    }
}

pub(crate) fn sessions_are_found_by_their_process(world: &World) {
    let store = world.handle();
    for (id, pid, second) in [("a", 1, 5), ("b", 2, 6), ("c", 1, 7), ("d", 3, 8)] {
        wait(store.keep(seen(id, pid, second))).unwrap();
    }
    let of = |pids: &[u32], most| {
        let processes = Some(pids.iter().map(|pid| process(*pid)).collect());
        let filter = SessionFilter { processes, most, ..SessionFilter::default() };
        let sessions = wait(store.sessions(filter)).unwrap();
        ids(&sessions).join(" ")
    };
    assert_eq!(of(&[1], None), "c a");
    assert_eq!(of(&[2, 1, 1], None), "c b a");
    assert_eq!(of(&[1, 2], Some(1)), "c");
    assert_eq!(of(&[], None), "");
    let later = Process { start_time: 8, ..process(1) };
    let filter = SessionFilter { processes: Some(vec![later]), ..SessionFilter::default() };
    assert_eq!(wait(store.sessions(filter)).unwrap(), [], "the pid was used again");
}

pub(crate) fn a_process_is_seen_in_other_sessions(world: &World) {
    let store = world.handle();
    let beside = |id: &str, pid| wait(store.seen_beside(key(id), process(pid))).unwrap();
    assert_eq!(beside("a", 1), None, "there is no session at all");
    for (id, pid, second) in [("a", 1, 7), ("b", 2, 9), ("c", 1, 5), ("d", 1, 6)] {
        wait(store.keep(seen(id, pid, second))).unwrap();
    }
    wait(store.keep(Session { process: None, ..seen("e", 1, 8) })).unwrap();
    assert_eq!(beside("a", 1), Some(at(6)));
    assert_eq!(beside("d", 1), Some(at(7)));
    assert_eq!(beside("new", 1), Some(at(7)));
    assert_eq!(beside("b", 2), None, "it is alone");
    assert_eq!(beside("a", 2), Some(at(9)));
    let other = SessionKey { agent: "codex".to_owned(), ..key("b") };
    assert_eq!(wait(store.seen_beside(other, process(2))).unwrap(), Some(at(9)), "another agent");
}

pub(crate) fn a_change_and_a_session_are_written_together(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    wait(desk.store.keep(seen("a", 1, 5))).unwrap();
    for version in 2..20 {
        let mut session = wait(desk.store.session(key("a"))).unwrap().unwrap();
        session.memory.mirrored.insert(version.to_string(), Number(1));
        let change = Change::new(vec![add("x")], desk.ctx());
        let both = desk.store.change_and_keep(desk.plan, change, session.clone());
        let (applied, kept) = wait(both).unwrap();
        assert_eq!((applied.revision().0, kept), (version - 1, Kept::Stored(version)));
        let there = wait(world.handle().session(key("a"))).unwrap();
        assert_eq!(there, Some(Session { version, ..session }));
        assert_eq!(there, wait(desk.store.session(key("a"))).unwrap());
    }
    // A change without effect is not written; the session is.
    let session = wait(desk.store.session(key("a"))).unwrap().unwrap();
    let both = desk.store.change_and_keep(desk.plan, Change::new(vec![], desk.ctx()), session);
    let (applied, kept) = wait(both).unwrap();
    assert_eq!((applied.revision().0, kept), (18, Kept::Stored(20)));
}

pub(crate) fn a_change_that_fails_writes_no_session(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let change = Change::new(vec![add("x"), done(7)], desk.ctx());
    let refused = wait(desk.store.change_and_keep(desk.plan, change, seen("a", 1, 5)));
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    assert_eq!(wait(desk.store.session(key("a"))).unwrap(), None);
    assert_eq!(desk.list(), "");
}

pub(crate) fn a_session_that_comes_too_late_does_not_hold_up_the_change(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    wait(desk.store.keep(seen("a", 1, 5))).unwrap();
    let change = Change::new(vec![add("x")], desk.ctx());
    let late = seen("a", 2, 6);
    let (_, kept) = wait(desk.store.change_and_keep(desk.plan, change, late)).unwrap();
    let there = Session { version: 1, ..seen("a", 1, 5) };
    assert_eq!(kept, Kept::Stale(Some(Box::new(there))));
    assert_eq!(desk.list(), "1:x pending");
}
