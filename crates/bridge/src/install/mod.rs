//! Installs Punchlist into an agent's own files, and takes it out again.
//!
//! Everything is worked out before anything is written: a file that cannot be edited stops the whole
//! before the first one is touched. What is written goes through [`file`], which writes only over
//! what it has seen; what was done is kept in a `record`, so that it can be taken back to the byte.
//! Nobody is asked here; the caller shows what would happen and asks.

pub mod claude;
mod diff;
pub(crate) mod edit;
mod file;
mod record;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use claude::{Places, Wanted};
use edit::Document;
use file::{For, Seen};
use record::{Drawer, Edited, Layer, Original, Record, stamp};

pub use diff::diff;

/// How often a file that others keep writing is tried again.
const TRIES: u32 = 20;

/// What an installation depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The user's home.
    pub home: PathBuf,
    /// Where Claude Code keeps its files, if somebody chose that.
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
    /// A file is no JSON.
    #[error("{} is not valid JSON: line {line}, column {column}: {what}", path.display())]
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
    /// A path that JSON cannot spell.
    #[error("the path of the binary or of the database is not UTF-8")]
    NoText,
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Malformed { path, line, .. } => format!(
                "nothing was changed; put line {line} of {} right, or move the file away, and try again.",
                path.display()
            ),
            Self::Odd { path, .. } => {
                format!("nothing was changed; look at {} and put that right.", path.display())
            }
            Self::ReadOnly { path } => format!(
                "nothing was changed; if that is not meant, `chmod u+w {}` and try again.",
                path.display()
            ),
            Self::Unreadable { .. } | Self::Unwritable { .. } => {
                "see who owns it and what its directory allows, and try again.".to_owned()
            }
            Self::Busy { .. } => "close the program that writes it, and try again.".to_owned(),
            Self::NoText => "move it to a path that is.".to_owned(),
        }
    }
}

/// One of the two files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    Servers,
    Settings,
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
    let places = options.places();
    let record = Drawer::unlocked(options).record(&places.settings);
    Ok(changes(&installing(options, &places, record.as_ref())?))
}

/// What uninstalling would change. Writes nothing.
pub fn would_uninstall(options: &Options) -> Result<Vec<Change>, Error> {
    let places = options.places();
    let record = Drawer::unlocked(options).record(&places.settings);
    Ok(changes(&uninstalling(&places, record.as_ref())?))
}

/// Installs. Gives what was changed; nothing, if all was there.
pub fn install(options: &Options) -> Result<Vec<Change>, Error> {
    let places = options.places();
    let new_for = options.new_for();
    for _ in 0..TRIES {
        let drawer = Drawer::open(options)?;
        let known = drawer.record(&places.settings);
        let work = installing(options, &places, known.as_ref());
        let mut record = known.clone().unwrap_or_default();
        let made = drawer.made.clone();
        let done = work.and_then(|work| {
            record.directories.extend(made.iter().cloned());
            if !work.iter().any(Work::is_change) {
                // Another was quicker, but some of the directories are of our making.
                if known.is_some() && !made.is_empty() {
                    drawer.keep(&places.settings, &record)?;
                }
                return Ok(Some((Vec::new(), known.is_some())));
            }
            for it in work.iter().filter(|it| it.is_change()) {
                let directory = it.seen.path.parent().unwrap_or(Path::new("."));
                record.directories.extend(file::make_directories(directory, new_for)?);
                record.set(it.edited.clone());
            }
            // First what will be done, then doing it: whatever is cut short can be taken back.
            drawer.keep(&places.settings, &record)?;
            Ok(write(&work, new_for)?.then(|| (changes(&work), true)))
        });
        match done {
            Ok(Some((changes, true))) => return Ok(changes),
            // Nothing to do and nothing to remember.
            Ok(Some((changes, false))) => {
                drawer.drop_record(&places.settings, &made);
                return Ok(changes);
            }
            // Somebody wrote meanwhile: once more, from the beginning.
            Ok(None) => {}
            Err(error) => {
                match &known {
                    Some(known) => drop(drawer.keep(&places.settings, known)),
                    None => {
                        let made = [made, record.directories].concat();
                        drawer.drop_record(&places.settings, &made);
                    }
                }
                return Err(error);
            }
        }
    }
    Err(Error::Busy { path: places.settings })
}

