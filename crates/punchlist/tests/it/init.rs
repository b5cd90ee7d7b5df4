//! Databases and configurations in a tree: used only if this user's `init` has recorded them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::world::{Ran, World, finish};

#[test]
fn the_data_directory_is_this_users_alone() {
    let world = World::new();
    world.typed("add A").works();
    let dir = fs::metadata(world.path("home/.local/share/punchlist")).unwrap();
    let file = fs::metadata(world.path("home/.local/share/punchlist/punchlist.db")).unwrap();
    assert_eq!((dir.mode() & 0o777, file.mode() & 0o777), (0o700, 0o600));
    assert!(fs::read_dir(world.path("project")).unwrap().count() == 1, "nothing in the repository");
}

#[test]
fn init_makes_a_database_in_the_project_and_trusts_it() {
    let world = World::new();
    world.typed("add \"In the data directory\"").works();
    let story = world.story("init\n init\n add \"In the project\"\n list\n init --json\n");
    told!(story);
    let folder = world.path("project/.punchlist");
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(folder.join("punchlist.db")).unwrap().mode() & 0o777, 0o600);
    let trusted = world.path("home/.local/share/punchlist/trusted");
    assert_eq!(fs::metadata(&trusted).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn init_says_which_plans_stay_behind_and_how_to_bring_them_over() {
    let world = World::new();
    world.typed("add Old").works();
    let said = world.typed("init").err;
    let (_, line) = said.split_once("`punchlist ").expect("it names a command");
    let (export, _) = line.split_once(" | punchlist import -`").expect("that ends in an import");
    let exported = world.typed(export).ok();
    assert_eq!(world.run_with(&["import", "-"], exported.as_bytes()).code, 0);
    assert_eq!(world.typed("list").ok(), "[ ] 1 Old\n\n(0/1 completed)\n");
    assert_eq!(world.typed("init").err, "", "said once");
    world.repository("other/.git");
    assert_eq!(world.typed_in("other", "init").err, "", "nothing of this one");
}

#[test]
fn a_directorys_name_does_nothing_to_the_terminal() {
    let world = World::new();
    let name = "evil \u{1b}]0;title\u{7}\u{202e}";
    world.repository(&format!("{name}/.git"));
    for line in ["init", "init", "add A", "list", "plans --all"] {
        let ran = world.typed_in(name, line);
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
        let said = ran.out + &ran.err;
        assert!(!said.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{line}: {said:?}");
    }
}

#[test]
fn a_database_that_came_with_a_tree_is_ignored_in_one_line() {
    let world = World::new();
    world.typed("init").works();
    world.typed("add Theirs").works();
    // Another user's machine: the same tree, nothing recorded.
    fs::remove_file(world.path("home/.local/share/punchlist/trusted")).unwrap();
    let story = world.story("list\n add Mine\n list --json --status completed\n init\n list\n");
    told!(story);
}

#[test]
fn a_link_to_elsewhere_is_not_trusted() {
    let world = World::new();
    world.typed("init").works();
    world.typed("add Mine").works();
    let (own, other) = (world.path("project/.punchlist/punchlist.db"), world.path("other.db"));
    fs::rename(&own, &other).unwrap();
    symlink(&other, &own).unwrap();
    let ran = world.typed("list");
    assert!(ran.err.contains("ignored") && ran.err.contains("not a plain file"), "{}", ran.err);
    assert!(ran.out.contains("No plan here yet"));
    let ran = world.typed("init");
    assert_eq!(ran.code, 3, "{}", ran.err);
    // A symbolic link in place of the directory is refused too.
    fs::remove_file(&own).unwrap();
    fs::rename(world.path("project/.punchlist"), world.path("folder")).unwrap();
    fs::rename(&other, world.path("folder/punchlist.db")).unwrap();
    symlink(world.path("folder"), world.path("project/.punchlist")).unwrap();
    let ran = world.typed("list");
    assert!(ran.err.contains("symbolic link"), "{}", ran.err);
    assert_eq!(world.typed("init").code, 3);
}

#[test]
fn a_file_of_another_user_is_not_trusted() {
    let world = World::new();
    world.write("project/punchlist.toml", "[limits]\ntitle = 3\n");
    world.typed("init").works();
    assert_eq!(world.typed("add Long").code, 3);
    for file in ["project/punchlist.toml", "project/.punchlist/punchlist.db"] {
        if std::os::unix::fs::chown(world.path(file), Some(65_534), None).is_err() {
            return; // Only root can change the owner.
        }
    }
    let ran = world.typed("add Long");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.err);
    for (line, file) in lines.into_iter().zip(["punchlist.db", "punchlist.toml"]) {
        assert!(line.contains(file) && line.ends_with("it belongs to another user"), "{line}");
    }
    assert_eq!(world.typed("init").code, 3);
}

#[test]
fn no_link_beside_the_database_leads_a_write_elsewhere() {
    for name in ["punchlist.db-bell", "punchlist.db-wal", "punchlist.db-shm", ".gitignore"] {
        let world = World::new();
        world.write("precious", "keep me");
        fs::create_dir_all(world.path("project/.punchlist")).unwrap();
        let link = world.path("project/.punchlist").join(name);
        let (precious, nowhere) = (world.path("precious"), world.path("nowhere"));
        // A link that came with the repository, before `init`.
        symlink(&nowhere, &link).unwrap();
        let refused = if name == ".gitignore" { 0 } else { 3 };
        assert_eq!(world.typed("init").code, refused, "{name}");
        assert!(!nowhere.exists(), "{name}");
        // A link that came later, by a pull.
        fs::remove_file(&link).unwrap();
        world.typed("init");
        world.typed("add A").works();
        fs::remove_file(&link).ok();
        symlink(&precious, &link).unwrap();
        let ran = world.typed("add B");
        assert_eq!(ran.err.contains("a file beside it is a link"), refused == 3, "{}", ran.err);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "keep me", "{name}");
    }
}

