//! The lists as Gemini CLI writes them, and the tools that change them.

use crate::event::{Item, Status, Text};
use crate::json::{Str, Value};
use crate::parse::emit::Emit;
use crate::parse::todo::{self, Meaning, Shape};

/// The fields of `write_todos`, and of the lists in results.
const SHAPE: Shape =
    Shape { text: "description", status: "status", active_form: None, read: status };

fn status(status: &str) -> Option<Meaning> {
    match status {
        "blocked" => Some(Meaning::Blocked),
        // Statuses of the tracker.
        "open" => Some(Meaning::Is(Status::Pending)),
        "closed" => Some(Meaning::Is(Status::Completed)),
        other => todo::common(other),
    }
}

/// The todo tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tool {
    /// Writes the whole list.
    Write,
    /// Creates a task.
    Create,
    /// Changes a task.
    Update,
    /// Reads, or links tasks.
    Other,
}

impl Tool {
    pub(super) fn of(name: Str<'_>) -> Option<Self> {
        match name.literal() {
            "\"write_todos\"" => Some(Self::Write),
            "\"tracker_create_task\"" => Some(Self::Create),
            "\"tracker_update_task\"" => Some(Self::Update),
            name if name.starts_with("\"tracker_") => Some(Self::Other),
            _ => None,
        }
    }

    pub(super) fn is_tracker(self) -> bool {
        self != Self::Write
    }
}

/// The items of a list. Those of the tracker have their id at the end of the text, and are indented
/// below their parent.
pub(super) fn items<'a>(todos: Value<'a>, tool: Tool, emit: &mut Emit<'_>) -> Vec<Item<'a>> {
    let mut items = todo::whole(todos, SHAPE, emit);
    if tool.is_tracker() {
        let mut above: Vec<(usize, String)> = Vec::new();
        for item in &mut items {
            let text = item.text.to_str().into_owned();
            let Some(task) = Task::of(&text) else { continue };
            above.retain(|it| it.0 < task.depth);
            item.parent = above.last().map(|it| Text::from(it.1.clone()));
            item.id = Some(Text::from(task.id.to_owned()));
            above.push((task.depth, task.id.to_owned()));
            item.text = Text::from(task.title.to_owned());
        }
    }
    items
}

/// A task as the tracker prints it: `  task: Write code (10e943)`.
struct Task<'a> {
    depth: usize,
    title: &'a str,
    id: &'a str,
}

impl<'a> Task<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let rest = text.trim_start_matches(' ');
        let depth = text.len() - rest.len();
        let (kind, rest) = rest.split_once(": ")?;
        let (title, id) = rest.strip_suffix(')')?.rsplit_once(" (")?;
        let is_id = (4..=16).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_alphanumeric());
        let is_kind = matches!(kind, "epic" | "task" | "bug");
        (is_id && is_kind && !title.trim().is_empty()).then_some(Self { depth, title, id })
    }
}
