//! Reads the front matter and the parts of a custom command's file.

use super::{Argument, CommandFile, Part, Problem, arguments};
use crate::text::{many_lines, nearest, one_line, truncate};

/// Maximum width of a description.
const DESCRIPTION: usize = 100;
/// Begins and ends the front matter.
const FENCE: &str = "---";
const KEYS: [&str; 2] = ["description", "arguments"];

/// Parses a file.
pub(super) fn file(text: &str) -> Result<CommandFile, Problem> {
    let text = many_lines(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut front = Front::default();
    let mut body = &*text;
    let mut first_line = 1;
    if let Some(behind) = fence_line(&text) {
        let mut rest = behind;
        let mut number = 1;
        loop {
            number += 1;
            if let Some(behind) = fence_line(rest) {
                (body, first_line) = (behind, number + 1);
                break;
            }
            let Some((line, behind)) = rest.split_once('\n') else {
                return Err(problem(1, "the front matter has no end; write `---` below it"));
            };
            front.add(line).map_err(|message| Problem { line: number, message })?;
            rest = behind;
        }
    }
    let parts = parts(body).map_err(|(at, message)| {
        let lines = body[..at].matches('\n').count();
        Problem { line: first_line + lines, message }
    })?;
    if body.trim().is_empty() {
        return Err(problem(first_line, "there is no text for the model"));
    }
    Ok(CommandFile { description: front.description, arguments: front.arguments, parts })
}

fn problem(line: usize, message: &str) -> Problem {
    Problem { line, message: message.to_owned() }
}

/// The text behind a first line that is a fence.
fn fence_line(text: &str) -> Option<&str> {
    let (line, behind) = text.split_once('\n').unwrap_or((text, ""));
    (line.trim_end() == FENCE).then_some(behind)
}

#[derive(Default)]
struct Front {
    description: String,
    arguments: Vec<Argument>,
}

impl Front {
    fn add(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (key, value) = line.split_once(':').ok_or("write `key: value`")?;
        let value = unquoted(value.trim());
        match key.trim() {
            "description" if matches!(value, "|" | ">" | "|-" | ">-") => {
                Err("write the description on one line".to_owned())
            }
            "description" => {
                self.description = truncate(&one_line(value), DESCRIPTION).into_owned();
                Ok(())
            }
            "arguments" => {
                self.arguments = arguments::declared(value)?;
                Ok(())
            }
            other => Err(match nearest(other, KEYS.into_iter()) {
                Some(near) => format!("unknown key `{}`; did you mean `{near}`?", shown(other)),
                None => format!("unknown key `{}`; known are {}", shown(other), KEYS.join(", ")),
            }),
        }
    }
}

fn shown(key: &str) -> std::borrow::Cow<'_, str> {
    truncate(key, 40)
}

fn unquoted(value: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(value)
}

/// Splits a text into parts. An error has the position of the mistake.
fn parts(body: &str) -> Result<Vec<Part>, (usize, String)> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut at = 0;
    while let Some(c) = body[at..].chars().next() {
        let rest = &body[at..];
        // A backslash takes the meaning from what follows it.
        let is_escaped = c == '\\' && special(&rest[1..]).is_some();
        if is_escaped {
            let sign = &rest[1..2];
            text.push_str(sign);
            at += 2;
            continue;
        }
        let Some(found) = special(rest) else {
            text.push(c);
            at += c.len_utf8();
            continue;
        };
        let (part, length) = match found {
            Special::Argument(number) => (Part::Argument(number), 2),
            Special::Arguments => (Part::Arguments, ALL.len()),
            Special::Shell => {
                let (command, length) = shell(rest).map_err(|message| (at, message))?;
                (Part::Shell(command), length)
            }
        };
        if !text.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut text)));
        }
        parts.push(part);
        at += length;
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Ok(parts)
}

enum Special {
    Argument(usize),
    Arguments,
    Shell,
}

const ALL: &str = "$ARGUMENTS";

/// What the text begins with, if that is more than text.
fn special(text: &str) -> Option<Special> {
    if text.starts_with("!`") {
        return Some(Special::Shell);
    }
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    if text.strip_prefix(ALL).is_some_and(|it| !it.starts_with(is_word)) {
        return Some(Special::Arguments);
    }
    let digits = text.strip_prefix('$')?;
    let number = digits.chars().next()?.to_digit(10)?;
    // `$100` and `$1.50` are prices.
    let behind = &digits[1..];
    let is_price = behind.starts_with(|it: char| it.is_ascii_digit())
        || behind
            .strip_prefix('.')
            .is_some_and(|it| it.starts_with(|it: char| it.is_ascii_digit()));
    (number > 0 && !is_price).then_some(Special::Argument(number as usize))
}

/// The command of a text that begins with `` !` ``, and the length of the part.
fn shell(text: &str) -> Result<(String, usize), String> {
    let line = text.lines().next().unwrap_or_default();
    let end = line[2..].find('`').ok_or("a shell command ends with a backtick on its line")?;
    let command = line[2..2 + end].trim();
    if command.is_empty() {
        return Err("the shell command is empty".to_owned());
    }
    if command.contains(ALL) {
        return Err(
            "a shell command gets its arguments as \"$1\" or \"$@\", not as $ARGUMENTS".to_owned()
        );
    }
    Ok((command.to_owned(), end + 3))
}
