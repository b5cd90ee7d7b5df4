//! Slash commands: the registry of built-in and custom ones, parsing, completion. Pure.
//!
//! A command does nothing itself: it has one of the eight results of [`Outcome`], and whoever runs the
//! terminal UI performs it.

mod builtin;
mod custom;
mod help;
mod outcome;
mod palette;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use punchlist_engine::custom_commands::CustomCommand;
use punchlist_formats::text::{Line, Style, nearest};

pub use custom::{AllowedShell, CustomShell};
pub use outcome::{
    Deed, Dialog, History, Message, Outcome, Prompt, QueueChange, ShellQuestion, ToolRequest,
};
pub use palette::Palette;

use crate::input::{Completion, Entered};

/// When a command may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// At any time.
    AnyTime,
    /// While the agent is not busy.
    WhenIdle,
}

/// A slash command.
#[derive(Clone, Debug)]
pub struct Command {
    /// The name, without the slash.
    pub name: String,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What it does, in a few words.
    pub description: String,
    /// Its arguments, such as `[NAME]`; empty if it takes none.
    pub arguments: String,
    /// The values that its argument can have, if they are known.
    pub values: &'static [&'static str],
    /// When it may run.
    pub when: When,
    /// What it does.
    pub action: Action,
    /// Its sub-commands.
    pub sub_commands: Vec<Self>,
}

/// What a command does.
#[derive(Clone)]
pub enum Action {
    /// The function turns the arguments into a result. An error is told to the person.
    Run(fn(&str) -> Result<Outcome, String>),
    /// It lists its sub-commands.
    Children,
    /// It shows the commands.
    Help,
    /// It lists the custom commands.
    List,
    /// It is a custom command.
    Custom(Arc<CustomCommand>),
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run(_) => "Run",
            Self::Children => "Children",
            Self::Help => "Help",
            Self::List => "List",
            Self::Custom(_) => "Custom",
        })
    }
}

/// What an entered text is.
#[derive(Clone, PartialEq, Debug)]
pub enum Parsed {
    /// A message to the model.
    Text,
    /// A command.
    Command(Invocation),
    /// No known command, with the message for the person. The text should stay in the input.
    Unknown(String),
}

/// A command that was entered.
#[derive(Clone, PartialEq, Debug)]
pub struct Invocation {
    /// The command's name, with its parents: `queue go`.
    pub name: String,
    /// When it may run.
    pub when: When,
    outcome: Result<Outcome, String>,
}

impl Invocation {
    /// The result. An error says why there is none; the text should stay in the input.
    pub fn outcome(self, is_busy: bool) -> Result<Outcome, String> {
        let name = self.name;
        if is_busy && self.when == When::WhenIdle {
            return Err(format!(
                "/{name} is for an idle agent: wait until the turn has ended, or end it with Esc"
            ));
        }
        self.outcome.map_err(|why| format!("/{name}: {why}"))
    }
}

/// All commands.
#[derive(Clone, Debug)]
pub struct Registry {
    commands: Vec<Command>,
}

impl Command {
    fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
            || self.aliases.iter().any(|it| it.eq_ignore_ascii_case(name))
    }
}

impl Registry {
    /// The built-in commands.
    pub fn builtin() -> Self {
        Self { commands: builtin::all() }
    }

    /// The built-in commands and these. A built-in keeps its name; a custom command whose name is taken
    /// gets a prefix.
    pub fn with_custom(custom: Vec<CustomCommand>) -> Self {
        let mut commands = builtin::all();
        commands.extend(custom::commands(&commands, custom));
        Self { commands }
    }

