//! Arguments of a custom command: their declaration, and what was typed.

use std::fmt;

/// A declared argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Whether the command needs it.
    pub is_required: bool,
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_required { write!(f, "{}", self.name) } else { write!(f, "[{}]", self.name) }
    }
}

/// The most arguments that a command declares: `$1` to `$9`.
const MOST: usize = 9;

/// Parses a declaration: `FILE [REASON]`.
pub(super) fn declared(text: &str) -> Result<Vec<Argument>, String> {
    let mut arguments: Vec<Argument> = Vec::new();
    for word in text.split_whitespace() {
        let optional = word.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let name = optional.unwrap_or(word);
        if name.is_empty() || !name.chars().all(|it| it.is_alphanumeric() || "-_".contains(it)) {
            return Err(format!("`{word}` is not an argument; write `NAME` or `[NAME]`"));
        }
        let is_required = optional.is_none();
        if is_required && let Some(before) = arguments.iter().find(|it| !it.is_required) {
            return Err(format!("`{name}` is required, but {before} before it is not"));
        }
        arguments.push(Argument { name: name.to_owned(), is_required });
    }
    if arguments.len() > MOST {
        return Err(format!("a command has at most {MOST} arguments"));
    }
    Ok(arguments)
}

/// Splits what was typed.
pub(super) fn positional(declared: &[Argument], typed: &str) -> Result<Vec<String>, String> {
    let typed = typed.trim();
    let mut rest = typed;
    let mut words = Vec::new();
    while !rest.is_empty() {
        // The last declared argument takes the rest. A single word is still unquoted.
        if words.len() + 1 == declared.len() {
            words.push(match word(rest) {
                Ok((whole, "")) => whole,
                Ok(_) | Err(_) => rest.to_owned(),
            });
            break;
        }
        let (one, behind) = word(rest)?;
        words.push(one);
        rest = behind.trim_start();
    }
    match declared.get(words.len()) {
        Some(missing) if missing.is_required => Err(format!("it needs {}", missing.name)),
        Some(_) | None => Ok(words),
    }
}

/// The first word, without its quotes, and the text behind it.
fn word(text: &str) -> Result<(String, &str), String> {
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match quote {
            Some(open) if c == open => quote = None,
            Some('"') | None if c == '\\' => {
                // Elsewhere a backslash is a backslash, as in `C:\temp`.
                let next = text[at + 1..].chars().next();
                let is_escape = next.is_some_and(|it| it == '"' || it == '\\');
                word.push(if is_escape { chars.next().map_or(c, |it| it.1) } else { c });
            }
            Some(_) => word.push(c),
            None if c == '"' || (c == '\'' && begins_quote(text, at)) => quote = Some(c),
            None if c.is_whitespace() => return Ok((word, &text[at..])),
            None => word.push(c),
        }
    }
    match quote {
        Some(open) => Err(format!("a quote ({open}) is not closed")),
        None => Ok((word, "")),
    }
}

/// Whether an apostrophe begins a quoted text. In `don't` it does not.
fn begins_quote(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_none_or(|it| !it.is_alphanumeric())
}
