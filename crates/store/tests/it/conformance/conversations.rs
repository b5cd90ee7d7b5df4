//! The conversations of our own agent, and who runs them.

use punchlist_model::ConversationId;
use punchlist_model::call::NewMessage;
use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_model::store::turns::{
    Conversation, ConversationFilter, ConversationState, EntryFilter, Runner, Used,
};

use super::World;
use super::turn_entries::{entry, record, turn};
use crate::support::{
    Desk, add, at, conversation_id, heard, message_id, new_plan, plan_id, process, wait,
};

/// A conversation in the project of the tests.
pub(crate) fn conversation(n: u8) -> Conversation {
    Conversation {
        directory: "/project/below".to_owned(),
        title: format!("Request {n}"),
        ..Conversation::new(conversation_id(n), "/project", at(i64::from(n)))
    }
}

/// A runner whose lease ends after so many seconds.
pub(crate) fn runner(name: &str, until: i64) -> Runner {
    Runner { name: name.to_owned(), process: None, until: at(until) }
}

/// Creates a conversation that this runner holds.
pub(crate) fn held(store: &dyn Store, n: u8, name: &str) -> ConversationId {
    let new = Conversation { runner: Some(runner(name, 100)), ..conversation(n) };
    wait(store.create_conversation(new)).unwrap();
    conversation_id(n)
}

fn hold(store: &dyn Store, runner: Runner, now: i64, gone: &[&str]) -> Result<(), Error> {
    let gone = gone.iter().map(|it| (*it).to_owned()).collect();
    wait(store.hold(conversation_id(1), runner, at(now), gone))
}

fn get(store: &dyn Store) -> Conversation {
    wait(store.conversation(conversation_id(1))).unwrap()
}

/// Who holds the conversation, according to the error.
#[track_caller]
fn holder<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Held { runner, .. }) => runner,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check_found(store: &dyn Store, filter: ConversationFilter, expected: &[u8]) {
    let found = wait(store.conversations(filter.clone())).unwrap();
    let found: Vec<ConversationId> = found.into_iter().map(|it| it.id).collect();
    let expected: Vec<ConversationId> = expected.iter().map(|n| conversation_id(*n)).collect();
    assert_eq!(found, expected, "{filter:?}");
}

pub(crate) fn every_field_of_a_conversation_is_kept(world: &World) {
    let until = at(70);
    let new = Conversation {
        directory: "/project/\u{1f980}".to_owned(),
        title: "It's \"done\" \0 \u{1b}[31m".to_owned(),
        settings: "{\"model\": \"m\"}".to_owned(),
        runner: Some(Runner { process: Some(process(7)), ..runner("ann", 60) }),
        state: ConversationState::Waiting { until: Some(until), on: "the quota".to_owned() },
        stop_asked_at: Some(at(5)),
        changed_at: at(6),
        ..conversation(1)
    };
    wait(world.handle().create_conversation(new.clone())).unwrap();
    assert_eq!(get(&*world.handle()), new);
}

pub(crate) fn times_of_a_conversation_are_kept_to_the_millisecond(world: &World) {
    let store = world.handle();
    let fine = |seconds| at(seconds) + std::time::Duration::from_nanos(1_999_999);
    let coarse = |seconds| at(seconds) + std::time::Duration::from_millis(1);
    let with = |time: &dyn Fn(i64) -> punchlist_model::Timestamp| Conversation {
        runner: Some(Runner { until: time(1), ..runner("ann", 1) }),
        state: ConversationState::Waiting { until: Some(time(2)), on: String::new() },
        stop_asked_at: Some(time(3)),
        created_at: time(4),
        changed_at: time(5),
        ..conversation(1)
    };
    wait(store.create_conversation(with(&fine))).unwrap();
    assert_eq!(get(&*store), with(&coarse));
}

pub(crate) fn a_new_conversation_has_no_turns(world: &World) {
    let store = world.handle();
    let used = Used { calls: 1, ..Used::default() };
    wait(store.create_conversation(Conversation { turns: 3, used, ..conversation(1) })).unwrap();
    assert_eq!(get(&*store), conversation(1));
    assert_eq!(wait(store.turns(conversation_id(1))).unwrap(), []);
    assert_eq!(wait(store.entries(conversation_id(1), EntryFilter::default())).unwrap(), []);
}

