//! Checking a store, and moving a project within it.

use punchlist_model::call::RunFilter;
use punchlist_model::session::{Kept, Session, SessionKey};
use punchlist_model::store::turns::Conversation;
use punchlist_model::store::{AttachmentKey, Error, Filter, NewPlan};
use punchlist_model::{MadeFor, PlanId};

use super::World;
use super::conversations::conversation;
use crate::support::{at, conversation_id, key, new_plan, plan_id, run, wait};

fn in_project(n: u8, project: &str, name: Option<&str>) -> NewPlan {
    let name = name.map(str::to_owned);
    let made_for = name.is_none().then(|| MadeFor::Project(project.to_owned()));
    NewPlan { project: project.to_owned(), name, made_for, ..new_plan(n) }
}

/// The plans of a project, by id.
fn of(world: &World, project: &str) -> Vec<PlanId> {
    let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
    let mut found: Vec<PlanId> =
        wait(world.handle().plans(filter)).unwrap().iter().map(|it| it.id).collect();
    found.sort();
    found
}

fn move_project(world: &World, from: &str, to: &str) -> Result<Vec<PlanId>, Error> {
    let mut moved = wait(world.handle().move_project(from.to_owned(), to.to_owned()))?;
    moved.sort();
    Ok(moved)
}

pub(crate) fn a_sound_store_says_so_and_counts_its_plans(world: &World) {
    let store = world.handle();
    wait(store.create(new_plan(1))).unwrap();
    let health = wait(store.health()).unwrap();
    assert_eq!((health.plans, health.damage), (1, Vec::new()));
    wait(store.check_writable()).unwrap();
}

pub(crate) fn everything_of_a_moved_project_is_found_at_its_new_place(world: &World) {
    let store = world.handle();
    for new in [
        in_project(1, "/project", None),
        in_project(2, "/project/below", Some("x")),
        in_project(3, "/projects", None),
    ] {
        wait(store.create(new)).unwrap();
    }
    wait(store.attach(key("c", ""), plan_id(1), at(1))).unwrap();
    let session_key = SessionKey { agent: "claude".to_owned(), id: "c".to_owned() };
    let session = Session::new(session_key.clone(), "/project", at(1));
    assert_eq!(wait(store.keep(session.clone())).unwrap(), Kept::Stored(1));
    wait(store.begin_run(run(1, Some(plan_id(1))))).unwrap();
    for (n, project) in [(1, "/project"), (2, "/projects")] {
        let project = project.to_owned();
        wait(store.create_conversation(Conversation { project, ..conversation(n) })).unwrap();
    }

    assert_eq!(move_project(world, "/project", "/moved").unwrap(), [plan_id(1), plan_id(2)]);

    assert_eq!(of(world, "/project"), []);
    assert_eq!(of(world, "/moved"), [plan_id(1)]);
    assert_eq!(of(world, "/moved/below"), [plan_id(2)]);
    assert_eq!(of(world, "/projects"), [plan_id(3)], "its name only begins like the old one");
    let made_for = wait(store.plan_for(MadeFor::Project("/moved".to_owned()))).unwrap();
    assert_eq!(made_for, Some(plan_id(1)));
    let moved = AttachmentKey { project: "/moved".to_owned(), ..key("c", "") };
    assert_eq!(wait(store.attached(moved)).unwrap(), Some(plan_id(1)));
    assert_eq!(wait(store.attached(key("c", ""))).unwrap(), None);
    let there = wait(store.session(session_key)).unwrap().unwrap();
    assert_eq!((there.project.as_str(), there.version), ("/moved", 2));
    assert!(matches!(wait(store.keep(session)).unwrap(), Kept::Stale(_)));
    let runs = wait(store.runs(RunFilter::default())).unwrap();
    assert_eq!(runs.iter().map(|it| it.project.as_str()).collect::<Vec<_>>(), ["/moved"]);
    let place = |n| {
        let it = wait(store.conversation(conversation_id(n))).unwrap();
        (it.project, it.directory)
    };
    assert_eq!(place(1), ("/moved".to_owned(), "/moved/below".to_owned()));
    assert_eq!(place(2), ("/projects".to_owned(), "/project/below".to_owned()));
}

pub(crate) fn a_taken_name_stops_the_move_and_nothing_is_moved(world: &World) {
    let store = world.handle();
    for new in [
        in_project(1, "/old", None),
        in_project(2, "/old", Some("x")),
        in_project(3, "/new", Some("x")),
    ] {
        wait(store.create(new)).unwrap();
    }
    let refused = move_project(world, "/old", "/new").unwrap_err();
    assert!(matches!(&refused, Error::NameTaken(name) if name == "x"), "{refused}");
    assert_eq!(of(world, "/old"), [plan_id(1), plan_id(2)]);
    assert_eq!(of(world, "/new"), [plan_id(3)]);
}

pub(crate) fn a_project_with_a_plan_of_its_own_keeps_it_as_such(world: &World) {
    let store = world.handle();
    wait(store.create(in_project(1, "/old", None))).unwrap();
    wait(store.create(in_project(2, "/new", None))).unwrap();
    assert_eq!(move_project(world, "/old", "/new").unwrap(), [plan_id(1)]);
    assert_eq!(of(world, "/new"), [plan_id(1), plan_id(2)]);
    let own = wait(store.plan_for(MadeFor::Project("/new".to_owned()))).unwrap();
    assert_eq!(own, Some(plan_id(2)));
}

pub(crate) fn a_project_that_nobody_knows_has_nothing_to_move(world: &World) {
    wait(world.handle().create(new_plan(1))).unwrap();
    assert_eq!(move_project(world, "/unknown", "/new").unwrap(), []);
    assert_eq!(of(world, "/project"), [plan_id(1)]);
}
