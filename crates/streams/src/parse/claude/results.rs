//! Computes todo lists from the calls of todo tools and their results.
//!
//! Both are needed: only the call has the new values of a task; only the result says whether the
//! change was made, and has the id of a new task. For sub-agents, the stream has results only as
//! text, not as JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Owner;
use super::calls::{Call, Tool};
use super::tasks::{Change, Moment, Tasks};
use crate::event::Text;
use crate::json::{self, Object, Str, Value};
use crate::parse::emit::Emit;
use crate::parse::names::{LONGEST_NAME, Names, tell};
use crate::parse::todo::{self, Shape};

/// Maximum number of task lists in one stream. Each session has one list, and a stream normally has
/// one session.
const MOST_LISTS: usize = 64;

const TODO: Shape = Shape {
    text: "content",
    status: "status",
    active_form: Some("activeForm"),
    read: todo::common,
};

/// The task list of each session, by the session's id. All agents of a session share one list, even
/// if their streams are in different files.
#[derive(Default, Debug)]
pub(in crate::parse) struct Board(BTreeMap<String, Tasks>);

/// All todo lists of a stream, of the `Task*` tools and of `TodoWrite`.
#[derive(Default, Debug)]
pub(super) struct Lists {
    tasks: Board,
    /// The names of `TodoWrite` lists: each agent has its own list.
    todos: Names,
    /// The first timestamp in the stream.
    began: Option<i64>,
    /// The number of lines that were read while `began` was unknown.
    lines_without_time: u64,
    /// The moment of the current line.
    now: Moment,
}

/// Maximum number of lines to wait for the first timestamp.
const MOST_LINES_WITHOUT_TIME: u64 = 16;

impl Lists {
    /// Starts a line, with its timestamp if it has one.
    pub(super) fn next_line(&mut self, timestamp: Option<i64>, line: u64) {
        self.now = self.now.then(timestamp, line);
        if self.awaits_time() {
            self.began = timestamp;
            self.lines_without_time += 1;
        }
    }

    /// Whether to go on waiting for the first timestamp. Many lines have none.
    pub(super) fn awaits_time(&self) -> bool {
        self.began.is_none() && self.lines_without_time < MOST_LINES_WITHOUT_TIME
    }

    /// The moment of the current line.
    pub(super) fn now(&self) -> Moment {
        self.now
    }

    /// Swaps the task lists with those in `tasks`. Several streams share one [`Board`] this way:
    /// the caller swaps before and after it reads from a stream.
    pub(super) fn share(&mut self, tasks: &mut Board) {
        std::mem::swap(&mut self.tasks, tasks);
    }

    /// Handles the result of a successful call. `structured` is the result as JSON, if the stream
    /// has it; `said` is the text that the model reads.
    pub(super) fn call_succeeded(
        &mut self,
        call: &Call,
        structured: Option<Value<'_>>,
        said: &str,
        timestamp: Option<i64>,
        owner: &Owner<'_>,
        emit: &mut Emit<'_>,
    ) {
        if call.what.tool == Tool::TodoWrite
            && let Some(new) =
                structured.and_then(|it| it.get("newTodos")).filter(|it| it.is_array())
        {
            return self.report_todos(new, false, emit);
        }
        let Ok(input) = Value::read(&call.input) else { return };
        let input = input.object().unwrap_or_default();
        if call.what.tool == Tool::TodoWrite {
            return self.report_arguments(&input, false, emit);
        }
        // The stream of a forked session starts with a copy of the old conversation, but its list
        // starts empty. So calls that are older than the stream do not count.
        let is_copy = timestamp.zip(self.began).is_some_and(|(at, began)| at < began);
        if is_copy || owner.session.len() > LONGEST_NAME {
            return;
        }
        let all = &mut self.tasks.0;
        if !all.contains_key(&*owner.session) && all.len() >= MOST_LISTS {
            all.pop_first();
        }
        let tasks = all.entry(owner.session.clone().into_owned()).or_default();
        let structured = structured.and_then(Value::object);
        let structured = structured.as_ref();
        let (at, asked) = (self.now, call.what.at);
        let change = match call.what.tool {
            Tool::TodoWrite => return,
            Tool::TaskCreate => {
                emit.todo_call();
                let Some((id, subject)) = created(structured, said) else {
                    return emit.warn("a task was created, but its result has no id");
                };
                let subject = if subject.is_blank() {
                    emit.warn("a task without a subject");
                    Text::from(format!("Task #{id}"))
                } else {
                    subject
                };
                let form = input.text("activeForm").map(Text::raw).filter(|it| !it.is_blank());
                tasks.create(&id, subject, form, at)
            }
            Tool::TaskUpdate => {
                let Some(update) = Update::of(structured, said) else {
                    if !is_refused(structured, said) {
                        emit.todo_call();
                        emit.warn("a task was changed, but its result cannot be parsed");
                    }
                    return;
                };
                emit.todo_call();
                if !tasks.has(&update.id) && !update.fields.contains(&"deleted") {
                    emit.warn(format!("task {} was created before this stream", update.short_id()));
                }
                tasks.update(&update.id, &update.fields, &input, update.status, at)
            }
            Tool::TaskList => match structured.and_then(|it| it.get("tasks")) {
                Some(all) => tasks.snapshot(all, asked, at),
                None => Change::Same,
            },
            Tool::TaskGet => match structured.and_then(|it| it.get("task")) {
                Some(task) if task.is_object() => tasks.snapshot_one(task, asked, at),
                Some(task) if task.is_null() => match input.text("taskId") {
                    Some(id) => tasks.missing(&id.cow(), asked, at),
                    None => Change::Same,
                },
                Some(_) | None => Change::Same,
            },
        };
        self.report_tasks(change, owner, emit);
    }