#[test]
fn a_configuration_in_the_tree_counts_once_it_is_trusted() {
    let world = World::new();
    world.write("project/punchlist.toml", "[limits]\ntitle = 3\n");
    let story = world.story(
        "add Long\n init\n add Longer\n add Longer -c limits.title=10\n list -c limits.title=x\n",
    );
    told!(story);
    world.write("project/punchlist.toml", "[limits]\ntilte = 3\n");
    world.typed("init").works();
    told!("bad_configuration", world.story("list\n"));
}

#[test]
fn changed_content_is_not_trusted_until_init_is_run_again() {
    let world = World::new();
    world.write("project/punchlist.toml", "[limits]\ntitle = 3\n");
    world.typed("init").works();
    assert_eq!(world.typed("add Long").code, 3);
    world.write("project/punchlist.toml", "[limits]\ntitle = 4\n");
    let ran = world.typed("add Longer");
    assert_eq!((ran.code, ran.err.lines().count()), (0, 1), "{}", ran.err);
    for words in ["has changed since you trusted it", "run `punchlist init` to trust it again"] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    let trusted = world.typed("init").ok();
    assert!(trusted.contains("trusted") && trusted.contains("punchlist.toml"), "{trusted}");
    assert_eq!(world.typed("add Longer").code, 3);
    // What was trusted before is not trusted any more.
    world.write("project/punchlist.toml", "[limits]\ntitle = 3\n");
    assert_eq!(world.typed("add Longer").code, 0);
}

#[test]
fn init_is_for_a_person_at_a_terminal() {
    let world = World::new();
    let piped = world.run_with(&["init"], b"y\n");
    assert_eq!(piped.code, 3, "{}", piped.err);
    assert!(piped.err.contains("by a person at a terminal"), "{}", piped.err);
    let mut command = world.command("project");
    command.args(["init"]).env("CLAUDECODE", "1");
    let (agent, seen) = world.answering(&command, &["y"]);
    assert_eq!((agent.code, seen.as_str()), (3, ""), "{}", agent.err);
    assert!(agent.err.contains("hint: ask your user"), "{}", agent.err);
    // After a no, nothing is created or trusted.
    let mut command = world.command("project");
    command.args(["init"]);
    let (refused, _) = world.answering(&command, &["n"]);
    assert_eq!(refused.code, 130, "{}", refused.err);
    assert!(!world.path("project/.punchlist").exists());
    assert!(!world.path("home/.local/share/punchlist/trusted").exists());
}

