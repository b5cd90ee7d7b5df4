//! The names of an agent's tools, as data.
//!
//! Independent of dialects, because an agent whose own tools are mirrored has other names.

use std::collections::BTreeMap;

use punchlist_model::{Item, Number, Plan, Status};

use super::quote::brief;
use crate::dialect::{Dialect, Surface};

/// The wording for one set of tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tools {
    /// The tool that adds items.
    pub plan: &'static str,
    /// The tool that shows the list.
    pub list: &'static str,
    /// How to update the list; follows "update todos".
    pub update: &'static str,
    /// What to do about open items; follows "Finish them, or …".
    pub settle: &'static str,
    /// How to let an item wait for a person's approval; `None` if the tools cannot.
    pub wait: Option<&'static str>,
    /// How to park an item that needs a person; follows "park it with". `None` if the tools cannot.
    pub park: Option<&'static str>,
    /// How texts refer to items.
    pub label: Label,
    /// The word for each status.
    pub status: Words,
}

/// A set of tools' words for the statuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each field is a status")]
pub struct Words {
    pub pending: &'static str,
    pub in_progress: &'static str,
    pub completed: &'static str,
    pub cancelled: &'static str,
}

impl Words {
    /// The words that stores and most tools use.
    pub const PLAIN: Self = Self {
        pending: "pending",
        in_progress: "in_progress",
        completed: "completed",
        cancelled: "cancelled",
    };

    /// The word for a status.
    pub fn of(&self, status: Status) -> &'static str {
        match status {
            Status::Pending => self.pending,
            Status::InProgress => self.in_progress,
            Status::Completed => self.completed,
            Status::Cancelled => self.cancelled,
        }
    }
}

/// How a set of tools refers to an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// By its number.
    Number,
    /// By its position.
    Position,
}

/// The agent's own names for items (the ids of its tasks), by number.
pub type Names = BTreeMap<Number, String>;

/// How a text refers to items: as a set of tools does, or by the agent's own names.
#[derive(Clone, Copy)]
pub(super) struct Calls<'a> {
    pub(super) tools: &'a Tools,
    /// `None` if the agent has no names of its own.
    pub(super) names: Option<&'a Names>,
    /// The tools for items that have no such name.
    pub(super) others: &'a Tools,
}

impl<'a> Calls<'a> {
    pub(super) fn plain(tools: &'a Tools) -> Self {
        Self { tools, names: None, others: tools }
    }

    pub(super) fn named(tools: &'a Tools, names: &'a Names, others: &'a Tools) -> Self {
        Self { tools, names: Some(names), others }
    }

    /// Whether the agent's own tools cannot reach an item, because they have no name for it.
    pub(super) fn is_foreign(self, item: &Item) -> bool {
        self.names.is_some_and(|names| !names.contains_key(&item.number))
    }

    /// How to update these items, with the tools that reach them; follows "keep the list current".
    pub(super) fn update(self, items: &[&Item]) -> String {
        let foreign = items.iter().filter(|item| self.is_foreign(item)).count();
        let (own, others) = (self.tools.update, self.others.update);
        if foreign == 0 {
            own.to_owned()
        } else if foreign == items.len() {
            others.to_owned()
        } else {
            format!("{own}, and what is called todo with {others}")
        }
    }

    /// The name of an item in a text. Names come from the agent, so they are cleaned like any text.
    pub(super) fn of(self, item: &Item) -> String {
        match self.names.map(|names| names.get(&item.number)) {
            None => self.tools.label.of(item).to_string(),
            Some(Some(name)) => brief(name, 20),
            Some(None) => format!("todo {}", item.number),
        }
    }

    /// The names of several items, in list order: `1, 3`.
    pub(super) fn list<'b>(
        self,
        plan: &Plan,
        numbers: impl IntoIterator<Item = &'b Number>,
    ) -> String {
        const MOST: usize = 10;
        let mut found: Vec<&Item> = numbers.into_iter().filter_map(|it| plan.get(*it)).collect();
        found.sort_by_key(|item| (item.position.is_none(), item.position, item.number));
        let more = found.len().saturating_sub(MOST);
        let mut names: Vec<String> = found.iter().take(MOST).map(|item| self.of(item)).collect();
        if more > 0 {
            names.push(format!("{more} more"));
        }
        names.join(", ")
    }
}

impl Label {
    /// The number that refers to an item.
    fn of(self, item: &Item) -> u32 {
        match self {
            Self::Number => item.number.0,
            Self::Position => item.position.map_or(item.number.0, |position| position.0),
        }
    }
}

