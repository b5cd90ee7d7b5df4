//! Installs Punchlist into an agent's settings files, and uninstalls it.
//!
//! All edits are computed before anything is written, so a file that cannot be edited stops the
//! installation before any file changes. [`file`] replaces a file only if it has not changed since
//! it was read. A `record` of the edits allows restoring the files byte for byte. Nothing here asks
//! the user; the caller shows the changes and asks.

pub mod claude;
pub mod codex;
mod diff;
pub(crate) mod edit;
pub mod entries;
mod file;
pub mod gemini;
pub mod known;
pub mod one_run;
mod part;
mod record;
#[cfg(test)]
mod tests;
pub(crate) mod toml;

use std::path::{Path, PathBuf};

use edit::Document;
use entries::Wanted;
use file::{For, Seen};
use part::{Doc, EarlierFiles, Part};
use punchlist_formats::hook::{Agent, Version};
use record::{Edited, Layer, Original, Record, RecordDirectory, stamp};

pub use diff::diff;

/// How often to start again if others keep changing a file.
const TRIES: u32 = 20;

/// The options of an installation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The agent.
    pub agent: Agent,
    /// The user's home.
    pub home: PathBuf,
    /// The agent's configuration directory, if the user has set one.
    pub config_dir: Option<PathBuf>,
    /// For the user or for a project.
    pub scope: Scope,
    /// Punchlist's data directory, for the record.
    pub data: PathBuf,
    /// The path of Punchlist's binary, absolute.
    pub binary: PathBuf,
    /// The path of the database, absolute.
    pub database: PathBuf,
    /// The named plan that all sessions share, if any.
    pub plan: Option<String>,
    /// Whether Punchlist's tools may run without asking.
    pub permission: bool,
    /// Whether the hooks are marked as trusted (Codex).
    pub trust: bool,
    /// Whether the agent's own planning tool is enabled instead of Punchlist's server (Codex).
    pub own_tools: bool,
    /// The agent's version, if it is known.
    pub version: Option<Version>,
}

/// For whom Punchlist is installed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// This user, in every project.
    User,
    /// Everybody who works in the project with this root.
    Project(PathBuf),
}

/// The change of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// Its content before; `None` if it did not exist.
    pub before: Option<Vec<u8>>,
    /// Its content after; `None` if it was removed.
    pub after: Option<Vec<u8>>,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file is not valid JSON or TOML.
    #[error("{} is not valid {}: line {line}, column {column}: {what}", path.display(), form(path))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// What is wrong there.
        what: String,
    },
    /// A file contains JSON that the agent does not accept.
    #[error(
        "{} is not loaded by {}: line {line}, column {column}: {what}", path.display(), agent.title()
    )]
    NotLoaded {
        /// The agent.
        agent: Agent,
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// What the agent does not accept.
        what: String,
    },
    /// A file has an unexpected content.
    #[error("{} cannot be edited: {what}", path.display())]
    Odd {
        /// The file.
        path: PathBuf,
        /// What is unexpected.
        what: String,
    },
    /// A file is read-only.
    #[error("{} is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("{} cannot be read: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        why: std::io::Error,
    },
    /// A file or directory cannot be written.
    #[error("{} cannot be written: {why}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        why: std::io::Error,
    },
    /// A file changed at each try before it could be replaced.
    #[error("{} keeps changing", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The project's settings and the user's are the same file, so entries of the two scopes could
    /// not be distinguished.
    #[error(
        "{} is both this project's and your own: --project would not be for this project alone",
        path.display()
    )]
    Shared {
        /// The file.
        path: PathBuf,
    },
    /// The agent is older than the oldest supported version.
    #[error("{} {version} is too old: Punchlist works with {minimum} and newer", agent.title())]
    TooOld {
        /// The agent.
        agent: Agent,
        /// Its version.
        version: Version,
        /// The oldest supported version.
        minimum: Version,
    },
    /// A path is not UTF-8.
    #[error("the path of the binary or of the database is not UTF-8")]
    NoText,
    /// A path contains text that Gemini CLI would expand as a variable.
    #[error(
        "Gemini CLI would expand ${name} as a variable in the path of the binary or of the database"
    )]
    Variable {
        /// The variable's name.
        name: String,
    },
}

