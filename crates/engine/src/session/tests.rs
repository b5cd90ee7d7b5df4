//! Sessions that begin, continue and end.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use punchlist_model::guard::Gate;
use punchlist_model::remind;
use punchlist_model::session::Store;
use punchlist_model::store::memory::Memory as InMemory;
use punchlist_model::store::{Change, NewPlan, PlanStore};
use punchlist_model::{
    Ctx, IdSource, Item, Limits, Mark, Mode, NewItem, Number, Op, Plan, PlanId, Revision,
};

use super::*;

/// The in-memory store is always ready.
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

/// A process on another host: nothing here can tell whether it has ended.
fn process(pid: u32) -> Process {
    let (host, boot_id) = ("elsewhere".to_owned(), "boot".to_owned());
    Process { host, boot_id, pid_namespace: 1, pid, start_time: 1 }
}

/// A process on this host that has certainly ended.
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
    assert_eq!(version(seen("a", 10, 299)), 1, "seen again soon after");
    assert_eq!(version(seen("a", 10, 300)), 2, "seen again later");
    assert_eq!(version(seen("a", 0, 301)), 2, "its process could not be seen this time");
    assert_eq!(version(seen("a", 11, 302)), 3, "resumed in another process");
    let elsewhere =
        Seen { directory: "/q".to_owned(), project: "/q".to_owned(), ..seen("a", 11, 303) };
    let there = wait(record(&store, elsewhere)).unwrap();
    assert_eq!((there.version, there.directory.as_str()), (4, "/q"));
    assert_eq!(there.project, "/p", "it keeps its project, and so its plan");
    assert_eq!(
        version(Seen { interactive: Some(true), directory: String::new(), ..seen("a", 11, 304) }),
        5
    );
    let there = wait(store.session(key("a"))).unwrap().unwrap();
    assert_eq!((there.begun_at, there.seen_at, there.version), (at(0), at(304), 5));
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
    // A process from before a reboot has ended, however recently it was seen.
    let before = Process { boot_id: "before".to_owned(), ..ended() };
    let there = wait(record(&store, Seen { process: Some(before), ..seen("b", 0, 0) })).unwrap();
    assert!(!is_live(&there, "here", at(1)));
}

#[test]
fn a_new_session_comes_upon_those_that_were_killed() {
    let store = InMemory::new();
    let me = process::process("here", std::process::id()).unwrap();
    let with = |id: &str, process: &Process, second| {
        let seen = Seen { process: Some(process.clone()), ..seen(id, 0, second) };
        wait(record(&store, seen)).unwrap();
    };
    let ended_at = |id: &str| wait(store.session(key(id))).unwrap().unwrap().ended_at;
    with("killed", &ended(), 1);
    with("elsewhere", &process(7), 2);
    assert_eq!(ended_at("killed"), None);
    with("new", &me, 3);
    assert_eq!(
        (ended_at("killed"), ended_at("elsewhere"), ended_at("new")),
        (Some(at(1)), None, None)
    );
    // It has not been seen for a day.
    with("later", &me, 2 + 24 * 60 * 60);
    assert_eq!(ended_at("elsewhere"), Some(at(2)));
    with("elsewhere", &process(7), 90_000);
    assert_eq!(ended_at("elsewhere"), None, "it was only quiet");
}

