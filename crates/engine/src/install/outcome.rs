//! The changes to an agent's files, made or planned.

use punchlist_bridge::install::{self, Change, Options, Scope};
use punchlist_formats::hook::Agent;
use punchlist_formats::text;
use serde_json::{Value, json};

/// The changes to an agent's files, made or planned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    agent: Agent,
    /// The scope's name in JSON.
    scope: &'static str,
    changes: Vec<Change>,
    /// The last line of the text.
    ending: String,
    is_preview: bool,
}

impl Outcome {
    pub(super) fn done(options: &Options, changes: Vec<Change>, ending: String) -> Self {
        let scope = match options.scope {
            Scope::User => "user",
            Scope::Project(_) => "project",
        };
        Self { agent: options.agent, scope, changes, ending, is_preview: false }
    }

    pub(super) fn preview(options: &Options, would: Vec<Change>, ending: String) -> Self {
        Self { is_preview: true, ..Self::done(options, would, ending) }
    }

    /// Whether the changes are only planned.
    pub fn is_preview(&self) -> bool {
        self.is_preview
    }

    /// Whether files were changed.
    pub fn is_change(&self) -> bool {
        !self.is_preview && !self.changes.is_empty()
    }

    /// The outcome as JSON: the files, and for a preview the diffs.
    pub fn json(&self) -> Value {
        let file = |it: &Change| {
            let mut file = json!({"path": it.path.to_string_lossy(), "change": kind(it)});
            if self.is_preview {
                file["diff"] = install::diff(it, false).into();
            }
            file
        };
        let files: Vec<Value> = self.changes.iter().map(file).collect();
        json!({"agent": self.agent.as_str(), "scope": self.scope, "files": files})
    }

    /// The outcome as text: one line per file, or for a preview the diffs.
    pub fn text(&self, colour: bool) -> String {
        if self.is_preview {
            let diffs = self.changes.iter().map(|it| install::diff(it, colour) + "\n");
            return diffs.collect::<String>() + &self.ending;
        }
        let lines = self.changes.iter().map(|it| format!("{} {}", kind(it), it.path.display()));
        let lines = lines.chain([self.ending.clone()]);
        lines.map(|it| text::many_lines(&it).into_owned() + "\n").collect()
    }
}

fn kind(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "made",
        (Some(_), None) => "removed",
        (Some(_), Some(_)) => "changed",
    }
}
