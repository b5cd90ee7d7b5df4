//! A store in memory, for tests and for programs that need no file.
//!
//! It keeps the whole contract of [`PlanStore`] except durability, and is the shortest code that
//! shows what the contract means. Plans are kept whole; only reads are sliced.

mod access;
mod calls;
mod conversations;
mod maintenance;
mod notices;
mod work;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use jiff::Timestamp;

use super::turns::TextSearch;
use super::{
    Applied, Attachment, AttachmentKey, Change, Cursor, Entry, Error, Filter, Following, FoundAt,
    FoundItem, ItemSearch, Kind, NewPlan, PlanStore, ProjectSums, Scope, Since, Summary, kept,
};
use crate::actor::Process;
use crate::command::{Ctx, ItemRef};
use crate::decide::{Decision, decide_since, journal_needed};
use crate::id::{Number, PlanId, Revision, WriteId};
use crate::needs::Needs;
use crate::plan::{MadeFor, Plan};
use crate::session::{Kept, Session, SessionFilter, SessionKey, SessionStore};
use crate::slice::Slice;
use crate::{forget, undo};

/// The store.
#[derive(Default)]
pub struct Memory {
    state: Arc<Mutex<State>>,
    /// In whose name this handle writes; see [`Memory::used_by`].
    user: Option<String>,
    answers_later: bool,
}

#[derive(Default)]
struct State {
    plans: BTreeMap<PlanId, Plan>,
    /// The journals of all plans, in the order of commits. A cursor is an index into it.
    journal: Vec<Entry>,
    attachments: BTreeMap<AttachmentKey, Attachment>,
    sessions: BTreeMap<SessionKey, Session>,
    work: calls::Work,
    conversations: conversations::Conversations,
    access: access::Access,
    /// When each notice was given, by its key.
    notices: BTreeMap<String, Timestamp>,
    followers: Vec<Waker>,
    /// The user of the handle that was used last.
    user: Option<String>,
    /// Who wrote the commands of each item.
    publishers: BTreeMap<(PlanId, Number), String>,
    /// The revision of each write.
    writes: BTreeMap<(PlanId, WriteId), Revision>,
    /// The number of changes of any kind.
    changes: u64,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store whose futures return at their second poll. It writes first and answers later, as
    /// a store on disk does: a test can cut off a program in between.
    pub fn answering_later() -> Self {
        Self { answers_later: true, ..Self::default() }
    }

    /// A future that returns the value.
    fn answer<'a, T: Send + 'a>(&self, value: T) -> BoxFuture<'a, T> {
        let mut is_pending = self.answers_later;
        let mut value = Some(value);
        Box::pin(poll_fn(move |context| {
            if std::mem::take(&mut is_pending) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(value.take().expect("a future is not polled after it has returned"))
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = lock(&self.state);
        state.user.clone_from(&self.user);
        state
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // No method panics with a half-written state, so the state behind a poisoned lock is valid.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PlanStore for Memory {
    fn create(&self, new: NewPlan) -> BoxFuture<'_, Result<Plan, Error>> {
        self.answer(self.state().create(new))
    }

    fn change(&self, plan: PlanId, change: Change) -> BoxFuture<'_, Result<Applied, Error>> {
        let change = Change { ctx: whole_ms(change.ctx), ..change };
        self.answer(self.state().change(plan, &change))
    }

    fn undo(
        &self,
        plan: PlanId,
        ctx: Ctx,
        expect: Option<Revision>,
    ) -> BoxFuture<'_, Result<Applied, Error>> {
        self.answer(self.state().undo(plan, &whole_ms(ctx), expect))
    }

