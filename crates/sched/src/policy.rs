//! Which calls may run, which need a person's word, and which never run.
//!
//! Rules are data; where they come from is somebody else's business. A user's rules may allow, a
//! project's may only tighten: what a project allows is not even looked at. Of all rules that fit, the
//! strictest counts. A shell call is judged by all the commands that it consists of, never by its first
//! word: taking a command line apart is the tool's work, and what cannot be taken apart is
//! [`Commands::Opaque`], which no rule about commands can allow. Where a rule that tightens might be
//! meant and nobody can tell, a person is asked.

mod answer;
mod explain;
mod offer;
mod rule;
#[cfg(test)]
mod tests;
mod write;

use serde::{Deserialize, Serialize};

pub use explain::{Explained, Part};
pub use offer::allowing;
use rule::Catch;
pub use rule::{Rule, is_relative_program, like};
pub use write::{Reader, TO_ALLOW};

/// What rules are about: a call, as far as policy needs to know it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Subject {
    /// The tool's name.
    pub tool: String,
    /// The server that it comes from, if it is not our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// It changes nothing: allowed where no rule says otherwise.
    #[serde(default)]
    pub harmless: bool,
    /// A person is asked whatever rules allow: because the plan wants it so, or because nobody but a
    /// person can say it.
    #[serde(default)]
    pub always_asks: bool,
    /// What it touches may be secret: a rule about the tool does not allow it, only one that names the
    /// argument.
    #[serde(default)]
    pub is_secret: bool,
    /// What it executes.
    #[serde(default)]
    pub commands: Commands,
    /// Commands that may hide in what it executes, for rules that tighten: what a wrapper is handed, and
    /// `git push` in `git -C x push`. No rule allows anything because of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<Words>,
    /// Its arguments that are texts, for rules that look at one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<(String, String)>,
}

/// What a call executes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Commands {
    /// Nothing: it is not a shell call.
    #[default]
    None,
    /// These commands and nothing else.
    All(Vec<Words>),
    /// Something that cannot be told before it runs.
    Opaque,
}

/// One command, as far as it can be told before it runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Words {
    /// The words that it begins with, as the program will see them.
    pub known: Vec<String>,
    /// After those come words that only show when it runs: none, one or many.
    #[serde(default)]
    pub more: bool,
}

impl Words {
    /// What stands for a command where a shell writes into a file: this word, then the file. No
    /// program is called so.
    pub const WRITE: &str = ">";

    /// A command all of whose words are known.
    pub fn new(known: Vec<String>) -> Self {
        Self { known, more: false }
    }

    /// That a shell writes into a file; without a name, into one that only shows when it runs.
    pub fn write(file: Option<String>) -> Self {
        let more = file.is_none();
        Self { known: [Self::WRITE.to_owned()].into_iter().chain(file).collect(), more }
    }

    /// Whether it stands for writing into a file.
    pub fn is_write(&self) -> bool {
        self.known.first().is_some_and(|it| it == Self::WRITE)
    }
}

/// What is done with a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask,
    /// It does not run.
    Deny,
}

/// The rules that hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    user: Vec<Rule>,
    project: Vec<Rule>,
    /// The project that they hold in, for rules that must name it.
    place: Option<String>,
}

/// What the rules say of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person is asked: because a rule says so, or because none says otherwise.
    Ask(Option<Box<Rule>>),
    /// It does not run: the rule that says so.
    Deny(Box<Rule>),
}

impl Policy {
    /// The user's rules and the project's. What a project allows does not count.
    pub fn new(user: Vec<Rule>, project: Vec<Rule>) -> Self {
        let project = project.into_iter().filter(|it| it.decision != Decision::Allow).collect();
        Self { user, project, place: None }
    }

    /// The same, in a project of that root.
    #[must_use]
    pub fn in_project(self, root: &str) -> Self {
        Self { place: Some(root.to_owned()), ..self }
    }

    /// Adds a rule of the user's, from now on.
    pub fn add(&mut self, rule: Rule) {
        if !self.user.contains(&rule) {
            self.user.push(rule);
        }
    }

    /// Whether a rule denies all that a tool can do: then a model need not know that there is such a tool.
    pub fn denies_all_of(&self, tool: &str, server: Option<&str>) -> bool {
        let mut rules = self.user.iter().chain(&self.project);
        rules.any(|it| it.decision == Decision::Deny && it.is_about_all_of(tool, server))
    }

    /// What the rules say.
    pub fn verdict(&self, subject: &Subject) -> Verdict {
        let is_free = subject.harmless && !subject.is_secret && !subject.always_asks;
        if self.user.is_empty() && self.project.is_empty() {
            return if is_free { Verdict::Allow } else { Verdict::Ask(None) };
        }
        let strict = |decision| {
            let caught = self.fitting(subject).filter(|it| it.decision == decision);
            caught.map(|it| (it.catches_any(subject), it)).max_by_key(|it| it.0)
        };
        let because = |rule: &Rule| Some(Box::new(rule.clone()));
        match strict(Decision::Deny) {
            Some((Catch::Surely, rule)) => return Verdict::Deny(Box::new(rule.clone())),
            // Nobody knows that it is what is forbidden: a person decides.
            Some((Catch::Perhaps, rule)) => return Verdict::Ask(because(rule)),
            Some((Catch::No, _)) | None => {}
        }
        match strict(Decision::Ask) {
            Some((Catch::Surely | Catch::Perhaps, rule)) => return Verdict::Ask(because(rule)),
            Some((Catch::No, _)) | None => {}
        }
        if subject.always_asks {
            return Verdict::Ask(None);
        }
        let allowed = match &subject.commands {
            Commands::None | Commands::Opaque => self.allows(subject, None).is_some(),
            Commands::All(commands) => {
                let each = |it| self.allows(subject, Some(it)).is_some();
                (!commands.is_empty() && commands.iter().all(each))
                    || self.allows(subject, None).is_some()
            }
        };
        if allowed || is_free { Verdict::Allow } else { Verdict::Ask(None) }
    }

    fn fitting(&self, subject: &Subject) -> impl Iterator<Item = &Rule> {
        self.user.iter().chain(&self.project).filter(|it| it.fits(subject))
    }

    /// The rule that allows a command of a call, or the call as a whole.
    fn allows(&self, subject: &Subject, words: Option<&Words>) -> Option<&Rule> {
        self.fitting(subject).find(|rule| {
            rule.decision == Decision::Allow
                && (!subject.is_secret || rule.argument.is_some())
                && match words {
                    Some(words) => rule.begins(words),
                    None => !rule.is_about_commands(),
                }
        })
    }
}
