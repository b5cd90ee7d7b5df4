//! Moves the plans of a renamed or moved directory to its new path.

use std::fs;
use std::path::Path;

use punchlist_formats::text::one_line;
use punchlist_model::session::Store;
use punchlist_model::store::{Change, Filter, Summary};
use punchlist_model::{Ctx, Op, PlanId, PlanPatch};
use serde_json::{Value, json};

use super::repository;
use crate::around::Around;
use crate::fail::Fail;

/// A move that has passed the first checks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relocation {
    from: String,
    to: String,
}

/// The result of a move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relocated {
    /// The new name of the project.
    pub to: String,
    from: String,
    plans: Vec<PlanId>,
    /// The plans whose name was taken in the new project, and their new names.
    renamed: Vec<(PlanId, String)>,
}

impl Relocation {
    /// Checks a move of the directory that was at the absolute path `old` to the project `to`.
    /// Fails if the old directory still exists.
    pub fn check(old: &Path, to: &str) -> Result<Self, Fail> {
        let from = old_name(old)?;
        if from == to {
            return Err(Fail::usage("both names mean the same directory"));
        }
        if !repository::is_gone(&from) {
            return Err(Fail::refused(format!("{from} is still there, so its plans stay with it"))
                .hint("rename or remove the directory first; `punchlist export` and `import` copy a plan."));
        }
        Ok(Self { from, to: to.to_owned() })
    }

    /// The error if there is nothing to move.
    pub fn nothing(&self) -> Fail {
        Fail::not_found(format!("no plan belongs to {}", self.from))
            .hint("`punchlist plans --all` shows which directories have plans.")
    }

    /// Fails if there is nothing to move. Changes nothing.
    pub async fn check_plans(&self, store: &dyn Store) -> Result<(), Fail> {
        let below = format!("{}/", self.from);
        let plans = store.plans(Filter::default()).await?;
        let is_moved = |it: &Summary| it.project == self.from || it.project.starts_with(&below);
        if plans.iter().any(is_moved) { Ok(()) } else { Err(self.nothing()) }
    }

    /// Moves plans, sessions and runs, and the record of the repository beside the database. Plans
    /// whose name is taken in the new project are renamed first.
    pub async fn apply(
        self,
        store: &dyn Store,
        database: &Path,
        ctx: &Ctx,
        around: &dyn Around,
    ) -> Result<Relocated, Fail> {
        let renamed = self.make_room(store, ctx, around).await?;
        let plans = store.move_project(self.from.clone(), self.to.clone()).await?;
        repository::move_records(database, &self.from, &self.to)?;
        Ok(Relocated { from: self.from, to: self.to, plans, renamed })
    }

    /// Renames plans whose name is taken in the new project. This includes the project's own plan,
    /// if the new project has one too.
    async fn make_room(
        &self,
        store: &dyn Store,
        ctx: &Ctx,
        around: &dyn Around,
    ) -> Result<Vec<(PlanId, String)>, Fail> {
        let is_own = |it: &Summary| it.name.is_none() && it.attachment.is_none();
        let old = plans_of(store, &self.from).await?;
        let new = plans_of(store, &self.to).await?;
        let mut taken: Vec<String> =
            new.iter().chain(&old).filter_map(|it| it.name.clone()).collect();
        let directory = Path::new(&self.from).file_name();
        let directory = directory.map_or_else(|| "old".into(), |it| it.to_string_lossy());
        let mut renamed = Vec::new();
        for plan in &old {
            let wanted = match &plan.name {
                Some(name) if new.iter().any(|it| it.name.as_ref() == Some(name)) => {
                    format!("{name} ({directory})")
                }
                None if is_own(plan) && new.iter().any(is_own) => directory.clone().into_owned(),
                Some(_) | None => continue,
            };
            let numbered = (2..).map(|n| format!("{wanted} {n}"));
            let free =
                std::iter::once(wanted.clone()).chain(numbered).find(|it| !taken.contains(it));
            let name = free.unwrap_or(wanted);
            let patch = PlanPatch { name: Some(Some(name.clone())), ..PlanPatch::default() };
            let ctx = Ctx { ids: around.ids(ctx.now)?, ..ctx.clone() };
            store.change(plan.id, Change::new(vec![Op::Plan(Box::new(patch))], ctx)).await?;
            taken.push(name.clone());
            renamed.push((plan.id, name));
        }
        Ok(renamed)
    }
}

