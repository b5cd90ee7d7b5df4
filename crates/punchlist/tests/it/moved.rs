//! A project that was renamed or moved gets its plans back.

use std::fs;
use std::process::Command;

use crate::world::{World, finish};

/// Runs git in a directory, without the machine's configuration.
fn git(world: &World, dir: &str, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", world.path("home"));
    command.env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z");
    command.env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z");
    command.args([
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "-c",
        "init.defaultBranch=main",
    ]);
    let done = command.args(arguments).current_dir(world.path(dir)).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A repository with a unique commit.
fn repository(world: &World, dir: &str) {
    fs::create_dir_all(world.path(dir)).unwrap();
    git(world, dir, &["init", "-q"]);
    git(world, dir, &["commit", "-q", "--allow-empty", "-m", dir]);
}

fn rename(world: &World, from: &str, to: &str) {
    fs::rename(world.path(from), world.path(to)).unwrap();
}

fn path(world: &World, dir: &str) -> String {
    world.path(dir).display().to_string()
}

#[test]
fn plans_of_all_projects_say_which_directories_are_gone() {
    let world = World::new();
    repository(&world, "app");
    world.typed_in("app", "add One").works();
    world.typed("add Two").works();
    assert!(!world.typed("plans --all").ok().contains("gone"));
    rename(&world, "app", "renamed");
    let said = world.typed("plans --all").ok();
    assert!(said.contains(&format!("gone: {} (1 plan)\n", path(&world, "app"))), "{said}");
    assert!(said.contains("`punchlist move-project OLD NEW`"), "{said}");
    let plans = world.typed("plans --all --json").json();
    let gone = plans["plans"].as_array().unwrap().iter().filter(|it| it["gone"] == true).count();
    assert_eq!(gone, 1);
}

#[test]
fn a_repository_that_was_moved_is_known_by_its_first_commit_and_offered_its_plans() {
    let world = World::new();
    repository(&world, "app");
    repository(&world, "other");
    world.typed_in("app", "add One").works();
    rename(&world, "app", "renamed");
    assert_eq!(world.typed_in("other", "list").err, "", "another repository is offered nothing");
    let ran = world.typed_in("renamed", "list");
    let (old, new) = (path(&world, "app"), path(&world, "renamed"));
    let command = format!("`punchlist move-project {old} {new}`");
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.contains(&command), "{}", ran.err);
    let moved = world.typed_in("renamed", &format!("move-project {old} {new}"));
    assert_eq!(
        (moved.code, moved.out.as_str(), moved.err.as_str()),
        (0, &*format!("moved 1 plan to {new}\n"), "")
    );
    let list = world.typed_in("renamed", "list").ok();
    assert!(list.contains("One"), "{list}");
    // New items go on the same list.
    world.typed_in("renamed", "add Two").works();
    assert_eq!(
        world.typed_in("renamed", "list --json").json()["items"].as_array().unwrap().len(),
        2
    );
    assert!(!world.typed("plans --all").ok().contains("gone"));
}

#[test]
fn the_offer_ends_with_the_first_change_at_the_new_place() {
    let world = World::new();
    repository(&world, "app");
    world.typed_in("app", "add One").works();
    rename(&world, "app", "renamed");
    let first = world.typed_in("renamed", "add Two");
    assert!(first.code == 0 && first.err.contains("move-project"), "{}", first.err);
    world.typed_in("renamed", "add Three").works();
    // Both lists exist after the move, under different names.
    let (old, new) = (path(&world, "app"), path(&world, "renamed"));
    let moved = world.typed_in("renamed", &format!("move-project {old} {new}")).ok();
    assert!(moved.contains("is now called app\n"), "{moved}");
    assert!(world.typed_in("renamed", "list --plan app").ok().contains("One"));
    assert!(world.typed_in("renamed", "list").ok().contains("Three"));
}

#[test]
fn projects_below_a_directory_move_with_it_and_worktrees_stay_one_project() {
    let world = World::new();
    repository(&world, "work/app");
    git(&world, "work/app", &["worktree", "add", "-q", "../tree"]);
    world.typed_in("work/app", "add One").works();
    world.typed_in("work/tree", "add Two").works();
    rename(&world, "work", "moved");
    git(&world, "moved/app", &["worktree", "repair", "../tree"]);
    let (old, new) = (path(&world, "work"), path(&world, "moved"));
    world.typed_in("moved/app", &format!("move-project {old} {new}")).ok();
    for dir in ["moved/app", "moved/tree"] {
        let list = world.typed_in(dir, "list --json").json();
        assert_eq!(list["items"].as_array().unwrap().len(), 2, "{dir}");
    }
}

#[test]
fn only_a_person_moves_a_project_and_only_one_that_is_gone() {
    let world = World::new();
    repository(&world, "app");
    world.typed_in("app", "add One").works();
    let (old, new) = (path(&world, "app"), path(&world, "project"));
    let still = world.typed(&format!("move-project {old} {new}"));
    assert!(still.code == 3 && still.err.contains("is still there"), "{}", still.err);
    let nothing = world.typed("move-project /no/such/place .");
    assert!(nothing.code == 4 && nothing.err.contains("no plan belongs to"), "{}", nothing.err);
    rename(&world, "app", "renamed");
    let mut command = world.command("renamed");
    command.args(["move-project", &old, "."]).env("CLAUDECODE", "1");
    let agent = finish(command, b"");
    assert!(agent.code == 3 && agent.err.contains("by claude"), "{}", agent.err);
    world.typed_in("renamed", &format!("move-project {old} .")).ok();
}
