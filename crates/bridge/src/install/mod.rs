//! Installs Punchlist into an agent's own files, and takes it out again.
//!
//! Everything is worked out before anything is written: a file that cannot be edited stops the whole
//! before the first one is touched. What is written goes through [`file`], which writes only over
//! what it has seen; what was done is kept in a `record`, so that it can be taken back to the byte.
//! Nobody is asked here; the caller shows what would happen and asks.

pub mod claude;
pub mod codex;
mod diff;
pub(crate) mod edit;
pub mod entries;
mod file;
pub mod gemini;
pub mod known;
mod part;
mod record;
#[cfg(test)]
mod tests;
pub(crate) mod toml;

use std::path::{Path, PathBuf};

use edit::Document;
use entries::Wanted;
use file::{For, Seen};
use part::{Around, Doc, Part};
use punchlist_formats::hook::{Agent, Version};
use record::{Drawer, Edited, Layer, Original, Record, stamp};

pub use diff::diff;

/// How often a file that others keep writing is tried again.
const TRIES: u32 = 20;

/// What an installation depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Into which agent.
    pub agent: Agent,
    /// The user's home.
    pub home: PathBuf,
    /// Where the agent keeps its files, if somebody chose that.
    pub config_dir: Option<PathBuf>,
    /// For whom.
    pub scope: Scope,
    /// Our own data directory, for the record of what was done.
    pub data: PathBuf,
    /// Our binary, absolute.
    pub binary: PathBuf,
    /// The database, absolute.
    pub database: PathBuf,
    /// The named plan that all sessions share, if they are to.
    pub plan: Option<String>,
    /// Whether the tools may run without asking.
    pub permission: bool,
    /// Whether the hooks may run without the agent's asking, where it would ask (Codex).
    pub trust: bool,
    /// Whether the agent's own tool for plans is switched on instead of our server (Codex).
    pub own_tools: bool,
    /// Which version of the agent is there, if that is known.
    pub version: Option<Version>,
}

/// For whom something is installed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// This user, in every project.
    User,
    /// Whoever works in the project with this root.
    Project(PathBuf),
}

/// What would happen to one file, or did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Which.
    pub path: PathBuf,
    /// What it held; `None` if it was not there.
    pub before: Option<Vec<u8>>,
    /// What it holds then; `None` if it is gone.
    pub after: Option<Vec<u8>>,
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file is no JSON, or no TOML.
    #[error("{} is not valid {}: line {line}, column {column}: {what}", path.display(), form(path))]
    Malformed {
        /// Which.
        path: PathBuf,
        /// Where in it.
        line: usize,
        /// Where in that line.
        column: usize,
        /// What is wrong there.
        what: String,
    },
    /// A file is JSON of a kind that the agent does not read.
    #[error(
        "{} is not loaded by {}: line {line}, column {column}: {what}", path.display(), agent.title()
    )]
    NotLoaded {
        /// Whose.
        agent: Agent,
        /// Which.
        path: PathBuf,
        /// Where in it.
        line: usize,
        /// Where in that line.
        column: usize,
        /// What the agent does not forgive there.
        what: String,
    },
    /// A file is not what it should be.
    #[error("{} cannot be edited: {what}", path.display())]
    Odd {
        /// Which.
        path: PathBuf,
        /// What is odd about it.
        what: String,
    },
    /// A file is read-only.
    #[error("{} is read-only", path.display())]
    ReadOnly {
        /// Which.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("{} cannot be read: {why}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system says.
        why: std::io::Error,
    },
    /// A file or directory cannot be written.
    #[error("{} cannot be written: {why}", path.display())]
    Unwritable {
        /// Which.
        path: PathBuf,
        /// What the system says.
        why: std::io::Error,
    },
    /// A file changed each time we had worked out what to write.
    #[error("{} keeps changing", path.display())]
    Busy {
        /// Which.
        path: PathBuf,
    },
    /// The project's settings and the user's are one file, so that one scope's entries would be taken
    /// for the other's.
    #[error(
        "{} is both this project's and your own: --project would not be for this project alone",
        path.display()
    )]
    Shared {
        /// Which file.
        path: PathBuf,
    },
    /// The agent is older than Punchlist works with.
    #[error("{} {version} is too old: Punchlist works with {minimum} and newer", agent.title())]
    TooOld {
        /// Which.
        agent: Agent,
        /// The version that is there.
        version: Version,
        /// The oldest that would do.
        minimum: Version,
    },
    /// A path that such files cannot spell.
    #[error("the path of the binary or of the database is not UTF-8")]
    NoText,
    /// A path that the agent would read as something else.
    #[error(
        "Gemini CLI would put a variable in the place of ${name} in the path of the binary or of the database"
    )]
    Variable {
        /// Its name.
        name: String,
    },
}

