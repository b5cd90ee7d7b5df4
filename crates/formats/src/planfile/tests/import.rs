//! Importing a file into a plan, and importing it again after edits.

use std::fmt::Write as _;

use proptest::prelude::*;
use punchlist_model::{
    Actor, Ctx, Decision, Evidence, Holder, IdSource, Item, Level, Limits, Mode, Number, Op,
    Origin, Plan, PlanId, Status, decide,
};

use super::super::{
    Changed, Import, Source, finished_groups, is_from_file, matched, read, ticks, write_back,
};

const FILE: Source<'_> =
    Source { origin: Origin::Person, name: "plan.md", directory: "/p", below: None };
const AGENTS: Source<'_> = Source { origin: Origin::Agent, ..FILE };

fn ctx(change: u8) -> Ctx {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    Ctx {
        now,
        ids: IdSource::fixed(now, change),
        actor: Actor::agent("me"),
        holder: Holder::named("me"),
        attempt: None,
        base: None,
        mode: Mode::Enforced,
        limits: Limits { open_items: u32::MAX, max_in_progress: Some(100), ..Limits::default() },
        gone: Vec::new(),
        anyway: false,
    }
}

struct World {
    plan: Plan,
    changes: u8,
}

impl World {
    fn new() -> Self {
        let ids = IdSource::fixed("2026-01-01T00:00:00Z".parse().unwrap(), 255);
        let at = "2026-01-01T00:00:00Z".parse().unwrap();
        Self { plan: Plan::new(PlanId(ids.nth(0)), "/p", at), changes: 0 }
    }

    fn change(&mut self, ops: &[Op]) -> Decision {
        self.change_as(Actor::agent("me"), ops)
    }

    fn change_as(&mut self, actor: Actor, ops: &[Op]) -> Decision {
        self.changes += 1;
        let ctx = Ctx { actor, ..ctx(self.changes) };
        let decision = decide(&self.plan, ops, &ctx).unwrap();
        for event in &decision.events {
            self.plan.evolve(event);
        }
        decision
    }

    /// Imports a file and returns what was changed, dropped and added.
    fn import_if(&mut self, text: &str, again: impl FnMut(&Changed) -> bool) -> String {
        let file = read(text);
        assert!(file.is_sound(), "{:#?}", file.problems);
        let plan = self.plan.clone();
        let import = Import::new(&file, Some(&plan), FILE);
        let mut out = String::new();
        for it in &import.changed {
            let _ = writeln!(out, "changed {}: {}", it.number, it.fields.join(", "));
        }
        for it in &import.dropped {
            let open = if it.open { " while open" } else { "" };
            let _ = writeln!(out, "dropped {} {}{open}", it.number, it.title);
        }
        let ops = import.ops(again);
        let adds = ops.iter().filter(|op| matches!(op, Op::Add(_))).count();
        assert_eq!(adds, import.added());
        let _ = writeln!(out, "{} steps, {adds} new", ops.len());
        self.change(&ops);
        // Whatever the answers were, the plan now equals the file.
        let plan = self.plan.clone();
        let twice = Import::new(&file, Some(&plan), FILE);
        assert_eq!(twice.ops(|_| true), [], "{:#?}", self.plan);
        assert_eq!(twice.changed, []);
        out
    }

    fn import(&mut self, text: &str) -> String {
        let mut out = self.import_if(text, |_| true);
        out.push_str(&self.list());
        out
    }

    fn complete(&mut self, number: u32) {
        let item = Number(number);
        if self.plan.get(item).unwrap().check.is_some() {
            let evidence = Evidence {
                level: Level::Approved,
                at: "2026-01-01T00:00:00Z".parse().unwrap(),
                by: "a person".to_owned(),
                run: None,
            };
            let prove = Op::Prove { item: item.into(), evidence: Box::new(evidence) };
            self.change_as(Actor::person("a person"), &[prove]);
        }
        self.change(&[Op::Complete { item: item.into(), outcome: None, with_children: false }]);
    }

    fn list(&self) -> String {
        self.plan.listed().iter().fold(String::new(), |out, item| out + &line(item))
    }
}

