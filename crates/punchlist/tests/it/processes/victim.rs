//! A process that is killed while it runs something: this test program, started a second time.

use std::env;
use std::process::{Child, Command as StdCommand, Stdio};

/// The environment variable with the victim's command.
const LINE: &str = "PUNCHLIST_TEST_VICTIM";

/// Starts a victim whose driver runs a shell command for ever.
pub(super) fn start(line: &str) -> Child {
    StdCommand::new(env::current_exe().unwrap())
        .args(["processes::victim::what_a_victim_does", "--exact", "--nocapture"])
        .env(LINE, line)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Without the variable, this test does nothing.
#[tokio::test]
async fn what_a_victim_does() {
    let Some(line) = env::var_os(LINE) else { return };
    let stage = super::driver::Stage::new();
    let request = super::driver::line(line.to_str().unwrap());
    let batch = stage.run.schedule(vec![request]).await.unwrap();
    let outcomes = batch.outcomes().await;
    panic!("nobody killed the victim: {outcomes:?}");
}
