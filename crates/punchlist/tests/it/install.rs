//! Setting up Claude Code and uninstalling, as a person does it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::doctor::program;
use crate::world::{Ran, World, finish};

const SERVERS: &str = "home/.claude.json";
const SETTINGS: &str = "home/.claude/settings.json";

/// Every file and directory of the home directory, with its content.
fn home(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(dir: &Path, tree: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, tree);
                tree.insert(path, Vec::new());
            } else {
                tree.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    let mut tree = BTreeMap::new();
    walk(&world.path("home"), &mut tree);
    tree
}

/// A text without the path of this build.
fn plain(world: &World, text: &str) -> String {
    text.replace(env!("CARGO_BIN_EXE_punchlist"), "/bin/punchlist")
        .replace(&world.path("").display().to_string(), "/w/")
}

fn story(world: &World, lines: &[&str]) -> String {
    let mut story = String::new();
    for line in lines {
        let Ran { code, out, err } = world.typed(line);
        story.push_str(&format!("$ punchlist {line}\n{out}"));
        story.extend(err.lines().map(|it| format!("! {it}\n")));
        if code != 0 {
            story.push_str(&format!("[exit {code}]\n"));
        }
        story.push('\n');
    }
    plain(world, &story)
}

#[test]
fn install_and_uninstall_read_well() {
    let world = World::new();
    world.write(SETTINGS, "{\n  \"model\": \"opus\"\n}\n");
    let before = home(&world);
    let told = story(
        &world,
        &[
            "install claude",
            "install claude --yes",
            "install claude --yes",
            "install claude --dry-run",
            "uninstall claude --dry-run",
            "uninstall claude --yes",
            "uninstall claude",
            "uninstall claude --dry-run",
        ],
    );
    told!(told);
    assert_eq!(home(&world), before, "no database was made either");
}

/// `bin/punchlist` is a link that each upgrade changes; its present target will be gone, and hooks
/// with that path would fail silently.
#[test]
fn entries_name_the_path_that_outlives_an_upgrade() {
    let world = World::new();
    let [real, link] = ["Cellar/0.1.0/punchlist", "bin/punchlist"].map(|it| world.path(it));
    for path in [&real, &link] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
    }
    // A hard link if possible, which is quicker than a copy.
    if fs::hard_link(env!("CARGO_BIN_EXE_punchlist"), &real).is_err() {
        fs::copy(env!("CARGO_BIN_EXE_punchlist"), &real).unwrap();
    }
    std::os::unix::fs::symlink("../Cellar/0.1.0/punchlist", &link).unwrap();
    let bin = world.path("bin");
    for (called, search, expected) in [
        (link.as_path(), "/usr/bin", &link),
        (Path::new("../bin/punchlist"), "/usr/bin", &link),
        (Path::new("./../project/../bin/punchlist"), "", &link),
        (real.as_path(), bin.to_str().unwrap(), &link),
        (real.as_path(), "bin:../bin:/usr/bin", &real),
        (Path::new("../Cellar/0.1.0/punchlist"), "/usr/bin", &real),
    ] {
        let run = |line: &str| {
            let mut command = std::process::Command::new(called);
            command.env_clear().env("HOME", world.path("home")).env("PATH", search);
            command.args(line.split(' ')).current_dir(world.path("project"));
            finish(command, b"").works();
        };
        run("install claude --yes");
        let servers: Value =
            serde_json::from_slice(&fs::read(world.path(SERVERS)).unwrap()).unwrap();
        let named = &servers["mcpServers"]["punchlist"]["command"];
        assert_eq!(*named, expected.to_str().unwrap(), "{}, {search}", called.display());
        run("uninstall claude");
    }
}

