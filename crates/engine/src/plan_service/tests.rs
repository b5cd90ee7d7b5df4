//! Choosing plans, and creating each plan only once.

use std::sync::Arc;

use pollster::block_on;
use punchlist_model::needs::Needs;
use punchlist_model::session::{Kept, SessionStore};
use punchlist_model::store::memory::Memory as InMemory;
use punchlist_model::{Actor, Ctx, IdSource, Item, ItemRef, NewItem, Op, Plan, SessionKey};

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn id(number: u32) -> PlanId {
    PlanId(IdSource::fixed(at(0), 0).nth(number))
}

fn key(id: &str) -> SessionKey {
    SessionKey { agent: "claude".to_owned(), id: id.to_owned() }
}

/// A recorded session, which has ended if `ended` is set.
fn session(store: &InMemory, name: &str, ended: bool) -> Session {
    let new = Session { ended_at: ended.then(|| at(5)), ..Session::new(key(name), "/p", at(1)) };
    let Kept::Stored(version) = block_on(store.keep(new.clone())).unwrap() else {
        panic!("nobody else wrote it");
    };
    Session { version, ..new }
}

fn request(which: Which, number: u32) -> PlanRequest {
    let (project, title) = ("/p".to_owned(), String::new());
    PlanRequest { project, which, title, id: id(number), now: at(1) }
}

fn make(store: &InMemory, which: Which, number: u32) -> PlanId {
    block_on(ensure(store, request(which, number))).unwrap()
}

/// Creates the plan of a session and attaches the session.
fn begin(store: &InMemory, session: &Session, number: u32) -> PlanId {
    let key = session.attachment();
    let request = request(Which::Attached(key.clone()), number);
    block_on(ensure_attached(store, key, request)).unwrap().plan
}

fn chosen(store: &InMemory, name: Option<&str>, from: CalledFrom<'_>) -> Choice {
    let query = Query { project: "/p", name, from, host: "here", now: at(10) };
    block_on(choose(store, query)).unwrap()
}

#[test]
fn a_plan_is_made_once_for_each_that_it_can_be_made_for() {
    let store = InMemory::default();
    let conversation = Which::Attached(key("a").attachment("/p", ""));
    for (number, which) in
        [(1, Which::Project), (2, Which::Named("release".to_owned())), (3, conversation)]
    {
        assert_eq!(make(&store, which.clone(), number), id(number), "{which:?}");
        assert_eq!(make(&store, which.clone(), number), id(number), "{which:?}, the same id");
        assert_eq!(make(&store, which.clone(), 9), id(number), "{which:?}, another id");
    }
}

#[test]
fn an_id_that_another_plan_has_is_left_to_it() {
    let store = InMemory::default();
    let first = make(&store, Which::Project, 1);
    let second = make(&store, Which::Named("release".to_owned()), 1);
    assert_ne!(first, second);
}

#[test]
fn a_plan_that_is_named_by_its_id_is_not_made() {
    let store = InMemory::default();
    let wanted = request(Which::Id(id(7)), 1);
    assert!(matches!(block_on(ensure(&store, wanted)), Err(Error::NoPlan(it)) if it == id(7)));
}

#[test]
fn a_name_goes_before_an_id_and_short_texts_are_names() {
    let store = InMemory::default();
    let own = make(&store, Which::Project, 1);
    let digits = own.0.simple().to_string();
    let (four, three) = (&digits[28..], &digits[29..]);
    assert_eq!(chosen(&store, Some(four), CalledFrom::Outside), Choice::Found(own));
    let named = make(&store, Which::Named(four.to_owned()), 2);
    assert_eq!(chosen(&store, Some(four), CalledFrom::Outside), Choice::Found(named));
    let missing = Choice::Missing { make: Which::Named(three.to_owned()), ended: None };
    assert_eq!(chosen(&store, Some(three), CalledFrom::Outside), missing);
}

#[test]
fn a_session_has_its_plan_else_the_projects_own_else_begins_one() {
    let store = InMemory::default();
    let (one, other) = (session(&store, "one", false), session(&store, "other", false));
    begin(&store, &other, 1);
    let missing = Choice::Missing { make: Which::Attached(one.attachment()), ended: None };
    assert_eq!(chosen(&store, None, CalledFrom::Session(&one)), missing);
    let own = make(&store, Which::Project, 2);
    assert_eq!(chosen(&store, None, CalledFrom::Session(&one)), Choice::Found(own));
    let begun = begin(&store, &one, 3);
    assert_eq!(chosen(&store, None, CalledFrom::Session(&one)), Choice::Found(begun));
}

