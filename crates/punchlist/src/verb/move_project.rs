//! `punchlist move-project`.

use std::path::{Path, PathBuf};

use punchlist_engine::project::relocate::Relocation;

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::clock::Clock;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{person, project};

/// Move the plans of a renamed or moved directory to its new path
///
/// Plans belong to a directory. If the directory is renamed or moved, its plans stay under the old
/// path; `punchlist plans --all` lists the directories that are gone. This verb moves the plans,
/// sessions and runs of the old directory and of the directories below it. If the new path already
/// has a plan of the same name, the moved plan is renamed, and the new name is printed. Consent and
/// trust given for the old directory are not moved.
#[derive(clap::Args)]
pub(crate) struct MoveProject {
    /// The old path, as `punchlist plans --all` shows it
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The new path
    #[arg(value_name = "NEW")]
    new: PathBuf,
}

impl Verb for MoveProject {
    const NAME: &'static str = "move-project";
    const GROUP: Group = Group::Keep;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist move-project ~/src/old-name ~/src/new-name
  punchlist move-project /home/me/app .";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        person::not_an_agent("projects are moved")?;
        let to = project::find(&at(app, &self.new)?)?;
        let relocation = Relocation::check(&at(app, &self.old)?, &to.name)?;
        let ctx = app.ctx()?;
        let Some(store) = app.store_to_read()? else { return Err(relocation.nothing()) };
        block_on(relocation.check_plans(&*store))?;
        let store = app.store()?;
        let ctx = app.in_session(ctx, &*store)?;
        let done = block_on(relocation.apply(&*store, app.database()?, &ctx, &Clock))?;
        if app.globals.json {
            return Ok(Reply::json(&done.json()));
        }
        Ok(Reply::text(done.text()))
    }
}

/// Resolves a path relative to the directory of the call.
fn at(app: &App, path: &Path) -> Result<PathBuf, Fail> {
    let path = match &app.globals.directory {
        Some(directory) => directory.join(path),
        None => path.to_owned(),
    };
    std::path::absolute(&path).map_err(|why| Fail::usage(format!("{}: {why}", path.display())))
}
