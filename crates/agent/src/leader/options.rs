//! What the user's choices mean for the program of an agent that leads. Pure.

use punchlist_engine::fail::{Code, Fail};
use punchlist_engine::workers::{Agent, lead};
use punchlist_formats::dialect::{Dialect, Surface};
use punchlist_model::store::turns::Conversation;

use super::LedBy;
use crate::session::Allowance;

/// Tools of the agents themselves that write a list. The hooks store it, and the plan is shown.
const OWN_TOOLS: [&str; 7] =
    ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "update_plan", "write_todos"];

/// The request where a turn that was cut off goes on.
const GO_ON: &str = "Go on with the task.";

/// The prompt for a task, with the goal, if there is one.
pub fn prompt(task: &str, goal: Option<&str>) -> String {
    match goal {
        Some(goal) => lead::prompt(&format!(
            "{}\n\nThe goal, which must be true in the end: {goal}",
            task.trim()
        )),
        None => lead::prompt(task),
    }
}

/// The request that a stored session goes on with: the user's text, or the task if its last turn was cut off.
pub fn next_request<'a>(
    found: &Conversation,
    led_by: &LedBy,
    text: Option<&'a str>,
    is_cut_off: bool,
) -> Result<&'a str, Fail> {
    match text {
        Some(text) => Ok(text),
        None if is_cut_off => Ok(GO_ON),
        None => {
            let (short, title) = (found.id.short(), led_by.agent.title());
            Err(Fail::refused(format!("session {short} has nothing to go on with")).hint(format!(
                "say what is next: `punchlist resume {short} TEXT`; or go on in {title}: `{}`.",
                led_by.command()
            )))
        }
    }
}

/// What can be done with a led session that another process runs.
pub fn runs_elsewhere(found: &Conversation, led_by: &LedBy) -> Fail {
    let (short, title) = (found.id.short(), led_by.agent.title());
    Fail::new(Code::Conflict, format!("session {short} is led by {title} in another process")).hint(
        format!("`punchlist watch` shows what it does; `punchlist sessions stop {short}` ends it."),
    )
}

/// The arguments by which the program limits its cost itself: Claude Code tells its cost only at the end.
pub fn budget_arguments(agent: Agent, allowance: &Allowance) -> Vec<String> {
    match (agent, allowance.cost_micros) {
        (Agent::Claude, Some(micros)) => {
            let dollars = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
            vec!["--max-budget-usd".to_owned(), dollars]
        }
        (Agent::Claude | Agent::Codex | Agent::Gemini, _) => Vec::new(),
    }
}

/// Refuses arguments of the user that ours would replace: Claude Code takes only one `--settings`, and ours
/// has the hooks.
pub fn refuse_taken(agent: Agent, arguments: &[String]) -> Result<(), Fail> {
    let is_taken = |it: &String| it == "--settings" || it.starts_with("--settings=");
    if agent == Agent::Claude && arguments.iter().any(is_taken) {
        return Err(Fail::usage(
            "Claude Code takes one `--settings`, which has the hooks of Punchlist",
        )
        .hint("run `punchlist install claude`: then yours is free."));
    }
    Ok(())
}

/// The tools of the plan, as the program names them.
pub fn plan_tools(agent: Agent) -> Vec<String> {
    let server = match agent {
        Agent::Claude | Agent::Codex => "mcp__punchlist__",
        Agent::Gemini => "mcp_punchlist_",
    };
    let tools = Dialect::Turn.tools(Surface::Full);
    let ours = tools.iter().map(|it| format!("{server}{}", it.name));
    ours.chain(OWN_TOOLS.map(str::to_owned)).collect()
}
