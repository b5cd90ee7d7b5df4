//! Each verb, as a terminal session. The snapshots are meant to be read.

use crate::world::World;

#[track_caller]
fn tell(lines: &str) -> String {
    World::new().story(lines)
}

#[test]
fn a_first_plan() {
    told!(tell(
        r#"
        list
        list --json
        next
        add "Fix the failing tests" "Update documentation"
        list
        next
        start 1
        done 1 --outcome "all 212 pass"
        next
        done 2
        next
        list
        plans
        "#
    ));
}

#[test]
fn add_puts_items_where_they_belong() {
    told!(tell(
        r#"
        add A B C
        add --first D E
        add --at 2 F
        add --before 2 G
        add --behind 2 H I
        add J --under 2 --after 1,3 --priority 0 --context "why" --criteria "how to tell" --agent rust --owner ann --active "Doing J" --wait "the build" --meta '{"ticket": 12}'
        add - < first line\n\n  second line  \n
        list
        show 10
        # what cannot be
        add ""
        add K --after 99
        add K --under 99 --after 98
        add K L --active "Doing both"
        add K --meta [1]
        add K --first --at 3
        add K --at 0
        add -
        add
        "#
    ));
}

#[test]
fn start_done_skip_release_and_reopen_move_items() {
    told!(tell(
        r#"
        add A B C D
        start 1
        # one at a time
        start 2
        start 1
        # but another worker may
        start 2 --as ann
        done 2
        release 2
        release 2
        done 1 3 --outcome both
        # all or nothing
        done 4 1 99
        list
        skip 4 --reason "out of scope"
        done 4
        start 4
        reopen 4 --start
        reopen 1 3
        list
        log -n 4
        "#
    ));
}

#[test]
fn a_parent_is_not_completed_while_a_child_is_open() {
    told!(tell(
        r#"
        add "Migrate the table"
        add "Write the backfill" "Run it" --under 1
        done 1
        done 1 --with-children
        list
        reopen 2
        reopen 1 2
        "#
    ));
}

#[test]
fn dependencies_make_items_wait_their_turn() {
    told!(tell(
        r#"
        add Build Test
        add Publish --after 1,2
        next
        edit 1 --after 3
        start 3
        start 3 --anyway
        release 3
        skip 2 --reason "no tests"
        edit 3 --not-after 2
        done 1
        next --claim
        next
        next --json --as ann
        list --view dot
        list --view mermaid
        "#
    ));
}

#[test]
fn waiting_items_are_open_but_not_ready() {
    told!(tell(
        r#"
        add "Choose the licence" "Write it down"
        wait 1 legal
        wait 2 "   "
        wait 1
        next
        wait 2 "the same"
        next
        list
        wait 1 --over
        wait 1 legal --over
        next
        done 1
        wait 1 legal
        "#
    ));
}

#[test]
fn edit_changes_what_is_named_and_nothing_else() {
    told!(tell(
        r#"
        add "Run the build" "Other" --owner ann --context "first"
        edit 1 --title "Run the final build" --priority 3 --active "Building" --agent ci --criteria "exit 0" --outcome "so far" --meta '{"a": 1}'
        show 1
        edit 1 --owner "" --no-priority --active "" --agent "" --meta {} --outcome ""
        show 1
        edit 1 --title "Run the final build"
        edit 1 --under 2
        edit 2 --under 1
        edit 1 --top
        # what cannot be
        edit 1
        edit 1 --title " "
        edit 9 --title x
        edit 1 --priority x
        edit 1 --under 2 --top
        "#
    ));
}

#[test]
fn move_changes_places_and_no_numbers() {
    told!(tell(
        r#"
        add A B C D
        move 4 --first
        move 1 --last
        move 2 --behind 3
        move 2 --after 1
        move 3 --before 4
        move 2 --to 2
        move 2 --to 2
        list
        move 1
        move 1 --first --last
        move 9 --first
        "#
    ));
}

