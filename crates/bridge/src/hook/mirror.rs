//! The agent's own list, kept as a plan of ours: what happened is recorded, nothing is refused.
//!
//! Tool calls of one message run side by side and so do their hooks, as processes of their own. So
//! which item a task is must not depend on anything that two of them could write at once: a task's
//! item has an id that follows from session, plan and task, and it is added only to the revision
//! that was seen without it. What is remembered with the session (our number for a task) may come
//! later or be lost with a process that was killed; the next hook finds the item again.

use std::collections::BTreeSet;
#[expect(deprecated, reason = "see `item_id`")]
use std::hash::{Hasher, SipHasher};

use punchlist_formats::hook::{Answer, Called, Task, Write};
use punchlist_formats::prompt::{self, Tag};
use punchlist_model::needs::{Needs, Reach};
use punchlist_model::remind::Input;
use punchlist_model::session::{Memory, Session};
use punchlist_model::store::{Attachment, Change, Error};
use punchlist_model::{
    IdSource, Item, ItemId, ItemRef, ListEntry, NewItem, Number, Op, Patch, Plan, PlanId, Status,
    Warning,
};

use super::gate::sub_agent;
use super::words::Words;
use super::{Call, WATCHED};

/// How often an item is tried to be added while others write the plan: more hooks of one session
/// than this do not run side by side.
const TRIES: u32 = 100;

/// What decides the id of a task's item.
///
/// The same for every hook of the session; another for another plan, because a session may be
/// attached to a second one.
#[expect(deprecated, reason = "the one hash in the standard library whose values never change")]
fn ids(session: &Session, plan: PlanId, task: &str) -> IdSource {
    let text = format!("{plan}\0{}\0{}\0{task}", session.key.agent, session.key.id);
    let mut random = [0; 10];
    for (part, key) in random.chunks_mut(8).zip([0x7461_736b_0001, 0x7461_736b_0002]) {
        let mut hasher = SipHasher::new_with_keys(key, key);
        hasher.write(text.as_bytes());
        let hash = hasher.finish().to_be_bytes();
        part.copy_from_slice(&hash[..part.len()]);
    }
    IdSource { foreknown: true, ..IdSource::new(session.begun_at, random) }
}

/// The id of a task's item.
pub(super) fn item_id(session: &Session, plan: PlanId, task: &str) -> ItemId {
    ItemId(ids(session, plan, task).nth(0))
}

/// A task's item.
#[derive(Clone, Copy)]
struct Found {
    id: ItemId,
    number: Number,
    /// It was not there before.
    made: bool,
}

/// The items that a task is tied to.
#[derive(Clone, PartialEq, Debug, Default)]
struct Ties {
    /// Those that it waits for.
    after: Vec<ItemRef>,
    /// Those that wait for it.
    blocked: Vec<ItemRef>,
    /// The one that it is a part of.
    parent: Option<ItemRef>,
}

