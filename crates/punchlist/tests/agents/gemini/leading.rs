//! Gemini CLI as the leader of `punchlist do --agent`.

use super::workers::GEMINI;
use crate::leading;

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_task_that_it_leads_is_held_once_and_finishes() {
    let called = |tool: &str| format!("mcp_punchlist_{tool}");
    leading::is_held_once_and_finishes(&GEMINI, called, &["home/.gemini/settings.json"], &[true]);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_task_with_a_goal_does_not_end_before_the_goal_was_considered() {
    let called = |tool: &str| format!("mcp_punchlist_{tool}");
    leading::is_held_to_its_goal(&GEMINI, called, true);
}
