//! Analyses shell command lines without running them.
//!
//! [`commands()`] lists the commands of a line, for policy. `word` reads one word, `program` knows
//! the programs that run other programs, `hidden` finds commands that only tightening rules should
//! see. None of them guesses: what is uncertain is reported as unknown.

mod commands;
mod hidden;
mod program;
mod word;
mod wrappers;

use punchlist_sched::policy::{Commands, Subject};

pub use commands::commands;

/// The call for policy of a command line that runs in the project's root.
pub fn subject(tool: &str, line: &str) -> Subject {
    subject_below(tool, line, Some(""))
}

/// The call for policy of a command line that runs in a directory below the root; without a
/// directory, outside of the project.
pub fn subject_below(tool: &str, line: &str, directory: Option<&str>) -> Subject {
    let commands = match directory {
        Some(directory) if directory.split('/').all(|it| it.is_empty() || it == ".") => {
            commands(line)
        }
        Some(directory) => commands::below(commands(line), directory),
        None => commands::below(commands(line), ".."),
    };
    let mut hidden = hidden::hidden(line);
    if let Commands::All(all) = &commands {
        hidden.retain(|it| !all.contains(it));
    }
    Subject {
        tool: tool.to_owned(),
        commands,
        hidden,
        arguments: vec![("command".to_owned(), line.to_owned())],
        ..Subject::default()
    }
}

/// Whether command lines that begin with these words are always opaque, so that no rule can allow
/// them.
pub fn is_never_told(words: &[String]) -> bool {
    program::is_never_told(words)
}
