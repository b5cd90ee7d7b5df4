//! Gemini CLI as a worker of `punchlist do`, and its usage limit.

use super::workers::GEMINI;
use crate::delegating;

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_delegated_item_is_done_and_its_list_is_kept_under_it() {
    delegating::does_an_item(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn in_its_own_worktree_its_changes_are_kept_on_a_branch() {
    delegating::works_in_a_worktree(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_worker_that_is_killed_is_an_outcome() {
    delegating::is_killed(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_usage_limit_of_a_worker_is_waited_for() {
    delegating::reaches_its_limit(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_usage_limit_of_the_leader_is_waited_for() {
    delegating::reaches_its_limit_as_leader(&GEMINI);
}
