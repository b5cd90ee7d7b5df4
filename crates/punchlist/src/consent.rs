//! A person's yes to checks that agents wrote, once for each project.
//!
//! It is kept with the user's own data, one project a line, and never in the project: what lies there
//! may come from anybody. It is asked for at a terminal, in words that say what it means, and never
//! from inside an agent.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use punchlist_bridge::replace;

use crate::app::App;
use crate::error::{Code, Fail};
use crate::person::{self, Act};
use crate::{places, private};

/// Whether it was given for a project.
pub(crate) fn is_given(project: &str) -> Result<bool, Fail> {
    Ok(recorded(&record()?, project))
}

/// Asks for it, unless it was given; anything but a yes is an error. `about` is the check that is to
/// run, if one is.
pub(crate) fn ask(app: &App, about: Option<&str>) -> Result<(), Fail> {
    let project = &app.project()?.name;
    if is_given(project)? {
        return Ok(());
    }
    let (what, verb) = ("the word for checks that agents write is given", "verify --consent");
    person::at_terminal(what, verb)?;
    if project.contains('\n') {
        return Err(Fail::usage(format!("{project:?} has a line break in its path"))
            .hint("rename the directory."));
    }
    let question = "Run checks that agents write in this project?";
    let (about, otherwise) = (words(project, about), "no check was run");
    Act { what, verb, about: &about, question, otherwise }.confirm()?;
    append(&record()?, project)
}

/// What a yes means.
fn words(project: &str, about: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(about) = about {
        lines.push("An agent wrote this check:".to_owned());
        lines.push(format!("    {about}"));
    }
    lines.push(
        "A check is a command that punchlist runs for the agent that wrote it, outside of"
            .to_owned(),
    );
    lines.push(
        "whatever keeps that agent in bounds: it can do all that you can do. Even one that"
            .to_owned(),
    );
    lines.push("looks harmless, such as a test, runs code that the agent wrote.".to_owned());
    lines.push(format!("Your yes holds for every check that agents write in {project},"));
    lines.push("until you take it back with `punchlist verify --no-consent`.".to_owned());
    lines
}

/// Takes it back. Gives whether it had been given.
pub(crate) fn take_back(app: &App) -> Result<bool, Fail> {
    let project = &app.project()?.name;
    let file = record()?;
    if !recorded(&file, project) {
        return Ok(false);
    }
    let keep = |text: &str| -> String {
        text.lines().filter(|line| line != project).map(|line| format!("{line}\n")).collect()
    };
    let rewrite = || -> io::Result<()> {
        let text = keep(&fs::read_to_string(&file)?);
        replace::private(&file, text.as_bytes())
    };
    rewrite().map_err(|why| unwritable(&file, &why))?;
    Ok(true)
}

fn record() -> Result<PathBuf, Fail> {
    Ok(places::data()?.join("checks"))
}

fn recorded(file: &Path, project: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.lines().any(|line| line == project))
}

fn append(file: &Path, project: &str) -> Result<(), Fail> {
    let write = || -> io::Result<()> {
        if let Some(dir) = file.parent() {
            private::directory(dir)?;
        }
        let mut out = private::append(file)?;
        // One write, so that two at once do not mix their lines.
        out.write_all(format!("{project}\n").as_bytes())?;
        out.sync_all()
    };
    write().map_err(|why| unwritable(file, &why))
}

fn unwritable(file: &Path, why: &io::Error) -> Fail {
    Fail::new(Code::Unusable, format!("cannot write {}: {why}", file.display()))
        .hint("the record of your word lies in your data directory.")
}
