//! Sessions that begin, go on and end, told as stories.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use punchlist_model::guard::Gate;
use punchlist_model::session::Store;
use punchlist_model::store::memory::Memory as InMemory;
use punchlist_model::store::{Change, NewPlan, PlanStore};
use punchlist_model::{
    Actor, Ctx, Holder, IdSource, Limits, Mode, NewItem, Op, PlanId, Revision, Rules,
};

use super::*;

/// The store in memory answers at once.
fn wait<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the store in memory answers at once"),
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn key(id: &str) -> SessionKey {
    SessionKey { agent: "claude".to_owned(), id: id.to_owned() }
}

/// A process of another host: nobody can say here that it has ended.
fn process(pid: u32) -> Process {
    let (host, boot_id) = ("elsewhere".to_owned(), "boot".to_owned());
    Process { host, boot_id, pid_namespace: 1, pid, start_time: 1 }
}

/// One of ours that has certainly ended.
fn ended() -> Process {
    let me = process::process("here", std::process::id()).unwrap();
    Process { start_time: me.start_time - 1, ..me }
}

fn seen(id: &str, pid: u32, second: i64) -> Seen {
    Seen {
        key: key(id),
        project: "/p".to_owned(),
        directory: "/p/src".to_owned(),
        process: (pid > 0).then(|| process(pid)),
        interactive: None,
        now: at(second),
        ended: false,
    }
}

fn current_id(store: &InMemory, pids: &[u32], told: Option<&str>) -> Option<String> {
    let processes: Vec<Process> = pids.iter().copied().map(process).collect();
    let told = told.map(key);
    wait(current(store, &processes, told.as_ref())).unwrap().map(|it| it.key.id)
}

#[test]
fn a_session_is_written_when_something_about_it_is_new() {
    let store = InMemory::new();
    let version = |seen: Seen| wait(record(&store, seen)).unwrap().version;
    assert_eq!(version(seen("a", 10, 0)), 1);
    assert_eq!(version(seen("a", 10, 0)), 1, "nothing new");
    assert_eq!(version(seen("a", 10, 59)), 1, "seen again soon after");
    assert_eq!(version(seen("a", 10, 60)), 2, "seen again later");
    assert_eq!(version(seen("a", 0, 61)), 2, "its process could not be seen this time");
    assert_eq!(version(seen("a", 11, 62)), 3, "resumed in another process");
    let elsewhere =
        Seen { directory: "/q".to_owned(), project: "/q".to_owned(), ..seen("a", 11, 63) };
    let there = wait(record(&store, elsewhere)).unwrap();
    assert_eq!((there.version, there.directory.as_str()), (4, "/q"));
    assert_eq!(there.project, "/p", "it keeps its project, and so its plan");
    assert_eq!(
        version(Seen { interactive: Some(true), directory: String::new(), ..seen("a", 11, 64) }),
        5
    );
    let there = wait(store.session(key("a"))).unwrap().unwrap();
    assert_eq!((there.begun_at, there.seen_at, there.version), (at(0), at(64), 5));
    assert_eq!(there.interactive, Some(true));
}

#[test]
fn a_session_ends_and_comes_back() {
    let store = InMemory::new();
    wait(record(&store, seen("a", 10, 0))).unwrap();
    let there = wait(record(&store, Seen { ended: true, ..seen("a", 10, 5) })).unwrap();
    assert_eq!(there.ended_at, Some(at(5)));
    assert!(!is_live(&there, "here", at(10)));
    let there = wait(record(&store, Seen { ended: true, ..seen("a", 10, 6) })).unwrap();
    assert_eq!((there.ended_at, there.version), (Some(at(5)), 2), "it ended once");
    let there = wait(record(&store, seen("a", 12, 9))).unwrap();
    assert_eq!((there.ended_at, &there.process), (None, &Some(process(12))));
    assert!(is_live(&there, "here", at(10)));
}

#[test]
fn a_process_that_ended_is_not_believed_any_longer() {
    let store = InMemory::new();
    let there = wait(record(&store, Seen { process: Some(ended()), ..seen("a", 0, 0) })).unwrap();
    assert!(!is_live(&there, "here", at(10)));
    assert!(is_live(&there, "elsewhere", at(10)), "another host cannot know");
    let there = wait(record(&store, seen("a", 0, 1))).unwrap();
    assert_eq!(there.process, None, "the session was seen, so it runs elsewhere");
    assert!(is_live(&there, "here", at(10)));
}

