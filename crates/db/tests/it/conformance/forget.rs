//! Erasing at a person's word.

use punchlist_model::needs::Needs;
use punchlist_model::store::{Error, Kind, NewPlan};
use punchlist_model::{Number, Op, Patch};

use super::World;
use crate::support::{Desk, add, ctx, done, new_plan, plan_id, wait};

fn desk(world: &World) -> Desk {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("secret one"), add("plain")]);
    let patch = Patch {
        context: Some("secret two".to_owned()),
        owner: Some(Some("secret three".to_owned())),
        ..Patch::default()
    };
    desk.must(vec![Op::Edit { item: Number(1).into(), patch: Box::new(patch) }]);
    desk.must(vec![done(1)]);
    desk
}

pub(crate) fn one_items_texts_go_from_rows_and_journal(world: &World) {
    let desk = desk(world);
    let applied = wait(desk.store.forget(desk.plan, Some(Number(1).into()), desk.ctx())).unwrap();
    assert_eq!(applied.items()[0].title, "[forgotten]");
    let plan = desk.whole();
    assert_eq!(desk.list(), "1:[forgotten] completed, 2:plain pending");
    assert_eq!(plan.get(Number(1)).unwrap().context, "");
    let journal = desk.journal();
    assert_eq!(journal.last().unwrap().kind, Kind::Forget);
    let text = serde_json::to_string(&journal).unwrap();
    assert!(!text.contains("secret") && text.contains("plain"), "{text}");
}

pub(crate) fn the_whole_plans_texts_go_and_its_skeleton_stays(world: &World) {
    let desk = desk(world);
    wait(desk.store.forget(desk.plan, None, desk.ctx())).unwrap();
    let plan = desk.whole();
    assert_eq!(plan.title, "[forgotten]");
    assert_eq!(desk.list(), "1:[forgotten] completed, 2:[forgotten] pending");
    let text = serde_json::to_string(&desk.journal()).unwrap();
    assert!(!text.contains("secret") && !text.contains("plain"), "{text}");
    assert_eq!((plan.placed, plan.open), plan.recount());
}

pub(crate) fn an_unknown_item_is_refused(world: &World) {
    let desk = desk(world);
    let before = desk.whole();
    let unknown = wait(desk.store.forget(desk.plan, Some(Number(9).into()), desk.ctx()));
    assert!(matches!(unknown, Err(Error::Refused(refusal)) if refusal.is_not_found()));
    assert_eq!(desk.whole(), before);
}

pub(crate) fn a_forgotten_name_is_free_again(world: &World) {
    let store = world.handle();
    let named = |n| NewPlan { name: Some("secret".to_owned()), ..new_plan(n) };
    wait(store.create(named(1))).unwrap();
    wait(store.forget(plan_id(1), None, ctx("ann", 1))).unwrap();
    assert_eq!(wait(store.read(plan_id(1), Needs::header())).unwrap().name, None);
    wait(store.create(named(2))).unwrap();
}
