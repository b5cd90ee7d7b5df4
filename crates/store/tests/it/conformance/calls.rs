//! Runs and calls: what is recorded, in which order, and together with which change.

use punchlist_model::call::{CallRecord, CallState, RunFilter, RunRecord, Said};
use punchlist_model::store::{Change, Cursor, Error, Scope};
use punchlist_model::{Attempt, Number, Process, Revision, RunId};
use serde_json::{Value, json};

use super::World;
use crate::support::{
    Desk, add, asked, at, call, ctx, done, follow, next, plan_id, run, run_id, start, wait,
};

fn states(calls: &[CallRecord]) -> String {
    let words = calls.iter().map(|it| format!("{} {}", it.number, it.state.as_str()));
    words.collect::<Vec<_>>().join(", ")
}

pub(crate) fn a_run_is_found_again_with_all_its_fields(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let (host, boot_id) = ("here".to_owned(), "b".to_owned());
    let process = Process { host, boot_id, pid_namespace: 1, pid: 7, start_time: 9 };
    let first = RunRecord { process: Some(process), ..run(1, Some(desk.plan)) };
    let second = RunRecord { project: "/other".to_owned(), ..run(2, None) };
    let third = run(3, Some(desk.plan));
    for run in [&first, &second, &third] {
        wait(desk.store.begin_run(run.clone())).unwrap();
    }
    let store = world.handle();
    let runs = |filter| wait(store.runs(filter)).unwrap();
    let all = runs(RunFilter::default());
    assert_eq!(all, [third.clone(), second.clone(), first.clone()], "the newest first");
    let here = RunFilter { project: Some("/project".to_owned()), ..RunFilter::default() };
    assert_eq!(runs(here), [third.clone(), first.clone()]);
    let on_plan = RunFilter { plan: Some(desk.plan), most: Some(1), ..RunFilter::default() };
    assert_eq!(runs(on_plan), std::slice::from_ref(&third));
    wait(store.end_run(run_id(1), at(50))).unwrap();
    wait(store.end_run(run_id(1), at(60))).unwrap();
    let running = RunFilter { running: true, ..RunFilter::default() };
    assert_eq!(runs(running), [third, second]);
    let ended = RunRecord { ended_at: Some(at(50)), ..first };
    assert_eq!(runs(RunFilter::default())[2], ended, "the first word counts");
}

pub(crate) fn what_is_unknown_is_said_to_be_unknown(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let store = &desk.store;
    let unknown = wait(store.begin_run(run(1, Some(plan_id(9)))));
    assert!(matches!(unknown, Err(Error::NoPlan(id)) if id == plan_id(9)));
    let is_unknown = |error: Error| matches!(error, Error::NoRun(id) if id == run_id(9));
    assert!(is_unknown(wait(store.end_run(run_id(9), at(1))).unwrap_err()));
    assert!(is_unknown(wait(store.calls(run_id(9))).unwrap_err()));
    assert!(is_unknown(wait(store.story(run_id(9))).unwrap_err()));
    assert!(is_unknown(wait(store.interrupt(run_id(9), at(1), Said::new())).unwrap_err()));
    assert!(is_unknown(wait(store.record(run_id(9), vec![], vec![], None)).unwrap_err()));
    wait(store.begin_run(run(1, None))).unwrap();
    let twice = wait(store.begin_run(run(1, None))).unwrap_err();
    assert!(twice.to_string().contains("has already begun"), "{twice}");
    let nobodys = wait(store.record(run_id(1), vec![], vec![asked(1, 4)], None)).unwrap_err();
    assert!(matches!(nobodys, Error::NoCall { call: 4, .. }), "{nobodys}");
}