/// The format of the file.
fn form(path: &Path) -> &'static str {
    if path.extension().is_some_and(|it| it == "toml") { "TOML" } else { "JSON" }
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Malformed { .. }
            | Self::NotLoaded { .. }
            | Self::Odd { .. }
            | Self::TooOld { .. }
            | Self::ReadOnly { .. } => {
                format!("nothing was changed; {}, and try again.", self.remedy())
            }
            Self::Unreadable { .. } | Self::Unwritable { .. } | Self::Busy { .. } => {
                format!("{}, and try again.", self.remedy())
            }
            Self::Shared { .. } | Self::NoText | Self::Variable { .. } => {
                format!("{}.", self.remedy())
            }
        }
    }

    /// How to fix it, for the doctor.
    pub fn remedy(&self) -> String {
        match self {
            Self::Malformed { path, line, .. } => {
                format!("fix line {line} of {}, or move the file away", path.display())
            }
            Self::NotLoaded { agent, path, line, .. } => format!(
                "{} ignores such a file completely, hooks included: fix line {line} of {}",
                agent.title(),
                path.display(),
            ),
            Self::Odd { path, .. } => format!("fix that in {}", path.display()),
            Self::ReadOnly { path } => {
                format!("if that is not intended, run `chmod u+w {}`", path.display())
            }
            Self::Shared { .. } => {
                "leave out `--project`: what is set up for you in every project applies here too"
                    .to_owned()
            }
            Self::Unreadable { .. } | Self::Unwritable { .. } => {
                "check its owner and the permissions of its directory".to_owned()
            }
            Self::TooOld { agent, .. } => format!("upgrade {}", agent.title()),
            Self::Busy { .. } => "close the program that writes it".to_owned(),
            Self::NoText => "move it to a path that is".to_owned(),
            Self::Variable { .. } => "move it to a path without a dollar sign".to_owned(),
        }
    }
}

/// The planned change of one file.
struct Work {
    seen: Seen,
    after: Option<Vec<u8>>,
    /// The file's part of the record.
    edited: Edited,
}

impl Work {
    fn is_change(&self) -> bool {
        self.seen.bytes != self.after
    }

    fn change(&self) -> Change {
        Change {
            path: self.seen.path.clone(),
            before: self.seen.bytes.clone(),
            after: self.after.clone(),
        }
    }
}

fn changes(work: &[Work]) -> Vec<Change> {
    work.iter().filter(|it| it.is_change()).map(Work::change).collect()
}

/// The changes that `install` would make. Writes nothing.
pub fn would_install(options: &Options) -> Result<Vec<Change>, Error> {
    let record = RecordDirectory::unlocked(options).record(&options.place());
    Ok(changes(&installing(options, record.as_ref())?))
}

/// The changes that `uninstall` would make. Writes nothing.
pub fn would_uninstall(options: &Options) -> Result<Vec<Change>, Error> {
    let record = RecordDirectory::unlocked(options).record(&options.place());
    Ok(changes(&uninstalling(options, record.as_ref())?))
}

