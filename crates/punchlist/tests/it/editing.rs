//! Editing in the user's editor, and importing checklists.

use std::fs;

use crate::world::{Ran, World, finish};

/// Calls the program with this shell script as editor; `$1` is the file.
fn edit(world: &World, line: &str, script: &str) -> Ran {
    world.write("editor.sh", format!("set -e\n{script}\n"));
    let mut command = world.command("project");
    let editor = format!("sh {}", world.path("editor.sh").display());
    command.args(line.split(' ')).env("EDITOR", editor).env("PATH", "/usr/bin:/bin");
    command.env("PUNCHLIST", env!("CARGO_BIN_EXE_punchlist"));
    finish(command, b"")
}

fn kept(world: &World) -> Vec<String> {
    let data = world.path("home/.local/share/punchlist");
    let names = fs::read_dir(data).unwrap().map(|it| it.unwrap().file_name());
    let mut names: Vec<String> = names.map(|it| it.to_string_lossy().into_owned()).collect();
    names.retain(|it| it.starts_with("edit-"));
    names
}

fn various() -> World {
    let world = World::new();
    world.typed("add Build Test").works();
    world.typed("add Publish --after 2 --owner ann --context \"to the mirror\"").works();
    world.typed("add Part --under 2").works();
    world
}

#[test]
fn edit_opens_the_item_as_text_in_the_editor() {
    let world = various();
    let ran = edit(&world, "edit 3", "cp \"$1\" ../seen.md");
    assert_eq!(ran.ok(), "nothing changed\n");
    told!(fs::read_to_string(world.path("seen.md")).unwrap());
    let before = world.list();
    assert_eq!(edit(&world, "edit 3", ": > \"$1\"").ok(), "nothing changed\n");
    assert_eq!(world.list(), before);
    let script = "sed -i -e 's/^title: .*/title: Publish it/' -e 's/^owner: .*/owner:/' \
                  -e 's/^priority:.*/priority: 2/' -e 's/^after: .*/after: 1/' \
                  -e 's/^to the mirror/to the mirror\\nand the other one/' \"$1\"";
    assert_eq!(edit(&world, "edit Publish", script).ok(), "edited 3  Publish it\n");
    let item = world.typed("show 3 --json").json()["item"].clone();
    assert_eq!(item["title"], "Publish it");
    assert_eq!((&item["owner"], &item["priority"]), (&serde_json::Value::Null, &2.into()));
    assert_eq!(item["dependsOn"], serde_json::json!([1]));
    assert_eq!(item["context"], "to the mirror\nand the other one");
    assert!(kept(&world).is_empty());
}

#[test]
fn a_bad_edit_is_kept_and_told_and_changes_nothing() {
    let world = various();
    let before = world.list();
    for (line, script, told) in [
        ("edit 3", "echo 'nonsense' > \"$1\"", "line 1 is not a field"),
        ("edit 3", "sed -i 's/^title: .*/title:/' \"$1\"", "the title is empty"),
        ("edit 3", "sed -i 's/^priority:.*/priority: high/' \"$1\"", "is not a number"),
        ("edit 3", "sed -i 's/^after: .*/after: 99/' \"$1\"", "99"),
        ("edit --all", "echo 'some prose' >> \"$1\"", "is not an entry of the list"),
        ("edit --all", "echo '- [ ] #77 X' >> \"$1\"", "there is no item 77 here"),
        (
            "edit --all",
            "sed -i 's/^- .*Build/- [>] #1 Build/;s/^- .*Test/- [>] #2 Test/' \"$1\"",
            "",
        ),
    ] {
        let ran = edit(&world, line, script);
        assert_ne!(ran.code, 0, "{line} {script}");
        assert!(ran.err.contains(told), "{}", ran.err);
        assert!(ran.err.contains("your text is kept in "), "{}", ran.err);
    }
    assert_eq!(world.list(), before);
    assert_eq!(kept(&world).len(), 7);
    let failed = edit(&world, "edit 3", "false");
    assert_eq!(failed.code, 130, "{}", failed.err);
}

