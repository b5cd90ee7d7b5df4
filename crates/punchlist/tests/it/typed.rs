//! The ways to name items on the command line, and the filters of lists.

use crate::world::World;

#[test]
fn items_are_typed_as_lists_ranges_and_titles() {
    told!(World::new().story(
        r#"
        add Build "Test the parser" "Test the printer" "Write docs, in English" Publish
        start build
        done 1
        done 2,3
        skip "Write docs, in English" --reason "no time"
        reopen 2-4
        done 2-3,4
        add "Announce it" --after Publish --under publish
        edit announce --not-after 5
        move "Announce it" --before 1
        show Announce
        wait publish "the review"
        # what cannot be
        done test
        done nothing
        done 3-1
        start 1,2
        done ""
        "#
    ));
}

#[test]
fn a_title_that_fits_several_items_lists_them_and_changes_nothing() {
    let world = World::new();
    world.typed("add \"Test a\" \"Test b\"").works();
    let before = world.list();
    let ran = world.typed("done Test");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("1  Test a (pending)"), "{}", ran.err);
    assert!(ran.err.contains("2  Test b (pending)"), "{}", ran.err);
    assert_eq!(world.list(), before);
    let json: serde_json::Value =
        serde_json::from_str(&world.typed("done Test --json").err).unwrap();
    assert_eq!(json["error"]["items"], serde_json::json!([1, 2]));
}

/// A list with one item of each kind.
fn various() -> World {
    let world = World::new();
    world.typed("add Build Test --owner me").works();
    world.typed("add Publish --after 2 --owner ann --context \"to the mirror\"").works();
    world.typed("add Announce Rest").works();
    world.typed("done 1").works();
    world.typed("start 5 --as ann").works();
    world.typed("skip 4").works();
    world
}

#[track_caller]
fn shows(world: &World, options: &str, numbers: &[u32]) {
    let list = world.typed(&format!("list --json {options}")).json();
    let found: Vec<u64> =
        list["items"].as_array().unwrap().iter().map(|it| it["number"].as_u64().unwrap()).collect();
    let expected: Vec<u64> = numbers.iter().map(|it| u64::from(*it)).collect();
    assert_eq!(found, expected, "{options}");
    assert_eq!(list["progress"]["total"], 4, "progress is that of the whole");
    let text = world.typed(&format!("list {options}")).ok();
    let lines = text.lines().filter(|line| line.trim_start().starts_with('[')).count();
    assert_eq!(lines, numbers.len(), "{options}: {text}");
}

#[test]
fn list_shows_the_items_that_are_asked_for() {
    let world = various();
    shows(&world, "--ready", &[2]);
    shows(&world, "--mine", &[1, 2]);
    shows(&world, "--mine --as ann", &[3, 5]);
    shows(&world, "--owner ANN", &[3, 5]);
    shows(&world, "--open", &[2, 3, 5]);
    shows(&world, "--status open", &[2, 3, 5]);
    shows(&world, "--status done", &[1]);
    shows(&world, "--status done,cancelled", &[1, 4]);
    shows(&world, "--status in_progress", &[5]);
    shows(&world, "--search MIRROR", &[3]);
    shows(&world, "--search e --open", &[2, 3, 5]);
    shows(&world, "--search nothing", &[]);
    assert_eq!(world.typed("list --search nothing").ok(), "No item fits.\n");
    assert_eq!(world.typed("list --status odd").code, 2);
    // The description of an item comes from the whole list.
    assert!(world.typed("list --owner ann").ok().contains("3 Publish (after 2)"));
    assert!(world.typed("list --open --view list").ok().contains("after 2"));
}

#[test]
fn list_all_plans_shows_every_plan_of_the_project_that_is_not_finished() {
    let world = various();
    world.typed("add Ship --plan release").works();
    world.typed("add Old --plan past").works();
    world.typed("done 1 --plan past").works();
    let all = world.typed("list --all-plans").ok();
    assert!(all.contains("(the project's own)\n[x] 1 Build"), "{all}");
    assert!(all.contains("release\n[ ] 1 Ship"), "{all}");
    assert!(!all.contains("Old"), "{all}");
    assert!(all.ends_with("1 finished not shown: punchlist plans --finished\n"), "{all}");
    let json = world.typed("list --all-plans --json").json();
    assert_eq!(json["plans"].as_array().unwrap().len(), 2);
    assert_eq!(json["folded"]["finished"], 1);
    let found = world.typed("list --all-plans --search ship").ok();
    assert!(found.contains("Ship") && !found.contains("Build"), "{found}");
}

#[test]
fn plans_are_renamed_archived_and_taken_out_again() {
    told!(World::new().story(
        r#"
        add A --plan release
        add B --plan other
        plans rename release "spring release"
        plans rename nothing else
        plans rename other "spring release"
        list --plan "spring release"
        plans archive "spring release"
        plans
        plans --finished
        plans unarchive "spring release"
        plans archive other --json
        log --plan other
        undo --plan other
        plans
        "#
    ));
}

#[test]
fn finished_plans_are_folded_away_and_counted() {
    let world = World::new();
    world.typed("add A --plan one").works();
    world.typed("add B --plan two").works();
    world.typed("done 1 --plan one").works();
    let plans = world.typed("plans").ok();
    assert!(plans.contains("two") && !plans.contains("one "), "{plans}");
    assert!(plans.ends_with("1 finished not shown: punchlist plans --finished\n"), "{plans}");
    for option in ["--finished", "--all"] {
        let plans = world.typed(&format!("plans {option}")).ok();
        assert!(plans.contains("one") && !plans.contains("not shown"), "{plans}");
    }
    assert_eq!(world.typed("plans --json").json()["plans"].as_array().unwrap().len(), 1);
}

#[test]
fn deleting_a_plan_is_forgetting_it_and_needs_a_person_who_confirms() {
    let world = World::new();
    world.typed("add Secret --plan release").works();
    world.typed("add Secret2 --plan later").works();
    let asked = world.typed("plans delete release");
    assert_eq!(asked.code, 3, "{}", asked.err);
    let mut command = world.command("project");
    command.args(["plans", "delete", "release"]).env("CLAUDECODE", "1");
    assert_eq!(crate::world::finish(command, b"").code, 3);
    assert!(world.typed("list --plan release").ok().contains("Secret"));
    world.person("plans delete release").works();
    assert_eq!(world.typed("list --plan release").code, 4);
    assert!(!world.typed("plans").ok().contains("forgotten"));
    world.typed("forget later").works();
    assert_eq!(world.typed("list --plan later").code, 4);
    assert_eq!(world.typed("forget nothing").code, 4);
}

#[test]
fn an_agent_neither_renames_nor_archives_plans() {
    let world = World::new();
    world.typed("add A --plan release").works();
    for act in ["rename release other", "archive release", "unarchive release"] {
        let mut command = world.command("project");
        command.arg("plans").args(act.split(' ')).env("CLAUDECODE", "1");
        assert_eq!(crate::world::finish(command, b"").code, 3, "{act}");
    }
}
