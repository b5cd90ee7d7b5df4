//! `punchlist init`.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use punchlist_db::{Durability, Options, Sqlite};
use punchlist_formats::text;
use punchlist_model::store::{Filter, PlanStore};

use super::{Group, Verb};
use crate::app::App;
use crate::error::{Code, Fail};
use crate::print::Reply;
use crate::settle::settle;
use crate::{config, places, project, trust};

/// Give this project a database of its own
///
/// Makes `.punchlist/punchlist.db` at the project's root and records that you trust it, and
/// `punchlist.toml` beside it if there is one. Without `init`, plans are kept in your data directory,
/// and files that came with a repository are ignored.
#[derive(clap::Args)]
pub(crate) struct Init {}

impl Verb for Init {
    const NAME: &'static str = "init";
    const GROUP: Group = Group::Keep;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist init
  punchlist -C ../other init";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        if app.globals.db.is_some() {
            return Err(Fail::usage(
                "init makes the project's own database; --db has no place here",
            )
            .hint("a database elsewhere is made by the first `punchlist add --db FILE …`."));
        }
        let project = app.project()?;
        let folder = project.root.join(project::FOLDER);
        let database = config::own_database(project);
        let failed = |why: std::io::Error| {
            Fail::new(Code::Unusable, format!("cannot make {}: {why}", folder.display()))
        };
        match fs::symlink_metadata(&folder) {
            Ok(meta) if !meta.is_dir() => {
                return Err(Fail::refused(format!("{} is not a directory", folder.display())));
            }
            Ok(_) => {}
            Err(_) => fs::DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?,
        }
        ignore(&folder).map_err(failed)?;
        let made = !database.exists();
        // Not by the configuration: whether that counts is what is being settled here.
        let options = Options { path: database.clone(), durability: Durability::default() };
        let untrusted = |why| {
            Fail::refused(format!("{} cannot be trusted: {why}", database.display()))
                .hint("look at what lies in that directory, and remove it if it is not yours.")
        };
        let strange = match fs::symlink_metadata(&database) {
            Ok(meta) => trust::strange(&database, &meta),
            Err(_) => trust::strange_beside(&database),
        };
        if let Some(why) = strange {
            return Err(untrusted(why));
        }
        // Opened to see that it is one of ours, also if it came with the repository.
        drop(Sqlite::open(&options)?);
        let mut paths = vec![database.clone()];
        let file = project.root.join("punchlist.toml");
        if let Ok(meta) = fs::symlink_metadata(&file) {
            if let Some(why) = trust::strange(&file, &meta) {
                return Err(Fail::refused(format!("{} cannot be trusted: {why}", file.display())));
            }
            paths.push(file);
        }
        let new = trust::add(&paths)?;
        let left = new.contains(&database).then(|| left_behind(app)).flatten();
        let notes: Vec<String> = left.into_iter().collect();
        if app.globals.json {
            let value = serde_json::json!({
                "database": database.to_string_lossy(),
                "made": made,
                "trusted": new.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            });
            return Ok(Reply { notes, ..Reply::json(&value) });
        }
        let mut out = String::new();
        if made {
            out.push_str(&format!("made {}\n", shown(&database)));
        }
        for path in &new {
            out.push_str(&format!("trusted {}\n", shown(path)));
        }
        if out.is_empty() {
            out.push_str(&format!("nothing to do: {} is there and trusted\n", shown(&database)));
        }
        Ok(Reply { notes, ..Reply::text(out) })
    }
}

/// Keeps the folder out of the repository, unless that was settled before. A link that leads
/// nowhere is there too: nothing is written through it.
fn ignore(folder: &Path) -> std::io::Result<()> {
    let file = fs::OpenOptions::new().write(true).create_new(true).open(folder.join(".gitignore"));
    match file {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(why) if why.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(why) => Err(why),
    }
}

/// That the project's plans so far stay in the user's database, where they will not be seen any
/// more, and how to bring them over. A courtesy: a database that cannot be read has nothing to say.
fn left_behind(app: &App) -> Option<String> {
    let path = places::data().ok()?.join("punchlist.db");
    let options = Options { path: path.clone(), durability: Durability::default() };
    let store = Sqlite::open_to_read(&options).ok()??;
    let project = Some(app.project().ok()?.name.clone());
    let plans = settle(store.plans(Filter { project, ..Filter::default() })).ok()?;
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
