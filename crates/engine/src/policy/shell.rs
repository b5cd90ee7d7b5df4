//! Command lines of a shell, looked at without running them.
//!
//! [`commands()`] says which commands a line consists of, for policy. `word` reads one word, `program`
//! knows which programs run others, `hidden` finds what rules that tighten should see besides. What any
//! of them is not sure of, none of them guesses.

mod commands;
mod hidden;
mod program;
mod word;
mod wrappers;

use punchlist_sched::policy::{Commands, Subject};

pub use commands::commands;

/// What policy looks at, of a command line that runs where rules are written for.
pub fn subject(tool: &str, line: &str) -> Subject {
    subject_below(tool, line, Some(""))
}

/// The same of one that runs in a directory below that, or, without one, somewhere else.
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

/// Whether what begins with these words can never be told, so that no rule about it allows anything.
pub fn is_never_told(words: &[String]) -> bool {
    program::is_never_told(words)
}