fn line(item: &Item) -> String {
    let sign = match item.status {
        Status::Pending => ' ',
        Status::InProgress => '>',
        Status::Completed => 'x',
        Status::Cancelled => '-',
    };
    let mut out = format!("[{sign}] {} {}", item.number, item.title);
    if let Some(parent) = item.parent {
        let _ = write!(out, ", under {parent}");
    }
    if !item.depends_on.is_empty() {
        let on: Vec<_> = item.depends_on.iter().map(Number::to_string).collect();
        let _ = write!(out, ", after {}", on.join(" "));
    }
    for (key, command) in [
        ("run", item.run.as_ref().map(|it| (&it.command, it.origin))),
        ("verify", item.check.as_ref().map(|it| (&it.command, it.origin))),
    ] {
        if let Some((command, origin)) = command {
            let _ = write!(out, ", {key} {command:?}");
            if origin != Origin::Person {
                out.push_str(" by an agent");
            }
        }
    }
    for it in &item.evidence {
        let _ = write!(out, ", {} by {}", it.level.as_str(), it.by);
    }
    if !item.marks.is_empty() {
        let _ = write!(out, " {:?}", item.marks);
    }
    out.push('\n');
    out
}

const RELEASE: &str = "# Release
- [ ] Build
  run: make
  verify: make test
- [x] Write the notes
- [ ] Publish
  after: Build, Write the notes
  run: ./publish
  - [ ] Upload
    run: ./upload
  - [ ] Tell
    after: Upload
";

#[test]
fn a_new_file_becomes_a_plan() {
    let mut world = World::new();
    insta::assert_snapshot!(world.import(RELEASE));
    assert_eq!(world.plan.title, "Release");
}

#[test]
fn what_is_reworded_moved_or_removed_is_found_again_by_its_titles_alone() {
    let mut world = World::new();
    world.import(RELEASE);
    world.complete(1);
    insta::assert_snapshot!(world.import(
        "# Release 2
- [ ] Tag
  run: git tag
- [ ] Write the notes
- [x] Build
  run: make
  verify: make test
  after: Tag
- [ ] Publish it
  after: Build
  run: ./publish
"
    ));
}

#[test]
fn what_is_finished_and_changed_is_not_done_any_more() {
    let changed = RELEASE.replace("run: make", "run: make all");
    let mut world = World::new();
    world.import(RELEASE);
    world.complete(1);
    insta::assert_snapshot!("done_again", world.import(&changed));

    let mut world = World::new();
    world.import(RELEASE);
    world.complete(1);
    world.import_if(&changed, |_| false);
    insta::assert_snapshot!("left_as_it_was", world.list());
}

#[test]
fn a_finished_group_is_opened_by_what_is_done_again_under_it() {
    let mut world = World::new();
    let text = "- [ ] A\n  - [ ] B\n    run: b\n  - [ ] C\n    run: c\n";
    world.import(text);
    world.complete(2);
    world.complete(3);
    assert_eq!(finished_groups(&world.plan), [Number(1)]);
    world.complete(1);
    assert_eq!(finished_groups(&world.plan), []);
    let again = world.import(&text.replace("run: c", "run: d"));
    let new = world.import(&format!("{text}  - [x] D\n"));
    insta::assert_snapshot!(format!("{again}---\n{new}"));
}

#[test]
fn a_box_counts_when_it_is_ticked_and_not_again_after_it_was_overruled() {
    let mut world = World::new();
    let open = "- [ ] A\n  run: a\n  verify: test a\n- [ ] B\n";
    let ticked = "- [x] A\n  run: a\n  verify: test a\n- [-] B\n";
    let changed = "- [x] A\n  run: b\n  verify: test a\n- [-] B\n";
    let described = [open, ticked, changed, changed, open].map(|text| world.import(text));
    world.complete(1);
    // The box is open as before, so nobody asked to do the item again.
    let finished = world.import("- [ ] A\n  run: a\n  verify: test a\n- [ ] B\n");
    let seen = world.import(ticked);
    let unticked = world.import(open);
    insta::assert_snapshot!(format!(
        "{}---\n{finished}---\n{seen}---\n{unticked}",
        described.join("---\n")
    ));
}

#[test]
fn headings_tell_the_same_title_apart_and_may_change_where_there_is_one() {
    let mut world = World::new();
    let two = "# T\n## S\n- [ ] Deploy\n  run: a\n## P\n- [ ] Deploy\n  run: b\n- [ ] Rest\n";
    world.import(two);
    world.complete(1);
    world.complete(3);
    let swapped = world.import(
        "# T\n## P\n- [ ] Deploy\n  run: b\n## S\n- [ ] Deploy\n  run: a\n## Q\n- [ ] Rest\n",
    );
    insta::assert_snapshot!(swapped);
}

#[test]
fn a_turned_dependency_closes_no_circle() {
    let mut world = World::new();
    world.import("- [ ] A\n- [ ] B\n  after: A\n");
    insta::assert_snapshot!(world.import("- [ ] A\n  after: B\n- [ ] B\n"));
}