impl Tools {
    /// The wording for a dialect.
    pub const fn of(dialect: Dialect) -> &'static Self {
        match dialect {
            Dialect::Manager => &Self::MANAGER,
            Dialect::Turn => &Self::TURN,
            Dialect::TodoWrite => &Self::TODOWRITE,
            Dialect::WriteTodos => &Self::WRITE_TODOS,
            Dialect::UpdatePlan => &Self::UPDATE_PLAN,
            Dialect::Tasks => &Self::TASKS,
        }
    }

    /// `create_todo`, `list_todo`, `complete_todo`, `update_todo`, `next_todo`.
    pub const TURN: Self = Self {
        plan: "create_todo",
        list: "list_todo",
        update: "complete_todo and update_todo",
        settle: "say what became of each: complete_todo with an outcome, complete_todo with \
                 status \"cancelled\" and the reason, or update_todo with waitingOn",
        wait: Some("update_todo with waitingOn \"a person's approval\""),
        park: Some("update_todo with its todoId and waitingOn"),
        label: Label::Number,
        status: Words { in_progress: "in progress", ..Words::PLAIN },
    };

    /// The tools of `TURN` as an MCP client names them that puts `mcp__punchlist__` before the
    /// name.
    pub const MCP_TURN: Self = Self {
        plan: "mcp__punchlist__create_todo",
        list: "mcp__punchlist__list_todo",
        update: "mcp__punchlist__complete_todo and mcp__punchlist__update_todo",
        settle: "say what became of each: mcp__punchlist__complete_todo with an outcome, the same \
                 with status \"cancelled\" and the reason, or mcp__punchlist__update_todo with \
                 waitingOn",
        wait: Some("mcp__punchlist__update_todo with waitingOn \"a person's approval\""),
        park: Some("mcp__punchlist__update_todo with its todoId and waitingOn"),
        ..Self::TURN
    };

    /// The tools of `TURN` as an MCP client names them that puts `mcp_punchlist_` before the name.
    pub const MCP_TURN_SHORT: Self = Self {
        plan: "mcp_punchlist_create_todo",
        list: "mcp_punchlist_list_todo",
        update: "mcp_punchlist_complete_todo and mcp_punchlist_update_todo",
        settle: "say what became of each: mcp_punchlist_complete_todo with an outcome, the same \
                 with status \"cancelled\" and the reason, or mcp_punchlist_update_todo with \
                 waitingOn",
        wait: Some("mcp_punchlist_update_todo with waitingOn \"a person's approval\""),
        park: Some("mcp_punchlist_update_todo with its todoId and waitingOn"),
        ..Self::TURN
    };

    /// `todo_manager`.
    pub const MANAGER: Self = Self {
        plan: "todo_manager",
        list: "todo_manager",
        update: "todo_manager",
        settle: "say what became of each: todo_manager with action \"complete_multiple\" and its \
                 id, or with action \"skip\", its id and the reason",
        wait: None,
        park: None,
        label: Label::Position,
        status: Words {
            pending: "todo",
            in_progress: "doing",
            completed: "done",
            cancelled: "skipped",
        },
    };

    /// `TodoWrite`: the whole list at each call. Also for a mirrored list, which can only be
    /// rewritten.
    pub const TODOWRITE: Self = Self {
        plan: "TodoWrite",
        list: "TodoWrite",
        update: "TodoWrite",
        settle: "rewrite the list with TodoWrite as it really stands: mark what is done as \
                 completed, leave out what will not be done and tell the user why",
        wait: None,
        park: None,
        label: Label::Position,
        status: Words::PLAIN,
    };

    /// Gemini CLI's `write_todos`: the whole list at each call.
    pub const WRITE_TODOS: Self = Self {
        plan: "write_todos",
        list: "write_todos",
        update: "write_todos",
        settle: "rewrite the list with write_todos as it really stands: mark what is done as \
                 completed, what will not be done as cancelled and what waits for somebody as \
                 blocked, and tell the user why",
        wait: Some("write_todos with status \"blocked\""),
        park: Some("write_todos with status \"blocked\""),
        label: Label::Position,
        status: Words::PLAIN,
    };

    /// Codex's `update_plan`: the whole plan at each call.
    pub const UPDATE_PLAN: Self = Self {
        plan: "update_plan",
        list: "update_plan",
        update: "update_plan",
        settle: "rewrite the plan with update_plan as it really stands: mark what is done as \
                 completed, leave out what will not be done and tell the user why",
        wait: None,
        park: None,
        label: Label::Position,
        status: Words::PLAIN,
    };

    /// Gemini CLI's `tracker_create_task`, `tracker_update_task` and the like. The tracker has no
    /// word for cancelled tasks.
    pub const TRACKER: Self = Self {
        plan: "tracker_create_task",
        list: "tracker_list_tasks",
        update: "tracker_update_task",
        settle: "say what became of each: tracker_update_task with status \"closed\", or with \
                 status \"blocked\" for what waits for somebody, and tell the user why",
        wait: Some("tracker_update_task with status \"blocked\""),
        park: Some("tracker_update_task with status \"blocked\""),
        label: Label::Number,
        status: Words { pending: "open", completed: "closed", ..Words::PLAIN },
    };

    /// Claude Code's `TaskCreate`, `TaskGet`, `TaskUpdate` and `TaskList`.
    pub const TASKS: Self = Self {
        plan: "TaskCreate",
        list: "TaskList",
        update: "TaskUpdate",
        settle: "say what became of each: TaskUpdate with status \"completed\", or with status \
                 \"deleted\" for what will not be done, and tell the user why",
        wait: None,
        park: None,
        label: Label::Number,
        status: Words::PLAIN,
    };
}

/// The section for an agent's system prompt, if the agent has the tools that the section describes.
pub fn prompt_section(dialect: Dialect, surface: Surface, has_tools: bool) -> Option<&'static str> {
    if has_tools { dialect.prompt_section(surface) } else { None }
}
