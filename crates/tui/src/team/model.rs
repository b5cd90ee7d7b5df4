//! The state of a team's screen.

use std::collections::BTreeMap;

use punchlist_agent::team::{MemberConfig, Report, TeamMessage};
use punchlist_agent::workers::WorkerEnd;
use punchlist_formats::text::{Glyphs, Line};
use punchlist_formats::view;
use punchlist_formats::view::team::Member;
use punchlist_model::call::Answer;
use punchlist_model::{QuestionId, Timestamp};

use super::panels::Panels;
use crate::input::{Entered, Input};
use crate::keys::Key;
use crate::prompt::{Prompt, Typing};
use crate::terminal::frame::Size;
use crate::theme::Theme;

/// The state.
pub(super) struct Model {
    pub(super) members: Vec<Seat>,
    pub(super) panels: Panels,
    /// The members that were addressed last.
    pub(super) last: Vec<usize>,
    /// The last answer, and whose it is.
    pub(super) answer: Option<(usize, String)>,
    /// The queue as the store has it: messages for members that work, or that did.
    pub(super) waiting: Vec<TeamMessage>,
    /// Whose text was printed last.
    pub(super) speaker: Option<usize>,
    pub(super) input: Input,
    /// Whether the person is in the middle of a text.
    pub(super) typing: Typing,
    /// The questions that wait, and who asks each.
    pub(super) prompt: Prompt,
    pub(super) asked_by: BTreeMap<QuestionId, usize>,
    pub(super) theme: Theme,
    pub(super) view: view::Options,
    pub(super) size: Size,
    pub(super) now: Timestamp,
    /// Whether Ctrl-C was the last key.
    pub(super) is_leaving: bool,
    /// Whether a turn did not end well.
    pub(super) has_failed: bool,
}

/// A member on the screen.
pub(super) struct Seat {
    /// The name by which it is addressed.
    pub(super) name: String,
    /// How it is shown.
    pub(super) shown: Member,
    /// What it is, for the list of members.
    pub(super) about: String,
    pub(super) turn: Option<Turn>,
}

/// A turn that runs.
pub(super) struct Turn {
    pub(super) since: Timestamp,
    /// What the member does.
    pub(super) doing: String,
    /// The text that arrives.
    pub(super) text: String,
    pub(super) is_ending: bool,
}

/// What happened.
pub(super) enum Msg {
    Key(Key),
    /// A text was entered, not at a terminal.
    Enter(Entered),
    Report(Report),
    /// These messages wait since an earlier start.
    QueuedBefore(Vec<TeamMessage>),
    /// Messages are in the queue now.
    Queued(Vec<TeamMessage>),
    /// A message for these members could not be queued, for this reason.
    NotQueued(Vec<usize>, String),
    /// A message was taken out of the queue; `false`: it no longer waited.
    TakenOut(TakeOut, TeamMessage, bool),
    /// The queue could not be read or changed, for this reason.
    QueueFailed(String),
    /// The screen was drawn, with the question that is asked.
    Drawn,
    Resize(Size),
    Tick(Timestamp),
}

/// Why a message is taken out of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TakeOut {
    /// Its member gets it.
    Send,
    /// The person edits it.
    Edit,
    /// The person removes it.
    Remove,
}

/// What is to be done.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Intent {
    /// Write finished lines.
    Print(Vec<Line>),
    /// Nothing was done, for this reason.
    Refuse(String),
    /// Give a member a message.
    Send(usize, String),
    /// Queue a message for these members.
    Queue(Vec<usize>, String),
    /// Take a message out of the queue.
    TakeOut(TakeOut, TeamMessage),
    /// End a member's turn.
    Cancel(usize),
    /// Store an answer to a question.
    Answer(QuestionId, Answer),
    /// Give the terminal back until the program is continued.
    Suspend,
    /// Draw everything again.
    Redraw,
    /// End the conversation.
    Quit,
}

impl Model {
    pub(super) fn new<'a>(
        configs: impl Iterator<Item = &'a MemberConfig>,
        theme: Theme,
        view: view::Options,
        size: Size,
        prompt: Prompt,
    ) -> Self {
        let members: Vec<Seat> = configs.map(Seat::new).collect();
        let mut input = Input::new(Vec::new());
        input.set_glyphs(view.glyphs);
        input.set_width(size.columns);
        let dot = if view.glyphs == Glyphs::Ascii { '-' } else { '·' };
        input.set_hint(&format!("@name message {dot} @all message {dot} /help"));
        Self {
            members,
            panels: Panels::default(),
            last: Vec::new(),
            answer: None,
            waiting: Vec::new(),
            speaker: None,
            input,
            typing: Typing::default(),
            prompt,
            asked_by: BTreeMap::new(),
            theme,
            now: view.now,
            view,
            size,
            is_leaving: false,
            has_failed: false,
        }
    }

    /// The options for a view of this width.
    pub(super) fn options(&self, columns: u16) -> view::Options {
        view::Options { width: columns, now: self.now, ..self.view.clone() }
    }

    pub(super) fn glyphs(&self) -> Glyphs {
        self.view.glyphs
    }

    /// Whether a member works.
    pub(super) fn is_busy(&self) -> bool {
        self.members.iter().any(|it| it.turn.is_some())
    }

    /// Whether this member works.
    pub(super) fn is_working(&self, member: usize) -> bool {
        self.members.get(member).is_some_and(|it| it.turn.is_some())
    }

    /// Whether a message waits that is sent only when the person says so.
    pub(super) fn is_paused(&self) -> bool {
        self.waiting.iter().any(|it| !self.is_working(it.member))
    }

    /// The names of these members.
    pub(super) fn names(&self, members: &[usize]) -> String {
        let names = members.iter().filter_map(|it| self.members.get(*it));
        names.map(|it| it.shown.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Removes a question that waits no longer. Returns whose it was.
    pub(super) fn settle(&mut self, id: QuestionId) -> Option<usize> {
        self.prompt.settle(id);
        self.asked_by.remove(&id)
    }

    /// Whether a question waits that gets no keys yet.
    pub(super) fn holds_question_back(&self) -> bool {
        self.typing.holds_back(&self.prompt, &self.input, self.now)
    }

    /// Whether a member waits for an answer.
    pub(super) fn is_asking(&self, member: usize) -> bool {
        self.asked_by.values().any(|it| *it == member)
    }

    /// Ends a turn.
    pub(super) fn ended(&mut self, member: usize, end: &WorkerEnd) {
        let is_well = *end == WorkerEnd::Well;
        self.has_failed |= !is_well;
        self.panels.end(member, is_well);
        // Nobody waits for these answers any more.
        let asked = self.asked_by.iter().filter(|it| *it.1 == member);
        let asked: Vec<QuestionId> = asked.map(|it| *it.0).collect();
        for id in asked {
            self.settle(id);
        }
        if let Some(seat) = self.members.get_mut(member) {
            seat.turn = None;
        }
    }
}

impl Seat {
    fn new(config: &MemberConfig) -> Self {
        let model = config.model.as_ref().map(|it| format!(", {it}")).unwrap_or_default();
        Self {
            name: config.name.clone(),
            shown: Member::new(config.shown_name(), config.theme_colour.as_deref()),
            about: format!("{}{model}", config.agent_type().name()),
            turn: None,
        }
    }
}
