//! The project of a call.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

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
    // A forged file that points at the same directory.
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
            return; // This file system does not allow such names.
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
    command.args(["add", "A", "--db", "../x.db"]).env_remove("HOME");
    assert_eq!(finish(command, b"").code, 0);
}

/// Every file and directory below a path, with its permissions.
fn modes(path: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|it| it.unwrap().path()));
        }
        found.push((path, meta.mode() & 0o777));
    }
    found
}

#[test]
fn all_that_is_kept_is_this_users_alone_whatever_the_umask_says() {
    let world = World::new();
    let call = |line: &str, variables: &[(&str, &str)]| {
        let program = world.command("project");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "umask 0; exec \"$0\" \"$@\""]).arg(program.get_program());
        shell.args(line.split(' ')).env_clear();
        shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.env("PATH", "/usr/bin:/bin").envs(variables.iter().copied());
        shell.current_dir(world.path("project"));
        finish(shell, b"")
    };
    world.write("project/plan.md", "- [ ] A\n  run: seq 100000\n");
    // Our own directory, with permissions that are too open.
    world.write("home/.local/share/punchlist/trusted", "");
    let open = |path: &str, mode| {
        fs::set_permissions(world.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    open("home/.local/share/punchlist", 0o755);
    open("home/.local/share/punchlist/trusted", 0o644);
    for line in ["add A", "install claude --yes", "run plan.md --yes", "hook nobody"] {
        assert_eq!(call(line, &[]).code, 0, "{line}");
    }
    let kept = modes(&world.path("home/.local/share/punchlist"));
    assert!(kept.iter().any(|it| it.0.ends_with("punchlist.db")) && kept.len() > 6, "{kept:?}");
    for (path, mode) in kept {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode & !expected, 0, "{}: {mode:o}", path.display());
    }
    // The permissions of a foreign directory stay; those of our files in it are restricted.
    fs::create_dir(world.path("shared")).unwrap();
    open("shared", 0o777);
    let database = world.path("shared/x.db").display().to_string();
    assert_eq!(call("add A", &[("PUNCHLIST_DB", &database)]).code, 0);
    assert_eq!(call("add A", &[("PUNCHLIST_DB", &format!("{database}-dir/y.db"))]).code, 0);
    for (path, mode) in modes(&world.path("shared")) {
        let is_shared = path == world.path("shared");
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, if is_shared { 0o777 } else { expected }, "{}: {mode:o}", path.display());
    }
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