/// Installs. Returns the changes; none if everything was already installed.
pub fn install(options: &Options) -> Result<Vec<Change>, Error> {
    let place = options.place();
    let new_for = options.new_for();
    for _ in 0..TRIES {
        let record_directory = RecordDirectory::open(options)?;
        let known = record_directory.record(&place);
        let work = installing(options, known.as_ref());
        let mut record = known.clone().unwrap_or_default();
        let made = record_directory.made.clone();
        let done = work.and_then(|work| {
            record.directories.extend(made.iter().cloned());
            if !work.iter().any(Work::is_change) {
                // Another process installed first, but this one created some of the directories.
                if known.is_some() && !made.is_empty() {
                    record_directory.keep(&place, &record)?;
                }
                return Ok(Some((Vec::new(), known.is_some())));
            }
            for it in work.iter().filter(|it| it.is_change()) {
                let directory = it.seen.path.parent().unwrap_or(Path::new("."));
                record.directories.extend(file::make_directories(directory, new_for)?);
                record.set(it.edited.clone());
            }
            // The record is written first, so that an interrupted installation can be reversed.
            record_directory.keep(&place, &record)?;
            Ok(write(&work, new_for)?.then(|| (changes(&work), true)))
        });
        match done {
            Ok(Some((changes, true))) => return Ok(changes),
            // Nothing to change and nothing to record.
            Ok(Some((changes, false))) => {
                record_directory.drop_record(&place, &made);
                return Ok(changes);
            }
            // A file has changed meanwhile: start again.
            Ok(None) => {}
            Err(error) => {
                match &known {
                    Some(known) => drop(record_directory.keep(&place, known)),
                    None => {
                        let made = [made, record.directories].concat();
                        record_directory.drop_record(&place, &made);
                    }
                }
                return Err(error);
            }
        }
    }
    Err(Error::Busy { path: place })
}

/// Uninstalls. Returns the changes; none if nothing was installed.
pub fn uninstall(options: &Options) -> Result<Vec<Change>, Error> {
    let place = options.place();
    for _ in 0..TRIES {
        let record_directory = RecordDirectory::open_if_there(options)?;
        let record = record_directory.record(&place);
        let work = uninstalling(options, record.as_ref())?;
        if write(&work, options.new_for())? {
            if let Some(record) = record {
                record_directory.drop_record(&place, &record.directories);
            }
            return Ok(changes(&work));
        }
    }
    Err(Error::Busy { path: place })
}

/// Writes all files, or none of them if one has changed or cannot be written.
fn write(work: &[Work], new_for: For) -> Result<bool, Error> {
    for (at, it) in work.iter().enumerate().filter(|(_, it)| it.is_change()) {
        let done = it.seen.replace(it.after.as_deref(), new_for);
        if matches!(done, Ok(true)) {
            continue;
        }
        for earlier in work[..at].iter().filter(|it| it.is_change()) {
            // The earlier files are restored, unless somebody has changed them since.
            if let Ok(now) = file::look(&earlier.seen.path)
                && now.bytes == earlier.after
            {
                drop(now.replace(earlier.seen.bytes.as_deref(), new_for));
            }
        }
        return done;
    }
    Ok(true)
}

impl Options {
    /// The files of this installation, in the order in which they are edited.
    pub(crate) fn parts(&self) -> Vec<Part> {
        Part::all(self)
    }

    /// The file that identifies the record.
    fn place(&self) -> PathBuf {
        let (home, config, scope) = (&self.home, self.config_dir.as_deref(), &self.scope);
        match self.agent {
            Agent::Claude => claude::Places::of(home, config, scope).settings,
            Agent::Codex => codex::Places::of(home, config, scope).hooks,
            Agent::Gemini => gemini::settings(home, config, scope),
        }
    }

    /// Whether the project's settings are the user's own file, as in the home directory.
    pub fn is_shared(&self) -> bool {
        let user = Self { scope: Scope::User, ..self.clone() };
        self.scope != Scope::User && file::real(&self.place()) == file::real(&user.place())
    }

    /// Refuses to mix two scopes, because the record of one would be taken for the other's.
    fn refuse_shared(&self) -> Result<(), Error> {
        if self.is_shared() { Err(Error::Shared { path: self.place() }) } else { Ok(()) }
    }

    /// Refuses an agent that is too old.
    fn refuse_too_old(&self) -> Result<(), Error> {
        let (agent, minimum) = (self.agent, known::minimum(self.agent));
        match self.version.filter(|it| *it < minimum) {
            Some(version) => Err(Error::TooOld { agent, version, minimum }),
            None => Ok(()),
        }
    }

    fn new_for(&self) -> For {
        match self.scope {
            Scope::User => For::User,
            Scope::Project(_) => For::Anybody,
        }
    }
}

