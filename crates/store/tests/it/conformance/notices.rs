//! The notices that were given.

use punchlist_model::store::notices::KEPT_DAYS;

use super::World;
use crate::support::{at, wait};

pub(crate) fn of_many_that_would_give_a_notice_one_does(world: &World) {
    let first = || wait(world.handle().first(vec!["ended 1".to_owned()], at(1))).unwrap();
    let firsts = std::thread::scope(|scope| {
        let askers: Vec<_> = (0..6).map(|_| scope.spawn(first)).collect();
        askers.into_iter().map(|it| it.join().unwrap()).filter(|it| *it).count()
    });
    assert_eq!(firsts, 1);
    assert!(!first());
    assert!(wait(world.handle().first(vec!["ended 2".to_owned()], at(1))).unwrap());
}

pub(crate) fn several_keys_are_recorded_together(world: &World) {
    // Round by round, six threads race. Recorded one by one, the first key could go to one of them and
    // the second to another.
    for round in 0..50 {
        let keys = [1, 2].map(|it| format!("turn {round}/{it}")).to_vec();
        let first = || wait(world.handle().first(keys.clone(), at(1))).unwrap();
        let firsts = std::thread::scope(|scope| {
            let askers: Vec<_> = (0..6).map(|_| scope.spawn(first)).collect();
            askers.into_iter().map(|it| it.join().unwrap()).filter(|it| *it).count()
        });
        assert_eq!(firsts, 1, "round {round}");
    }
    let store = world.handle();
    let first = |keys: &[&str]| {
        let keys = keys.iter().map(|it| (*it).to_owned()).collect();
        wait(store.first(keys, at(1))).unwrap()
    };
    assert!(first(&["a", "b"]));
    assert!(!first(&["b", "c"]), "one of the keys was recorded before");
    assert!(!first(&["c"]), "the other one is recorded all the same");
}

pub(crate) fn old_notices_are_forgotten(world: &World) {
    let store = world.handle();
    let first = |key: &str, seconds| wait(store.first(vec![key.to_owned()], at(seconds))).unwrap();
    let kept = KEPT_DAYS * 24 * 60 * 60;
    assert!(first("a", 0) && first("b", 100));
    assert!(!first("a", kept));
    assert!(first("a", kept + 1));
    assert!(!first("b", kept + 1));
}
