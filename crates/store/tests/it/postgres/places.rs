//! Machines: different checkouts of a project meet, and equal paths do not collide.

use std::sync::Arc;

use punchlist_model::session::Store;
use punchlist_model::store::{Error, Filter, NewPlan, PlanStore};
use punchlist_model::{MadeFor, Plan};
use punchlist_store::postgres::{Located, Place};

use super::options;
use crate::support::{at, database, new_plan, plan_id, wait};

/// A machine that works in a directory with a repository, or with none.
fn machine(address: &str, host: &str, directory: &str, commit: Option<&str>) -> Located {
    let commit = commit.map(str::to_owned);
    let place = Place {
        host: host.to_owned(),
        directory: directory.to_owned(),
        project: None,
        repository: &|| commit.clone(),
        now: at(0),
    };
    Located::open(&options(address), &place).unwrap()
}

fn own(store: &Located, n: u8, directory: &str) -> Result<Plan, Error> {
    let made_for = Some(MadeFor::Project(directory.to_owned()));
    wait(store.create(NewPlan { project: directory.to_owned(), made_for, ..new_plan(n) }))
}

fn projects(store: &dyn Store, project: Option<&str>) -> Vec<String> {
    let filter = Filter { project: project.map(str::to_owned), ..Filter::default() };
    let mut found: Vec<String> =
        wait(store.plans(filter)).unwrap().into_iter().map(|it| it.project).collect();
    found.sort();
    found
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn checkouts_of_one_repository_are_one_project_wherever_they_are() {
    let address = database();
    let ann = machine(&address, "ann", "/home/ann/p", Some("c0ffee"));
    let bob = machine(&address, "bob", "/srv/p", Some("c0ffee"));
    assert_eq!(own(&ann, 1, "/home/ann/p").unwrap().project, "/home/ann/p");
    let taken = own(&bob, 2, "/srv/p");
    assert!(matches!(taken, Err(Error::AlreadyMade(id)) if id == plan_id(1)), "{taken:?}");
    assert_eq!(projects(&bob, Some("/srv/p")), ["/srv/p"]);
    let plan = wait(bob.whole(plan_id(1))).unwrap();
    assert_eq!(plan.made_for, Some(MadeFor::Project("/srv/p".to_owned())));
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn equal_paths_on_two_machines_are_two_projects() {
    let address = database();
    let ann = machine(&address, "ann", "/tmp/x", None);
    let bob = machine(&address, "bob", "/tmp/x", None);
    own(&ann, 1, "/tmp/x").unwrap();
    own(&bob, 2, "/tmp/x").unwrap();
    assert_eq!(projects(&ann, Some("/tmp/x")), ["/tmp/x"]);
    assert_eq!(projects(&ann, None), ["/tmp/x", "bob:/tmp/x"]);
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn the_first_commit_gives_a_directory_its_project_and_its_plans_go_along() {
    let address = database();
    let before = machine(&address, "ann", "/p", None);
    own(&before, 1, "/p").unwrap();
    let after = machine(&address, "ann", "/p", Some("c0ffee"));
    assert_eq!(projects(&after, Some("/p")), ["/p"]);
    // The machine has recorded it, so git is not asked again.
    let place = Place {
        host: "ann".to_owned(),
        directory: "/p".to_owned(),
        project: None,
        repository: &|| panic!("asked again"),
        now: at(1),
    };
    let again = Located::open_to_read(&options(&address), &place).unwrap().unwrap();
    assert_eq!(again.name_of("/p"), "c0ffee");
    let bob: Arc<dyn Store> = Arc::new(machine(&address, "bob", "/q", Some("c0ffee")));
    assert_eq!(projects(&*bob, Some("/q")), ["/q"]);
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_name_that_the_user_gave_counts_before_the_repository() {
    let address = database();
    machine(&address, "ann", "/p", Some("c0ffee"));
    let place = Place {
        host: "ann".to_owned(),
        directory: "/p".to_owned(),
        project: Some("website".to_owned()),
        repository: &|| None,
        now: at(1),
    };
    let named = Located::open(&options(&address), &place).unwrap();
    assert_eq!(named.name_of("/p"), "website");
}
