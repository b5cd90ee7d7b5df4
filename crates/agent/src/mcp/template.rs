//! Values in a server's configuration: text, with variables in it, or the output of a command.

use std::fmt;

use super::Lookup;
use crate::provider::Secret;

/// A value that is looked up when the server is started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template(Kind);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    /// A text that is a key: used as it is, and never shown.
    Hidden(Secret),
    /// The output of a command, written `!command`.
    Command(String),
    /// Texts and variables.
    Parts(Vec<Part>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Text(String),
    Variable { name: String, default: Option<String> },
}

impl Template {
    /// A value of the user's settings: `!command`, or text with `$NAME`, `${NAME}` and
    /// `${NAME:-default}` in it.
    pub fn of_user(text: &str) -> Self {
        match text.strip_prefix('!').map(str::trim).filter(|it| !it.is_empty()) {
            Some(command) => Self(Kind::Command(command.to_owned())),
            None => Self(Kind::Parts(parts(text, true))),
        }
    }

    /// A value of a project's file: text with `${NAME}` and `${NAME:-default}` in it. No command is
    /// run for it.
    pub fn of_project(text: &str) -> Self {
        Self(Kind::Parts(parts(text, false)))
    }

    /// A text in which nothing is looked up.
    pub fn plain(text: &str) -> Self {
        Self(Kind::Parts(vec![Part::Text(text.to_owned())]))
    }

    /// A key. Nothing is looked up in it, and it is never shown.
    pub fn hidden(text: &str) -> Self {
        Self(Kind::Hidden(Secret::new(text)))
    }

    /// Whether it is a key that is never shown.
    pub fn is_hidden(&self) -> bool {
        matches!(self.0, Kind::Hidden(_))
    }

    /// Whether nothing is looked up.
    pub fn is_plain(&self) -> bool {
        match &self.0 {
            Kind::Hidden(_) => true,
            Kind::Command(_) => false,
            Kind::Parts(parts) => parts.iter().all(|it| matches!(it, Part::Text(_))),
        }
    }

    /// The names of the variables that are looked up.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let parts = match &self.0 {
            Kind::Parts(parts) => parts.as_slice(),
            Kind::Command(_) | Kind::Hidden(_) => &[],
        };
        parts.iter().filter_map(|it| match it {
            Part::Variable { name, .. } => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The value. A value that was looked up is added to `secrets`, which messages must not contain.
    pub(super) fn resolve(
        &self,
        lookup: &Lookup,
        secrets: &mut Vec<Secret>,
    ) -> Result<String, String> {
        let parts = match &self.0 {
            Kind::Hidden(secret) => {
                secrets.push(secret.clone());
                return Ok(secret.reveal().to_owned());
            }
            Kind::Command(command) => {
                let value = (lookup.command)(command);
                let value =
                    value.map_err(|why| format!("the command `{command}` failed: {why}"))?;
                let value = value.trim().to_owned();
                if value.is_empty() {
                    return Err(format!("the command `{command}` printed nothing"));
                }
                secrets.push(Secret::new(&value));
                return Ok(value);
            }
            Kind::Parts(parts) => parts,
        };
        let mut whole = String::new();
        for part in parts {
            match part {
                Part::Text(text) => whole.push_str(text),
                Part::Variable { name, default } => match ((lookup.variable)(name), default) {
                    (Some(value), _) => {
                        secrets.push(Secret::new(&value));
                        whole.push_str(value.trim());
                    }
                    (None, Some(default)) => whole.push_str(default),
                    (None, None) => return Err(format!("the variable {name} is not set")),
                },
            }
        }
        Ok(whole)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = match &self.0 {
            Kind::Hidden(_) => return f.write_str("(hidden)"),
            Kind::Command(command) => return write!(f, "!{command}"),
            Kind::Parts(parts) => parts,
        };
        parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Variable { name, default: None } => write!(f, "${{{name}}}"),
            Part::Variable { name, default: Some(default) } => write!(f, "${{{name}:-{default}}}"),
        })
    }
}

fn parts(text: &str, bare_names: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        plain.push_str(before);
        match variable(after, bare_names) {
            Some((part, left)) => {
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(part);
                rest = left;
            }
            None => {
                plain.push('$');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    if !plain.is_empty() || parts.is_empty() {
        parts.push(Part::Text(plain));
    }
    parts
}

/// The variable that stands after a `$`, and the text after it.
fn variable(text: &str, bare_names: bool) -> Option<(Part, &str)> {
    if let Some(inner) = text.strip_prefix('{') {
        let (inside, rest) = inner.split_once('}')?;
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (inside, None),
        };
        let part = Part::Variable { name: name.to_owned(), default };
        return is_name(name).then_some((part, rest));
    }
    let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_inside(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let part = Part::Variable { name: name.to_owned(), default: None };
    (bare_names && is_name(name)).then_some((part, rest))
}

fn is_name(text: &str) -> bool {
    let mut all = text.chars();
    all.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && all.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
