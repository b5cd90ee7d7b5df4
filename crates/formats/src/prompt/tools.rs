//! What an agent's tools are called, as plain data, and the prompt section that goes with them.

use punchlist_model::{Item, Number, Plan, Status};

/// The words of one set of tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tools {
    /// The tool that puts things on the list, as reminders name it.
    pub plan: &'static str,
    /// How the list is brought up to date, to follow "update todos".
    pub update: &'static str,
    /// What to do about open items, to follow "Finish them, or …".
    pub settle: &'static str,
    /// How items are pointed at.
    pub label: Label,
    /// The word for each status.
    pub status: Words,
    /// When and how to plan.
    pub section: &'static str,
}

/// What a set of tools calls the statuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each field is a status")]
pub struct Words {
    pub pending: &'static str,
    pub in_progress: &'static str,
    pub completed: &'static str,
    pub cancelled: &'static str,
}

impl Words {
    /// The names that stores and most tools use.
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

/// How a set of tools points at an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// By its number.
    Number,
    /// By where it stands.
    Position,
}

impl Label {
    /// What an item is called.
    pub(super) fn of(self, item: &Item) -> u32 {
        match self {
            Self::Number => item.number.0,
            Self::Position => item.position.map_or(item.number.0, |position| position.0),
        }
    }

    /// What several are called, in list order: `1, 3`.
    pub(super) fn list<'a>(
        self,
        plan: &Plan,
        numbers: impl IntoIterator<Item = &'a Number>,
    ) -> String {
        const MOST: usize = 10;
        let mut found: Vec<&Item> = numbers.into_iter().filter_map(|it| plan.get(*it)).collect();
        found.sort_by_key(|item| (item.position.is_none(), item.position, item.number));
        let more = found.len().saturating_sub(MOST);
        let mut names: Vec<String> =
            found.iter().take(MOST).map(|item| self.of(item).to_string()).collect();
        if more > 0 {
            names.push(format!("{more} more"));
        }
        names.join(", ")
    }
}

impl Tools {
    /// `create_todo`, `list_todo`, `complete_todo`, `update_todo`, `next_todo`.
    pub const TURN: Self = Self {
        plan: "create_todo",
        update: "complete_todo and update_todo",
        settle: "say what became of each: complete_todo with an outcome, complete_todo with \
                 status \"cancelled\" and the reason, or update_todo with waitingOn",
        label: Label::Number,
        status: Words { in_progress: "in progress", ..Words::PLAIN },
        section: "## Planning\n\n\
            For a request with several distinct steps, put the steps down with create_todo before \
            you begin, in one call. Each item says what to do; completionCriteria says how one sees \
            that it is done. Answer directly, without a plan, when one or two tool calls are enough, \
            when it is a question of fact, or in conversation.\n\n\
            Work on one item at a time: next_todo gives it to you. When it is done, call \
            complete_todo at once with the outcome, not later in a bunch. What turns out needless is \
            completed with status \"cancelled\" and the reason; what needs a person or an event gets \
            waitingOn with update_todo. New steps that come up are added with create_todo.\n\n\
            Before you give your final answer, look at list_todo. Nothing may be left that you could \
            still do; name what is left and why.\n",
    };

    /// `todo_manager`.
    pub const MANAGER: Self = Self {
        plan: "todo_manager",
        update: "todo_manager",
        settle: "say what became of each: todo_manager with action \"complete_multiple\" and its \
                 id, or with action \"skip\", its id and the reason",
        label: Label::Position,
        status: Words {
            pending: "todo",
            in_progress: "doing",
            completed: "done",
            cancelled: "skipped",
        },
        section: "## Planning\n\n\
            For complex tasks, call todo_manager with action \"list\" first, then put your steps on \
            the list with \"add_multiple\", \"add_after_position\" or \"replace_all\". Simple tasks \
            of one or two steps need no list.\n\n\
            Work on one item at a time: \"next\" or \"start\" sets it to doing, and several tool \
            calls for it are fine. As soon as it is done call \"complete_multiple\" with its id; if \
            it is no longer needed or cannot be done, \"skip\" it with the reason and go on with the \
            next. An item that must be verified stays doing until it is.\n\n\
            Ids are positions and may shift after an insertion: take them from the latest <todos> \
            that you were shown. Before your final answer no item may be left as todo or doing.\n",
    };

    /// `TodoWrite`: the whole list each time. Fits a mirrored list too, which can only be rewritten.
    pub const TODOWRITE: Self = Self {
        plan: "TodoWrite",
        update: "TodoWrite",
        settle: "rewrite the list with TodoWrite as it really stands: mark what is done as \
                 completed, leave out what will not be done and tell the user why",
        label: Label::Position,
        status: Words::PLAIN,
        section: "## Planning\n\n\
            Use TodoWrite for work of three or more steps, when the user asks for several things, or \
            when the work needs a plan. Do without it for a single straightforward task, a trivial \
            one, or a question.\n\n\
            Each call sends the whole list and replaces it, so keep every entry that is not done. \
            content says what to do (\"Run the tests\"), activeForm says it while it happens \
            (\"Running the tests\").\n\n\
            Have exactly one entry in_progress while you work, and set it before you begin. Mark it \
            completed as soon as it is done, not later in a bunch, and only if it is really done: \
            when tests fail or something is missing, it stays in_progress. Before your final answer, \
            bring the list up to date and finish what is open, or say what stays open and why.\n",
    };
}

/// The section for an agent's system prompt, if it has the tools that the section speaks of.
pub fn prompt_section(tools: &Tools, has_tools: bool) -> Option<&'static str> {
    has_tools.then_some(tools.section)
}
