//! The palette: all commands, found by a few letters of their name, alias or description.

use super::{Command, Completion};
use crate::fuzzy::rank;

/// The most commands that are found.
const MOST: usize = 50;
/// The fewest letters that are looked for in descriptions.
const FEWEST: usize = 3;

/// The commands that can be searched.
#[derive(Clone, Copy, Debug)]
pub struct Palette<'a> {
    commands: &'a [Command],
}

impl<'a> Palette<'a> {
    /// A palette of these commands.
    pub(super) fn new(commands: &'a [Command]) -> Self {
        Self { commands }
    }

    /// The commands that match, the best one first. `/` before the query does not count.
    pub fn search(&self, query: &str) -> Vec<Completion> {
        let query = query.strip_prefix('/').unwrap_or(query);
        let found = by_name(self.commands, query);
        let is_named = |it: &&Command| found.iter().any(|other| other.name == it.name);
        // A description is searched for what no name matches, and for whole words or parts of them.
        let words = query.to_lowercase();
        let is_described = |it: &&Command| {
            query.chars().count() >= FEWEST && it.description.to_lowercase().contains(&words)
        };
        let others = self.commands.iter().filter(|it| !is_named(it)).filter(is_described);
        found
            .iter()
            .copied()
            .chain(others)
            .take(MOST)
            .map(|it| completion(it, &format!("/{}", it.name), query))
            .collect()
    }
}

/// The commands whose name or alias matches.
pub(super) fn by_name<'a>(commands: &'a [Command], query: &str) -> Vec<&'a Command> {
    let names = |it: &&'a Command| {
        let mut names = vec![it.name.as_str()];
        names.extend(it.aliases);
        names
    };
    let mut found = rank(query, commands, names, MOST);
    // What the query names exactly comes first.
    found.sort_by_key(|it| !it.is_named(query));
    found
}

/// A command as a completion.
pub(super) fn completion(command: &Command, insert: &str, query: &str) -> Completion {
    let arguments = &command.arguments;
    Completion {
        insert: insert.to_owned(),
        label: if arguments.is_empty() {
            insert.to_owned()
        } else {
            format!("{insert} {arguments}")
        },
        description: command.description.clone(),
        is_exact: command.is_named(query),
    }
}
