//! `read`, `write` and `edit` on real files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::Project;

fn read(project: &Project, path: &str) -> String {
    project.call("read", json!({"path": path}))
}

fn write(project: &Project, path: &str, content: &str) -> String {
    project.call("write", json!({"path": path, "content": content}))
}

#[test]
fn a_file_is_read_in_pieces() {
    let project = Project::new();
    let text: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
    project.write("project/long", text);
    let all = read(&project, "long");
    assert!(all.starts_with("     1\tline 1\n"), "{all}");
    assert!(all.ends_with("  2000\tline 2000\n(there is more; continue with offset 2001)\n"));
    let piece = |offset: u64, limit: u64| {
        project.call("read", json!({"path": "long", "offset": offset, "limit": limit}))
    };
    assert_eq!(piece(3, 1), "     3\tline 3\n(there is more; continue with offset 4)\n");
    assert_eq!(piece(5000, 9), "  5000\tline 5000\n");
    assert_eq!(piece(5001, 9), "failed: long has 5000 lines, none from 5001 on");
}

#[test]
fn a_huge_line_costs_no_more_than_is_shown_of_it() {
    let project = Project::new();
    let mut text = "é".repeat(10_000_000).into_bytes();
    text.extend_from_slice(b"\nshort");
    project.write("project/huge", text);
    let output = read(&project, "huge");
    assert_eq!(
        output.len(),
        "     1\t".len() + 2000 + "… (the line is longer)\n     2\tshort\n".len()
    );
    assert!(output.ends_with("é… (the line is longer)\n     2\tshort\n"));
    // Many long lines are cut at the limit of bytes.
    project.write("project/wide", format!("{}\n", "x".repeat(1999)).repeat(2000));
    let output = read(&project, "wide");
    assert!(
        output.len() < 70_000 && output.ends_with("continue with offset 34)\n"),
        "{}",
        output.len()
    );
}

#[test]
fn what_is_no_text_is_refused_politely() {
    let project = Project::new();
    project.write("project/empty", "");
    project.write("project/binary", b"ELF\0\x01");
    project.write("project/latin", b"caf\xe9\r\nx");
    fs::create_dir(project.path("project/dir")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, project.path("project/pipe"), 0o600.into()).unwrap();
    assert_eq!(read(&project, "empty"), "(empty is empty)\n");
    assert_eq!(read(&project, "binary"), "failed: binary is not text but a binary file of 5 bytes");
    assert_eq!(read(&project, "latin"), "     1\tcaf\u{fffd}\n     2\tx\n");
    assert_eq!(read(&project, "dir"), "failed: dir is a directory; list shows directories");
    let neither = "failed: pipe is neither a file nor a directory";
    assert_eq!(read(&project, "pipe"), format!("{neither}; list shows directories"));
    assert_eq!(write(&project, "pipe", "x"), neither);
    assert_eq!(write(&project, "dir", "x"), "failed: dir is a directory");
    assert!(read(&project, "none").starts_with("failed: cannot read none: No such file"));
    let edit = |path: &str| project.call("edit", json!({"path": path, "old": "x", "new": "y"}));
    assert_eq!(edit("binary"), "failed: binary cannot be edited: it is not text but a binary file");
    assert_eq!(edit("latin"), "failed: latin cannot be edited: it is not UTF-8 text");
    assert_eq!(edit("none"), "failed: none does not exist; write makes files");
    assert_eq!(edit("pipe"), neither);
}

