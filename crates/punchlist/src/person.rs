//! A person at a terminal: what nobody else may say.
//!
//! A yes to a question lets something happen that a rule holds back, so it must come from somebody who
//! sits before a terminal, and not from the agent that asks. Agents are known by what they put into the
//! environment of the programs that they start, and by the processes above. What that promises and what
//! it does not is in `docs/security.md`.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use punchlist_bridge::process::Ancestor;
use punchlist_engine::session;
use punchlist_formats::view::Reader;

use crate::error::{Code, Fail};
use crate::keyboard::Keyboard;
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
    ("OPENCODE_CALLER", "opencode"),
    ("AMP_CURRENT_THREAD_ID", "amp"),
    ("CRUSH", "crush"),
    ("QWEN_CODE", "qwen"),
    ("ANTIGRAVITY_AGENT", "antigravity"),
    ("AI_AGENT", UNNAMED),
];

/// An agent of which no more is known.
const UNNAMED: &str = "an agent";

/// A variable that several agents set to their own name. Others use it for something else, so only
/// these names count.
const NAMED: &str = "AGENT";
const NAMES: &[&str] = &["aider", "amp", "copilot", "crush", "goose", "kiro", "opencode", "qwen"];

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
    let not = called_by()
        .map(Not::Agent)
        .or_else(|| is_set(env::var_os(RUN)).then_some(Not::Step))
        .or_else(|| (!has_terminal()).then_some(Not::Attended));
    not.map_or(Ok(()), |not| Err(not.fail(what, verb)))
}

/// What a person confirms at their terminal by a key.
pub(crate) struct Act<'a> {
    /// What happens by their word alone, as in `items are approved`.
    pub(crate) what: &'a str,
    /// The verb that it is done with.
    pub(crate) verb: &'a str,
    /// What the question is about, drawn above it.
    pub(crate) about: &'a [String],
    pub(crate) question: &'a str,
    /// What is told after a no.
    pub(crate) otherwise: &'a str,
}

impl Act<'_> {
    /// Asks for a yes at the terminal; anything else is an error.
    pub(crate) fn confirm(&self) -> Result<(), Fail> {
        at_terminal(self.what, self.verb)?;
        let no = || Fail::new(Code::Interrupted, self.otherwise);
        let mut keyboard =
            Keyboard::open().ok_or_else(|| Not::Attended.fail(self.what, self.verb))?;
        keyboard.say(self.about);
        if keyboard.confirms(self.question) { Ok(()) } else { Err(no()) }
    }
}

/// The keyboard of the person who calls, where no agent does; stdin may be a pipe.
pub(crate) fn keyboard() -> Option<Keyboard> {
    let is_person = called_by().is_none() && !is_set(env::var_os(RUN));
    is_person.then(Keyboard::open).flatten()
}

/// Refuses what is for people alone, where an agent makes the call. There need not be a terminal.
pub(crate) fn not_an_agent(what: &str, verb: &str) -> Result<(), Fail> {
    called_by().map_or(Ok(()), |agent| Err(Not::Agent(agent).fail(what, verb)))
}

/// Whether an agent makes the call: then what it writes down is not a person's word.
pub(crate) fn is_agent() -> bool {
    called_by().is_some()
}

/// Who reads what this call prints.
pub(crate) fn reader() -> Reader {
    if is_agent() { Reader::Agent } else { Reader::Person }
}

/// The agent that makes this call. It does not change while the process runs.
static AGENT: OnceLock<Option<&str>> = OnceLock::new();

pub(crate) fn called_by() -> Option<&'static str> {
    *AGENT.get_or_init(|| agent(|name| env::var_os(name), who::up_to_agent))
}

/// The verb that was called is one that agents start, whether or not anything else shows that: a hook, or
/// the MCP server.
pub(crate) fn serve_agent() {
    AGENT.get_or_init(|| agent(|name| env::var_os(name), who::up_to_agent).or(Some(UNNAMED)));
}

