//! Checks that the README's example is the file that it names, and that it runs.

#[path = "../../examples/lists.rs"]
mod lists;

const README: &str = include_str!("../../README.md");
const EXAMPLE: &str = include_str!("../../examples/lists.rs");

#[test]
fn the_example_of_the_readme_runs() {
    assert!(README.contains(&format!("```rust\n{EXAMPLE}```\n")), "the README has another example");
    lists::main();
}
