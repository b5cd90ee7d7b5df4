//! The turns of conversations, their entries, and what they have used.

use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_model::store::turns::{
    ConversationFilter, ConversationState, EntryFilter, NewEntry, Runner, Turn, TurnEntry,
    TurnRecord, Used,
};
use punchlist_model::{ConversationId, PlanId};

use super::World;
use super::conversations::{held, runner};
use crate::support::{at, conversation_id, new_plan, plan_id, wait};

/// A turn that has begun.
pub(crate) fn turn(number: u32) -> Turn {
    Turn {
        number,
        id: format!("turn {number}"),
        plan: None,
        machine: "{\"state\":\"new\"}".to_owned(),
        began_at: at(i64::from(number)),
        ended_at: None,
        ending: None,
        used: Used::default(),
    }
}

/// An entry that is not the answer of a model call.
pub(crate) fn entry(body: &str) -> NewEntry {
    NewEntry { kind: "info".to_owned(), body: body.to_owned(), used: Used::default() }
}

/// The answer of a model call that used so many tokens.
fn answer(tokens: u64) -> NewEntry {
    let used = Used { calls: 1, input: tokens, output: 2 * tokens, cost_micros: 3 * tokens };
    NewEntry { kind: "answer".to_owned(), body: "{}".to_owned(), used }
}

fn used(calls: u64, tokens: u64) -> Used {
    Used { calls, input: tokens, output: 2 * tokens, cost_micros: 3 * tokens }
}

pub(crate) fn record(turn: Turn, entries: Vec<NewEntry>, seconds: i64) -> TurnRecord {
    let (taken, queue_paused, state) = (Vec::new(), None, ConversationState::Working);
    TurnRecord { turn, entries, taken, queue_paused, state, at: at(seconds) }
}

fn write(store: &dyn Store, id: ConversationId, record: TurnRecord) -> Result<u64, Error> {
    wait(store.record_turn(id, "ann".to_owned(), record))
}

fn entries(store: &dyn Store, id: ConversationId, filter: EntryFilter) -> Vec<TurnEntry> {
    wait(store.entries(id, filter)).unwrap()
}

/// Everything that a store keeps of a conversation.
fn all(store: &dyn Store, id: ConversationId) -> String {
    let conversation = wait(store.conversation(id)).unwrap();
    let turns = wait(store.turns(id)).unwrap();
    format!("{conversation:?} {turns:?} {:?}", entries(store, id, EntryFilter::default()))
}

pub(crate) fn every_field_of_a_turn_and_its_entries_is_kept(world: &World) {
    let store = world.handle();
    wait(store.create(new_plan(1))).unwrap();
    let id = held(&*store, 1, "ann");
    let turn = Turn {
        plan: Some(plan_id(1)),
        machine: "{\"it's\": \"\u{1f980}\"}".to_owned(),
        ended_at: Some(at(9)),
        ending: Some("done".to_owned()),
        ..turn(1)
    };
    let hostile = entry("not JSON: it's \"\0\u{1b}[31m");
    let last = write(&*store, id, record(turn.clone(), vec![answer(5), hostile.clone()], 9));
    assert_eq!(last.unwrap(), 2);
    let there = world.handle();
    assert_eq!(wait(there.turns(id)).unwrap(), [Turn { used: used(1, 5), ..turn }]);
    let expected = [answer(5), hostile].into_iter().zip(1..).map(|(new, number)| TurnEntry {
        number,
        turn: 1,
        at: at(9),
        kind: new.kind,
        body: new.body,
        used: new.used,
    });
    let expected: Vec<TurnEntry> = expected.collect();
    assert_eq!(entries(&*there, id, EntryFilter::default()), expected);
}

pub(crate) fn a_turn_is_created_once_and_then_updated(world: &World) {
    let store = world.handle();
    let id = held(&*store, 1, "ann");
    assert_eq!(write(&*store, id, record(turn(1), Vec::new(), 1)).unwrap(), 0);
    assert_eq!(write(&*store, id, record(turn(2), vec![entry("{}")], 2)).unwrap(), 1);
    let ended = Turn {
        machine: "{\"state\":\"ended\"}".to_owned(),
        ended_at: Some(at(3)),
        ending: Some("stopped".to_owned()),
        ..turn(1)
    };
    assert_eq!(write(&*store, id, record(ended.clone(), Vec::new(), 3)).unwrap(), 1);
    assert_eq!(wait(store.turns(id)).unwrap(), [ended, turn(2)]);
    let conversation = wait(store.conversation(id)).unwrap();
    assert_eq!((conversation.turns, conversation.changed_at), (2, at(3)));
}

