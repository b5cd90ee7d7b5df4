//! Slash commands from Markdown files: the user's own, and those of the project.
//!
//! The user's own are used as they are. Anybody may have written the project's, so each needs a yes of
//! the person, which holds for this text under this name in this project. A command without a yes is
//! found, so that a front end can ask, but it must not be used. What runs is the text that was read
//! here, and so the text that the person was shown. Shell commands in a file need another yes at each
//! use; the front end asks for it.
//!
//! A directory is a namespace: `git/commit.md` is `/git:commit`. Files that cannot be used are
//! skipped, with a sentence that says why.

mod read;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use punchlist_formats::custom_command::CommandFile;

use crate::fail::Fail;
use crate::policy::digest_consent::{AllowedThing, DigestConsent};
use crate::project::FOLDER;

/// Where command files are.
#[derive(Clone, Debug)]
pub struct CommandPlaces {
    /// The directory with the user's own commands.
    pub user: PathBuf,
    /// The project, if there is one.
    pub project: Option<CommandProject>,
    /// The user's data directory, with the record of consents.
    pub data: PathBuf,
}

/// A project that may have commands.
#[derive(Clone, Debug)]
pub struct CommandProject {
    /// The top directory: that of the worktree, or the project's root.
    pub top: PathBuf,
    /// The project's name in the store.
    pub name: String,
}

/// Whose a command is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CommandSource {
    /// The user's own.
    User,
    /// The project's.
    Project,
}

impl CommandSource {
    /// The word for people, and the prefix of a name that is taken.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A command from a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CustomCommand {
    /// The name, without a slash: `git:commit`.
    pub name: String,
    /// Whose it is.
    pub source: CommandSource,
    /// The path for people.
    pub path: String,
    /// The whole text for people, as it was parsed.
    pub text: String,
    /// What the file says.
    pub file: CommandFile,
    /// Whether it may be used: it is the user's own, or the user said yes to this text.
    pub is_allowed: bool,
    /// The digest of name and text that a yes holds for.
    digest: String,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CustomCommands {
    /// The commands: the user's own first, then by name.
    pub commands: Vec<CustomCommand>,
    /// Which files were skipped, and why: a sentence each.
    pub skipped: Vec<String>,
}

/// The directory with a project's commands.
pub fn project_directory(top: &Path) -> PathBuf {
    top.join(FOLDER).join("commands")
}

/// Reads all command files. Reading them again is how they are reloaded.
pub fn find(places: &CommandPlaces) -> CustomCommands {
    let mut found = CustomCommands::default();
    read::directory(&mut found, &places.user, CommandSource::User, &|_| true);
    if let Some(project) = &places.project {
        let is_allowed =
            |digest: &str| DigestConsent::Command.is_given(&places.data, &project.name, digest);
        let directory = project_directory(&project.top);
        read::directory(&mut found, &directory, CommandSource::Project, &is_allowed);
    }
    found
}

/// Records that the person allows a command of the project. [`crate::policy::given`] takes it back.
pub fn allow(data: &Path, project: &str, command: &CustomCommand) -> Result<(), Fail> {
    let allowed = AllowedThing {
        project: project.to_owned(),
        digest: command.digest.clone(),
        name: command.name.clone(),
        what: command.path.clone(),
    };
    DigestConsent::Command.give(data, &allowed)
}

impl CustomCommand {
    /// Explains what a yes means, for the person who is asked. The text of the file goes above it.
    pub fn meaning(&self) -> Vec<String> {
        let mut lines = vec![
            format!("{} came with this project; anybody may have written it.", self.path),
            "With a yes, /NAME sends this text to the model. Your policy still decides what the"
                .replace("NAME", &self.name),
            "model may do.".to_owned(),
        ];
        match self.file.shell().count() {
            0 => {}
            1 => lines.push("Its shell command is asked about at each use.".to_owned()),
            more => lines.push(format!("Its {more} shell commands are asked about at each use.")),
        }
        lines.push("Your yes holds until the file changes.".to_owned());
        lines
    }
}