/// Whether what the user of an MCP client answers is a person's word, as far as this server can tell: not in a
/// step of a run, and not where an agent stands above that is not the client.
pub(crate) fn is_heard_through_client() -> bool {
    let variable = |name: &str| env::var_os(name);
    let named: Vec<&str> = signs(variable).collect();
    !is_set(variable(RUN)) && is_clients_own(&named, &who::ancestors(|_| false))
}

/// Whether every sign of an agent is one of the client's own. The client is the process that started the
/// server, with those of the same agent right above it; a shell between them would be the agent's tool.
fn is_clients_own(named: &[&str], above: &[Ancestor]) -> bool {
    let own = above.first().and_then(session::agent_of);
    let is_own = |it: &&Ancestor| own.is_some() && session::agent_of(it) == own;
    let rest = &above[above.iter().take_while(is_own).count()..];
    let fits = |sign: &str| own.is_some_and(|own| sign == UNNAMED || own.starts_with(sign));
    named.iter().all(|sign| fits(sign)) && !rest.iter().any(session::is_known)
}

impl Not {
    fn fail(self, what: &str, verb: &str) -> Fail {
        match self {
            // An agent is not shown what a person would type: it would try that next.
            Self::Agent(agent) => {
                Fail::refused(format!("{what} by people, and this call is made by {agent}"))
                    .hint(ASK_USER)
            }
            Self::Step => {
                Fail::refused(format!("{what} by people, and this call is made by a step of a run"))
                    .hint("take it out of the plan's commands; it is for whoever started the run.")
            }
            Self::Attended => {
                Fail::refused(format!("{what} by a person at a terminal, and there is none here"))
                    .hint(format!("run `punchlist {verb}` there, with nothing piped into it."))
            }
        }
    }
}

/// What an agent is told that may not do something itself.
pub(crate) use punchlist_engine::fail::ASK_USER;

/// The agent that a call is made by, whether or not its session is known: by the environment, else by
/// the processes above.
fn agent(
    variable: impl Fn(&str) -> Option<OsString>,
    ancestors: impl FnOnce() -> Vec<Ancestor>,
) -> Option<&'static str> {
    signs(&variable).next().or_else(|| session::known_agent(&ancestors()).map(|it| it.0))
}

/// The agents that the environment names.
fn signs(variable: impl Fn(&str) -> Option<OsString>) -> impl Iterator<Item = &'static str> {
    let named = variable(NAMED);
    let named = NAMES.iter().find(|it| named.as_ref().is_some_and(|value| value == **it));
    let set = SIGNS.iter().filter(move |(name, _)| is_set(variable(name)));
    set.map(|it| it.1).chain(named.copied())
}

fn is_set(value: Option<OsString>) -> bool {
    value.is_some_and(|it| !it.is_empty())
}

/// Whether keys come from a terminal, and it is the one that this process belongs to.
fn has_terminal() -> bool {
    io::stdin().is_terminal() && Keyboard::open().is_some()
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
            // Claude Code tells its servers what it tells its tools.
            (&["claude", "claude"], &["claude", "bash", "tmux"], true),
            (&["codex"], &["codex", "codex", "bash"], true),
            (&["an agent"], &["crush", "bash"], true),
            // A program that an agent has written plays the client.
            (&["claude"], &["python3", "bash", "claude"], false),
            (&[], &["python3", "bash", "claude"], false),
            (&["claude"], &["bash", "claude"], false),
            (&["claude"], &["python3"], false),
            (&["an agent"], &["python3"], false),
            // An agent that an agent has started: nobody sits before it.
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
        for (not, message) in [
            (Not::Agent("claude"), "answers are given by people, and this call is made by claude"),
            (Not::Step, "answers are given by people, and this call is made by a step of a run"),
            (Not::Attended, "answers are given by a person at a terminal, and there is none here"),
        ] {
            let fail = not.fail("answers are given", "answer");
            assert_eq!((fail.code.exit(), fail.message.as_str()), (3, message));
            let is_command = fail.hint.unwrap().contains("`punchlist answer`");
            assert_eq!(is_command, not == Not::Attended, "{not:?}");
        }
    }
}
