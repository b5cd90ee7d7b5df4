//! Mirrors the agent's own list as a plan. What happened is recorded; nothing is refused.
//!
//! The tool calls of one message run in parallel, and so do their hooks, each in its own process.
//! So the mapping from task to item must not depend on anything that two hooks could write at once.
//! The id of a task's item is derived from session, plan and task, and the item is added only if
//! the revision is still the one that was read without it. The session's memory (our number for a
//! task) may be written later, or be lost if a process is killed; the next hook finds the item
//! again by its id.

use std::collections::BTreeSet;

use punchlist_formats::hook::{Answer, Called, Task, Write};
use punchlist_formats::prompt;
use punchlist_model::needs::{Needs, Reach};
use punchlist_model::remind::Input;
use punchlist_model::session::{Memory, Session};
use punchlist_model::store::{Change, Error};
use punchlist_model::{
    Item, ItemId, ItemRef, ListEntry, NewItem, Number, Op, Patch, PlanId, Slice, Status, Warning,
};

use super::WATCHED;
use crate::conversation::{Exchange, Words, sub_agent};

/// How often adding an item is retried while others write to the plan. One session does not run
/// more hooks than this in parallel.
const TRIES: u32 = 100;

/// The id of a task's item. It is the same in every hook of the session, and differs between plans,
/// because a session may be attached to another plan later.
pub(crate) fn item_id(session: &Session, plan: PlanId, task: &str) -> ItemId {
    ItemId::named(plan, &format!("{}\0{}\0{task}", session.key.agent, session.key.id))
}

/// A task's item.
#[derive(Clone, Copy)]
struct TaskItem {
    id: ItemId,
    number: Number,
    /// Whether the item was added just now.
    is_new: bool,
}

impl TaskItem {
    fn item(self) -> ItemRef {
        ItemRef::Both(self.number, self.id)
    }
}

/// The items that a task is linked to.
#[derive(Clone, PartialEq, Debug, Default)]
struct Links {
    /// The items that the task depends on.
    after: Vec<ItemRef>,
    /// The items that depend on the task.
    blocked: Vec<ItemRef>,
    /// The parent.
    parent: Option<ItemRef>,
}