pub(crate) fn the_state_is_that_of_the_last_record(world: &World) {
    let store = world.handle();
    let id = held(&*store, 1, "ann");
    let on = "the quota of a provider".to_owned();
    for state in [
        ConversationState::Working,
        ConversationState::Asked,
        ConversationState::Waiting { until: Some(at(99)), on: on.clone() },
        ConversationState::Waiting { until: None, on },
        ConversationState::Idle,
    ] {
        let recorded = TurnRecord { state: state.clone(), ..record(turn(1), Vec::new(), 1) };
        write(&*store, id, recorded).unwrap();
        assert_eq!(wait(store.conversation(id)).unwrap().state, state);
    }
}

pub(crate) fn a_record_under_a_lost_lease_writes_nothing(world: &World) {
    let store = world.handle();
    let id = held(&*store, 1, "ann");
    write(&*store, id, record(turn(1), vec![answer(1)], 1)).unwrap();
    // The lease has ended at 100, but nobody else took it.
    write(&*store, id, record(turn(1), vec![answer(1)], 150)).unwrap();
    let of_bob = Runner { until: at(300), ..runner("bob", 0) };
    wait(store.hold(id, of_bob, at(200), Vec::new())).unwrap();
    let before = all(&*store, id);
    for number in [1, 2] {
        let late = write(&*store, id, record(turn(number), vec![answer(1)], 201));
        let words = late.unwrap_err().to_string();
        assert!(words.ends_with("is run by another process (bob)"), "{words}");
    }
    assert_eq!(all(&*store, id), before);
    wait(store.let_go(id, "bob".to_owned())).unwrap();
    let before = all(&*store, id);
    let late = write(&*store, id, record(turn(1), vec![answer(1)], 202));
    let words = late.unwrap_err().to_string();
    assert!(words.ends_with("is no longer run by this process"), "{words}");
    assert_eq!(all(&*store, id), before);
}

pub(crate) fn a_turn_of_an_unknown_plan_writes_nothing(world: &World) {
    let store = world.handle();
    let id = held(&*store, 1, "ann");
    let before = all(&*store, id);
    let turn = Turn { plan: Some(plan_id(9)), ..turn(1) };
    let refused = write(&*store, id, record(turn, vec![answer(1)], 1));
    let expected: PlanId = plan_id(9);
    assert!(matches!(refused, Err(Error::NoPlan(plan)) if plan == expected));
    assert_eq!(all(&*store, id), before);
}

pub(crate) fn entries_count_through_all_turns_and_are_filtered(world: &World) {
    let store = world.handle();
    let (id, other) = (held(&*store, 1, "ann"), held(&*store, 2, "ann"));
    for (number, last) in [(1, 2), (2, 4), (3, 6)] {
        let both = vec![entry("{}"), entry("{}")];
        assert_eq!(write(&*store, id, record(turn(number), both, 1)).unwrap(), last);
        write(&*store, other, record(turn(number), vec![entry("{}")], 1)).unwrap();
    }
    // An entry may come late.
    assert_eq!(write(&*store, id, record(turn(2), vec![entry("{}")], 2)).unwrap(), 7);
    let check = |after, turn, last, expected: &[u64]| {
        let filter = EntryFilter { after, turn, last, ..EntryFilter::default() };
        let found = entries(&*store, id, filter);
        assert!(turn.is_none_or(|turn| found.iter().all(|it| it.turn == turn)));
        let numbers: Vec<u64> = found.iter().map(|it| it.number).collect();
        assert_eq!(numbers, expected, "after {after}, turn {turn:?}, last {last}");
    };
    let kind = |kind| {
        let filter = EntryFilter { kind: Some(kind), last: 2, ..EntryFilter::default() };
        entries(&*store, id, filter).iter().map(|it| it.number).collect::<Vec<u64>>()
    };
    assert_eq!((kind("info"), kind("summary")), (vec![6, 7], Vec::new()));
    let but = |kind| {
        let filter = EntryFilter { but: Some(kind), last: 2, ..EntryFilter::default() };
        entries(&*store, id, filter).iter().map(|it| it.number).collect::<Vec<u64>>()
    };
    assert_eq!((but("info"), but("summary")), (Vec::new(), vec![6, 7]));
    check(0, None, 0, &[1, 2, 3, 4, 5, 6, 7]);
    check(5, None, 0, &[6, 7]);
    check(7, None, 0, &[]);
    check(u64::MAX, None, 0, &[]);
    check(0, Some(2), 0, &[3, 4, 7]);
    check(3, Some(2), 0, &[4, 7]);
    check(0, Some(2), 2, &[4, 7]);
    check(0, None, 3, &[5, 6, 7]);
    check(6, None, 3, &[7]);
    check(0, Some(9), 0, &[]);
}

