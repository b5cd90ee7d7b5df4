//! Runs Codex without a terminal, and returns the result.

mod answers;
mod broken;
mod delegating;
mod leading;
mod live;
mod memory;
mod people;
mod plans;
mod refusals;
mod screen;
mod server;
mod wired;
pub(crate) mod workers;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use punchlist_testkit::model::Server;

use crate::place::Place;
use crate::run::{Ended, Run};

/// The environment variable with the path of the program.
pub(crate) const PROGRAM: &str = "PUNCHLIST_TEST_CODEX";

/// A model that gets its tools one by one.
pub(crate) const DIRECT: &str = "gpt-5.5";

/// A model that gets one tool, which runs code, and calls the others from there.
pub(crate) const IN_CODE: &str = "gpt-6.1-sol";

/// The settings of a user with another provider, without any other network access, and with one
/// retry, so that tests of failures are short.
const SETTINGS: &str = r#"
model = "MODEL"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "Scripted"
base_url = "URL/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1

[analytics]
enabled = false

[feedback]
enabled = false

[otel]
exporter = "none"
metrics_exporter = "none"
trace_exporter = "none"

[features]
enable_request_compression = false
plugins = false
apps = false
daemon_auto_start = false

[projects."PROJECT"]
trust_level = "trusted"

# That there is a newer model was read and answered.
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[tools.update_plan]
enabled = true
"#;

/// The path of Codex, as `cargo xtask test agents` installed it.
fn program() -> PathBuf {
    let path = std::env::var_os(PROGRAM);
    path.expect("run `cargo xtask test agents`: it names the program").into()
}

impl Place {
    /// Writes the user's settings, with a scripted model under the name of a real one.
    pub(crate) fn codex_settings(&self, model: &Server, name: &str) {
        fs::create_dir_all(self.path("home/.codex")).unwrap();
        let project = self.path("project").display().to_string();
        let settings = SETTINGS.trim_start().replace("MODEL", name);
        let settings = settings.replace("URL", &model.url()).replace("PROJECT", &project);
        fs::write(self.path("home/.codex/config.toml"), settings).unwrap();
    }

    /// One prompt, without a terminal.
    pub(crate) fn codex(&self, arguments: &[&str]) -> Run {
        let mut command = self.codex_itself();
        command.args(["exec", "--json"]).args(arguments);
        Run::new(command)
    }

    /// The program. The API key is a dummy.
    fn codex_itself(&self) -> Command {
        let mut command = self.command(&program());
        command.env("TERM", "xterm-256color").env("SCRIPTED_API_KEY", "dummy-key-for-loopback");
        command
    }

    /// The session files of all threads.
    pub(crate) fn rollouts(&self) -> Vec<PathBuf> {
        self.files("home/.codex/sessions", ".jsonl")
    }

    /// The session file of one thread.
    #[track_caller]
    pub(crate) fn rollout(&self, thread: &str) -> PathBuf {
        let files = self.rollouts();
        let own = files.iter().find(|it| it.to_string_lossy().contains(thread));
        own.unwrap_or_else(|| panic!("no file of {thread} among {files:#?}")).clone()
    }
}

impl Ended {
    /// Checks that the turn ended normally.
    #[track_caller]
    pub(crate) fn completed(self) -> Self {
        let Self { status, lines, errors, .. } = &self;
        assert!(status.success(), "{status}: {errors}\n{lines:#?}");
        let last = lines.last().unwrap_or_else(|| panic!("nothing printed: {errors}"));
        assert_eq!(last["type"], "turn.completed", "{last:#}");
        self
    }
}