#[test]
fn after_clear_or_resume_inside_the_program_the_process_has_another_session() {
    let store = InMemory::new();
    wait(record(&store, seen("a", 10, 0))).unwrap();
    assert_eq!(current_id(&store, &[99, 10], None).as_deref(), Some("a"));
    wait(record(&store, Seen { ended: true, ..seen("a", 10, 5) })).unwrap();
    wait(record(&store, seen("b", 10, 5))).unwrap();
    assert_eq!(current_id(&store, &[99, 10], None).as_deref(), Some("b"));
    // The environment of a program that was started earlier still names the first session.
    assert_eq!(current_id(&store, &[99, 10], Some("a")).as_deref(), Some("b"));
    // Back to the first session, at the same time, without an end event of the second.
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
        // Another process writes between our read and our write.
        if !disturbed.swap(true, Ordering::Relaxed) {
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
    // If another process always does, the update gives up.
    let count = AtomicU32::new(0);
    let crowd = wait(update(&store, &key("a"), |memory| {
        let n = count.fetch_add(1, Ordering::Relaxed);
        wait(update(&store, &key("a"), |memory| memory.written_with = Some(n.to_string())))
            .unwrap();
        memory.gate = None;
    }));
    assert!(crowd.unwrap_err().to_string().contains("too many processes at once"));
    assert_eq!(count.into_inner(), TRIES);
}

/// The context of a session at this time.
fn ctx(session: &Session, now: Timestamp) -> Ctx {
    Ctx {
        now,
        ids: IdSource::fixed(now, session.key.id.as_bytes()[0]),
        actor: session.actor(""),
        holder: session.holder(""),
        attempt: None,
        base: Some(Revision(0)),
        mode: Mode::Enforced,
        limits: Limits::default(),
        gone: Vec::new(),
        anyway: false,
    }
}

/// Gives a session a plan with this many open items.
fn plan(store: &dyn Store, session: &Session, sub_agent: &str, open: usize) -> PlanId {
    let key = session.key.attachment(&session.project, sub_agent);
    static PLANS: AtomicU8 = AtomicU8::new(0);
    let id = IdSource::fixed(session.seen_at, PLANS.fetch_add(1, Ordering::Relaxed)).plan();
    let new = NewPlan::new(id, key.project.clone(), session.seen_at);
    wait(store.create(new)).unwrap();
    let items: Vec<_> = (0..open)
        .map(|n| NewItem::titled(format!("Item {n}")))
        .map(|it| Op::Add(Box::new(it)))
        .collect();
    let ctx = ctx(session, session.seen_at);
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
    // A session works on one of them, and another session comes back.
    wait(store.attach(running.attachment(), shared_plan, at(11))).unwrap();
    begin("left", 9, 12);
    assert_eq!(found(), expected[1..3]);
}

/// An ended session with three open items, the second in progress and the third parked, and a
/// running session that will adopt them.
fn heir(store: &InMemory, open: usize) -> (Session, PlanId, Session) {
    let old = wait(record(store, seen("old", 1, 1))).unwrap();
    let left = plan(store, &old, "", 3);
    let ops = vec![Op::Start(Number(2).into()), Op::Park(vec![Number(3)])];
    wait(store.change(left, Change::new(ops, ctx(&old, at(2))))).unwrap();
    let old = wait(record(store, Seen { ended: true, ..seen("old", 1, 3) })).unwrap();
    let new = wait(record(store, seen("new", 1, 4))).unwrap();
    if open > 0 {
        plan(store, &new, "", open);
    }
    (old, left, new)
}

/// The items on a list: number, title, status, and whether it is parked.
fn listed(plan: &Plan) -> Vec<String> {
    let line = |it: &Item| {
        let parked = if it.marks.contains(&Mark::Parked) { " parked" } else { "" };
        format!("{} {} {}{parked}", it.number, it.title, it.status.as_str())
    };
    plan.listed().into_iter().map(line).collect()
}

fn whole(store: &InMemory, plan: PlanId) -> Plan {
    wait(store.whole(plan)).unwrap()
}

#[test]
fn a_session_with_nothing_open_is_attached_to_what_was_left() {
    let store = InMemory::new();
    let (old, left, new) = heir(&store, 0);
    wait(update(&store, &new.key, |memory| memory.mirrored.insert("7".to_owned(), Number(7))))
        .unwrap();
    let adopted = wait(adopt(&store, &new, left, Some(&old), &ctx(&new, at(9)))).unwrap();
    assert!(!adopted.moved);
    // Nothing is claimed or parked any more.
    assert_eq!(listed(&adopted.plan), ["1 Item 0 pending", "2 Item 1 pending", "3 Item 2 pending"]);
    assert_eq!(adopted.plan, whole(&store, left));
    assert_eq!(wait(store.attachment(new.attachment())).unwrap().unwrap().plan, left);
    let memory = wait(store.session(new.key.clone())).unwrap().unwrap().memory;
    assert_eq!(memory.mirrored.len(), 1, "it had no other plan, so these still mean the same");
    let again = wait(adopt(&store, &new, left, None, &ctx(&new, at(10)))).unwrap();
    assert_eq!(again, adopted, "once more changes nothing");
    assert_eq!(wait(left_open(&store, "/p", "here", at(11))).unwrap(), []);
}

#[test]
fn a_session_that_leaves_a_finished_plan_forgets_what_it_mirrored_there() {
    let store = InMemory::new();
    let (old, left, new) = heir(&store, 0);
    plan(&store, &new, "", 0);
    wait(update(&store, &new.key, |memory| memory.mirrored.insert("7".to_owned(), Number(7))))
        .unwrap();
    wait(adopt(&store, &new, left, Some(&old), &ctx(&new, at(9)))).unwrap();
    let memory = wait(store.session(new.key)).unwrap().unwrap().memory;
    assert!(memory.mirrored.is_empty());
    let mut watch = memory.watch;
    let agent = remind::Agent {
        has_tools: true,
        reminds_itself: false,
        echoes_changes: false,
        hears_compaction: true,
    };
    let prompt = remind::Input::Prompt { open: 3 };
    let said = watch.step(&remind::Policy::default(), agent, prompt, at(10));
    assert_eq!(said, [remind::Reminder::Boundary], "the model hears of it with the next prompt");
}

#[test]
fn what_was_offered_and_is_taken_over_was_acted_on() {
    for open in [0, 1] {
        let store = InMemory::new();
        let (old, left, new) = heir(&store, open);
        let offer = remind::Kind::Offer;
        wait(update(&store, &new.key, |memory| memory.watch.gave(offer, "3 open", at(8)))).unwrap();
        wait(adopt(&store, &new, left, Some(&old), &ctx(&new, at(9)))).unwrap();
        let memory = wait(store.session(new.key)).unwrap().unwrap().memory;
        let tally = memory.watch.ledger.kinds[&offer];
        assert_eq!((tally.given, tally.acted, tally.ignored), (1, 1, 0), "{open} of its own open");
    }
}

#[test]
fn a_session_with_open_items_gets_what_was_left_into_its_own_plan() {
    let store = InMemory::new();
    let (old, left, new) = heir(&store, 1);
    let adopted = wait(adopt(&store, &new, left, Some(&old), &ctx(&new, at(9)))).unwrap();
    assert!(adopted.moved);
    let here = ["1 Item 0 pending", "2 Item 0 pending", "3 Item 1 pending", "4 Item 2 pending"];
    assert_eq!(listed(&adopted.plan), here);
    let there = whole(&store, left);
    assert_eq!(there.open, 0);
    let outcomes: Vec<_> = there.listed().into_iter().filter_map(|it| it.outcome.clone()).collect();
    let own = adopted.plan.id.short();
    let expected = [2, 3, 4].map(|number| format!("moved to plan {own} as {number}"));
    assert_eq!(outcomes, expected);
    let again = wait(adopt(&store, &new, left, None, &ctx(&new, at(10)))).unwrap();
    assert_eq!(again, adopted, "once more moves nothing");
}

#[test]
fn what_is_taken_back_is_open_again_where_it_came_from_and_may_be_adopted_once_more() {
    let store = InMemory::new();
    let (old, left, new) = heir(&store, 1);
    let mine = ctx(&new, at(9));
    let adopted = wait(adopt(&store, &new, left, Some(&old), &mine)).unwrap();
    // One item was completed there meanwhile.
    let reopen = Op::Reopen { item: Number(2).into(), start: false };
    let done = Op::Complete { item: Number(2).into(), outcome: None, with_children: false };
    wait(store.change(left, Change::new(vec![reopen, done], ctx(&old, at(10))))).unwrap();

    let own = adopted.plan.id;
    let undone = wait(store.undo(own, mine.clone(), None)).unwrap();
    wait(give_back(&store, own, &undone.decision.events, &mine)).unwrap();
    assert_eq!(listed(&whole(&store, own)), ["1 Item 0 pending"]);
    assert_eq!(
        listed(&whole(&store, left)),
        ["1 Item 0 pending", "2 Item 1 completed", "3 Item 2 pending"]
    );

    let again = wait(adopt(&store, &new, left, None, &ctx(&new, at(11)))).unwrap();
    assert_eq!(listed(&again.plan), ["1 Item 0 pending", "5 Item 0 pending", "6 Item 2 pending"]);
    assert_eq!(whole(&store, left).open, 0);
}

#[test]
fn whoever_was_interrupted_between_the_two_plans_goes_on_and_doubles_nothing() {
    let store = InMemory::new();
    let (old, left, new) = heir(&store, 1);
    let adopted = wait(adopt(&store, &new, left, Some(&old), &ctx(&new, at(9)))).unwrap();
    // As if the process had been killed halfway: the items are here, and still open there.
    let reopen = |n| Op::Reopen { item: Number(n).into(), start: false };
    wait(store.change(left, Change::new(vec![reopen(1), reopen(3)], ctx(&old, at(10))))).unwrap();
    let again = wait(adopt(&store, &new, left, Some(&old), &ctx(&new, at(11)))).unwrap();
    assert_eq!(listed(&again.plan), listed(&adopted.plan));
    assert_eq!(whole(&store, left).open, 0);
}

#[test]
fn what_another_took_on_first_is_not_kept_twice() {
    let store = InMemory::new();
    let (old, left, new) = heir(&store, 1);
    let adopted = wait(adopt(&store, &new, left, Some(&old), &ctx(&new, at(9)))).unwrap();
    // As if another session had taken the first and completed the second after they were added
    // here.
    let reopen = |n| Op::Reopen { item: Number(n).into(), start: false };
    let cancel =
        Op::Cancel { item: Number(1).into(), reason: Some("moved to plan beef as 1".to_owned()) };
    let complete = Op::Complete { item: Number(2).into(), outcome: None, with_children: false };
    let ops = vec![reopen(1), reopen(2), reopen(3), cancel, complete];
    wait(store.change(left, Change::new(ops, ctx(&old, at(10))))).unwrap();
    let again = wait(adopt(&store, &new, left, Some(&old), &ctx(&new, at(11)))).unwrap();
    assert_eq!(listed(&adopted.plan).len(), 4);
    assert_eq!(listed(&again.plan), ["1 Item 0 pending", "4 Item 2 pending"]);
}