impl Relocated {
    /// The result as text.
    pub fn text(&self) -> String {
        let (count, s) = (self.plans.len(), if self.plans.len() == 1 { "" } else { "s" });
        let mut out = format!("moved {count} plan{s} to {}\n", one_line(&self.to));
        for (id, name) in &self.renamed {
            out.push_str(&format!("plan {} is now called {}\n", id.short(), one_line(name)));
        }
        out
    }

    /// The result as JSON.
    pub fn json(&self) -> Value {
        let ids: Vec<String> = self.plans.iter().map(ToString::to_string).collect();
        let name = |(id, name): &(PlanId, String)| json!({"id": id.to_string(), "name": name});
        let renamed: Vec<Value> = self.renamed.iter().map(name).collect();
        json!({"from": self.from, "to": self.to, "plans": ids, "renamed": renamed})
    }
}

async fn plans_of(store: &dyn Store, project: &str) -> Result<Vec<Summary>, Fail> {
    let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
    Ok(store.plans(filter).await?)
}

/// The name of a project whose directory need not exist. Symbolic links above it are resolved where
/// they exist, because names of projects are canonical.
fn old_name(path: &Path) -> Result<String, Fail> {
    let existing = path.ancestors().find_map(|it| Some((it, fs::canonicalize(it).ok()?)));
    let resolved = match existing {
        Some((above, real)) => match path.strip_prefix(above) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            Ok(_) | Err(_) => real,
        },
        None => path.to_owned(),
    };
    let name = resolved.to_str().map(str::to_owned);
    name.ok_or_else(|| {
        let path = path.display();
        Fail::usage(format!("{path}: a project whose path is not UTF-8 cannot be named here"))
    })
}

#[cfg(test)]
mod tests {
    use punchlist_model::store::memory::Memory;
    use punchlist_model::store::{NewPlan, PlanStore};
    use punchlist_model::{Actor, IdSource, Timestamp};

    use super::*;
    use crate::around::System;

    fn at() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }

    fn ctx() -> Ctx {
        let ctx = Ctx::new("ann", at(), IdSource::fixed(at(), 9));
        Ctx { actor: Actor::person("ann"), ..ctx }
    }

    fn create(store: &Memory, n: u8, project: &str, name: Option<&str>) -> PlanId {
        let id = PlanId(IdSource::fixed(at(), n).nth(0));
        let name = name.map(str::to_owned);
        let new = NewPlan { name, ..NewPlan::new(id, project, at()) };
        pollster::block_on(store.create(new)).unwrap().id
    }

    #[test]
    fn plans_whose_name_is_taken_at_the_new_place_are_renamed() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let (old, new) = (root.join("old"), root.join("new"));
        let (from, to) = (old.to_str().unwrap(), new.to_str().unwrap());
        let store = Memory::new();
        create(&store, 1, from, Some("x"));
        create(&store, 2, from, None);
        create(&store, 3, to, Some("x"));
        create(&store, 4, to, Some("x (old)"));
        create(&store, 5, to, None);
        let relocation = Relocation::check(&old, to).unwrap();
        pollster::block_on(relocation.check_plans(&store)).unwrap();
        let database = root.join("plans.db");
        let ctx = ctx();
        let done = relocation.apply(&store, &database, &ctx, &System);
        let done = pollster::block_on(done).unwrap();
        assert_eq!(done.plans.len(), 2);
        let mut names: Vec<&str> = done.renamed.iter().map(|it| it.1.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["old", "x (old) 2"]);
        assert_eq!(pollster::block_on(plans_of(&store, to)).unwrap().len(), 5);
    }

    #[test]
    fn a_directory_that_is_still_there_keeps_its_plans() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let to = root.join("new");
        let to = to.to_str().unwrap();
        let message = |old: &Path| Relocation::check(old, to).unwrap_err().message;
        assert!(message(&root).contains("is still there"));
        assert_eq!(message(Path::new(to)), "both names mean the same directory");
        let gone = Relocation::check(&root.join("gone"), to).unwrap();
        let nothing = pollster::block_on(gone.check_plans(&Memory::new())).unwrap_err();
        assert!(nothing.message.starts_with("no plan belongs to"), "{}", nothing.message);
    }
}
