//! A person's consent to checks that agents wrote, per project.
//!
//! It is kept in the user's data directory, one project per line, and never in the project, because
//! anybody may have written the files there. Front ends ask for it at a terminal, with [`meaning`]
//! above the question, and never on behalf of an agent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use punchlist_bridge::{private, replace};

use crate::fail::{Code, Fail};

/// Whether consent was given for a project, by the record in this data directory.
pub fn is_given(data: &Path, project: &str) -> bool {
    is_recorded(&record(data), project)
}

/// Checks that consent for a project can be recorded.
pub fn check_project(project: &str) -> Result<(), Fail> {
    if project.contains('\n') {
        return Err(Fail::usage(format!("{project:?} has a line break in its path"))
            .hint("rename the directory."));
    }
    Ok(())
}

/// Records that a person consented.
pub fn give(data: &Path, project: &str) -> Result<(), Fail> {
    check_project(project)?;
    add_line(&record(data), project)
}

/// Withdraws consent. Returns whether it had been given.
pub fn take_back(data: &Path, project: &str) -> Result<bool, Fail> {
    remove_lines(&record(data), |line| line == project)
}

/// Explains what a yes means, for the person who is asked. `about` is the check to run, if any.
pub fn meaning(project: &str, about: Option<&str>) -> Vec<String> {
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

fn record(data: &Path) -> PathBuf {
    data.join("checks")
}

/// Whether a record has a line.
pub(super) fn is_recorded(file: &Path, line: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.lines().any(|it| it == line))
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
        assert!(!is_given(&data, "/p"));
        give(&data, "/p").unwrap();
        give(&data, "/p/q").unwrap();
        assert!(is_given(&data, "/p") && is_given(&data, "/p/q") && !is_given(&data, "/"));
        assert!(take_back(&data, "/p").unwrap());
        assert!(!take_back(&data, "/p").unwrap());
        assert!(!is_given(&data, "/p") && is_given(&data, "/p/q"));
        assert!(give(&data, "/a\n/p").is_err());
        assert!(!is_given(&data, "/p"));
    }
}
