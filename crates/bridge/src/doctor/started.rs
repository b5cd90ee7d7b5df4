//! Whether running agents were started with options that disable an installation.
//!
//! Such options are on the command line and not in the settings.

use std::fs;
use std::path::PathBuf;

use punchlist_formats::hook::Agent;
use serde_json::Value;

use super::{Finding, Options};
use crate::install::entries::SERVER;
use crate::process;

/// Most session files that are read.
const MOST: usize = 64;

/// Examines the running programs. `scopes` are the sources of settings that contain our entries, as
/// the agent names them.
pub(super) fn look(options: &Options, scopes: &[&str]) -> Vec<Finding> {
    let mut pids = options.running.clone();
    pids.extend(noted(options));
    pids.sort_unstable();
    pids.dedup();
    let agent = options.install.agent;
    let judge = |pid: u32| {
        let argv: Vec<String> = process::arguments(pid).words().map(|it| it.into_owned()).collect();
        judge(agent, pid, &argv, scopes)
    };
    pids.into_iter().flat_map(judge).collect()
}

/// The processes that Claude Code has recorded as its sessions.
fn noted(options: &Options) -> Vec<u32> {
    let install = &options.install;
    if install.agent != Agent::Claude {
        return Vec::new();
    }
    let own = install.config_dir.clone().unwrap_or_else(|| install.home.join(".claude"));
    let pid = |path: PathBuf| -> Option<u32> {
        let note: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        note["pid"].as_u64()?.try_into().ok()
    };
    let notes = fs::read_dir(own.join("sessions")).into_iter().flatten().flatten();
    notes.take(MOST).filter_map(|it| pid(it.path())).collect()
}

fn judge(agent: Agent, pid: u32, argv: &[String], scopes: &[&str]) -> Vec<Finding> {
    // The pid may belong to another process by now.
    let is_it = argv.iter().take(3).any(|it| it.contains(agent.as_str()));
    if !is_it {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let has = |option: &str| argv.iter().any(|it| it == option);
    let mut tell = |about, option: &str, what: &str, fix: &str| {
        let said = format!("process {pid} was started with {option}: {what}");
        findings.push(Finding::note(about, said, fix.to_owned()));
    };
    match agent {
        Agent::Claude => {
            for option in ["--bare", "--safe-mode"].into_iter().filter(|it| has(it)) {
                tell("hooks", option, "it calls no hook at all", "start it without that");
            }
            let named = values(argv, "--mcp-config").any(|it| it.contains(SERVER));
            if has("--strict-mcp-config") && !named {
                let fix = "start it without that, or name our server in its --mcp-config";
                tell("mcp", "--strict-mcp-config", "it has no plan tools", fix);
            }
            if let Some(sources) = values(argv, "--setting-sources").next()
                && !sources.split(',').any(|it| scopes.contains(&it.trim()))
            {
                let option = format!("--setting-sources {sources}");
                let what = "it does not read the settings with our hooks and permission";
                let fix =
                    format!("start it with `{}` among its --setting-sources", scopes.join("`, `"));
                tell("hooks", &option, what, &fix);
            }
        }
        Agent::Gemini => {
            const NAMES: &str = "--allowed-mcp-server-names";
            let names: Vec<&str> = values(argv, NAMES).collect();
            if !names.is_empty() && !names.iter().any(|it| it.split(',').any(|it| it == SERVER)) {
                let option = format!("{NAMES} {}", names.join(" "));
                let fix = format!("add {SERVER} to its {NAMES}");
                tell("mcp", &option, "it has no plan tools", &fix);
            }
        }
        Agent::Codex => {}
    }
    findings
}

/// The values of an option, given as the next argument or after `=`.
fn values<'a>(argv: &'a [String], option: &'a str) -> impl Iterator<Item = &'a str> {
    argv.iter().enumerate().filter_map(move |(at, word)| {
        if word == option {
            return argv.get(at + 1).map(String::as_str);
        }
        word.strip_prefix(option)?.strip_prefix('=')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(agent: Agent, line: &str, expected: &[&str]) {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let found = judge(agent, 7, &argv, &["user"]);
        let said: Vec<&str> = found
            .iter()
            .filter_map(|it| it.said.strip_prefix("process 7 was started with "))
            .collect();
        assert_eq!(said, expected, "{line}");
    }

    #[test]
    fn what_the_command_line_switches_off_is_said() {
        let no_tools = "--strict-mcp-config: it has no plan tools";
        let unread = "it does not read the settings with our hooks and permission";
        let sources = format!("--setting-sources project,local: {unread}");
        check(Agent::Claude, "claude", &[]);
        check(Agent::Claude, "node /x/claude -p hello", &[]);
        check(Agent::Claude, "claude --strict-mcp-config", &[no_tools]);
        check(Agent::Claude, "claude --strict-mcp-config --mcp-config /x/punchlist.json", &[]);
        check(Agent::Claude, "claude --strict-mcp-config --mcp-config=/x/o.json", &[no_tools]);
        check(Agent::Claude, "claude --setting-sources project,local", &[&sources]);
        check(Agent::Claude, "claude --setting-sources=project,local", &[&sources]);
        check(Agent::Claude, "claude --setting-sources user,project", &[]);
        check(Agent::Claude, "claude --bare", &["--bare: it calls no hook at all"]);
        check(
            Agent::Gemini,
            "node /x/gemini --allowed-mcp-server-names other",
            &["--allowed-mcp-server-names other: it has no plan tools"],
        );
        check(Agent::Gemini, "gemini --allowed-mcp-server-names other,punchlist", &[]);
        check(Agent::Codex, "codex exec --strict-mcp-config", &[]);
        // The pid belongs to another program by now.
        check(Agent::Claude, "vim --strict-mcp-config", &[]);
    }
}
