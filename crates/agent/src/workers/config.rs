//! The configuration of workers: `[workers.NAME]`.

use std::time::Duration;

use punchlist_engine::workers::Agent;
use punchlist_formats::text;
use serde::Deserialize;
use serde_json::Value;

/// How long a worker may take, if nothing else is configured.
const TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// Maximum length of a name. It is part of messages and rules.
const LONGEST_NAME: usize = 40;

/// A worker as the user configured it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkerConfig {
    /// The name: `agentType` of an item or a delegation.
    pub name: String,
    /// Who does the work.
    pub kind: WorkerKind,
    /// What the worker is good at, for the model that delegates; may be empty.
    pub description: String,
    /// The model, if it is not the default.
    pub model: Option<String>,
    /// Instructions for every task; may be empty.
    pub prompt: String,
    /// The tools that a worker of the kind `model` has; all if this is `None`.
    pub tools: Option<Vec<String>>,
    /// Limits on its work.
    pub limits: WorkerLimits,
    /// How long it may take.
    pub timeout: Duration,
    /// Whether it works in a git worktree of its own.
    pub worktree: bool,
    /// The variables with keys of model providers that its program gets.
    pub env: Vec<String>,
}

/// Who does the work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkerKind {
    /// Our own loop with a model, without plan tools.
    Model,
    /// The program of an agent that the user has.
    Program {
        /// The agent.
        agent: Agent,
        /// The program, and further arguments.
        command: Vec<String>,
    },
    /// An agent that speaks the Agent Client Protocol.
    Acp {
        /// The program and its arguments.
        command: Vec<String>,
    },
    /// A command line. It reads the task from its input.
    Shell {
        /// The command line, for `sh`.
        command: String,
    },
}

/// Limits on a worker's work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerLimits {
    /// Most model calls of one task.
    pub calls: Option<u32>,
    /// Most tokens of one task.
    pub tokens: Option<u64>,
}

/// The table as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    kind: Option<String>,
    command: Option<Value>,
    #[serde(default)]
    description: String,
    model: Option<String>,
    #[serde(default)]
    prompt: String,
    tools: Option<Vec<String>>,
    #[serde(default)]
    limits: WorkerLimits,
    timeout: Option<Value>,
    #[serde(default)]
    worktree: bool,
    #[serde(default)]
    env: Vec<String>,
}

impl WorkerConfig {
    /// Reads one table of the settings. The error says which table and key, and what would be right.
    pub fn read(name: &str, table: &Value) -> Result<Self, String> {
        read(name, table).map_err(|why| format!("[workers.{name}]: {why}"))
    }

    /// Reads the table `workers` of the settings.
    pub fn read_all(workers: &Value) -> Result<Vec<Self>, String> {
        let tables = workers.as_object().ok_or("workers: write tables such as [workers.NAME]")?;
        tables.iter().map(|(name, table)| Self::read(name, table)).collect()
    }
}

fn read(name: &str, table: &Value) -> Result<WorkerConfig, String> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
        return Err(format!("a name has letters, digits, - and _, at most {LONGEST_NAME}"));
    }
    let Written {
        kind,
        command,
        description,
        model,
        prompt,
        tools,
        limits,
        timeout,
        worktree,
        env,
    } = Written::deserialize(table).map_err(|why| why.to_string())?;
    let kind = self::kind(kind.as_deref(), command)?;
    let is_model = kind == WorkerKind::Model;
    let is_claude = matches!(&kind, WorkerKind::Program { agent: Agent::Claude, .. });
    let has_no_model = matches!(&kind, WorkerKind::Acp { .. } | WorkerKind::Shell { .. });
    if tools.is_some() && !is_model {
        let what = "tools is for kind \"model\"; other programs have their own settings";
        return Err(format!("{what}, or arguments in command"));
    }
    if limits.calls == Some(0) || limits.tokens == Some(0) {
        return Err("limits: 0 would leave nothing to do".to_owned());
    }
    if limits.calls.is_some() && !is_model && !is_claude {
        return Err("limits.calls is for kinds \"model\" and \"claude\"".to_owned());
    }
    if limits.tokens.is_some() && !is_model {
        return Err("limits.tokens is for kind \"model\"".to_owned());
    }
    if model.is_some() && has_no_model {
        return Err("model: name it in command, as the program wants it".to_owned());
    }
    if !env.is_empty() && is_model {
        return Err("env: kind \"model\" starts no program".to_owned());
    }
    check_names(&env)?;
    Ok(WorkerConfig {
        name: name.to_owned(),
        kind,
        description,
        model,
        prompt,
        tools,
        limits,
        timeout: timeout.map_or(Ok(TIMEOUT), |it| self::timeout(&it))?,
        worktree,
        env,
    })
}

fn kind(kind: Option<&str>, command: Option<Value>) -> Result<WorkerKind, String> {
    let names = "model, claude, codex, gemini, acp, shell";
    let Some(kind) = kind else { return Err(format!("kind is missing; it is one of {names}")) };
    if let Some(agent) = Agent::named(kind) {
        let command = command.map_or_else(|| Ok(vec![kind.to_owned()]), words)?;
        return Ok(WorkerKind::Program { agent, command });
    }
    match (kind, command) {
        ("model", None) => Ok(WorkerKind::Model),
        ("model", Some(_)) => Err("command: kind \"model\" starts no program".to_owned()),
        ("acp", Some(command)) => Ok(WorkerKind::Acp { command: words(command)? }),
        ("acp", None) => {
            Err("command is missing, such as command = [\"gemini\", \"--acp\"]".to_owned())
        }
        ("shell", Some(Value::String(command))) if !command.trim().is_empty() => {
            Ok(WorkerKind::Shell { command })
        }
        ("shell", _) => Err("command must be a command line such as \"make lint\"".to_owned()),
        (other, _) => Err(format!("kind {other:?} is not one of {names}")),
    }
}

