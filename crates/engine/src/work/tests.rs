//! Which items a worker takes, and what it cleans up, on plans in memory.

use std::collections::BTreeSet;

use punchlist_formats::planfile::{self, Import};
use punchlist_model::{
    Ctx, Holder, IdSource, Item, ItemRef, Number, Op, Origin, Patch, Plan, PlanId, PlanPatch,
    Process, Rules, Timestamp, decide,
};
use serde_json::{Map, Value};

use super::ready::{self, Kinds, candidates};
use super::tidy;
use crate::run::{Resumed, Tree};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A shared plan from a plan file.
struct World {
    plan: Plan,
    changes: u8,
}

impl World {
    fn new(text: &str) -> Self {
        let plan = Plan::new(PlanId::NIL, "/p", at(0));
        let mut world = Self { plan, changes: 0 };
        let file = planfile::read(text);
        let source = planfile::Source {
            origin: Origin::Person,
            name: "plan.md",
            directory: "/p",
            below: Some(""),
        };
        let ops = Import::new(&file, Some(&world.plan), source).ops(|_| true);
        world.by("ann", 0, &ops);
        let rules = Rules { shared: true, max_in_progress: Some(u32::MAX), ..Rules::default() };
        let share = PlanPatch { rules: Some(rules), ..PlanPatch::default() };
        world.by("ann", 0, &[Op::Plan(Box::new(share))]);
        world
    }

    #[track_caller]
    fn by(&mut self, who: &str, second: i64, ops: &[Op]) {
        self.changes += 1;
        let ctx = Ctx::new(who, at(second), IdSource::fixed(at(second), self.changes));
        for event in &decide(&self.plan, ops, &ctx).unwrap().events {
            self.plan.evolve(event);
        }
    }

    fn starts(&mut self, who: &str, item: u32) {
        self.by(who, 1, &[Op::Start(ItemRef::Number(Number(item)))]);
    }

    fn interrupted(&mut self, item: u32, value: Value) {
        let merge = Map::from_iter([(Item::INTERRUPTED.to_owned(), value)]);
        let patch = Box::new(Patch { merge, ..Patch::default() });
        self.by("ann", 1, &[Op::Edit { item: ItemRef::Number(Number(item)), patch }]);
    }

    /// The numbers of the items that a worker of these kinds can take, and what of an interrupted one.
    fn takes(&self, kinds: &[&str]) -> String {
        let kinds = kinds.iter().map(|it| it.parse::<Kinds>().unwrap());
        let kinds = kinds.reduce(Kinds::and).unwrap_or_default();
        let tree = Tree::of(&self.plan);
        let word = |it: &ready::Candidate| {
            let how = match it.resumed {
                None => "",
                Some(Resumed::Again) => " again",
                Some(Resumed::CheckOnly) => " check",
            };
            format!("{}{how}", it.number)
        };
        candidates(&self.plan, &tree, &kinds).iter().map(word).collect::<Vec<_>>().join(", ")
    }

    fn waits(&self) -> Vec<u32> {
        ready::undecided(&self.plan).iter().map(|it| it.number.0).collect()
    }
}

const PLAN: &str = "\
- [ ] Build
  run: make
- [ ] Write
  agent: Claude
- [ ] Review
  agent: codex
- [ ] By hand
- [ ] Publish
  after: Build
  run: ./publish.sh
";

#[test]
fn ready_items_of_the_workers_kinds_are_taken() {
    let mut world = World::new(PLAN);
    assert_eq!(world.takes(&["run"]), "1");
    assert_eq!(world.takes(&["claude"]), "2");
    assert_eq!(world.takes(&["run", "claude", "codex"]), "1, 2, 3");
    assert_eq!(world.takes(&[]), "");
    world.starts("bob", 1);
    assert_eq!(world.takes(&["run"]), "", "somebody has it");
    let done =
        Op::Complete { item: ItemRef::Number(Number(1)), outcome: None, with_children: false };
    world.by("bob", 2, &[done]);
    assert_eq!(world.takes(&["run"]), "5");
    assert!("gardener".parse::<Kinds>().is_err());
}