#[test]
fn outside_the_only_live_sessions_plan_is_meant_and_several_are_listed() {
    let store = InMemory::default();
    let one = begin(&store, &session(&store, "one", false), 1);
    let own = make(&store, Which::Project, 2);
    assert_eq!(chosen(&store, None, CalledFrom::Outside), Choice::Found(one));
    // A caller in a session never gets the plan of another session.
    assert_eq!(chosen(&store, None, CalledFrom::UnknownSession), Choice::Found(own));
    begin(&store, &session(&store, "other", false), 3);
    let Choice::Several(Ambiguity::LiveSessions, plans) = chosen(&store, None, CalledFrom::Outside)
    else {
        panic!("two sessions are live");
    };
    assert_eq!(plans.len(), 3);
}

#[test]
fn what_an_ended_session_left_is_offered_outside_of_sessions_only() {
    let store = InMemory::default();
    let left = begin(&store, &session(&store, "one", true), 1);
    let Choice::Missing { make: Which::Project, ended: Some(ended) } =
        chosen(&store, None, CalledFrom::Outside)
    else {
        panic!("the project has no plan of its own");
    };
    assert_eq!(ended.id, left);
    let missing = Choice::Missing { make: Which::Project, ended: None };
    assert_eq!(chosen(&store, None, CalledFrom::UnknownSession), missing);
    let own = make(&store, Which::Project, 2);
    assert_eq!(chosen(&store, None, CalledFrom::Outside), Choice::Found(own));
}

fn file(path: &str, name: &str) -> Which {
    Which::File { path: path.to_owned(), name: Some(name.to_owned()) }
}

#[test]
fn the_plan_of_a_file_is_found_by_its_path_and_called_by_its_name_if_that_is_free() {
    let store = InMemory::default();
    let found = |which: &Which| block_on(find(&store, "/p", which)).unwrap();
    let name = |plan: PlanId| block_on(store.read(plan, Needs::header())).unwrap().name;
    let (one, other) = (file("/p/a/plan.md", "plan.md"), file("/p/b/plan.md", "plan.md"));
    assert_eq!(found(&one), None);
    assert_eq!(make(&store, one.clone(), 1), id(1));
    assert_eq!(make(&store, one.clone(), 2), id(1), "it is made once");
    assert_eq!(make(&store, other.clone(), 3), id(3), "another path is another plan");
    assert_eq!((found(&one), found(&other)), (Some(id(1)), Some(id(3))));
    assert_eq!((name(id(1)), name(id(3))), (Some("plan.md".to_owned()), None));
}

fn ctx(second: i64) -> Ctx {
    let ctx = Ctx::new("ann", at(second), IdSource::fixed(at(second), 0));
    Ctx { actor: Actor::person("ann"), ..ctx }
}

#[test]
fn a_copy_that_others_have_overtaken_is_read_again_and_decides_anew() {
    let store = Arc::new(InMemory::default());
    let plan = make(&store, Which::Project, 1);
    let copy = || LivePlan::new(store.clone(), block_on(store.whole(plan)).unwrap());
    let (mut one, mut other) = (copy(), copy());
    let add = |title: &str| Op::Add(Box::new(NewItem::titled(title)));
    block_on(one.change(&ctx(2), |_| vec![add("Build"), add("Test")])).unwrap();
    // The second copy does not have the items yet when it first computes its operations.
    let complete = |item: &Item| Op::Complete {
        item: ItemRef::Number(item.number),
        outcome: None,
        with_children: false,
    };
    let all = |plan: &Plan| plan.listed().into_iter().map(complete).chain([add("Ship")]).collect();
    block_on(other.change(&ctx(3), all)).unwrap();
    assert_eq!(*other.plan(), *copy().plan());
    assert_eq!(other.plan().progress().completed, 2);
    assert_eq!(one.plan().progress().completed, 0, "it has heard of nothing");
    block_on(
        one.change(&ctx(4), |plan| plan.listed().iter().skip(2).map(|it| complete(it)).collect()),
    )
    .unwrap();
    assert_eq!(one.plan().progress().completed, 0, "nothing to do in its copy: nothing is written");
    block_on(one.read_again()).unwrap();
    assert_eq!(*one.plan(), *copy().plan());
}
