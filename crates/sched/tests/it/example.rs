//! Tests that the example for builders works.

use std::process::{Command, Output};

use punchlist_sched::process::{self, Processes};

/// Runs the example with these additional variables.
fn example(variables: &[(&str, &str)]) -> Output {
    // Beside this test's own program, where cargo puts examples.
    let here = std::env::current_exe().unwrap();
    let program = here.ancestors().nth(2).unwrap().join("examples/calls");
    let output = Command::new(&program).envs(variables.iter().copied()).output();
    output.unwrap_or_else(|why| {
        panic!("{}: {why}; `cargo build -p punchlist-sched --examples`", program.display())
    })
}

#[test]
fn the_example_runs() {
    let output = example(&[]);
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @r#"
    asked: shell {"command":"echo building; echo built"}: no rule allows it
    call 1: building
    call 1: built
    call 2: serving
    3 files
    building
    built
    Cancelled: enough
    served 1 request
    "#);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_readme_shows_lines_of_the_example() {
    let example = include_str!("../../examples/calls.rs");
    let lines: Vec<&str> = example.lines().map(str::trim).collect();
    let readme = include_str!("../../README.md");
    let code = readme.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    for line in code.lines().map(str::trim).filter(|it| !it.is_empty()) {
        assert!(lines.contains(&line), "{line}");
    }
}

#[tokio::test]
async fn a_program_that_lacks_its_first_line_is_told_so_and_does_not_start_itself_again() {
    // This test program does not become a guardian: it looks for tests of that name, and ends.
    let command = || process::Command::new("/bin/true", "/");
    let error = Processes::guarded().unwrap().spawn(command()).await.err().unwrap();
    let line = "`guardian::enter_if_called()` must be the first line of its `main`";
    assert!(error.to_string().contains(line), "{error}");
    // As in a guardian that starts processes itself.
    let said = example(&[("PUNCHLIST_GUARDIAN", "1")]).stdout;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("Error: the guardian did not start"), "{said}");
    assert!(said.contains(line), "{said}");
    let error = Processes::none().spawn(command()).await.err();
    assert_eq!(error, Some(process::Error::NotHere));
}
