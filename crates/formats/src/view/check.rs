//! The results of checks, for people and programs.

use punchlist_model::item::CheckRun;
use punchlist_model::{Item, Plan, Refusal, Revision, Status, Verification};
use serde_json::{Value, json};

use crate::text;

/// Most lines of a failed check's output that are shown.
const LINES: usize = 20;

/// A check that was run and recorded.
#[derive(Clone, PartialEq, Debug)]
pub struct Checked {
    /// The item after the evidence was stored.
    pub item: Item,
    /// The command that ran, and the files that it covers.
    pub run: CheckRun,
    /// Whether it passed.
    pub passed: bool,
    /// How the command ended, in words.
    pub ended: String,
    /// The last lines of its output.
    pub output: String,
    /// The revision of the change that recorded the evidence.
    pub revision: Revision,
    /// The item's verification after the check.
    pub verification: Verification,
    /// Why the item was not completed although the caller asked for it.
    pub refused: Option<Refusal>,
    /// The item for programs.
    pub json: Value,
}

/// All checks, for people: one line each, the output of failed ones, and which items can be
/// completed now.
pub fn report(checked: &[Checked]) -> String {
    let mut out = String::new();
    let mut next = Vec::new();
    for it in checked {
        let (number, title) = (it.item.number, text::one_line(&it.item.title));
        if it.passed {
            let done = if it.item.status == Status::Completed { ", completed" } else { "" };
            let files = match it.run.covered.len() {
                0 => String::new(),
                1 => " (1 file)".to_owned(),
                count => format!(" ({count} files)"),
            };
            out.push_str(&format!("passed {number}  {title}{files}{done}\n"));
        } else {
            out.push_str(&format!("failed {number}  {title}: {}\n", it.ended));
            out.push_str(&tail(&it.output));
        }
        if it.item.is_open() && it.verification == Verification::Passed && it.refused.is_none() {
            next.push(number.to_string());
        }
    }
    if !next.is_empty() {
        out.push_str(&format!("Now it may be completed: punchlist done {}\n", next.join(" ")));
    }
    out
}

/// Why items were not completed although the caller asked for it.
pub fn warnings(checked: &[Checked]) -> Vec<String> {
    checked.iter().filter_map(|it| it.refused.as_ref().map(ToString::to_string)).collect()
}

/// The checks for programs.
pub fn json(checked: &[Checked]) -> Value {
    json!({
        "revision": checked.last().map(|it| it.revision),
        "changed": checked.iter().map(|it| it.json.clone()).collect::<Vec<_>>(),
        "checks": checked.iter().map(one).collect::<Vec<_>>(),
        "warnings": warnings(checked),
    })
}

fn one(it: &Checked) -> Value {
    json!({
        "number": it.item.number,
        "command": it.run.command,
        "passed": it.passed,
        "exitCode": it.run.exit_code,
        "outputDigest": it.run.output_digest,
        "output": it.output,
        "covered": it.run.covered.len(),
        "worktree": it.run.worktree,
        "verification": it.verification,
    })
}

/// The message when no check was due.
pub fn nothing(plan: &Plan, only_stale: bool) -> &'static str {
    let has_checks = plan.listed().iter().any(|it| it.check.is_some());
    if !has_checks {
        "No item has a check. Give one: punchlist edit ITEM --verify \"make test\"\n"
    } else if only_stale {
        "Nothing is stale.\n"
    } else {
        "Nothing to check. All that was begun has passed; --all checks everything.\n"
    }
}

/// The last lines of a check's output, indented.
fn tail(output: &str) -> String {
    let clean = text::many_lines(output);
    let lines: Vec<&str> = clean.lines().filter(|it| !it.trim().is_empty()).collect();
    let shown = lines.iter().skip(lines.len().saturating_sub(LINES));
    shown.map(|line| format!("    {}\n", text::truncate(line, 200))).collect()
}