pub(crate) fn every_field_of_a_call_is_kept(world: &World) {
    let store = world.handle();
    wait(store.begin_run(run(1, None))).unwrap();
    let record = CallRecord {
        number: 7,
        item: Some(Number(3)),
        tool: "shell \u{1b}[31m\u{202e}".to_owned(),
        request: json!({"command": "printf '\u{0}'", "deep": [[[1, 2.5, null]]]}),
        state: CallState::Executing,
        attempt: Attempt(2),
        detail: Some(json!({"stopping": "\u{0}"})),
        at: at(5),
    };
    wait(store.record(run_id(1), vec![record.clone()], vec![], None)).unwrap();
    let there = world.handle();
    assert_eq!(wait(there.calls(run_id(1))).unwrap(), std::slice::from_ref(&record));
    assert_eq!(wait(there.story(run_id(1))).unwrap(), [record]);
}

pub(crate) fn transitions_are_kept_in_order_and_the_newest_counts(world: &World) {
    let store = world.handle();
    wait(store.begin_run(run(1, None))).unwrap();
    wait(store.begin_run(run(2, None))).unwrap();
    let record = |calls| wait(store.record(run_id(1), calls, vec![], None)).unwrap();
    use CallState::{AwaitingApproval, Executing, Scheduled, Success, Validating};
    record(vec![call(1, Validating, 1), call(2, Validating, 1)]);
    record(vec![call(1, Scheduled, 2), call(1, Executing, 2), call(2, Scheduled, 2)]);
    record(vec![call(2, AwaitingApproval, 3)]);
    // A person modified the request.
    let request = json!({"command": "ls"});
    let modified =
        |state, second| CallRecord { request: request.clone(), ..call(2, state, second) };
    record(vec![modified(Validating, 4), modified(Scheduled, 5), call(1, Success, 5)]);
    wait(store.record(run_id(2), vec![call(1, Validating, 9)], vec![], None)).unwrap();
    let there = world.handle();
    let story = wait(there.story(run_id(1))).unwrap();
    assert_eq!(
        states(&story),
        "1 validating, 2 validating, 1 scheduled, 1 executing, 2 scheduled, 2 awaiting_approval, \
         2 validating, 2 scheduled, 1 success"
    );
    let asks: Vec<&Value> =
        story.iter().filter(|it| it.number == 2).map(|it| &it.request).collect();
    let before = &call(2, Validating, 1).request;
    assert_eq!(asks, [before, before, before, &request, &request], "what was asked for when");
    let calls = wait(there.calls(run_id(1))).unwrap();
    assert_eq!(calls, [call(1, Success, 5), modified(Scheduled, 5)]);
}

pub(crate) fn what_has_ended_never_changes(world: &World) {
    let store = world.handle();
    wait(store.begin_run(run(1, None))).unwrap();
    let record = |calls| wait(store.record(run_id(1), calls, vec![], None));
    record(vec![call(1, CallState::Cancelled, 1), call(2, CallState::Scheduled, 1)]).unwrap();
    let late = record(vec![call(2, CallState::Executing, 2), call(1, CallState::Success, 2)]);
    let Err(Error::CallMoved { run, call: number, from, to }) = late else { panic!("{late:?}") };
    assert_eq!((run, number), (run_id(1), 1));
    assert_eq!((from, to), (CallState::Cancelled, CallState::Success));
    let within = record(vec![call(3, CallState::Error, 2), call(3, CallState::Success, 2)]);
    assert!(matches!(within, Err(Error::CallMoved { call: 3, .. })), "{within:?}");
    let calls = wait(store.calls(run_id(1))).unwrap();
    assert_eq!(states(&calls), "1 cancelled, 2 scheduled", "all of it or nothing");
    assert_eq!(wait(store.story(run_id(1))).unwrap().len(), 2);
}