pub(crate) fn an_id_is_given_to_one_conversation(world: &World) {
    let store = world.handle();
    wait(store.create_conversation(conversation(1))).unwrap();
    let other = Conversation { title: "Another".to_owned(), ..conversation(1) };
    let refused = wait(store.create_conversation(other)).unwrap_err();
    assert!(matches!(refused, Error::ConversationExists(id) if id == conversation_id(1)));
    assert_eq!(get(&*store), conversation(1));
}

pub(crate) fn an_unknown_conversation_is_said_to_be_unknown(world: &World) {
    #[track_caller]
    fn check<T>(result: Result<T, Error>) {
        assert!(matches!(result, Err(Error::NoConversation(id)) if id == conversation_id(9)));
    }
    let (store, id) = (world.handle(), conversation_id(9));
    wait(store.create_conversation(conversation(1))).unwrap();
    check(wait(store.conversation(id)));
    check(wait(store.hold(id, runner("ann", 60), at(0), Vec::new())));
    check(wait(store.record_turn(id, "ann".to_owned(), record(turn(1), Vec::new(), 1))));
    check(wait(store.turns(id)));
    check(wait(store.entries(id, EntryFilter::default())));
    check(wait(store.ask_to_stop(id, at(1))));
    check(wait(store.forget_conversation(id, at(1))));
    wait(store.let_go(id, "ann".to_owned())).unwrap();
}

pub(crate) fn one_runner_at_a_time_holds_a_conversation(world: &World) {
    let (ann, bob) = (world.handle(), world.handle());
    wait(ann.create_conversation(conversation(1))).unwrap();
    let of_ann = Runner { process: Some(process(7)), ..runner("ann", 60) };
    hold(&*ann, of_ann.clone(), 0, &[]).unwrap();
    assert_eq!(holder(hold(&*bob, runner("bob", 90), 59, &[])), "ann");
    assert_eq!(get(&*bob).runner, Some(of_ann));
    hold(&*bob, runner("bob", 90), 60, &[]).unwrap();
    assert_eq!(get(&*ann).runner, Some(runner("bob", 90)));
    assert_eq!(holder(hold(&*ann, runner("ann", 99), 61, &[])), "bob");
}

pub(crate) fn a_runner_extends_its_lease(world: &World) {
    let store = world.handle();
    held(&*store, 1, "ann");
    hold(&*store, runner("ann", 200), 50, &[]).unwrap();
    assert_eq!(get(&*store).runner, Some(runner("ann", 200)));
    assert_eq!(holder(hold(&*store, runner("bob", 300), 199, &[])), "ann");
    // Its lease has ended, but nobody else took it.
    hold(&*store, runner("ann", 300), 250, &[]).unwrap();
    assert_eq!(get(&*store).runner, Some(runner("ann", 300)));
}

pub(crate) fn the_lease_of_a_runner_that_is_gone_does_not_count(world: &World) {
    let store = world.handle();
    held(&*store, 1, "ann");
    assert_eq!(holder(hold(&*store, runner("bob", 200), 1, &["carl", "bob"])), "ann");
    hold(&*store, runner("bob", 200), 1, &["carl", "ann"]).unwrap();
    assert_eq!(get(&*store).runner, Some(runner("bob", 200)));
}

pub(crate) fn a_runner_lets_go_of_its_own_lease_only(world: &World) {
    let store = world.handle();
    let id = held(&*store, 1, "ann");
    wait(store.let_go(id, "bob".to_owned())).unwrap();
    assert_eq!(get(&*store).runner, Some(runner("ann", 100)));
    wait(store.let_go(id, "ann".to_owned())).unwrap();
    assert_eq!(get(&*store).runner, None);
    wait(store.let_go(id, "ann".to_owned())).unwrap();
    hold(&*store, runner("bob", 200), 1, &[]).unwrap();
}

pub(crate) fn of_many_runners_at_once_one_holds_the_conversation(world: &World) {
    wait(world.handle().create_conversation(conversation(1))).unwrap();
    let holders: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let store = world.handle();
                scope.spawn(move || hold(&*store, runner(&format!("runner {n}"), 60), 0, &[]))
            })
            .collect();
        threads.into_iter().filter_map(|it| it.join().unwrap().ok()).count()
    });
    assert_eq!(holders, 1);
}

