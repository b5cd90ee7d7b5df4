//! Installing Punchlist for an agent and uninstalling it: permissions, questions and messages.
//!
//! `bridge` edits the agents' files. This module has what every front end does before and after: an
//! [`Installation`] knows what would change, refuses what an agent may not do, asks for each
//! consent by name, and reports an [`Outcome`].

mod outcome;
mod words;

use punchlist_bridge::install::{self, Change, Error, Options};
use punchlist_formats::hook::Agent;
use punchlist_formats::view::Reader;

use crate::fail::{Code, Fail};
use crate::policy::human::CalledBy;

pub use outcome::Outcome;
pub use words::summary;

/// A planned installation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Installation {
    options: Options,
    would: Vec<Change>,
}

/// Asks the person a question. Returns `None` if there is nobody to ask.
pub type Ask<'a> = &'a mut dyn FnMut(&str) -> Option<bool>;

impl Installation {
    /// Computes what an installation would change.
    pub fn new(options: Options) -> Result<Self, Fail> {
        let would = install::would_install(&options)?;
        Ok(Self { options, would })
    }

    /// Whether there is nothing to change.
    pub fn is_made(&self) -> bool {
        self.would.is_empty()
    }

    /// Describes what would be changed.
    pub fn preview(self, reader: Reader) -> Outcome {
        let agent = self.options.agent.title();
        let ending = match self.would.len() {
            0 => format!("nothing would change: {agent} is set up\n"),
            n => {
                let undo = words::undo(&self.options, reader, "; undo with: ", "");
                format!("{} would change, 0 removed{undo}\n", words::files(n))
            }
        };
        Outcome::preview(&self.options, self.would, ending)
    }

    /// Refuses what an agent may not do: give a consent in the user's place, or change an
    /// installation that controls the agent.
    pub fn check_allowed(&self, called_by: CalledBy) -> Result<(), Fail> {
        let (options, agent) = (&self.options, self.options.agent);
        if install::is_set_up(options) {
            return called_by.not_an_agent("an installation is changed");
        }
        let consents = [
            (options.permission, "`--without-permission`"),
            (options.trust && agent == Agent::Codex, "`--without-trust`"),
        ];
        let consents: Vec<&str> = consents.into_iter().filter(|it| it.0).map(|it| it.1).collect();
        if consents.is_empty() {
            return Ok(());
        }
        called_by.not_an_agent("consents are given").map_err(|fail| {
            fail.hint(format!(
                "ask your user to install it; or leave the consents out with {}, and {} asks them itself.",
                consents.join(" and "),
                agent.title()
            ))
        })
    }

    /// A description of the changes, to show before asking.
    pub fn description(&self) -> Vec<String> {
        words::description(&self.options, &self.would)
    }

    /// Asks for the entries, then for each consent. Anything but a yes to the entries is an error.
    pub fn ask(&mut self, ask: Ask<'_>) -> Result<(), Fail> {
        if let Some(question) = words::tools_question(&self.options, &self.would) {
            self.options.own_tools = ask(question) == Some(true);
        }
        match ask("Write these entries?") {
            Some(true) => {}
            Some(false) => return Err(Fail::new(Code::Interrupted, "nothing was changed")),
            None => {
                return Err(Fail::usage("it asks first, and there is no terminal to ask at")
                .hint("add `--yes` to agree to the server, the hooks and the permission; `--dry-run` shows them."));
            }
        }
        if let Some(question) = words::permission_question(&self.options) {
            self.options.permission = ask(&question) == Some(true);
        }
        let without = Options { trust: false, ..self.options.clone() };
        if self.options.agent == Agent::Codex && words::differ(&self.options, &without)? {
            self.options.trust = ask(words::TRUST_QUESTION) == Some(true);
        }
        Ok(())
    }

    /// Writes the entries, unless all exist already.
    pub fn apply(self, reader: Reader) -> Result<Outcome, Fail> {
        let options = &self.options;
        if self.is_made() {
            let ending = words::with_permission(options, "nothing to do: it is set up already");
            return Ok(Outcome::done(options, Vec::new(), ending));
        }
        let changes = install::install(options)?;
        let (agent, undo) =
            (options.agent.title(), words::undo(options, reader, " Undo with `", "`."));
        let ending = format!("Restart {agent}, then check with `punchlist doctor`.{undo}");
        Ok(Outcome::done(options, changes, words::with_permission(options, &ending)))
    }
}

/// Describes what uninstalling would change.
pub fn preview_uninstall(options: &Options) -> Result<Outcome, Fail> {
    let would = install::would_uninstall(options)?;
    let removed = would.iter().filter(|it| it.after.is_none()).count();
    let ending = match would.len() {
        0 => "nothing would change: Punchlist is not installed\n".to_owned(),
        n => format!("{} would change, {removed} removed\n", words::files(n - removed)),
    };
    Ok(Outcome::preview(options, would, ending))
}

/// Uninstalls Punchlist from an agent. Agents may not do this, because the hooks control them.
pub fn uninstall(options: &Options, called_by: CalledBy) -> Result<Outcome, Fail> {
    called_by.not_an_agent("Punchlist is taken out")?;
    let changes = install::uninstall(options)?;
    let ending = if changes.is_empty() {
        "nothing to do: Punchlist is not installed"
    } else {
        "Plans stay where they are; sessions that run keep their hooks until they end."
    };
    Ok(Outcome::done(options, changes, ending.to_owned()))
}

/// Whether anything is installed, for any agent.
pub fn is_anything_installed(options: &Options) -> bool {
    options.data.join("installed").exists()
}

impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Malformed { .. }
            | Error::NotLoaded { .. }
            | Error::Odd { .. }
            | Error::TooOld { .. }
            | Error::ReadOnly { .. } => Code::Refused,
            Error::Unreadable { .. } | Error::Unwritable { .. } | Error::Busy { .. } => {
                Code::Failure
            }
            Error::Shared { .. } | Error::NoText | Error::Variable { .. } => Code::Usage,
        };
        Self::new(code, error.to_string()).hint(error.hint())
    }
}
