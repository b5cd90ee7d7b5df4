//! Which messages a chat has, and which list each of them left behind.
//!
//! A chat can be taken back to an earlier message, and then its list is what it was before. What is kept
//! is bounded: of a very long chat the oldest lists are forgotten.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::todos::Tool;

/// The most messages, lists, and bytes of lists that are kept.
const MOST_MESSAGES: usize = 1 << 16;
const MOST_LISTS: usize = 256;
const MOST_BYTES: usize = 4 << 20;

/// A list as a message left it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Left {
    /// Which message left it, counted as they came; 0 if none that is still there.
    number: u64,
    pub(super) tool: Tool,
    /// The todos as JSON.
    pub(super) todos: String,
}

/// The messages of a chat and its lists.
#[derive(Default, Debug)]
pub(super) struct Chronicle {
    messages: VecDeque<u64>,
    /// The messages again, with how manieth each is.
    numbers: BTreeMap<u64, u64>,
    count: u64,
    lists: VecDeque<Left>,
    bytes: usize,
}

impl Chronicle {
    /// A message, new or not.
    pub(super) fn message(&mut self, message: u64) {
        if self.numbers.contains_key(&message) {
            return;
        }
        self.count += 1;
        self.numbers.insert(message, self.count);
        self.messages.push_back(message);
        if self.messages.len() > MOST_MESSAGES
            && let Some(oldest) = self.messages.pop_front()
        {
            self.numbers.remove(&oldest);
        }
    }

    /// A message left a list.
    pub(super) fn left(&mut self, message: u64, tool: Tool, todos: &str) {
        let number = self.numbers.get(&message).copied().unwrap_or_default();
        self.bytes += todos.len();
        self.lists.push_back(Left { number, tool, todos: todos.to_owned() });
        while self.lists.len() > MOST_LISTS || (self.bytes > MOST_BYTES && self.lists.len() > 1) {
            if let Some(oldest) = self.lists.pop_front() {
                self.bytes -= oldest.todos.len();
            }
        }
    }

    /// The messages are others from now on; the list stays as it is.
    pub(super) fn begin_anew(&mut self) {
        self.messages.clear();
        self.numbers.clear();
        let last = self.lists.pop_back();
        self.lists.clear();
        self.lists.extend(last.map(|it| Left { number: 0, ..it }));
        self.bytes = self.lists.iter().map(|it| it.todos.len()).sum();
    }

    /// The list as it is now.
    pub(super) fn last(&self) -> Option<&Left> {
        self.lists.back()
    }

    /// Takes the chat back to before a message. None if there is no such message, else whether the list
    /// is another now.
    pub(super) fn rewind(&mut self, message: u64) -> Option<bool> {
        let number = *self.numbers.get(&message)?;
        while let Some(last) = self.messages.pop_back() {
            self.numbers.remove(&last);
            if last == message {
                break;
            }
        }
        let before = self.lists.len();
        while let Some(last) = self.lists.pop_back_if(|it| it.number >= number) {
            self.bytes -= last.todos.len();
        }
        Some(self.lists.len() < before)
    }
}

/// The most things that are known again.
const MOST_SEEN: usize = 1 << 16;

/// What has been told already.
#[derive(Default, Debug)]
pub(super) struct Seen {
    order: VecDeque<u64>,
    all: BTreeSet<u64>,
}

impl Seen {
    /// Remembers something. Gives whether it is new.
    pub(super) fn insert(&mut self, thing: u64) -> bool {
        let is_new = self.all.insert(thing);
        if is_new {
            self.order.push_back(thing);
            if self.order.len() > MOST_SEEN
                && let Some(oldest) = self.order.pop_front()
            {
                self.all.remove(&oldest);
            }
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_forgotten_in_its_order() {
        let mut seen = Seen::default();
        for thing in 0..=MOST_SEEN as u64 {
            assert!(seen.insert(thing));
        }
        assert!(!seen.insert(1), "still known");
        assert!(seen.insert(0), "long forgotten");
        assert_eq!(seen.all.len(), MOST_SEEN);
    }

    #[test]
    fn a_long_chat_is_forgotten_from_its_beginning() {
        let mut chat = Chronicle::default();
        for number in 0..MOST_LISTS as u64 + 10 {
            chat.message(number);
            chat.left(number, Tool::Write, "[]");
        }
        assert_eq!((chat.lists.len(), chat.bytes), (MOST_LISTS, MOST_LISTS * 2));
        chat.left(7, Tool::Write, &"x".repeat(MOST_BYTES + 1));
        assert_eq!(chat.lists.len(), 1, "the newest is kept however long it is");
        assert_eq!(chat.bytes, MOST_BYTES + 1);
        assert_eq!(chat.rewind(7), Some(true));
        assert_eq!((chat.last(), chat.bytes), (None, 0));
        assert_eq!(chat.rewind(7), None);
    }
}
