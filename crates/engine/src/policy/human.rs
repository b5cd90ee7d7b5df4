//! Detects who makes a call: a person, an agent, or a step of a run.
//!
//! A yes to a question allows something that a rule holds back, so it must come from a person at a
//! terminal, and not from the agent that asks. Agents are detected by the environment variables
//! that they set for the programs that they start, and by ancestor processes. `docs/security.md`
//! says what this guarantees and what it does not. The caller passes in environment, processes and
//! terminal as [`Signs`].

use std::ffi::OsString;

use punchlist_bridge::process::Ancestor;
use punchlist_model::Origin;

use crate::fail::{ASK_USER, Fail};
use crate::session;

/// Variables that agents set for the programs that they start and that nobody sets in a terminal.
/// Variables that users put into their profile, or that an editor sets for every terminal in its
/// window, are not in this list.
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
    ("OPENCODE_CALLER", "opencode"),
    ("AMP_CURRENT_THREAD_ID", "amp"),
    ("CRUSH", "crush"),
    ("QWEN_CODE", "qwen"),
    ("ANTIGRAVITY_AGENT", "antigravity"),
    ("AI_AGENT", UNNAMED),
];

/// The name of an agent of which nothing else is known.
const UNNAMED: &str = "an agent";

/// A variable that several agents set to their own name. Others use it for something else, so only
/// the names below count.
const NAMED: &str = "AGENT";
const NAMES: &[&str] = &["aider", "amp", "copilot", "crush", "goose", "kiro", "opencode", "qwen"];

/// The variable that a run sets for its steps.
const RUN: &str = "PUNCHLIST_RUN";

/// Looks up an environment variable.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// What shows who makes a call. Each part is only read if the parts before it show nothing.
#[expect(missing_debug_implementations, reason = "functions have nothing to show")]
#[derive(Clone, Copy)]
pub struct Signs<'a> {
    /// The environment of the process.
    pub variables: Variables<'a>,
    /// The ancestor processes, nearest first, up to the first that has an agent's name.
    pub ancestors: &'a dyn Fn() -> Vec<Ancestor>,
    /// Whether input comes from a terminal to which the process belongs.
    pub has_terminal: &'a dyn Fn() -> bool,
}

impl Signs<'_> {
    /// The agent that makes the call, whether or not its session is known.
    fn agent(&self) -> Option<&'static str> {
        let named = named_agents(self.variables).next();
        named.or_else(|| session::known_agent(&(self.ancestors)()).map(|it| it.0))
    }
}

/// Who makes a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CalledBy {
    /// A person at a terminal.
    PersonAtTerminal,
    /// Presumably a person, without a terminal: a script, or input from a pipe.
    PersonElsewhere,
    /// An agent of this name.
    Agent(&'static str),
    /// A step of a run.
    Step,
}

impl CalledBy {
    /// Detects who makes the call.
    pub fn find(signs: &Signs<'_>) -> Self {
        if let Some(agent) = signs.agent() {
            Self::Agent(agent)
        } else if is_step(signs.variables) {
            Self::Step
        } else if (signs.has_terminal)() {
            Self::PersonAtTerminal
        } else {
            Self::PersonElsewhere
        }
    }

    /// Detects the agent, if only agents make this call: a hook, or a call of the MCP server.
    pub fn find_agent(signs: &Signs<'_>) -> Self {
        Self::Agent(signs.agent().unwrap_or(UNNAMED))
    }

    /// The origin of a command that comes with the call.
    pub fn origin(self) -> Origin {
        if self.is_agent() { Origin::Agent } else { Origin::Person }
    }