    /// Handles a call that will get no result. A whole list is reported as unconfirmed.
    pub(super) fn call_without_result(&mut self, call: &Call, emit: &mut Emit<'_>) {
        if !call.is_wish {
            return count_lost(call, emit);
        }
        let Ok(input) = Value::read(&call.input) else { return };
        let input = input.object().unwrap_or_default();
        let owner = Owner {
            session: Cow::Borrowed(&call.session),
            agent: call.agent.as_deref().map(Cow::Borrowed),
            has_own_file: false,
        };
        emit.of(owner.who());
        self.report_arguments(&input, true, emit);
    }

    /// Handles a reminder: Claude Code repeats the whole list to the model.
    pub(super) fn reminder(
        &mut self,
        kind: &str,
        attachment: &Object<'_>,
        owner: &Owner<'_>,
        emit: &mut Emit<'_>,
    ) {
        let Some(content) = attachment.get("content").filter(|it| it.is_array()) else { return };
        let is_empty = content.items().is_empty();
        if kind == "todo_reminder" {
            // Claude Code drops a list when all its todos are completed. The list is still reported
            // as completed, not as cleared.
            if !is_empty {
                self.report_todos(content, false, emit);
            }
            return;
        }
        let at = self.now;
        let all = &mut self.tasks.0;
        let Some(tasks) = all.get_mut(&*owner.session) else {
            if is_empty || owner.session.len() > LONGEST_NAME || all.len() >= MOST_LISTS {
                return;
            }
            let mut tasks = Tasks::default();
            let change = tasks.snapshot(content, at, at);
            all.insert(owner.session.clone().into_owned(), tasks);
            return self.report_tasks(change, owner, emit);
        };
        let change = tasks.snapshot(content, at, at);
        self.report_tasks(change, owner, emit);
    }

    /// Reports the list in the arguments of a call of `TodoWrite`.
    fn report_arguments(&mut self, input: &Object<'_>, unconfirmed: bool, emit: &mut Emit<'_>) {
        let Some(todos) = input.get("todos") else {
            return emit.warn("a list was written, but its call has none");
        };
        // Claude Code also accepts a string that contains the list as JSON.
        let Some(text) = todos.str() else {
            return self.report_todos(todos, unconfirmed, emit);
        };
        let text = text.cow();
        let parsed = json::text(text.as_bytes()).and_then(|text| {
            self.report_todos(Value::read(&text)?, unconfirmed, emit);
            Ok(())
        });
        if let Err(flaw) = parsed {
            emit.warn(format!("a list was written as a text, but it is {flaw}"));
        }
    }

    /// Reports a list of `TodoWrite`.
    fn report_todos(&mut self, todos: Value<'_>, unconfirmed: bool, emit: &mut Emit<'_>) {
        emit.todo_call();
        let mut items = todo::whole(todos, TODO, emit);
        if emit.agent_id().len() > 2 * LONGEST_NAME {
            return emit.warn("the agent's name is too long");
        }
        self.todos.tell(&mut items, unconfirmed, emit);
    }

