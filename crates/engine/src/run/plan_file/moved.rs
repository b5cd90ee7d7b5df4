//! Finds the plan of a file, also after the file was renamed or moved.
//!
//! A plan is recorded with the real path of its file. If a file has no plan, another file with the
//! same content may be gone; then this one was probably moved. A person confirms that the progress
//! made there counts. Nothing is run again without asking.

use std::path::{Path, PathBuf};

use punchlist_formats::planfile;
use punchlist_formats::text;
use punchlist_formats::view::Reader;
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store::{self, Filter};
use punchlist_model::{Item, MadeFor, Plan, PlanId, Status, legacy_ids};

use super::Source;
use crate::fail::{Code, Fail};
use crate::plan_service::{self, Which};
use crate::run::front_end::FrontEnd;
use crate::run::options::{Caller, Options};

/// The plan of a file, with notes about it.
pub(crate) struct Found {
    pub(crate) plan: PlanId,
    /// Whether the plan belonged to another file before.
    pub(crate) is_moved: bool,
    pub(crate) notes: Vec<String>,
}

/// A plan whose file is gone.
struct Gone {
    plan: Plan,
    path: PathBuf,
}

/// The plan that was made for the file at a path.
async fn made_for(path: &Path, store: &dyn Store, caller: &Caller) -> Result<Option<PlanId>, Fail> {
    let which = Which::File { path: path.to_string_lossy().into_owned(), name: None };
    Ok(plan_service::find(store, &caller.project, &which).await?)
}

/// The plan that a version before schema 7 made for a file that was never run since. It is found by
/// the old id, if nothing else is recorded for it. The run that follows records the path.
async fn made_before_schema_7(source: &Source, store: &dyn Store) -> Result<Option<PlanId>, Fail> {
    let old = legacy_ids::plan_id(&source.made_for());
    let plan = if_there(store.read(old, Needs::header()).await)?;
    Ok(plan.filter(|it| it.made_for.is_none()).map(|it| it.id))
}

/// Finds the plan of a file. A preview has no front end, and nobody is asked.
pub(crate) async fn find(
    source: &Source,
    options: &Options,
    store: &dyn Store,
    caller: &Caller,
    front_end: Option<&mut dyn FrontEnd>,
) -> Result<Found, Fail> {
    let at_once = |plan| Ok(Found { plan, is_moved: false, notes: Vec::new() });
    if let Some(from) = &options.earlier.moved_from {
        let gone = named(from, source, store, caller).await?;
        return Ok(taken_up(caller, source, gone));
    }
    if let Some(plan) = plan_service::find(store, &caller.project, &source.which()).await? {
        return at_once(plan);
    }
    if let Some(plan) = made_before_schema_7(source, store).await? {
        return at_once(plan);
    }
    let new = new_id(caller)?;
    if options.earlier.fresh {
        return at_once(new);
    }
    let Some(gone) = alike(source, store).await? else { return at_once(new) };
    if came_with_its_project(caller, &gone) {
        return Ok(taken_up(caller, source, gone));
    }
    let Some(front_end) = front_end else {
        let note = format!("{}; {}", looks(source, &gone), hint(source, &gone));
        return Ok(Found { plan: new, is_moved: false, notes: vec![note] });
    };
    let question = format!("{}. Go on where its last run was?", looks(source, &gone));
    if caller.person.is_there && front_end.confirm(&question).await {
        return Ok(taken_up(caller, source, gone));
    }
    Err(Fail::refused(looks(source, &gone)).hint(hint(source, &gone)))
}

/// The id of a new plan. The highest counter keeps it apart from the ids of items that the same run
/// adds.
fn new_id(caller: &Caller) -> Result<PlanId, Fail> {
    Ok(PlanId(caller.around.ids(caller.ctx.now)?.nth(u32::MAX)))
}

/// `plan.md looks like /p/old.md, which is gone; 3 of its 5 items are done`
fn looks(source: &Source, gone: &Gone) -> String {
    let progress = gone.plan.progress();
    let (done, total) = (progress.completed, progress.total);
    let (name, path) = (&source.name, gone.path.display());
    format!("{name} looks like {path}, which is gone; {done} of its {total} items are done")
}