    /// The name of the agent, if one makes the call.
    pub fn agent(self) -> Option<&'static str> {
        match self {
            Self::Agent(name) => Some(name),
            Self::PersonAtTerminal | Self::PersonElsewhere | Self::Step => None,
        }
    }

    /// Whether an agent makes the call. Then what it writes does not count as a person's.
    pub fn is_agent(self) -> bool {
        self.agent().is_some()
    }

    /// Whether a person makes the call, with or without a terminal.
    pub fn is_person(self) -> bool {
        matches!(self, Self::PersonAtTerminal | Self::PersonElsewhere)
    }

    /// Refuses what only a person at a terminal may do. `what` is the action, as in `items are
    /// approved`; `verb` is the verb to use.
    pub fn at_terminal(self, what: &str, verb: &str) -> Result<(), Fail> {
        match self {
            Self::PersonAtTerminal => Ok(()),
            Self::PersonElsewhere => Err(no_terminal(what, verb)),
            Self::Agent(agent) => Err(not_by_agent(what, agent)),
            Self::Step => Err(Fail::refused(format!(
                "{what} by people, and this call is made by a step of a run"
            ))
            .hint("take it out of the plan's commands; it is for whoever started the run.")),
        }
    }

    /// Refuses what agents may not do. A terminal is not needed.
    pub fn not_an_agent(self, what: &str) -> Result<(), Fail> {
        self.agent().map_or(Ok(()), |agent| Err(not_by_agent(what, agent)))
    }
}

/// The error for something that only a person at a terminal may do, if there is no terminal.
pub fn no_terminal(what: &str, verb: &str) -> Fail {
    Fail::refused(format!("{what} by a person at a terminal, and there is none here"))
        .hint(format!("run `punchlist {verb}` there, with nothing piped into it."))
}

/// The error for an agent. It does not show the command that a person would type, because the agent
/// would try it.
fn not_by_agent(what: &str, agent: &str) -> Fail {
    Fail::refused(format!("{what} by people, and this call is made by {agent}")).hint(ASK_USER)
}

/// Whether an answer through an MCP client comes from a person, as far as the server can tell: the
/// call is not made in a step of a run, and no agent other than the client is an ancestor.
/// `ancestors` are all ancestor processes.
pub fn is_persons_client(variables: Variables<'_>, ancestors: &[Ancestor]) -> bool {
    let named: Vec<&str> = named_agents(variables).collect();
    !is_step(variables) && is_clients_own(&named, ancestors)
}

/// Whether every sign of an agent belongs to the client itself. The client is the process that
/// started the server, with the processes of the same agent right above it. A shell between them
/// would be the agent's tool.
fn is_clients_own(named: &[&str], above: &[Ancestor]) -> bool {
    let own = above.first().and_then(session::agent_of);
    let is_own = |it: &&Ancestor| own.is_some() && session::agent_of(it) == own;
    let rest = &above[above.iter().take_while(is_own).count()..];
    let fits = |sign: &str| own.is_some_and(|own| sign == UNNAMED || own.starts_with(sign));
    named.iter().all(|sign| fits(sign)) && !rest.iter().any(session::is_known)
}

