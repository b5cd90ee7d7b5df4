//! Everyday use: the program without a verb, aliases, and messages.

use crate::world::World;

#[test]
fn punchlist_alone_shows_the_list_and_what_is_next() {
    let world = World::new();
    world.typed("add Build Test Publish --priority 1").works();
    let alone = world.run::<&str>(&[]).ok();
    let list = world.typed("list").ok();
    assert_eq!(alone, format!("{list}\nNext: 1  Build  (punchlist start 1)\n"));
    world.typed("start 1").works();
    let alone = world.run::<&str>(&[]).ok();
    assert!(alone.ends_with("\nIn progress: 1  Build  (punchlist done 1)\n"), "{alone}");
    world.typed("done 1 2 3").works();
    let alone = world.run::<&str>(&[]).ok();
    assert!(alone.ends_with("\nNothing is left to do.\n"), "{alone}");
    assert_eq!(world.typed("--json").json()["progress"]["percent"], 100);
}

#[test]
fn punchlist_alone_without_a_plan_says_how_to_begin() {
    let world = World::new();
    let alone = world.run::<&str>(&[]).ok();
    assert!(alone.starts_with("No plan here yet ("), "{alone}");
    assert!(alone.contains("punchlist add ") && alone.contains("punchlist help"), "{alone}");
    assert!(alone.lines().count() < 10, "{alone}");
    assert!(world.typed("--json").json()["plan"].is_null());
}

#[test]
fn other_programs_words_are_aliases() {
    let world = World::new();
    world.typed("add A B C D").works();
    assert_eq!(world.typed("claim").ok(), "started 1  A\n");
    assert_eq!(world.typed("complete 1 --outcome fine").ok(), "completed 1  A\n");
    assert_eq!(world.typed("rm 2 --reason no").ok(), "cancelled 2  B\n");
    assert_eq!(world.typed("cancel 3").ok(), "cancelled 3  C\n");
    assert_eq!(world.typed("ls --json").json(), world.typed("list --json").json());
    assert_eq!(world.typed("help ls").ok(), world.typed("help list").ok());
    assert_eq!(world.typed("--json claim").json()["changed"][0]["number"], 4);
    for (word, verb) in [("ls", "list"), ("rm", "skip"), ("complete", "done"), ("claim", "next")] {
        assert!(world.typed(&format!("help {verb}")).ok().contains(word), "{verb}: {word}");
    }
}

#[test]
fn undo_says_what_it_undid() {
    let world = World::new();
    world.typed("add X Y").works();
    world.typed("start 1").works();
    world.typed("done 1 --outcome fine").works();
    assert_eq!(world.typed("undo").ok(), "undid: completed 1 \"X\": fine (in progress again)\n");
    world.typed("edit 2 --title Z").works();
    assert_eq!(world.typed("undo").ok(), "undid: edited 2 \"Y\" (title)\n");
    world.typed("add W").works();
    assert_eq!(world.typed("undo").ok(), "undid: added 3 \"W\" (dropped)\n");
    let log = world.typed("log").ok();
    assert!(log.contains("undid: completed 1 \"X\": fine (in progress again)"), "{log}");
    assert!(!log.contains("took back"), "{log}");
}

#[test]
fn a_word_alone_shows_nothing_beside_the_item_and_json_calls_it_reported() {
    let world = World::new();
    world.typed("add A").works();
    world.typed("done 1").works();
    let drawn = world.typed("list --view list").ok();
    assert!(!drawn.contains("claimed") && !drawn.contains("reported"), "{drawn}");
    let item = &world.typed("list --json").json()["items"][0];
    assert_eq!(item["evidence"][0]["level"], "reported");
}

#[test]
fn a_drained_plan_is_shown_as_finished_and_json_keeps_drained() {
    let world = World::new();
    world.typed("add A").works();
    world.typed("done 1").works();
    for line in ["show", "log", "plans --all"] {
        let shown = world.typed(line).ok();
        assert!(shown.contains("finished") && !shown.contains("drained"), "{line}: {shown}");
    }
    assert_eq!(world.typed("show --json").json()["plan"]["end"], "drained");
}

#[test]
fn what_was_superseded_is_called_dropped_everywhere() {
    let world = World::new();
    world.typed("add A B").works();
    let replaced = world.typed("replace < - [ ] A\\n");
    assert!(replaced.out.contains("dropped 2  B"), "{}", replaced.out);
    for line in ["list --all", "show 2", "log"] {
        let shown = world.typed(line).ok();
        assert!(shown.contains("dropped") && !shown.contains("superseded"), "{line}: {shown}");
    }
    let refused = world.typed("start 2");
    assert!(refused.err.contains("it was dropped"), "{}", refused.err);
    for verb in ["list", "replace", "show"] {
        assert!(!world.typed(&format!("help {verb}")).ok().contains("upersed"), "{verb}");
    }
}

#[test]
fn the_log_has_the_outcome_of_done() {
    let world = World::new();
    world.typed("add A").works();
    world.typed("done 1 --outcome \"all 212 tests pass\"").works();
    let log = world.typed("log").ok();
    assert!(log.contains("completed 1 \"A\": all 212 tests pass"), "{log}");
}

#[test]
fn the_drawn_list_bears_the_plans_title_or_name_and_shows_priorities() {
    let world = World::new();
    world.typed("add A B --plan release --priority 0").works();
    let drawn = world.typed("list --plan release --view list").ok();
    assert!(drawn.starts_with("┌─ release ─"), "{drawn}");
    assert!(drawn.lines().any(|line| line.contains("A") && line.contains("P0")), "{drawn}");
    assert!(world.typed("list --plan release").ok().contains("[ ] 1 A (P0)"));
    // The bordered box is unchanged.
    let boxed = world.typed("list --plan release --view box").ok();
    assert!(boxed.starts_with("┌─ Tasks ─"), "{boxed}");
}
