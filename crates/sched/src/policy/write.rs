//! Writes rules as TOML, and the refusal that names the missing rule.
//!
//! A rule may contain words that an agent chose. The TOML must parse to the same rule, and must not
//! contain characters that move the cursor, reverse the text direction or end a string.

use std::fmt::{self, Write};

use super::{Commands, Decision, Policy, Rule, Subject, Words};

impl Decision {
    /// The decision's name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl Rule {
    /// The rule's keys and values in TOML.
    fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = vec![("decision", text(self.decision.name()))];
        pairs.extend(self.tool.as_ref().map(|it| ("tool", text(it))));
        pairs.extend(self.server.as_ref().map(|it| ("server", text(it))));
        pairs.extend(self.command.as_ref().map(|it| ("command", list(it))));
        pairs.extend(
            self.argument.as_ref().map(|(name, pattern)| {
                ("argument", format!("[{}, {}]", text(name), text(pattern)))
            }),
        );
        pairs.extend(self.project.as_ref().map(|it| ("project", text(it))));
        pairs.extend(self.reason.as_ref().map(|it| ("reason", text(it))));
        pairs
    }

    /// The rule for the person or model that it stops: the reason first, if it has one.
    pub fn told(&self) -> String {
        match &self.reason {
            Some(reason) => {
                let bare = Self { reason: None, ..self.clone() };
                format!("{reason} (the rule: {bare})")
            }
            None => self.to_string(),
        }
    }

    /// The rule as a table of a policy file, with a line break.
    pub fn to_toml(&self) -> String {
        let lines: Vec<String> =
            self.pairs().into_iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        format!("[[policy]]\n{}", lines.concat())
    }
}

impl fmt::Display for Rule {
    /// The rule as TOML on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> =
            self.pairs().into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
        write!(f, "{{ {} }}", pairs.join(", "))
    }
}

/// A TOML string. Control and direction characters are escaped.
fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            _ if c.is_alphanumeric() => out.push(c),
            // Writing to a string cannot fail.
            _ => write!(out, "\\U{:08x}", u32::from(c)).unwrap_or_default(),
        }
    }
    out.push('"');
    out
}

fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|it| text(it)).collect();
    format!("[{}]", words.join(", "))
}

/// The text before the rules that a person may add, in a refusal. Agents do not see what follows.
pub const TO_ALLOW: &str = ". To allow it, add to your config.toml:";

/// Who reads why a call did not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reader {
    /// A person, who may add rules, and so sees the missing one.
    #[default]
    Person,
    /// An agent or a model, which may not, and so is told to ask its user.
    Agent,
}

impl Policy {
    /// What to do about a call that needs a person's approval, where nobody can be asked.
    pub fn unasked(&self, subject: &Subject, because: Option<&Rule>, reader: Reader) -> String {
        let is_opaque = subject.commands == Commands::Opaque;
        if let Some(rule) = because {
            let rule = rule.told();
            return if is_opaque {
                format!("it is unknown which commands it runs, and this rule may match one: {rule}")
            } else {
                format!("this rule matches it, or may match it: {rule}")
            };
        }
        if subject.always_asks {
            return "a person must approve it, whatever the rules allow".to_owned();
        }
        let rules = self.lacking(subject);
        let is_write = |it: &Rule| {
            it.command.as_ref().is_some_and(|it| it.starts_with(&[Words::WRITE.to_owned()]))
        };
        let why = if is_opaque {
            "it is unknown which commands it runs, so only a rule that allows all commands would allow it"
        } else if subject.is_secret {
            "it may contain secrets, and no rule that names it allows it"
        } else if rules.iter().all(is_write) {
            "it writes a file, which needs a rule of its own"
        } else {
            "no rule allows it"
        };
        match reader {
            Reader::Person => {
                let rules: Vec<String> = rules.iter().map(Rule::to_toml).collect();
                format!("{why}{TO_ALLOW}\n\n{}", rules.join("\n"))
            }
            Reader::Agent => format!("{why}. Ask your user to do it, or to allow it"),
        }
    }
}
