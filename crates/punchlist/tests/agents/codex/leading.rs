//! Codex as the leader of `punchlist do --agent`.

use super::workers::CODEX;
use crate::leading;

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_task_that_it_leads_is_held_once_and_finishes() {
    let called = |tool: &str| format!("mcp__punchlist.{tool}");
    let files = ["home/.codex/config.toml", "home/.codex/hooks.json"];
    leading::is_held_once_and_finishes(&CODEX, called, &files, &[false, true]);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_task_with_a_goal_does_not_end_before_the_goal_was_considered() {
    let called = |tool: &str| format!("mcp__punchlist.{tool}");
    leading::is_held_to_its_goal(&CODEX, called, false);
}
