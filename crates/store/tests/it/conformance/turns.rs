//! The repository of a turn's to-dos.

use punchlist_model::Status;
use punchlist_model::store::{Error, PlanStore};
use punchlist_store::turns::{Counts, NewTodo, TodoUpdate, TurnTodos};

use super::World;
use crate::support::{at, ctx, ids, key, wait};

fn titled(title: &str) -> NewTodo {
    NewTodo { title: title.to_owned(), ..NewTodo::default() }
}

fn turn<'a>(store: &'a dyn PlanStore, name: &str) -> TurnTodos<'a> {
    TurnTodos::new(store, key("conversation", name))
}

pub(crate) fn a_todo_is_created_with_defaults(world: &World) {
    let store = world.handle();
    let todo = wait(turn(&*store, "t").create(titled("Look"), ctx("ann", 1))).unwrap();
    assert_eq!((todo.title.as_str(), todo.status, todo.priority), ("Look", Status::Pending, 0));
    assert_eq!((todo.context.as_str(), todo.completion_criteria.as_str()), ("", ""));
    assert_eq!((todo.conversation.as_str(), todo.turn.as_str()), ("conversation", "t"));
    assert_eq!((todo.agent_type, todo.outcome), (None, None));
    assert_eq!((todo.created_at, todo.started_at, todo.completed_at), (at(1), None, None));
}

pub(crate) fn a_batch_is_created_in_order_or_not_at_all(world: &World) {
    let store = world.handle();
    let turn = turn(&*store, "t");
    let todos = vec![
        titled("a"),
        NewTodo { priority: Some(9), agent_type: Some("coder".to_owned()), ..titled("b") },
        titled("c"),
    ];
    let made = wait(turn.create_batch(todos, ctx("ann", 1))).unwrap();
    let shape: Vec<_> = made.iter().map(|it| (it.title.as_str(), it.priority)).collect();
    assert_eq!(shape, [("a", 0), ("b", 9), ("c", 2)]);
    let bad = wait(turn.create_batch(vec![titled("d"), titled("")], ctx("ann", 2)));
    assert!(matches!(bad, Err(Error::Refused(_))));
    let found = wait(turn.find(&[])).unwrap();
    let order: Vec<&str> = found.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(order, ["a", "c", "b"], "lower priority numbers come first");
}

pub(crate) fn todos_are_found_by_turn_and_filtered_by_status(world: &World) {
    let store = world.handle();
    let (one, two) = (turn(&*store, "one"), turn(&*store, "two"));
    assert_eq!(wait(one.find(&[])).unwrap(), []);
    let made = wait(one.create_batch(vec![titled("a"), titled("b")], ctx("ann", 1))).unwrap();
    wait(two.create(titled("c"), ctx("bob", 2))).unwrap();
    let done = TodoUpdate { status: Some(Status::Completed), ..TodoUpdate::default() };
    wait(one.update(made[0].id, done, ctx("ann", 3))).unwrap();
    let titles = |turn: &TurnTodos<'_>, statuses: &[Status]| -> Vec<String> {
        wait(turn.find(statuses)).unwrap().into_iter().map(|it| it.title).collect()
    };
    assert_eq!(titles(&one, &[]), ["a", "b"]);
    assert_eq!(titles(&one, &[Status::Completed]), ["a"]);
    assert_eq!(titles(&one, &[Status::Pending, Status::InProgress]), ["b"]);
    assert_eq!(titles(&one, &[Status::Cancelled]), [""; 0]);
    assert_eq!(titles(&two, &[]), ["c"]);
}

pub(crate) fn a_todo_is_found_by_id_in_its_own_turn_only(world: &World) {
    let store = world.handle();
    let (one, two) = (turn(&*store, "one"), turn(&*store, "two"));
    let made = wait(one.create(titled("a"), ctx("ann", 1))).unwrap();
    wait(two.create(titled("b"), ctx("bob", 2))).unwrap();
    assert_eq!(wait(one.find_by_id(made.id)).unwrap(), Some(made.clone()));
    assert_eq!(wait(two.find_by_id(made.id)).unwrap(), None);
    assert_eq!(wait(turn(&*store, "three").find_by_id(made.id)).unwrap(), None);
}

pub(crate) fn a_todo_is_updated(world: &World) {
    let store = world.handle();
    let turn = turn(&*store, "t");
    let id = wait(turn.create(titled("a"), ctx("ann", 1))).unwrap().id;
    let update =
        |update, second| wait(turn.update(id, update, ctx("ann", second))).unwrap().unwrap();
    let to = |status| TodoUpdate { status: Some(status), ..TodoUpdate::default() };
    let texts = TodoUpdate {
        title: Some("A".to_owned()),
        context: Some("why".to_owned()),
        completion_criteria: Some("when".to_owned()),
        agent_type: Some(Some("coder".to_owned())),
        priority: Some(4),
        ..to(Status::InProgress)
    };
    let todo = update(texts, 2);
    assert_eq!((todo.title.as_str(), todo.context.as_str(), todo.priority), ("A", "why", 4));
    assert_eq!((todo.status, todo.started_at), (Status::InProgress, Some(at(2))));
    assert_eq!(update(to(Status::Pending), 3).started_at, None);
    let finish = TodoUpdate { outcome: Some("well".to_owned()), ..to(Status::Completed) };
    let todo = update(finish, 4);
    assert_eq!((todo.outcome.as_deref(), todo.completed_at), (Some("well"), Some(at(4))));
    let outcome = TodoUpdate { outcome: Some("very well".to_owned()), ..TodoUpdate::default() };
    assert_eq!(update(outcome, 5).outcome.as_deref(), Some("very well"));
    let nothing = update(TodoUpdate::default(), 6);
    assert_eq!(nothing.outcome.as_deref(), Some("very well"));
    assert_eq!(update(to(Status::Pending), 7).completed_at, None);
    let skip = TodoUpdate { outcome: Some("no need".to_owned()), ..to(Status::Cancelled) };
    assert_eq!(update(skip, 8).status, Status::Cancelled);
    assert_eq!(update(to(Status::InProgress), 9).status, Status::InProgress);
}

pub(crate) fn an_unknown_todo_is_not_updated(world: &World) {
    let store = world.handle();
    let turn = turn(&*store, "t");
    let stranger = punchlist_model::ItemId(ids("nobody", 9).nth(0));
    let update = || TodoUpdate { title: Some("x".to_owned()), ..TodoUpdate::default() };
    assert_eq!(wait(turn.update(stranger, update(), ctx("ann", 1))).unwrap(), None);
    wait(turn.create(titled("a"), ctx("ann", 1))).unwrap();
    assert_eq!(wait(turn.update(stranger, update(), ctx("ann", 2))).unwrap(), None);
}

pub(crate) fn todos_are_counted_by_status(world: &World) {
    let store = world.handle();
    let turn = turn(&*store, "t");
    assert_eq!(wait(turn.count_by_status()).unwrap(), Counts::default());
    let todos = ["a", "b", "c", "d", "e"].map(titled).to_vec();
    let made = wait(turn.create_batch(todos, ctx("ann", 1))).unwrap();
    for (n, status) in [Status::Completed, Status::Cancelled, Status::InProgress].iter().enumerate()
    {
        let update = TodoUpdate { status: Some(*status), ..TodoUpdate::default() };
        wait(turn.update(made[n].id, update, ctx("ann", 2))).unwrap();
    }
    let counts = wait(turn.count_by_status()).unwrap();
    assert_eq!(counts, Counts { pending: 2, in_progress: 1, completed: 1, cancelled: 1 });
    assert_eq!((counts.total(), counts.remaining()), (5, 3));
}