/// The agents that the environment names.
fn named_agents(variables: Variables<'_>) -> impl Iterator<Item = &'static str> {
    let named = variables(NAMED);
    let named = NAMES.iter().find(|it| named.as_ref().is_some_and(|value| value == **it));
    let set = SIGNS.iter().filter(move |(name, _)| is_set(variables(name)));
    set.map(|it| it.1).chain(named.copied())
}

fn is_step(variables: Variables<'_>) -> bool {
    is_set(variables(RUN))
}

fn is_set(value: Option<OsString>) -> bool {
    value.is_some_and(|it| !it.is_empty())
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

    fn called_by(variables: &[(&str, &str)], names: &[&str], has_terminal: bool) -> CalledBy {
        let variables = |asked: &str| {
            let found = variables.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| OsString::from(value))
        };
        CalledBy::find(&Signs {
            variables: &variables,
            ancestors: &|| above(names),
            has_terminal: &|| has_terminal,
        })
    }

    #[track_caller]
    fn check(variables: &[(&str, &str)], names: &[&str], expected: Option<&str>) {
        let agent = called_by(variables, names, true).agent();
        assert_eq!(agent, expected, "{variables:?} {names:?}");
    }

    #[test]
    fn a_call_is_an_agents_before_it_is_a_steps_and_a_steps_before_it_is_a_persons() {
        let run = ("PUNCHLIST_RUN", "7");
        assert_eq!(called_by(&[run], &["codex"], true), CalledBy::Agent("codex"));
        assert_eq!(called_by(&[run], &["bash"], true), CalledBy::Step);
        assert_eq!(called_by(&[], &["bash"], true), CalledBy::PersonAtTerminal);
        assert_eq!(called_by(&[], &["bash"], false), CalledBy::PersonElsewhere);
        let nothing = Signs { variables: &|_| None, ancestors: &Vec::new, has_terminal: &|| true };
        assert_eq!(CalledBy::find_agent(&nothing), CalledBy::Agent(UNNAMED));
    }

    #[test]
    fn an_agent_is_known_by_its_environment_or_by_the_processes_above() {
        check(&[], &["bash", "tmux", "systemd"], None);
        check(&[("CLAUDECODE", "1")], &["bash"], Some("claude"));
        check(&[("CODEX_THREAD_ID", "0199")], &["bash"], Some("codex"));
        check(&[("GEMINI_CLI", "1")], &["bash"], Some("gemini"));
        check(&[("CURSOR_AGENT", "1")], &["bash"], Some("cursor"));
        check(&[("AI_AGENT", "new-tool/2")], &["bash"], Some("an agent"));
        check(&[("QWEN_CODE", "1")], &["bash"], Some("qwen"));
        check(&[("CRUSH", "1")], &["bash"], Some("crush"));
        check(&[("AGENT", "amp")], &["bash"], Some("amp"));
        check(&[("AGENT", "build-7")], &["bash"], None);
        check(&[], &["bash", "codex", "bash"], Some("codex"));
        for name in ["aider", "amp", "opencode", "goose", "cursor-agent", "copilot", "crush"] {
            check(&[], &["bash", name, "bash"], Some(name));
        }
        check(&[], &["bash", "qwen"], Some("qwen"));
        check(&[], &["bash", "kiro-cli"], Some("kiro-cli"));
        check(&[], &["bash", "cursor"], None);
        check(&[("CLAUDECODE", "1")], &["bash", "codex"], Some("claude"));
    }

    #[test]
    fn an_approval_through_a_client_counts_unless_another_agent_stands_above() {
        for (named, names, expected) in [
            (&[][..], &[][..], true),
            (&[], &["zed", "systemd"], true),
            // Claude Code sets the same variables for its servers as for its tools.
            (&["claude", "claude"], &["claude", "bash", "tmux"], true),
            (&["codex"], &["codex", "codex", "bash"], true),
            (&["an agent"], &["crush", "bash"], true),
            // A program that an agent wrote acts as the client.
            (&["claude"], &["python3", "bash", "claude"], false),
            (&[], &["python3", "bash", "claude"], false),
            (&["claude"], &["bash", "claude"], false),
            (&["claude"], &["python3"], false),
            (&["an agent"], &["python3"], false),
            // An agent that was started by an agent: there is no person.
            (&["codex"], &["codex", "bash", "claude"], false),
            (&["claude", "codex"], &["codex", "bash"], false),
            (&[], &["claude", "bash", "claude"], false),
        ] {
            assert_eq!(is_clients_own(named, &above(names)), expected, "{named:?} {names:?}");
        }
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
        for (by, message) in [
            (
                CalledBy::Agent("claude"),
                "answers are given by people, and this call is made by claude",
            ),
            (
                CalledBy::Step,
                "answers are given by people, and this call is made by a step of a run",
            ),
            (
                CalledBy::PersonElsewhere,
                "answers are given by a person at a terminal, and there is none here",
            ),
        ] {
            let fail = by.at_terminal("answers are given", "answer").unwrap_err();
            assert_eq!((fail.code.exit(), fail.message.as_str()), (3, message));
            let is_command = fail.hint.unwrap().contains("`punchlist answer`");
            assert_eq!(is_command, by.is_person(), "{by:?}");
            assert_eq!(by.not_an_agent("answers are given").is_err(), by.is_agent(), "{by:?}");
        }
        assert!(CalledBy::PersonAtTerminal.at_terminal("answers are given", "answer").is_ok());
    }
}
