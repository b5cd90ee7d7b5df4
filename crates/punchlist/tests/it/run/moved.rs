//! Plan files that were renamed or moved: completed steps are not repeated.

use std::fs;

use punchlist_model::store::{Entry, PlanStore};
use punchlist_model::{MadeFor, Revision, legacy_ids};
use punchlist_store::{Durability, Options, Sqlite};

use super::{done, read, run};
use crate::terminal::Terminal;
use crate::world::World;
use pollster::block_on as wait;

const PLAN: &str = "\
# Release
- [ ] Build
  run: echo build >> $LOG
- [ ] Publish
  after: Build
  run: echo publish >> $LOG; test -e works
";

/// A project whose plan was half completed when its file was moved.
fn moved(to: &str) -> World {
    let world = World::new();
    let log = world.path("log.txt");
    world.write("project/plan.md", PLAN.replace("$LOG", &log.display().to_string()));
    assert_eq!(run(&world, &["plan.md"]).code, 6);
    rename(&world, "project/plan.md", to);
    world
}

fn rename(world: &World, from: &str, to: &str) {
    let to = world.path(to);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(world.path(from), to).unwrap();
}

#[test]
fn a_moved_file_is_not_run_again_in_silence() {
    let world = moved("project/docs/release.md");
    let ran = run(&world, &["docs/release.md"]);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    let old = world.path("project/plan.md").display().to_string();
    assert!(
        ran.err.contains(&format!("docs/release.md looks like {old}, which is gone")),
        "{}",
        ran.err
    );
    let command = format!("`punchlist run docs/release.md --moved-from {old}`");
    assert!(ran.err.contains(&command) && ran.err.contains("--fresh"), "{}", ran.err);
    assert_eq!(read(&world, "log.txt"), "build\npublish\n");
}

#[test]
fn a_moved_file_goes_on_where_its_run_was() {
    let world = moved("project/docs/release.md");
    world.write("project/docs/works", "");
    let ran = run(&world, &["docs/release.md", "--moved-from", "plan.md"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(read(&world, "log.txt"), "build\npublish\npublish\n");
    // From now on the plan belongs to this file, under its name.
    assert_eq!(done(&world, "release.md"), ["Build", "Publish"]);
    let again = run(&world, &["docs/release.md"]);
    assert_eq!((again.code, again.err.as_str()), (0, ""), "{}", again.out);
    assert!(again.out.starts_with("All done already"), "{}", again.out);
    // A new file at the old path is a plan of its own.
    world.write("project/plan.md", "- [ ] Other\n  run: echo other >> other.txt\n");
    for _ in 0..2 {
        assert_eq!(run(&world, &["plan.md"]).code, 0);
    }
    assert_eq!(read(&world, "project/other.txt"), "other\n");
    assert_eq!(done(&world, "release.md"), ["Build", "Publish"]);
}

#[test]
fn a_person_is_asked_whether_a_moved_file_goes_on() {
    let world = moved("project/release.md");
    world.write("project/works", "");
    let Some(terminal) = Terminal::open(&world, 200) else { return };
    let program = env!("CARGO_BIN_EXE_punchlist");
    terminal.types(&[&format!("{program} run release.md; echo no $?"), "Enter"]);
    terminal.until(|it| it.ends_with("Go on where its last run was? [y/N]"));
    terminal.types(&["n", "Enter"]);
    terminal.until(|it| it.lines().any(|it| it == "no 3"));
    terminal.types(&[&format!("clear; {program} run release.md; echo yes $?"), "Enter"]);
    terminal.until(|it| it.ends_with("Go on where its last run was? [y/N]"));
    terminal.types(&["y", "Enter"]);
    terminal.until(|it| it.lines().any(|it| it == "yes 0"));
    assert_eq!(read(&world, "log.txt"), "build\npublish\npublish\n");
}

#[test]
fn a_fresh_run_of_a_moved_file_is_a_plan_of_its_own() {
    let world = moved("project/release.md");
    world.write("project/works", "");
    let ran = run(&world, &["release.md", "--fresh"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(read(&world, "log.txt"), "build\npublish\nbuild\npublish\n");
    assert_eq!(run(&world, &["release.md"]).code, 0);
}

#[test]
fn a_copy_is_a_plan_of_its_own() {
    let world = moved("project/release.md");
    let text = read(&world, "project/release.md");
    world.write("project/plan.md", &text);
    world.write("project/works", "");
    let ran = run(&world, &["release.md"]);
    assert_eq!(ran.code, 0, "the first is there, so this is another: {}{}", ran.out, ran.err);
    let ran = run(&world, &["release.md", "--moved-from", "plan.md"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("copied, not moved"), "{}", ran.err);
    let ran = run(&world, &["release.md", "--moved-from", "never.md"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
}

#[test]
fn a_file_with_other_items_is_another_plan() {
    let world = moved("project/release.md");
    world.write("project/release.md", "- [ ] Something else\n  run: true\n");
    assert_eq!(run(&world, &["release.md"]).code, 0);
}

#[test]
fn a_dry_run_of_a_moved_file_says_so_and_asks_nobody() {
    let world = moved("project/release.md");
    let ran = run(&world, &["release.md", "--dry-run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("--moved-from"), "{}", ran.err);
    let ran = run(&world, &["release.md", "--dry-run", "--moved-from", "plan.md"]);
    assert!(ran.out.starts_with("Release: 1/2 done (50 %), 1 to do"), "{}", ran.out);
}

/// Up to schema 6 the id of a file's plan was a hash of the path, and nothing else was recorded.
#[test]
fn a_plan_file_that_an_older_version_finished_is_not_run_again() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Build\n  run: echo build >> log.txt\n");
    assert_eq!(run(&world, &["plan.md"]).code, 0);
    let file = MadeFor::File(world.path("project/plan.md").display().to_string());
    let path = world.path("home/.local/share/punchlist/punchlist.db");
    let store = Sqlite::open(&Options { path, durability: Durability::Normal }).unwrap();
    // The plan as an older version has left it.
    let new = wait(store.plan_for(file.clone())).unwrap().unwrap();
    let id = legacy_ids::plan_id(&file);
    let mut plan = wait(PlanStore::whole(&store, new)).unwrap();
    (plan.id, plan.name, plan.made_for) = (id, None, None);
    let journal = wait(store.journal(new, Revision(0), u32::MAX)).unwrap();
    let journal = journal.into_iter().map(|entry| Entry { plan: id, ..entry }).collect();
    wait(store.import(plan, journal)).unwrap();
    wait(store.set_made_for(new, None)).unwrap();
    for _ in 0..2 {
        let ran = run(&world, &["plan.md"]);
        assert!(ran.out.starts_with("All done already"), "{}{}", ran.out, ran.err);
        assert_eq!(read(&world, "project/log.txt"), "build\n");
        assert_eq!(wait(store.plan_for(file.clone())).unwrap(), Some(id), "it is recorded now");
    }
}
