//! Gives a project its own database and trusts the project's files.
//!
//! [`Initialisation::check`] examines the project, [`Initialisation::about`] returns what a person
//! should read first, and [`Initialisation::apply`] creates the database and records the trust. The
//! front end asks in between.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punchlist_bridge::private;
use punchlist_formats::text;
use punchlist_model::session::Store;
use punchlist_model::store::{Error, Filter, PlanStore};
use serde_json::{Value, json};

use super::{CONFIG, FOLDER, Project, survey};
use crate::fail::{Code, Fail};
use crate::policy::trusted_files::{self, FileToTrust, TrustedFiles};

/// A database and a configuration to trust.
#[derive(Clone, Debug)]
pub struct Initialisation {
    root: PathBuf,
    database: PathBuf,
    /// Whether the database has to be created.
    makes_database: bool,
    /// The files whose current content is not trusted yet.
    new: Vec<FileToTrust>,
}

impl Initialisation {
    /// Examines the project and the database that it will use. Fails if one of the files cannot be
    /// trusted.
    pub fn check(
        project: &Project,
        database: PathBuf,
        trusted_files: &TrustedFiles,
    ) -> Result<Self, Fail> {
        let makes_database = !database.exists();
        check_database(&database)?;
        let mut files = vec![FileToTrust { path: database.clone(), text: None }];
        files.extend(configuration(&project.root)?);
        let new = trusted_files.not_yet(files)?;
        Ok(Self { root: project.root.clone(), database, makes_database, new })
    }

    /// The question for the person; `None` if there is nothing to do.
    pub fn question(&self) -> Option<String> {
        if self.makes_database {
            return Some(format!("Make {} and trust it?", shown(&self.database)));
        }
        (!self.new.is_empty()).then(|| "Trust this?".to_owned())
    }

    /// What the person should read before answering: plans, commands and rules in the project.
    /// `open` opens a database for reading.
    pub async fn about(
        &self,
        open: impl FnOnce(&Path) -> Result<Option<Arc<dyn Store>>, Error>,
    ) -> Vec<String> {
        let database = &self.database;
        let plans = match (!self.makes_database).then(|| open(database)).transpose() {
            Ok(store) => match store.flatten() {
                Some(store) => survey::plans(database, &*store).await,
                None => Vec::new(),
            },
            Err(why) => survey::unreadable(database, &why),
        };
        survey::lines(&self.root, plans, &self.new)
    }

    /// Creates the database if it does not exist, checks its format, and records the trust. `open`
    /// opens a database and creates it if there is none.
    pub fn apply(
        &self,
        trusted_files: &TrustedFiles,
        open: impl FnOnce(&Path) -> Result<Arc<dyn Store>, Error>,
    ) -> Result<(), Fail> {
        let folder = self.root.join(FOLDER);
        if self.database.starts_with(&folder) {
            let failed = |why: std::io::Error| {
                Fail::new(Code::Unusable, format!("cannot make {}: {why}", folder.display()))
            };
            private::directory(&folder).map_err(failed)?;
            ignore(&folder).map_err(failed)?;
        }
        drop(open(&self.database)?);
        trusted_files.add(&self.new)
    }

    /// Whether the database is newly trusted. Then verbs use it from now on.
    pub fn is_database_new(&self) -> bool {
        self.new.iter().any(|it| it.path == self.database)
    }

    /// The result as text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if self.makes_database {
            out.push_str(&format!("made {}\n", shown(&self.database)));
        }
        for file in &self.new {
            out.push_str(&format!("trusted {}\n", shown(&file.path)));
        }
        if out.is_empty() {
            let database = shown(&self.database);
            out.push_str(&format!("nothing to do: {database} is there and trusted\n"));
        }
        out
    }

    /// The result as JSON.
    pub fn json(&self) -> Value {
        let trusted: Vec<_> = self.new.iter().map(|it| it.path.to_string_lossy()).collect();
        let database = self.database.to_string_lossy();
        json!({"database": database, "made": self.makes_database, "trusted": trusted})
    }
}

/// Checks that the database can be trusted, or could be created.
fn check_database(database: &Path) -> Result<(), Fail> {
    let folder = database.parent().unwrap_or(Path::new("/"));
    match fs::symlink_metadata(folder) {
        Ok(meta) if !meta.is_dir() => {
            return Err(Fail::refused(format!("{} is not a directory", folder.display()))
                .hint("look at what lies there, and remove it if it is not yours."));
        }
        Ok(_) | Err(_) => {}
    }
    let strange = match fs::symlink_metadata(database) {
        Ok(meta) => trusted_files::strange(database, &meta),
        Err(_) => trusted_files::strange_beside(database),
    };
    strange.map_or(Ok(()), |why| {
        Err(Fail::refused(format!("{} cannot be trusted: {why}", database.display()))
            .hint("look at what lies in that directory, and remove it if it is not yours."))
    })
}

/// The project's own configuration with its current text.
fn configuration(root: &Path) -> Result<Option<FileToTrust>, Fail> {
    let path = root.join(CONFIG);
    let Ok(meta) = fs::symlink_metadata(&path) else { return Ok(None) };
    if let Some(why) = trusted_files::strange(&path, &meta) {
        return Err(Fail::refused(format!("{} cannot be trusted: {why}", path.display()))
            .hint("look at it, and remove it if it is not yours."));
    }
    let text = trusted_files::text(&path)?;
    Ok(Some(FileToTrust { path, text: Some(text) }))
}

/// Keeps the folder out of the repository, unless there is a `.gitignore`. A broken symbolic link
/// counts as one: nothing is written through it.
fn ignore(folder: &Path) -> std::io::Result<()> {
    match private::options().write(true).create_new(true).open(folder.join(".gitignore")) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(why) if why.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(why) => Err(why),
    }
}

/// A note that the project's plans are still in the user's database, which verbs no longer use
/// here, and how to import them. `None` if there are none or that database cannot be read.
pub async fn left_behind(
    store: &dyn PlanStore,
    database: &Path,
    project: &Project,
) -> Option<String> {
    let filter = Filter { project: Some(project.name.clone()), ..Filter::default() };
    let plans = store.plans(filter).await.ok()?;
    let path = database.display();
    let bring =
        |id: &str| format!("`punchlist --db {path} --plan {id} export | punchlist import -`");
    match plans.as_slice() {
        [] => None,
        [one] => {
            let id = one.id.short();
            Some(format!("this project's plan stays in {path}; to have it here: {}", bring(&id)))
        }
        several => Some(format!(
            "{} plans of this project stay in {path}; `punchlist --db {path} plans` shows them, \
             {} brings one over",
            several.len(),
            bring("ID")
        )),
    }
}

/// A path with control characters escaped, for a terminal.
fn shown(path: &Path) -> String {
    text::one_line(&path.to_string_lossy()).into_owned()
}
