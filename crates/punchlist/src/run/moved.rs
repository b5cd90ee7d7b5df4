//! Which plan a file belongs to, also after it was renamed or moved.
//!
//! A plan is recorded as made for the real path of its file. When a file is unknown, but says what one said whose path is gone, it was most likely moved:
//! whether what was done there counts, a person says. Nothing is run again in silence.

use std::path::{Path, PathBuf};

use punchlist_formats::planfile;
use punchlist_formats::text;
use punchlist_formats::view::Reader;
use punchlist_model::needs::Needs;
use punchlist_model::store::{self, Filter, PlanStore};
use punchlist_model::{Item, MadeFor, Plan, PlanId, Status, legacy_ids};

use super::file::Source;
use super::{Ask, Person};
use crate::app::App;
use crate::block_on;
use crate::error::{Code, Fail};
use crate::{clock, person, print};

/// The plan of a file, and what there is to say of that.
pub(super) struct Found {
    pub(super) plan: PlanId,
    /// It belonged to another file before.
    pub(super) is_moved: bool,
    pub(super) notes: Vec<String>,
}

/// A plan whose file is gone.
struct Gone {
    plan: Plan,
    path: PathBuf,
}

/// The plan that was made for a file.
fn made_for(path: &Path, store: &impl PlanStore) -> Result<Option<PlanId>, Fail> {
    Ok(block_on(store.plan_for(MadeFor::File(path.to_string_lossy().into_owned())))?)
}

/// The plan that a version before schema 7 made for a file that it never ran: found by the old id, if nothing
/// else was recorded for it since. The run that follows records the path.
fn made_before_schema_7(source: &Source, store: &impl PlanStore) -> Result<Option<PlanId>, Fail> {
    let old = legacy_ids::plan_id(&source.made_for());
    let plan = read(store, old, Needs::header())?;
    Ok(plan.filter(|it| it.made_for.is_none()).map(|it| it.id))
}

/// Finds the plan of a file. With `--dry-run` nobody is asked.
pub(super) fn find<S: PlanStore>(
    app: &App,
    ask: &Ask,
    source: &Source,
    store: &S,
    person: Person,
) -> Result<Found, Fail> {
    let at_once = |plan| Ok(Found { plan, is_moved: false, notes: Vec::new() });
    if let Some(from) = &ask.moved_from {
        let gone = named(from, source, store)?;
        return taken_up(app, source, gone);
    }
    if let Some(plan) = made_for(&source.path, store)? {
        return at_once(plan);
    }
    if let Some(plan) = made_before_schema_7(source, store)? {
        return at_once(plan);
    }
    let new = clock::plan_id(app.now)?;
    if ask.fresh {
        return at_once(new);
    }
    let Some(gone) = alike(source, store)? else { return at_once(new) };
    if came_with_its_project(app, &gone)? {
        return taken_up(app, source, gone);
    }
    if ask.dry_run {
        let note = format!("{}; {}", looks(source, &gone), hint(source, &gone));
        return Ok(Found { plan: new, is_moved: false, notes: vec![note] });
    }
    let question = format!("{}. Go on where its last run was?", looks(source, &gone));
    if person.is_there && print::confirm(&question) == print::Said::Yes {
        return taken_up(app, source, gone);
    }
    Err(Fail::refused(looks(source, &gone)).hint(hint(source, &gone)))
}

/// `plan.md says what /p/old.md said, which is gone and of which 3 of 5 items are done`
fn looks(source: &Source, gone: &Gone) -> String {
    let progress = gone.plan.progress();
    let (done, total) = (progress.completed, progress.total);
    let (name, path) = (&source.name, gone.path.display());
    format!(
        "{name} says what {path} said, which is gone and of which {done} of {total} items are done"
    )
}