#[test]
fn a_session_of_which_nothing_is_known_any_more_is_live_for_a_day() {
    let store = InMemory::new();
    let day = 24 * 60 * 60;
    for pid in [0, 10] {
        let there = wait(record(&store, seen(&pid.to_string(), pid, 0))).unwrap();
        assert!(is_live(&there, "here", at(day - 1)));
        assert!(!is_live(&there, "here", at(day)));
    }
    // What ran before the machine was started anew has ended, however lately it was seen.
    let before = Process { boot_id: "before".to_owned(), ..ended() };
    let there = wait(record(&store, Seen { process: Some(before), ..seen("b", 0, 0) })).unwrap();
    assert!(!is_live(&there, "here", at(1)));
}

#[test]
fn after_clear_or_resume_inside_the_program_the_process_has_another_session() {
    let store = InMemory::new();
    wait(record(&store, seen("a", 10, 0))).unwrap();
    assert_eq!(current_id(&store, &[99, 10], None).as_deref(), Some("a"));
    wait(record(&store, Seen { ended: true, ..seen("a", 10, 5) })).unwrap();
    wait(record(&store, seen("b", 10, 5))).unwrap();
    assert_eq!(current_id(&store, &[99, 10], None).as_deref(), Some("b"));
    // The environment of whoever was started before still says the first.
    assert_eq!(current_id(&store, &[99, 10], Some("a")).as_deref(), Some("b"));
    // Back to the first, in the same moment, without a word about the end of the second.
    wait(record(&store, seen("a", 10, 5))).unwrap();
    assert_eq!(current_id(&store, &[99, 10], None).as_deref(), Some("a"));
    // And once more, with a clock that was set back.
    wait(record(&store, seen("b", 10, 2))).unwrap();
    assert_eq!(current_id(&store, &[99, 10], None).as_deref(), Some("b"));
    let live = wait(live_sessions(&store, "/p", "here", at(20))).unwrap();
    assert_eq!(live.iter().map(|it| it.key.id.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn an_end_that_is_told_late_does_not_take_the_process_back() {
    let store = InMemory::new();
    wait(record(&store, seen("a", 10, 0))).unwrap();
    wait(record(&store, seen("b", 10, 1))).unwrap();
    wait(record(&store, Seen { ended: true, ..seen("a", 10, 9) })).unwrap();
    assert_eq!(current_id(&store, &[10], None).as_deref(), Some("b"));
}

#[test]
fn the_environment_counts_where_no_process_is_known() {
    let store = InMemory::new();
    wait(record(&store, seen("a", 0, 0))).unwrap();
    assert_eq!(current_id(&store, &[99], Some("a")).as_deref(), Some("a"));
    assert_eq!(current_id(&store, &[], Some("a")).as_deref(), Some("a"));
    assert_eq!(current_id(&store, &[99], Some("unheard of")), None);
    assert_eq!(current_id(&store, &[99], None), None);
}

#[test]
fn what_is_remembered_is_changed_step_by_step_and_only_where_it_changes() {
    let store = InMemory::new();
    let set =
        |gate| wait(update(&store, &key("a"), |memory| std::mem::replace(&mut memory.gate, gate)));
    assert_eq!(set(Some(Gate::Off)).unwrap(), None, "no such session");
    wait(record(&store, seen("a", 10, 0))).unwrap();
    let (session, before) = set(Some(Gate::Off)).unwrap().unwrap();
    assert_eq!((session.version, session.memory.gate, before), (2, Some(Gate::Off), None));
    let (session, before) = set(Some(Gate::Off)).unwrap().unwrap();
    assert_eq!((session.version, before), (2, Some(Gate::Off)));
    assert_eq!(wait(store.session(key("a"))).unwrap().unwrap(), session);
}

#[test]
fn whoever_comes_too_late_steps_again_on_what_is_there() {
    let store = InMemory::new();
    wait(record(&store, seen("a", 10, 0))).unwrap();
    let disturbed = std::sync::atomic::AtomicBool::new(false);
    let (session, ()) = wait(update(&store, &key("a"), |memory| {
        // Between our reading and our writing, somebody else writes.
        if !disturbed.swap(true, std::sync::atomic::Ordering::Relaxed) {
            wait(update(&store, &key("a"), |memory| {
                memory.written_with = Some("other".to_owned());
            }))
            .unwrap();
        }
        memory.gate = Some(Gate::Once);
    }))
    .unwrap()
    .unwrap();
    assert_eq!(session.memory.gate, Some(Gate::Once));
    assert_eq!(session.memory.written_with.as_deref(), Some("other"));
    // Somebody always is: it is given up.
    let count = std::sync::atomic::AtomicU32::new(0);
    let crowd = wait(update(&store, &key("a"), |memory| {
        let n = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        wait(update(&store, &key("a"), |memory| memory.written_with = Some(n.to_string())))
            .unwrap();
        memory.gate = None;
    }));
    assert!(crowd.unwrap_err().to_string().contains("too many at once"));
    assert_eq!(count.into_inner(), TRIES);
}

/// Gives a session a plan with so many open items.
fn plan(store: &dyn Store, session: &Session, sub_agent: &str, open: usize) -> PlanId {
    let key = session.key.attachment(&session.project, sub_agent);
    let id = PlanId::first_of(&key);
    let new = NewPlan {
        id,
        project: key.project.clone(),
        name: None,
        title: String::new(),
        rules: Rules::default(),
        at: session.seen_at,
    };
    wait(store.create(new)).unwrap();
    let items = (0..open)
        .map(|n| NewItem::titled(format!("Item {n}")))
        .map(|it| Op::Add(Box::new(it)))
        .collect();
    let ctx = Ctx {
        now: session.seen_at,
        ids: IdSource::fixed(session.seen_at, 1),
        actor: Actor::agent("a"),
        holder: Holder::named("a"),
        attempt: None,
        base: Some(Revision(0)),
        mode: Mode::Recorded,
        limits: Limits::default(),
        gone: Vec::new(),
    };
    wait(store.change(id, Change::new(items, ctx))).unwrap();
    wait(store.attach(key, id, session.seen_at)).unwrap();
    id
}

#[test]
fn what_sessions_that_ended_left_open_is_found_and_nothing_else() {
    let store = InMemory::new();
    let begin = |id: &str, pid, second| wait(record(&store, seen(id, pid, second))).unwrap();
    let end = |id: &str, pid, second| {
        wait(record(&store, Seen { ended: true, ..seen(id, pid, second) })).unwrap()
    };
    let done = begin("done", 1, 1);
    plan(&store, &done, "", 0);
    end("done", 1, 2);
    let left = begin("left", 2, 3);
    let left_plan = plan(&store, &left, "", 2);
    plan(&store, &left, "helper", 1);
    end("left", 2, 4);
    let killed =
        wait(record(&store, Seen { process: Some(ended()), ..seen("killed", 0, 5) })).unwrap();
    let killed_plan = plan(&store, &killed, "", 3);
    let cleared = begin("cleared", 3, 6);
    let cleared_plan = plan(&store, &cleared, "", 1);
    let running = begin("running", 3, 7);
    plan(&store, &running, "", 4);
    let shared = begin("shared", 4, 8);
    let shared_plan = plan(&store, &shared, "", 5);
    end("shared", 4, 9);
    let mut elsewhere = begin("elsewhere", 5, 10);
    elsewhere.project = "/q".to_owned();
    plan(&store, &elsewhere, "", 1);

    let found = || {
        let left = wait(left_open(&store, "/p", "here", at(20))).unwrap();
        left.into_iter().map(|it| (it.session.key.id, it.plan.id, it.plan.open)).collect::<Vec<_>>()
    };
    let expected = [
        ("shared".to_owned(), shared_plan, 5),
        ("cleared".to_owned(), cleared_plan, 1),
        ("killed".to_owned(), killed_plan, 3),
        ("left".to_owned(), left_plan, 2),
    ];
    assert_eq!(found(), expected);
    // Another session works on one of them, another one comes back.
    wait(store.attach(running.attachment(), shared_plan, at(11))).unwrap();
    begin("left", 9, 12);
    assert_eq!(found(), expected[1..3]);
}