    /// Reports the session's task list, if it has changed.
    fn report_tasks(&mut self, change: Change, owner: &Owner<'_>, emit: &mut Emit<'_>) {
        let timestamp = emit.timestamp();
        let Some(tasks) = self.tasks.0.get_mut(&*owner.session) else { return };
        match change {
            Change::Same => return,
            Change::Full => emit.warn("the list is too long; it is not complete"),
            Change::Changed => {}
        }
        // The list belongs to the session, whichever of its agents changed it.
        if owner.agent.is_some() {
            emit.of(owner.main());
        }
        let mut file = owner.agent.as_deref().filter(|_| owner.has_own_file).map(Cow::Borrowed);
        let reported = tasks.reported(self.now);
        if reported > self.now {
            // The list already includes later changes, which another file reported. So the event
            // gets the time of the last change, and an id that differs from that change's event.
            emit.at(owner.main(), Some(reported.at));
            file = Some(Cow::Owned(format!(
                "{}@{}:{}",
                file.unwrap_or_default(),
                reported.at,
                reported.line
            )));
        }
        emit.within_file_of(file.as_deref());
        let todo_id = tasks.name(emit.agent_id());
        tell(todo_id, &mut tasks.items(), false, emit);
        emit.within_file_of(None);
        emit.at(owner.who(), timestamp);
    }
}

/// Counts a call that will get no result. If the stream has calls but no list, the format has
/// changed.
pub(super) fn count_lost(call: &Call, emit: &mut Emit<'_>) {
    match call.what.tool {
        Tool::TaskCreate | Tool::TaskUpdate => emit.todo_call(),
        Tool::TodoWrite | Tool::TaskList | Tool::TaskGet => {}
    }
}

/// Whether a result says that the change was refused, although it is not marked as an error.
fn is_refused(structured: Option<&Object<'_>>, said: &str) -> bool {
    structured.is_some_and(|it| it.get("success").and_then(|it| it.bool()) == Some(false))
        || said.starts_with("Task not found")
        || said.starts_with("TaskCompleted hook feedback:")
}

/// The id and subject of a new task, from the JSON result or the text.
fn created<'a>(structured: Option<&Object<'a>>, said: &'a str) -> Option<(Cow<'a, str>, Text<'a>)> {
    if let Some(task) = structured.filter(|it| it.has("task")) {
        let task = task.object("task")?;
        let subject = task.text("subject").map_or(Text::from(""), Text::raw);
        return Some((task.text("id")?.cow(), subject));
    }
    let rest = said.strip_prefix("Task #")?;
    let (id, subject) = rest.split_once(" created successfully: ")?;
    Some((Cow::Borrowed(id), Text::from(subject)))
}

/// A parsed result of `TaskUpdate`.
struct Update<'a> {
    id: Cow<'a, str>,
    fields: Vec<&'a str>,
    status: Option<Str<'a>>,
}

impl<'a> Update<'a> {
    /// Parses a result; `None` if the change was refused or the format is unknown.
    fn of(structured: Option<&Object<'a>>, said: &'a str) -> Option<Self> {
        let Some(result) = structured else {
            let rest = said.strip_prefix("Updated task #")?;
            let (id, fields) = rest.split_once(' ').unwrap_or((rest, ""));
            let fields = fields.lines().next().unwrap_or_default();
            let fields = fields.split(", ").map(str::trim).filter(|it| !it.is_empty()).collect();
            return Some(Self { id: Cow::Borrowed(id), fields, status: None });
        };
        if !result.is_true("success") {
            return None;
        }
        let fields = result.items("updatedFields").into_iter();
        // Field names contain no escape sequences, so the quoted literal is enough.
        let name = |it: Value<'a>| it.str().map(|it| it.literal().trim_matches('"'));
        let fields = fields.filter_map(name).collect();
        let status = result.path(&["statusChange", "to"]).and_then(|it| it.str());
        Some(Self { id: result.text("taskId")?.cow(), fields, status })
    }

    /// The id, shortened for a warning.
    fn short_id(&self) -> String {
        self.id.chars().take(20).collect()
    }
}