/// Uninstalls. Gives what was changed; nothing, if nothing was there.
pub fn uninstall(options: &Options) -> Result<Vec<Change>, Error> {
    let places = options.places();
    for _ in 0..TRIES {
        let drawer = Drawer::open_if_there(options)?;
        let record = drawer.record(&places.settings);
        let work = uninstalling(&places, record.as_ref())?;
        if write(&work, options.new_for())? {
            if let Some(record) = record {
                drawer.drop_record(&places.settings, &record.directories);
            }
            return Ok(changes(&work));
        }
    }
    Err(Error::Busy { path: places.settings })
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
    /// The files that are concerned.
    pub fn places(&self) -> Places {
        Places::of(&self.home, self.config_dir.as_deref(), &self.scope)
    }

    fn new_for(&self) -> For {
        match self.scope {
            Scope::User => For::User,
            Scope::Project(_) => For::Anybody,
        }
    }
}

fn parse(seen: &Seen) -> Result<Document, Error> {
    Document::parse(seen.bytes.as_deref().unwrap_or_default()).map_err(|why| Error::Malformed {
        path: seen.path.clone(),
        line: why.line,
        column: why.column,
        what: why.what,
    })
}

/// A file of an agent's as it is, for those who only look.
pub(crate) fn document(path: &Path) -> Result<Document, Error> {
    parse(&file::look(path)?)
}

/// Works out what installing makes of both files.
fn installing(
    options: &Options,
    places: &Places,
    record: Option<&Record>,
) -> Result<Vec<Work>, Error> {
    let wanted = Wanted::of(options).ok_or(Error::NoText)?;
    let (servers, settings) = (file::look(&places.servers)?, file::look(&places.settings)?);
    let had_hooks = !claude::hooked(&parse(&settings)?.value()).is_empty();
    let mut work = Vec::new();
    for (seen, which) in [(servers, Which::Servers), (settings, Which::Settings)] {
        let mut doc = parse(&seen)?;
        let missing = claude::missing(&doc);
        let server_before = doc.get(&claude::SERVER_WAY);
        let done = match which {
            Which::Servers => claude::put_server(&mut doc, &wanted),
            Which::Settings => claude::put_settings(&mut doc, &wanted),
        };
        done.map_err(|what| Error::Odd { path: seen.path.clone(), what })?;
        let after = Some(doc.bytes()).filter(|it| seen.bytes.is_some() || !it.is_empty());
        if after != seen.bytes {
            seen.is_writable()?;
        }
        let layer = Layer {
            before: stamp(seen.bytes.as_deref()),
            after: stamp(after.as_deref()),
            splices: doc.splices().to_vec(),
        };
        let is_ours_there = match which {
            Which::Servers => server_before.as_ref().is_some_and(claude::is_our_server),
            Which::Settings => had_hooks,
        };
        let fresh = Edited {
            path: seen.path.clone(),
            existed: seen.bytes.is_some(),
            layers: vec![layer.clone()],
            made: Some(missing.clone()),
            server_before: server_before.filter(|_| which == Which::Servers),
        };
        let edited = match record.and_then(|it| it.of(&seen.path)) {
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
        work.push(Work { seen, after, edited });
    }
    Ok(work)
}

/// Works out what uninstalling makes of both files.
fn uninstalling(places: &Places, record: Option<&Record>) -> Result<Vec<Work>, Error> {
    let mut work = Vec::new();
    for (path, which) in [(&places.servers, Which::Servers), (&places.settings, Which::Settings)] {
        let seen = file::look(path)?;
        let known = record.and_then(|it| it.of(path));
        let original = known.map_or(Original::Unknown, |it| it.original(seen.bytes.as_deref()));
        let after = match (&seen.bytes, original) {
            (None, _) | (Some(_), Original::Absent) => None,
            (Some(_), Original::Bytes(bytes)) => Some(bytes),
            (Some(_), Original::Unknown) => without_ours(&seen, which, known)?,
        };
        if after != seen.bytes {
            seen.is_writable()?;
        }
        work.push(Work { seen, after, edited: Edited::default() });
    }
    Ok(work)
}

/// A file that others have written since we did, without what is ours.
fn without_ours(
    seen: &Seen,
    which: Which,
    known: Option<&Edited>,
) -> Result<Option<Vec<u8>>, Error> {
    let mut doc = parse(seen)?;
    // Without a record all that is ours by its form goes, and what is empty then.
    let made = claude::Made(known.and_then(|it| it.made.as_deref()));
    match which {
        Which::Servers => {
            let before = known.and_then(|it| it.server_before.as_ref());
            claude::take_server(&mut doc, before, made);
        }
        Which::Settings => claude::take_settings(&mut doc, made),
    }
    let is_empty = doc.value().as_object().is_some_and(serde_json::Map::is_empty);
    let is_ours = known.is_some_and(|it| !it.existed) && !doc.splices().is_empty();
    Ok(if is_empty && is_ours { None } else { Some(doc.bytes()) })
}
