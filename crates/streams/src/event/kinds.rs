//! The kinds of events by name, and sets of them.

use std::fmt;

/// The kinds by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum KindName {
    /// `session.started`
    SessionStarted,
    /// `turn.started`
    TurnStarted,
    /// `text`
    Text,
    /// `thinking`
    Thinking,
    /// `info`
    Info,
    /// `tool.scheduled`
    ToolScheduled,
    /// `tool.waiting`
    ToolWaiting,
    /// `tool.answered`
    ToolAnswered,
    /// `tool.started`
    ToolStarted,
    /// `tool.completed`
    ToolCompleted,
    /// `message.queued`
    MessageQueued,
    /// `todo_list`
    TodoList,
    /// `usage`
    Usage,
    /// `turn.completed`
    TurnCompleted,
    /// `error`
    Error,
    /// `warning`
    Warning,
}

impl KindName {
    /// All kinds, in the order of the specification.
    pub const ALL: [Self; 16] = [
        Self::SessionStarted,
        Self::TurnStarted,
        Self::Text,
        Self::Thinking,
        Self::Info,
        Self::ToolScheduled,
        Self::ToolWaiting,
        Self::ToolAnswered,
        Self::ToolStarted,
        Self::ToolCompleted,
        Self::MessageQueued,
        Self::TodoList,
        Self::Usage,
        Self::TurnCompleted,
        Self::Error,
        Self::Warning,
    ];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStarted => "session.started",
            Self::TurnStarted => "turn.started",
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Info => "info",
            Self::ToolScheduled => "tool.scheduled",
            Self::ToolWaiting => "tool.waiting",
            Self::ToolAnswered => "tool.answered",
            Self::ToolStarted => "tool.started",
            Self::ToolCompleted => "tool.completed",
            Self::MessageQueued => "message.queued",
            Self::TodoList => "todo_list",
            Self::Usage => "usage",
            Self::TurnCompleted => "turn.completed",
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KindSet(u32);

impl KindSet {
    /// Every kind.
    pub const ALL: Self = Self(u32::MAX);
    /// None.
    pub const NONE: Self = Self(0);

    /// Exactly these kinds.
    pub fn of(kinds: impl IntoIterator<Item = KindName>) -> Self {
        kinds.into_iter().fold(Self::NONE, |set, kind| Self(set.0 | 1 << kind as u32))
    }

    /// Whether a kind is in the set.
    pub fn has(self, kind: KindName) -> bool {
        self.0 & (1 << kind as u32) != 0
    }

    /// Whether the set is a subset of the other.
    pub fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}
