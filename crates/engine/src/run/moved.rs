//! Which plan a file belongs to, also after it was renamed or moved.
//!
//! A plan belongs to the file of its newest run. At first that is the file from whose path the plan's id
//! follows. When a file is unknown, but says what one said whose path is gone, it was most likely moved:
//! whether what was done there counts, a person says. Nothing is run again in silence.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use punchlist_formats::planfile;
use punchlist_formats::text;
use punchlist_model::call::RunFilter;
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store;
use punchlist_model::{Item, Plan, PlanId, Status};

use super::file::Source;
use super::front_end::FrontEnd;
use super::options::{Caller, Options};
use crate::fail::{Code, Fail};

/// The plan of a file, and what there is to say of that.
pub(crate) struct Found {
    pub(crate) plan: PlanId,
    /// It belonged to another file before.
    pub(crate) is_moved: bool,
    pub(crate) notes: Vec<String>,
}

/// A plan whose file is gone.
struct Gone {
    plan: Plan,
    path: PathBuf,
}

/// The files that plans belong to: those of their newest runs.
struct Owners(BTreeMap<PlanId, PathBuf>);

impl Owners {
    async fn read(store: &dyn Store) -> Result<Self, Fail> {
        let mut owners = BTreeMap::new();
        // The newest comes first.
        for run in store.runs(RunFilter::default()).await? {
            let path = PathBuf::from(run.what);
            if let Some(plan) = run.plan.filter(|_| path.is_absolute()) {
                owners.entry(plan).or_insert(path);
            }
        }
        Ok(Self(owners))
    }

    /// The plan that belongs to a file.
    fn of(&self, path: &Path) -> Option<PlanId> {
        self.0.iter().find(|(_, owner)| owner.as_path() == path).map(|(plan, _)| *plan)
    }
}

/// Finds the plan of a file. For a preview there is no front end, and nobody is asked.
pub(crate) async fn find(
    source: &Source,
    options: &Options,
    store: &dyn Store,
    caller: &Caller,
    front_end: Option<&mut dyn FrontEnd>,
) -> Result<Found, Fail> {
    let owners = Owners::read(store).await?;
    let at_once = |plan| Ok(Found { plan, is_moved: false, notes: Vec::new() });
    if let Some(from) = &options.earlier.moved_from {
        let gone = named(from, &owners, source, store).await?;
        return Ok(taken_up(caller, source, gone));
    }
    if let Some(plan) = owners.of(&source.path) {
        return at_once(plan);
    }
    let own = PlanId::of_file(&source.path.to_string_lossy());
    let is_free = !owners.0.contains_key(&own);
    if is_free && header(store, own).await?.is_some() {
        return at_once(own);
    }
    // The id that follows from this path may be that of a plan whose file was moved away from here.
    let new = if is_free { own } else { new_id(caller)? };
    if options.earlier.fresh {
        return at_once(new);
    }
    let Some(gone) = alike(&owners, source, store).await? else { return at_once(new) };
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

/// The id of a new plan. Its counter keeps it apart from the items that the same run makes.
fn new_id(caller: &Caller) -> Result<PlanId, Fail> {
    Ok(PlanId(caller.around.ids(caller.ctx.now)?.nth(u32::MAX)))
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

/// The plan without its items, if there is one.
async fn header(store: &dyn Store, plan: PlanId) -> Result<Option<Plan>, Fail> {
    read(store, plan, Needs::header()).await
}

async fn read(store: &dyn Store, plan: PlanId, needs: Needs) -> Result<Option<Plan>, Fail> {
    match store.read(plan, needs).await {
        Ok(plan) => Ok(Some(plan)),
        Err(store::Error::NoPlan(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The plan whose file is gone and that has what this file has, the one that was changed last.
async fn alike(owners: &Owners, source: &Source, store: &dyn Store) -> Result<Option<Gone>, Fail> {
    let mut found: Option<Gone> = None;
    for (plan, path) in owners.0.iter().filter(|(_, path)| !path.exists()) {
        let Some(plan) = read(store, *plan, Needs::whole()).await? else { continue };
        let is_newer = found.as_ref().is_none_or(|it| it.plan.updated_at < plan.updated_at);
        if is_newer && has_past(&plan) && is_alike(source, &plan) {
            found = Some(Gone { plan, path: path.clone() });
        }
    }
    Ok(found)
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
fn came_with_its_project(caller: &Caller, gone: &Gone) -> bool {
    gone.plan.project == caller.project && !gone.path.starts_with(&caller.project)
}

/// The plan of a file that is named and gone.
async fn named(
    from: &Path,
    owners: &Owners,
    source: &Source,
    store: &dyn Store,
) -> Result<Gone, Fail> {
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
    let plan = owners.of(&real).or_else(|| owners.of(&from)).ok_or_else(unknown)?;
    let plan = read(store, plan, Needs::whole()).await?.ok_or_else(unknown)?;
    Ok(Gone { plan, path: from })
}

/// The plan belongs to the file from now on.
fn taken_up(caller: &Caller, source: &Source, gone: Gone) -> Found {
    let Gone { plan, path } = gone;
    let mut notes =
        vec![format!("{} was {}: what was done there counts", source.name, path.display())];
    if plan.project != caller.project {
        let old = &plan.project;
        notes.push(format!("its plan belongs to {old} still; `punchlist move-project` moves that"));
    }
    Found { plan: plan.id, is_moved: true, notes }
}
