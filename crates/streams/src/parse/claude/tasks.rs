//! A task list of the `Task*` tools: single changes, and snapshots between them.
//!
//! Calls of one message run in parallel, so a snapshot may be older than a change whose result came
//! first. Therefore each task has the moment of its last change, and a snapshot only changes tasks
//! that have not changed since it was requested.
//!
//! The files of a session's agents report one list and are read one after the other, so something
//! read later may have happened earlier. Therefore each field has the moment when it was set, and
//! an older value does not replace it. Within one file, moments never go back.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Item, Status, Text};
use crate::json::{Object, Str, Value};
use crate::parse::todo::{self, ListName, MOST_ITEMS, Meaning};

/// Maximum size of the texts of a list, and maximum of dependencies of a task.
const MOST_BYTES: usize = 4 << 20;
const MOST_BLOCKERS: usize = 1_000;

/// Maximum length of an id. Ids are short numbers.
const LONGEST_ID: usize = 64;

/// The sort key of a task: by number, if the id is one.
type Key = (u64, String);

fn key(id: &str) -> Key {
    (id.parse().unwrap_or(u64::MAX), id.to_owned())
}

/// When something happened: the time, and the line that reports it. Within one file, times never go
/// back, so lines decide; between two files, times do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Moment {
    /// Milliseconds since 1970.
    pub(super) at: i64,
    pub(super) line: u64,
}

impl Moment {
    /// Before all others.
    const NEVER: Self = Self { at: i64::MIN, line: 0 };

    /// The moment of a later line.
    pub(super) fn then(self, timestamp: Option<i64>, line: u64) -> Self {
        Self { at: timestamp.map_or(self.at, |it| it.max(self.at)), line }
    }
}

impl Default for Moment {
    fn default() -> Self {
        Self::NEVER
    }
}

/// A field of a task, and when it was set.
#[derive(Clone, Debug)]
struct Field<T> {
    value: T,
    since: Moment,
}

impl<T> Field<T> {
    fn unset(value: T) -> Self {
        Self { value, since: Moment::NEVER }
    }

    /// Sets the value, unless a later one is known.
    fn set(&mut self, value: T, at: Moment) {
        if at >= self.since {
            *self = Self { value, since: at };
        }
    }
}

#[derive(Clone, Debug)]
struct Task {
    /// `None` if it was set before the stream started.
    subject: Field<Option<Text<'static>>>,
    active_form: Field<Option<Text<'static>>>,
    status: Field<Status>,
    blocked_by: BTreeSet<String>,
    /// The moment of the last change.
    changed: Moment,
}

impl Task {
    fn new(changed: Moment) -> Self {
        Self {
            subject: Field::unset(None),
            active_form: Field::unset(None),
            status: Field::unset(Status::Pending),
            blocked_by: BTreeSet::new(),
            changed,
        }
    }

    fn is_done(&self) -> bool {
        self.status.value == Status::Completed
    }

    /// Whether both look the same in a list.
    fn looks_like(&self, other: &Self) -> bool {
        self.subject.value == other.subject.value
            && self.active_form.value == other.active_form.value
            && self.status.value == other.status.value
            && self.blocked_by == other.blocked_by
    }

    fn size(&self) -> usize {
        let texts = [&self.subject.value, &self.active_form.value];
        let texts: usize = texts.into_iter().flatten().map(Text::len).sum();
        texts + self.blocked_by.iter().map(String::len).sum::<usize>()
    }
}

/// The result of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// The list has changed.
    Changed,
    /// The list is the same.
    Same,
    /// The list would be too long.
    Full,
}

/// A task list.
#[derive(Default, Debug)]
pub(super) struct Tasks {
    tasks: BTreeMap<Key, Task>,
    /// The moments at which ids were deleted.
    deleted: BTreeMap<String, Moment>,
    /// The last moment at which the program listed all tasks: others did not exist then.
    listed: Moment,
    /// The moment of the last reported change.
    reported: Moment,
    name: ListName,
    bytes: usize,
    /// When the program dropped a list whose tasks were all completed; the next task starts a new
    /// list.
    over: Option<Moment>,
}

impl Tasks {
    pub(super) fn has(&self, id: &str) -> bool {
        self.tasks.contains_key(&key(id))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The name of the list that is reported now.
    pub(super) fn name(&mut self, agent_id: &str) -> String {
        let is_cleared = self.tasks.is_empty();
        self.name.next(agent_id, is_cleared)
    }

    /// The moment to report the list with: that of this change, or of a later one that was read
    /// before.
    pub(super) fn reported(&mut self, now: Moment) -> Moment {
        self.reported = self.reported.max(now);
        self.reported
    }

    /// The todos, in order.
    pub(super) fn items(&self) -> Vec<Item<'_>> {
        let is_open = |id: &String| self.tasks.get(&key(id)).is_some_and(|it| !it.is_done());
        let mut items = Vec::with_capacity(self.tasks.len());
        for ((_, id), task) in &self.tasks {
            let text = match &task.subject.value {
                Some(subject) => subject.borrowed(),
                None => Text::from(format!("Task #{id}")),
            };
            items.push(Item {
                id: Some(Text::from(id.as_str())),
                active_form: task.active_form.value.as_ref().map(Text::borrowed),
                blocked: task.status.value == Status::Pending
                    && task.blocked_by.iter().any(is_open),
                ..Item::new(text, task.status.value)
            });
        }
        items
    }