pub(crate) fn the_conversation_that_was_recorded_last_comes_first(world: &World) {
    let store = world.handle();
    for n in 1..=3 {
        held(&*store, n, "ann");
    }
    check_found(&*store, ConversationFilter::default(), &[3, 2, 1]);
    let recorded = record(turn(1), Vec::new(), 50);
    wait(store.record_turn(conversation_id(2), "ann".to_owned(), recorded)).unwrap();
    check_found(&*store, ConversationFilter::default(), &[2, 3, 1]);
    check_found(&*store, ConversationFilter { most: 2, ..Default::default() }, &[2, 3]);
    check_found(&*store, ConversationFilter { most: 9, ..Default::default() }, &[2, 3, 1]);
    let listed = wait(store.conversations(ConversationFilter::default())).unwrap();
    for (at, rest) in [&[3, 1][..], &[1], &[]].into_iter().enumerate() {
        let after = Some((listed[at].changed_at, listed[at].id));
        check_found(&*store, ConversationFilter { after, ..Default::default() }, rest);
    }
    assert_eq!(listed[0], wait(store.conversation(conversation_id(2))).unwrap());
}

pub(crate) fn conversations_are_found_by_project_and_either_end_of_the_id(world: &World) {
    let store = world.handle();
    wait(store.create_conversation(conversation(1))).unwrap();
    let elsewhere = Conversation { project: "/else".to_owned(), ..conversation(2) };
    wait(store.create_conversation(elsewhere)).unwrap();
    let in_project = |project: &str| ConversationFilter {
        project: Some(project.to_owned()),
        ..ConversationFilter::default()
    };
    check_found(&*store, in_project("/project"), &[1]);
    check_found(&*store, in_project("/else"), &[2]);
    check_found(&*store, in_project("/"), &[]);
    let with_id = |part: &str| ConversationFilter {
        id: Some(part.to_owned()),
        ..ConversationFilter::default()
    };
    let simple = conversation_id(1).0.simple().to_string();
    check_found(&*store, with_id(&simple[20..]), &[1]);
    check_found(&*store, with_id(&simple), &[1]);
    check_found(&*store, with_id(&conversation_id(2).to_string()), &[2]);
    check_found(&*store, with_id(&simple[..8]), &[2, 1]);
    check_found(&*store, with_id("%"), &[]);
    check_found(&*store, ConversationFilter { most: 1, ..in_project("/else") }, &[2]);
}

pub(crate) fn a_text_is_found_as_it_was_typed_whatever_its_case(world: &World) {
    let store = world.handle();
    let said = [
        r#"{"text": "Größe: 100% of A_B"}"#,
        r#"{"list": [{"said": "it's \"quoted\"\nand C:\\temp"}]}"#,
        r#"{"text": 7, "nothing": null}"#,
    ];
    for (n, body) in (1..).zip(said) {
        let id = held(&*store, n, "ann");
        let recorded = record(turn(1), vec![entry(body)], i64::from(n));
        wait(store.record_turn(id, "ann".to_owned(), recorded)).unwrap();
    }
    for (text, expected) in [
        ("größe", [1].as_slice()),
        ("GRÖSSE", &[]),
        ("GRÖß", &[1]),
        ("100%", &[1]),
        ("100_", &[]),
        ("a_b", &[1]),
        ("aXb", &[]),
        ("%", &[1]),
        ("_", &[1]),
        ("IT'S", &[2]),
        ("\"quoted\"\nAND", &[2]),
        ("c:\\Temp", &[2]),
        ("\\", &[2]),
        ("nand", &[]),
        ("nothing", &[]),
        ("REQUEST", &[3, 2, 1]),
        ("request 2", &[2]),
        ("*", &[]),
        ("' OR 1=1 --", &[]),
        ("", &[3, 2, 1]),
    ] {
        let text = Some(text.to_owned());
        check_found(&*store, ConversationFilter { text, ..Default::default() }, expected);
    }
    let text = Some("request".to_owned());
    check_found(&*store, ConversationFilter { text, most: 1, ..Default::default() }, &[3]);
}

