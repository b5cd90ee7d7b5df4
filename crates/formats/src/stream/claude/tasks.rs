//! A task list as the `Task*` tools build it: one change after the other, and snapshots between them.
//!
//! A snapshot may be older than a change that was answered before it, because calls of one message run
//! side by side. So each task knows the line of its last change, and a snapshot changes only what has
//! not changed since it was asked for.

use std::collections::{BTreeMap, BTreeSet};

use super::super::event::{Item, Status, Text};
use super::super::json::{Str, Value};
use super::super::todo::{self, ListName, MOST_ITEMS, Meaning};

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

#[derive(Clone, PartialEq, Debug)]
struct Task {
    /// Unknown if it was set before the stream began.
    subject: Option<Text<'static>>,
    active_form: Option<Text<'static>>,
    status: Status,
    blocked_by: BTreeSet<String>,
    /// The line of its last change.
    changed: u64,
}

impl Task {
    fn new(changed: u64) -> Self {
        Self {
            subject: None,
            active_form: None,
            status: Status::Pending,
            blocked_by: BTreeSet::new(),
            changed,
        }
    }

    fn size(&self) -> usize {
        let texts = [&self.subject, &self.active_form];
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
    deleted: BTreeMap<String, u64>,
    name: ListName,
    bytes: usize,
    /// The program has dropped a list of which everything was done; the next task begins a new one.
    is_over: bool,
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

    /// What is on the list, in order.
    pub(super) fn items(&self) -> Vec<Item<'_>> {
        let is_open =
            |id: &String| self.tasks.get(&key(id)).is_some_and(|it| it.status != Status::Completed);
        let mut items = Vec::with_capacity(self.tasks.len());
        for ((_, id), task) in &self.tasks {
            let text = match &task.subject {
                Some(subject) => subject.borrowed(),
                None => Text::from(format!("Task #{id}")),
            };
            items.push(Item {
                id: Some(Text::from(id.as_str())),
                active_form: task.active_form.as_ref().map(Text::borrowed),
                blocked: task.status == Status::Pending && task.blocked_by.iter().any(is_open),
                ..Item::new(text, task.status)
            });
        }
        items
    }

    /// A task was created.
    pub(super) fn create(
        &mut self,
        id: &str,
        subject: Text<'_>,
        active_form: Option<Text<'_>>,
        line: u64,
    ) -> Change {
        if self.is_over {
            self.tasks.clear();
            self.bytes = 0;
            self.is_over = false;
            self.name.close();
        }
        let task = Task {
            subject: Some(subject.into_owned()),
            active_form: active_form.map(Text::into_owned),
            ..Task::new(line)
        };
        self.put(id, task)
    }