#[test]
fn what_others_put_on_the_plan_stays() {
    let mut world = World::new();
    let text = "- [ ] A\n  agent: claude\n- [ ] B\n";
    world.import(text);
    let under = punchlist_model::NewItem {
        parent: Some(Number(1).into()),
        ..punchlist_model::NewItem::titled("the agent's own")
    };
    world.change(&[Op::Add(Box::new(under)), Op::Add(Box::new(by_hand()))]);
    let same = world.import(text);
    let gone = world.import("- [ ] B\n");
    insta::assert_snapshot!(format!("{same}---\n{gone}"));
}

fn by_hand() -> punchlist_model::NewItem {
    punchlist_model::NewItem::titled("by hand")
}

#[test]
fn a_command_is_whose_word_it_was() {
    let mut world = World::new();
    let file = read("- [ ] A\n  run: a\n");
    world.change(&Import::new(&file, None, AGENTS).ops(|_| true));
    let agents = world.list();
    let persons = world.import("- [ ] A\n  run: a\n");
    let file = read("- [ ] A\n  run: a\n");
    let plan = world.plan.clone();
    let again = Import::new(&file, Some(&plan), AGENTS).ops(|_| true);
    insta::assert_snapshot!(format!("{agents}---\n{persons}---\n{again:?}"));
}

#[test]
fn states_are_written_back_where_the_plan_knows_them() {
    let mut world = World::new();
    world.import(RELEASE);
    world.complete(1);
    world.change(&[
        Op::Start(Number(4).into()),
        Op::Cancel { item: Number(5).into(), reason: None },
    ]);
    let meanwhile = RELEASE.replace("- [ ] Publish", "- [ ] New\n- [ ] Publish");
    insta::assert_snapshot!(write_back(&meanwhile, &ticks(&read(&meanwhile), &world.plan)));
}

/// A file of a few nested items with dependencies on items above.
fn any_file() -> impl Strategy<Value = String> {
    let item = (0..6_usize, 0..3_usize, any::<bool>(), 0..3_usize, prop::option::of(0..6_usize));
    prop::collection::vec(item, 1..8).prop_map(|items| {
        let mut out = String::new();
        let mut seen = std::collections::BTreeSet::new();
        let mut above: Vec<usize> = Vec::new();
        for (title, deep, ticked, run, after) in items {
            above.truncate(deep);
            let mut path = above.clone();
            path.push(title);
            if !seen.insert(path) || above.contains(&title) {
                continue;
            }
            let pad = "  ".repeat(above.len());
            let sign = if ticked { 'x' } else { ' ' };
            let _ = writeln!(out, "{pad}- [{sign}] Item {title}");
            if run > 0 {
                let _ = writeln!(out, "{pad}  run: command {run}");
            }
            // Dependencies on unique titles of the top level cannot form a cycle here.
            let top = |it: &usize| seen.contains(&vec![*it]) && above.is_empty() && *it != title;
            if let Some(after) =
                after.filter(top).filter(|it| !out.contains(&format!("after: Item {it}")))
            {
                let _ = writeln!(out, "{pad}  after: Item {after}");
            }
            above.push(title);
        }
        out
    })
}

proptest! {
    /// For any two files in sequence, with any items completed in between: the plan equals the
    /// second file, in its order, and a second import changes nothing.
    #[test]
    fn any_file_can_follow_any_other(
        files in prop::collection::vec(any_file(), 1..4),
        finish in prop::collection::vec(any::<bool>(), 40),
    ) {
        let mut world = World::new();
        for text in files.iter().filter(|text| read(text).is_sound()) {
            world.import_if(text, |it| it.number.0 % 2 == 0);
            let file = read(text);
            let known: Vec<Number> = matched(&file, &world.plan).into_iter().flatten().collect();
            prop_assert_eq!(known.len(), file.items.len());
            let listed: Vec<Number> =
                world.plan.listed().iter().filter(|it| is_from_file(it)).map(|it| it.number).collect();
            prop_assert_eq!(&listed, &known);
            for number in listed.into_iter().rev() {
                let open = world.plan.get(number).is_some_and(Item::is_open);
                let children = world.plan.children(number).iter().any(|it| it.is_open());
                let blocked = world.plan.get(number).is_some_and(|it| world.plan.is_blocked(it));
                if open && !children && !blocked && finish[number.0 as usize % finish.len()] {
                    world.complete(number.0);
                }
            }
        }
    }
}
