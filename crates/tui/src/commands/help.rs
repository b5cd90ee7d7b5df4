//! Lines that list commands.

use punchlist_formats::text::{Line, Style, one_line};

use super::{Action, Command, When};

/// The widest column of names.
const WIDEST: usize = 32;

/// A line for each command. `prefix` stands before the names: a slash, or a slash and the parent.
pub(super) fn list<'a>(
    prefix: &str,
    commands: impl Iterator<Item = &'a Command> + Clone,
) -> Vec<Line> {
    let name = |it: &Command| {
        let mut line = Line::of(&format!("{prefix}{}", it.name), Style::Bold);
        if !it.arguments.is_empty() {
            line.push(" ", Style::Plain).push(&it.arguments, Style::Plain);
        }
        line
    };
    let names = commands.clone().map(|it| name(it).width());
    let column = names.filter(|it| *it <= WIDEST).max().unwrap_or(0);
    commands
        .map(|it| {
            let mut line = name(it);
            line.fill(column).push("  ", Style::Plain);
            line.push(&one_line(&it.description), Style::Dim);
            if it.when == When::WhenIdle {
                line.push(" (when idle)", Style::Dim);
            }
            line
        })
        .collect()
}

/// The lines about one command: usage, aliases, sub-commands.
pub(super) fn about(name: &str, command: &Command) -> Vec<Line> {
    let mut lines = list("/", std::iter::once(command));
    if !command.aliases.is_empty() {
        let names: Vec<String> = command.aliases.iter().map(|it| format!("/{it}")).collect();
        lines.push(Line::of(&format!("  also {}", names.join(", ")), Style::Dim));
    }
    if let Action::Custom(custom) = &command.action {
        lines.push(Line::of(&format!("  from {}", custom.path), Style::Dim));
        for shell in custom.file.shell() {
            lines.push(Line::of(&format!("  runs, if you say yes: {shell}"), Style::Dim));
        }
    }
    lines.extend(children(name, command));
    lines
}

/// The lines about the sub-commands of a command.
pub(super) fn children(name: &str, command: &Command) -> Vec<Line> {
    list(&format!("/{name} "), command.sub_commands.iter())
}
