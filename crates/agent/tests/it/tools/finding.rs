//! `list` and `search` on real trees.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::Project;

fn project() -> Project {
    let project = Project::new();
    for (path, text) in [
        (".gitignore", "target/\n*.log\n"),
        (".github/ci.yml", "run: needle\n"),
        (".git/config", "needle\n"),
        ("src/main.rs", "fn main() {\n    needle();\n    // Needle\n}\n"),
        ("src/lib.rs", "// none\n"),
        ("src/sub/deep.txt", "a needle here\r\nand (here)\n"),
        ("target/out.rs", "needle\n"),
        ("debug.log", "needle\n"),
        ("readme", "no"),
    ] {
        project.write(&format!("project/{path}"), text);
    }
    project.write("secret", "needle\n");
    project.write("project/binary", b"needle\0needle\n");
    symlink("../secret", project.path("project/link")).unwrap();
    symlink("..", project.path("project/up")).unwrap();
    project
}

#[test]
fn what_git_ignores_is_neither_listed_nor_found_and_links_are_not_followed() {
    let project = project();
    insta::assert_snapshot!(project.call("list", json!({})), @r"
    .github/
    .gitignore
    binary
    link@
    readme
    src/
    up@
    ");
    insta::assert_snapshot!(project.call("list", json!({"path": "src", "depth": 3})), @r"
    lib.rs
    main.rs
    sub/
    sub/deep.txt
    ");
    insta::assert_snapshot!(project.call("search", json!({"pattern": "needle"})), @r"
    .github/ci.yml
         1: run: needle
    src/main.rs
         2:     needle();
    src/sub/deep.txt
         1: a needle here
    ");
    // A place that the call names is shown, even if git ignores it.
    assert_eq!(project.call("list", json!({"path": "target"})), "out.rs\n");
    assert_eq!(
        project.call("list", json!({"path": "readme"})),
        "failed: readme is not a directory"
    );
    fs::create_dir(project.path("project/void")).unwrap();
    assert!(project.call("list", json!({"path": "void"})).starts_with("(nothing"));
}

#[test]
fn searches_can_be_narrowed() {
    let project = project();
    let search = |arguments| project.call("search", arguments);
    assert_eq!(search(json!({"pattern": "NEEDLE"})), "no matches\n");
    insta::assert_snapshot!(
        search(json!({"pattern": "NEEDLE", "ignore_case": true, "glob": "*.rs", "context": 1})), @r"
    src/main.rs
         1- fn main() {
         2:     needle();
         3:     // Needle
         4- }
    ");
    insta::assert_snapshot!(
        search(json!({"pattern": "needle", "glob": "!*.rs", "path": "src"})), @r"
    sub/deep.txt
         1: a needle here
    ");
    assert_eq!(
        search(json!({"pattern": "(here)", "literal": true, "path": "src/sub/deep.txt"})),
        "deep.txt\n     2: and (here)\n"
    );
    assert_eq!(search(json!({"pattern": "x", "path": "none"})), "failed: none does not exist");
    assert_eq!(
        search(json!({"pattern": "needle", "path": "../secret"})),
        "secret\n     1: needle\n",
        "allowed by then"
    );
}

#[test]
fn much_is_cut_and_says_so() {
    let project = Project::new();
    project.write("project/many", "hit\n".repeat(1000));
    project.write("project/wide", format!("wide {}\n", "é".repeat(100_000)));
    let output = project.call("search", json!({"pattern": "hit"}));
    assert_eq!(output.lines().count(), 1 + 200 + 1);
    assert!(output.ends_with("(there is more; narrow the pattern, the path or the glob)\n"));
    let output = project.call("search", json!({"pattern": "hit", "limit": 2, "context": 1}));
    insta::assert_snapshot!(output, @r"
    many
         1: hit
         2: hit
    (there is more; narrow the pattern, the path or the glob)
    ");
    let output = project.call("search", json!({"pattern": "wide"}));
    assert_eq!(output.chars().count(), "wide\n     1: ".len() + 300 + "…\n".chars().count());
    for n in 0..1100 {
        project.write(&format!("project/dir/{n}"), "");
    }
    let output = project.call("list", json!({"path": "dir"}));
    assert_eq!(output.lines().count(), 1001);
    assert!(output.ends_with("only 1000 are shown: list a directory below)\n"));
}

#[test]
fn a_name_that_is_hostile_stays_on_its_line() {
    let project = Project::new();
    project.write("project/a\nb\u{1b}[2J", "x\n");
    assert_eq!(project.call("list", json!({})), "\"a\\nb\\u{1b}[2J\"\n");
    assert_eq!(project.call("search", json!({"pattern": "x"})), "\"a\\nb\\u{1b}[2J\"\n     1: x\n");
}
