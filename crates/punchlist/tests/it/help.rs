//! Help, the overview, completions and the manual pages.

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
        // A manual page has a backslash before each dash.
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

/// The candidates for the last of these words, without descriptions.
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
    assert!(offered(&world, &["list", "--plan=re"]).contains(&"release".to_owned()));
    assert!(offered(&world, &["list", "--plan", "=", "re"]).contains(&"release".to_owned()));
    assert_eq!(offered(&world, &["done", "--plan", "=", "release", ""]), ["1"]);
    assert_eq!(offered(&world, &["run", "--moved-from", ""]), [""; 0], "a file");
    assert_eq!(offered(&world, &["policy", "--tool", ""]), [""; 0], "a tool");
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
    // Skipped where there is no bash.
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

/// A project with items and plans, one of them with a name that no shell may expand.
fn with_plans() -> World {
    let world = World::new();
    world.typed("add \"Build: it\" Test").works();
    world.typed("add Ship --plan '$(touch injected) `touch injected`'").works();
    world.typed("add Ship --plan release:1").works();
    world
}

/// Whether a shell is installed. Without it, its test is skipped with a message.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so by name")]
fn has(shell: &str) -> bool {
    let is_here = std::process::Command::new(shell).arg("--version").output().is_ok();
    if !is_here {
        println!("skipped: there is no {shell}");
    }
    is_here
}

#[test]
fn fish_offers_items_plans_and_agents_and_expands_no_name() {
    let world = with_plans();
    let fish = world.typed("completions fish").ok();
    assert!(fish.contains("__punchlist_candidates"), "{fish}");
    if !has("fish") {
        return;
    }
    world.write("project/completions.fish", fish);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_punchlist"), world.path("punchlist")).unwrap();
    let path = format!("{}:/usr/bin:/bin", world.path("").display());
    let offers = |line: &str| {
        let like = world.command("project");
        let mut command = std::process::Command::new("fish");
        command.env_clear().envs(like.get_envs().filter_map(|it| Some((it.0, it.1?))));
        command.env("PATH", &path).env("TERM", "dumb").current_dir(world.path("project"));
        let script = format!("source completions.fish; complete -C '{line}'");
        command.args(["--no-config", "-c", &script]);
        crate::world::finish(command, b"").out
    };
    assert_eq!(offers("punchlist done "), "1\tBuild: it (pending)\n2\tTest (pending)\n");
    assert_eq!(offers("punchlist add X --after 2"), "2\tTest (pending)\n");
    assert_eq!(offers("punchlist list --plan re"), "release:1\trelease:1 (1 open)\n");
    assert_eq!(offers("punchlist list --plan=re"), "--plan=release:1\trelease:1 (1 open)\n");
    assert!(offers("punchlist plans archive ").contains("$(touch injected)"));
    assert_eq!(offers("punchlist install c"), "claude\ncodex\n");
    let verbs = offers("punchlist ");
    assert!(verbs.contains("done\tMark") && !verbs.contains("candidates"), "{verbs}");
    assert!(!world.path("project/injected").exists());
}

#[test]
fn zsh_offers_items_plans_and_agents_and_expands_no_name() {
    let world = with_plans();
    let zsh = world.typed("completions zsh").ok();
    assert!(zsh.starts_with("#compdef punchlist\n"), "{zsh}");
    if !has("zsh") {
        return;
    }
    world.write("functions/_punchlist", zsh);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_punchlist"), world.path("punchlist")).unwrap();
    let Some(terminal) = crate::terminal::Terminal::open(&world, 100) else { return };
    let above = world.path("").display().to_string();
    terminal.types(&[&format!("PATH={above}:$PATH zsh -f"), "Enter"]);
    let begin = format!(
        "PS1='> '; fpath=({above}functions $fpath); autoload -U compinit; compinit -u -D; clear"
    );
    terminal.types(&["-l", &begin]);
    terminal.types(&["Enter"]);
    let is_clear = |it: &str| {
        terminal.run(&["clear-history"]);
        it.trim() == ">"
    };
    terminal.until(is_clear);
    for (line, expected) in [
        ("punchlist done ", &["1  -- Build: it (pending)", "2  -- Test (pending)"][..]),
        ("punchlist add X --after ", &["1  -- Build: it (pending)", "2  -- Test (pending)"]),
        ("punchlist list --plan re", &["punchlist list --plan release:1"]),
        ("punchlist list --plan=re", &["punchlist list --plan=release:1"]),
        ("punchlist plans archive \\$", &["archive \\$\\(touch\\ injected\\)"]),
        ("punchlist install ", &["claude", "codex", "gemini"]),
        ("punchlist do", &["doctor  -- Test the", "done    -- Mark items"]),
    ] {
        terminal.types(&["-l", line]);
        terminal.types(&["Tab"]);
        terminal.until(|it| expected.iter().all(|words| it.contains(words)));
        terminal.types(&["C-c"]);
        terminal.until(|it| it.ends_with("\n>"));
        terminal.types(&["-l", "clear"]);
        terminal.types(&["Enter"]);
        terminal.until(is_clear);
    }
    assert!(!world.path("project/injected").exists());
}

#[test]
fn shells_without_dynamic_completions_get_what_clap_knows() {
    assert!(!World::new().typed("completions elvish").ok().contains("candidates --"));
}
