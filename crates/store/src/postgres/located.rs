//! The store on PostgreSQL as a machine uses it: projects are its own directories.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_model::call::{
    AnswerOutcome, Answered, Asked, CallRecord, CallStore, Message, MessageOutcome, NewMessage,
    News, Question, QuestionFilter, RunFilter, RunRecord, Said,
};
use punchlist_model::needs::Needs;
use punchlist_model::session::{Kept, Session, SessionFilter, SessionKey, SessionStore};
use punchlist_model::store::access::{AccessStore, Grant, GrantKind, ServerRecord};
use punchlist_model::store::maintenance::{Health, MaintenanceStore};
use punchlist_model::store::notices::NoticeStore;
use punchlist_model::store::turns::{
    Conversation, ConversationFilter, EntryFilter, Runner, Turn, TurnEntry, TurnRecord, TurnStore,
    Used,
};
use punchlist_model::store::{
    Applied, Attachment, AttachmentKey, Change, Cursor, Entry, Error, Filter, Following, FoundItem,
    ItemSearch, NewPlan, PlanStore, ProjectSums, Scope, Since, Summary,
};
use punchlist_model::{
    ConversationId, Ctx, GrantId, ItemRef, MadeFor, MessageId, Plan, PlanId, Process, QuestionId,
    Revision, RunId, Slice, Timestamp,
};

use super::names::Names;
use super::{Options, Postgres};

/// A store on PostgreSQL for one machine.
pub struct Located {
    pub(super) store: Postgres,
    pub(super) names: Arc<Names>,
}

/// The machine, and the project that it works in.
pub struct Place<'a> {
    /// The name of this machine.
    pub host: String,
    /// The directory of the project.
    pub directory: String,
    /// The name that the user gave the project, if any.
    pub project: Option<String>,
    /// Finds the name that its repository gives it. Called only if this machine has not recorded one.
    pub repository: &'a dyn Fn() -> Option<String>,
    /// The time of the call.
    pub now: Timestamp,
}

impl Located {
    /// Opens a database to read and write, and records the project's directory.
    pub fn open(options: &Options, place: &Place<'_>) -> Result<Self, Error> {
        let store = Postgres::open(options)?;
        let (names, new) = Self::names(&store, place)?;
        if let Some(project) = new {
            let before = names.local(&place.directory);
            let recorded =
                store.record_checkout(&project, &place.host, &place.directory, &before, place.now);
            match recorded {
                // A role that may not record it finds its name anew each time.
                Ok(()) | Err(Error::Denied { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { store, names: Arc::new(names) })
    }

    /// Opens a database to read; `None` if it has no schema yet. Changes nothing.
    pub fn open_to_read(options: &Options, place: &Place<'_>) -> Result<Option<Self>, Error> {
        let Some(store) = Postgres::open_to_read(options)? else { return Ok(None) };
        let (names, _) = Self::names(&store, place)?;
        Ok(Some(Self { store, names: Arc::new(names) }))
    }

    /// The names that this machine knows, and the name of this project if it is not recorded.
    fn names(store: &Postgres, place: &Place<'_>) -> Result<(Names, Option<String>), Error> {
        let known = store.checkouts(&place.host)?;
        let recorded = known.iter().find(|it| it.1 == place.directory).map(|it| it.0.clone());
        let mut names = Names { host: place.host.clone(), known };
        let wanted = match (&place.project, recorded) {
            (Some(given), Some(recorded)) if *given == recorded => return Ok((names, None)),
            (Some(given), _) => given.clone(),
            (None, Some(_)) => return Ok((names, None)),
            (None, None) => match (place.repository)() {
                Some(found) => found,
                None => return Ok((names, None)),
            },
        };
        names.known.retain(|it| it.1 != place.directory);
        names.known.insert(0, (wanted.clone(), place.directory.clone()));
        Ok((names, Some(wanted)))
    }

    /// The name of a project on the server.
    pub fn name_of(&self, directory: &str) -> String {
        self.names.there(directory)
    }
}

impl PlanStore for Located {
    fn create(&self, new: NewPlan) -> BoxFuture<'_, Result<Plan, Error>> {
        let new = NewPlan {
            project: self.names.there(&new.project),
            made_for: new.made_for.map(|it| self.names.purpose_there(it)),
            ..new
        };
        Box::pin(async move {
            let mut plan = self.store.create(new).await?;
            self.names.plan_here(&mut plan);
            Ok(plan)
        })
    }

    fn change(&self, plan: PlanId, change: Change) -> BoxFuture<'_, Result<Applied, Error>> {
        let change = self.change_there(change);
        Box::pin(async move { self.store.change(plan, change).await.map(|it| self.applied(it)) })
    }

    fn undo(
        &self,
        plan: PlanId,
        ctx: Ctx,
        expect: Option<Revision>,
    ) -> BoxFuture<'_, Result<Applied, Error>> {
        Box::pin(async move { self.store.undo(plan, ctx, expect).await.map(|it| self.applied(it)) })
    }

