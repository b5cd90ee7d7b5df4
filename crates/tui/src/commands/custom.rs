//! Custom commands in the registry: their names, their prompts, and the confirmation of their shell.

use std::collections::HashSet;
use std::sync::Arc;

use punchlist_engine::custom_commands::CustomCommand;

use super::outcome::{Deed, Outcome, Prompt, ShellQuestion};
use super::{Action, Command, When};

/// The shell commands of a custom command that was invoked. Nothing runs until all of them are
/// allowed: [`CustomShell::allowed`] is the only way to their command lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CustomShell {
    command: Arc<CustomCommand>,
    typed: String,
    arguments: Vec<String>,
}

/// Shell commands that the person has allowed, all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllowedShell(CustomShell);

impl CustomShell {
    /// The command that they belong to.
    pub fn command(&self) -> &CustomCommand {
        &self.command
    }

    /// The shell commands as the file has them, for the question.
    pub fn commands(&self) -> Vec<&str> {
        self.command.file.shell().collect()
    }

    /// The positional parameters that all of them get, for the question.
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Takes the person's answers, one for each command. An error says that nothing runs.
    pub fn allowed(self, answers: &[bool]) -> Result<AllowedShell, String> {
        let commands = self.commands();
        if commands.len() != answers.len() {
            return Err(format!("/{}: nothing ran: not all was answered", self.command.name));
        }
        match commands.iter().zip(answers).find(|(_, is_allowed)| !**is_allowed) {
            Some((refused, _)) => {
                Err(format!("/{}: nothing ran: you refused `{refused}`", self.command.name))
            }
            None => Ok(AllowedShell(self)),
        }
    }
}

impl AllowedShell {
    /// The command lines to run, in order. The shell gets the arguments as positional parameters, so
    /// that no argument is ever read as shell.
    pub fn command_lines(&self) -> Vec<Vec<String>> {
        let Self(CustomShell { command, arguments, .. }) = self;
        let line = |shell: &str| {
            let head = ["/bin/sh", "-c", shell, &command.name].map(str::to_owned);
            head.into_iter().chain(arguments.iter().cloned()).collect()
        };
        command.file.shell().map(line).collect()
    }

    /// The prompt, with the outputs of the commands in order.
    pub fn prompt(&self, outputs: &[String]) -> Prompt {
        let Self(CustomShell { command, typed, arguments }) = self;
        Prompt::Custom(command.file.prompt(typed, arguments, outputs))
    }
}

/// The result of a custom command.
pub(super) fn outcome(command: &Arc<CustomCommand>, typed: &str) -> Result<Outcome, String> {
    let arguments = command.file.positional(typed)?;
    if !command.is_allowed {
        let command = Arc::clone(command);
        return Ok(Outcome::Confirm(Deed::AllowCommand { command, arguments: typed.to_owned() }));
    }
    if command.file.shell().next().is_some() {
        let command = Arc::clone(command);
        let shell = CustomShell { command, typed: typed.to_owned(), arguments };
        return Ok(Outcome::ConfirmShell(ShellQuestion::Custom(shell)));
    }
    Ok(Outcome::Submit(Prompt::Custom(command.file.prompt(typed, &arguments, &[]))))
}

/// Custom commands as commands. A name that is taken gets its source as a prefix: `/user:quit`.
pub(super) fn commands(taken: &[Command], custom: Vec<CustomCommand>) -> Vec<Command> {
    let mut names: HashSet<String> = taken
        .iter()
        .flat_map(|it| it.aliases.iter().map(|it| (*it).to_owned()).chain([it.name.clone()]))
        .collect();
    let mut commands = Vec::new();
    for mut one in custom {
        while !names.insert(one.name.clone()) {
            one.name = format!("{}:{}", one.source.as_str(), one.name);
        }
        commands.push(command(one));
    }
    commands
}

fn command(custom: CustomCommand) -> Command {
    let description = match (&*custom.file.description, custom.is_allowed) {
        ("", true) => custom.path.clone(),
        ("", false) => format!("{} (you have not allowed it yet)", custom.path),
        (text, true) => text.to_owned(),
        (text, false) => format!("{text} (you have not allowed it yet)"),
    };
    Command {
        name: custom.name.clone(),
        aliases: &[],
        description,
        arguments: custom.file.usage(),
        values: &[],
        when: When::AnyTime,
        action: Action::Custom(Arc::new(custom)),
        sub_commands: Vec::new(),
    }
}