/// What kind of file it should be.
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

    /// What mends it, for those who only look.
    pub fn remedy(&self) -> String {
        match self {
            Self::Malformed { path, line, .. } => {
                format!("put line {line} of {} right, or move the file away", path.display())
            }
            Self::NotLoaded { agent, path, line, .. } => format!(
                "{} takes nothing from such a file, hooks neither: put line {line} of {} right",
                agent.title(),
                path.display(),
            ),
            Self::Odd { path, .. } => format!("look at {} and put that right", path.display()),
            Self::ReadOnly { path } => {
                format!("if that is not meant, `chmod u+w {}`", path.display())
            }
            Self::Shared { .. } => {
                "leave `--project` out: what is set up for you in every project holds here too"
                    .to_owned()
            }
            Self::Unreadable { .. } | Self::Unwritable { .. } => {
                "see who owns it and what its directory allows".to_owned()
            }
            Self::TooOld { agent, .. } => format!("upgrade {}", agent.title()),
            Self::Busy { .. } => "close the program that writes it".to_owned(),
            Self::NoText => "move it to a path that is".to_owned(),
            Self::Variable { .. } => "move it to a path without a dollar sign".to_owned(),
        }
    }
}

/// What is to become of one file.
struct Work {
    seen: Seen,
    after: Option<Vec<u8>>,
    /// What the record will say of it.
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

/// What installing would change. Writes nothing.
pub fn would_install(options: &Options) -> Result<Vec<Change>, Error> {
    let record = Drawer::unlocked(options).record(&options.place());
    Ok(changes(&installing(options, record.as_ref())?))
}

/// What uninstalling would change. Writes nothing.
pub fn would_uninstall(options: &Options) -> Result<Vec<Change>, Error> {
    let record = Drawer::unlocked(options).record(&options.place());
    Ok(changes(&uninstalling(options, record.as_ref())?))
}

/// Installs. Gives what was changed; nothing, if all was there.
pub fn install(options: &Options) -> Result<Vec<Change>, Error> {
    let place = options.place();
    let new_for = options.new_for();
    for _ in 0..TRIES {
        let drawer = Drawer::open(options)?;
        let known = drawer.record(&place);
        let work = installing(options, known.as_ref());
        let mut record = known.clone().unwrap_or_default();
        let made = drawer.made.clone();
        let done = work.and_then(|work| {
            record.directories.extend(made.iter().cloned());
            if !work.iter().any(Work::is_change) {
                // Another was quicker, but some of the directories are of our making.
                if known.is_some() && !made.is_empty() {
                    drawer.keep(&place, &record)?;
                }
                return Ok(Some((Vec::new(), known.is_some())));
            }
            for it in work.iter().filter(|it| it.is_change()) {
                let directory = it.seen.path.parent().unwrap_or(Path::new("."));
                record.directories.extend(file::make_directories(directory, new_for)?);
                record.set(it.edited.clone());
            }
            // First what will be done, then doing it: whatever is cut short can be taken back.
            drawer.keep(&place, &record)?;
            Ok(write(&work, new_for)?.then(|| (changes(&work), true)))
        });
        match done {
            Ok(Some((changes, true))) => return Ok(changes),
            // Nothing to do and nothing to remember.
            Ok(Some((changes, false))) => {
                drawer.drop_record(&place, &made);
                return Ok(changes);
            }
            // Somebody wrote meanwhile: once more, from the beginning.
            Ok(None) => {}
            Err(error) => {
                match &known {
                    Some(known) => drop(drawer.keep(&place, known)),
                    None => {
                        let made = [made, record.directories].concat();
                        drawer.drop_record(&place, &made);
                    }
                }
                return Err(error);
            }
        }
    }
    Err(Error::Busy { path: place })
}

/// Uninstalls. Gives what was changed; nothing, if nothing was there.
pub fn uninstall(options: &Options) -> Result<Vec<Change>, Error> {
    let place = options.place();
    for _ in 0..TRIES {
        let drawer = Drawer::open_if_there(options)?;
        let record = drawer.record(&place);
        let work = uninstalling(options, record.as_ref())?;
        if write(&work, options.new_for())? {
            if let Some(record) = record {
                drawer.drop_record(&place, &record.directories);
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
            // Unless somebody has written it since, it goes back to what it was.
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
    /// The files that are concerned, in the order in which they are worked out.
    pub(crate) fn parts(&self) -> Vec<Part> {
        Part::all(self)
    }

    /// The file by which the record of what was done is known.
    fn place(&self) -> PathBuf {
        let (home, config, scope) = (&self.home, self.config_dir.as_deref(), &self.scope);
        match self.agent {
            Agent::Claude => claude::Places::of(home, config, scope).settings,
            Agent::Codex => codex::Places::of(home, config, scope).hooks,
            Agent::Gemini => gemini::settings(home, config, scope),
        }
    }

    /// Whether a project's settings are the user's own, as in the home directory.
    pub fn is_shared(&self) -> bool {
        let user = Self { scope: Scope::User, ..self.clone() };
        self.scope != Scope::User && file::real(&self.place()) == file::real(&user.place())
    }

    /// Refuses what would mix two scopes up: the record of one would be taken for the other's.
    fn refuse_shared(&self) -> Result<(), Error> {
        if self.is_shared() { Err(Error::Shared { path: self.place() }) } else { Ok(()) }
    }

    /// Refuses a version that would not do what is promised, or could not read what is written.
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

/// The same, if the agent reads it as it is.
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

/// A JSON file of an agent's as it is, for those who only look.
pub(crate) fn document(agent: Agent, path: &Path) -> Result<Document, Error> {
    match parse_for(agent, &file::look(path)?)? {
        Doc::Json(doc) => Ok(doc),
        Doc::Toml(_) => Err(Error::Odd { path: path.to_owned(), what: "not JSON".to_owned() }),
    }
}

/// A TOML file of an agent's as it is, for those who only look.
pub(crate) fn configuration(path: &Path) -> Result<toml::Toml, Error> {
    match parse(&file::look(path)?)? {
        Doc::Toml(doc) => Ok(doc),
        Doc::Json(_) => Err(Error::Odd { path: path.to_owned(), what: "not TOML".to_owned() }),
    }
}

/// Whether the agent's own tool for plans is on already (Codex).
pub fn has_own_tools(options: &Options) -> bool {
    let (home, config) = (&options.home, options.config_dir.as_deref());
    let places = codex::Places::of(home, config, &options.scope);
    let is_on = |path: &Path| {
        let doc = configuration(path).ok();
        doc.and_then(|it| it.get(&codex::UPDATE_PLAN)) == Some(serde_json::Value::Bool(true))
    };
    options.agent == Agent::Codex && (is_on(&places.config) || is_on(&places.trust))
}

/// Whether something of ours stands in the agent's files. One that cannot be read has nothing.
pub fn is_set_up(options: &Options) -> bool {
    options.parts().iter().any(|part| {
        let doc = file::look(&part.path).and_then(|seen| parse(&seen));
        doc.is_ok_and(|doc| part.is_ours_there(&doc, part.has_hooks(&doc)))
    })
}

/// Whether the agent may use our tools without asking, as its files are now.
pub fn is_permitted(options: &Options) -> bool {
    options.parts().iter().any(|part| {
        let doc = file::look(&part.path).and_then(|seen| parse(&seen));
        doc.is_ok_and(|doc| part.permits(&doc))
    })
}

/// Whether these changes switch the agent's own tool for plans off, because ours take its place.
pub fn switches_own_tools_off(changes: &[Change]) -> bool {
    let is_on = |bytes: Option<&[u8]>| {
        let doc = toml::Toml::parse(bytes.unwrap_or_default()).ok();
        doc.and_then(|it| it.get(&codex::UPDATE_PLAN)) == Some(serde_json::Value::Bool(true))
    };
    let mut configurations = changes.iter().filter(|it| form(&it.path) == "TOML");
    configurations.any(|it| is_on(it.before.as_deref()) && !is_on(it.after.as_deref()))
}

/// Works out what installing makes of all files.
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
    let mut around = Around::default();
    let mut work = Vec::new();
    for (part, seen) in parts.iter().zip(seen) {
        let odd = |what| Error::Odd { path: seen.path.clone(), what };
        let mut doc = parse(&seen)?;
        let server_before = part.server(&doc);
        let is_ours_there = part.is_ours_there(&doc, had_hooks);
        let unedited = doc.clone();
        let known = record.and_then(|it| it.of(&seen.path));
        part.put(&mut doc, &wanted, known, &mut around).map_err(odd)?;
        let tool_before = part.tool_before(&unedited, known, &around);
        let mut missing = part.missing(&unedited, &around);
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
            // Hooks of ours that nobody remembers: what was before them is not known.
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
                // Others wrote since we did: from here on our entries can only be picked out.
                None => Edited { layers: Vec::new(), ..known.clone() }.with(&missing),
            },
        };
        let mut edited = Edited { tool_before, ..edited };
        if let Some(made) = edited.made.as_mut().filter(|_| !wanted.permission) {
            // It is out again, and one that comes back is somebody else's.
            made.retain(|it| it != claude::MADE_PERMISSION);
        }
        work.push(Work { seen, after, edited });
    }
    Ok(work)
}

/// Works out what uninstalling makes of all files.
fn uninstalling(options: &Options, record: Option<&Record>) -> Result<Vec<Work>, Error> {
    options.refuse_shared()?;
    let mut around = Around::default();
    let mut work = Vec::new();
    for part in options.parts() {
        let seen = file::look(&part.path)?;
        let known = record.and_then(|it| it.of(&part.path));
        let original = known.map_or(Original::Unknown, |it| it.original(seen.bytes.as_deref()));
        let after = match (&seen.bytes, original) {
            (None, _) | (Some(_), Original::Absent) => None,
            (Some(_), Original::Bytes(bytes)) => Some(bytes),
            (Some(_), Original::Unknown) => without_ours(&part, &seen, known, &around)?,
        };
        part.note(&seen, after.as_deref(), &mut around);
        if after != seen.bytes {
            seen.is_writable()?;
        }
        work.push(Work { seen, after, edited: Edited::default() });
    }
    Ok(work)
}

/// A file that others have written since we did, without what is ours.
fn without_ours(
    part: &Part,
    seen: &Seen,
    known: Option<&Edited>,
    around: &Around,
) -> Result<Option<Vec<u8>>, Error> {
    let mut doc = parse(seen)?;
    let taken = part.take(&mut doc, known, around);
    taken.map_err(|what| Error::Odd { path: seen.path.clone(), what })?;
    let is_ours = known.is_some_and(|it| !it.existed) && !doc.splices().is_empty();
    Ok(if doc.is_empty() && is_ours { None } else { Some(doc.bytes()) })
}