    fn forget(
        &self,
        plan: PlanId,
        item: Option<ItemRef>,
        ctx: Ctx,
    ) -> BoxFuture<'_, Result<Applied, Error>> {
        Box::pin(async move { self.store.forget(plan, item, ctx).await.map(|it| self.applied(it)) })
    }

    fn whole(&self, plan: PlanId) -> BoxFuture<'_, Result<Plan, Error>> {
        Box::pin(async move {
            let mut plan = self.store.whole(plan).await?;
            self.names.plan_here(&mut plan);
            Ok(plan)
        })
    }

    fn read(&self, plan: PlanId, needs: Needs) -> BoxFuture<'_, Result<Slice, Error>> {
        Box::pin(async move {
            let mut plan = PlanStore::read(&self.store, plan, needs).await?;
            self.names.plan_here(&mut plan);
            Ok(plan)
        })
    }

    fn plans(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, Error>> {
        let filter = Filter { project: self.there(filter.project), ..filter };
        Box::pin(async move {
            let mut plans = self.store.plans(filter).await?;
            for plan in &mut plans {
                plan.project = self.names.here(&plan.project);
                plan.attachment = plan.attachment.take().map(|it| self.names.key_here(it));
                plan.made_for = plan.made_for.take().map(|it| self.names.purpose_here(it));
            }
            Ok(plans)
        })
    }

    fn projects(&self, project: Option<String>) -> BoxFuture<'_, Result<Vec<ProjectSums>, Error>> {
        let project = self.there(project);
        Box::pin(async move {
            let mut projects = self.store.projects(project).await?;
            for it in &mut projects {
                it.project = self.names.here(&it.project);
            }
            // Two names on the server may be one directory here.
            Ok(ProjectSums::merged(projects))
        })
    }

    fn search(&self, search: ItemSearch) -> BoxFuture<'_, Result<Vec<FoundItem>, Error>> {
        let search = ItemSearch { project: self.there(search.project), ..search };
        Box::pin(async move {
            let mut found = self.store.search(search).await?;
            for item in &mut found {
                item.project = self.names.here(&item.project);
            }
            Ok(found)
        })
    }

    fn plan_for(&self, what: MadeFor) -> BoxFuture<'_, Result<Option<PlanId>, Error>> {
        self.store.plan_for(self.names.purpose_there(what))
    }

    fn set_made_for(
        &self,
        plan: PlanId,
        what: Option<MadeFor>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.store.set_made_for(plan, what.map(|it| self.names.purpose_there(it)))
    }

    fn attach(
        &self,
        key: AttachmentKey,
        plan: PlanId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Attachment, Error>> {
        let key = self.names.key_there(key);
        Box::pin(async move {
            let attachment = self.store.attach(key, plan, now).await?;
            Ok(Attachment { key: self.names.key_here(attachment.key), ..attachment })
        })
    }

    fn attachment(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Attachment>, Error>> {
        let there = self.names.key_there(key.clone());
        Box::pin(async move {
            Ok(self.store.attachment(there).await?.map(|it| Attachment { key, ..it }))
        })
    }

    fn attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<PlanId>, Error>> {
        self.store.attached(self.names.key_there(key))
    }

    fn whole_attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Plan>, Error>> {
        let key = self.names.key_there(key);
        Box::pin(async move {
            let mut plan = self.store.whole_attached(key).await?;
            if let Some(plan) = &mut plan {
                self.names.plan_here(plan);
            }
            Ok(plan)
        })
    }

    fn shown(&self, key: AttachmentKey, revision: Revision) -> BoxFuture<'_, Result<(), Error>> {
        self.store.shown(self.names.key_there(key), revision)
    }

    fn journal(
        &self,
        plan: PlanId,
        after: Revision,
        most: u32,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Error>> {
        self.store.journal(plan, after, most)
    }

    fn journal_since(&self, after: Cursor, most: u32) -> BoxFuture<'_, Result<Since, Error>> {
        self.store.journal_since(after, most)
    }

    fn follow(&self, after: Cursor, scope: Scope) -> BoxFuture<'_, Result<Following, Error>> {
        self.store.follow(after, scope)
    }

    fn import(&self, mut plan: Plan, journal: Vec<Entry>) -> BoxFuture<'_, Result<(), Error>> {
        plan.project = self.names.there(&plan.project);
        plan.made_for = plan.made_for.take().map(|it| self.names.purpose_there(it));
        self.store.import(plan, journal)
    }
}