    /// Whether a task was deleted after that moment, so that older reports about it do not matter.
    fn was_gone_after(&self, id: &str, at: Moment) -> bool {
        self.deleted.get(id).is_some_and(|it| *it > at) || (at < self.listed && !self.has(id))
    }

    /// Creates a task.
    pub(super) fn create(
        &mut self,
        id: &str,
        subject: Text<'_>,
        active_form: Option<Text<'_>>,
        at: Moment,
    ) -> Change {
        if let Some(over) = self.over.take_if(|it| *it < at) {
            self.tasks.retain(|_, it| it.changed > over);
            self.bytes = self.tasks.values().map(Task::size).sum();
            self.listed = self.listed.max(over);
            if self.tasks.is_empty() {
                self.name.close();
            }
        }
        if self.was_gone_after(id, at) {
            return Change::Same;
        }
        // Another file may have reported later changes.
        let known = self.tasks.get(&key(id)).filter(|it| it.changed > at);
        let mut task = known.cloned().unwrap_or_else(|| Task::new(at));
        task.subject.set(Some(subject.into_owned()), at);
        task.active_form.set(active_form.map(Text::into_owned), at);
        task.status.set(Status::Pending, at);
        self.put(id, task)
    }

    /// Changes a task: `fields` are the fields that the program says have changed, `input` the
    /// arguments, `status` the new status according to the program.
    pub(super) fn update(
        &mut self,
        id: &str,
        fields: &[&str],
        input: &Object<'_>,
        status: Option<Str<'_>>,
        at: Moment,
    ) -> Change {
        if fields.contains(&"deleted") {
            return self.delete(id, at);
        }
        if self.was_gone_after(id, at) {
            return Change::Same;
        }
        let known = self.tasks.get(&key(id)).cloned();
        let mut task = known.clone().unwrap_or_else(|| Task::new(at));
        let text = |name: &str| input.text(name).map(|it| Text::raw(it).into_owned());
        // A field that did not change already had the requested value. That is news about a task
        // that is unknown, or that was changed outside this stream.
        let has = |name: &str| fields.contains(&name) || known.is_none() || fields.is_empty();
        if has("subject")
            && let Some(subject) = text("subject").filter(|it| !it.is_blank())
        {
            task.subject.set(Some(subject), at);
        }
        if has("activeForm")
            && let Some(form) = text("activeForm")
        {
            task.active_form.set(Some(form).filter(|it| !it.is_blank()), at);
        }
        let status = status.or_else(|| input.text("status").filter(|_| has("status")));
        match status.and_then(|it| meaning(&it.cow())) {
            Some(Meaning::Is(status)) => task.status.set(status, at),
            Some(Meaning::Gone) => return self.delete(id, at),
            Some(Meaning::Blocked) | None => {}
        }
        if has("blockedBy") {
            for blocker in ids(input.get("addBlockedBy")).filter(|it| self.has(it)) {
                add(&mut task.blocked_by, blocker);
            }
        }
        let mut change = Change::Same;
        if has("blocks") {
            for blocked in ids(input.get("addBlocks")).filter(|it| it != id) {
                if let Some(mut other) = self.tasks.get(&key(&blocked)).cloned() {
                    add(&mut other.blocked_by, id.to_owned());
                    other.changed = other.changed.max(at);
                    change = change.and(self.put(&blocked, other));
                }
            }
        }
        task.changed = task.changed.max(at);
        change.and(self.put(id, task))
    }

    /// Applies a list of all tasks, requested at `asked`. Tasks that are not in it are gone.
    pub(super) fn snapshot(&mut self, tasks: Value<'_>, asked: Moment, at: Moment) -> Change {
        let listed = tasks.items();
        if listed.is_empty() && !self.is_empty() && self.tasks.values().all(Task::is_done) {
            // The program drops a list from its screen some seconds after all tasks are completed.
            // That does not change the plan.
            self.over = self.over.max(Some(asked));
            return Change::Same;
        }
        let mut change = Change::Same;
        let mut named = BTreeSet::new();
        for value in listed.into_iter().take(MOST_ITEMS).filter_map(Value::object) {
            let Some(id) = value.text("id") else { continue };
            let id = id.cow();
            change = change.and(self.take_over(&id, &value, asked, at));
            named.insert(key(&id));
        }
        self.listed = self.listed.max(asked);
        let before = self.tasks.len();
        self.tasks.retain(|key, task| named.contains(key) || task.changed > asked);
        if self.tasks.len() < before {
            self.bytes = self.tasks.values().map(Task::size).sum();
            change = change.and(Change::Changed);
        }
        change
    }