impl Call<'_> {
    pub(super) async fn mirror(&self, write: &Write) -> Result<Answer, Error> {
        match write {
            Write::List(entries) => return self.list(entries, self.list_tool()).await,
            Write::Created(task) => self.created(task).await?,
            Write::Updated(task) => self.updated(task).await?,
            Write::Deleted(task) => self.deleted(task).await?,
            Write::Seen(tasks) => self.seen(tasks).await?,
        }
        Ok(Answer::Nothing)
    }

    /// The whole list of the agent, or of a sub-agent, each of which has its own.
    pub(super) async fn list(&self, entries: &[ListEntry], with: &str) -> Result<Answer, Error> {
        let attachment = match self.attached(self.sub_agent).await? {
            Some(attachment) => attachment,
            // An empty list is none.
            None if entries.is_empty() => return Ok(Answer::Nothing),
            None => self.attached_or_made(self.sub_agent).await?,
        };
        let header = self.store.read(attachment.plan, Needs::header()).await?;
        let mut ctx = self.ctx();
        ctx.base = Some(attachment.shown);
        ctx.gone = self.gone(&header);
        let change = Change::new(vec![Op::Replace(entries.to_vec())], ctx);
        let applied = self.store.change(attachment.plan, change).await?;
        self.note_shown(&attachment, applied.revision()).await?;
        let is_known = self.session.memory.written_with.as_deref() == Some(with);
        // Whoever watches from outside sees the same list again and again.
        if with != WATCHED || !is_known || !applied.decision.events.is_empty() {
            self.remember(|memory| self.wrote(memory, with)).await?;
        }
        // What others did meanwhile stays on the list, and is named when the turn wants to end.
        let mut dropped = Vec::new();
        for warning in applied.warnings() {
            if let Warning::DroppedOpen(tag) = warning {
                dropped.push(tag.title.as_str());
            }
        }
        if dropped.is_empty() {
            return Ok(Answer::Nothing);
        }
        let tools = Words::of_list(self.agent());
        Ok(Answer::Context(prompt::dropped(&dropped, tools, &Tag::reminder())))
    }

    /// A task is being created. Its tool has not answered, and may yet be refused.
    pub(super) async fn creating(&self, task: &Task) -> Result<Answer, Error> {
        let attachment = self.attached_or_made("").await?;
        let found = self.take_up(&attachment, task).await?;
        self.remember(|memory| {
            memory.mirrored.insert(task.id.clone(), found.number);
            if found.made {
                memory.unconfirmed.insert(task.id.clone());
            }
            self.wrote(memory, self.task_tools());
        })
        .await?;
        Ok(Answer::Nothing)
    }

    async fn created(&self, task: &Task) -> Result<(), Error> {
        let attachment = self.attached_or_made("").await?;
        let found = self.take_up(&attachment, task).await?;
        let ties = self.ties(&attachment, task).await?;
        // It may have been announced before, with less.
        if !found.made || ties != Ties::default() {
            self.edit(&attachment, found.id, task, ties).await?;
        }
        self.remember(|memory| {
            memory.mirrored.insert(task.id.clone(), found.number);
            memory.unconfirmed.remove(&task.id);
            self.own(memory, found.number);
            self.wrote(memory, self.task_tools());
        })
        .await
    }

    /// A task was refused after it had been announced: what was mirrored of it goes.
    pub(super) async fn not_created(&self, task: &Task) -> Result<Answer, Error> {
        let unconfirmed = &self.session.memory.unconfirmed;
        if unconfirmed.is_empty() {
            return Ok(Answer::Nothing);
        }
        let Some(plan) = self.whole("").await? else { return Ok(Answer::Nothing) };
        // The refusal names no id, so that the texts must tell.
        let said = |text: &Option<String>| text.as_deref().unwrap_or_default().trim().to_owned();
        let (subject, description) = (said(&task.subject), said(&task.description));
        let is_it = |item: &&Item| {
            item.is_open() && item.title.trim() == subject && item.context.trim() == description
        };
        let found = unconfirmed.iter().find_map(|id| {
            let item = find(&plan, item_id(&self.session, plan.id, id)).filter(is_it)?;
            Some((id, item.id))
        });
        let Some((id, item)) = found else { return Ok(Answer::Nothing) };
        let change = Change::new(vec![Op::Supersede(ItemRef::Id(item))], self.ctx());
        self.store.change(plan.id, change).await?;
        self.remember(|memory| {
            memory.unconfirmed.remove(id);
            memory.mirrored.remove(id);
        })
        .await?;
        Ok(Answer::Nothing)
    }

    async fn updated(&self, task: &Task) -> Result<(), Error> {
        let attachment = self.attached_or_made("").await?;
        // What is remembered need not be looked for first; should it be wrong, the change says so.
        let remembered = self.session.memory.mirrored.get(&task.id).map(|number| Found {
            id: item_id(&self.session, attachment.plan, &task.id),
            number: *number,
            made: false,
        });
        let found = match remembered {
            Some(found) => found,
            None => self.looked_for(&attachment, &task.id).await?,
        };
        let ties = self.ties(&attachment, task).await?;
        let found = match self.edit(&attachment, found.id, task, ties.clone()).await {
            Ok(()) => found,
            Err(Error::Refused(_)) => {
                let found = self.looked_for(&attachment, &task.id).await?;
                self.edit(&attachment, found.id, task, ties).await?;
                found
            }
            Err(error) => return Err(error),
        };
        self.remember(|memory| {
            memory.mirrored.insert(task.id.clone(), found.number);
            memory.unconfirmed.remove(&task.id);
            if task.status == Some(Status::InProgress) {
                self.own(memory, found.number);
            }
            self.wrote(memory, self.task_tools());
        })
        .await
    }

    async fn deleted(&self, task: &str) -> Result<(), Error> {
        let Some(attachment) = self.attached("").await? else { return Ok(()) };
        if let Some(found) = self.find(&attachment, task).await? {
            self.apply(&attachment, vec![Op::Supersede(ItemRef::Id(found.id))]).await?;
        }
        self.remember(|memory| self.wrote(memory, self.task_tools())).await
    }

    /// What is unknown is taken up as it was shown; of what is known, a list that ran beside another
    /// call may tell something older.
    async fn seen(&self, tasks: &[Task]) -> Result<(), Error> {
        if tasks.is_empty() {
            return Ok(());
        }
        let attachment = self.attached_or_made("").await?;
        let mut numbers = Vec::new();
        let mut taken = Vec::new();
        for task in tasks {
            let found = self.take_up(&attachment, task).await?;
            numbers.push((task.id.clone(), found.number));
            taken.extend(found.made.then_some((task, found.id)));
        }
        // Ties once all are there.
        for (task, id) in &taken {
            let ties = Ties { blocked: Vec::new(), ..self.ties(&attachment, task).await? };
            if ties != Ties::default() {
                self.edit(&attachment, *id, &Task::default(), ties).await?;
            }
        }
        let news = !taken.is_empty();
        self.remember(|memory| {
            memory.mirrored.extend(numbers.iter().cloned());
            if news {
                self.wrote(memory, self.task_tools());
            }
        })
        .await
    }

    /// Notes that the agent wrote its list, and with which tools.
    fn wrote(&self, memory: &mut Memory, with: &str) {
        memory.written_with = Some(with.to_owned());
        let (policy, now) = (self.given.policy, self.given.now);
        memory.watch.step(policy, self.profile(), Input::Changed, now);
    }

    /// What a sub-agent made or began with the tools of our server is its own. The server cannot tell
    /// it from the agent that it works for: both speak over one connection.
    pub(super) async fn took(&self, called: &[Called]) -> Result<(), Error> {
        let taken: BTreeSet<ItemId> = called.iter().flat_map(|it| &it.took).copied().collect();
        if taken.is_empty() {
            return Ok(());
        }
        let Some(plan) = self.whole("").await? else { return Ok(()) };
        let items = plan.items.values().filter(|it| taken.contains(&it.id));
        let numbers: Vec<Number> = items.map(|it| it.number).collect();
        self.remember(|memory| numbers.iter().for_each(|it| self.own(memory, *it))).await
    }

    /// Notes that an item is the sub-agent's to answer for.
    fn own(&self, memory: &mut Memory, number: Number) {
        if !self.sub_agent.is_empty() {
            sub_agent(memory, self.sub_agent).own.insert(number);
        }
    }

    /// The task's item, made from what can be known of the task if it is not there.
    async fn looked_for(&self, attachment: &Attachment, task: &str) -> Result<Found, Error> {
        match self.find(attachment, task).await? {
            Some(found) => Ok(found),
            None => self.take_up(attachment, &self.unheard_of(task)).await,
        }
    }

    async fn find(&self, attachment: &Attachment, task: &str) -> Result<Option<Found>, Error> {
        let id = item_id(&self.session, attachment.plan, task);
        let plan = self.store.read(attachment.plan, only(id)).await?;
        Ok(find(&plan, id).map(|item| Found { id, number: item.number, made: false }))
    }

    /// The task's item, made if it is not there.
    async fn take_up(&self, attachment: &Attachment, task: &Task) -> Result<Found, Error> {
        let plan = attachment.plan;
        let id = item_id(&self.session, plan, &task.id);
        let mut last = None;
        for _ in 0..TRIES {
            let slice = self.store.read(plan, only(id)).await?;
            if let Some(item) = find(&slice, id) {
                return Ok(Found { id, number: item.number, made: false });
            }
            let mut ctx = self.ctx();
            ctx.ids = ids(&self.session, plan, &task.id);
            let change =
                Change { expect: Some(slice.revision), ..Change::new(adding(task, id), ctx) };
            match self.store.change(plan, change).await {
                Ok(applied) => {
                    let number = applied.decision.added.first().copied().unwrap_or_default();
                    return Ok(Found { id, number, made: true });
                }
                Err(error @ Error::Revision { .. }) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or(Error::NoPlan(plan)))
    }

    /// The item that the other end of an edge means. One that neither we nor the agent's files know
    /// is dropped, as the agent drops it.
    async fn known(&self, attachment: &Attachment, task: &str) -> Result<Option<ItemRef>, Error> {
        if let Some(found) = self.find(attachment, task).await? {
            return Ok(Some(ItemRef::Id(found.id)));
        }
        let Some(task) = self.file(task) else { return Ok(None) };
        let found = self.take_up(attachment, &task).await?;
        Ok(Some(ItemRef::Id(found.id)))
    }

    fn file(&self, task: &str) -> Option<Task> {
        let list = self.given.task_list.unwrap_or(&self.session.key.id);
        (self.given.task)(list, task).filter(|it| it.id == task)
    }

    /// A task that nobody told us of, as far as it can be known.
    fn unheard_of(&self, task: &str) -> Task {
        self.file(task).unwrap_or_else(|| Task {
            id: task.to_owned(),
            subject: Some(format!("Task {task}")),
            ..Task::default()
        })
    }

    /// The items that a task is tied to.
    async fn ties(&self, attachment: &Attachment, task: &Task) -> Result<Ties, Error> {
        let mut ties = Ties::default();
        for id in &task.blocked_by {
            ties.after.extend(self.known(attachment, id).await?);
        }
        for id in &task.blocks {
            ties.blocked.extend(self.known(attachment, id).await?);
        }
        if let Some(id) = &task.parent {
            ties.parent = self.known(attachment, id).await?;
        }
        Ok(ties)
    }

    /// Edits a task's item; what it blocks gets an edge to it.
    async fn edit(
        &self,
        attachment: &Attachment,
        id: ItemId,
        task: &Task,
        ties: Ties,
    ) -> Result<(), Error> {
        let item = ItemRef::Id(id);
        let patch = Patch { parent: ties.parent.map(Some), ..patch(task, ties.after) };
        let mut ops = vec![Op::Edit { item: item.clone(), patch: Box::new(patch) }];
        ops.extend(task.waits.map(|waits| match waits {
            true => Op::Wait { item: item.clone(), on: ListEntry::BLOCKED.to_owned() },
            false => Op::Resume(item.clone()),
        }));
        ops.extend(ties.blocked.into_iter().map(|blocked| {
            let patch = Patch { after: vec![item.clone()], ..Patch::default() };
            Op::Edit { item: blocked, patch: Box::new(patch) }
        }));
        self.apply(attachment, ops).await
    }

    async fn apply(&self, attachment: &Attachment, ops: Vec<Op>) -> Result<(), Error> {
        // What the session was shown is of interest to whole lists alone, so it is not noted here:
        // that would be another write.
        self.store.change(attachment.plan, Change::new(ops, self.ctx())).await?;
        Ok(())
    }
}