impl Located {
    fn there(&self, project: Option<String>) -> Option<String> {
        project.map(|it| self.names.there(&it))
    }

    fn change_there(&self, change: Change) -> Change {
        Change { seen_by: change.seen_by.map(|it| self.names.key_there(it)), ..change }
    }

    fn applied(&self, mut applied: Applied) -> Applied {
        self.names.plan_here(&mut applied.plan);
        applied
    }

    fn grant_here(&self, grant: Grant) -> Grant {
        Grant { project: grant.project.map(|it| self.names.here(&it)), ..grant }
    }

    fn kept(&self, kept: Kept) -> Kept {
        match kept {
            Kept::Stale(Some(session)) => {
                Kept::Stale(Some(Box::new(self.names.session_here(*session))))
            }
            kept @ (Kept::Stored(_) | Kept::Stale(None)) => kept,
        }
    }

    fn run_here(&self, run: RunRecord) -> RunRecord {
        RunRecord { project: self.names.here(&run.project), ..run }
    }

    fn question_here(&self, mut question: Box<Question>) -> Box<Question> {
        question.project = self.names.here(&question.project);
        question
    }

    fn conversation_here(&self, it: Conversation) -> Conversation {
        Conversation { project: self.names.here(&it.project), ..it }
    }
}

impl SessionStore for Located {
    fn session(&self, key: SessionKey) -> BoxFuture<'_, Result<Option<Session>, Error>> {
        Box::pin(
            async move { Ok(self.store.session(key).await?.map(|it| self.names.session_here(it))) },
        )
    }

    fn sessions(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<Session>, Error>> {
        let filter = SessionFilter { project: self.there(filter.project), ..filter };
        Box::pin(async move {
            let found = self.store.sessions(filter).await?;
            Ok(found.into_iter().map(|it| self.names.session_here(it)).collect())
        })
    }

    fn seen_beside(
        &self,
        key: SessionKey,
        process: Process,
    ) -> BoxFuture<'_, Result<Option<Timestamp>, Error>> {
        self.store.seen_beside(key, process)
    }

    fn keep(&self, session: Session) -> BoxFuture<'_, Result<Kept, Error>> {
        let session = self.names.session_there(session);
        Box::pin(async move { self.store.keep(session).await.map(|it| self.kept(it)) })
    }

    fn change_and_keep(
        &self,
        plan: PlanId,
        change: Change,
        session: Session,
    ) -> BoxFuture<'_, Result<(Applied, Kept), Error>> {
        let (change, session) = (self.change_there(change), self.names.session_there(session));
        Box::pin(async move {
            let (applied, kept) = self.store.change_and_keep(plan, change, session).await?;
            Ok((self.applied(applied), self.kept(kept)))
        })
    }
}

