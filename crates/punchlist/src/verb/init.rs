//! `punchlist init`.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use punchlist_engine::policy::trusted_files::{self, FileToTrust};
use punchlist_formats::text;
use punchlist_model::store::Filter;
use punchlist_store::{Durability, Options};

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::error::{Code, Fail};
use crate::person::{self, Act};
use crate::print::Reply;
use crate::{config, database, places, private, project, survey};

/// Give this project its own database and trust the files in it
///
/// Shows the plans and commands that lie in the project (in its database, its `punchlist.toml` and its plan
/// files) and asks. Then it makes `.punchlist/punchlist.db` at the project's root, or the file that `--db`
/// names, and records that you trust it, and `punchlist.toml` as it is now: once that changes, it is ignored
/// until you trust it again. Without `init`, plans are kept in your data directory, and files that came with
/// a repository are ignored. It is for a person at a terminal, who confirms it by a key.
#[derive(clap::Args)]
pub(crate) struct Init {}

impl Verb for Init {
    const NAME: &'static str = "init";
    const GROUP: Group = Group::Keep;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist init
  punchlist -C ../other init
  punchlist --db plans.db init";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let what = "files in a project are trusted";
        person::at_terminal(what, Self::NAME)?;
        let root = &app.project()?.root;
        let database = database(app)?;
        let made = !database.exists();
        usable(&database)?;
        let trusted_files = places::trusted_files();
        let mut files = vec![FileToTrust { path: database.clone(), text: None }];
        files.extend(configuration(root)?);
        let new = trusted_files.not_yet(files)?;
        if made || !new.is_empty() {
            let about = survey::lines(root, &database, &new);
            let question = if made {
                format!("Make {} and trust it?", shown(&database))
            } else {
                "Trust this?".to_owned()
            };
            let otherwise = "nothing was made or trusted";
            Act { what, verb: Self::NAME, about: &about, question: &question, otherwise }
                .confirm()?;
        }
        make(&database, root)?;
        trusted_files.add(&new)?;
        let is_new = new.iter().any(|it| it.path == database);
        let left = is_new.then(|| left_behind(app)).flatten();
        let notes: Vec<String> = left.into_iter().collect();
        let paths = new.iter().map(|it| &it.path);
        if app.globals.json {
            let value = serde_json::json!({
                "database": database.to_string_lossy(),
                "made": made,
                "trusted": paths.map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            });
            return Ok(Reply { notes, ..Reply::json(&value) });
        }
        let mut out = String::new();
        if made {
            out.push_str(&format!("made {}\n", shown(&database)));
        }
        for path in paths {
            out.push_str(&format!("trusted {}\n", shown(path)));
        }
        if out.is_empty() {
            out.push_str(&format!("nothing to do: {} is there and trusted\n", shown(&database)));
        }
        Ok(Reply { notes, ..Reply::text(out) })
    }
}

/// The database: the one that `--db` names, else the project's own.
fn database(app: &App) -> Result<PathBuf, Fail> {
    let Some(named) = &app.globals.db else { return Ok(config::own_database(app.project()?)) };
    let path = app.named(named.clone())?;
    let path = std::path::absolute(&path)
        .map_err(|why| Fail::usage(format!("{} is no path: {why}", path.display())))?;
    // As it is found later: the directory by its real name, the file by the one that it is given.
    let real = path.parent().and_then(|it| fs::canonicalize(it).ok());
    Ok(real.zip(path.file_name()).map_or(path.clone(), |(real, name)| real.join(name)))
}

/// Whether a database is there that can be trusted, or could be made.
fn usable(database: &Path) -> Result<(), Fail> {
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

/// The project's own configuration, as it is now.
fn configuration(root: &Path) -> Result<Option<FileToTrust>, Fail> {
    let path = root.join(project::CONFIG);
    let Ok(meta) = fs::symlink_metadata(&path) else { return Ok(None) };
    if let Some(why) = trusted_files::strange(&path, &meta) {
        return Err(Fail::refused(format!("{} cannot be trusted: {why}", path.display()))
            .hint("look at it, and remove it if it is not yours."));
    }
    let text = trusted_files::text(&path)?;
    Ok(Some(FileToTrust { path, text: Some(text) }))
}

/// Makes the database unless it is there, and sees that it is one of ours.
fn make(database: &Path, root: &Path) -> Result<(), Fail> {
    let folder = root.join(project::FOLDER);
    if database.starts_with(&folder) {
        let failed = |why: std::io::Error| {
            Fail::new(Code::Unusable, format!("cannot make {}: {why}", folder.display()))
        };
        private::directory(&folder).map_err(failed)?;
        ignore(&folder).map_err(failed)?;
    }
    // Not by the configuration: whether that counts is what is being settled here.
    let options = Options { path: database.to_owned(), durability: Durability::default() };
    drop(database::open(&options)?);
    Ok(())
}

/// Keeps the folder out of the repository, unless that was settled before. A link that leads
/// nowhere is there too: nothing is written through it.
fn ignore(folder: &Path) -> std::io::Result<()> {
    match private::options().write(true).create_new(true).open(folder.join(".gitignore")) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(why) if why.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(why) => Err(why),
    }
}

/// That the project's plans so far stay in the user's database, where they will not be seen any
/// more, and how to bring them over. A courtesy: a database that cannot be read has nothing to say.
fn left_behind(app: &App) -> Option<String> {
    let path = places::database().ok()?;
    let options = Options { path: path.clone(), durability: Durability::default() };
    let store = database::open_to_read(&options).ok()??;
    let project = Some(app.project().ok()?.name.clone());
    let plans = block_on(store.plans(Filter { project, ..Filter::default() })).ok()?;
    let path = path.display();
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

/// A path without what a directory's name could do to a terminal.
fn shown(path: &Path) -> String {
    text::one_line(&path.to_string_lossy()).into_owned()
}
