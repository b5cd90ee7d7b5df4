//! A person's consent, per project: to checks that agents wrote, and to the project's instructions for
//! agents.
//!
//! It is kept in the user's data directory, one project per line, and never in the project, because
//! anybody may have written the files there. Front ends ask for it at a terminal, with
//! [`checks_meaning`] or [`instructions_meaning`] above the question, and never on behalf of an agent.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use punchlist_bridge::{private, replace};

use crate::fail::{Code, Fail};
use crate::project::instructions::InstructionFile;

/// What a person can consent to in a project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consent {
    /// Checks that agents wrote are run.
    Checks,
    /// The project's instructions for agents are shown to the model.
    Instructions,
}

/// Begins the line of a project for which the person said no. A project's name begins with a slash or
/// with `bytes:`.
const NO: &str = "no ";

impl Consent {
    /// Whether consent was given for a project, by the record in this data directory.
    pub fn is_given(self, data: &Path, project: &str) -> bool {
        self.answer(data, project) == Some(true)
    }

    /// What the person said for a project; `None` if there is no answer. The last one counts.
    pub fn answer(self, data: &Path, project: &str) -> Option<bool> {
        let text = fs::read_to_string(self.record(data)).ok()?;
        text.lines().rev().find_map(|line| said(line, project))
    }

    /// Records that a person consented.
    pub fn give(self, data: &Path, project: &str) -> Result<(), Fail> {
        self.add(data, project, "")
    }

    /// Records that a person does not consent.
    pub fn refuse(self, data: &Path, project: &str) -> Result<(), Fail> {
        self.add(data, project, NO)
    }

    /// Withdraws the answer. Returns whether consent had been given.
    pub fn take_back(self, data: &Path, project: &str) -> Result<bool, Fail> {
        if !self.is_given(data, project) {
            return Ok(false);
        }
        self.forget(data, project)
    }

    /// Removes the answer, a yes or a no. Returns whether there was one.
    pub fn forget(self, data: &Path, project: &str) -> Result<bool, Fail> {
        remove_lines(&self.record(data), |line| said(line, project).is_some())
    }

    /// What the person said, for each project with an answer.
    pub fn answers(self, data: &Path) -> BTreeMap<String, bool> {
        let text = fs::read_to_string(self.record(data)).unwrap_or_default();
        let lines = text.lines().filter(|it| !it.is_empty());
        lines
            .map(|line| match line.strip_prefix(NO) {
                Some(project) => (project.to_owned(), false),
                None => (line.to_owned(), true),
            })
            .collect()
    }

    fn add(self, data: &Path, project: &str, prefix: &str) -> Result<(), Fail> {
        check_project(project)?;
        add_line(&self.record(data), &format!("{prefix}{project}"))
    }

    fn record(self, data: &Path) -> PathBuf {
        data.join(match self {
            Self::Checks => "checks",
            Self::Instructions => "instructions",
        })
    }
}

/// What a line of a record says about a project.
fn said(line: &str, project: &str) -> Option<bool> {
    if line == project {
        return Some(true);
    }
    (line.strip_prefix(NO) == Some(project)).then_some(false)
}

/// Checks that consent for a project can be recorded.
pub fn check_project(project: &str) -> Result<(), Fail> {
    if project.contains('\n') {
        return Err(Fail::usage(format!("{project:?} has a line break in its path"))
            .hint("rename the directory."));
    }
    Ok(())
}

/// Explains what a yes to checks means, for the person who is asked. `about` is the check to run, if
/// any.
pub fn checks_meaning(project: &str, about: Option<&str>) -> Vec<String> {
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

/// Explains what a yes to instructions means, for the person who is asked.
pub fn instructions_meaning(project: &str, files: &[InstructionFile]) -> Vec<String> {
    let mut lines = vec![if files.is_empty() {
        "This directory has no instructions for agents yet (AGENTS.md, CLAUDE.md, GEMINI.md)."
            .to_owned()
    } else {
        "This project has instructions for agents:".to_owned()
    }];
    for InstructionFile { path, link_to, .. } in files {
        lines.push(match link_to {
            Some(target) => format!("    {path} -> {target}"),
            None => format!("    {path}"),
        });
    }
    lines.push(
        "With a yes, the model reads them and is told to follow them. So whoever can".to_owned(),
    );
    lines.push(
        "change these files steers the model. Your policy still decides what may run.".to_owned(),
    );
    lines.push(format!("Your yes holds for all such files in {project}, also after"));
    lines.push("they have changed, until you run `punchlist init --no-instructions`.".to_owned());
    lines
}

/// Adds a line to a record.
pub(super) fn add_line(file: &Path, line: &str) -> Result<(), Fail> {
    private::append(file, format!("{line}\n").as_bytes()).map_err(|why| unwritable(file, &why))
}

/// Removes lines from a record. Returns whether there were any.
pub(super) fn remove_lines(file: &Path, is_gone: impl Fn(&str) -> bool) -> Result<bool, Fail> {
    let Ok(text) = fs::read_to_string(file) else { return Ok(false) };
    let kept: String =
        text.lines().filter(|line| !is_gone(line)).map(|line| format!("{line}\n")).collect();
    if kept.len() == text.len() {
        return Ok(false);
    }
    replace::private(file, kept.as_bytes()).map_err(|why| unwritable(file, &why))?;
    Ok(true)
}

fn unwritable(file: &Path, why: &io::Error) -> Fail {
    Fail::new(Code::Unusable, format!("cannot write {}: {why}", file.display()))
        .hint("the record of your consent is in your data directory.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_holds_for_one_project_until_it_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let is_given = |project| Consent::Checks.is_given(&data, project);
        assert!(!is_given("/p"));
        Consent::Checks.give(&data, "/p").unwrap();
        Consent::Checks.give(&data, "/p/q").unwrap();
        assert!(is_given("/p") && is_given("/p/q") && !is_given("/"));
        assert!(!Consent::Instructions.is_given(&data, "/p"), "one consent is not the other");
        assert!(Consent::Checks.take_back(&data, "/p").unwrap());
        assert!(!Consent::Checks.take_back(&data, "/p").unwrap());
        assert!(!is_given("/p") && is_given("/p/q"));
        assert!(Consent::Checks.give(&data, "/a\n/p").is_err());
        assert!(!is_given("/p"));
    }

    #[test]
    fn the_last_answer_counts() {
        let dir = tempfile::tempdir().unwrap();
        let answer = || Consent::Instructions.answer(dir.path(), "/p");
        assert_eq!(answer(), None);
        Consent::Instructions.refuse(dir.path(), "/p").unwrap();
        assert_eq!(answer(), Some(false));
        assert!(!Consent::Instructions.take_back(dir.path(), "/p").unwrap());
        Consent::Instructions.give(dir.path(), "/p").unwrap();
        assert_eq!(answer(), Some(true));
        Consent::Instructions.refuse(dir.path(), "/p").unwrap();
        assert_eq!(answer(), Some(false));
        assert_eq!(Consent::Instructions.answer(dir.path(), "/"), None);
        let all = Consent::Instructions.answers(dir.path());
        assert_eq!(all, BTreeMap::from([("/p".to_owned(), false)]));
        assert!(Consent::Instructions.forget(dir.path(), "/p").unwrap());
        assert_eq!(answer(), None);
    }
}