    /// The commands: first the built-in ones.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// The palette of all commands.
    pub fn palette(&self) -> Palette<'_> {
        Palette::new(&self.commands)
    }

    /// The sub-commands of a command as lines, for the message of a command that shows something and
    /// has sub-commands.
    pub fn children(&self, name: &str) -> Vec<Line> {
        self.find(name).map_or_else(Vec::new, |it| help::children(name, it))
    }

    /// Says what an entered text is. Pasted text is never a command.
    pub fn parse(&self, entered: &Entered) -> Parsed {
        if entered.is_pasted {
            return Parsed::Text;
        }
        let Some((name, rest)) = split(&entered.text) else { return Parsed::Text };
        let Some(command) = self.find(name) else { return self.other(name) };
        let mut path = command.name.clone();
        let (command, arguments) = match first_word(rest) {
            (word, behind) if !command.sub_commands.is_empty() && !word.is_empty() => {
                let Some(child) = command.sub_commands.iter().find(|it| it.is_named(word)) else {
                    return Parsed::Unknown(unknown_child(command, word));
                };
                path = format!("{path} {}", child.name);
                (child, behind)
            }
            _ => (command, rest),
        };
        let outcome = self.outcome(&path, command, arguments.trim());
        Parsed::Command(Invocation { name: path, when: command.when, outcome })
    }

    fn outcome(&self, path: &str, command: &Command, arguments: &str) -> Result<Outcome, String> {
        let lines = |lines| Ok(Outcome::Message(Message::Lines(lines)));
        if let Action::Custom(custom) = &command.action {
            return custom::outcome(custom, arguments);
        }
        if !arguments.is_empty() && command.arguments.is_empty() {
            return Err("it takes no arguments".to_owned());
        }
        let is_required = !command.arguments.is_empty() && !command.arguments.starts_with('[');
        if arguments.is_empty() && is_required {
            return Err(format!("it needs {}", command.arguments));
        }
        match &command.action {
            Action::Run(run) => run(arguments),
            Action::Children => lines(help::children(path, command)),
            Action::Help if arguments.is_empty() => lines(self.help()),
            Action::Help => {
                let name = arguments.trim_start_matches('/');
                match self.find(name) {
                    Some(command) => lines(help::about(&command.name, command)),
                    None => Err(self.unknown(name)),
                }
            }
            Action::List => lines(self.customs()),
            Action::Custom(custom) => custom::outcome(custom, arguments),
        }
    }

    /// Completes the text before the cursor, which begins with a slash: a command, or the sub-command
    /// or argument behind it.
    pub fn complete(&self, text: &str) -> Vec<Completion> {
        if !text.starts_with('/') {
            return Vec::new();
        }
        let Some((name, rest)) = text[1..].split_once(char::is_whitespace) else {
            let mut found = self.palette().search(text);
            // A namespace alone lists its commands: Enter runs it.
            let space = space(&text[1..]);
            found.iter_mut().for_each(|it| {
                it.is_exact |= it.insert[1..].starts_with(&space) && !text[1..].ends_with(':');
            });
            return found;
        };
        let Some(command) = self.find(name) else { return Vec::new() };
        let word = rest.trim_start();
        if word.contains(char::is_whitespace) {
            return Vec::new();
        }
        if command.values.is_empty() {
            let found = palette::by_name(&command.sub_commands, word);
            return found.iter().map(|it| palette::completion(it, &it.name, word)).collect();
        }
        let found = crate::fuzzy::rank(word, command.values, |it| vec![**it], usize::MAX);
        found.into_iter().map(|it| Completion::new(it, it == &word)).collect()
    }

    /// The command with its parents, and its first argument as far as it is typed, in the text before the
    /// cursor.
    pub fn argument<'a>(&self, text: &'a str) -> Option<(String, &'a str)> {
        let (name, rest) = text.strip_prefix('/')?.split_once(char::is_whitespace)?;
        let command = self.find(name)?;
        let (path, word) = if command.sub_commands.is_empty() {
            (command.name.clone(), rest.trim_start())
        } else {
            let (child, word) = rest.trim_start().split_once(char::is_whitespace)?;
            let child = command.sub_commands.iter().find(|it| it.is_named(child))?;
            (format!("{} {}", command.name, child.name), word.trim_start())
        };
        (!word.contains(char::is_whitespace)).then_some((path, word))
    }

    /// The word behind a command that takes a plan file, in the text before the cursor.
    pub fn plan_file<'a>(&self, text: &'a str) -> Option<&'a str> {
        let (name, rest) = text.strip_prefix('/')?.split_once(char::is_whitespace)?;
        let takes_it = self.find(name)?.arguments == builtin::PLAN_FILE;
        let word = rest.trim_start();
        (takes_it && !word.contains(char::is_whitespace)).then_some(word)
    }

    fn find(&self, name: &str) -> Option<&Command> {
        self.commands.iter().find(|it| it.is_named(name))
    }

    /// A name that is no command: a namespace lists its commands.
    fn other(&self, name: &str) -> Parsed {
        let space = space(name);
        let inside = self.commands.iter().filter(|it| it.name.starts_with(&space));
        let lines = help::list("/", inside);
        if lines.is_empty() {
            return Parsed::Unknown(self.unknown(name));
        }
        let outcome = Ok(Outcome::Message(Message::Lines(lines)));
        Parsed::Command(Invocation { name: name.to_owned(), when: When::AnyTime, outcome })
    }

    fn unknown(&self, name: &str) -> String {
        let known = self
            .commands
            .iter()
            .flat_map(|it| it.aliases.iter().copied().chain([it.name.as_str()]));
        match nearest(name, known) {
            Some(near) => format!("/{name} is no command; did you mean /{near}?"),
            None => format!("/{name} is no command; /help shows all"),
        }
    }

    fn help(&self) -> Vec<Line> {
        let mut lines = help::list("/", self.commands.iter());
        lines.push(Line::new());
        lines.push(Line::of("`?` in an empty input shows the keys.", Style::Dim));
        lines
    }

    fn customs(&self) -> Vec<Line> {
        let is_custom = |it: &&Command| matches!(it.action, Action::Custom(_));
        let lines = help::list("/", self.commands.iter().filter(is_custom));
        if lines.is_empty() {
            return vec![Line::of("There are no commands from files.", Style::Plain)];
        }
        lines
    }
}

/// What the commands of a namespace begin with.
fn space(name: &str) -> String {
    format!("{}:", name.trim_end_matches(':').to_lowercase())
}

fn unknown_child(command: &Command, word: &str) -> String {
    let name = &command.name;
    let known = command.sub_commands.iter().map(|it| it.name.as_str());
    match nearest(word, known.clone()) {
        Some(near) => format!("/{name} {word} is no command; did you mean /{name} {near}?"),
        None => {
            let all: Vec<&str> = known.collect();
            format!("/{name} {word} is no command; /{name} has {}", all.join(", "))
        }
    }
}

/// The name and the text behind it, if a text is a command: a slash, a name, and blanks or the end.
/// `/usr/x`, `//`, `/*` and a text that begins with a blank are none.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('/')?;
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let is_name = name.starts_with(char::is_alphanumeric)
        && name.chars().all(|it| it.is_alphanumeric() || "-_.:".contains(it));
    is_name.then_some((name, rest))
}

/// The first word, and what is behind it.
fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_end();
    let begun = text.trim_start();
    begun.split_once(char::is_whitespace).unwrap_or((begun, ""))
}
