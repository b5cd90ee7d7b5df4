//! The traits for plans and sessions.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_model::needs::Needs;
use punchlist_model::session::{Kept, Session, SessionFilter, SessionKey, SessionStore};
use punchlist_model::store::maintenance::{Health, MaintenanceStore};
use punchlist_model::store::notices::NoticeStore;
use punchlist_model::store::{
    Applied, Attachment, AttachmentKey, Change, Cursor, Entry, Error, Filter, Following, FoundItem,
    ItemSearch, NewPlan, PlanStore, ProjectSums, Scope, Since, Summary,
};
use punchlist_model::{Ctx, ItemRef, MadeFor, Plan, PlanId, Process, Revision, Slice, Timestamp};

use super::changes::Tries;
use super::{
    Postgres, attachments, changes, follow, journal, load, maintenance, notices, plans, runner,
    save, sessions,
};

impl PlanStore for Postgres {
    fn create(&self, new: NewPlan) -> BoxFuture<'_, Result<Plan, Error>> {
        self.write(move |tx| Box::pin(changes::create(tx, new.clone())))
    }

    fn change(&self, plan: PlanId, change: Change) -> BoxFuture<'_, Result<Applied, Error>> {
        let tries = Arc::new(Tries::default());
        self.write_journal(move |tx| {
            let (change, tries) = (change.clone(), Arc::clone(&tries));
            Box::pin(async move { changes::change(tx, plan, change, &tries).await })
        })
    }

    fn undo(
        &self,
        plan: PlanId,
        ctx: Ctx,
        expect: Option<Revision>,
    ) -> BoxFuture<'_, Result<Applied, Error>> {
        let tries = Arc::new(Tries::default());
        self.write_journal(move |tx| {
            let (ctx, tries) = (ctx.clone(), Arc::clone(&tries));
            Box::pin(async move { changes::undo(tx, plan, ctx, expect, &tries).await })
        })
    }

    fn forget(
        &self,
        plan: PlanId,
        item: Option<ItemRef>,
        ctx: Ctx,
    ) -> BoxFuture<'_, Result<Applied, Error>> {
        let tries = Arc::new(Tries::default());
        self.call(move |shared| async move {
            let applied = runner::write(&shared, super::Purpose::Journal, &|tx| {
                let (item, ctx, tries) = (item.clone(), ctx.clone(), Arc::clone(&tries));
                Box::pin(async move { changes::forget(tx, plan, item, ctx, &tries).await })
            })
            .await?;
            maintenance::rewrite_tables(&shared).await?;
            Ok(applied)
        })
    }

    fn whole(&self, plan: PlanId) -> BoxFuture<'_, Result<Plan, Error>> {
        self.read(move |tx| Box::pin(load::whole(tx, plan)))
    }

    fn read(&self, plan: PlanId, needs: Needs) -> BoxFuture<'_, Result<Slice, Error>> {
        Self::read(self, move |tx| {
            let needs = needs.clone();
            Box::pin(async move { load::slice(tx, plan, &needs).await })
        })
    }

    fn plans(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, Error>> {
        self.read(move |tx| {
            let filter = filter.clone();
            Box::pin(async move { plans::list(tx, &filter).await })
        })
    }

    fn projects(&self, project: Option<String>) -> BoxFuture<'_, Result<Vec<ProjectSums>, Error>> {
        self.read(move |tx| {
            let project = project.clone();
            Box::pin(async move { plans::projects(tx, project.as_deref()).await })
        })
    }

    fn search(&self, search: ItemSearch) -> BoxFuture<'_, Result<Vec<FoundItem>, Error>> {
        self.read(move |tx| {
            let search = search.clone();
            Box::pin(async move { plans::search(tx, &search).await })
        })
    }

    fn plan_for(&self, what: MadeFor) -> BoxFuture<'_, Result<Option<PlanId>, Error>> {
        self.read(move |tx| {
            let what = what.clone();
            Box::pin(async move { save::plan_for(tx, &what).await })
        })
    }

    fn set_made_for(
        &self,
        plan: PlanId,
        what: Option<MadeFor>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |tx| Box::pin(changes::set_made_for(tx, plan, what.clone())))
    }

    fn attach(
        &self,
        key: AttachmentKey,
        plan: PlanId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Attachment, Error>> {
        self.write(move |tx| Box::pin(attachments::attach(tx, key.clone(), plan, now)))
    }

    fn attachment(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Attachment>, Error>> {
        self.read(move |tx| {
            let key = key.clone();
            Box::pin(async move { attachments::get(tx, &key).await })
        })
    }

    fn attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<PlanId>, Error>> {
        self.read(move |tx| {
            let key = key.clone();
            Box::pin(async move { attachments::plan(tx, &key).await })
        })
    }

    fn whole_attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Plan>, Error>> {
        self.read(move |tx| {
            let key = key.clone();
            Box::pin(async move { attachments::whole(tx, &key).await })
        })
    }

    fn shown(&self, key: AttachmentKey, revision: Revision) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |tx| {
            attachments::shown(tx, &key, revision);
            Box::pin(async { Ok(()) })
        })
    }

    fn journal(
        &self,
        plan: PlanId,
        after: Revision,
        most: u32,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Error>> {
        self.read(move |tx| Box::pin(journal::list(tx, plan, after, most)))
    }

    fn journal_since(&self, after: Cursor, most: u32) -> BoxFuture<'_, Result<Since, Error>> {
        self.read(move |tx| {
            let after = after.clone();
            Box::pin(async move { follow::since(tx, after, most).await })
        })
    }

    fn follow(&self, after: Cursor, scope: Scope) -> BoxFuture<'_, Result<Following, Error>> {
        self.call(move |shared| follow::begin(shared, after, scope))
    }

    fn import(&self, plan: Plan, journal: Vec<Entry>) -> BoxFuture<'_, Result<(), Error>> {
        let both = Arc::new((plan, journal));
        self.write(move |tx| {
            let both = Arc::clone(&both);
            Box::pin(async move { changes::import(tx, &both.0, &both.1).await })
        })
    }
}

