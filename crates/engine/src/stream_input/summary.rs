//! A summary of all streams that were read, and whether all were understood.

use punchlist_streams::Tally;

use super::Ended;
use crate::fail::{Code, Fail};

/// A summary of all inputs.
#[derive(Debug, Default)]
pub struct Summary {
    /// How many inputs were read to their end.
    pub read: usize,
    tally: Tally,
    unrecognised: Vec<String>,
    /// Inputs of unsupported programs, and inputs that were not understood at all.
    unsupported: Vec<String>,
    failed: Vec<String>,
}

impl Summary {
    /// Adds a finished input.
    pub fn add(&mut self, name: &str, ended: Ended) {
        match ended {
            Ended::Read(tally) => {
                self.read += 1;
                self.unsupported.extend(not_understood(name, &tally));
                let sum = &mut self.tally;
                sum.lines += tally.lines;
                sum.events += tally.events;
                sum.lists += tally.lists;
                sum.todo_calls += tally.todo_calls;
                sum.warnings += tally.warnings;
                for (kind, count) in tally.unknown {
                    *sum.unknown.entry(kind).or_default() += count;
                }
            }
            Ended::Unrecognised(None) => self.unrecognised.push(name.to_owned()),
            Ended::Unrecognised(Some(program)) => {
                self.unsupported
                    .push(format!("{name} was written by {program}, which is not supported"));
            }
            Ended::Failed(why) => self.failed.push(format!("cannot read {name}: {why}")),
        }
    }

    /// The summary as text: the number of lines, lists, warnings and unknown kinds.
    pub fn text(&self) -> String {
        let Tally { lines, lists, warnings, unknown, .. } = &self.tally;
        let count =
            |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        let mut text = String::new();
        if self.read != 1 {
            text.push_str(&format!("{}, ", count(self.read as u64, "file", "files")));
        }
        text.push_str(&format!(
            "{}, {}, {}, {}",
            count(*lines, "line", "lines"),
            count(*lists, "list", "lists"),
            count(*warnings, "warning", "warnings"),
            count(unknown.len() as u64, "unknown kind", "unknown kinds"),
        ));
        if !unknown.is_empty() {
            let kinds: Vec<String> =
                unknown.iter().map(|(kind, n)| format!("{kind} {n}×")).collect();
            text.push_str(&format!(" ({})", kinds.join(", ")));
        }
        if self.has_drifted() {
            text.push_str(&format!(
                "\ntodo tools were called {}, but no list came of it: the agent's format may have changed",
                count(self.tally.todo_calls, "time", "times")
            ));
        }
        text
    }

    /// The summary as JSON.
    pub fn json(&self) -> serde_json::Value {
        let Tally { lines, events, lists, todo_calls, warnings, unknown, version: _ } = &self.tally;
        serde_json::json!({"summary": {
            "files": self.read, "lines": lines, "events": events, "lists": lists,
            "todoCalls": todo_calls, "warnings": warnings, "unknown": unknown,
        }})
    }

    fn has_drifted(&self) -> bool {
        self.tally.todo_calls > 0 && self.tally.lists == 0
    }

    /// An error unless everything was read and understood.
    pub fn outcome(self) -> Result<(), Fail> {
        if let Some(first) = self.failed.first() {
            return Err(Fail::new(Code::Failure, first.clone()).details(self.failed[1..].to_vec()));
        }
        if let Some(first) = self.unsupported.first() {
            let rest = self.unsupported[1..].iter().chain(&self.unrecognised).cloned().collect();
            let version = env!("CARGO_PKG_VERSION");
            let hint = format!(
                "punchlist {version} reads Claude Code, Codex, Gemini CLI and agents that speak ACP; a newer \
                 version may read more."
            );
            return Err(Fail::new(Code::Failure, first.clone()).details(rest).hint(hint));
        }
        let Some(first) = self.unrecognised.first() else { return Ok(()) };
        let rest = self.unrecognised[1..].to_vec();
        Err(Fail::usage(format!("cannot tell which agent wrote {first}"))
            .details(rest)
            .hint("say so: `--from claude`, `codex`, `gemini` or `acp`."))
    }
}

/// The message for a stream in which every line was of an unknown kind.
fn not_understood(name: &str, tally: &Tally) -> Option<String> {
    if tally.lines == 0 || tally.unknown.values().sum::<u64>() < tally.lines {
        return None;
    }
    let kinds: Vec<&str> = tally.unknown.keys().map(String::as_str).take(3).collect();
    let version = tally.version.as_ref().map(|it| format!(", written by version {it}"));
    Some(format!(
        "nothing in {name} is understood{}: its lines are of kinds that are not known ({})",
        version.unwrap_or_default(),
        kinds.join(", ")
    ))
}
