//! Runs Gemini CLI without a terminal, and returns the result.

mod answers;
mod broken;
mod delegating;
mod leading;
mod letting_go;
mod live;
mod memory;
mod people;
mod plans;
mod refusals;
mod screen;
mod wired;
pub(crate) mod workers;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use punchlist_testkit::model::Server;
use serde_json::{Value, json};

use crate::place::Place;
use crate::run::{Ended, Run};

/// The environment variable with the path of the program.
pub(crate) const PROGRAM: &str = "PUNCHLIST_TEST_GEMINI";

/// A model that gets `write_todos`; newer ones do not.
pub(crate) const WITH_TODOS: &str = "gemini-2.5-flash";

/// The path of Gemini CLI, as `cargo xtask test agents` installed it.
fn program() -> PathBuf {
    let path = std::env::var_os(PROGRAM);
    path.expect("run `cargo xtask test agents`: it names the program").into()
}

impl Place {
    /// Writes the user's settings: the way to sign in, no other network access, and these.
    pub(crate) fn gemini_settings(&self, more: &Value) {
        let mut settings = json!({
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": false},
            "telemetry": {"enabled": false},
            "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        });
        for (key, value) in more.as_object().unwrap() {
            settings[key] = value.clone();
        }
        fs::create_dir_all(self.path("home/.gemini")).unwrap();
        let text = serde_json::to_string_pretty(&settings).unwrap();
        fs::write(self.path("home/.gemini/settings.json"), text + "\n").unwrap();
    }

    /// One prompt, without a terminal, in a trusted folder and without questions.
    pub(crate) fn gemini(&self, model: &Server, prompt: &str) -> Run {
        self.gemini_in(model, prompt, "yolo")
    }

    /// The same in another approval mode.
    pub(crate) fn gemini_in(&self, model: &Server, prompt: &str, mode: &str) -> Run {
        let mut command = self.gemini_itself(model);
        command.args(["-p", prompt, "--output-format", "stream-json", "--approval-mode", mode]);
        Run::new(command)
    }

    /// The program. The API key is a dummy.
    fn gemini_itself(&self, model: &Server) -> Command {
        let mut command = self.command(&program());
        command
            .env("TERM", "xterm-256color")
            .env("GEMINI_API_KEY", "dummy-key-for-loopback")
            .env("GOOGLE_GEMINI_BASE_URL", model.url())
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            // Otherwise Gemini CLI restarts itself with more memory, which takes seconds.
            .env("GEMINI_CLI_NO_RELAUNCH", "true")
            .env("NO_BROWSER", "1");
        command
    }

    /// The chat file of one session.
    #[track_caller]
    pub(crate) fn chat(&self, session: &str) -> PathBuf {
        let files = self.files("home/.gemini/tmp", ".jsonl");
        let ending = format!("-{}.jsonl", &session[..8]);
        let own = files.iter().find(|it| it.to_string_lossy().ends_with(&ending));
        own.unwrap_or_else(|| panic!("no file of {session} among {files:#?}")).clone()
    }
}

impl Ended {
    /// Checks that the run succeeded.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        let Self { status, lines, errors, .. } = &self;
        assert!(status.success(), "{status}: {errors}\n{lines:#?}");
        let last = lines.last().unwrap_or_else(|| panic!("nothing printed: {errors}"));
        assert_eq!((&last["type"], &last["status"]), (&json!("result"), &json!("success")));
        self
    }
}
