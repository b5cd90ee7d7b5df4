//! Which calls may run, which need a person's word, and which never run.
//!
//! Rules are data; where they come from is somebody else's business. A user's rules may allow, a
//! project's may only tighten: what a project allows is not even looked at. Of all rules that fit, the
//! strictest counts. A shell call is judged by all the commands that it consists of, never by its first
//! word: taking a command line apart is the tool's work, and what cannot be taken apart is
//! [`Commands::Opaque`], which no rule about commands can allow.

#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

/// What policy looks at.
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
    /// What it executes.
    #[serde(default)]
    pub commands: Commands,
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
    /// These commands, each as its words, and nothing else.
    All(Vec<Vec<String>>),
    /// Something that cannot be told before it runs.
    Opaque,
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

/// A rule: what it fits, and what it says. What it does not name, it does not look at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What it says.
    pub decision: Decision,
    /// The tool; `*` stands for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The server that the tool comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What a command begins with, word by word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// An argument by name, and a pattern with `*` for its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<(String, String)>,
}

impl Rule {
    /// A rule about a tool.
    pub fn tool(decision: Decision, tool: &str) -> Self {
        Self { decision, tool: Some(tool.to_owned()), server: None, command: None, argument: None }
    }

    /// A rule about commands of a tool that begin so.
    pub fn command(decision: Decision, tool: &str, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { command: Some(words), ..Self::tool(decision, tool) }
    }

    /// A rule about all tools of a server.
    pub fn server(decision: Decision, server: &str) -> Self {
        Self {
            decision,
            tool: None,
            server: Some(server.to_owned()),
            command: None,
            argument: None,
        }
    }

    /// Whether it is about this call, its commands left aside.
    fn fits(&self, subject: &Subject) -> bool {
        let tool = self.tool.as_ref().is_none_or(|it| like(it, &subject.tool));
        let server = match (&self.server, &subject.server) {
            (None, _) => true,
            (Some(rule), Some(server)) => like(rule, server),
            (Some(_), None) => false,
        };
        let argument = self.argument.as_ref().is_none_or(|(name, pattern)| {
            subject.arguments.iter().any(|(it, text)| it == name && like(pattern, text))
        });
        tool && server && argument
    }

    fn begins(&self, words: &[String]) -> bool {
        self.command.as_ref().is_none_or(|prefix| {
            !prefix.is_empty() && words.get(..prefix.len()) == Some(prefix.as_slice())
        })
    }

    /// Whether it is about commands, which then must be known.
    fn is_about_commands(&self) -> bool {
        self.command.is_some()
    }
}

impl fmt::Display for Rule {
    /// As it stands in a policy file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decision = match self.decision {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        };
        write!(f, "{{ decision = {decision:?}")?;
        if let Some(tool) = &self.tool {
            write!(f, ", tool = {tool:?}")?;
        }
        if let Some(server) = &self.server {
            write!(f, ", server = {server:?}")?;
        }
        if let Some(command) = &self.command {
            write!(f, ", command = {command:?}")?;
        }
        if let Some((name, pattern)) = &self.argument {
            write!(f, ", argument = [{name:?}, {pattern:?}]")?;
        }
        f.write_str(" }")
    }
}

/// The rules that hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    user: Vec<Rule>,
    project: Vec<Rule>,
}

/// What the rules say of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask,
    /// It does not run: the rule that says so.
    Deny(Box<Rule>),
}

impl Policy {
    /// The user's rules and the project's. What a project allows does not count.
    pub fn new(user: Vec<Rule>, project: Vec<Rule>) -> Self {
        let project = project.into_iter().filter(|it| it.decision != Decision::Allow).collect();
        Self { user, project }
    }

    /// Adds a rule of the user's, from now on.
    pub fn add(&mut self, rule: Rule) {
        if !self.user.contains(&rule) {
            self.user.push(rule);
        }
    }

    /// What the rules say.
    pub fn verdict(&self, subject: &Subject) -> Verdict {
        let fitting = || self.user.iter().chain(&self.project).filter(|it| it.fits(subject));
        let concerns = |rule: &Rule| match &subject.commands {
            Commands::None => !rule.is_about_commands(),
            Commands::All(commands) => {
                !rule.is_about_commands() || commands.iter().any(|it| rule.begins(it))
            }
            // It may be what the rule is about, so a rule that tightens holds.
            Commands::Opaque => true,
        };
        let strict = |decision| fitting().find(|rule| rule.decision == decision && concerns(rule));
        if let Some(rule) = strict(Decision::Deny) {
            // Of what cannot be told, nobody knows that it is what is forbidden: a person decides.
            let guess = subject.commands == Commands::Opaque && rule.is_about_commands();
            return if guess { Verdict::Ask } else { Verdict::Deny(Box::new(rule.clone())) };
        }
        if strict(Decision::Ask).is_some() {
            return Verdict::Ask;
        }
        let allows = |words: Option<&[String]>| {
            fitting().any(|rule| {
                rule.decision == Decision::Allow
                    && match words {
                        Some(words) => rule.begins(words),
                        None => !rule.is_about_commands(),
                    }
            })
        };
        let allowed = match &subject.commands {
            Commands::None | Commands::Opaque => allows(None),
            Commands::All(commands) => {
                (!commands.is_empty() && commands.iter().all(|it| allows(Some(it)))) || allows(None)
            }
        };
        if allowed || subject.harmless { Verdict::Allow } else { Verdict::Ask }
    }
}

/// The rules that would allow a call, for whoever wants to write them down.
pub fn allowing(subject: &Subject) -> Vec<Rule> {
    match &subject.commands {
        Commands::All(commands) if !commands.is_empty() => commands
            .iter()
            .map(|words| {
                let words: Vec<&str> = words.iter().take(2).map(String::as_str).collect();
                Rule::command(Decision::Allow, &subject.tool, &words)
            })
            .collect(),
        Commands::None | Commands::All(_) | Commands::Opaque => {
            vec![Rule::tool(Decision::Allow, &subject.tool)]
        }
    }
}

/// Whether a text fits a pattern in which `*` stands for any text.
fn like(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for piece in pieces {
        if let Some(piece) = last.replace(piece) {
            match rest.find(piece) {
                Some(at) => rest = rest.get(at + piece.len()..).unwrap_or_default(),
                None => return false,
            }
        }
    }
    match last {
        Some(piece) => rest.ends_with(piece),
        None => rest.is_empty(),
    }
}
