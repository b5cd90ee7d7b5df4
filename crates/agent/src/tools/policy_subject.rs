//! What the policy is asked about a call, without making the call.

use punchlist_engine::fail::Fail;
use punchlist_engine::policy::shell;
use punchlist_sched::Tools;
use punchlist_sched::policy::Subject;
use punchlist_sched::sandbox::InForce;
use serde_json::json;

use super::{Options, all};

/// What the policy is asked about a tool with this command line, path, or name of an agent or worker;
/// `Err` if the tool itself rejects the arguments. `below` is where commands run, below the root of the
/// worktree.
pub fn policy_subject(
    tool: &str,
    asked: &str,
    below: Option<&str>,
    options: Options,
) -> Result<Result<Subject, String>, Fail> {
    if ["shell", "verify"].contains(&tool) {
        return Ok(Ok(shell::subject_below(tool, asked, below)));
    }
    // Both are about a name: that of an agent, or of a worker.
    let named = [("agent", "agent"), ("delegate", "agentType")];
    if let Some((_, argument)) = named.into_iter().find(|(name, _)| *name == tool) {
        let arguments = vec![(argument.to_owned(), asked.to_owned())];
        return Ok(Ok(Subject { tool: tool.to_owned(), arguments, ..Subject::default() }));
    }
    if let Some(name) = tool.strip_prefix("mcp__") {
        let server = name.split_once("__").map(|it| it.0.to_owned());
        return Ok(Ok(Subject { tool: tool.to_owned(), server, ..Subject::default() }));
    }
    let arguments = match tool {
        "read" | "list" => json!({"path": asked}),
        "write" => json!({"path": asked, "content": ""}),
        "edit" => json!({"path": asked, "old": "a", "new": "b"}),
        "search" => json!({"path": asked, "pattern": "a"}),
        _ => {
            return Err(Fail::usage(format!("there is no tool {tool:?}")).hint(
                "the tools are shell, verify, read, write, edit, list, search, agent and delegate.",
            ));
        }
    };
    // No command is checked here, so the sandbox makes no difference.
    let sandbox = InForce::Off(String::new());
    let all = by_name(Options { sandbox, ..options })?;
    Ok(all.check(tool, &arguments).map(|it| it.subject))
}

/// A shell command as the tool of a session sees it; `None` if the tool refuses it, so that it does not run
/// in a session at all.
pub fn session_subject(command: &str, options: Options) -> Result<Option<Subject>, Fail> {
    let checked = by_name(options)?.check("shell", &json!({"command": command}));
    Ok(checked.ok().map(|it| it.subject))
}

fn by_name(options: Options) -> Result<Tools, Fail> {
    let mut tools = Tools::new();
    let ours = |why: String| Fail::ours(format!("the tools cannot be made: {why}"));
    for it in all(options).map_err(|why| ours(why.to_string()))? {
        tools.add(it).map_err(|why| ours(why.to_string()))?;
    }
    Ok(tools)
}
