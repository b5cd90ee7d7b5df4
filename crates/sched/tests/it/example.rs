//! The example that builders begin with does what it says.

use std::process::Command;

#[test]
fn the_example_runs() {
    // Beside this test's own program, where cargo puts what it builds for tests.
    let here = std::env::current_exe().unwrap();
    let program = here.ancestors().nth(2).unwrap().join("examples/calls");
    let output = Command::new(&program).output();
    let output = output.unwrap_or_else(|why| {
        panic!("{}: {why}; `cargo build -p punchlist-sched --examples`", program.display())
    });
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
