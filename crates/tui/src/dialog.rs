//! Dialogs that fill the screen: the plan, lists to choose from, a pager, confirmations, the keys.
//!
//! Pure: a dialog gets keys and data, and returns what it wants; it never touches a store. What a
//! dialog shows is a list of lines for a width and a height, which [`Dialog::render`] draws. The
//! keys mean the same everywhere: j, k and arrows move, g and G go to the ends, Enter opens, `/`
//! filters, `?` shows the keys, Esc goes one step back and finally closes the dialog.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a dialog ignores keys that it does not know, also those that are added later"
)]

mod agents;
mod confirm;
mod cursor;
mod keys;
mod layout;
mod list;
mod lists;
mod pager;
mod plan;
mod scroller;

#[cfg(test)]
mod screen;
#[cfg(test)]
mod tests;

use punchlist_engine::engine::PlanAct;
use punchlist_engine::policy::given::Given;
use punchlist_engine::policy::rules::{Placed, Whose};
use punchlist_formats::text::Line;
use punchlist_model::call::{Answer, Question};
use punchlist_model::{ConversationId, Number, PlanId, QuestionId};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(crate) use agents::AgentsDialog;
pub(crate) use confirm::ConfirmDialog;
pub(crate) use keys::KeysDialog;
pub(crate) use list::ListDialog;
#[cfg(test)]
pub(crate) use list::ListRow;
pub use lists::{Approvals, TeamMember};
pub(crate) use pager::PagerDialog;
pub(crate) use plan::PlanDialog;

use crate::keys::Key;
use crate::theme::{self, Theme};

/// What follows from a key.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum DialogReply {
    /// The dialog stays open.
    Stay,
    /// The dialog closes. A confirmation that closes is a no.
    Close,
    /// The dialog wants something from the application. It stays open, except for a confirmation.
    Want(Want),
}

/// What a dialog wants from the application.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Want {
    /// Perform an act on the plan; then pass the result to [`PlanDialog::told`] or
    /// [`PlanDialog::refused`].
    Plan(PlanAct),
    /// Read the plan's journal for [`PlanDialog::set_journal`].
    Journal,
    /// Read the output of the last call of an item for [`PlanDialog::set_output`], and the journal.
    Item(Number),
    /// Show the list of plans instead.
    Plans,
    /// Open the chosen row.
    Open(RowId),
    /// Delete the row. The person has confirmed it.
    Delete(RowId),
    /// Answer a question of an agent.
    Answer(Box<Question>, Box<Answer>),
    /// Send a reply to a session that asks its user something.
    Reply(ConversationId, String),
    /// The answers of a confirmation, one for each thing that was asked for.
    Confirmed(Vec<bool>),
}

/// What a row of a list stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RowId {
    /// A plan.
    Plan(PlanId),
    /// A stored session.
    Session(ConversationId),
    /// A model, as `provider/name`.
    Model(String),
    /// A theme.
    Theme(String),
    /// A question that waits.
    Question(QuestionId),
    /// A policy rule, with its line in the file.
    Rule(Whose, Box<Placed>),
    /// Something that the person has allowed besides rules.
    Consent(Given),
    /// The conversation with the team.
    Team,
    /// A member of the team.
    Member(String),
    /// A plan file, whose name the person types.
    PlanFile,
    /// Something new of the kind that the list shows.
    New,
}

/// Any dialog.
#[derive(Debug)]
pub(crate) enum Dialog {
    /// The plan.
    Plan(Box<PlanDialog>),
    /// A list to choose from.
    List(ListDialog),
    /// The keys.
    Keys(KeysDialog),
    /// A long text.
    Pager(PagerDialog),
    /// A confirmation.
    Confirm(ConfirmDialog),
    /// All agents.
    Agents(Box<AgentsDialog>),
}

impl Dialog {
    /// Handles a key.
    pub(crate) fn key(&mut self, key: &Key) -> DialogReply {
        match self {
            Self::Plan(it) => it.key(key),
            Self::List(it) => it.key(key),
            Self::Keys(it) => it.key(key),
            Self::Pager(it) => it.key(key),
            Self::Confirm(it) => it.key(key),
            Self::Agents(it) => it.key(key),
        }
    }

    /// Takes the size of the screen, which pages of a scrolled text depend on. Call it before the
    /// dialog is first drawn and after each resize.
    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        let (width, height) = (usize::from(width), usize::from(height));
        match self {
            Self::Plan(it) => it.resize(width, height),
            Self::List(it) => it.resize(width, height),
            Self::Keys(it) => it.resize(width, height),
            Self::Pager(it) => it.resize(width, height),
            Self::Confirm(it) => it.resize(width, height),
            Self::Agents(it) => it.resize(width, height),
        }
    }

    /// Notes that the dialog has been drawn. A confirmation takes no answer before that.
    pub(crate) fn drawn(&mut self) {
        if let Self::Confirm(it) = self {
            it.drawn();
        }
    }

    /// Draws the dialog.
    pub(crate) fn render(&self, area: Rect, buf: &mut Buffer, theme: &Theme) {
        let lines = self.lines(usize::from(area.width), usize::from(area.height));
        for (line, y) in lines.iter().zip(area.y..area.bottom()) {
            theme::draw(buf, area.x, y, area.width, line, theme);
        }
    }

    /// The lines of the screen, from the top.
    fn lines(&self, width: usize, height: usize) -> Vec<Line> {
        match self {
            Self::Plan(it) => it.lines(width, height),
            Self::List(it) => it.lines(width, height),
            Self::Keys(it) => it.lines(width, height),
            Self::Pager(it) => it.lines(width, height),
            Self::Confirm(it) => it.lines(width, height),
            Self::Agents(it) => it.lines(),
        }
    }
}
