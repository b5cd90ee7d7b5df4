//! Gemini CLI as a worker of `punchlist run`.

use std::fs;

use punchlist_testkit::features::Agent;
use serde_json::json;

use super::WITH_TODOS;
use super::plans::todos;
use crate::workers::{self, Kind};

/// Without a person, Gemini CLI omits tools that it would ask about, so the user has allowed these.
const ALLOWED: &str = "\
[[rule]]
toolName = [\"write_todos\", \"run_shell_command\"]
decision = \"allow\"
priority = 100
allow_redirection = true
";

pub(crate) const GEMINI: Kind = Kind {
    agent: Agent::Gemini,
    set_up: |place, _| {
        place.gemini_settings(&json!({"model": {"name": WITH_TODOS}}));
        fs::create_dir_all(place.path("home/.gemini/policies")).unwrap();
        fs::write(place.path("home/.gemini/policies/mine.toml"), ALLOWED).unwrap();
    },
    program: |place, model| place.gemini_itself(model),
    list: |entries| ("write_todos", todos(entries)),
    shell: |command| ("run_shell_command", json!({"command": command, "description": "Do it"})),
    bad_request: "INVALID_ARGUMENT",
};

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn an_item_of_a_plan_file_is_done_by_the_agent_and_its_list_is_kept_under_it() {
    workers::does_an_item(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn what_it_says_is_not_believed_without_its_check() {
    workers::is_not_believed_without_its_check(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn what_it_leaves_open_on_its_own_list_holds_nothing_up() {
    workers::may_leave_its_own_list_open(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_worker_whose_model_fails_fails_its_item_and_the_next_run_has_it_done() {
    workers::fails_with_its_model(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn after_ctrl_c_nothing_of_it_is_left() {
    workers::is_gone_after_ctrl_c(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn after_its_time_nothing_of_it_is_left() {
    workers::is_gone_after_its_time(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn after_a_kill_its_item_is_checked_first_and_runs_again_only_if_it_may() {
    workers::is_taken_up_after_a_kill(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn no_text_of_an_item_is_an_option_of_its_command_line() {
    workers::takes_no_text_for_an_option(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_worker_cannot_answer() {
    workers::answers_nothing(&GEMINI);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn with_punchlist_installed_a_worker_has_a_plan_of_its_own() {
    workers::does_not_see_the_plan(&GEMINI);
}
