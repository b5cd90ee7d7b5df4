//! Which project a call is made in.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::world::{World, finish};

#[test]
fn worktrees_share_a_plan_and_strangers_do_not() {
    let world = World::new();
    world.typed("add Shared").works();
    let admin = world.path("project/.git/worktrees/wt");
    world.write("wt/.git", format!("gitdir: {}\n", admin.display()));
    world.write("project/.git/worktrees/wt/commondir", "../..\n");
    world.write(
        "project/.git/worktrees/wt/gitdir",
        format!("{}\n", world.path("wt/.git").display()),
    );
    assert!(world.typed_in("wt", "list").ok().contains("Shared"));
    // A forged file that points at the same place.
    world.write("evil/.git", format!("gitdir: {}\n", admin.display()));
    assert!(world.typed_in("evil", "list").ok().contains("No plan here yet"));
}

#[test]
fn a_plan_is_found_from_below_and_by_directory() {
    let world = World::new();
    fs::create_dir_all(world.path("project/src/deep")).unwrap();
    world.typed_in("project/src", "add A").works();
    assert!(world.typed_in("project/src/deep", "list").ok().contains("1 A"));
    assert!(world.typed_in("home", "-C ../project list").ok().contains("1 A"));
    assert!(world.typed_in("home", "list -C ../project/src").ok().contains("1 A"));
    assert!(world.typed_in("home", "list").ok().contains("No plan here yet"));
    assert!(world.typed_in("home", "plans --all").ok().contains("0/1"));
}

#[test]
fn a_directory_whose_name_is_not_utf8_has_a_plan_too() {
    let world = World::new();
    for name in [b"a\xff".as_slice(), b"a\xfe"] {
        let dir = world.path("").join(OsStr::from_bytes(name));
        if fs::create_dir(&dir).is_err() {
            return; // This file system has no such names.
        }
        let run = |arguments: &[&str]| {
            let mut command = world.command("");
            command.args(arguments).current_dir(&dir);
            finish(command, b"")
        };
        assert!(run(&["list"]).ok().contains("No plan here yet"));
        run(&["add", "A"]).works();
        assert!(run(&["list"]).ok().contains("1 A"));
    }
}

#[test]
fn without_a_home_a_named_database_still_works() {
    let world = World::new();
    let mut command = world.command("project");
    command.args(["add", "A", "--db", "x.db"]).env_remove("HOME");
    assert_eq!(finish(command, b"").code, 0);
}

#[test]
fn what_is_no_file_is_told_and_not_waited_for() {
    let world = World::new();
    let pipe = world.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    for (place, arguments) in [(&pipe, "list"), (&pipe, "add x"), (&world.path("project"), "add x")]
    {
        let ran = world.typed(&format!("{arguments} --db {}", place.display()));
        assert_eq!(ran.code, 8, "{}", ran.err);
        assert!(ran.err.contains("is not a file"), "{}", ran.err);
    }
}

#[test]
fn a_locale_that_knows_ascii_alone_gets_nothing_else() {
    let world = World::new();
    world.typed("add a b").works();
    world.typed("done 1").works();
    let draw = |name: &str, value: &str| {
        let mut command = world.command("project");
        command.args(["list", "--view", "list", "--width", "40"]).env(name, value);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(draw("LANG", "C").is_ascii());
    assert!(draw("LC_ALL", "POSIX").is_ascii());
    assert!(draw("LANG", "C.UTF-8").contains('✓'));
    assert!(draw("LANG", "").contains('✓'));
}
