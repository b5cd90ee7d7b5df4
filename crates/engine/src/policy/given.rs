//! Everything that a person has allowed besides policy rules, in one list: checks that agents wrote,
//! instructions of projects, MCP servers, custom commands and trusted files. Each can be taken back by its name.

use std::path::{Path, PathBuf};

use punchlist_formats::text::one_line;
use serde_json::{Value, json};

use super::consent::Consent;
use super::digest_consent::DigestConsent;
use super::trusted_files::TrustedFiles;
use crate::fail::Fail;

/// Begins the name of a consent to a server, as in the user's settings.
const SERVER: &str = "mcp.";
/// Begins the name of a consent to a custom command.
const COMMAND: &str = "command.";
const CHECKS: &str = "checks";
const INSTRUCTIONS: &str = "instructions";

/// Something that a person has allowed or refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    /// The name by which it is taken back: `checks`, `instructions`, `mcp.NAME`, `command.NAME`, or the path of
    /// a file.
    pub name: String,
    /// The project that it holds for; `None` for a file.
    pub project: Option<String>,
    /// Whether it is a yes.
    pub is_allowed: bool,
    /// What it means: a sentence, or the command line or address of a server.
    pub what: String,
}

/// Everything that was allowed or refused: by project, and the trusted files.
pub fn all(data: &Path, files: &TrustedFiles) -> Result<Vec<Given>, Fail> {
    let mut all = Vec::new();
    for (project, is_allowed) in Consent::Checks.answers(data) {
        let what = "run checks that agents wrote".to_owned();
        all.push(Given { name: CHECKS.to_owned(), project: Some(project), is_allowed, what });
    }
    for (project, is_allowed) in Consent::Instructions.answers(data) {
        let what = "models follow AGENTS.md and the like".to_owned();
        all.push(Given { name: INSTRUCTIONS.to_owned(), project: Some(project), is_allowed, what });
    }
    for (consent, kind) in [(DigestConsent::Server, SERVER), (DigestConsent::Command, COMMAND)] {
        for it in consent.all(data) {
            let (name, project) = (format!("{kind}{}", it.name), Some(it.project));
            all.push(Given { name, project, is_allowed: true, what: it.what });
        }
    }
    for path in files.all()? {
        let (name, what) = (path.display().to_string(), "use this file of a project".to_owned());
        all.push(Given { name, project: None, is_allowed: true, what });
    }
    all.sort_by(|a, b| (a.project.is_none(), &a.project).cmp(&(b.project.is_none(), &b.project)));
    Ok(all)
}

/// Takes back what has this name in a project. Fails if nothing has it.
pub fn take_back(data: &Path, files: &TrustedFiles, project: &str, name: &str) -> Result<(), Fail> {
    let is_gone = match name {
        CHECKS => Consent::Checks.forget(data, project)?,
        INSTRUCTIONS => Consent::Instructions.forget(data, project)?,
        _ if name.starts_with('/') => files.forget(&PathBuf::from(name))?,
        _ => match name.strip_prefix(COMMAND) {
            Some(command) => DigestConsent::Command.take_back(data, project, command)?,
            None => {
                let server = name.strip_prefix(SERVER).unwrap_or(name);
                DigestConsent::Server.take_back(data, project, server)?
            }
        },
    };
    if is_gone {
        return Ok(());
    }
    let (name, project) = (one_line(name), one_line(project));
    Err(Fail::not_found(format!("there is no consent to {name} in {project}"))
        .hint("`punchlist policy --consents` lists all, with the names to use."))
}

impl Given {
    /// As JSON.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name,
            "project": self.project,
            "allowed": self.is_allowed,
            "what": self.what,
        })
    }
}

/// The list as text, by project.
pub fn text(all: &[Given]) -> String {
    let mut out = String::new();
    let mut place = None;
    for it in all {
        if place != Some(&it.project) {
            let head = it.project.as_deref().unwrap_or("trusted files");
            out.push_str(&format!("{}\n", one_line(head)));
            place = Some(&it.project);
        }
        let answer = if it.is_allowed { "" } else { "no: " };
        let line = match &it.project {
            Some(_) => format!("{:<14} {answer}{}", one_line(&it.name), one_line(&it.what)),
            None => one_line(&it.name).into_owned(),
        };
        out.push_str(&format!("  {line}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::digest_consent::AllowedThing;
    use crate::policy::human::CalledBy;

    #[test]
    fn everything_is_listed_by_project_and_taken_back_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path();
        let files =
            TrustedFiles { data: Some(data.to_owned()), called_by: CalledBy::PersonAtTerminal };
        Consent::Checks.give(data, "/p").unwrap();
        Consent::Instructions.refuse(data, "/p").unwrap();
        Consent::Instructions.give(data, "/a").unwrap();
        let server = AllowedThing {
            project: "/p".to_owned(),
            digest: "ab".to_owned(),
            name: "db".to_owned(),
            what: "db-server\n--stdio".to_owned(),
        };
        DigestConsent::Server.give(data, &server).unwrap();
        let name = "git:commit".to_owned();
        let what = "/p/.punchlist/commands/git/commit.md".to_owned();
        DigestConsent::Command.give(data, &AllowedThing { name, what, ..server }).unwrap();
        std::fs::write(data.join("trusted"), "/p/.punchlist/punchlist.db\n").unwrap();
        insta::assert_snapshot!(text(&all(data, &files).unwrap()), @"
        /a
          instructions   models follow AGENTS.md and the like
        /p
          checks         run checks that agents wrote
          instructions   no: models follow AGENTS.md and the like
          mcp.db         db-server --stdio
          command.git:commit /p/.punchlist/commands/git/commit.md
        trusted files
          /p/.punchlist/punchlist.db
        ");
        for name in
            ["checks", "instructions", "mcp.db", "command.git:commit", "/p/.punchlist/punchlist.db"]
        {
            take_back(data, &files, "/p", name).unwrap();
            assert!(take_back(data, &files, "/p", name).is_err(), "{name}");
        }
        let left = all(data, &files).unwrap();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(left[0].project.as_deref(), Some("/a"));
    }
}
