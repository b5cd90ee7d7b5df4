//! Who gets the keys while a question waits: the question, or the text that is being typed. Pure.
//!
//! A question may appear in the middle of a word. It gets keys only after a pause, so that no letter of
//! the word answers it.

use punchlist_model::Timestamp;

use super::Prompt;
use crate::input::Input;
use crate::keys::Key;

/// How long nobody has typed, and how long a question is on the screen, before it gets keys, in
/// milliseconds.
pub(crate) const PAUSE_MS: i64 = 700;

/// What is known about the person who types.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Typing {
    /// When the input last got a key.
    typed_at: Option<Timestamp>,
    /// Since when questions are on the screen without a break.
    asked_at: Option<Timestamp>,
    /// Whether a text is written that was begun while a question waited.
    is_writing: bool,
}

impl Typing {
    /// The screen was drawn, with the question that waits.
    pub(crate) fn was_drawn(&mut self, prompt: &Prompt, now: Timestamp) {
        self.asked_at = prompt.is_open().then(|| self.asked_at.unwrap_or(now));
    }

    /// The input got a key.
    pub(crate) fn typed(&mut self, input: &Input, now: Timestamp) {
        self.typed_at = Some(now);
        self.is_writing &= !input.is_empty();
    }

    /// Whether the input keeps the keys although a question waits.
    pub(crate) fn keeps_keys(&self, input: &Input, now: Timestamp) -> bool {
        if self.is_writing && !input.is_empty() {
            return true;
        }
        let is_recent =
            |at: Timestamp| now.as_millisecond().saturating_sub(at.as_millisecond()) < PAUSE_MS;
        self.asked_at.is_none_or(is_recent) || self.typed_at.is_some_and(is_recent)
    }

    /// Whether a question waits that gets no keys yet.
    pub(crate) fn holds_back(&self, prompt: &Prompt, input: &Input, now: Timestamp) -> bool {
        prompt.is_open() && self.keeps_keys(input, now)
    }

    /// How to answer the question that gets no keys yet, if a text is the reason.
    pub(crate) fn hint(
        &self,
        prompt: &Prompt,
        input: &Input,
        now: Timestamp,
    ) -> Option<&'static str> {
        let is_text = self.holds_back(prompt, input, now) && !input.is_empty();
        is_text.then_some(match self.is_writing {
            true => "send or clear your text to answer the question",
            false => "stop typing to answer the question",
        })
    }

    /// Begins a text with this key, although a question waits, if no answer begins with the key.
    pub(crate) fn begin(&mut self, key: &Key, prompt: &Prompt, input: &Input) -> bool {
        let begins = matches!(key, Key::Char('@' | '/' | '!') | Key::Paste(_))
            && prompt.is_at_first_step()
            && input.is_empty();
        self.is_writing = begins;
        begins
    }
}
