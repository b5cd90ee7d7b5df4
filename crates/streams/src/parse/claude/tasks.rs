//! A task list as the `Task*` tools build it: one change after the other, and snapshots between them.
//!
//! A snapshot may be older than a change that was answered before it, because calls of one message run
//! side by side. So each task knows the moment of its last change, and a snapshot changes only what has
//! not changed since it was asked for.
//!
//! The files of a session's agents tell of one list, and are read one after the other: what is read later
//! may have happened before. So each field knows the moment at which it was set, and an older word does not
//! change it. In one file moments never go back, and nothing of this shows.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Item, Status, Text};
use crate::json::{Object, Str, Value};
use crate::parse::todo::{self, ListName, MOST_ITEMS, Meaning};

/// The most bytes of texts in one list, and the most tasks that one task waits for.
const MOST_BYTES: usize = 4 << 20;
const MOST_BLOCKERS: usize = 1_000;

/// The longest id. They are numbers of a few digits.
const LONGEST_ID: usize = 64;

/// How a list is ordered: as numbers, as far as ids are numbers.
type Key = (u64, String);

fn key(id: &str) -> Key {
    (id.parse().unwrap_or(u64::MAX), id.to_owned())
}

/// When something happened: the time, and the line that tells of it. Times of one file never go back, so
/// there the lines decide; between two files the times do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Moment {
    /// In milliseconds since 1970.
    pub(super) at: i64,
    pub(super) line: u64,
}

impl Moment {
    /// Before everything.
    const NEVER: Self = Self { at: i64::MIN, line: 0 };

    /// The moment of a line that comes after this one.
    pub(super) fn then(self, timestamp: Option<i64>, line: u64) -> Self {
        Self { at: timestamp.map_or(self.at, |it| it.max(self.at)), line }
    }
}

impl Default for Moment {
    fn default() -> Self {
        Self::NEVER
    }
}

/// What a task's field is, and since when.
#[derive(Clone, Debug)]
struct Field<T> {
    value: T,
    since: Moment,
}

impl<T> Field<T> {
    fn unset(value: T) -> Self {
        Self { value, since: Moment::NEVER }
    }

    /// Takes a value, unless a later one is known.
    fn set(&mut self, value: T, at: Moment) {
        if at >= self.since {
            *self = Self { value, since: at };
        }
    }
}

#[derive(Clone, Debug)]
struct Task {
    /// Unknown if it was set before the stream began.
    subject: Field<Option<Text<'static>>>,
    active_form: Field<Option<Text<'static>>>,
    status: Field<Status>,
    blocked_by: BTreeSet<String>,
    /// The moment of its last change.
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

    /// Whether it looks the same to whoever reads the list.
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

/// What became of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// The list is another now.
    Changed,
    /// It is as it was.
    Same,
    /// It would be too long.
    Full,
}

/// One list.
#[derive(Default, Debug)]
pub(super) struct Tasks {
    tasks: BTreeMap<Key, Task>,
    /// When which id was deleted.
    deleted: BTreeMap<String, Moment>,
    /// The last moment of which the program named all tasks: what it did not name was not there.
    listed: Moment,
    /// The moment of the last change that was told.
    told: Moment,
    name: ListName,
    bytes: usize,
    /// When the program dropped a list of which everything was done; the next task begins a new one.
    over: Option<Moment>,
}

impl Tasks {
    pub(super) fn has(&self, id: &str) -> bool {
        self.tasks.contains_key(&key(id))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The name of the list for what is told now.
    pub(super) fn name(&mut self, agent_id: &str) -> String {
        let is_cleared = self.tasks.is_empty();
        self.name.next(agent_id, is_cleared)
    }

    /// The moment as which the list is told now: that of the change, or of one that happened later and
    /// was read before.
    pub(super) fn told(&mut self, now: Moment) -> Moment {
        self.told = self.told.max(now);
        self.told
    }

    /// What is on the list, in order.
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

    /// Whether a task was gone after that moment, so that what is told of it is no news.
    fn was_gone_after(&self, id: &str, at: Moment) -> bool {
        self.deleted.get(id).is_some_and(|it| *it > at) || (at < self.listed && !self.has(id))
    }

    /// A task was created.
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
        // Another file may have told what became of it.
        let known = self.tasks.get(&key(id)).filter(|it| it.changed > at);
        let mut task = known.cloned().unwrap_or_else(|| Task::new(at));
        task.subject.set(Some(subject.into_owned()), at);
        task.active_form.set(active_form.map(Text::into_owned), at);
        task.status.set(Status::Pending, at);
        self.put(id, task)
    }

    /// A task was changed: `fields` is what the program says has changed, `input` what was asked for,
    /// `status` what the program says the status is now.
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
        // A field that did not change has the value that was asked for already. That tells something of a
        // task that we do not know, and of one that changed where we did not see it.
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

    /// What the program says about tasks, asked for at `asked`: all of them, so what it does not name is gone.
    pub(super) fn snapshot(&mut self, tasks: Value<'_>, asked: Moment, at: Moment) -> Change {
        let told = tasks.items();
        if told.is_empty() && !self.is_empty() && self.tasks.values().all(Task::is_done) {
            // On its screen the program drops a list some seconds after everything was done. That is
            // no word about the plan.
            self.over = self.over.max(Some(asked));
            return Change::Same;
        }
        let mut change = Change::Same;
        let mut named = BTreeSet::new();
        for value in told.into_iter().take(MOST_ITEMS).filter_map(Value::object) {
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

    /// What the program says about one task, asked for at `asked`.
    pub(super) fn snapshot_one(&mut self, task: Value<'_>, asked: Moment, at: Moment) -> Change {
        let Some(task) = task.object() else { return Change::Same };
        match task.text("id") {
            Some(id) => self.take_over(&id.cow(), &task, asked, at),
            None => Change::Same,
        }
    }

    /// The program knows no such task, asked for at `asked`.
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
            // Snapshots leave out blockers that are done; should one be opened again, it blocks again.
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
            // The same text may be written otherwise, with more bytes or fewer.
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

/// What the statuses of tasks mean.
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