fn hint(source: &Source, gone: &Gone) -> String {
    let (name, path) = (quoted(&source.name), quoted(&gone.path.to_string_lossy()));
    format!(
        "`punchlist run {name} --moved-from {path}` goes on where that run was; `--fresh` starts over."
    )
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "/._-+,@%".contains(it);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", text::one_line(word).replace('\'', "'\\''")),
    }
}

/// The plan, if there is one.
fn read(store: &impl PlanStore, plan: PlanId, needs: Needs) -> Result<Option<Plan>, Fail> {
    match block_on(store.read(plan, needs)) {
        Ok(plan) => Ok(Some(plan)),
        Err(store::Error::NoPlan(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The plan whose file is gone and that has what this file has, the one that was changed last.
fn alike(source: &Source, store: &impl PlanStore) -> Result<Option<Gone>, Fail> {
    // The plan that was changed last comes first.
    for summary in block_on(store.plans(Filter::default()))? {
        let Some(MadeFor::File(path)) = summary.made_for else { continue };
        let path = PathBuf::from(path);
        if path.exists() {
            continue;
        }
        let Some(plan) = read(store, summary.id, Needs::whole())? else { continue };
        if has_past(&plan) && is_alike(source, &plan) {
            return Ok(Some(Gone { plan, path }));
        }
    }
    Ok(None)
}

/// Whether anything would be lost if it were forgotten.
fn has_past(plan: &Plan) -> bool {
    let has_past = |it: &&Item| it.status != Status::Pending || it.is_interrupted();
    plan.listed().iter().any(has_past)
}

/// Whether a file and a plan have at least half of their items in common, each of its own.
fn is_alike(source: &Source, plan: &Plan) -> bool {
    let matched = planfile::matched(&source.file, plan).into_iter().flatten().count();
    let ours = plan.listed().into_iter().filter(|it| planfile::is_from_file(it)).count();
    matched > 0 && 2 * matched >= source.file.items.len().max(ours)
}

/// Whether the whole project was moved: its plans belong to this one already, but their files were
/// elsewhere.
fn came_with_its_project(app: &App, gone: &Gone) -> Result<bool, Fail> {
    let project = &app.project()?.name;
    Ok(gone.plan.project == *project && !gone.path.starts_with(project))
}

/// The plan of a file that is named and gone.
fn named(from: &Path, source: &Source, store: &impl PlanStore) -> Result<Gone, Fail> {
    let name = from.display();
    let unknown = || {
        Fail::new(Code::NotFound, format!("no run of {name} is known"))
            .hint("name it as it was; without `--moved-from` one that fits is looked for.")
    };
    let from = std::path::absolute(from).map_err(|_| unknown())?;
    // The directory may be there still, and may have another real path.
    let real = from.parent().and_then(|it| it.canonicalize().ok()).zip(from.file_name());
    let real = real.map(|(parent, name)| parent.join(name)).unwrap_or_else(|| from.clone());
    if real.exists() && real != source.path {
        return Err(Fail::refused(format!("{name} is still there: it was copied, not moved"))
            .hint("a copy is a plan of its own; run it without `--moved-from`."));
    }
    let plan = match made_for(&real, store)? {
        Some(plan) => Some(plan),
        None => made_for(&from, store)?,
    };
    let plan = read(store, plan.ok_or_else(unknown)?, Needs::whole())?.ok_or_else(unknown)?;
    Ok(Gone { plan, path: from })
}

/// The plan belongs to the file from now on.
fn taken_up(app: &App, source: &Source, gone: Gone) -> Result<Found, Fail> {
    let Gone { plan, path } = gone;
    let mut notes =
        vec![format!("{} was {}: what was done there counts", source.name, path.display())];
    let project = &app.project()?.name;
    if plan.project != *project {
        let old = &plan.project;
        let next = match person::reader() {
            Reader::Person => "`punchlist move-project` moves that",
            Reader::Agent => "your user can move that",
        };
        notes.push(format!("its plan belongs to {old} still; {next}"));
    }
    Ok(Found { plan: plan.id, is_moved: true, notes })
}
