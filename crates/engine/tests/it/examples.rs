//! The examples run to their end, and the README shows one of them unchanged.

use std::process::Command;

#[path = "../../examples/agent.rs"]
mod agent;
#[path = "../../examples/conversation.rs"]
mod conversation;
#[path = "../../examples/run.rs"]
mod run;

#[test]
fn a_plan_is_made_worked_on_verified_followed_and_drawn() {
    // Its checks run under a guardian, which must be the example's own program. Cargo puts it
    // beside this test's program.
    let here = std::env::current_exe().unwrap();
    let program = here.ancestors().nth(2).unwrap().join("examples/plan");
    let output = Command::new(&program).output().unwrap_or_else(|why| {
        panic!("{}: {why}; `cargo build -p punchlist-engine --examples`", program.display())
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    let (changes, list) = said.split_at(said.find('┌').unwrap());
    insta::assert_snapshot!(changes, @r#"
    1  worker-1  added 1 "Parse"
                 added 2 "Test"
    2  worker-1  started 1 "Parse"
    3  engine   added evidence to 1 "Parse" (checked)
    4  worker-1  completed 1 "Parse": parses
    "#);
    assert!(list.contains("checked") && list.contains("Progress: 1/2 (50%)"), "{list}");
}

#[test]
fn a_conversation_is_held_until_its_items_are_settled() {
    conversation::main().unwrap();
}

#[test]
fn an_agents_calls_run_beside_the_plans_and_a_person_answers_elsewhere() {
    agent::main().unwrap();
}

#[test]
fn the_readme_shows_the_example_as_it_is() {
    let readme = include_str!("../../README.md");
    assert!(readme.contains(include_str!("../../examples/plan.rs")));
}

#[test]
fn a_plan_file_is_run_and_its_questions_are_answered() {
    run::main().unwrap();
}
