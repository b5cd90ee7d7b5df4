//! What came of calls of todo tools: the lists that follow from results.
//!
//! The id of a new task is only in its result; what a task was changed to is only in the call; whether
//! it was changed at all is in the result. Sub-agents get results as text alone.

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

/// The most lists of tasks of one stream. A stream has one session, as a rule.
const MOST_LISTS: usize = 64;

const TODO: Shape = Shape {
    text: "content",
    status: "status",
    active_form: Some("activeForm"),
    read: todo::common,
};

/// Tasks by session: all its agents share them, whichever file tells of which.
#[derive(Default, Debug)]
pub(in crate::parse) struct Board(BTreeMap<String, Tasks>);

/// Every list of a stream.
#[derive(Default, Debug)]
pub(super) struct Lists {
    tasks: Board,
    /// What the lists of `TodoWrite` are called: each agent has its own.
    todos: Names,
    /// The first time that the stream names.
    began: Option<i64>,
    lines: u64,
    /// The moment of the line that is read.
    now: Moment,
}

/// How many lines are waited for the first time.
const TIMELESS: u64 = 16;

impl Lists {
    /// A line with or without a time.
    pub(super) fn next_line(&mut self, timestamp: Option<i64>, line: u64) {
        self.now = self.now.then(timestamp, line);
        if self.awaits_time() {
            self.began = timestamp;
            self.lines += 1;
        }
    }

    /// Whether the first time has yet to come. The stream has none in many lines, and needs none.
    pub(super) fn awaits_time(&self) -> bool {
        self.began.is_none() && self.lines < TIMELESS
    }

    /// The moment of the line that is read.
    pub(super) fn now(&self) -> Moment {
        self.now
    }

    /// Changes the tasks that are known for those of another.
    pub(super) fn share(&mut self, tasks: &mut Board) {
        std::mem::swap(&mut self.tasks, tasks);
    }