fn hint(source: &Source, gone: &Gone) -> String {
    let (name, path) = (quoted(&source.name), quoted(&gone.path.to_string_lossy()));
    format!(
        "`punchlist run {name} --moved-from {path}` goes on where that run was; `--fresh` starts over."
    )
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "/._-+,@%".contains(it);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", text::one_line(word).replace('\'', "'\\''")),
    }
}

/// The result of reading a plan; `None` if there is no such plan.
fn if_there<T>(read: Result<T, store::Error>) -> Result<Option<T>, Fail> {
    match read {
        Ok(plan) => Ok(Some(plan)),
        Err(store::Error::NoPlan(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A plan whose file is gone and whose items match this file.
async fn alike(source: &Source, store: &dyn Store) -> Result<Option<Gone>, Fail> {
    // Plans are sorted by last change, newest first.
    for summary in store.plans(Filter::default()).await? {
        let Some(MadeFor::File(path)) = summary.made_for else { continue };
        let path = PathBuf::from(path);
        if path.exists() {
            continue;
        }
        let Some(plan) = if_there(store.whole(summary.id).await)? else { continue };
        if has_past(&plan) && is_alike(source, &plan) {
            return Ok(Some(Gone { plan, path }));
        }
    }
    Ok(None)
}

/// Whether the plan has any progress to lose.
fn has_past(plan: &Plan) -> bool {
    let has_past = |it: &&Item| it.status != Status::Pending || it.is_interrupted();
    plan.listed().iter().any(has_past)
}

/// Whether a file and a plan have at least half of their items in common.
fn is_alike(source: &Source, plan: &Plan) -> bool {
    let matched = planfile::matched(&source.file, plan).into_iter().flatten().count();
    let ours = plan.listed().into_iter().filter(|it| planfile::is_from_file(it)).count();
    matched > 0 && 2 * matched >= source.file.items.len().max(ours)
}

/// Whether the whole project was moved: the plan belongs to this project already, but its file was
/// elsewhere.
fn came_with_its_project(caller: &Caller, gone: &Gone) -> bool {
    gone.plan.project == caller.project && !gone.path.starts_with(&caller.project)
}

/// The plan of the file that `--moved-from` names.
async fn named(
    from: &Path,
    source: &Source,
    store: &dyn Store,
    caller: &Caller,
) -> Result<Gone, Fail> {
    let name = from.display();
    let unknown = || {
        Fail::new(Code::NotFound, format!("no run of {name} is known"))
            .hint("name it as it was; without `--moved-from` one that fits is looked for.")
    };
    let from = std::path::absolute(from).map_err(|_| unknown())?;
    // The directory may still exist and have another real path.
    let real = from.parent().and_then(|it| it.canonicalize().ok()).zip(from.file_name());
    let real = real.map(|(parent, name)| parent.join(name)).unwrap_or_else(|| from.clone());
    if real.exists() && real != source.path {
        return Err(Fail::refused(format!("{name} is still there: it was copied, not moved"))
            .hint("a copy is a plan of its own; run it without `--moved-from`."));
    }
    let plan = match made_for(&real, store, caller).await? {
        Some(plan) => Some(plan),
        None => made_for(&from, store, caller).await?,
    };
    let plan = plan.ok_or_else(unknown)?;
    let plan = if_there(store.whole(plan).await)?.ok_or_else(unknown)?;
    Ok(Gone { plan, path: from })
}

/// Takes over the plan of a moved file.
fn taken_up(caller: &Caller, source: &Source, gone: Gone) -> Found {
    let Gone { plan, path } = gone;
    let mut notes =
        vec![format!("{} was {}: what was done there counts", source.name, path.display())];
    if plan.project != caller.project {
        let old = &plan.project;
        let next = match caller.person.reader() {
            Reader::Person => "`punchlist move-project` moves that",
            Reader::Agent => "your user can move that",
        };
        notes.push(format!("its plan belongs to {old} still; {next}"));
    }
    Found { plan: plan.id, is_moved: true, notes }
}