pub(crate) fn a_plan_and_its_calls_change_together(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("a"), add("b")]);
    wait(desk.store.begin_run(run(1, Some(desk.plan)))).unwrap();
    let mut news = follow(&*desk.store, Cursor::Now, Scope::All);
    let change = Change::new(vec![start(1)], desk.ctx());
    let records = vec![call(1, CallState::Executing, 2)];
    let applied =
        wait(desk.store.record(run_id(1), records, vec![], Some((desk.plan, change)))).unwrap();
    let applied = applied.expect("a plan was changed");
    assert_eq!(applied.revision(), Revision(2));
    assert_eq!(applied.items()[0].title, "a");
    assert_eq!(desk.list(), "1:a in progress, 2:b pending");
    assert_eq!(next(&mut news).1.revision, Revision(2), "followers are told as always");
    assert_eq!(states(&wait(world.handle().calls(run_id(1))).unwrap()), "1 executing");
    // The change has no effect, but the call is recorded.
    let change = Change::new(vec![], desk.ctx());
    let records = vec![call(1, CallState::Success, 3)];
    let applied =
        wait(desk.store.record(run_id(1), records, vec![], Some((desk.plan, change)))).unwrap();
    assert_eq!(applied.unwrap().revision(), Revision(2));
    assert_eq!(states(&wait(desk.store.calls(run_id(1))).unwrap()), "1 success");
    let none = wait(desk.store.record(run_id(1), vec![], vec![], None)).unwrap();
    assert!(none.is_none(), "no plan was meant");
}

pub(crate) fn a_refused_change_records_nothing(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("a")]);
    wait(desk.store.begin_run(run(1, Some(desk.plan)))).unwrap();
    let before = desk.whole();
    let record = |change: Change, calls| {
        let questions = vec![asked(1, 1)];
        wait(desk.store.record(run_id(1), calls, questions, Some((desk.plan, change))))
    };
    let waits = || vec![call(1, CallState::AwaitingApproval, 2)];
    let refused = record(Change::new(vec![done(9)], desk.ctx()), waits());
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    let late = Change { expect: Some(Revision(0)), ..Change::new(vec![done(1)], desk.ctx()) };
    assert!(matches!(record(late, waits()), Err(Error::Revision { .. })));
    // And the other way round: if a call cannot be recorded, the plan stays unchanged.
    let illegal = vec![call(1, CallState::Success, 2), call(1, CallState::Executing, 2)];
    let refused = record(Change::new(vec![done(1)], desk.ctx()), illegal);
    assert!(matches!(refused, Err(Error::CallMoved { .. })), "{refused:?}");
    assert_eq!(desk.whole(), before);
    assert_eq!(desk.journal().len(), 1);
    assert_eq!(wait(desk.store.calls(run_id(1))).unwrap(), []);
    assert_eq!(wait(desk.store.questions(Default::default())).unwrap(), []);
    // The store's view of the plan is still correct.
    desk.must(vec![done(1)]);
    assert_eq!(desk.whole().revision, Revision(2));
}

pub(crate) fn who_stays_for_long_knows_its_plan_after_a_record(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let other = Desk::at(world.handle(), desk.plan, "bob");
    desk.must((0..30).map(|n| add(&n.to_string())).collect());
    wait(desk.store.begin_run(run(1, Some(desk.plan)))).unwrap();
    for n in 1..=30 {
        let change = Change::new(vec![done(n)], desk.ctx());
        let records = vec![call(n, CallState::Success, 2)];
        wait(desk.store.record(run_id(1), records, vec![], Some((desk.plan, change)))).unwrap();
        assert_eq!(desk.whole(), other.whole());
        if n % 3 == 0 {
            let refused = Change::new(vec![done(99)], desk.ctx());
            let records = vec![call(n + 100, CallState::Success, 2)];
            let change = Some((desk.plan, refused));
            assert!(wait(desk.store.record(run_id(1), records, vec![], change)).is_err());
            assert_eq!(desk.whole(), other.whole());
        }
    }
    assert_eq!(wait(other.store.calls(run_id(1))).unwrap().len(), 30);
}

