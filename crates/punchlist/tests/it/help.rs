//! Help, the overview, completions and the manual.

use crate::world::World;

#[test]
fn the_overview() {
    let world = World::new();
    let overview = world.run::<&str>(&[]).ok();
    told!(overview);
    for line in ["help", "--help", "-h", "--json"] {
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
    let story = world.story("lsit\n ls\n rm 3\n xylophone\n help frob\n");
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