    fn forget(
        &self,
        plan: PlanId,
        item: Option<ItemRef>,
        ctx: Ctx,
    ) -> BoxFuture<'_, Result<Applied, Error>> {
        self.answer(self.state().forget(plan, item.as_ref(), &whole_ms(ctx)))
    }

    fn whole(&self, plan: PlanId) -> BoxFuture<'_, Result<Plan, Error>> {
        self.answer(self.state().plan(plan).cloned())
    }

    fn read(&self, plan: PlanId, needs: Needs) -> BoxFuture<'_, Result<Slice, Error>> {
        self.answer(self.state().plan(plan).map(|plan| plan.slice(&needs)))
    }

    fn plans(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, Error>> {
        self.answer(Ok(self.state().plans(&filter)))
    }

    fn projects(&self, project: Option<String>) -> BoxFuture<'_, Result<Vec<ProjectSums>, Error>> {
        self.answer(Ok(self.state().projects(project.as_deref())))
    }

    fn search(&self, search: ItemSearch) -> BoxFuture<'_, Result<Vec<FoundItem>, Error>> {
        self.answer(Ok(self.state().search(&search)))
    }

    fn plan_for(&self, what: MadeFor) -> BoxFuture<'_, Result<Option<PlanId>, Error>> {
        self.answer(Ok(self.state().plan_for(&what)))
    }

    fn set_made_for(
        &self,
        plan: PlanId,
        what: Option<MadeFor>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.answer(self.state().set_made_for(plan, what))
    }

    fn attach(
        &self,
        key: AttachmentKey,
        plan: PlanId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Attachment, Error>> {
        self.answer(self.state().attach(key, plan, kept(now)))
    }

    fn attachment(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Attachment>, Error>> {
        self.answer(Ok(self.state().attachments.get(&key).cloned()))
    }

    fn attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<PlanId>, Error>> {
        self.answer(Ok(self.state().attachments.get(&key).map(|it| it.plan)))
    }

    fn whole_attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Plan>, Error>> {
        let state = self.state();
        let plan = state.attachments.get(&key).map(|it| state.plan(it.plan)).transpose();
        self.answer(plan.map(Option::<&Plan>::cloned))
    }

    fn shown(&self, key: AttachmentKey, revision: Revision) -> BoxFuture<'_, Result<(), Error>> {
        if let Some(attachment) = self.state().attachments.get_mut(&key) {
            attachment.shown = attachment.shown.max(revision);
        }
        self.answer(Ok(()))
    }

    fn journal(
        &self,
        plan: PlanId,
        after: Revision,
        most: u32,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Error>> {
        let state = self.state();
        self.answer(state.plan(plan).map(|_| {
            let entries = state.entries(plan).filter(|entry| entry.revision > after);
            entries.take(usize::try_from(most).unwrap_or(usize::MAX)).cloned().collect()
        }))
    }

    fn journal_since(&self, after: Cursor, most: u32) -> BoxFuture<'_, Result<Since, Error>> {
        let state = self.state();
        let from = state.next_after(&after);
        let cursor = |next: usize| Cursor::After(next.to_string());
        let found = state.journal.iter().enumerate().skip(from);
        let found = found.take(usize::try_from(most).unwrap_or(usize::MAX));
        let entries: Vec<_> = found.map(|(at, it)| (cursor(at + 1), it.clone())).collect();
        let end = cursor(from + entries.len());
        self.answer(Ok(Since { entries, end }))
    }

    fn follow(&self, after: Cursor, scope: Scope) -> BoxFuture<'_, Result<Following, Error>> {
        let next = self.state().next_after(&after);
        let state = Arc::clone(&self.state);
        self.answer(Ok(Box::pin(Follow { state, next, scope })))
    }

    fn import(&self, plan: Plan, journal: Vec<Entry>) -> BoxFuture<'_, Result<(), Error>> {
        self.answer(self.state().import(plan, journal))
    }
}

impl SessionStore for Memory {
    fn session(&self, key: SessionKey) -> BoxFuture<'_, Result<Option<Session>, Error>> {
        self.answer(Ok(self.state().sessions.get(&key).cloned()))
    }

    fn sessions(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<Session>, Error>> {
        let state = self.state();
        let matching = state.sessions.values().filter(|session| filter.fits(session));
        let mut sessions: Vec<Session> = matching.cloned().collect();
        sessions.sort_by(|a, b| (b.seen_at, &b.key).cmp(&(a.seen_at, &a.key)));
        if let Some(most) = filter.most {
            sessions.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        }
        self.answer(Ok(sessions))
    }

    fn seen_beside(
        &self,
        key: SessionKey,
        process: Process,
    ) -> BoxFuture<'_, Result<Option<Timestamp>, Error>> {
        let state = self.state();
        let shares_process = |it: &&Session| it.key != key && it.process.as_ref() == Some(&process);
        let others = state.sessions.values().filter(shares_process);
        self.answer(Ok(others.map(|it| it.seen_at).max()))
    }

    fn keep(&self, session: Session) -> BoxFuture<'_, Result<Kept, Error>> {
        self.answer(Ok(self.state().keep(session)))
    }

    fn change_and_keep(
        &self,
        plan: PlanId,
        change: Change,
        session: Session,
    ) -> BoxFuture<'_, Result<(Applied, Kept), Error>> {
        let change = Change { ctx: whole_ms(change.ctx), ..change };
        let mut state = self.state();
        self.answer(state.change(plan, &change).map(|applied| (applied, state.keep(session))))
    }
}

