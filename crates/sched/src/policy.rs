//! The policy: which calls may run, which need a person's approval, and which are denied.
//!
//! Rules are data; the caller loads them. The user's rules may allow calls. A project's rules may
//! only restrict them: a project's rules that allow are dropped. Of all rules that match, the
//! strictest counts. A shell call is judged by all its commands, never by its first word alone. The
//! tool splits the command line; if it cannot, the call is [`Commands::Opaque`], which no rule
//! about commands can allow. If it is uncertain whether a restricting rule matches, a person is
//! asked.

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

/// What rules are matched against: the parts of a call that the policy needs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Subject {
    /// The tool's name.
    pub tool: String,
    /// The MCP server of the tool; `None` for our own tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether the call changes nothing. Such a call is allowed unless a rule says otherwise.
    #[serde(default)]
    pub harmless: bool,
    /// Whether the call runs in a sandbox that limits what it can change. Such a call is allowed
    /// unless a rule says otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contained: bool,
    /// Whether a person must be asked whatever the rules allow, because the plan demands it or only
    /// a person can know the answer.
    #[serde(default)]
    pub always_asks: bool,
    /// Whether the call may touch secrets. Then a rule about the tool is not enough; only a rule
    /// that names the argument allows it.
    #[serde(default)]
    pub is_secret: bool,
    /// The commands that the call executes.
    #[serde(default)]
    pub commands: Commands,
    /// Commands that may be hidden in the executed ones, for restricting rules: the command that a
    /// wrapper runs, or `git push` in `git -C x push`. They never cause a call to be allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<Words>,
    /// The text arguments of the call, for rules about an argument.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<(String, String)>,
}

/// The commands that a call executes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Commands {
    /// None: it is not a shell call.
    #[default]
    None,
    /// Exactly these commands.
    All(Vec<Words>),
    /// Unknown before the call runs.
    Opaque,
}

/// One command, as far as it is known before it runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Words {
    /// The known words at the beginning, as the program will get them.
    pub known: Vec<String>,
    /// Whether further words follow that are known only when it runs.
    #[serde(default)]
    pub more: bool,
}

impl Words {
    /// The pseudo-command for a redirection into a file: this word, then the file. No program has
    /// this name.
    pub const WRITE: &str = ">";

    /// A command whose words are all known.
    pub fn new(known: Vec<String>) -> Self {
        Self { known, more: false }
    }

    /// A redirection into a file; `None` if the file is known only when it runs.
    pub fn write(file: Option<String>) -> Self {
        let more = file.is_none();
        Self { known: [Self::WRITE.to_owned()].into_iter().chain(file).collect(), more }
    }

    /// Whether it is a redirection into a file.
    pub fn is_write(&self) -> bool {
        self.known.first().is_some_and(|it| it == Self::WRITE)
    }
}

/// What happens with a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call runs.
    Allow,
    /// A person is asked.
    Ask,
    /// The call does not run.
    Deny,
}

/// A set of rules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    user: Vec<Rule>,
    project: Vec<Rule>,
    /// The present project, for rules that name one.
    place: Option<String>,
}

/// The policy's verdict about a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The call runs.
    Allow,
    /// A person is asked, because this rule says so, or because no rule matches.
    Ask(Option<Box<Rule>>),
    /// The call does not run, because of this rule.
    Deny(Box<Rule>),
}

impl Policy {
    /// A policy from the rules of the user and the project. A project's rules that allow are
    /// dropped.
    pub fn new(user: Vec<Rule>, project: Vec<Rule>) -> Self {
        let project = project.into_iter().filter(|it| it.decision != Decision::Allow).collect();
        Self { user, project, place: None }
    }

    /// Sets the root of the present project.
    #[must_use]
    pub fn in_project(self, root: &str) -> Self {
        Self { place: Some(root.to_owned()), ..self }
    }

    /// Adds a rule of the user.
    pub fn add(&mut self, rule: Rule) {
        if !self.user.contains(&rule) {
            self.user.push(rule);
        }
    }

    /// Whether a rule denies every call of a tool. Then models need not see the tool.
    pub fn denies_all_of(&self, tool: &str, server: Option<&str>) -> bool {
        let mut rules = self.user.iter().chain(&self.project);
        rules.any(|it| it.decision == Decision::Deny && it.is_about_all_of(tool, server))
    }

    /// The verdict about a call.
    pub fn verdict(&self, subject: &Subject) -> Verdict {
        let is_free =
            (subject.harmless || subject.contained) && !subject.is_secret && !subject.always_asks;
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
            // It is uncertain whether the denying rule matches, so a person decides.
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

    /// The rule that allows a command of the call, or the call as a whole.
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