impl MaintenanceStore for Located {
    fn health(&self) -> BoxFuture<'_, Result<Health, Error>> {
        self.store.health()
    }

    fn check_writable(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.store.check_writable()
    }

    fn move_project(&self, from: String, to: String) -> BoxFuture<'_, Result<Vec<PlanId>, Error>> {
        let names = (self.names.there(&from), self.names.there(&to));
        self.store.move_project_in(names, (from, to))
    }
}

impl AccessStore for Located {
    fn add_grant(&self, grant: Grant) -> BoxFuture<'_, Result<bool, Error>> {
        self.store.add_grant(Grant { project: self.there(grant.project), ..grant })
    }

    fn grant(&self, id: GrantId) -> BoxFuture<'_, Result<Option<Grant>, Error>> {
        Box::pin(async move { Ok(self.store.grant(id).await?.map(|it| self.grant_here(it))) })
    }

    fn grants(&self, kind: GrantKind) -> BoxFuture<'_, Result<Vec<Grant>, Error>> {
        Box::pin(async move {
            let found = self.store.grants(kind).await?;
            Ok(found.into_iter().map(|it| self.grant_here(it)).collect())
        })
    }

    fn end_grant(&self, id: GrantId, now: Timestamp) -> BoxFuture<'_, Result<bool, Error>> {
        self.store.end_grant(id, now)
    }

    fn redeem(
        &self,
        code: GrantId,
        session: Grant,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, Error>> {
        let session = Grant { project: self.there(session.project), ..session };
        self.store.redeem(code, session, now)
    }

    fn site(&self, proposed: String) -> BoxFuture<'_, Result<String, Error>> {
        self.store.site(proposed)
    }

    fn keep_server(&self, server: ServerRecord) -> BoxFuture<'_, Result<(), Error>> {
        self.store.keep_server(server)
    }

    fn servers(&self) -> BoxFuture<'_, Result<Vec<ServerRecord>, Error>> {
        self.store.servers()
    }

    fn remove_server(&self, server: ServerRecord) -> BoxFuture<'_, Result<(), Error>> {
        self.store.remove_server(server)
    }
}

impl NoticeStore for Located {
    fn first(&self, keys: Vec<String>, now: Timestamp) -> BoxFuture<'_, Result<bool, Error>> {
        self.store.first(keys, now)
    }
}

impl CallStore for Located {
    fn begin_run(&self, run: RunRecord) -> BoxFuture<'_, Result<(), Error>> {
        self.store.begin_run(RunRecord { project: self.names.there(&run.project), ..run })
    }

    fn end_run(&self, run: RunId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>> {
        self.store.end_run(run, now)
    }

    fn runs(&self, filter: RunFilter) -> BoxFuture<'_, Result<Vec<RunRecord>, Error>> {
        let filter = RunFilter { project: self.there(filter.project), ..filter };
        Box::pin(async move {
            let found = self.store.runs(filter).await?;
            Ok(found.into_iter().map(|it| self.run_here(it)).collect())
        })
    }

    fn record(
        &self,
        run: RunId,
        calls: Vec<CallRecord>,
        asked: Vec<Asked>,
        change: Option<(PlanId, Change)>,
    ) -> BoxFuture<'_, Result<Option<Applied>, Error>> {
        let change = change.map(|(plan, change)| (plan, self.change_there(change)));
        Box::pin(async move {
            let applied = self.store.record(run, calls, asked, change).await?;
            Ok(applied.map(|it| self.applied(it)))
        })
    }

    fn calls(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        self.store.calls(run)
    }

    fn story(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        self.store.story(run)
    }

    fn interrupt(
        &self,
        run: RunId,
        now: Timestamp,
        outputs: Said,
    ) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        self.store.interrupt(run, now, outputs)
    }

    fn questions(&self, filter: QuestionFilter) -> BoxFuture<'_, Result<Vec<Question>, Error>> {
        let filter = QuestionFilter { project: self.there(filter.project), ..filter };
        Box::pin(async move {
            let found = self.store.questions(filter).await?;
            Ok(found.into_iter().map(|it| *self.question_here(Box::new(it))).collect())
        })
    }

    fn answer(
        &self,
        question: QuestionId,
        answered: Answered,
    ) -> BoxFuture<'_, Result<AnswerOutcome, Error>> {
        Box::pin(async move {
            Ok(match self.store.answer(question, answered).await? {
                AnswerOutcome::Taken(it) => AnswerOutcome::Taken(self.question_here(it)),
                AnswerOutcome::Late(it) => AnswerOutcome::Late(self.question_here(it)),
                AnswerOutcome::NotOffered(it) => AnswerOutcome::NotOffered(self.question_here(it)),
            })
        })
    }

    fn queue(&self, message: NewMessage) -> BoxFuture<'_, Result<(), Error>> {
        self.store.queue(message)
    }

    fn messages(&self, conversation: String) -> BoxFuture<'_, Result<Vec<Message>, Error>> {
        self.store.messages(conversation)
    }

    fn message(&self, message: MessageId) -> BoxFuture<'_, Result<Option<Message>, Error>> {
        self.store.message(message)
    }

    fn edit_message(
        &self,
        message: MessageId,
        text: String,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        self.store.edit_message(message, text, now)
    }

    fn remove_message(&self, message: MessageId) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        self.store.remove_message(message)
    }

    fn move_message(
        &self,
        message: MessageId,
        before: Option<MessageId>,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        self.store.move_message(message, before)
    }

    fn steer_message(
        &self,
        message: MessageId,
        steer: bool,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        self.store.steer_message(message, steer)
    }

    fn news(&self) -> BoxFuture<'_, Result<News, Error>> {
        self.store.news()
    }
}

