//! `punchlist init`.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use punchlist_db::{Durability, Options, Sqlite};
use punchlist_formats::text;

use super::{Group, Verb};
use crate::app::App;
use crate::error::{Code, Fail};
use crate::print::Reply;
use crate::{config, project, trust};

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
        let ignore = folder.join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n").map_err(failed)?;
        }
        let made = !database.exists();
        // Not by the configuration: whether that counts is what is being settled here.
        let options = Options { path: database.clone(), durability: Durability::default() };
        if let Ok(meta) = fs::symlink_metadata(&database)
            && let Some(why) = trust::strange(&database, &meta)
        {
            return Err(Fail::refused(format!("{} cannot be trusted: {why}", database.display())));
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
        if app.globals.json {
            let value = serde_json::json!({
                "database": database.to_string_lossy(),
                "made": made,
                "trusted": new.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            });
            return Ok(Reply::json(&value));
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
        Ok(Reply::text(out))
    }
}

/// A path without what a directory's name could do to a terminal.
fn shown(path: &Path) -> String {
    text::one_line(&path.to_string_lossy()).into_owned()
}
