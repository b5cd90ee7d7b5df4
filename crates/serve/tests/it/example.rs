//! The example of the README.

use std::process::Command;

use serde_json::Value;

#[test]
fn the_example_runs_and_the_readme_shows_it() {
    // Beside this test's own program, where cargo puts examples.
    let here = std::env::current_exe().unwrap();
    let program = here.ancestors().nth(2).unwrap().join("examples/http");
    let output = Command::new(&program).output();
    let output = output.unwrap_or_else(|why| {
        panic!("{}: {why}; `cargo build -p punchlist-serve --examples`", program.display())
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let items: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(items["items"][0]["title"], "Write the notes");
    assert!(include_str!("../../README.md").contains(include_str!("../../examples/http.rs")));
}
