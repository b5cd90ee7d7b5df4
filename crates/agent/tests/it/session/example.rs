//! The example runs to its end.

use std::process::Command;

#[test]
fn a_session_in_another_program() {
    let output = Command::new(super::guardian()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("2 list.txt") && said.ends_with("The list has two lines.\n"), "{said}");
}

#[test]
fn the_readme_shows_it() {
    let readme = include_str!("../../../README.md");
    assert!(readme.contains(include_str!("../../../examples/session.rs")));
}
