//! The examples run to their end.

#[path = "../../examples/conversation.rs"]
mod conversation;
#[path = "../../examples/plan.rs"]
mod plan;
#[path = "../../examples/run.rs"]
mod run;

#[test]
fn a_plan_is_made_worked_on_followed_and_drawn() {
    plan::main().unwrap();
}

#[test]
fn a_conversation_is_held_until_its_items_are_settled() {
    conversation::main().unwrap();
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
