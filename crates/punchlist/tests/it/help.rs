//! Help, the overview, completions and the manual.

use crate::world::World;

#[test]
fn the_overview() {
    let world = World::new();
    let overview = world.typed("help").ok();
    told!(overview);
    for line in ["--help", "-h", "--json help"] {
        assert_eq!(world.typed(line).ok(), overview, "{line}");
    }
}

#[test]
fn help_of_a_verb() {
    let world = World::new();
    told!(world.typed("help add").ok());
    for line in ["add --help", "add -h", "--json add --help"] {
        assert_eq!(world.typed(line).ok(), world.typed("help add").ok(), "{line}");
    }
}

#[test]
fn unknown_verbs_get_a_suggestion() {
    let world = World::new();
    let story = world.story("lsit\n status\n remove 3\n xylophone\n help frob\n");
    told!(story);
}

#[test]
fn the_version() {
    let world = World::new();
    let version = format!("punchlist {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(world.typed("--version").ok(), version);
    assert_eq!(world.typed("-V").ok(), version);
}

#[test]
fn completions_and_manual_name_every_verb() {
    let world = World::new();
    let overview = world.typed("help").ok();
    let verbs: Vec<&str> = overview
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(verbs.len() >= 22, "{verbs:?}");
    for what in ["bash", "zsh", "fish", "elvish", "powershell", "man"] {
        // A manual page writes a dash with a backslash before it.
        let text = world.run(&["completions", what]).ok().replace("\\-", "-");
        for verb in &verbs {
            assert!(text.contains(verb), "{what}: {verb}");
        }
    }
    let dir = world.path("man");
    let made = world.run(&["completions", "man", "--dir", dir.to_str().unwrap()]).ok();
    assert_eq!(made.lines().count(), verbs.len() + 1);
    let page = std::fs::read_to_string(dir.join("punchlist-done.1")).unwrap();
    assert!(page.contains("with\\-children") && page.contains("punchlist done 3"));
    assert!(page.contains("punchlist\\-done \\- Mark items as completed\n.SH SYNOPSIS"), "{page}");
}

/// What the program offers for the last of these words, without descriptions.
fn offered(world: &World, words: &[&str]) -> Vec<String> {
    let out = world.run(&[&["candidates", "--"], words].concat()).ok();
    out.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn completions_offer_items_plans_names_and_dialects() {
    let world = World::new();
    world.typed("add Build Test --owner ann").works();
    world.typed("add Rest").works();
    world.typed("done 1").works();
    world.typed("add Ship --plan release").works();
    assert_eq!(offered(&world, &["done", ""]), ["2", "3"], "what is open");
    assert_eq!(offered(&world, &["rm", "2", ""]), ["2", "3"], "an alias, and a second item");
    assert_eq!(offered(&world, &["reopen", ""]), ["1"], "what is done");
    assert_eq!(offered(&world, &["show", ""]), ["1", "2", "3"]);
    assert_eq!(offered(&world, &["--plan", "release", "done", ""]), ["1"]);
    assert_eq!(offered(&world, &["done", "--plan", "release", ""]), ["1"]);
    assert_eq!(offered(&world, &["add", "X", "--after", ""]), ["1", "2", "3"]);
    let plans = offered(&world, &["list", "--plan", ""]);
    assert!(plans.contains(&"release".to_owned()) && plans.len() == 2, "{plans:?}");
    assert!(offered(&world, &["plans", "archive", ""]).contains(&"release".to_owned()));
    assert_eq!(offered(&world, &["list", "--owner", ""]), ["ann"]);
    assert!(offered(&world, &["tools", ""]).contains(&"todowrite".to_owned()));
    assert!(offered(&world, &["install", ""]).contains(&"claude".to_owned()));
    let about = world.run(&["candidates", "--", "done", ""]).ok();
    assert_eq!(about, "2\tTest (pending)\n3\tRest (pending)\n");
    for words in [&["done", "--"][..], &["frob", ""], &[""], &["add", ""]] {
        assert_eq!(offered(&world, words), [""; 0], "{words:?}");
    }
}

#[test]
fn bash_offers_what_the_program_does_and_expands_no_name() {
    let world = World::new();
    world.typed("add Build Test").works();
    world.typed("add Ship --plan '$(touch injected) `touch injected`'").works();
    world.write("project/completions.bash", world.typed("completions bash").ok());
    let script = "source completions.bash; punchlist() { \"$PROGRAM\" \"$@\"; }\n\
                  COMP_WORDS=(punchlist done ''); COMP_CWORD=2; _punchlist_dynamic\n\
                  echo \"${COMPREPLY[@]}\"\n\
                  COMP_WORDS=(punchlist list --plan ''); COMP_CWORD=3; _punchlist_dynamic\n\
                  echo \"${#COMPREPLY[@]}\"\n\
                  COMP_WORDS=(punchlist do); COMP_CWORD=1; _punchlist_dynamic punchlist do punchlist\n\
                  echo \"${COMPREPLY[@]}\"";
    let mut command = world.command("project");
    let set: Vec<(std::ffi::OsString, std::ffi::OsString)> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    command = std::process::Command::new("bash");
    command.args(["--norc", "-c", script]).env_clear().envs(set);
    command.env("PROGRAM", env!("CARGO_BIN_EXE_punchlist")).env("PATH", "/usr/bin:/bin");
    command.current_dir(world.path("project"));
    // Where there is no bash, nobody completes with it.
    if std::process::Command::new("bash").arg("--version").output().is_err() {
        return;
    }
    let ran = crate::world::finish(command, b"");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.first(), Some(&"1 2"), "{}{}", ran.out, ran.err);
    assert_eq!(lines.get(1), Some(&"2"), "{}{}", ran.out, ran.err);
    let verbs = lines.get(2).copied().unwrap_or_default();
    assert!(verbs.contains("done") && verbs.contains("doctor"), "{}{}", ran.out, ran.err);
    assert!(!world.path("project/injected").exists());
}

#[test]
fn zsh_and_fish_ask_the_program_and_fall_back_to_what_they_know() {
    let world = World::new();
    let zsh = world.typed("completions zsh").ok();
    assert!(zsh.starts_with("#compdef punchlist\n"), "{zsh}");
    assert!(zsh.contains("_punchlist_static() {") && zsh.contains("candidates --"), "{zsh}");
    let fish = world.typed("completions fish").ok();
    assert!(fish.contains("__punchlist_candidates"), "{fish}");
    assert!(!world.typed("completions elvish").ok().contains("candidates --"));
}