#[test]
fn replace_reconciles_a_whole_list() {
    told!(tell(
        r#"
        add A B C
        start 1
        replace < - [x] A\n- [ ] C\n- [ ] New\n
        list --all
        replace < [{"number": 3, "title": "C, reworded", "status": "in_progress", "activeForm": "Doing C"}]
        list
        list --json --all --status pending
        # what cannot be
        replace < some prose
        replace
        replace < [{"title": "x", "status": "doing"}]
        replace < [{"title": ""}]
        replace < [{"id": 3, "title": "a"}, {"id": 3, "title": "b"}]
        replace < []
        list
        "#
    ));
}

#[test]
fn undo_takes_back_ones_own_changes_in_turn() {
    told!(tell(
        r#"
        add A
        edit 1 --title B
        add C --as ann
        undo
        undo
        undo
        list
        log
        add D
        edit 3 --title E
        edit 3 --title F --as ann
        undo
        "#
    ));
}

#[test]
fn expect_tells_what_happened_meanwhile() {
    told!(tell(
        r#"
        add A B
        edit 2 --title "B, better" --as claude
        move 2 --before 1
        done 1 --expect 1
        done 1 --expect 1 --json
        done 1 --expect any
        done 2 --expect 4
        undo --expect 3
        done 1 --expect soon
        "#
    ));
}

#[test]
fn forget_erases_texts_and_leaves_tombstones() {
    let world = World::new();
    let story = world.story(
        r#"
        add "my secret" Other --context "hush hush"
        edit 1 --title "my other secret"
        forget 1
        show 1
        log
        forget 9
        forget
        forget --whole-plan
        list
        "#,
    );
    told!(story);
    for entry in std::fs::read_dir(world.path("home/.local/share/punchlist")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|it| it == b"secret" || it == b"hush h"));
    }
}

#[test]
fn plans_have_names_and_ids() {
    told!(tell(
        r#"
        add A
        add B --plan release
        add C --plan release
        list --plan release
        list --plan nothing
        done 1 --plan nothing
        plans
        show --plan release
        add X --plan 12ab
        add X --plan ""
        list --plan "no such"
        "#
    ));
}

#[test]
fn an_item_that_is_named_twice_is_moved_once() {
    let world = World::new();
    world.typed("add A B").works();
    assert_eq!(world.typed("done 1 2 1 #2").ok(), "completed 1  A\ncompleted 2  B\n");
    assert_eq!(world.typed("reopen 1 1").ok(), "reopened 1  A\n");
}

#[test]
fn a_short_plan_name_is_a_name_and_not_the_end_of_some_id() {
    let world = World::new();
    world.typed("add A --plan release").works();
    let plans = world.typed("plans --json").json();
    let id = plans["plans"][0]["id"].as_str().unwrap();
    for digits in 1..4 {
        let ran = world.run(&["list", "--plan", &id[id.len() - digits..]]);
        assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{digits}: {}", ran.err);
    }
    world.run(&["list", "--plan", &id[id.len() - 4..]]).works();
    world.run(&["add", "B", "--plan", &id[id.len() - 1..]]).works();
    assert_eq!(world.typed("list --plan release").ok(), "[ ] 1 A\n\n(0/1 completed)\n");
}

#[test]
fn list_has_many_faces() {
    told!(tell(
        r#"
        add "Fix the failing tests" "Update documentation" "Run the final build" "Choose the licence" "Port to Windows"
        add "Install guide" "API reference" --under 2
        edit 3 --after 2
        edit 2 --active "Updating documentation"
        wait 4 legal
        skip 5 --reason "out of scope"
        done 1 6
        start 2 --as claude
        list
        list --view list --width 62
        list --view box --width 40
        list --view text
        list --view markdown
        list --view xml
        list --status pending,in_progress
        list --status cancelled --view text
        list --view list --width 62 --color always --status completed
        list --view pie
        list --status open
        list --width 0
        "#
    ));
}
