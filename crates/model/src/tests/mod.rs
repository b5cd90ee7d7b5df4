//! The specification as stories: commands and their answers.
//!
//! A story is a transcript. Lines that begin with `$` are commands in a small language of this
//! module; the lines after a command are its answer. The whole transcript is compared, so a story
//! reads as a document and fails when a word of it becomes wrong.

mod evidence;
mod goals;
mod lists;
mod plans;
mod properties;
mod ready;
mod reconcile;
mod section3;
mod statuses;
mod transitions;
mod undo;
mod whose;
mod world;

use world::World;

/// Runs a transcript and compares it with the actual answers.
#[track_caller]
fn story(expected: &str) {
    let mut world = World::new();
    let mut actual = String::new();
    let expected = dedent(expected);
    for line in expected.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            actual.push_str(line);
            actual.push('\n');
            for answer in world.run(command).lines() {
                actual.push_str(answer);
                actual.push('\n');
            }
        } else if line.is_empty() {
            actual.push('\n');
        }
    }
    assert_eq!(squeeze(&expected), squeeze(&actual), "\n--- what really happens:\n{actual}");
}

/// Removes the common indentation, so that stories can be indented in the code.
fn dedent(text: &str) -> String {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let indent = lines().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    text.lines().map(|line| line.get(indent..).unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// Removes empty lines, which only structure a story.
fn squeeze(text: &str) -> String {
    text.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

#[path = "../../examples/decide.rs"]
mod decide_example;

#[test]
fn the_example_runs_and_the_readme_shows_it() {
    decide_example::main();
    let readme = include_str!("../../README.md");
    assert!(readme.contains(include_str!("../../examples/decide.rs")));
}
