//! Custom commands: prompts that a person keeps in Markdown files.
//!
//! A file may begin with front matter (`description`, `arguments`). In the text behind it, `$1` to
//! `$9` and `$ARGUMENTS` stand for what is typed behind the command, and `` !`command` `` for the
//! output of a shell command. The text is split into [`Part`]s once, before anything is inserted: an
//! argument or an output is never read as a part. A shell command gets the arguments as positional
//! parameters of the shell (`"$1"`, `"$@"`); they are never pasted into the command.

mod arguments;
mod read;
#[cfg(test)]
mod tests;

use crate::prompt::fence;

pub use arguments::Argument;

/// A parsed file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandFile {
    /// The description in one line; empty if the file has none.
    pub description: String,
    /// The declared arguments.
    pub arguments: Vec<Argument>,
    /// The text.
    pub parts: Vec<Part>,
}

/// A part of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// Text that stays as it is.
    Text(String),
    /// The argument with this number, from 1.
    Argument(usize),
    /// Everything that was typed behind the command.
    Arguments,
    /// The output of this shell command.
    Shell(String),
}

/// Why a file cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl CommandFile {
    /// Parses a file. Characters that a person who opens the file would not see are left out first, so
    /// that what is shown is what runs.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        read::file(text)
    }

    /// The shell commands, in order.
    pub fn shell(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Shell(command) => Some(command.as_str()),
            Part::Text(_) | Part::Argument(_) | Part::Arguments => None,
        })
    }

    /// The arguments as they are declared: `FILE [REASON]`.
    pub fn usage(&self) -> String {
        let words: Vec<String> = self.arguments.iter().map(ToString::to_string).collect();
        words.join(" ")
    }

    /// Splits what was typed behind the command into arguments, as a shell does: by blanks, with quotes.
    /// The last declared argument takes the rest of the text. An error says what is missing.
    pub fn positional(&self, typed: &str) -> Result<Vec<String>, String> {
        arguments::positional(&self.arguments, typed)
    }

    /// The prompt: the text with the arguments and with the outputs of the shell commands. A missing
    /// argument or output is empty.
    pub fn prompt(&self, typed: &str, positional: &[String], outputs: &[String]) -> String {
        let mut prompt = String::new();
        let mut outputs = outputs.iter();
        for part in &self.parts {
            match part {
                Part::Text(text) => prompt.push_str(text),
                Part::Argument(number) => {
                    prompt.push_str(positional.get(number - 1).map_or("", String::as_str));
                }
                Part::Arguments => prompt.push_str(typed.trim()),
                Part::Shell(_) => {
                    push_output(&mut prompt, outputs.next().map_or("", String::as_str));
                }
            }
        }
        prompt.trim().to_owned()
    }
}

/// Adds the output of a command: one line as it is, several between fences on lines of their own.
fn push_output(prompt: &mut String, output: &str) {
    let output = output.trim_end();
    if !output.contains('\n') {
        prompt.push_str(output);
        return;
    }
    if !prompt.is_empty() && !prompt.ends_with('\n') {
        prompt.push('\n');
    }
    prompt.push_str(&fence("", output));
    prompt.push('\n');
}