#[test]
fn a_file_is_written_whole_and_keeps_what_it_was() {
    let project = Project::new();
    assert_eq!(write(&project, "new/deep/a.txt", "one\ntwo\n"), "created new/deep/a.txt (2 lines)");
    assert_eq!(project.text("project/new/deep/a.txt"), "one\ntwo\n");
    let file = project.path("project/new/deep/a.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o751)).unwrap();
    assert_eq!(
        write(&project, "new/deep/a.txt", "three"),
        "replaced new/deep/a.txt (1 line, before 2 lines)"
    );
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o751);
    assert_eq!(
        write(&project, "new/deep/a.txt", "three"),
        "new/deep/a.txt already has this content"
    );
    // A link to a place inside stays a link.
    symlink("new/deep/a.txt", project.path("project/link")).unwrap();
    write(&project, "link", "four");
    assert_eq!(project.text("project/new/deep/a.txt"), "four");
    assert!(fs::symlink_metadata(project.path("project/link")).unwrap().is_symlink());
    // Line ends stay as they were, unless the caller writes them explicitly.
    project.write("project/crlf", "a\r\nb\r\n");
    write(&project, "crlf", "c\nd\n");
    assert_eq!(project.text("project/crlf"), "c\r\nd\r\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(write(&project, "new/deep/a.txt", "five"), "failed: new/deep/a.txt is read-only");
    // A binary file may be replaced as a whole.
    project.write("project/binary", b"\0");
    assert_eq!(write(&project, "binary", "text"), "replaced binary (1 line)");
    let left: Vec<_> = fs::read_dir(project.path("project")).unwrap().flatten().collect();
    assert_eq!(left.len(), 4, "no draft is left: {left:?}");
    assert!(write(&project, "crlf/x", "y").starts_with("refused: \"crlf/x\" cannot exist"));
}

#[test]
fn an_edit_changes_one_piece_and_nothing_else() {
    let project = Project::new();
    project.write("project/a.rs", "fn main() {\r\n    old();\r\n}\r\n");
    let edit = json!({"path": "a.rs", "old": "{\n    old();", "new": "{\n    new();\n    more();"});
    assert_eq!(project.call("edit", edit.clone()), "edited a.rs (1 place)");
    assert_eq!(project.text("project/a.rs"), "fn main() {\r\n    new();\r\n    more();\r\n}\r\n");
    let again = project.call("edit", edit);
    assert_eq!(again, "failed: a.rs: the old text is not in the file; read the file again");
    let all = json!({"path": "a.rs", "old": "();", "new": "(1);", "replace_all": true});
    assert_eq!(project.call("edit", all), "edited a.rs (2 places)");
}

#[test]
fn a_question_shows_what_would_change() {
    let project = Project::new();
    project.write("project/a.rs", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n");
    project.write("project/binary", b"\0");
    let shown = [
        project.preview("edit", &json!({"path": "a.rs", "old": "five", "new": "5\n5½"})),
        project.preview("edit", &json!({"path": "a.rs", "old": "ten", "new": "10"})),
        project.preview("edit", &json!({"path": "none", "old": "ten", "new": "10"})),
        project.preview("write", &json!({"path": "a.rs", "content": "one\ntwo"})),
        project.preview("write", &json!({"path": "new.rs", "content": "first\nsecond\n"})),
        project.preview("write", &json!({"path": "binary", "content": "x"})),
        project.preview("write", &json!({"path": "../x", "content": ""})),
        project.preview("write", &json!({"path": ".git/x", "content": ""})),
        project.preview("read", &json!({"path": "../x"})),
        project.preview("search", &json!({"path": "..", "pattern": "a\u{1b}b"})),
        project.preview("list", &json!({})),
        project.preview("shell", &json!({"command": "ls", "directory": "src"})),
    ];
    insta::with_settings!({omit_expression => true}, {
        insta::assert_snapshot!(shown.join("\n--------\n"));
    });
    let long = "x\n".repeat(100_000);
    let shown = project.preview("write", &json!({"path": "long", "content": long}));
    assert!(shown.lines().count() < 410 && shown.contains("lines more"), "{}", shown.len());
}

#[test]
fn hostile_texts_are_written_and_read_as_what_they_are() {
    let project = Project::new();
    for it in punchlist_testkit::naughty::naughty() {
        for name in ["read", "list"] {
            project.call(name, json!({"path": it.text}));
        }
        project.call("search", json!({"pattern": it.text, "literal": true}));
        project.call("search", json!({"pattern": "a", "glob": it.text}));
        project.call("shell", json!({"command": it.text, "directory": it.text}));
        project.preview("edit", &json!({"path": "a", "old": it.text, "new": "b"}));
        let output = write(&project, "a", &it.text);
        assert!(
            ["created", "replaced", "a already has this content"]
                .iter()
                .any(|ok| output.starts_with(ok)),
            "{output}"
        );
        assert_eq!(project.text("project/a"), it.text, "{}", it.name);
        read(&project, "a");
        fs::remove_file(project.path("project/a")).unwrap();
    }
}