pub(crate) fn after_a_crash_what_was_executing_is_cancelled(world: &World) {
    let store = world.handle();
    wait(store.begin_run(run(1, None))).unwrap();
    use CallState::{AwaitingApproval, Error as Failed, Executing, Scheduled, Success, Validating};
    let all = [Validating, Scheduled, AwaitingApproval, Executing, Success, Failed, Executing];
    let calls = all.into_iter().zip(1..).map(|(state, n)| call(n, state, 1)).collect();
    wait(store.record(run_id(1), calls, vec![asked(1, 3)], None)).unwrap();
    drop(store);
    let store = world.handle();
    let outputs = Said::from([(7, json!({"text": "half of it"})), (5, json!({"text": "late"}))]);
    let found = wait(store.interrupt(run_id(1), at(9), outputs)).unwrap();
    assert_eq!(states(&found), "4 cancelled, 7 cancelled");
    assert_eq!(found[0].detail, Some(json!("interrupted")));
    let kept = json!({"cancelled": {"reason": "interrupted", "output": {"text": "half of it"}}});
    assert_eq!(found[1].detail, Some(kept), "a call that was cut short keeps what it had said");
    assert_eq!((found[0].at, found[0].attempt), (at(9), Attempt(1)));
    let calls = wait(store.calls(run_id(1))).unwrap();
    assert_eq!(
        states(&calls),
        "1 validating, 2 scheduled, 3 awaiting_approval, 4 cancelled, 5 success, 6 error, \
         7 cancelled"
    );
    assert_eq!(calls[3], found[0]);
    let waiting = wait(store.questions(super::questions::waiting())).unwrap();
    assert_eq!(waiting.len(), 1, "a question survives");
    assert_eq!(
        wait(store.interrupt(run_id(1), at(10), Said::new())).unwrap(),
        [],
        "once is enough"
    );
    // A process that was wrongly believed dead cannot go on.
    let late = wait(store.record(run_id(1), vec![call(4, Success, 11)], vec![], None));
    assert!(matches!(late, Err(Error::CallMoved { call: 4, .. })), "{late:?}");
}

pub(crate) fn two_processes_that_interrupt_at_once_do_it_once(world: &World) {
    let store = world.handle();
    wait(store.begin_run(run(1, None))).unwrap();
    let calls = (1..=20).map(|n| call(n, CallState::Executing, 1)).collect();
    wait(store.record(run_id(1), calls, vec![], None)).unwrap();
    let found: Vec<usize> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    wait(world.handle().interrupt(run_id(1), at(2), Said::new())).unwrap().len()
                })
            })
            .collect();
        workers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(found.iter().sum::<usize>(), 20, "{found:?}");
    assert_eq!(wait(store.story(run_id(1))).unwrap().len(), 40);
}

pub(crate) fn calls_of_many_processes_lose_nothing(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must((0..40).map(|n| add(&n.to_string())).collect());
    std::thread::scope(|scope| {
        for worker in 1..=4_u8 {
            scope.spawn(move || {
                let store = world.handle();
                wait(store.begin_run(run(worker, Some(plan_id(1))))).unwrap();
                for n in 1..=10_u32 {
                    let item = u32::from(worker - 1) * 10 + n;
                    let change = Change::new(vec![done(item)], ctx("ann", i64::from(item)));
                    let states =
                        [CallState::Validating, CallState::Scheduled, CallState::Executing];
                    let calls = states.map(|state| call(n, state, 1)).to_vec();
                    let id: RunId = run_id(worker);
                    wait(store.record(id, calls, vec![], None)).unwrap();
                    let ended = vec![call(n, CallState::Success, 2)];
                    wait(store.record(id, ended, vec![], Some((plan_id(1), change)))).unwrap();
                }
            });
        }
    });
    let plan = desk.whole();
    assert_eq!((plan.open, plan.revision), (0, Revision(41)));
    for worker in 1..=4 {
        let story = wait(desk.store.story(run_id(worker))).unwrap();
        assert_eq!(story.len(), 40);
        assert!(
            wait(desk.store.calls(run_id(worker))).unwrap().iter().all(|it| it.state.has_ended())
        );
    }
}