    /// A task was changed: `fields` is what the program says has changed, `input` what was asked for,
    /// `status` what the program says the status is now.
    pub(super) fn update(
        &mut self,
        id: &str,
        fields: &[&str],
        input: Value<'_>,
        status: Option<Str<'_>>,
        line: u64,
    ) -> Change {
        if fields.contains(&"deleted") {
            return self.delete(id, line);
        }
        let known = self.tasks.get(&key(id)).cloned();
        let mut task = known.clone().unwrap_or_else(|| Task::new(line));
        let text = |name: &str| input.text(name).map(|it| Text::raw(it).into_owned());
        // Of a task that we do not know, what was asked for is better than nothing: a field that did
        // not change has that value already.
        let has = |name: &str| fields.contains(&name) || known.is_none();
        if has("subject")
            && let Some(subject) = text("subject").filter(|it| !it.is_blank())
        {
            task.subject = Some(subject);
        }
        if has("activeForm")
            && let Some(form) = text("activeForm")
        {
            task.active_form = Some(form).filter(|it| !it.is_blank());
        }
        let status = status.or_else(|| input.text("status").filter(|_| has("status")));
        match status.and_then(|it| meaning(&it.cow())) {
            Some(Meaning::Is(status)) => task.status = status,
            Some(Meaning::Gone) => return self.delete(id, line),
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
                    other.changed = line;
                    change = change.and(self.put(&blocked, other));
                }
            }
        }
        task.changed = line;
        change.and(self.put(id, task))
    }

    /// What the program says about tasks, asked for on line `asked`: all of them, so what it does not name is gone.
    pub(super) fn snapshot(&mut self, tasks: Value<'_>, asked: u64, line: u64) -> Change {
        if tasks.items().next().is_none()
            && !self.is_empty()
            && self.tasks.values().all(|it| it.status == Status::Completed)
        {
            // On its screen the program drops a list some seconds after everything was done. That is
            // no word about the plan.
            self.is_over = true;
            return Change::Same;
        }
        let mut change = Change::Same;
        let mut named = BTreeSet::new();
        for value in tasks.items().take(MOST_ITEMS) {
            let Some(id) = value.text("id") else { continue };
            let id = id.cow();
            change = change.and(self.take_over(&id, value, asked, line));
            named.insert(key(&id));
        }
        let before = self.tasks.len();
        self.tasks.retain(|key, task| named.contains(key) || task.changed > asked);
        if self.tasks.len() < before {
            self.bytes = self.tasks.values().map(Task::size).sum();
            change = change.and(Change::Changed);
        }
        change
    }

    /// What the program says about one task, asked for on line `asked`.
    pub(super) fn snapshot_one(&mut self, task: Value<'_>, asked: u64, line: u64) -> Change {
        match task.text("id") {
            Some(id) => self.take_over(&id.cow(), task, asked, line),
            None => Change::Same,
        }
    }

    /// The program knows no such task, asked for on line `asked`.
    pub(super) fn missing(&mut self, id: &str, asked: u64, line: u64) -> Change {
        match self.tasks.get(&key(id)) {
            Some(task) if task.changed <= asked => self.delete(id, line),
            Some(_) | None => Change::Same,
        }
    }

    fn take_over(&mut self, id: &str, value: Value<'_>, asked: u64, line: u64) -> Change {
        let known = self.tasks.get(&key(id));
        if known.is_some_and(|it| it.changed > asked)
            || self.deleted.get(id).is_some_and(|deleted| *deleted > asked)
        {
            return Change::Same;
        }
        let status = match value.text("status").and_then(|it| meaning(&it.cow())) {
            Some(Meaning::Is(status)) => Some(status),
            Some(Meaning::Gone) => return self.delete(id, line),
            Some(Meaning::Blocked) | None => None,
        };
        let mut task = known.cloned().unwrap_or_else(|| Task::new(line));
        let text = |name: &str| {
            let text = value.text(name).map(Text::raw).filter(|it| !it.is_blank());
            text.map(Text::into_owned)
        };
        task.subject = text("subject").or(task.subject);
        task.active_form = text("activeForm").or(task.active_form);
        task.status = status.unwrap_or(task.status);
        if value.get("blockedBy").is_some() {
            // Snapshots leave out blockers that are done; should one be opened again, it blocks again.
            let is_done = |id: &String| {
                self.tasks.get(&key(id)).is_some_and(|it| it.status == Status::Completed)
            };
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
        if before.is_some_and(|it| Task { changed: task.changed, ..it.clone() } == task) {
            self.tasks.insert(key, task);
            return Change::Same;
        }
        let freed = before.map_or(0, Task::size);
        let bytes = self.bytes - freed + task.size();
        if bytes > MOST_BYTES || (before.is_none() && self.tasks.len() >= MOST_ITEMS) {
            return Change::Full;
        }
        self.bytes = bytes;
        self.deleted.remove(id);
        self.tasks.insert(key, task);
        Change::Changed
    }

    fn delete(&mut self, id: &str, line: u64) -> Change {
        if self.deleted.len() < MOST_ITEMS && id.len() <= LONGEST_ID {
            self.deleted.insert(id.to_owned(), line);
        }
        match self.tasks.remove(&key(id)) {
            Some(task) => {
                self.bytes -= task.size();
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
    let list = list.into_iter().flat_map(|it| it.items());
    list.filter_map(|it| it.str())
        .map(|it| it.cow().into_owned())
        .filter(|it| it.len() <= LONGEST_ID)
}

fn add(blockers: &mut BTreeSet<String>, id: String) {
    if blockers.len() < MOST_BLOCKERS {
        blockers.insert(id);
    }
}
