//! The messages of a chat, and the list after each of them.
//!
//! A chat can be rewound to an earlier message, and its list with it. Memory is bounded: in a very
//! long chat, the oldest lists are forgotten.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::todos::Tool;

/// Maximum of stored messages, lists, and bytes of lists.
const MOST_MESSAGES: usize = 1 << 16;
const MOST_LISTS: usize = 256;
const MOST_BYTES: usize = 4 << 20;

/// The list after a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Left {
    /// The number of the message; 0 if the message does not exist any more.
    number: u64,
    pub(super) tool: Tool,
    /// The todos as JSON.
    pub(super) todos: String,
}

/// The messages of a chat and its lists.
#[derive(Default, Debug)]
pub(super) struct Chronicle {
    messages: VecDeque<u64>,
    /// The number of each message.
    numbers: BTreeMap<u64, u64>,
    count: u64,
    lists: VecDeque<Left>,
    bytes: usize,
}

impl Chronicle {
    /// Adds a message, unless it is known.
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

    /// Stores the list after a message.
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

    /// Forgets all messages; the list stays.
    pub(super) fn begin_anew(&mut self) {
        self.messages.clear();
        self.numbers.clear();
        let last = self.lists.pop_back();
        self.lists.clear();
        self.lists.extend(last.map(|it| Left { number: 0, ..it }));
        self.bytes = self.lists.iter().map(|it| it.todos.len()).sum();
    }

    /// The present list.
    pub(super) fn last(&self) -> Option<&Left> {
        self.lists.back()
    }

    /// Rewinds the chat to before a message. Returns whether the list has changed; `None` if there
    /// is no such message.
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

/// Maximum of stored entries.
const MOST_SEEN: usize = 1 << 16;

/// What has been reported already.
#[derive(Default, Debug)]
pub(super) struct Seen {
    order: VecDeque<u64>,
    all: BTreeSet<u64>,
}

impl Seen {
    /// Adds an entry. Returns whether it is new.
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
