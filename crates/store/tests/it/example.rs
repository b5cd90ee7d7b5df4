//! The example of the README.

#[path = "../../examples/changes.rs"]
mod changes;

#[test]
fn the_example_runs() {
    changes::main().unwrap();
}

#[test]
fn the_readme_shows_the_example_as_it_is() {
    let readme = include_str!("../../README.md");
    assert!(readme.contains(include_str!("../../examples/changes.rs")));
}
