//! `punchlist move-project`.

use std::path::{Path, PathBuf};

use punchlist_formats::text::one_line;
use punchlist_model::session::Store;
use punchlist_model::store::{Change, Filter, Summary};
use punchlist_model::{Ctx, Op, PlanId, PlanPatch};
use serde_json::json;

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::error::Fail;
use crate::print::Reply;
use crate::{clock, database, person, project, repository};

/// Move the plans of a renamed or moved directory to its new path
///
/// Plans belong to a directory. When that is renamed or moved, its plans stay with the old name;
/// `punchlist plans --all` says which directories are gone. This moves the plans, the sessions and the runs
/// of the old directory, and of those that were below it. A plan whose name is taken at the new place gets
/// another one, which is said. Consent and trust that were given for the old directory are not moved.
#[derive(clap::Args)]
pub(crate) struct MoveProject {
    /// The directory as it was called, as `punchlist plans --all` shows it
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The directory as it is called now
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
        let from = old_name(app, &self.old)?;
        let to = project::find(&at(app, &self.new))?;
        if from == to.name {
            return Err(Fail::usage("both names mean the same directory"));
        }
        if !repository::is_gone(&from) {
            return Err(Fail::refused(format!("{from} is still there, so its plans stay with it"))
                .hint("rename or remove the directory first; `punchlist export` and `import` copy a plan."));
        }
        let ctx = app.ctx()?;
        let Some(_) = app.store_to_read()? else { return Err(nothing(&from)) };
        let store = app.store()?;
        let old = plans_of(&*store, &from)?;
        if old.is_empty() && !has_below(&*store, &from)? {
            return Err(nothing(&from));
        }
        let ctx = app.in_session(ctx, &*store)?;
        let renamed = make_room(&*store, &from, &to.name, &old, &ctx)?;
        let moved = database::move_project(&app.database_options()?, &from, &to.name)?;
        repository::moved(app.database()?, &from, &to.name)?;
        if app.globals.json {
            let ids: Vec<String> = moved.iter().map(ToString::to_string).collect();
            let names: Vec<_> = renamed
                .iter()
                .map(|(id, name)| json!({"id": id.to_string(), "name": name}))
                .collect();
            let value = json!({"from": from, "to": to.name, "plans": ids, "renamed": names});
            return Ok(Reply::json(&value));
        }
        let s = if moved.len() == 1 { "" } else { "s" };
        let mut out = format!("moved {} plan{s} to {}\n", moved.len(), one_line(&to.name));
        for (id, name) in &renamed {
            out.push_str(&format!("plan {} is now called {}\n", id.short(), one_line(name)));
        }
        Ok(Reply::text(out))
    }
}

fn nothing(from: &str) -> Fail {
    Fail::not_found(format!("no plan belongs to {from}"))
        .hint("`punchlist plans --all` shows which directories have plans.")
}

/// A path that was typed, from where the call is made.
fn at(app: &App, path: &Path) -> PathBuf {
    match &app.globals.directory {
        Some(directory) => directory.join(path),
        None => path.to_owned(),
    }
}

/// The name of a project whose directory need not be there. Links above it are resolved as far as they are
/// there, because names of projects are canonical.
fn old_name(app: &App, path: &Path) -> Result<String, Fail> {
    let wrong = |why: &dyn std::fmt::Display| Fail::usage(format!("{}: {why}", path.display()));
    let whole = std::path::absolute(at(app, path)).map_err(|why| wrong(&why))?;
    let mut rest = PathBuf::new();
    let mut above = whole.as_path();
    let resolved = loop {
        if let Ok(found) = std::fs::canonicalize(above) {
            break found.join(&rest);
        }
        match (above.parent(), above.file_name()) {
            (Some(parent), Some(name)) => {
                rest = if rest.as_os_str().is_empty() {
                    name.into()
                } else {
                    Path::new(name).join(&rest)
                };
                above = parent;
            }
            _ => break whole.clone(),
        }
    };
    let name = resolved.to_str().map(str::to_owned);
    name.ok_or_else(|| wrong(&"a project whose path is not UTF-8 cannot be named here"))
}

fn plans_of(store: &dyn Store, project: &str) -> Result<Vec<Summary>, Fail> {
    let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
    Ok(block_on(store.plans(filter))?)
}

fn has_below(store: &dyn Store, project: &str) -> Result<bool, Fail> {
    let below = format!("{project}/");
    Ok(block_on(store.plans(Filter::default()))?.iter().any(|it| it.project.starts_with(&below)))
}

/// Gives another name to plans whose name is taken at the new place: one by name, and the project's own if
/// the new place has one as well. Which, and how they are called now.
fn make_room(
    store: &dyn Store,
    from: &str,
    to: &str,
    old: &[Summary],
    ctx: &Ctx,
) -> Result<Vec<(PlanId, String)>, Fail> {
    let is_own = |it: &Summary| it.name.is_none() && it.attachment.is_none();
    let new = plans_of(store, to)?;
    let mut taken: Vec<String> = new.iter().chain(old).filter_map(|it| it.name.clone()).collect();
    let directory =
        Path::new(from).file_name().map_or_else(|| "old".into(), |it| it.to_string_lossy());
    let mut renamed = Vec::new();
    for plan in old {
        let wanted = match &plan.name {
            Some(name) if new.iter().any(|it| it.name.as_ref() == Some(name)) => {
                format!("{name} ({directory})")
            }
            None if is_own(plan) && new.iter().any(is_own) => directory.clone().into_owned(),
            Some(_) | None => continue,
        };
        let numbered = (2..).map(|n| format!("{wanted} {n}"));
        let free = std::iter::once(wanted.clone()).chain(numbered).find(|it| !taken.contains(it));
        let name = free.unwrap_or(wanted);
        let patch = PlanPatch { name: Some(Some(name.clone())), ..PlanPatch::default() };
        let ctx = Ctx { ids: clock::ids(ctx.now)?, ..ctx.clone() };
        block_on(store.change(plan.id, Change::new(vec![Op::Plan(Box::new(patch))], ctx)))?;
        taken.push(name.clone());
        renamed.push((plan.id, name));
    }
    Ok(renamed)
}