pub(crate) fn the_wish_to_stop_is_seen_until_the_next_turn_begins(world: &World) {
    let (ann, user) = (world.handle(), world.handle());
    let id = held(&*ann, 1, "ann");
    let recorded = |number, seconds| {
        wait(ann.record_turn(id, "ann".to_owned(), record(turn(number), Vec::new(), seconds)))
            .unwrap();
        get(&*ann).stop_asked_at
    };
    assert_eq!(recorded(1, 1), None);
    wait(user.ask_to_stop(id, at(2))).unwrap();
    assert_eq!(get(&*ann).stop_asked_at, Some(at(2)));
    wait(user.ask_to_stop(id, at(3))).unwrap();
    assert_eq!(recorded(1, 4), Some(at(3)));
    assert_eq!(recorded(2, 5), None);
    assert_eq!(get(&*ann).changed_at, at(5));
}

pub(crate) fn a_forgotten_conversation_is_gone_with_all_that_it_has(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("stays")]);
    let store = &desk.store;
    let answer = || {
        let mut answer = entry(r#"{"text":"secret"}"#);
        answer.used = Used { calls: 1, input: 2, output: 3, cost_micros: 4 };
        answer
    };
    for n in [1, 2] {
        let id = held(&**store, n, "ann");
        let mut turn = turn(1);
        turn.plan = Some(plan_id(1));
        let recorded = record(turn, vec![answer()], 2);
        wait(store.record_turn(id, "ann".to_owned(), recorded)).unwrap();
        let (conversation, text) = (id.to_string(), format!("message {n}"));
        let message = NewMessage { id: message_id(n), conversation, text, steer: false, at: at(3) };
        wait(store.queue(message)).unwrap();
    }
    let forget = |now| wait(store.forget_conversation(conversation_id(1), at(now)));
    assert_eq!(holder(forget(99)), "ann");
    assert_eq!(get(&**store).turns, 1);
    forget(100).unwrap();
    assert!(matches!(forget(101), Err(Error::NoConversation(_))));
    check_found(&**store, ConversationFilter::default(), &[2]);
    assert_eq!(wait(store.messages(conversation_id(1).to_string())).unwrap(), []);
    assert_eq!(wait(store.messages(conversation_id(2).to_string())).unwrap().len(), 1);
    assert_eq!(wait(store.used_since(at(0))).unwrap(), answer().used);
    assert_eq!(desk.list(), "1:stays pending");
    // The id is free again, and nothing of before is there.
    held(&**store, 1, "ann");
    assert_eq!(wait(store.turns(conversation_id(1))).unwrap(), []);
}

pub(crate) fn a_conversation_outlives_the_texts_of_its_plan(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("secret")]);
    let id = held(&*desk.store, 1, "ann");
    let mut turn = turn(1);
    turn.plan = Some(plan_id(1));
    let recorded = record(turn.clone(), vec![entry("{}")], 2);
    wait(desk.store.record_turn(id, "ann".to_owned(), recorded)).unwrap();
    wait(desk.store.forget(desk.plan, None, desk.ctx())).unwrap();
    assert_eq!(wait(desk.store.turns(id)).unwrap(), [turn]);
    assert_eq!(wait(desk.store.entries(id, EntryFilter::default())).unwrap().len(), 1);
}

pub(crate) fn every_change_of_a_conversation_is_news(world: &World) {
    let (store, id) = (world.handle(), conversation_id(1));
    wait(store.create(new_plan(1))).unwrap();
    let mut news = wait(world.handle().news()).unwrap();
    wait(store.create_conversation(conversation(1))).unwrap();
    heard(&mut news);
    hold(&*store, runner("ann", 60), 1, &[]).unwrap();
    heard(&mut news);
    let recorded = record(turn(1), vec![entry("{}")], 2);
    wait(store.record_turn(id, "ann".to_owned(), recorded)).unwrap();
    heard(&mut news);
    wait(store.ask_to_stop(id, at(3))).unwrap();
    heard(&mut news);
    wait(store.let_go(id, "ann".to_owned())).unwrap();
    heard(&mut news);
    wait(store.forget_conversation(id, at(4))).unwrap();
    heard(&mut news);
}
