//! Whether the model reads the project's instructions for agents: asks the person once per project.

use punchlist_engine::policy::consent::{self, Consent};
use punchlist_engine::policy::human::CalledBy;
use punchlist_engine::project::instructions::{InstructionFile, Instructions};

use super::Output;
use crate::app::App;
use crate::fail::{Code, Fail};
use crate::keyboard::Keyboard;
use crate::person;
use crate::places;
use crate::print;

const QUESTION: &str = "Let models follow the instructions of this project?";

/// The paths and texts that the model of a session reads. Prints what is left out, and why.
pub(crate) fn instructions(app: &App, output: Output) -> Result<Vec<(String, String)>, Fail> {
    let found = read(app)?;
    let mut notes = found.ignored.clone();
    let is_allowed = found.files.is_empty() || is_allowed(app, output, &found, &mut notes)?;
    print::notes(&notes, app.globals.json);
    let files = found.files.into_iter().filter(|_| is_allowed);
    Ok(files.map(|it| (it.path, it.text)).collect())
}

/// The instructions that apply in the current directory.
pub(crate) fn read(app: &App) -> Result<Instructions, Fail> {
    let project = app.project()?;
    let directory = app.directory().unwrap_or_else(|| project.root.clone());
    Ok(Instructions::read(project, &directory))
}

fn is_allowed(
    app: &App,
    output: Output,
    found: &Instructions,
    notes: &mut Vec<String>,
) -> Result<bool, Fail> {
    let (data, project) = (places::data()?, &app.project()?.name);
    let mut answer = Consent::Instructions.answer(&data, project);
    let called_by = person::called_by();
    let can_ask = called_by == CalledBy::PersonAtTerminal && output != Output::Json;
    if answer.is_none() && can_ask {
        answer = Some(ask(app, &found.files)?);
    }
    if answer != Some(true) {
        notes.push(found.unread(answer, called_by));
    }
    Ok(answer == Some(true))
}

/// Asks the person at the terminal and records the answer. Without one, nothing is done.
pub(crate) fn ask(app: &App, files: &[InstructionFile]) -> Result<bool, Fail> {
    let (data, project) = (places::data()?, &app.project()?.name);
    let (what, verb) = ("instructions of a project are trusted", "init --instructions");
    person::at_terminal(what, verb)?;
    consent::check_project(project)?;
    let nobody = || Fail::new(Code::Interrupted, "nothing was done");
    let mut keyboard = Keyboard::open().ok_or_else(nobody)?;
    keyboard.say(&consent::instructions_meaning(project, files));
    let said = keyboard.line(&format!("{QUESTION} [y/N]")).ok_or_else(nobody)?;
    let is_yes = matches!(said.as_str(), "y" | "Y" | "yes" | "Yes");
    if is_yes {
        Consent::Instructions.give(&data, project)?;
    } else {
        Consent::Instructions.refuse(&data, project)?;
    }
    Ok(is_yes)
}