impl TurnStore for Located {
    fn create_conversation(&self, new: Conversation) -> BoxFuture<'_, Result<(), Error>> {
        let project = self.names.there(&new.project);
        self.store.create_conversation(Conversation { project, ..new })
    }

    fn conversation(&self, id: ConversationId) -> BoxFuture<'_, Result<Conversation, Error>> {
        Box::pin(
            async move { self.store.conversation(id).await.map(|it| self.conversation_here(it)) },
        )
    }

    fn conversations(
        &self,
        filter: ConversationFilter,
    ) -> BoxFuture<'_, Result<Vec<Conversation>, Error>> {
        let filter = ConversationFilter { project: self.there(filter.project), ..filter };
        Box::pin(async move {
            let found = self.store.conversations(filter).await?;
            Ok(found.into_iter().map(|it| self.conversation_here(it)).collect())
        })
    }

    fn hold(
        &self,
        id: ConversationId,
        runner: Runner,
        now: Timestamp,
        gone: Vec<String>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.store.hold(id, runner, now, gone)
    }

    fn let_go(&self, id: ConversationId, runner: String) -> BoxFuture<'_, Result<(), Error>> {
        self.store.let_go(id, runner)
    }

    fn record_turn(
        &self,
        id: ConversationId,
        runner: String,
        record: TurnRecord,
    ) -> BoxFuture<'_, Result<u64, Error>> {
        self.store.record_turn(id, runner, record)
    }

    fn turns(&self, id: ConversationId) -> BoxFuture<'_, Result<Vec<Turn>, Error>> {
        self.store.turns(id)
    }

    fn entries(
        &self,
        id: ConversationId,
        filter: EntryFilter,
    ) -> BoxFuture<'_, Result<Vec<TurnEntry>, Error>> {
        self.store.entries(id, filter)
    }

    fn used_since(&self, since: Timestamp) -> BoxFuture<'_, Result<Used, Error>> {
        self.store.used_since(since)
    }

    fn used_on(&self, plan: PlanId) -> BoxFuture<'_, Result<(u32, Used), Error>> {
        self.store.used_on(plan)
    }

    fn ask_to_stop(&self, id: ConversationId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>> {
        self.store.ask_to_stop(id, now)
    }

    fn pause_queue(&self, id: ConversationId, is_paused: bool) -> BoxFuture<'_, Result<(), Error>> {
        self.store.pause_queue(id, is_paused)
    }

    fn forget_conversation(
        &self,
        id: ConversationId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.store.forget_conversation(id, now)
    }
}