impl Exchange<'_> {
    pub(crate) async fn mirror(&self, write: &Write) -> Result<Answer, Error> {
        match write {
            Write::List(entries) => return self.list(entries, self.list_tool()).await,
            Write::Created(task) => self.created(task).await?,
            Write::Updated(task) => self.updated(task).await?,
            Write::Deleted(task) => self.deleted(task).await?,
            Write::Seen(tasks) => self.add_shown(tasks).await?,
            Write::Absent(task) => self.absent(task).await?,
        }
        Ok(Answer::Nothing)
    }

    /// Records a whole list of the agent or of a sub-agent. Each has its own list.
    pub(crate) async fn list(&self, entries: &[ListEntry], with: &str) -> Result<Answer, Error> {
        let attachment = match self.attachment(self.sub_agent).await? {
            Some(attachment) => attachment,
            // An empty list needs no plan.
            None if entries.is_empty() => return Ok(Answer::Nothing),
            None => self.create(self.sub_agent).await?,
        };
        let header = self.store.read(attachment.plan, Needs::header()).await?;
        let mut ctx = self.ctx();
        ctx.base = Some(attachment.shown);
        ctx.gone = self.gone(&header);
        let change = Change::new(vec![Op::Replace(entries.to_vec())], ctx);
        let applied = self.store.change(attachment.plan, change).await?;
        self.note_shown(&attachment, applied.revision()).await?;
        let is_known = self.session.memory.written_with.as_deref() == Some(with);
        // A watched session shows the same list again and again.
        if with != WATCHED || !is_known || !applied.decision.events.is_empty() {
            self.remember(|memory| self.note_written(memory, with)).await?;
        }
        // Items that others changed meanwhile stay on the list, and a refusal to end the turn names
        // them.
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
        Ok(Answer::Context(prompt::dropped(&dropped, tools, self.given.settings.tag)))
    }

    /// A task is about to be created. The agent may still refuse the call.
    pub(crate) async fn creating(&self, task: &Task) -> Result<Answer, Error> {
        let plan = self.attached_or_created("").await?;
        let note = |memory: &mut Memory, number: Number| {
            memory.mirrored.insert(task.id.clone(), number);
            self.note_written(memory, self.task_tools());
        };
        let note_new = |memory: &mut Memory, number: Number| {
            note(memory, number);
            memory.unconfirmed.insert(task.id.clone());
        };
        let found = self.ensure(plan, task, note_new).await?;
        if !found.is_new {
            self.remember(|memory| note(memory, found.number)).await?;
        }
        Ok(Answer::Nothing)
    }

    async fn created(&self, task: &Task) -> Result<(), Error> {
        let plan = self.attached_or_created("").await?;
        let note = |memory: &mut Memory, number: Number| {
            memory.mirrored.insert(task.id.clone(), number);
            memory.unconfirmed.remove(&task.id);
            self.note_owned(memory, number);
            self.note_written(memory, self.task_tools());
        };
        let found = self.ensure(plan, task, note).await?;
        let links = self.links(plan, task).await?;
        // The task may have been announced before, with fewer fields.
        if !found.is_new || links != Links::default() {
            let note = |memory: &mut Memory| note(memory, found.number);
            self.edit(plan, found, task, links, note).await?;
        }
        Ok(())
    }

    /// A task was refused after it had been announced: its item is dropped.
    pub(crate) async fn not_created(&self, task: &Task) -> Result<Answer, Error> {
        let unconfirmed = &self.session.memory.unconfirmed;
        if unconfirmed.is_empty() {
            return Ok(Answer::Nothing);
        }
        let Some(plan) = self.whole("").await? else { return Ok(Answer::Nothing) };
        // The refusal names no id, so the task is identified by its texts.
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
        let plan = self.attached_or_created("").await?;
        // A remembered number is used without looking it up; if it is wrong, the change is refused.
        let remembered = self.session.memory.mirrored.get(&task.id).map(|number| TaskItem {
            id: item_id(&self.session, plan, &task.id),
            number: *number,
            is_new: false,
        });
        let found = match remembered {
            Some(found) => found,
            None => self.find_or_add(plan, &task.id).await?,
        };
        let links = self.links(plan, task).await?;
        let note = |memory: &mut Memory, number: Number| {
            memory.mirrored.insert(task.id.clone(), number);
            memory.unconfirmed.remove(&task.id);
            if task.status == Some(Status::InProgress) {
                self.note_owned(memory, number);
            }
            self.note_written(memory, self.task_tools());
        };
        let note_known = |memory: &mut Memory| note(memory, found.number);
        match self.edit(plan, found, task, links.clone(), note_known).await {
            Err(Error::Refused(_)) => {
                let found = self.find_or_add(plan, &task.id).await?;
                let note = |memory: &mut Memory| note(memory, found.number);
                self.edit(plan, found, task, links, note).await
            }
            edited => edited,
        }
    }

    async fn deleted(&self, task: &str) -> Result<(), Error> {
        let Some(plan) = self.attached("").await? else { return Ok(()) };
        let note = |memory: &mut Memory| self.note_written(memory, self.task_tools());
        match self.find(plan, task).await? {
            Some(found) => self.apply(plan, vec![Op::Supersede(found.item())], note).await,
            None => self.remember(note).await,
        }
    }

    /// Adds tasks that have no item yet. Existing items are not updated, because a list that was
    /// read in parallel to another call may be outdated.
    async fn add_shown(&self, tasks: &[Task]) -> Result<(), Error> {
        if tasks.is_empty() {
            return Ok(());
        }
        let plan = self.attached_or_created("").await?;
        let mut numbers = Vec::new();
        let mut taken = Vec::new();
        for task in tasks {
            let found = self.ensure(plan, task, |_, _| {}).await?;
            numbers.push((task.id.clone(), found.number));
            taken.extend(found.is_new.then_some((task, found)));
        }
        // Links are added once all items exist.
        for (task, found) in &taken {
            self.link(plan, *found, task).await?;
        }
        let has_new = !taken.is_empty();
        self.remember(|memory| {
            memory.mirrored.extend(numbers.iter().cloned());
            if has_new {
                self.note_written(memory, self.task_tools());
            }
        })
        .await
    }

    /// Records that the agent wrote its list, and with which tools.
    fn note_written(&self, memory: &mut Memory, with: &str) {
        memory.written_with = Some(with.to_owned());
        let (policy, now) = (self.given.settings.reminders, self.given.moment.now);
        let input =
            if self.sub_agent.is_empty() { Input::Changed } else { Input::ChangedBySubAgent };
        memory.watch.step(policy, self.profile(), input, now);
    }

    /// Records that items which a sub-agent added or started with our server's tools are its own.
    /// The server cannot tell a sub-agent from its agent, because both use one connection.
    pub(crate) async fn note_taken(&self, called: &[Called]) -> Result<(), Error> {
        let taken: BTreeSet<ItemId> = called.iter().flat_map(|it| &it.took).copied().collect();
        if taken.is_empty() {
            return Ok(());
        }
        let Some(plan) = self.whole("").await? else { return Ok(()) };
        let items = plan.items.values().filter(|it| taken.contains(&it.id));
        let numbers: Vec<Number> = items.map(|it| it.number).collect();
        self.remember(|memory| numbers.iter().for_each(|it| self.note_owned(memory, *it))).await
    }

    /// Records that the sub-agent answers for an item.
    fn note_owned(&self, memory: &mut Memory, number: Number) {
        if !self.sub_agent.is_empty() {
            sub_agent(memory, self.sub_agent).own.insert(number);
        }
    }

    /// The task's item. If there is none, one is added from what is known of the task.
    async fn find_or_add(&self, plan: PlanId, task: &str) -> Result<TaskItem, Error> {
        match self.find(plan, task).await? {
            Some(found) => Ok(found),
            None => {
                let task = self.unannounced(task);
                let found = self.ensure(plan, &task, |_, _| {}).await?;
                self.link(plan, found, &task).await?;
                Ok(found)
            }
        }
    }

    /// Adds the task's dependencies and parent to an item that was just added.
    async fn link(&self, plan: PlanId, found: TaskItem, task: &Task) -> Result<(), Error> {
        let links = Links { blocked: Vec::new(), ..self.links(plan, task).await? };
        if links == Links::default() {
            return Ok(());
        }
        self.edit(plan, found, &Task::default(), links, |_| {}).await
    }

    async fn find(&self, plan: PlanId, task: &str) -> Result<Option<TaskItem>, Error> {
        let id = item_id(&self.session, plan, task);
        let plan = self.store.read(plan, only(id)).await?;
        Ok(find(&plan, id).map(|item| TaskItem { id, number: item.number, is_new: false }))
    }

    /// The task's item, added if there is none. A new item's number is stored in the session's
    /// memory in the same write.
    async fn ensure(
        &self,
        plan: PlanId,
        task: &Task,
        note: impl Fn(&mut Memory, Number) + Send + Sync,
    ) -> Result<TaskItem, Error> {
        let id = item_id(&self.session, plan, &task.id);
        let mut last = None;
        for _ in 0..TRIES {
            let slice = self.store.read(plan, only(id)).await?;
            if let Some(item) = find(&slice, id) {
                return Ok(TaskItem { id, number: item.number, is_new: false });
            }
            let change = Change::new(adding(task, id), self.ctx());
            let change = Change { expect: Some(slice.revision), ..change };
            // The change is only applied to the revision that was read, so the item gets the next
            // number of that revision.
            let number = slice.next_number;
            let note = |memory: &mut Memory| note(memory, number);
            match self.change_and_remember(plan, change, note).await {
                Ok(_) => return Ok(TaskItem { id, number, is_new: true }),
                Err(error @ Error::Revision { .. }) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or(Error::NoPlan(plan)))
    }

    /// The item at the other end of a link. A task that neither the plan nor the agent's files have
    /// is dropped, as the agent does.
    async fn linked_item(&self, plan: PlanId, task: &str) -> Result<Option<ItemRef>, Error> {
        if let Some(found) = self.find(plan, task).await? {
            return Ok(Some(found.item()));
        }
        let Some(task) = self.task_file(task) else { return Ok(None) };
        let found = self.ensure(plan, &task, |_, _| {}).await?;
        Ok(Some(found.item()))
    }

    pub(crate) fn task_file(&self, task: &str) -> Option<Task> {
        let list = self.given.agent.task_list.unwrap_or(&self.session.key.id);
        (self.given.task)(list, task).filter(|it| it.id == task)
    }

    /// A task that no event has announced, with what its file says.
    fn unannounced(&self, task: &str) -> Task {
        self.task_file(task).unwrap_or_else(|| Task {
            id: task.to_owned(),
            subject: Some(format!("Task {task}")),
            ..Task::default()
        })
    }

    /// The items that a task is linked to.
    async fn links(&self, plan: PlanId, task: &Task) -> Result<Links, Error> {
        let mut links = Links::default();
        for id in &task.blocked_by {
            links.after.extend(self.linked_item(plan, id).await?);
        }
        for id in &task.blocks {
            links.blocked.extend(self.linked_item(plan, id).await?);
        }
        if let Some(id) = &task.parent {
            links.parent = self.linked_item(plan, id).await?;
        }
        Ok(links)
    }

    /// Edits a task's item, and makes the items that it blocks depend on it.
    async fn edit(
        &self,
        plan: PlanId,
        found: TaskItem,
        task: &Task,
        links: Links,
        note: impl Fn(&mut Memory) + Send + Sync,
    ) -> Result<(), Error> {
        let item = found.item();
        let patch = Patch { parent: links.parent.map(Some), ..patch(task, links.after) };
        let mut ops = vec![Op::Edit { item: item.clone(), patch: Box::new(patch) }];
        ops.extend(task.waits.map(|waits| match waits {
            true => Op::Wait { item: item.clone(), on: ListEntry::BLOCKED.to_owned() },
            false => Op::Resume(item.clone()),
        }));
        ops.extend(links.blocked.into_iter().map(|blocked| {
            let patch = Patch { after: vec![item.clone()], ..Patch::default() };
            Op::Edit { item: blocked, patch: Box::new(patch) }
        }));
        self.apply(plan, ops, note).await
    }

    async fn apply(
        &self,
        plan: PlanId,
        ops: Vec<Op>,
        note: impl Fn(&mut Memory) + Send + Sync,
    ) -> Result<(), Error> {
        // The shown revision only matters for whole-list writes. It is not recorded here, because
        // that would be another write.
        let change = Change::new(ops, self.ctx());
        self.change_and_remember(plan, change, note).await.map(drop)
    }
}

fn only(id: ItemId) -> Needs {
    let reach = Reach { item: ItemRef::Id(id), around: Vec::new() };
    Needs { items: vec![reach], ..Needs::header() }
}

fn find(plan: &Slice, id: ItemId) -> Option<&Item> {
    plan.items.values().find(|item| item.id == id)
}

/// The operations that add a task's item.
fn adding(task: &Task, id: ItemId) -> Vec<Op> {
    let new = NewItem {
        id: Some(id),
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

/// A patch with the task's own fields and these dependencies.
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
