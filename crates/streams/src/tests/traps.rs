//! Checks that each trap in `fixtures/TRAPS.md` names an existing test.

const TRAPS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/TRAPS.md"));

/// The tests of Claude Code.
const CLAUDE: &str = concat!(
    include_str!("agents/claude/mod.rs"),
    include_str!("agents/claude/lists.rs"),
    include_str!("agents/claude/sub_agents.rs"),
    include_str!("agents/claude/tasks.rs"),
    include_str!("agents/claude/turns.rs"),
    include_str!("agents/claude/warnings.rs"),
);

/// The tests of each agent.
const TESTS: [(&str, &str); 4] = [
    ("Claude Code", CLAUDE),
    ("Codex", include_str!("agents/codex.rs")),
    ("Gemini CLI", include_str!("agents/gemini.rs")),
    ("ACP", include_str!("agents/acp.rs")),
];

#[test]
fn every_trap_has_a_test_or_a_recording() {
    let mut section = None;
    let mut count = 0;
    for line in TRAPS.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            section = TESTS.iter().find(|it| it.0 == name);
            assert!(section.is_some(), "{name} is no agent");
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", trap, shown, ""] = cells[..] else { continue };
        if trap == "trap" || trap.starts_with("---") {
            continue;
        }
        count += 1;
        let (name, tests) = section.expect("a trap belongs to an agent");
        assert!(!shown.is_empty(), "{name}: nothing shows {trap}");
        for one in shown.split(", ") {
            let one = one.trim_matches('`');
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/snapshots");
            let agent = if *name == "Claude Code" { "claude" } else { &name.to_lowercase() };
            let agent = agent.split(' ').next().unwrap_or(agent);
            let snapshot = format!("{folder}/{agent}/{one}.snap");
            let is_shown = tests.contains(&format!("#[test]\nfn {one}()"))
                || std::path::Path::new(&snapshot).exists();
            assert!(is_shown, "{name}: there is neither a test nor a recording {one}");
        }
    }
    assert!(count > 50, "only {count} traps were found in the list");
}

#[test]
fn every_recording_has_a_snapshot_and_every_snapshot_a_recording() {
    for folder in ["claude", "codex", "gemini", "acp"] {
        let names = |path: String, ending: &str| {
            let entries = std::fs::read_dir(path).expect("the folder is there");
            let names = entries.map(|it| it.expect("it can be listed").file_name());
            let mut names: Vec<String> = names
                .filter_map(|it| it.to_string_lossy().strip_suffix(ending).map(str::to_owned))
                .collect();
            names.sort();
            names
        };
        let root = env!("CARGO_MANIFEST_DIR");
        assert_eq!(
            names(format!("{root}/../../fixtures/{folder}"), ".jsonl"),
            names(format!("{root}/src/snapshots/{folder}"), ".snap"),
        );
    }
}