    /// A call succeeded. `structured` is what the program keeps of the result, `said` what the model is
    /// told.
    pub(super) fn answered(
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
            return self.tell_todos(new, false, emit);
        }
        let Ok(input) = Value::read(&call.input) else { return };
        let input = input.object().unwrap_or_default();
        if call.what.tool == Tool::TodoWrite {
            return self.tell_asked(&input, false, emit);
        }
        // A fork begins with the conversation that it was made from, but with an empty list.
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
                    return emit.warn("a task was created, but its result does not say which");
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
                        emit.warn("a task was changed, but its result does not say how");
                    }
                    return;
                };
                emit.todo_call();
                if !tasks.has(&update.id) && !update.fields.contains(&"deleted") {
                    emit.warn(format!("task {} was created before this stream", update.word()));
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
        self.tell_tasks(change, owner, emit);
    }

    /// A call was never answered. A whole list is told as what it is, a wish.
    pub(super) fn unanswered(&mut self, call: &Call, emit: &mut Emit<'_>) {
        if !call.is_wish {
            return lost(call, emit);
        }
        let Ok(input) = Value::read(&call.input) else { return };
        let input = input.object().unwrap_or_default();
        let owner = Owner {
            session: Cow::Borrowed(&call.session),
            agent: call.agent.as_deref().map(Cow::Borrowed),
            has_own_file: false,
        };
        emit.of(owner.who());
        self.tell_asked(&input, true, emit);
    }

    /// The program reminded the model of its list, word for word.
    pub(super) fn reminded(
        &mut self,
        kind: &str,
        attachment: &Object<'_>,
        owner: &Owner<'_>,
        emit: &mut Emit<'_>,
    ) {
        let Some(content) = attachment.get("content").filter(|it| it.is_array()) else { return };
        let is_empty = content.items().is_empty();
        if kind == "todo_reminder" {
            // A list of which everything was done is forgotten by the program; that does not clear it.
            if !is_empty {
                self.tell_todos(content, false, emit);
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
            return self.tell_tasks(change, owner, emit);
        };
        let change = tasks.snapshot(content, at, at);
        self.tell_tasks(change, owner, emit);
    }

    /// Tells the list that a call asked for.
    fn tell_asked(&mut self, input: &Object<'_>, unconfirmed: bool, emit: &mut Emit<'_>) {
        let Some(todos) = input.get("todos") else {
            return emit.warn("a list was written, but the call has none");
        };
        // The program also takes the list as a text.
        let Some(text) = todos.str() else {
            return self.tell_todos(todos, unconfirmed, emit);
        };
        let text = text.cow();
        let told = json::text(text.as_bytes()).and_then(|text| {
            self.tell_todos(Value::read(&text)?, unconfirmed, emit);
            Ok(())
        });
        if let Err(flaw) = told {
            emit.warn(format!("a list was written as a text, but it is {flaw}"));
        }
    }

    fn tell_todos(&mut self, todos: Value<'_>, unconfirmed: bool, emit: &mut Emit<'_>) {
        emit.todo_call();
        let mut items = todo::whole(todos, TODO, emit);
        if emit.agent_id().len() > 2 * LONGEST_NAME {
            return emit.warn("the agent's name is too long");
        }
        self.todos.tell(&mut items, unconfirmed, emit);
    }

    fn tell_tasks(&mut self, change: Change, owner: &Owner<'_>, emit: &mut Emit<'_>) {
        let timestamp = emit.timestamp();
        let Some(tasks) = self.tasks.0.get_mut(&*owner.session) else { return };
        match change {
            Change::Same => return,
            Change::Full => emit.warn("the list is too long; it is not complete"),
            Change::Changed => {}
        }
        // The list is the session's, whichever of its agents changed it.
        if owner.agent.is_some() {
            emit.of(owner.main());
        }
        let mut file = owner.agent.as_deref().filter(|_| owner.has_own_file).map(Cow::Borrowed);
        let told = tasks.told(self.now);
        if told > self.now {
            // It has what came later in another file, and is not the list that was told then.
            emit.at(owner.main(), Some(told.at));
            file =
                Some(Cow::Owned(format!("{}@{}:{}", file.unwrap_or_default(), told.at, told.line)));
        }
        emit.within_file_of(file.as_deref());
        let todo_id = tasks.name(emit.agent_id());
        tell(todo_id, &mut tasks.items(), false, emit);
        emit.within_file_of(None);
        emit.at(owner.who(), timestamp);
    }
}

/// A call's result never came. If that is so for all of them, the format has changed.
pub(super) fn lost(call: &Call, emit: &mut Emit<'_>) {
    match call.what.tool {
        Tool::TaskCreate | Tool::TaskUpdate => emit.todo_call(),
        Tool::TodoWrite | Tool::TaskList | Tool::TaskGet => {}
    }
}

/// Whether a change was not made, though its result is no error.
fn is_refused(structured: Option<&Object<'_>>, said: &str) -> bool {
    structured.is_some_and(|it| it.get("success").and_then(|it| it.bool()) == Some(false))
        || said.starts_with("Task not found")
        || said.starts_with("TaskCompleted hook feedback:")
}

/// The id and subject of a new task, from what the program keeps or from what it says.
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

/// What the result of `TaskUpdate` says.
struct Update<'a> {
    id: Cow<'a, str>,
    fields: Vec<&'a str>,
    status: Option<Str<'a>>,
}

impl<'a> Update<'a> {
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
        // Names of fields have no escapes.
        let name = |it: Value<'a>| it.str().map(|it| it.literal().trim_matches('"'));
        let fields = fields.filter_map(name).collect();
        let status = result.path(&["statusChange", "to"]).and_then(|it| it.str());
        Some(Self { id: result.text("taskId")?.cow(), fields, status })
    }

    /// The id, cut for a warning.
    fn word(&self) -> String {
        self.id.chars().take(20).collect()
    }
}
