//! A person at a terminal: what nobody else may say.
//!
//! A yes to a question lets something happen that a rule holds back, so it must come from somebody who
//! sits before a terminal, and not from the agent that asks. Agents are known by what they put into the
//! environment of the programs that they start, and by the processes above. That stops mistakes and lazy
//! agents, not a hostile program under the same user: such a one can do all that its user can.

use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal};

use punchlist_bridge::process::Ancestor;
use punchlist_bridge::session;

use crate::error::Fail;
use crate::who;

/// What agents set for the programs that they start, and nobody sets for a terminal of their own. A
/// variable that users put into their profile is no sign, nor one that an editor sets for every
/// terminal in its window.
const SIGNS: &[(&str, &str)] = &[
    ("CLAUDECODE", "claude"),
    ("CLAUDE_CODE_SESSION_ID", "claude"),
    ("CLAUDE_CODE_ENTRYPOINT", "claude"),
    ("CLAUDE_CODE_CHILD_SESSION", "claude"),
    ("CODEX_THREAD_ID", "codex"),
    ("CODEX_SESSION_ID", "codex"),
    ("CODEX_CI", "codex"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "codex"),
    ("GEMINI_CLI", "gemini"),
    ("GEMINI_SESSION_ID", "gemini"),
    ("CURSOR_AGENT", "cursor"),
    ("CLINE_ACTIVE", "cline"),
    ("AUGMENT_AGENT", "augment"),
    ("COPILOT_CLI", "copilot"),
    ("GOOSE_TERMINAL", "goose"),
    ("OPENCODE", "opencode"),
    ("AI_AGENT", "an agent"),
];

/// What a step of a run finds in its environment.
const RUN: &str = "PUNCHLIST_RUN";

/// Why a call is not made by a person at a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Not {
    /// An agent makes it.
    Agent(&'static str),
    /// A step of a run makes it.
    Step,
    /// Nobody sits there.
    Attended,
}

/// Refuses what needs a person at a terminal: `what` happens by their word alone.
pub(crate) fn at_terminal(what: &str, verb: &str) -> Result<(), Fail> {
    let variable = |name: &str| env::var_os(name);
    let not = agent(variable, who::up_to_agent)
        .map(Not::Agent)
        .or_else(|| is_set(variable(RUN)).then_some(Not::Step))
        .or_else(|| (!has_terminal()).then_some(Not::Attended));
    not.map_or(Ok(()), |not| Err(not.fail(what, verb)))
}

/// Refuses what is for people alone, where an agent makes the call. There need not be a terminal.
pub(crate) fn not_an_agent(what: &str, verb: &str) -> Result<(), Fail> {
    let agent = agent(|name| env::var_os(name), who::up_to_agent);
    agent.map_or(Ok(()), |agent| Err(Not::Agent(agent).fail(what, verb)))
}

/// Whether an agent makes the call: then what it writes down is not a person's word.
pub(crate) fn is_agent() -> bool {
    agent(|name| env::var_os(name), who::up_to_agent).is_some()
}

impl Not {
    fn fail(self, what: &str, verb: &str) -> Fail {
        let elsewhere =
            format!("run `punchlist {verb}` in a terminal of your own, in the same project.");
        match self {
            Self::Agent(agent) => {
                Fail::refused(format!("{what} by people, and this call is made by {agent}"))
                    .hint(elsewhere)
            }
            Self::Step => {
                Fail::refused(format!("{what} by people, and this call is made by a step of a run"))
                    .hint(elsewhere)
            }
            Self::Attended => {
                Fail::refused(format!("{what} by a person at a terminal, and there is none here"))
                    .hint(format!("run `punchlist {verb}` there, with nothing piped into it."))
            }
        }
    }
}

/// The agent that a call is made by, whether or not its session is known: by the environment, else by
/// the processes above.
fn agent(
    variable: impl Fn(&str) -> Option<OsString>,
    ancestors: impl FnOnce() -> Vec<Ancestor>,
) -> Option<&'static str> {
    let sign = SIGNS.iter().find(|(name, _)| is_set(variable(name)));
    sign.map(|it| it.1).or_else(|| session::known_agent(&ancestors()).map(|it| it.0))
}

fn is_set(value: Option<OsString>) -> bool {
    value.is_some_and(|it| !it.is_empty())
}

/// Whether keys come from a terminal, and it is the one that this process belongs to.
fn has_terminal() -> bool {
    let controls = || OpenOptions::new().read(true).write(true).open("/dev/tty").is_ok();
    io::stdin().is_terminal() && controls()
}

#[cfg(test)]
mod tests {
    use punchlist_model::Process;

    use super::*;

    fn above(names: &[&str]) -> Vec<Ancestor> {
        let one = |name: &&str| Ancestor {
            process: Process {
                host: "here".to_owned(),
                boot_id: "boot".to_owned(),
                pid_namespace: 1,
                pid: 7,
                start_time: 1,
            },
            name: (*name).to_owned(),
            argv: [format!("/usr/bin/{name}")].iter().collect(),
        };
        names.iter().map(one).collect()
    }

    #[track_caller]
    fn check(variables: &[(&str, &str)], names: &[&str], expected: Option<&str>) {
        let variable = |asked: &str| {
            let found = variables.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| OsString::from(value))
        };
        assert_eq!(agent(variable, || above(names)), expected, "{variables:?} {names:?}");
    }

    #[test]
    fn an_agent_is_known_by_its_environment_or_by_the_processes_above() {
        check(&[], &["bash", "tmux", "systemd"], None);
        check(&[("CLAUDECODE", "1")], &["bash"], Some("claude"));
        check(&[("CODEX_THREAD_ID", "0199")], &["bash"], Some("codex"));
        check(&[("GEMINI_CLI", "1")], &["bash"], Some("gemini"));
        check(&[("CURSOR_AGENT", "1")], &["bash"], Some("cursor"));
        check(&[("AI_AGENT", "new-tool/2")], &["bash"], Some("an agent"));
        check(&[], &["bash", "codex", "bash"], Some("codex"));
        check(&[("CLAUDECODE", "1")], &["bash", "codex"], Some("claude"));
    }

    #[test]
    fn what_users_set_for_themselves_is_no_sign() {
        for name in [
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_USE_BEDROCK",
            "CODEX_HOME",
            "GEMINI_API_KEY",
            "GEMINI_CLI_HOME",
            "CURSOR_TRACE_ID",
        ] {
            check(&[(name, "x")], &["bash"], None);
        }
        check(&[("CLAUDECODE", "")], &["bash"], None);
    }

    #[test]
    fn a_refusal_says_who_is_meant_and_what_to_do() {
        for (not, message) in [
            (Not::Agent("claude"), "answers are given by people, and this call is made by claude"),
            (Not::Step, "answers are given by people, and this call is made by a step of a run"),
            (Not::Attended, "answers are given by a person at a terminal, and there is none here"),
        ] {
            let fail = not.fail("answers are given", "answer");
            assert_eq!((fail.code.exit(), fail.message.as_str()), (3, message));
            assert!(fail.hint.unwrap().contains("`punchlist answer`"));
        }
    }
}