#[test]
fn a_permission_that_is_not_wanted_any_more_is_taken_out() {
    let world = World::new();
    world.typed("install claude --yes").works();
    let given = |world: &World| fs::read_to_string(world.path(SETTINGS)).unwrap();
    assert!(given(&world).contains("\"mcp__punchlist\""));
    world.typed("install claude --without-permission --yes").works();
    assert!(!given(&world).contains("mcp__punchlist"));
    let again = world.typed("install claude --without-permission --yes").ok();
    assert_eq!(again, "nothing to do: it is set up already\n");
    // An entry of the user is not removed, and the output says so.
    let world = World::new();
    world.write(SETTINGS, "{\"permissions\": {\"allow\": [\"mcp__punchlist\"]}}");
    for _ in 0..2 {
        let said = world.typed("install claude --without-permission --yes").ok();
        assert!(said.contains("mcp__punchlist is not from Punchlist and stays"), "{said}");
    }
    assert!(given(&world).contains("\"mcp__punchlist\""));
}

#[test]
fn a_dry_run_shows_a_diff_and_writes_nothing() {
    let world = World::new();
    world.write(SETTINGS, "{\n  \"model\": \"opus\"\n}\n");
    let before = home(&world);
    told!(story(&world, &["install claude --dry-run --plan release --db ../p.db"]));
    let ran = world.typed("install claude --dry-run --json").json();
    assert_eq!(ran["files"][0]["change"], "made");
    assert!(ran["files"][1]["diff"].as_str().unwrap().contains("+  \"permissions\": {"));
    assert_eq!(home(&world), before);
}

#[test]
fn programs_get_json() {
    let world = World::new();
    let made = world.typed("install claude --yes --json").json();
    assert_eq!(made["agent"], "claude");
    assert_eq!(made["scope"], "user");
    assert_eq!(made["files"].as_array().unwrap().len(), 2);
    let again = world.typed("install claude --yes --json").json();
    assert_eq!(again["files"], serde_json::json!([]));
    let gone = world.typed("uninstall claude --json").json();
    assert_eq!(gone["files"][1]["change"], "removed");
    program(&world, "codex", "codex-cli 0.166.0");
    let mut command = world.command("project");
    command.args(["install", "--json", "--yes"]).env("PATH", world.path("bin"));
    let listed = finish(command, b"").json();
    assert_eq!(listed["agents"][0]["agent"], "codex");
    assert_eq!(listed["agents"].as_array().unwrap().len(), 1);
}

#[test]
fn wrong_calls_say_what_is_right() {
    let world = World::new();
    world.write("project/.claude/settings.json", "{\n  \"a\": 1,,\n}");
    told!(story(
        &world,
        &[
            "install codex",
            "install vim",
            "install",
            "install claude --user --project",
            "uninstall",
            "install claude --project --yes",
            "uninstall claude --project",
        ],
    ));
}

#[test]
fn a_project_gets_files_of_its_own_with_its_own_database() {
    let world = World::new();
    world.typed("init").works();
    world.typed("install claude --project --yes").works();
    let read = |path: &str| -> Value {
        serde_json::from_slice(&fs::read(world.path(path)).unwrap()).unwrap()
    };
    let server = &read("project/.mcp.json")["mcpServers"]["punchlist"];
    let database = world.path("project/.punchlist/punchlist.db");
    assert_eq!(server["args"][2], database.to_str().unwrap());
    assert!(read("project/.claude/settings.json")["hooks"]["Stop"].is_array());
    // For every project, the user's own database is used, even when called here.
    world.typed("install claude --yes").works();
    let server = &read(SERVERS)["mcpServers"]["punchlist"];
    let users = world.path("home/.local/share/punchlist/punchlist.db");
    assert_eq!(server["args"][2], users.to_str().unwrap());
    world.typed("uninstall claude --project").works();
    assert!(!world.path("project/.mcp.json").exists() && !world.path("project/.claude").exists());
    assert!(world.path(SETTINGS).exists());
}

#[test]
fn the_agents_own_directory_is_found_where_the_environment_says() {
    let world = World::new();
    let mut command = world.command("project");
    command.args(["install", "claude", "--yes"]).env("CLAUDE_CONFIG_DIR", world.path("cfg"));
    assert_eq!(finish(command, b"").code, 0);
    assert!(world.path("cfg/.claude.json").exists() && world.path("cfg/settings.json").exists());
    assert!(!world.path(SERVERS).exists());
}