impl SessionStore for Postgres {
    fn session(&self, key: SessionKey) -> BoxFuture<'_, Result<Option<Session>, Error>> {
        self.read(move |tx| {
            let key = key.clone();
            Box::pin(async move { sessions::get(tx, &key).await })
        })
    }

    fn sessions(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<Session>, Error>> {
        self.read(move |tx| {
            let filter = filter.clone();
            Box::pin(async move { sessions::list(tx, &filter).await })
        })
    }

    fn seen_beside(
        &self,
        key: SessionKey,
        process: Process,
    ) -> BoxFuture<'_, Result<Option<Timestamp>, Error>> {
        self.read(move |tx| {
            let (key, process) = (key.clone(), process.clone());
            Box::pin(async move { sessions::seen_beside(tx, &key, &process).await })
        })
    }

    fn keep(&self, session: Session) -> BoxFuture<'_, Result<Kept, Error>> {
        self.write(move |tx| Box::pin(sessions::keep(tx, session.clone())))
    }

    fn change_and_keep(
        &self,
        plan: PlanId,
        change: Change,
        session: Session,
    ) -> BoxFuture<'_, Result<(Applied, Kept), Error>> {
        self.write(move |tx| {
            let (change, session) = (change.clone(), session.clone());
            Box::pin(async move {
                let applied = changes::change(tx, plan, change, &Tries::default()).await?;
                Ok((applied, sessions::keep(tx, session).await?))
            })
        })
    }
}

impl MaintenanceStore for Postgres {
    fn health(&self) -> BoxFuture<'_, Result<Health, Error>> {
        self.read(|tx| Box::pin(maintenance::health(tx)))
    }

    fn check_writable(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.write(|_| Box::pin(async { Ok(()) }))
    }

    fn move_project(&self, from: String, to: String) -> BoxFuture<'_, Result<Vec<PlanId>, Error>> {
        self.move_project_in((from.clone(), to.clone()), (from, to))
    }
}

impl NoticeStore for Postgres {
    fn first(&self, keys: Vec<String>, now: Timestamp) -> BoxFuture<'_, Result<bool, Error>> {
        self.write(move |tx| {
            let keys = keys.clone();
            Box::pin(async move { notices::first(tx, &keys, now).await })
        })
    }
}