impl SessionFilter {
    fn fits(&self, session: &Session) -> bool {
        self.project.as_ref().is_none_or(|project| *project == session.project)
            && !(self.running && session.ended_at.is_some())
            && self.processes.as_ref().is_none_or(|processes| {
                session.process.as_ref().is_some_and(|process| processes.contains(process))
            })
    }
}

impl State {
    fn keep(&mut self, session: Session) -> Kept {
        let stored = self.sessions.get(&session.key);
        if stored.map_or(0, |it| it.version) != session.version {
            return Kept::Stale(stored.cloned().map(Box::new));
        }
        let session = session.kept();
        let version = session.version;
        self.sessions.insert(session.key.clone(), session);
        Kept::Stored(version)
    }

    fn plan(&self, id: PlanId) -> Result<&Plan, Error> {
        self.plans.get(&id).ok_or(Error::NoPlan(id))
    }

    fn entries(&self, plan: PlanId) -> impl Iterator<Item = &Entry> {
        self.journal.iter().filter(move |entry| entry.plan == plan)
    }

    fn create(&mut self, new: NewPlan) -> Result<Plan, Error> {
        if self.plans.contains_key(&new.id) {
            return Err(Error::Exists(new.id));
        }
        self.check_made_for(new.id, new.made_for.as_ref())?;
        self.check_name(new.id, &new.project, new.name.as_deref())?;
        let plan = new.plan();
        self.plans.insert(plan.id, plan.clone());
        Ok(plan)
    }

    fn plan_for(&self, what: &MadeFor) -> Option<PlanId> {
        let found = self.plans.values().find(|plan| plan.made_for.as_ref() == Some(what));
        found.map(|plan| plan.id)
    }

    fn set_made_for(&mut self, id: PlanId, what: Option<MadeFor>) -> Result<(), Error> {
        self.check_made_for(id, what.as_ref())?;
        self.plans.get_mut(&id).ok_or(Error::NoPlan(id))?.made_for = what;
        Ok(())
    }

    fn check_made_for(&self, id: PlanId, what: Option<&MadeFor>) -> Result<(), Error> {
        match what.and_then(|what| self.plan_for(what)) {
            Some(other) if other != id => Err(Error::AlreadyMade(other)),
            Some(_) | None => Ok(()),
        }
    }

    fn check_name(&self, id: PlanId, project: &str, name: Option<&str>) -> Result<(), Error> {
        let taken = self.plans.values().any(|plan| {
            plan.id != id
                && plan.project == project
                && name.is_some()
                && plan.name.as_deref() == name
        });
        match name {
            Some(name) if taken => Err(Error::NameTaken(name.to_owned())),
            Some(_) | None => Ok(()),
        }
    }

    fn change(&mut self, id: PlanId, change: &Change) -> Result<Applied, Error> {
        if let Some(applied) = self.repeated(id, change)? {
            return Ok(applied);
        }
        self.check_revision(id, change.expect)?;
        let (ops, ctx) = (&change.ops, &change.ctx);
        let base = journal_needed(ops, ctx);
        let since: Vec<Entry> = base
            .map(|base| self.entries(id).filter(|entry| entry.revision > base).cloned().collect())
            .unwrap_or_default();
        let decision = decide_since(self.plan(id)?, ops, ctx, &since)?;
        let entry_kind = EntryKind { kind: change.kind, undoes: None, write: change.write };
        let applied = self.commit(id, decision, entry_kind, &change.ctx)?;
        if !applied.decision.events.is_empty()
            && let Some(key) = change.has_shown(applied.revision())
            && let Some(attachment) = self.attachments.get_mut(key)
        {
            attachment.shown = attachment.shown.max(applied.revision());
        }
        Ok(applied)
    }

