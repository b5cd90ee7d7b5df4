//! Codex as a worker of `punchlist run`.

use punchlist_testkit::features::Agent;
use serde_json::json;

use super::DIRECT;
use super::plans::plan;
use crate::workers::{self, Kind};

pub(crate) const CODEX: Kind = Kind {
    agent: Agent::Codex,
    set_up: |place, model| {
        place.codex_settings(model, DIRECT);
        let path = place.path("home/.codex/config.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        // By default Codex may not write; and its sandbox would block access to the database.
        let settings = format!("sandbox_mode = \"danger-full-access\"\n{settings}");
        std::fs::write(path, settings).unwrap();
    },
    program: |place, _| place.codex_itself(),
    list: |entries| ("update_plan", plan(entries)),
    shell: |command| ("exec_command", json!({"cmd": command, "yield_time_ms": 20_000})),
    bad_request: "invalid_request_error",
};

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn an_item_of_a_plan_file_is_done_by_the_agent_and_its_list_is_kept_under_it() {
    workers::does_an_item(&CODEX);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn what_it_says_is_not_believed_without_its_check() {
    workers::is_not_believed_without_its_check(&CODEX);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn what_it_leaves_open_on_its_own_list_holds_nothing_up() {
    workers::may_leave_its_own_list_open(&CODEX);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_worker_whose_model_fails_fails_its_item_and_the_next_run_has_it_done() {
    workers::fails_with_its_model(&CODEX);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn after_ctrl_c_nothing_of_it_is_left() {
    workers::is_gone_after_ctrl_c(&CODEX);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn after_its_time_nothing_of_it_is_left() {
    workers::is_gone_after_its_time(&CODEX);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn after_a_kill_its_item_is_checked_first_and_runs_again_only_if_it_may() {
    workers::is_taken_up_after_a_kill(&CODEX);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn no_text_of_an_item_is_an_option_of_its_command_line() {
    workers::takes_no_text_for_an_option(&CODEX);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_worker_cannot_answer() {
    workers::answers_nothing(&CODEX);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn with_punchlist_installed_a_worker_has_a_plan_of_its_own() {
    workers::does_not_see_the_plan(&CODEX);
}