fn parse(seen: &Seen) -> Result<Doc, Error> {
    Doc::parse(&seen.path, seen.bytes.as_deref().unwrap_or_default()).map_err(|why| {
        Error::Malformed {
            path: seen.path.clone(),
            line: why.line,
            column: why.column,
            what: why.what,
        }
    })
}

/// Parses a file, if the agent accepts its content.
fn parse_for(agent: Agent, seen: &Seen) -> Result<Doc, Error> {
    let doc = parse(seen)?;
    doc.check(agent).map_err(|why| Error::NotLoaded {
        agent,
        path: seen.path.clone(),
        line: why.line,
        column: why.column,
        what: why.what,
    })?;
    Ok(doc)
}

/// An agent's JSON file, for reading only.
pub(crate) fn document(agent: Agent, path: &Path) -> Result<Document, Error> {
    match parse_for(agent, &file::look(path)?)? {
        Doc::Json(doc) => Ok(doc),
        Doc::Toml(_) => Err(Error::Odd { path: path.to_owned(), what: "not JSON".to_owned() }),
    }
}

/// An agent's TOML file, for reading only.
pub(crate) fn configuration(path: &Path) -> Result<toml::Toml, Error> {
    match parse(&file::look(path)?)? {
        Doc::Toml(doc) => Ok(doc),
        Doc::Json(_) => Err(Error::Odd { path: path.to_owned(), what: "not TOML".to_owned() }),
    }
}

/// Whether the agent's own planning tool is enabled (Codex).
pub fn has_own_tools(options: &Options) -> bool {
    let (home, config) = (&options.home, options.config_dir.as_deref());
    let places = codex::Places::of(home, config, &options.scope);
    let is_on = |path: &Path| {
        let doc = configuration(path).ok();
        doc.and_then(|it| it.get(&codex::UPDATE_PLAN)) == Some(serde_json::Value::Bool(true))
    };
    options.agent == Agent::Codex && (is_on(&places.config) || is_on(&places.trust))
}

/// Whether the agent's files contain an entry of Punchlist. An unreadable file counts as without.
pub fn is_set_up(options: &Options) -> bool {
    options.parts().iter().any(|part| {
        let doc = file::look(&part.path).and_then(|seen| parse(&seen));
        doc.is_ok_and(|doc| part.is_ours_there(&doc, part.has_hooks(&doc)))
    })
}

/// Whether the agent may use Punchlist's tools without asking, according to its files.
pub fn is_permitted(options: &Options) -> bool {
    options.parts().iter().any(|part| {
        let doc = file::look(&part.path).and_then(|seen| parse(&seen));
        doc.is_ok_and(|doc| part.permits(&doc))
    })
}

/// Whether these changes disable the agent's own planning tool because Punchlist's tools replace
/// it.
pub fn switches_own_tools_off(changes: &[Change]) -> bool {
    let is_on = |bytes: Option<&[u8]>| {
        let doc = toml::Toml::parse(bytes.unwrap_or_default()).ok();
        doc.and_then(|it| it.get(&codex::UPDATE_PLAN)) == Some(serde_json::Value::Bool(true))
    };
    let mut configurations = changes.iter().filter(|it| form(&it.path) == "TOML");
    configurations.any(|it| is_on(it.before.as_deref()) && !is_on(it.after.as_deref()))
}