    /// The result of an earlier change with the same write id, if there is one.
    fn repeated(&self, id: PlanId, change: &Change) -> Result<Option<Applied>, Error> {
        let revision = change.write.and_then(|write| self.writes.get(&(id, write)));
        let entry = revision.and_then(|it| self.entries(id).find(|entry| entry.revision == *it));
        let Some(entry) = entry else { return Ok(None) };
        Ok(Some(Applied::repeated(entry.clone(), self.plan(id)?.clone().into())))
    }

    fn undo(&mut self, id: PlanId, ctx: &Ctx, expect: Option<Revision>) -> Result<Applied, Error> {
        self.check_revision(id, expect)?;
        let journal: Vec<Entry> = self.entries(id).cloned().collect();
        let (entry, since) = undo::target(&journal, &ctx.actor)
            .ok_or_else(|| undo::Conflict::Nothing(ctx.actor.name.clone()))?;
        let decision = undo::undo(self.plan(id)?, entry, since, ctx)?;
        let entry_kind = EntryKind { kind: Kind::Undo, undoes: Some(entry.revision), write: None };
        self.commit(id, decision, entry_kind, ctx)
    }

    fn forget(&mut self, id: PlanId, item: Option<&ItemRef>, ctx: &Ctx) -> Result<Applied, Error> {
        let plan = self.plan(id)?;
        let number = item.map(|item| forget::target(plan, item)).transpose()?;
        for entry in self.journal.iter_mut().filter(|entry| entry.plan == id) {
            forget::scrub(entry, number);
        }
        let decision = forget::decide(self.plan(id)?, number, ctx.now);
        let attached = self.attachments.values().filter(|it| it.plan == id);
        let conversations = attached.map(|it| it.key.conversation.clone()).collect();
        self.work.forget(id, number, &conversations);
        let entry_kind = EntryKind { kind: Kind::Forget, undoes: None, write: None };
        self.commit(id, decision, entry_kind, ctx)
    }

