//! Paths: which are inside, which are outside and reported so, and which are refused.

use std::fs;
use std::os::unix::fs::symlink;

use punchlist_sched::{Decision, Rule};
use serde_json::json;

use super::Project;

/// A project with links to many places.
fn project() -> Project {
    let project = Project::new();
    project.write("secret", "hush\n");
    project.write("project/src/a.rs", "a\n");
    for (link, target) in [
        ("inner", "src"),
        ("out", "../secret"),
        ("up", ".."),
        ("dangling", "../nothing"),
        ("loop", "loop"),
        ("src/deep", "../../secret"),
    ] {
        symlink(target, project.path(&format!("project/{link}"))).unwrap();
    }
    project
}

#[test]
fn where_paths_lead() {
    let project = project();
    let mut table = String::new();
    for path in [
        "src/a.rs",
        "./src//a.rs",
        "src/../src/a.rs",
        "inner/a.rs",
        "new/file",
        "src/a.rs/x",
        "",
        ".",
        "..",
        "../secret",
        "src/../../secret",
        "../project/src/a.rs",
        "/etc/passwd",
        "/w/project/src/a.rs",
        "/w/secret",
        "out",
        "up/secret",
        "up/new",
        "src/deep",
        "dangling",
        "dangling/x",
        "~/x",
        "a\0b",
    ] {
        let real = path.replace("/w/", project.path("").to_str().unwrap());
        let shown = |name: &str, arguments: serde_json::Value| {
            project.tool(name).check(&arguments).map_or_else(
                |why| format!("refused: {}", project.without_place(&why)),
                |it| {
                    let path = project.without_place(&it.subject.arguments[0].1);
                    format!("{} {path}", it.subject.tool)
                },
            )
        };
        let read = shown("read", json!({"path": real}));
        let write = shown("write", json!({"path": real, "content": ""}));
        table.push_str(&format!("{path:?}\n    {read}\n    {write}\n"));
    }
    insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!(table) });
    let output = project.call("read", json!({"path": "loop"}));
    assert!(output.starts_with("refused: \"loop\" cannot be reached: "), "{output}");
    let output = project.call("read", json!({"path": "x/".repeat(9_999)}));
    assert_eq!(output, "refused: the path is too long: 19998 bytes");
}

#[test]
fn a_rule_about_a_tool_is_no_rule_about_places_outside() {
    let project = project();
    let rules = [Rule::tool(Decision::Allow, "write"), Rule::tool(Decision::Allow, "edit")];
    let write =
        |path: &str| project.verdict(&rules, "write", &json!({"path": path, "content": ""}));
    assert_eq!(write("new"), "allow");
    assert_eq!(write("../new"), "ask");
    assert_eq!(write("out"), "refused");
    // Reading changes nothing, but only files inside that are not secret are read without a
    // question.
    let read = |path: &str| project.verdict(&[], "read", &json!({"path": path}));
    assert_eq!(read("src/a.rs"), "allow");
    assert_eq!(read("../secret"), "ask");
    assert_eq!(project.verdict(&[], "search", &json!({"pattern": "x", "path": ".."})), "ask");
    assert_eq!(project.verdict(&[], "list", &json!({"path": "/"})), "ask");
    let outside = [Rule::tool(Decision::Allow, "read:outside")];
    assert_eq!(project.verdict(&outside, "read", &json!({"path": "../secret"})), "allow");
}

#[test]
fn what_decides_or_is_run_by_others_is_not_written() {
    let project = project();
    let root = project.path("project");
    fs::create_dir(root.join(".git")).unwrap();
    symlink(".git", root.join("innocent")).unwrap();
    for path in [
        ".git/hooks/pre-commit",
        ".GIT/config",
        "innocent/config",
        "punchlist.toml",
        ".punchlist/x",
        "sub/.git",
    ] {
        for (name, arguments) in [
            ("write", json!({"path": path, "content": "x"})),
            ("edit", json!({"path": path, "old": "a", "new": "b"})),
        ] {
            let output = project.call(name, arguments.clone());
            assert!(output.contains("tools may not write "), "{name} {path}: {output}");
            // The call is refused even without the check.
            let output = project.run(name, arguments);
            assert!(output.contains("tools may not write "), "{name} {path}: {output}");
        }
    }
    assert_eq!(fs::read_dir(root.join(".git")).unwrap().count(), 0);
    assert_eq!(project.verdict(&[], "read", &json!({"path": ".git/config"})), "allow");
}

#[test]
fn a_link_that_is_put_there_after_the_look_leads_nowhere() {
    let project = project();
    let root = project.path("project");
    let write = json!({"path": "later/file", "content": "x"});
    assert!(project.tool("write").check(&write).is_ok());
    symlink("..", root.join("later")).unwrap();
    let output = project.run("write", write);
    assert!(output.contains("leads out of the project"), "{output}");
    assert!(!project.path("file").exists());
    let read = json!({"path": "later/secret"});
    assert!(project.run("read", read).contains("leads out of the project"));
}

#[test]
fn calls_that_write_one_file_by_two_names_are_in_each_others_way() {
    let project = project();
    let access = |name: &str, arguments: serde_json::Value| {
        project.tool(name).check(&arguments).unwrap().access
    };
    let one = access("write", json!({"path": "src/a.rs", "content": ""}));
    let edit = |path: &str| access("edit", json!({"path": path, "old": "a", "new": "b"}));
    assert!(one.conflicts_with(&edit("inner/../inner/a.rs")));
    assert!(!one.conflicts_with(&edit("src/b.rs")));
    assert!(one.conflicts_with(&access("search", json!({"pattern": "x"}))));
    assert!(one.conflicts_with(&access("list", json!({"path": "inner"}))));
    assert!(one.conflicts_with(&access("shell", json!({"command": "ls"}))));
    let read = |path: &str| access("read", json!({"path": path}));
    assert!(!read("src/a.rs").conflicts_with(&read("src/a.rs")));
}
