//! Runs Claude Code without a terminal, and returns the result.

use std::path::PathBuf;
use std::process::Command;

use punchlist_testkit::model::{Request, Server};

use crate::place::Place;
use crate::run::{Ended, Run};

/// The environment variable with the path of the program.
pub(crate) const PROGRAM: &str = "PUNCHLIST_TEST_CLAUDE";

/// The path of Claude Code, as `cargo xtask test agents` installed it.
pub(crate) fn program() -> PathBuf {
    let path = std::env::var_os(PROGRAM);
    path.expect("run `cargo xtask test agents`: it names the program").into()
}

impl Place {
    /// The program with a scripted model. The API key is a dummy.
    pub(crate) fn agent(&self, model: &Server) -> Command {
        let mut command = self.command(&program());
        command
            .env("TERM", "xterm-256color")
            .env("ANTHROPIC_BASE_URL", model.url())
            .env("ANTHROPIC_API_KEY", "dummy-key-for-loopback")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("DISABLE_ERROR_REPORTING", "1")
            .env("CLAUDE_CODE_TMPDIR", self.path("tmp"));
        command
    }

    /// One prompt, without a terminal.
    pub(crate) fn claude(&self, model: &Server, prompt: &str) -> Run {
        let mut command = self.agent(model);
        command.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]);
        Run::new(command)
    }

    /// Several prompts to one process, each after the answer to the one before.
    pub(crate) fn claude_told(&self, model: &Server, prompts: &[&str]) -> Run {
        let mut command = self.agent(model);
        command.args(["-p", "--input-format", "stream-json", "--output-format", "stream-json"]);
        command.arg("--verbose");
        let line = |text: &&str| {
            let message = serde_json::json!({"role": "user", "content": text});
            let line = serde_json::json!({"type": "user", "message": message,
                "parent_tool_use_id": null, "session_id": ""});
            format!("{line}\n")
        };
        Run::new(command).told(prompts.iter().map(line))
    }
}

impl Run {
    pub(crate) fn resume(self, session: &str) -> Self {
        self.args(&["--resume", session])
    }

    /// Offers the agent's own task tools to the model. Newer versions offer them only if told to,
    /// and otherwise make the model search for them; older ones have `TodoWrite` without a
    /// terminal.
    pub(crate) fn with_tasks(self) -> Self {
        self.env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")
            .env("ENABLE_TOOL_SEARCH", "false")
            .env("CLAUDE_CODE_ENABLE_TASKS", "1")
    }

    /// Offers `TodoWrite` instead.
    pub(crate) fn with_todo_write(self) -> Self {
        self.with_tasks().env("CLAUDE_CODE_ENABLE_TASKS", "0")
    }
}

impl Ended {
    /// Checks that the run succeeded with an answer.
    #[track_caller]
    pub(crate) fn well(self) -> Self {
        let Self { status, lines, errors, .. } = &self;
        assert!(status.success(), "{status}: {errors}\n{lines:#?}");
        let result = lines.iter().rev().find(|it| it["type"] == "result");
        let result = result.unwrap_or_else(|| panic!("no result: {errors}\n{lines:#?}"));
        assert_eq!(result["is_error"], false, "{result:#}");
        assert_eq!(result["permission_denials"], serde_json::json!([]), "{result:#}");
        self
    }

    /// The last answer.
    pub(crate) fn answer(&self) -> &str {
        let results = self.lines.iter().rev().filter(|it| it["type"] == "result");
        results.filter_map(|it| it["result"].as_str()).next().unwrap_or_default()
    }
}

/// The texts of all refused stops, as the model read them.
pub(crate) fn refusals(requests: &[Request]) -> Vec<String> {
    let told = requests.iter().map(Request::news);
    told.filter_map(|it| Some(refusal(&it)?.to_owned())).collect()
}

/// The refusal of a stop in a text, and what follows it. Older versions show it as an error of the
/// hook, newer ones as context.
pub(crate) fn refusal(told: &str) -> Option<&str> {
    const SAID: [&str; 2] = ["Stop hook feedback:\n", "Stop hook additional context: "];
    SAID.iter().find_map(|it| Some(told.split_once(it)?.1))
}