pub(crate) fn two_that_record_at_once_leave_no_gap(world: &World) {
    let id = held(&*world.handle(), 1, "ann");
    std::thread::scope(|scope| {
        for number in 1..=2 {
            let store = world.handle();
            scope.spawn(move || {
                for seconds in 0..20 {
                    let both = vec![answer(1), entry("{}")];
                    write(&*store, id, record(turn(number), both, seconds)).unwrap();
                }
            });
        }
    });
    let store = world.handle();
    let found = entries(&*store, id, EntryFilter::default());
    assert!(found.iter().map(|it| it.number).eq(1..=80));
    // The two entries of a record stay together.
    assert!(found.chunks(2).all(|pair| pair[0].turn == pair[1].turn));
    let turns = wait(store.turns(id)).unwrap();
    assert!(turns.iter().all(|it| it.used == used(20, 20)), "{turns:?}");
    let conversation = wait(store.conversation(id)).unwrap();
    assert_eq!((conversation.turns, conversation.used), (2, used(40, 40)));
}

pub(crate) fn what_was_used_is_added_up(world: &World) {
    let store = world.handle();
    let (id, other) = (held(&*store, 1, "ann"), held(&*store, 2, "ann"));
    let claims = Turn { used: used(99, 99), ..turn(1) };
    write(&*store, id, record(claims, vec![answer(1), entry("{}"), answer(2)], 10)).unwrap();
    write(&*store, id, record(turn(1), vec![answer(4)], 20)).unwrap();
    write(&*store, id, record(turn(2), vec![answer(8)], 30)).unwrap();
    write(&*store, other, record(turn(1), vec![answer(16)], 40)).unwrap();
    let turns: Vec<Used> = wait(store.turns(id)).unwrap().iter().map(|it| it.used).collect();
    assert_eq!(turns, [used(3, 7), used(1, 8)]);
    assert_eq!(wait(store.conversation(id)).unwrap().used, used(4, 15));
    let listed = wait(store.conversations(ConversationFilter::default())).unwrap();
    let listed: Vec<Used> = listed.iter().map(|it| it.used).collect();
    assert_eq!(listed, [used(1, 16), used(4, 15)]);
    for (since, expected) in [
        (0, used(5, 31)),
        (10, used(5, 31)),
        (11, used(3, 28)),
        (30, used(2, 24)),
        (40, used(1, 16)),
        (41, Used::default()),
    ] {
        assert_eq!(wait(store.used_since(at(since))).unwrap(), expected, "{since}");
    }
}

pub(crate) fn what_was_used_on_a_plan_is_added_up_over_all_conversations(world: &World) {
    let store = world.handle();
    let (id, other) = (held(&*store, 1, "ann"), held(&*store, 2, "ann"));
    for n in [1, 2] {
        wait(store.create(new_plan(n))).unwrap();
    }
    let on = |number: u32, plan: u8| Turn { plan: Some(plan_id(plan)), ..turn(number) };
    write(&*store, id, record(on(1, 1), vec![answer(1), answer(2)], 10)).unwrap();
    write(&*store, id, record(on(2, 2), vec![answer(4)], 20)).unwrap();
    write(&*store, id, record(turn(3), vec![answer(8)], 30)).unwrap();
    write(&*store, other, record(on(1, 1), vec![answer(16)], 40)).unwrap();
    for (plan, expected) in [(1, (2, used(3, 19))), (2, (1, used(1, 4))), (3, (0, used(0, 0)))] {
        assert_eq!(wait(store.used_on(plan_id(plan))).unwrap(), expected, "{plan}");
    }
}

pub(crate) fn absurd_numbers_do_not_stop_the_work(world: &World) {
    let store = world.handle();
    let id = held(&*store, 1, "ann");
    let absurd = || NewEntry {
        used: Used { calls: 1, input: u64::MAX, output: u64::MAX, cost_micros: u64::MAX },
        ..answer(0)
    };
    write(&*store, id, record(turn(1), vec![absurd(), absurd()], 1)).unwrap();
    write(&*store, id, record(turn(1), vec![absurd()], 1)).unwrap();
    let all = wait(store.used_since(at(0))).unwrap();
    let listed = wait(store.conversation(conversation_id(1))).unwrap().used;
    for used in [all, listed] {
        assert_eq!(used.calls, 3);
        assert!(used.input >= i64::MAX.unsigned_abs(), "{used:?}");
    }
}
