//! Pictures of screens: SVG from a terminal emulator, and the list of those that are captured from the
//! program in tmux.

mod svg;

pub use svg::{Colours, svg};

/// A picture of the program in tmux. Those that are drawn by the code are in the tests of `tui`.
#[derive(Clone, Copy, Debug)]
pub struct Captured {
    /// The name of its file.
    pub name: &'static str,
    /// The heading of its section. Pictures with the same one share a section.
    pub title: &'static str,
    /// What a reader should know, in a paragraph.
    pub about: &'static str,
    /// The width of the terminal.
    pub columns: u16,
    /// The height of the terminal.
    pub rows: u16,
}

impl Captured {
    /// The name of its file, in `docs/screens`.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}.svg", self.name)
    }
}

/// The heading of the pictures of the terminal UI.
const UI: &str = "`punchlist`";

/// The heading of the pictures of dialogs.
const DIALOGS: &str = "Dialogs";

/// Every picture that is captured, in the order of the document.
pub const CAPTURED: &[Captured] = &[
    Captured {
        name: "ui-plan",
        title: UI,
        about: "The agent works. What is finished stands above and scrolls away, the plan below it is \
                drawn in place, then what runs, the input, and a line with the model, what it used, and \
                the sandbox.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "ui-question",
        title: UI,
        about: "The agent asks before it edits a file. A key answers.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "ui-queue",
        title: UI,
        about: "Messages that wait: the next model call gets the one that steers, the other begins the \
                next turn.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "ui-answer",
        title: UI,
        about: "The turn has ended, and the list is gone. The changes of the plan stay in the scrollback.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "ui-stopped",
        title: UI,
        about: "Esc has ended a turn. The queue is paused, so that nothing begins by itself.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "ui-resumed",
        title: UI,
        about: "After a restart, `/resume` brings back the conversation and its queue.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "ui-commands",
        title: UI,
        about: "`/` lists the commands.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "ui-keys",
        title: UI,
        about: "`?` in an empty input shows the keys.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "ui-wide",
        title: UI,
        about: "From 140 columns on, the plan stands beside the conversation.",
        columns: 140,
        rows: 24,
    },
    Captured {
        name: "ui-dialog",
        title: "The plan on the whole screen",
        about: "Ctrl-T opens the plan, with keys to change it while the agent works.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "ui-sessions",
        title: DIALOGS,
        about: "`/sessions` lists conversations; Enter resumes one.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "ui-model",
        title: DIALOGS,
        about: "`/model` lists the models that are configured.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "ui-approvals",
        title: DIALOGS,
        about: "`/approvals` lists your rules and what you allowed; each can be taken back.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "ui-confirm",
        title: DIALOGS,
        about: "What deletes something is confirmed.",
        columns: 80,
        rows: 24,
    },
    Captured {
        name: "team",
        title: "`punchlist team`",
        about: "Three agents work at the same time, each with its list, in its colour.",
        columns: 120,
        rows: 24,
    },
    Captured {
        name: "team-question",
        title: "`punchlist team`",
        about: "A member asks before it runs a command.",
        columns: 120,
        rows: 24,
    },
];