/// Computes what `install` makes of all files.
fn installing(options: &Options, record: Option<&Record>) -> Result<Vec<Work>, Error> {
    options.refuse_shared()?;
    options.refuse_too_old()?;
    let wanted = Wanted::of(options).ok_or(Error::NoText)?;
    if options.agent == Agent::Gemini {
        let said = [options.binary.to_str(), options.database.to_str(), options.plan.as_deref()];
        if let Some(name) = said.into_iter().flatten().find_map(gemini::variable) {
            return Err(Error::Variable { name });
        }
    }
    let parts = options.parts();
    let mut seen = Vec::new();
    let mut had_hooks = false;
    for part in &parts {
        let file = file::look(&part.path)?;
        had_hooks |= part.has_hooks(&parse_for(options.agent, &file)?);
        seen.push(file);
    }
    let mut earlier_files = EarlierFiles::default();
    let mut work = Vec::new();
    for (part, seen) in parts.iter().zip(seen) {
        let odd = |what| Error::Odd { path: seen.path.clone(), what };
        let mut doc = parse(&seen)?;
        let server_before = part.server(&doc);
        let is_ours_there = part.is_ours_there(&doc, had_hooks);
        let unedited = doc.clone();
        let known = record.and_then(|it| it.of(&seen.path));
        part.put(&mut doc, &wanted, known, &mut earlier_files).map_err(odd)?;
        let tool_before = part.tool_before(&unedited, known, &earlier_files);
        let mut missing = part.missing(&unedited, &earlier_files);
        if !wanted.permission {
            missing.retain(|it| it != claude::MADE_PERMISSION);
        }
        let after = Some(doc.bytes()).filter(|it| seen.bytes.is_some() || !it.is_empty());
        if after != seen.bytes {
            seen.is_writable()?;
        }
        let layer = Layer {
            before: stamp(seen.bytes.as_deref()),
            after: stamp(after.as_deref()),
            splices: doc.splices().to_vec(),
        };
        let fresh = Edited {
            path: seen.path.clone(),
            existed: seen.bytes.is_some(),
            layers: vec![layer.clone()],
            made: Some(missing.clone()),
            server_before,
            tool_before: None,
        };
        let edited = match known {
            // There are hooks of ours without a record, so the content before them is unknown.
            None if had_hooks => Edited {
                existed: true,
                layers: Vec::new(),
                made: None,
                server_before: None,
                ..fresh
            },
            None => fresh,
            Some(known) => match known.applied(&layer.before) {
                Some(count) => {
                    let layers = [&known.layers[..count], &[layer]].concat();
                    Edited { layers, ..known.clone() }.with(&missing)
                }
                None if !is_ours_there => fresh,
                // Others have changed the file since, so the edits can no longer be reversed; our
                // entries are recognised by their form.
                None => Edited { layers: Vec::new(), ..known.clone() }.with(&missing),
            },
        };
        let mut edited = Edited { tool_before, ..edited };
        if let Some(made) = edited.made.as_mut().filter(|_| !wanted.permission) {
            // We removed the permission. If it appears again, somebody else added it.
            made.retain(|it| it != claude::MADE_PERMISSION);
        }
        work.push(Work { seen, after, edited });
    }
    Ok(work)
}

/// Computes what `uninstall` makes of all files.
fn uninstalling(options: &Options, record: Option<&Record>) -> Result<Vec<Work>, Error> {
    options.refuse_shared()?;
    let mut earlier_files = EarlierFiles::default();
    let mut work = Vec::new();
    for part in options.parts() {
        let seen = file::look(&part.path)?;
        let known = record.and_then(|it| it.of(&part.path));
        let original = known.map_or(Original::Unknown, |it| it.original(seen.bytes.as_deref()));
        let after = match (&seen.bytes, original) {
            (None, _) | (Some(_), Original::Absent) => None,
            (Some(_), Original::Bytes(bytes)) => Some(bytes),
            (Some(_), Original::Unknown) => without_ours(&part, &seen, known, &earlier_files)?,
        };
        part.note(&seen, after.as_deref(), &mut earlier_files);
        if after != seen.bytes {
            seen.is_writable()?;
        }
        work.push(Work { seen, after, edited: Edited::default() });
    }
    Ok(work)
}

/// A file that others have changed since, without our entries.
fn without_ours(
    part: &Part,
    seen: &Seen,
    known: Option<&Edited>,
    earlier_files: &EarlierFiles,
) -> Result<Option<Vec<u8>>, Error> {
    let mut doc = parse(seen)?;
    let taken = part.take(&mut doc, known, earlier_files);
    taken.map_err(|what| Error::Odd { path: seen.path.clone(), what })?;
    let is_ours = known.is_some_and(|it| !it.existed) && !doc.splices().is_empty();
    Ok(if doc.is_empty() && is_ours { None } else { Some(doc.bytes()) })
}