/// Refuses `env` if it has something else than names of variables.
pub(crate) fn check_names(env: &[String]) -> Result<(), String> {
    match env.iter().find(|it| it.is_empty() || it.contains(['=', '\0', '$'])) {
        Some(name) => {
            Err(format!("env: {name:?} is not the name of a variable, such as \"MY_KEY\""))
        }
        None => Ok(()),
    }
}

/// A program and its arguments.
pub(crate) fn words(command: Value) -> Result<Vec<String>, String> {
    let words: Option<Vec<String>> = serde_json::from_value(command).ok();
    let is_program = |it: &Vec<String>| it.first().is_some_and(|it| !it.trim().is_empty());
    let wrong = "command must be a list: the program and its arguments, such as [\"claude\"]";
    words.filter(is_program).ok_or_else(|| wrong.to_owned())
}

/// `90`, `"90s"`, `"15m"`, `"2h"`
pub(crate) fn timeout(written: &Value) -> Result<Duration, String> {
    let seconds = match written {
        Value::String(text) => text::seconds(text),
        Value::Number(number) => number.as_u64().and_then(|it| u32::try_from(it).ok()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let seconds = seconds.filter(|it| *it > 0);
    let wrong = || format!("timeout = {written} is not a time such as \"90s\", \"15m\" or \"2h\"");
    Ok(Duration::from_secs(u64::from(seconds.ok_or_else(wrong)?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_is_read_with_its_keys() {
        let all = WorkerConfig::read_all(&json!({
            "reviewer": {
                "kind": "claude", "model": "opus", "prompt": "You review.", "timeout": "15m",
                "description": "reviews code", "limits": {"calls": 30}, "worktree": true,
                "command": ["/opt/claude", "--permission-mode", "acceptEdits"],
            },
            "quick": {"kind": "model", "model": "local/qwen3", "tools": ["read", "search"],
                      "limits": {"calls": 10, "tokens": 50000}, "timeout": 90},
            "coder": {"kind": "codex"},
            "editor": {"kind": "acp", "command": ["gemini", "--acp"]},
            "lint": {"kind": "shell", "command": "make lint"},
        }));
        let all = all.unwrap();
        let named = |name: &str| all.iter().find(|it| it.name == name).unwrap();
        let reviewer = named("reviewer");
        assert!(reviewer.worktree && reviewer.timeout == Duration::from_secs(900));
        assert_eq!(reviewer.limits.calls, Some(30));
        let WorkerKind::Program { agent: Agent::Claude, command } = &reviewer.kind else {
            panic!("{reviewer:?}")
        };
        assert_eq!(command.len(), 3);
        assert_eq!(named("quick").timeout, Duration::from_secs(90));
        let codex = WorkerKind::Program { agent: Agent::Codex, command: vec!["codex".to_owned()] };
        assert_eq!((&named("coder").kind, named("coder").timeout), (&codex, TIMEOUT));
        assert!(matches!(&named("editor").kind, WorkerKind::Acp { command } if command.len() == 2));
        assert!(matches!(&named("lint").kind, WorkerKind::Shell { .. }));
    }

    #[test]
    fn what_is_wrong_is_said_with_table_and_key() {
        let check = |table: Value, expected: &str| {
            let error = WorkerConfig::read("w", &table).unwrap_err();
            assert!(error.starts_with("[workers.w]: ") && error.contains(expected), "{error}");
        };
        check(json!({}), "kind is missing; it is one of model, claude, codex, gemini, acp, shell");
        check(json!({"kind": "cluade"}), "kind \"cluade\" is not one of");
        check(json!({"kind": "claude", "modle": "x"}), "unknown field `modle`");
        check(json!({"kind": "claude", "command": "claude"}), "command must be a list");
        check(json!({"kind": "claude", "command": []}), "command must be a list");
        check(json!({"kind": "claude", "tools": ["read"]}), "tools is for kind \"model\"");
        check(json!({"kind": "codex", "limits": {"calls": 3}}), "limits.calls is for kinds");
        check(json!({"kind": "claude", "limits": {"tokens": 3}}), "limits.tokens is for kind");
        check(json!({"kind": "model", "limits": {"calls": 0}}), "0 would leave nothing to do");
        check(json!({"kind": "model", "command": ["x"]}), "starts no program");
        check(json!({"kind": "model", "env": ["K"]}), "env: kind \"model\" starts no program");
        check(json!({"kind": "codex", "env": ["$K"]}), "\"$K\" is not the name of a variable");
        check(json!({"kind": "acp"}), "command is missing");
        check(json!({"kind": "acp", "command": ["x"], "model": "m"}), "name it in command");
        check(json!({"kind": "shell", "command": ["make"]}), "must be a command line");
        check(json!({"kind": "shell", "command": " "}), "must be a command line");
        for time in [json!("soon"), json!(0), json!(-1), json!(1.5), json!(true)] {
            check(json!({"kind": "codex", "timeout": time}), "is not a time such as");
        }
        let name = WorkerConfig::read("a b", &json!({"kind": "codex"})).unwrap_err();
        assert!(name.contains("letters, digits, - and _"), "{name}");
        assert!(WorkerConfig::read_all(&json!([])).is_err());
    }
}