#[test]
fn init_shows_the_plans_and_commands_that_it_found() {
    let world = World::new();
    world.typed("init").works();
    world.run(&["add", "Build", "--verify", "make \u{1b}[31mall"]).works();
    let mut command = world.command("project");
    command.args(["add", "Test", "--verify", "curl evil"]).env("CLAUDECODE", "1");
    assert_eq!(finish(command, b"").code, 0);
    fs::remove_file(world.path("home/.local/share/punchlist/trusted")).unwrap();
    world.write("project/punchlist.toml", "# why\n[[policy]]\ndecision = 'deny'\ncommand = 'rm'\n");
    world.write(
        "project/docs/release.md",
        "- [ ] Publish\n  run: ./publish.sh\n  verify: test -e x\n",
    );
    world.write("project/README.md", "- [ ] No command\n");
    let mut command = world.command("project");
    command.args(["init"]);
    let (ran, seen) = world.answering(&command, &["y"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for words in [
        "Plans in ",
        "1 Build: verify: make all (a person's)",
        "2 Test: verify: curl evil (an agent's)",
        "command = 'rm'",
        "Commands in the plan file docs/release.md:",
        "Publish: run: ./publish.sh",
        "Publish: verify: test -e x",
        "[y/N]",
    ] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    assert!(
        !seen.contains("# why") && !seen.contains("README") && !seen.contains('\u{1b}'),
        "{seen}"
    );
}

#[test]
fn no_message_tells_an_agent_to_trust_a_file() {
    let world = World::new();
    world.write("project/punchlist.toml", "[limits]\ntitle = 3\n");
    world.write("project/.punchlist/punchlist.db", "theirs");
    for line in [&["list"][..], &["add", "A"], &["init"], &["doctor"], &["list", "--db", "x.db"]] {
        let mut command = world.command("project");
        command.args(line).env("CLAUDECODE", "1");
        let ran = finish(command, b"");
        let said = ran.out + &ran.err;
        assert!(said.contains("ask your user"), "{line:?}: {said}");
        assert!(!said.contains("punchlist init") && !said.contains("db init"), "{line:?}: {said}");
    }
}

#[test]
fn a_projects_file_may_tighten_the_gate_and_never_loosen_it() {
    let world = World::new();
    for (user, project, expected, is_ignored) in [
        ("", "off", None, true),
        ("", "once", None, true),
        ("", "full", Some("full"), false),
        ("once", "off", Some("once"), true),
        ("once", "full", Some("full"), false),
        ("off", "once", Some("once"), false),
    ] {
        let line = |gate: &str| format!("gate = '{gate}'\n");
        let users = if user.is_empty() { String::new() } else { line(user) };
        world.write("home/.config/punchlist/config.toml", users);
        world.write("project/punchlist.toml", line(project));
        world.typed("init").works();
        let ran = world.typed("gate --json");
        let shown = ran.json();
        let found = (shown["from"] == "configuration").then(|| shown["gate"].as_str().unwrap());
        assert_eq!(found, expected, "{user} {project}");
        let said = ran.err.contains("ignored gate = ");
        assert_eq!(said, is_ignored, "{user} {project}: {}", ran.err);
    }
}

#[test]
fn a_named_database_in_a_repository_is_used_only_if_init_recorded_it() {
    let world = World::new();
    world.typed("add Theirs --db ../theirs.db").works();
    for name in ["theirs.db", "theirs.db-wal"] {
        fs::copy(world.path(name), world.path("project").join(name)).unwrap();
    }
    let named = |name: &str, line: &str| {
        let mut command = world.command("project");
        command.args(line.split(' ')).env("PUNCHLIST_DB", name);
        finish(command, b"")
    };
    for name in ["theirs.db", "new.db", "deep/er/new.db", "./x/../theirs.db"] {
        for ran in [world.typed(&format!("list --db {name}")), named(name, "add A")] {
            assert_eq!(ran.code, 3, "{name}: {}", ran.err);
            assert!(ran.err.contains("lies in the repository"), "{name}: {}", ran.err);
        }
    }
    assert!(!world.path("project/new.db").exists());
    // A symbolic link does not avoid that, in either direction.
    symlink(world.path("project/theirs.db"), world.path("in.db")).unwrap();
    symlink(world.path("theirs.db"), world.path("project/out.db")).unwrap();
    for name in ["../in.db", "out.db"] {
        assert_eq!(world.typed(&format!("list --db {name}")).code, 3, "{name}");
    }
    let mut command = world.command("project");
    command.args(["--db", "theirs.db", "init"]);
    let (ran, seen) = world.answering(&command, &["y"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(seen.contains("Plans in "), "{seen}");
    assert!(named("theirs.db", "list").ok().contains("Theirs"));
    assert!(world.typed("list --db theirs.db").ok().contains("Theirs"));
}

#[test]
fn a_home_directory_that_is_a_repository_has_its_data_directory_all_the_same() {
    let world = World::new();
    world.repository("home/.git");
    world.typed("add A").works();
    let db = world.path("home/.local/share/punchlist/punchlist.db");
    assert!(world.run(&["list", "--db", db.to_str().unwrap()]).ok().contains("1 A"));
}

#[test]
fn a_configuration_that_comes_later_is_not_trusted_by_an_earlier_init() {
    let world = World::new();
    world.typed("init").works();
    world.write("project/punchlist.toml", "[limits]\ntitle = 3\n");
    let ran = world.typed("add Long");
    assert_eq!(ran.code, 0);
    assert!(ran.err.starts_with("warning: ignored"), "{}", ran.err);
}

#[test]
fn the_users_own_configuration_lies_below_the_projects() {
    let world = World::new();
    world.write("home/.config/punchlist/config.toml", "[limits]\ntitle = 3\ntext = 4\n");
    assert_eq!(world.typed("add Long").code, 3);
    world.write("project/punchlist.toml", "[limits]\ntitle = 2\n");
    world.typed("init").works();
    assert_eq!(world.typed("add Abc").code, 3, "the project's is tighter");
    assert_eq!(world.typed("add B --context 'too long'").code, 3, "the other key still counts");
    for (text, code) in [
        ("nonsense", 2),
        ("limits = 3", 2),
        ("[claim]\nlease = '5 weeks'", 2),
        ("\u{0}", 2),
        (
            "gate = 'off'\n[reminders]\nnag = false\n[[policy]]\ndecision = 'ask'\ntool = 'edit'\n[workers.a]\n[team]\n",
            0,
        ),
    ] {
        world.write("home/.config/punchlist/config.toml", text);
        let ran = world.typed("list");
        assert_eq!(ran.code, code, "{text}: {}", ran.err);
    }
    world.write("home/.config/punchlist/config.toml", b"\xff");
    assert_eq!(world.typed("list").code, 2);
}

#[test]
fn a_named_database_needs_no_trust() {
    let world = World::new();
    let db = world.path("elsewhere/my.db");
    let db = db.to_str().unwrap();
    world.run(&["add", "A", "--db", db]).works();
    assert!(world.run(&["list", "--db", db]).ok().contains("1 A"));
    assert!(world.typed("list").ok().contains("No plan here yet"));
    let mut command = world.command("project");
    command.args(["list"]).env("PUNCHLIST_DB", db);
    assert!(crate::world::finish(command, b"").ok().contains("1 A"));
    // Relative to the current directory.
    world.typed("add B --db ../here.db").works();
    assert!(world.path("here.db").exists());
    fs::create_dir_all(world.path("home/deep")).unwrap();
    let listed = world.typed_in("home/deep", "list -C ../../project --db ../here.db").ok();
    assert!(listed.contains("1 B"), "{listed}");
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let world = World::new();
    world.write("notes.txt", "my notes, quite long enough to be something\n".repeat(100));
    for line in
        ["list --db ../notes.txt", "add x --db ../notes.txt", "list --db ..", "add x --db .."]
    {
        let ran = world.typed(line);
        assert_eq!(ran.code, 8, "{line}: {}", ran.err);
        assert!(
            ran.err.starts_with("error: ") && ran.err.contains("hint: "),
            "{line}: {}",
            ran.err
        );
    }
    let notes = fs::read_to_string(world.path("notes.txt")).unwrap();
    assert!(notes.starts_with("my notes"));
}

#[test]
fn a_read_only_database_is_read_and_not_written() {
    let world = World::new();
    world.typed("add A --db ../ro/my.db").works();
    let dir = world.path("ro");
    let Some(run) = read_only(&world, &dir) else { return };
    assert!(run(&["list", "--db", "../ro/my.db"], b"").ok().contains("1 A"));
    let refused = run(&["add", "B", "--db", "../ro/my.db"], b"");
    assert_eq!(refused.code, 8, "{}", refused.err);
    assert!(refused.err.contains("MCP"), "{}", refused.err);
    assert!(!world.typed("list --db ../ro/my.db").ok().contains('B'));
}

/// Makes a directory read-only for calls of the program. root ignores permissions, so it is a
/// read-only mount that only these calls see; `None` where mounting is not allowed.
pub(crate) fn read_only<'w>(
    world: &'w World,
    dir: &'w Path,
) -> Option<impl Fn(&[&str], &[u8]) -> Ran + 'w> {
    const MOUNTED: &str =
        "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && shift && exec \"$@\"";
    let mounted = move |program: &OsStr, arguments: &[&str], stdin: &[u8]| {
        let inner = world.command("project");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--", "/bin/sh", "-c", MOUNTED, "sh"]).arg(dir).arg(program);
        command
            .args(arguments)
            .env_clear()
            .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").current_dir(world.path("project"));
        finish(command, stdin)
    };
    let probe = Command::new("unshare").args(["--mount", "--", "true"]).output();
    if !probe.is_ok_and(|it| it.status.success()) || mounted(OsStr::new("true"), &[], b"").code != 0
    {
        return None;
    }
    let program = world.command("project").get_program().to_owned();
    Some(move |arguments: &[&str], stdin: &[u8]| mounted(&program, arguments, stdin))
}

#[test]
fn for_programs_every_line_on_stderr_is_json() {
    let world = World::new();
    world.write("project/.punchlist/punchlist.db", "not ours");
    let ran = world.typed("done 9 --json");
    assert_eq!(ran.code, 4, "{}", ran.err);
    let lines: Vec<serde_json::Value> =
        ran.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{}", ran.err);
    assert!(lines[0]["warning"].as_str().unwrap().contains("punchlist.db"), "{}", ran.err);
    assert_eq!(lines[1]["error"]["code"], "not_found");
}

#[test]
fn a_projects_file_loosens_no_limit_and_what_is_ignored_is_said_in_one_line() {
    let world = World::new();
    world.write(
        "project/punchlist.toml",
        "[limits]\ntitle = 600\ntext = 10\nopen_items = 40\n[claim]\nlease = '1s'\n\
         [plan]\nmax_in_progress = 5\n[store]\ndurability = 'normal'\n\
         [reminders]\nper_hour = 100\nnag = false\n",
    );
    world.typed("init").works();
    let place = world.path("project/punchlist.toml").display().to_string();
    let ran = world.run(&["add", &"x".repeat(501)]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    let ignored: Vec<&str> = ran.err.lines().filter(|it| it.contains("ignored")).collect();
    let line = format!(
        "warning: ignored claim.lease = \"1s\", limits.title = 600, plan.max_in_progress = 5, \
         reminders.per_hour = 100, store.durability = \"normal\" of {place}: a project may only \
         tighten, never loosen"
    );
    assert_eq!(ignored, [line.as_str()], "{}", ran.err);
    // A stricter limit counts.
    assert_eq!(world.run(&["add", "A", "--context", "longer than that"]).code, 3);
    let add = |count: usize| {
        let todos: Vec<_> =
            (0..count).map(|n| serde_json::json!({"content": n.to_string()})).collect();
        let call = serde_json::json!({"action": "add_multiple", "todos": todos}).to_string();
        let ran = world.run_with(&["tool", "manager", "todo_manager"], call.as_bytes());
        ran.out.contains("\"ok\":true")
    };
    assert!(!add(31), "below the dialect's own cap, not in its place");
    assert!(add(30));
    let found = world.run(&["doctor", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&found.out).unwrap();
    let all = told["findings"].as_array().unwrap();
    let one = all.iter().find(|it| it["about"] == "config").unwrap();
    assert_eq!(one["state"], "note", "{one}");
    assert!(one["said"].as_str().unwrap().contains("limits.title = 600"), "{one}");
    // In the user's own file every key counts, and with -c too.
    world.write("home/.config/punchlist/config.toml", "[limits]\ntitle = 700\n");
    world.run(&["add", &"x".repeat(600)]).ok_with_warnings();
    assert_eq!(world.run(&["add", &"x".repeat(601)]).code, 3);
    world.run(&["add", &"x".repeat(601), "-c", "limits.title=601"]).ok_with_warnings();
}
