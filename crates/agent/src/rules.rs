//! Rules of policy in files: `[[policy]]` tables in TOML, read and added to.
//!
//! The user's file may allow, a project's may only tighten; who owns a text is said by whoever reads
//! it. A rule that cannot be understood is an error with its line and key, never a rule that is left
//! out: what was meant to forbid must not be lost in silence.

mod remember;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use punchlist_sched::policy::{Decision, Policy, Rule};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use remember::{Unkept, remember};

/// The rules of a user and of a project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// The user's own.
    pub user: Vec<Rule>,
    /// The project's.
    pub project: Vec<Rule>,
}

impl Rules {
    /// What holds. What a project allows does not.
    pub fn policy(&self) -> Policy {
        Policy::new(self.user.clone(), self.project.clone())
    }

    /// How many of a project's rules allow something, which is not looked at.
    pub fn ignored(&self) -> usize {
        self.project.iter().filter(|it| it.decision == Decision::Allow).count()
    }
}

/// A rule, or the text that it stands in, that cannot be understood.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Bad {
    /// Where, counted from 1.
    pub line: usize,
    /// Which key, with what is wrong with it.
    pub what: String,
}

/// The keys of a rule.
const KEYS: [&str; 5] = ["decision", "tool", "server", "command", "argument"];

/// Reads the rules of a configuration file. Its other keys are somebody else's.
pub fn read(text: &str) -> Result<Vec<Rule>, Bad> {
    let at = |offset: usize| 1 + text.bytes().take(offset).filter(|it| *it == b'\n').count();
    let reader = Reader { at: &at };
    let table = DeTable::parse(text).map_err(|why| Bad {
        line: at(why.span().map_or(0, |it| it.start)),
        what: why.message().to_owned(),
    })?;
    let Some((_, policy)) = table.get_ref().iter().find(|it| it.0.get_ref() == "policy") else {
        return Ok(Vec::new());
    };
    let tables = policy.get_ref().as_array().ok_or_else(|| {
        reader.bad(policy, "policy must be tables, each under a line `[[policy]]`".to_owned())
    })?;
    tables.iter().map(|it| reader.rule(it)).collect()
}

struct Reader<'a> {
    at: &'a dyn Fn(usize) -> usize,
}

impl Reader<'_> {
    fn bad<T>(&self, place: &Spanned<T>, what: String) -> Bad {
        Bad { line: (self.at)(place.span().start), what }
    }

    fn rule(&self, place: &Spanned<DeValue<'_>>) -> Result<Rule, Bad> {
        let table = place.get_ref().as_table().ok_or_else(|| {
            self.bad(place, "policy must hold tables and nothing else".to_owned())
        })?;
        let mut decision = None;
        let mut rule = Rule {
            decision: Decision::Ask,
            tool: None,
            server: None,
            command: None,
            argument: None,
        };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "decision" => decision = Some(self.decision(value)?),
                "tool" => rule.tool = Some(self.text("tool", value)?),
                "server" => rule.server = Some(self.text("server", value)?),
                "command" => rule.command = Some(self.command(value)?),
                "argument" => rule.argument = Some(self.argument(value)?),
                other => {
                    let keys = KEYS.join(", ");
                    return Err(self.bad(
                        key,
                        format!("policy.{other} is no key of a rule; the keys are {keys}"),
                    ));
                }
            }
        }
        rule.decision = decision.ok_or_else(|| {
            self.bad(place, "policy.decision is missing: allow, ask or deny".to_owned())
        })?;
        let names_something = rule.tool.is_some()
            || rule.server.is_some()
            || rule.command.is_some()
            || rule.argument.is_some();
        if !names_something {
            let what = "a rule of policy must say what it is about: tool, server, command or argument \
                        (tool = \"*\" is every tool)";
            return Err(self.bad(place, what.to_owned()));
        }
        Ok(rule)
    }

    fn decision(&self, value: &Spanned<DeValue<'_>>) -> Result<Decision, Bad> {
        match value.get_ref().as_str() {
            Some("allow") => Ok(Decision::Allow),
            Some("ask") => Ok(Decision::Ask),
            Some("deny") => Ok(Decision::Deny),
            Some(_) | None => {
                let shown = shown(value.get_ref());
                Err(self.bad(value, format!("policy.decision = {shown} is not allow, ask or deny")))
            }
        }
    }

    fn text(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<String, Bad> {
        match value.get_ref().as_str() {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            Some(_) | None => {
                let shown = shown(value.get_ref());
                Err(self.bad(value, format!("policy.{key} = {shown} is not a text")))
            }
        }
    }

    /// `"git push"`, or its words as a list.
    fn command(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Bad> {
        let what = "a command such as \"git push\", or its words: [\"git\", \"push\"]";
        let bad = |value: &Spanned<DeValue<'_>>| {
            let shown = shown(value.get_ref());
            self.bad(value, format!("policy.command = {shown} is not {what}"))
        };
        if let Some(text) = value.get_ref().as_str() {
            // Whoever quotes expects a shell, and there is none.
            if text.contains(['"', '\'', '\\', '$', '`', ';', '|', '&', '\n']) {
                let shown = shown(value.get_ref());
                let what = "holds signs of the shell; write the words as a list, each as the program \
                            sees it";
                return Err(self.bad(value, format!("policy.command = {shown} {what}")));
            }
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            return if words.is_empty() { Err(bad(value)) } else { Ok(words) };
        }
        let words = value.get_ref().as_array().ok_or_else(|| bad(value))?;
        let word = |it: &Spanned<DeValue<'_>>| {
            it.get_ref().as_str().map(str::to_owned).ok_or_else(|| bad(it))
        };
        let words = words.iter().map(word).collect::<Result<Vec<String>, Bad>>()?;
        match words.first() {
            Some(first) if !first.is_empty() => Ok(words),
            Some(_) | None => Err(bad(value)),
        }
    }

    /// `["path", "src/*"]`.
    fn argument(&self, value: &Spanned<DeValue<'_>>) -> Result<(String, String), Bad> {
        let two = value
            .get_ref()
            .as_array()
            .map(|it| it.iter().map(|it| it.get_ref().as_str()).collect::<Vec<Option<&str>>>());
        match two.as_deref() {
            Some([Some(name), Some(pattern)]) if !name.is_empty() => {
                Ok(((*name).to_owned(), (*pattern).to_owned()))
            }
            Some(_) | None => {
                let shown = shown(value.get_ref());
                let what = "an argument's name and a pattern: [\"path\", \"src/*\"]";
                Err(self.bad(value, format!("policy.argument = {shown} is not {what}")))
            }
        }
    }
}

/// A value in a message: texts as they are, short; of anything else its kind.
fn shown(value: &DeValue<'_>) -> Cow<'static, str> {
    match value.as_str() {
        Some(text) => {
            let short: String = text.chars().take(60).collect();
            Cow::Owned(format!("{short:?}"))
        }
        None => Cow::Borrowed(match value {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        }),
    }
}
