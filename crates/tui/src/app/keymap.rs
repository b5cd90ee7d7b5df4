//! What keys mean. The only place that knows.

use crate::keys::Key;

use super::model::Model;

/// What a key means.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Act {
    /// A key for the dialog.
    Dialog(Key),
    /// A key for the question.
    Question(Key),
    /// A key for the input.
    Input(Key),
    /// End the turn.
    EndTurn,
    /// Leave, if it is meant.
    Leave,
    /// Draw everything again.
    Redraw,
    /// Give the terminal back for a while.
    Suspend,
    /// Show the plan.
    Plan,
    /// Edit the newest message that waits.
    EditNewest,
    /// The window has the focus, or not.
    Focus(bool),
}

/// What a key means now.
pub(crate) fn act(model: &mut Model, key: Key) -> Act {
    if let Some(act) = anywhere(&key) {
        return act;
    }
    if model.dialog.is_some() {
        return Act::Dialog(key);
    }
    if key == Key::Ctrl('t') {
        return Act::Plan;
    }
    let is_typing = !model.prompt.is_open() || model.holds_question_back();
    if !is_typing && !model.typing.begin(&key, &model.prompt, &model.input) {
        // Within an answer, such as a reason, Esc goes one step back.
        let is_working = model.turn.is_some() || model.run.is_some();
        if key == Key::Escape && model.prompt.is_at_first_step() && is_working {
            return Act::EndTurn;
        }
        return Act::Question(key);
    }
    if key == Key::AltUp && !model.queue.is_empty() {
        return Act::EditNewest;
    }
    Act::Input(key)
}

/// Keys that mean the same everywhere.
fn anywhere(key: &Key) -> Option<Act> {
    const ANYWHERE: [(Key, Act); 5] = [
        (Key::FocusIn, Act::Focus(true)),
        (Key::FocusOut, Act::Focus(false)),
        (Key::Ctrl('c'), Act::Leave),
        (Key::Ctrl('l'), Act::Redraw),
        (Key::Ctrl('z'), Act::Suspend),
    ];
    ANYWHERE.iter().find(|it| it.0 == *key).map(|it| it.1.clone())
}
