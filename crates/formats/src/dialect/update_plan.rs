//! `update_plan`: Codex's tool, which takes the whole plan at each call.
//!
//! Results and errors have Codex's words. Codex's result never shows the plan, so this one shows it
//! only if somebody else changed it. `explanation` says why the plan changes, for a person who
//! watches the agent. It is not part of the plan, so it is validated and ignored.

use punchlist_model::json::is_text_too_deep;
use punchlist_model::store::Applied;
use punchlist_model::{Broken, Item, ListEntry, Op, Plan, Status, Tag};
use serde::Deserialize;
use serde_json::{Value, json};

use super::args::{self, Bad};
use super::refuse::{Names, Voice};
use super::{Answer, MISMATCH, Reply, ToolSpec, refuse, schema, whole};
use crate::prompt::Tools;
use crate::text::one_line;

const TOOL: &str = "update_plan";

/// The section for the system prompt.
pub(super) const PROMPT: &str = "\
# Plan
For work of several steps, write a plan with update_plan before you begin. Not for questions or \
work of one or two steps.
- Send the whole plan each time; what you leave out is dropped.
- Keep at most one step in_progress, and mark it completed as soon as it is done, before the next.
- Finish or resolve every step before you give your final answer.";

const THIN: &str = "Update the task plan: send all steps each time, at most one in_progress.";

const FULL: &str = "\
Update the task plan. Send all steps each time, each with its status, and optionally an explanation \
of why the plan changes.

Use it for work of several steps. At most one step can be in_progress at a time. Mark a step \
completed as soon as it is done; leave out what will not be done.";

/// The arguments. Errors contain the names of these types, so the types have the names of Codex's
/// own.
#[derive(Deserialize)]
struct UpdatePlanArgs {
    #[expect(dead_code, reason = "only its type is checked")]
    #[serde(default)]
    explanation: Option<String>,
    plan: Vec<PlanItemArg>,
}

#[derive(Deserialize)]
struct PlanItemArg {
    step: String,
    status: StepStatus,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum StepStatus {
    Pending,
    InProgress,
    Completed,
}

impl From<StepStatus> for Status {
    fn from(status: StepStatus) -> Self {
        match status {
            StepStatus::Pending => Self::Pending,
            StepStatus::InProgress => Self::InProgress,
            StepStatus::Completed => Self::Completed,
        }
    }
}

pub(super) fn tools(full: bool) -> Vec<ToolSpec> {
    let step = schema::object(
        json!({
            "step": schema::any_text(),
            "status": schema::choice(&["pending", "in_progress", "completed"]),
        }),
        &["step", "status"],
    );
    let plan = json!({"explanation": schema::any_text(), "plan": schema::list(step, 0)});
    vec![ToolSpec {
        name: TOOL,
        title: "Plan",
        description: if full { FULL } else { THIN },
        input_schema: schema::object(plan, &["plan"]),
        output_schema: None,
        read_only: false,
    }]
}

/// A parsed call.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Call {
    ops: Vec<Op>,
}

pub(super) fn call(tool: &str, arguments: &[u8]) -> Result<Call, Reply> {
    if tool != TOOL {
        let text = format!("unsupported call: {}. Use {TOOL}.", refuse::plain(tool));
        return Err(Reply::error(text));
    }
    let nothing = matches!(arguments.trim_ascii(), b"" | b"null");
    let arguments = if nothing { b"{}" } else { arguments };
    if is_text_too_deep(arguments) {
        let what = args::too_deep();
        return Err(Reply::error(format!("failed to parse function arguments: {what}")));
    }
    let read = serde_json::from_slice(arguments).map_err(|error| faults(&error, arguments));
    let entries = read
        .and_then(entries)
        .map_err(|what| Reply::error(format!("failed to parse function arguments: {what}")))?;
    Ok(Call { ops: vec![Op::Replace(entries)] })
}

fn entries(sent: UpdatePlanArgs) -> Result<Vec<ListEntry>, String> {
    let (many, most) = (sent.plan.len(), args::MOST_ENTRIES);
    if many > most {
        return Err(format!("plan has {many} entries; at most {most} are allowed in one call"));
    }
    let entry = |sent: PlanItemArg| ListEntry::titled(sent.step, sent.status.into());
    Ok(sent.plan.into_iter().map(entry).collect())
}

/// The error in Codex's words, which name only the first fault. If several steps are faulty, all of
/// them are named after it.
fn faults(error: &serde_json::Error, arguments: &[u8]) -> String {
    let mut text = short(&error.to_string());
    let mut bad = Bad::default();
    if let Ok(Value::Object(mut fields)) = serde_json::from_slice(arguments)
        && let Some(Value::Array(steps)) = fields.remove("plan")
    {
        for (n, step) in steps.into_iter().enumerate().take(args::MOST_ENTRIES) {
            if let Err(error) = PlanItemArg::deserialize(step) {
                bad.note(format!("plan[{n}]: {}", short(&error.to_string())));
            }
        }
    }
    if bad.is_several() {
        text.push_str(&format!("\n{}", bad.text()));
    }
    text
}

/// An error on one line of bounded length, because it repeats parts of the arguments.
fn short(error: &str) -> String {
    const HEAD: usize = 160;
    const TAIL: usize = 120;
    let start = |nth: Option<(usize, char)>| nth.map(|(at, _)| at);
    let is_long = error.char_indices().nth(HEAD + TAIL).is_some();
    let head = start(error.char_indices().nth(HEAD));
    let tail = start(error.char_indices().nth_back(TAIL - 1));
    let cut = match (head, tail) {
        (Some(head), Some(tail)) if is_long => format!("{}…{}", &error[..head], &error[tail..]),
        (Some(_) | None, Some(_) | None) => error.to_owned(),
    };
    one_line(&cut).into_owned()
}

impl Call {
    pub(super) fn ops(&self) -> &[Op] {
        &self.ops
    }

    pub(super) fn reply(&self, answer: Answer<'_>) -> Reply {
        match answer {
            Answer::Changed(applied) => changed(applied),
            Answer::Read(_) => Reply::error(MISMATCH.to_owned()),
            Answer::Failed(why, plan) => whole::failed(why, plan, self, as_it_is),
        }
    }
}

fn as_it_is(plan: &Plan) -> String {
    format!("The plan is now:\n{}", whole::lines(plan, |item| item.status.as_str()))
}

/// If nobody else changed the plan, the plan is what the caller sent, so the caller has seen it.
fn changed(applied: &Applied) -> Reply {
    let mut text = "Plan updated".to_owned() + &whole::warnings(applied);
    if whole::met_others(applied)
        && let Some(plan) = applied.whole()
    {
        text.push_str("\n\n");
        text.push_str(&as_it_is(&plan));
    }
    Reply { shows: true, ..Reply::text(text, !applied.decision.events.is_empty()) }
}

impl Voice for Call {
    fn noun(&self) -> &'static str {
        "step"
    }

    fn status(&self, status: Status) -> &'static str {
        status.as_str()
    }

    /// The tool has no ids, so it names items by title.
    fn point(&self, _item: &Item) -> Option<String> {
        None
    }

    fn entry(&self, step: usize) -> Option<usize> {
        Some(step)
    }

    fn added(&self, _nth: usize) -> Option<usize> {
        None
    }

    fn hint(&self, broken: &Broken, names: &Names<'_>, subject: Option<&Tag>) -> Option<String> {
        whole::hint(&Tools::UPDATE_PLAN, "step", "completed", broken, names, subject)
    }

    fn look(&self) -> &'static str {
        "Send update_plan again."
    }
}
