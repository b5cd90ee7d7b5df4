//! `punchlist init`.

use std::fs;
use std::path::{Path, PathBuf};

use punchlist_engine::policy::consent::Consent;
use punchlist_engine::project::init::{self, Initialisation};
use punchlist_formats::text;
use serde_json::json;

use super::{Group, Verb};
use crate::app::App;
use crate::args::Globals;
use crate::block_on;
use crate::database::StoreOptions;
use crate::fail::Fail;
use crate::person::{self, Act};
use crate::print::Reply;
use crate::session::instructions;
use crate::{config, database, places};

/// Give this project its own database and trust the files in it
///
/// Shows the plans and commands that the project contains (in its database, its `punchlist.toml`
/// and its plan files) and asks for confirmation. Then it creates `.punchlist/punchlist.db` at the
/// project's root, or the file that `--db` names, and records that you trust this database and the
/// present `punchlist.toml`. If `punchlist.toml` changes later, it is ignored until you trust it
/// again.
///
/// Without `init`, plans are stored in your data directory, and a database or `punchlist.toml` that
/// came with a repository is ignored. Only a person at a terminal can do this, and confirms it with
/// a key.
///
/// With `--instructions`, it only asks whether models may follow the project's instructions for
/// agents (`AGENTS.md`).
#[derive(clap::Args)]
pub(crate) struct Init {
    /// Ask whether models of `do` may follow the project's instructions; do nothing else
    #[arg(long, conflicts_with = "no_instructions")]
    instructions: bool,
    /// Never show the project's instructions to models of `do`; do nothing else
    #[arg(long)]
    no_instructions: bool,
}

impl Verb for Init {
    const NAME: &'static str = "init";
    const GROUP: Group = Group::Keep;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist init
  punchlist -C ../other init
  punchlist init --instructions
  punchlist --db plans.db init";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        if self.instructions || self.no_instructions {
            return self.instructions(app);
        }
        let what = "files in a project are trusted";
        person::at_terminal(what, Self::NAME)?;
        if app.globals.db.as_deref().is_some_and(database::is_address) {
            return on_server(app);
        }
        let trusted_files = places::trusted_files();
        let new = Initialisation::check(app.project()?, database(app)?, &trusted_files)?;
        if let Some(question) = new.question() {
            let about = block_on(new.about(|path| database::open_to_read(&at(path))));
            let otherwise = "nothing was created or trusted";
            Act { what, verb: Self::NAME, about: &about, question: &question, otherwise }
                .confirm()?;
        }
        new.apply(&trusted_files, |path| database::open(&at(path)))?;
        let left = new.is_database_new().then(|| left_behind(app)).flatten();
        let notes = left.into_iter().collect();
        if app.globals.json {
            return Ok(Reply { notes, ..Reply::json(&new.json()) });
        }
        Ok(Reply { notes, ..Reply::text(new.text()) })
    }
}

impl Init {
    /// Trusts the project's instructions, or withdraws the trust.
    fn instructions(&self, app: &App) -> Result<Reply, Fail> {
        let project = &app.project()?.name;
        let mut notes = Vec::new();
        let is_trusted = if self.instructions {
            let found = instructions::read(app)?;
            notes = found.ignored;
            instructions::ask(app, &found.files)?
        } else {
            person::not_an_agent("the trust in instructions is changed")?;
            Consent::Instructions.refuse(&places::data()?, project)?;
            false
        };
        if app.globals.json {
            let value = json!({"project": project, "instructions": is_trusted});
            return Ok(Reply { notes, ..Reply::json(&value) });
        }
        let words = if is_trusted { "models follow" } else { "models do not read" };
        let text = format!("{words} the instructions of {}\n", text::one_line(project));
        Ok(Reply { notes, ..Reply::text(text) })
    }
}

/// Database options without the configuration, which is not trusted yet.
fn at(path: &Path) -> StoreOptions {
    StoreOptions::file(path)
}

/// Prepares a database on a server, and records the project there.
fn on_server(app: &App) -> Result<Reply, Fail> {
    let options = app.database_options()?;
    database::open(&options)?;
    let (address, project) = (options.named(), &app.project()?.name);
    if app.globals.json {
        return Ok(Reply::json(
            &json!({"database": address.display().to_string(), "project": project}),
        ));
    }
    Ok(Reply::text(format!(
        "the database is ready: {}\nso that every verb uses it, write into your config.toml:\n\n\
         [store]\nurl = \"{}\"\n",
        address.display(),
        address.display()
    )))
}

/// The database: the one that `--db` names, else the project's own.
fn database(app: &App) -> Result<PathBuf, Fail> {
    let Some(named) = &app.globals.db else { return Ok(app.project()?.own_database()) };
    let path = app.named(named.clone())?;
    let path = std::path::absolute(&path)
        .map_err(|why| Fail::usage(format!("{} is not a valid path: {why}", path.display())))?;
    // In the form in which the database is looked up later: a canonical directory and the given
    // file name.
    let real = path.parent().and_then(|it| fs::canonicalize(it).ok());
    Ok(real.zip(path.file_name()).map_or(path.clone(), |(real, name)| real.join(name)))
}

/// A note that the project's existing plans stay in the user's database: on the server that the user's
/// configuration names, or in a file.
fn left_behind(app: &App) -> Option<String> {
    let users = match config::users().ok().and_then(|it| it.store.url) {
        Some(url) => {
            let globals = Globals { db: Some(url.into()), ..app.globals.clone() };
            App::new(globals).database_options().ok()?
        }
        None => at(&places::database().ok()?),
    };
    let store = database::open_to_read(&users).ok()??;
    block_on(init::left_behind(&*store, &users.named(), app.project().ok()?))
}
