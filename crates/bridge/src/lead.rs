//! An agent as the leader of a task: its command line and its prompt. Pure.
//!
//! Nothing here grants a permission beyond the plan tools: the user's settings of the agent, or the
//! arguments that the user adds, say what it may do without asking.

use punchlist_formats::hook::Agent;

/// Most bytes of a task. Linux limits an argument to 128 KiB.
pub const MOST_BYTES: usize = 120_000;

/// What the agent is told besides the task.
const ABOUT_PLAN: &str = "\
If this takes three or more steps, plan it first with the plan tools of the MCP server punchlist, one item \
for each step. Start each item before you work on it and complete it when it is done. Do not stop while items \
are open. Nobody is there to answer questions.";

/// One call of an agent's program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lead<'a> {
    /// The agent.
    pub agent: Agent,
    /// The agent's program.
    pub program: &'a str,
    /// The model, if it is not the program's default.
    pub model: Option<&'a str>,
    /// The session to go on with, if it is not a new one.
    pub session: Option<&'a str>,
    /// The prompt.
    pub prompt: &'a str,
    /// Further arguments.
    pub arguments: &'a [String],
    /// Whether the program gets its prompt on its input, and asks there what it may do. Only Claude Code
    /// can.
    pub is_talked_to: bool,
}

/// The command line: the program, then its arguments.
pub fn command(lead: &Lead<'_>) -> Vec<String> {
    let mut words = vec![lead.program];
    let further = lead.arguments.iter().map(String::as_str);
    match lead.agent {
        Agent::Claude => {
            words.push("-p");
            if lead.is_talked_to {
                words.extend([
                    "--input-format",
                    "stream-json",
                    "--permission-prompt-tool",
                    "stdio",
                ]);
            } else {
                words.push(lead.prompt);
            }
            words.extend(["--output-format", "stream-json", "--verbose"]);
            words.extend(lead.model.iter().flat_map(|it| ["--model", it]));
            words.extend(lead.session.iter().flat_map(|it| ["--resume", it]));
            words.extend(further);
        }
        Agent::Codex => {
            words.extend(["exec", "--json"]);
            words.extend(lead.model.iter().flat_map(|it| ["-m", it]));
            words.extend(further);
            words.extend(lead.session.iter().flat_map(|it| ["resume", it]));
            words.push(lead.prompt);
        }
        Agent::Gemini => {
            words.extend(["-p", lead.prompt, "--output-format", "stream-json"]);
            words.extend(lead.model.iter().flat_map(|it| ["-m", it]));
            words.extend(lead.session.iter().flat_map(|it| ["-r", it]));
            words.extend(further);
        }
    }
    // An argument cannot contain a NUL.
    words.into_iter().map(|it| it.replace('\0', "\u{fffd}")).collect()
}

/// Whether the program can go on with a session whose model has not answered yet. Gemini CLI cannot.
pub fn goes_on_unanswered(agent: Agent) -> bool {
    match agent {
        Agent::Claude | Agent::Codex => true,
        Agent::Gemini => false,
    }
}

/// The prompt for a task. It never begins with a dash, so that no program takes it for an option.
pub fn prompt(task: &str) -> String {
    let task = task.trim();
    let begin = if task.starts_with('-') { "Task: " } else { "" };
    format!("{begin}{task}\n\n{ABOUT_PLAN}")
}

/// How a person goes on with a session.
pub fn resume(agent: Agent, session: &str) -> String {
    match agent {
        Agent::Claude => format!("claude --resume {session}"),
        Agent::Codex => format!("codex resume {session}"),
        Agent::Gemini => format!("gemini --resume {session}"),
    }
}

/// What the user can do about a failure, from what the program said.
pub fn remedy(agent: Agent, said: &str) -> Option<String> {
    const SIGN_IN: [&str; 7] =
        ["log in", "login", "logged in", "api key", "api_key", "unauthorized", "auth method"];
    let said = said.to_lowercase();
    let name = agent.as_str();
    if agent == Agent::Codex && said.contains("--skip-git-repo-check") {
        return Some(
            "Codex works only in a git repository: make one, or add `-- --skip-git-repo-check`."
                .to_owned(),
        );
    }
    if said.contains("trusted") {
        return Some(format!("run `{name}` here once by itself, and trust this folder."));
    }
    let is_about = |words: &[&str]| words.iter().any(|it| said.contains(it));
    is_about(&SIGN_IN).then(|| format!("run `{name}` once by itself and sign in, then try again."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_called_as_it_wants_to_be() {
        let arguments = ["--more".to_owned()];
        let called = |agent, session| {
            let lead = Lead {
                agent,
                program: "it",
                model: Some("m"),
                session,
                prompt: "Do",
                arguments: &arguments,
                is_talked_to: false,
            };
            command(&lead).join(" ")
        };
        for (agent, new, further) in [
            (
                Agent::Claude,
                "it -p Do --output-format stream-json --verbose --model m --more",
                "it -p Do --output-format stream-json --verbose --model m --resume s --more",
            ),
            (
                Agent::Codex,
                "it exec --json -m m --more Do",
                "it exec --json -m m --more resume s Do",
            ),
            (
                Agent::Gemini,
                "it -p Do --output-format stream-json -m m --more",
                "it -p Do --output-format stream-json -m m -r s --more",
            ),
        ] {
            assert_eq!(called(agent, None), new);
            assert_eq!(called(agent, Some("s")), further);
        }
        assert!(prompt("--version").starts_with("Task: --version\n"));
        assert!(prompt(" Fix it ").starts_with("Fix it\n\nIf this takes"));
    }

    #[test]
    fn claude_code_gets_its_prompt_on_its_input_if_it_is_to_ask_there() {
        let lead = Lead {
            agent: Agent::Claude,
            program: "it",
            model: None,
            session: Some("s"),
            prompt: "-p is no option",
            arguments: &[],
            is_talked_to: true,
        };
        let expected = "it -p --input-format stream-json --permission-prompt-tool stdio \
                        --output-format stream-json --verbose --resume s";
        assert_eq!(command(&lead).join(" "), expected);
    }

    #[test]
    fn failures_that_a_user_can_fix_say_how() {
        let remedy = |agent, said| remedy(agent, said).unwrap_or_default();
        assert!(remedy(Agent::Claude, "Invalid API key · Please run /login").contains("`claude`"));
        assert!(remedy(Agent::Gemini, "Please set an Auth method").contains("sign in"));
        assert!(remedy(Agent::Gemini, "not running in a trusted directory").contains("trust"));
        let codex = "Not inside a trusted directory and --skip-git-repo-check was not specified.";
        assert!(remedy(Agent::Codex, codex).contains("-- --skip-git-repo-check"));
        assert_eq!(remedy(Agent::Claude, "it ended with 1"), "");
    }
}