    fn check_revision(&self, id: PlanId, expect: Option<Revision>) -> Result<(), Error> {
        let actual = self.plan(id)?.revision;
        match expect {
            Some(expected) if expected != actual => {
                let since = self.entries(id).filter(|entry| entry.revision > expected);
                Err(Error::Revision { plan: id, expected, actual, since: since.cloned().collect() })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn commit(
        &mut self,
        id: PlanId,
        decision: Decision,
        entry_kind: EntryKind,
        ctx: &Ctx,
    ) -> Result<Applied, Error> {
        let mut plan = self.plan(id)?.clone();
        if decision.events.is_empty() {
            return Ok(Applied { revision: plan.revision, plan: plan.into(), decision });
        }
        for event in &decision.events {
            plan.evolve(event);
        }
        self.check_name(id, &plan.project, plan.name.as_deref())?;
        plan.revision.0 += 1;
        plan.updated_at = ctx.now;
        let write = entry_kind.write.unwrap_or_else(|| ctx.ids.write(plan.revision));
        self.writes.insert((id, write), plan.revision);
        self.journal.push(Entry {
            plan: id,
            revision: plan.revision,
            at: ctx.now,
            actor: ctx.actor.clone(),
            kind: entry_kind.kind,
            undoes: entry_kind.undoes,
            events: decision.events.clone(),
        });
        let before = self.plans.insert(id, plan.clone());
        self.publish(before.as_ref(), &plan);
        self.notify();
        Ok(Applied { revision: plan.revision, plan: plan.into(), decision })
    }

    fn search(&self, search: &ItemSearch) -> Vec<FoundItem> {
        let text = TextSearch::new(&search.text);
        let filter = Filter { project: search.project.clone(), ..Filter::default() };
        let plans = self.plans(&filter).into_iter().filter_map(|it| self.plans.get(&it.id));
        let found = plans.flat_map(|plan| plan.items.values().map(move |item| (plan, item)));
        let place = |plan: &Plan, item: &crate::Item| FoundAt {
            updated_at: plan.updated_at,
            plan: plan.id,
            number: item.number,
        };
        let found = found.filter(|(plan, item)| {
            search.begins_before(place(plan, item)) && text.is_in_item(item)
        });
        let found = found.map(|(plan, item)| FoundItem {
            at: place(plan, item),
            project: plan.project.clone(),
            plan_title: plan.title.clone(),
            title: item.title.clone(),
            status: item.status,
        });
        found.take(usize::try_from(search.most).unwrap_or(usize::MAX)).collect()
    }

    /// The index of the first entry after a cursor.
    fn next_after(&self, cursor: &Cursor) -> usize {
        match cursor {
            Cursor::Start => 0,
            Cursor::Now => self.journal.len(),
            Cursor::After(text) => text.parse().unwrap_or(0),
        }
    }

    fn notify(&mut self) {
        self.changes = self.changes.wrapping_add(1);
        for waker in self.followers.drain(..) {
            waker.wake();
        }
    }

    /// Registers the task that polls, to be woken at the next change.
    fn register_waker(&mut self, cx: &Context<'_>) {
        // A task that polls again without a change is registered only once.
        if !self.followers.iter().any(|waker| waker.will_wake(cx.waker())) {
            self.followers.push(cx.waker().clone());
        }
    }

    fn plans(&self, filter: &Filter) -> Vec<Summary> {
        let mut plans: Vec<Summary> = self
            .plans
            .values()
            .filter(|plan| filter.fits(plan))
            .map(|plan| self.summary(plan))
            .collect();
        plans.sort_by_key(|plan| (std::cmp::Reverse(plan.updated_at), plan.id));
        plans.truncate(filter.limit());
        plans
    }

    fn projects(&self, project: Option<&str>) -> Vec<ProjectSums> {
        let plans = self.plans.values();
        let plans = plans.filter(|it| project.is_none_or(|own| own == it.project));
        ProjectSums::merged(plans.map(|it| ProjectSums::of(it)))
    }

    fn summary(&self, plan: &Plan) -> Summary {
        let attached = self.attachments.values().filter(|it| it.plan == plan.id);
        Summary {
            id: plan.id,
            project: plan.project.clone(),
            name: plan.name.clone(),
            title: plan.title.clone(),
            revision: plan.revision,
            end: plan.end,
            archived: plan.rules.archived,
            open: plan.open,
            progress: plan.progress(),
            created_at: plan.created_at,
            updated_at: plan.updated_at,
            attachment: attached.max_by_key(|it| it.at).map(|it| it.key.clone()),
            made_for: plan.made_for.clone(),
        }
    }

    fn attach(
        &mut self,
        key: AttachmentKey,
        plan: PlanId,
        now: Timestamp,
    ) -> Result<Attachment, Error> {
        self.plan(plan)?;
        let shown = self.attachments.get(&key).filter(|it| it.plan == plan).map(|it| it.shown);
        let attachment =
            Attachment { key: key.clone(), plan, shown: shown.unwrap_or_default(), at: now };
        self.attachments.insert(key, attachment.clone());
        Ok(attachment)
    }

    fn import(&mut self, plan: Plan, journal: Vec<Entry>) -> Result<(), Error> {
        if self.plans.contains_key(&plan.id) {
            return Err(Error::Exists(plan.id));
        }
        self.check_made_for(plan.id, plan.made_for.as_ref())?;
        self.check_name(plan.id, &plan.project, plan.name.as_deref())?;
        self.publish(None, &plan);
        self.plans.insert(plan.id, plan);
        self.journal.extend(journal);
        self.notify();
        Ok(())
    }
}

/// The fields of a journal entry that depend on the kind of change.
struct EntryKind {
    kind: Kind,
    undoes: Option<Revision>,
    write: Option<WriteId>,
}

/// Cuts the context's time to the millisecond.
fn whole_ms(ctx: Ctx) -> Ctx {
    Ctx { now: kept(ctx.now), ..ctx }
}

/// The stream of [`PlanStore::follow`].
struct Follow {
    state: Arc<Mutex<State>>,
    next: usize,
    scope: Scope,
}

impl Stream for Follow {
    type Item = Result<(Cursor, Entry), Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let shared = Arc::clone(&self.state);
        let mut state = lock(&shared);
        while let Some(entry) = state.journal.get(self.next) {
            self.next += 1;
            if self.scope == Scope::All || self.scope == Scope::Plan(entry.plan) {
                let cursor = Cursor::After(self.next.to_string());
                return Poll::Ready(Some(Ok((cursor, entry.clone()))));
            }
        }
        state.register_waker(cx);
        Poll::Pending
    }
}