#[test]
fn the_installed_hook_is_ours_and_lets_the_agent_go_on_without_us() {
    let world = World::new();
    world.typed("install claude --yes").works();
    let settings: Value = serde_json::from_slice(&fs::read(world.path(SETTINGS)).unwrap()).unwrap();
    let hook = settings["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    let call = |hook: &str, stdin: &str| {
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", hook]).env_clear().env("HOME", world.path("home"));
        command.current_dir(world.path("project"));
        finish(command, stdin.as_bytes())
    };
    let ran = call(hook, r#"{"hook_event_name":"PunchlistDoctor","session_id":"d","cwd":"/"}"#);
    let said: Value = serde_json::from_str(&ran.ok()).unwrap();
    assert_eq!(said["systemMessage"], concat!("punchlist ", env!("CARGO_PKG_VERSION")));
    for other in ["/nowhere/punchlist", "/bin/false", "/bin/echo"] {
        let hook = hook.replace(env!("CARGO_BIN_EXE_punchlist"), other);
        assert_eq!(call(&hook, "{}").ok(), "", "{other}");
    }
}

#[test]
fn an_install_that_is_killed_leaves_the_old_files_or_the_new_ones() {
    let world = World::new();
    world.write(SETTINGS, "{\n  \"model\": \"opus\"\n}\n");
    world.write(SERVERS, "{\"numStartups\":3}");
    let before = home(&world);
    world.typed("install claude --yes").works();
    let after = home(&world);
    world.typed("uninstall claude").works();
    let mut cut_short = 0;
    for step in 0..40 {
        let mut command = world.command("project");
        command.args(["install", "claude", "--yes"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_micros(step * 250);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        child.kill().ok();
        cut_short += u32::from(!child.wait().unwrap().success());
        for path in [SERVERS, SETTINGS] {
            let path = world.path(path);
            let now = fs::read(&path).unwrap();
            assert!(now == before[&path] || now == after[&path], "{}", path.display());
        }
        if step % 2 == 0 {
            world.typed("install claude --yes").works();
        }
        world.typed("uninstall claude").ok();
        let now = home(&world);
        let files = |tree: &BTreeMap<PathBuf, Vec<u8>>| -> BTreeMap<PathBuf, Vec<u8>> {
            tree.iter().filter(|it| it.0.is_file()).map(|it| (it.0.clone(), it.1.clone())).collect()
        };
        assert_eq!(files(&now), files(&before), "no draft is left either");
    }
    assert!(cut_short > 0, "at least the first was killed");
}

#[test]
fn two_at_once_come_to_what_one_comes_to() {
    let world = World::new();
    world.write(SETTINGS, "{}");
    let before = home(&world);
    let children: Vec<_> = (0..6)
        .map(|_| {
            let mut command = world.command("project");
            command.args(["install", "claude", "--yes"]).stdout(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(world.typed("install claude --yes").ok(), "nothing to do: it is set up already\n");
    world.typed("uninstall claude").works();
    assert_eq!(home(&world), before);
}

#[test]
fn without_a_name_every_agent_on_the_machine_is_shown_and_set_up() {
    let world = World::new();
    for name in ["claude", "codex", "gemini"] {
        program(&world, name, "9.8.7");
    }
    let before = home(&world);
    let run = |arguments: &[&str]| {
        let mut command = world.command("project");
        command.arg("install").args(arguments).env("PATH", world.path("bin"));
        let ran = finish(command, b"");
        let text = format!("$ punchlist install {}\n{}{}", arguments.join(" "), ran.out, ran.err);
        let own = env!("CARGO_BIN_EXE_punchlist");
        world.without_chance(&text.replace(own, "/bin/punchlist"))
    };
    let mut told = run(&[]);
    assert_eq!(home(&world), before, "without a terminal nothing is done");
    run(&["--dry-run"]);
    assert_eq!(home(&world), before);
    told.push_str(&run(&["--yes"]));
    told.push_str(&run(&["--yes"]));
    told!(told);
    for name in ["claude", "codex", "gemini"] {
        world.typed(&format!("uninstall {name}")).works();
    }
    assert_eq!(home(&world), before);
}

#[test]
fn one_agent_that_cannot_be_edited_does_not_keep_the_others_from_it() {
    let world = World::new();
    for name in ["codex", "gemini"] {
        program(&world, name, "1.2.3");
    }
    world.write("home/.codex/config.toml", "model = \n");
    let mut command = world.command("project");
    command.args(["install", "--yes"]).env("PATH", world.path("bin"));
    let ran = finish(command, b"");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("is not valid TOML: line 1"), "{}", ran.err);
    assert!(world.path("home/.gemini/settings.json").exists());
    assert!(!world.path("home/.codex/hooks.json").exists());
}

#[test]
fn codex_and_gemini_are_set_up_and_shown_as_diffs() {
    let world = World::new();
    world.write("home/.codex/config.toml", "model = \"x\" # mine\n");
    let own = env!("CARGO_BIN_EXE_punchlist");
    let hashed = |text: String| {
        let line = |line: &str| match line.split_once("sha256:") {
            Some((before, _)) => format!("{before}sha256:…\"\n"),
            None => format!("{line}\n"),
        };
        text.lines().map(line).collect::<String>()
    };
    let ran = world.typed("install codex --dry-run --own-tools").ok();
    told!("codex_diff", hashed(world.without_chance(&ran.replace(own, "/bin/punchlist"))));
    for line in [
        "install gemini --own-tools",
        "install claude --without-trust --yes",
        "install gemini --without-trust --dry-run",
    ] {
        let ran = world.typed(line);
        assert!(ran.code == 2 && ran.err.contains("is for codex: leave it out"), "{}", ran.err);
    }
    for agent in ["codex", "gemini"] {
        let before = home(&world);
        world.typed(&format!("install {agent} --project --yes")).works();
        world.typed(&format!("uninstall {agent} --project")).works();
        assert_eq!(home(&world), before);
    }
}

#[test]
fn an_agent_gives_no_consent_in_the_users_place_and_takes_nothing_out() {
    let world = World::new();
    let by_agent = |line: &str| {
        let mut command = world.command("project");
        command.args(line.split(' ')).env("CLAUDECODE", "1");
        finish(command, b"")
    };
    let before = home(&world);
    for (line, leave_out) in [
        ("install claude --yes", "`--without-permission`, and Claude Code asks"),
        ("install codex --yes", "`--without-permission` and `--without-trust`, and Codex asks"),
        ("install codex --yes --without-permission", "with `--without-trust`, and"),
        ("install gemini --project --yes", "`--without-permission`, and Gemini CLI asks"),
    ] {
        let ran = by_agent(line);
        assert_eq!(ran.code, 3, "{line}: {}", ran.err);
        assert!(ran.err.contains("consents are given by people, and this call is made by claude"));
        assert!(ran.err.contains(leave_out), "{line}: {}", ran.err);
    }
    assert_eq!(home(&world), before);
    assert_eq!(by_agent("install claude --dry-run").code, 0);

    // An agent may set up what needs no consent, once.
    let ran = by_agent("install codex --yes --without-permission --without-trust");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let config = std::fs::read_to_string(world.path("home/.codex/config.toml")).unwrap();
    assert!(!config.contains("trusted_hash") && !config.contains("approve"), "{config}");
    let again = "install codex --yes --without-permission --without-trust";
    assert_eq!(by_agent(again).code, 0, "nothing to do");
    let there = home(&world);
    for line in [&format!("{again} --own-tools"), "install codex --yes", "uninstall codex"] {
        let ran = by_agent(line);
        assert_eq!(ran.code, 3, "{line}: {}", ran.err);
        assert!(ran.err.contains("by people, and this call is made by claude"), "{}", ran.err);
    }
    assert_eq!(by_agent("uninstall codex --dry-run").code, 0);
    assert_eq!(home(&world), there);
    // A person may do all of it.
    world.typed("install codex --yes").works();
    world.typed("uninstall codex").works();
    assert_eq!(home(&world), before);
}