    /// Applies the state of one task, requested at `asked`.
    pub(super) fn snapshot_one(&mut self, task: Value<'_>, asked: Moment, at: Moment) -> Change {
        let Some(task) = task.object() else { return Change::Same };
        match task.text("id") {
            Some(id) => self.take_over(&id.cow(), &task, asked, at),
            None => Change::Same,
        }
    }

    /// Handles the answer that a task does not exist, requested at `asked`.
    pub(super) fn missing(&mut self, id: &str, asked: Moment, at: Moment) -> Change {
        match self.tasks.get(&key(id)) {
            Some(task) if task.changed <= asked => self.delete(id, at),
            Some(_) | None => Change::Same,
        }
    }

    fn take_over(&mut self, id: &str, value: &Object<'_>, asked: Moment, at: Moment) -> Change {
        if self.was_gone_after(id, asked) {
            return Change::Same;
        }
        let known = self.tasks.get(&key(id));
        let status = match value.text("status").and_then(|it| meaning(&it.cow())) {
            Some(Meaning::Is(status)) => Some(status),
            Some(Meaning::Gone) => return self.delete(id, at),
            Some(Meaning::Blocked) | None => None,
        };
        let mut task = known.cloned().unwrap_or_else(|| Task::new(at));
        let text = |name: &str| {
            let text = value.text(name).map(Text::raw).filter(|it| !it.is_blank());
            text.map(Text::into_owned)
        };
        if let Some(subject) = text("subject") {
            task.subject.set(Some(subject), asked);
        }
        if let Some(form) = text("activeForm") {
            task.active_form.set(Some(form), asked);
        }
        if let Some(status) = status {
            task.status.set(status, asked);
        }
        let has_changed = known.is_some_and(|it| it.changed > asked);
        if value.get("blockedBy").is_some() && !has_changed {
            // Snapshots leave out completed dependencies; if one is reopened, it blocks again.
            let is_done = |id: &String| self.tasks.get(&key(id)).is_some_and(Task::is_done);
            task.blocked_by.retain(is_done);
            ids(value.get("blockedBy")).for_each(|it| add(&mut task.blocked_by, it));
        }
        self.put(id, task)
    }

    fn put(&mut self, id: &str, task: Task) -> Change {
        if id.len() > LONGEST_ID {
            return Change::Full;
        }
        let key = key(id);
        let before = self.tasks.get(&key);
        let freed = before.map_or(0, Task::size);
        let bytes = self.bytes.saturating_sub(freed) + task.size();
        if before.is_some_and(|it| it.looks_like(&task)) {
            // The same text may have another size if it is escaped differently.
            self.bytes = bytes;
            self.tasks.insert(key, task);
            return Change::Same;
        }
        if bytes > MOST_BYTES || (before.is_none() && self.tasks.len() >= MOST_ITEMS) {
            return Change::Full;
        }
        self.bytes = bytes;
        self.deleted.remove(id);
        self.tasks.insert(key, task);
        Change::Changed
    }

    fn delete(&mut self, id: &str, at: Moment) -> Change {
        if self.deleted.len() < MOST_ITEMS && id.len() <= LONGEST_ID {
            let deleted = self.deleted.entry(id.to_owned()).or_default();
            *deleted = at.max(*deleted);
        }
        match self.tasks.remove(&key(id)) {
            Some(task) => {
                self.bytes = self.bytes.saturating_sub(task.size());
                Change::Changed
            }
            None => Change::Same,
        }
    }
}

impl Change {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Full, _) | (_, Self::Full) => Self::Full,
            (Self::Changed, _) | (_, Self::Changed) => Self::Changed,
            (Self::Same, Self::Same) => Self::Same,
        }
    }
}

/// The meaning of a task's status.
pub(super) fn meaning(status: &str) -> Option<Meaning> {
    match status {
        "deleted" => Some(Meaning::Gone),
        other => todo::common(other),
    }
}

fn ids<'a>(list: Option<Value<'a>>) -> impl Iterator<Item = String> + 'a {
    let list = list.map(Value::items).unwrap_or_default();
    list.into_iter()
        .filter_map(|it| it.str())
        .map(|it| it.cow().into_owned())
        .filter(|it| it.len() <= LONGEST_ID)
}

fn add(blockers: &mut BTreeSet<String>, id: String) {
    if blockers.len() < MOST_BLOCKERS {
        blockers.insert(id);
    }
}