#[test]
fn the_lowest_priority_number_comes_first_then_the_order_of_the_list() {
    let mut world = World::new("- [ ] A\n  run: a\n- [ ] B\n  run: b\n- [ ] C\n  run: c\n");
    let patch = Patch { priority: Some(Some(1)), ..Patch::default() };
    world.by("ann", 1, &[Op::Edit { item: ItemRef::Number(Number(3)), patch: Box::new(patch) }]);
    assert_eq!(world.takes(&["run"]), "3, 1, 2");
}

#[test]
fn an_interrupted_item_runs_again_is_checked_or_is_left_to_a_person() {
    let text = "\
- [ ] Retry
  run: a
  retry: 2
- [ ] Check
  run: b
  verify: c
- [ ] Neither
  run: d
";
    let mut world = World::new(text);
    for item in 1..=3 {
        world.interrupted(item, 1.into());
    }
    assert_eq!((world.takes(&["run"]).as_str(), world.waits()), ("1 again, 2 check", vec![3]));
    // Too often in a row.
    world.interrupted(1, 3.into());
    assert_eq!((world.takes(&["run"]).as_str(), world.waits()), ("2 check", vec![1, 3]));
    // A person was asked, and has ended the wait.
    world.interrupted(3, Item::ASKED.into());
    assert_eq!(world.takes(&["run"]), "2 check, 3 again");
    // A database of an older version has a truth value.
    world.interrupted(1, true.into());
    assert_eq!(world.takes(&["run"]), "1 again, 2 check, 3 again");
}

#[test]
fn undecided_items_are_made_to_wait_and_finished_groups_are_completed() {
    let mut world = World::new("- [ ] A\n  run: a\n- [ ] Group\n  - [ ] B\n    run: b\n");
    world.interrupted(1, 1.into());
    let done =
        Op::Complete { item: ItemRef::Number(Number(3)), outcome: None, with_children: false };
    world.by("bob", 2, &[done]);
    let ops = tidy::ops(&world.plan, &Tree::of(&world.plan));
    world.by("bob", 3, &ops);
    let item = |n: u32| world.plan.get(Number(n)).unwrap();
    assert_eq!(item(1).waiting_on.as_deref(), Some("a person, because it was interrupted"));
    assert!(!item(2).is_open(), "the group is done");
    assert_eq!(tidy::ops(&world.plan, &Tree::of(&world.plan)), [], "once is enough");
    world.by("ann", 4, &[Op::Resume(ItemRef::Number(Number(1)))]);
    assert_eq!(world.takes(&["run"]), "1 again");
}

#[test]
fn lapsed_claims_of_others_are_found_by_time_or_by_their_process() {
    let mut world = World::new("- [ ] A\n  run: a\n- [ ] B\n  run: b\n- [ ] C\n  run: c\n");
    world.starts("bob", 1);
    let process = Process {
        host: "here".to_owned(),
        boot_id: "boot".to_owned(),
        pid_namespace: 1,
        pid: 7,
        start_time: 1,
    };
    let holder = Holder { name: "eve".to_owned(), process: Some(process.clone()) };
    let ctx = Ctx { holder, ..Ctx::new("eve", at(600), IdSource::fixed(at(600), 99)) };
    let start = [Op::Start(ItemRef::Number(Number(2)))];
    for event in &decide(&world.plan, &start, &ctx).unwrap().events {
        world.plan.evolve(event);
    }
    let nobody = BTreeSet::new();
    let lapsed = |second, gone: &[Process]| tidy::lapsed(&world.plan, at(second), gone, &nobody);
    assert_eq!(lapsed(700, &[]), []);
    assert_eq!(lapsed(901, &[]), [Number(1)]);
    assert_eq!(lapsed(700, &[process]), [Number(2)]);
    let mine = BTreeSet::from([Number(1)]);
    assert_eq!(
        tidy::lapsed(&world.plan, at(901), &[], &mine),
        [],
        "what this worker does is not lapsed"
    );
    assert_eq!(tidy::first_end(&world.plan, &nobody), Some(at(901)));
    assert_eq!(tidy::first_end(&world.plan, &mine), Some(at(1500)));
}