#[test]
fn an_edit_that_somebody_else_was_faster_than_is_a_conflict_and_nothing_is_lost() {
    let world = various();
    let faster = "sed -i 's/^title: .*/title: Mine/' \"$1\"; \
                  \"$PUNCHLIST\" edit 3 --title Theirs --as ann > /dev/null";
    let ran = edit(&world, "edit 3", faster);
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.contains("item 3 changed while you were editing: title"), "{}", ran.err);
    assert_eq!(world.typed("show 3 --json").json()["item"]["title"], "Theirs");
    let data = world.path("home/.local/share/punchlist");
    let [text] = &kept(&world)[..] else { panic!("one text is kept") };
    assert!(fs::read_to_string(data.join(text)).unwrap().contains("title: Mine"));
    // A change of another field of the same item is no conflict.
    let beside = "sed -i 's/^owner: .*/owner: me/' \"$1\"; \
                  \"$PUNCHLIST\" edit 3 --title Others --as ann > /dev/null";
    edit(&world, "edit 3", beside).works();
    let item = world.typed("show 3 --json").json()["item"].clone();
    assert_eq!((&item["owner"], &item["title"]), (&"me".into(), &"Others".into()));
    // For the whole list, every change is a conflict.
    let whole = "sed -i 's/Build/Build it/' \"$1\"; \"$PUNCHLIST\" add Late --as ann > /dev/null";
    let ran = edit(&world, "edit --all", whole);
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.contains("added 5 \"Late\""), "{}", ran.err);
    assert_eq!(kept(&world).len(), 2);
}

#[test]
fn edit_all_makes_the_list_what_the_checklist_says() {
    let world = various();
    let ran = edit(&world, "edit --all", "cp \"$1\" ../seen.md");
    assert_eq!(ran.ok(), "nothing changed\n");
    told!(fs::read_to_string(world.path("seen.md")).unwrap());
    let script = "cat > \"$1\" <<'END'\n\
                  - [ ] #3 Publish everywhere\n\
                  - [x] #1 Build\n\
                  - [ ] New one\n  - [ ] #4 Part\n  - [x] Ready already\nEND";
    let ran = edit(&world, "edit --all", script);
    assert_eq!(ran.code, 0, "{}", ran.err);
    told!("edited", format!("{}{}", ran.out, world.typed("list --all").ok()));
    world.typed("undo").works();
    assert!(world.typed("list").ok().contains("[ ] 1 Build\n[ ] 2 Test"));
}

#[test]
fn without_an_editor_edit_asks_for_a_field_and_an_agent_gets_none() {
    let world = various();
    let ran = world.typed("edit 3");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("name a field"), "{}", ran.err);
    let mut command = world.command("project");
    command.args(["edit", "3"]).env("EDITOR", "true").env("CLAUDECODE", "1");
    assert_eq!(finish(command, b"").code, 2);
    assert_eq!(world.typed("edit --all --title X").code, 2);
    assert_eq!(world.typed("edit").code, 2);
}

#[test]
fn import_merges_a_markdown_checklist() {
    let world = World::new();
    world.write(
        "project/notes.md",
        "# Release\n\nSome prose.\n\n- [x] Build\n- [ ] Test\n  - [x] Unit\n  - [ ] Whole\n- [-] Old\n- [ ] Publish\n  after: Test\n",
    );
    told!(world.story(
        r#"
        add Test Other
        import notes.md
        list
        import notes.md
        import notes.md --plan release
        list --plan release
        # what cannot be
        import - < no checklist here
        "#
    ));
    assert_eq!(
        world.typed("show Publish --json").json()["item"]["dependsOn"].as_array().unwrap().len(),
        1
    );
    assert_eq!(world.typed("show --plan release --json").json()["plan"]["title"], "Release");
    // Nothing is reopened or removed.
    world.typed("done 5").works();
    world.typed("done 1,7").works();
    world.write("project/notes.md", "- [ ] Publish\n");
    let again = world.typed("import notes.md");
    assert!(again.err.contains("\"Publish\" stays completed"), "{}", again.err);
    assert!(world.typed("list").ok().contains("[x] 7 Publish"));
}

#[test]
fn import_goes_to_the_plan_that_the_file_has_become() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Build\n  run: true\n");
    world.typed("run plan.md --yes").ok_with_warnings();
    world.write("project/plan.md", "- [x] Build\n  run: true\n- [ ] More\n");
    world.typed("import plan.md").works();
    assert!(world.typed("list --plan plan.md").ok().contains("[ ] 2 More"));
    assert_eq!(world.typed("next").code, 4, "the project's own list has nothing of it");
}

#[test]
fn add_understands_checklists_and_points_to_import() {
    let world = World::new();
    let text = "- [ ] Build\n- [x] Test\n  - [x] Unit\n  * [-] Whole\nplain line\n1. [>] Third\n";
    world.run_with(&["add", "-"], text.as_bytes()).works();
    let list = world.typed("list").ok();
    assert!(
        list.starts_with(
            "[ ] 1 Build\n[x] 2 Test\n  [x] 3 Unit\n  [-] 4 Whole\n[ ] 5 plain line\n[ ] 6 Third\n"
        ),
        "{list}"
    );
    assert!(world.typed("help add").ok().contains("punchlist import"));
    assert!(world.typed("help import").ok().contains("punchlist add -"));
    assert!(world.typed("add -").err.contains("punchlist import"));
}