fn only(id: ItemId) -> Needs {
    let reach = Reach { item: ItemRef::Id(id), around: Vec::new() };
    Needs { items: vec![reach], ..Needs::header() }
}

fn find(plan: &Plan, id: ItemId) -> Option<&Item> {
    plan.items.values().find(|item| item.id == id)
}

/// The steps that make a task's item.
fn adding(task: &Task, id: ItemId) -> Vec<Op> {
    let new = NewItem {
        active_form: task.active_form.clone(),
        context: task.description.clone().unwrap_or_default(),
        owner: task.owner.clone().filter(|owner| !owner.trim().is_empty()),
        metadata: Some(task.metadata.clone()).filter(|it| !it.is_empty()),
        ..NewItem::titled(task.subject.clone().unwrap_or_default())
    };
    let moved = task.status.filter(|status| *status != Status::Pending).map(|status| {
        let patch = Patch { status: Some(status), ..Patch::default() };
        Op::Edit { item: ItemRef::Id(id), patch: Box::new(patch) }
    });
    let waits = task.waits.filter(|it| *it);
    let waits =
        waits.map(|_| Op::Wait { item: ItemRef::Id(id), on: ListEntry::BLOCKED.to_owned() });
    std::iter::once(Op::Add(Box::new(new))).chain(moved).chain(waits).collect()
}

/// What a task's own fields say; edges are given apart.
fn patch(task: &Task, after: Vec<ItemRef>) -> Patch {
    let owner = task.owner.clone().map(|owner| Some(owner).filter(|it| !it.trim().is_empty()));
    Patch {
        title: task.subject.clone(),
        context: task.description.clone(),
        active_form: task.active_form.clone().map(Some),
        owner,
        merge: task.metadata.clone(),
        status: task.status,
        after,
        ..Patch::default()
    }
}
