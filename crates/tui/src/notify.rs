//! Tells a person that they are needed or that work has ended: by the terminal, or by the user's
//! command.
//!
//! The engine decides what is worth a notice, and the store who gives it. This file knows the
//! terminal: whether it has the focus, when a key was last pressed, and which sequence it shows.

use std::sync::Arc;
use std::time::Instant;

use pollster::block_on;
use punchlist_engine::fail::Fail;
use punchlist_engine::notices::{
    self, Channel, Focus, Notice, Settings, TerminalSetting, start_command,
};
use punchlist_formats::view::json;
use punchlist_model::session::Store;
use punchlist_model::{ConversationId, Timestamp};

use crate::keys::Key;
use crate::terminal::output;

/// Asks the terminal to report changes of the focus, and to stop that.
pub(crate) const HEAR_FOCUS: &str = "\x1b[?1004h";
pub(crate) const IGNORE_FOCUS: &str = "\x1b[?1004l";

/// What a front end knows about the terminal of its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TerminalFacts {
    /// Whether stdout is a terminal that may get escape sequences.
    pub is_there: bool,
    /// The channel to use if the user has not chosen one.
    pub best: Channel,
    /// Whether the terminal is tmux.
    pub is_tmux: bool,
    /// Whether the terminal has the focus, as far as that is known.
    pub focus: Focus,
}

/// Opens the store for writing.
pub type OpenStore = Box<dyn Fn() -> Result<Arc<dyn Store>, Fail> + Send>;

/// Gives notices.
pub struct Notify {
    settings: Settings,
    terminal: TerminalFacts,
    open: OpenStore,
    store: Option<Arc<dyn Store>>,
    /// When the person last did something.
    touched: Instant,
}

impl Notify {
    /// Gives notices as the settings say. The store is opened for the first one.
    pub fn new(settings: Settings, terminal: TerminalFacts, open: OpenStore) -> Self {
        Self { settings, terminal, open, store: None, touched: Instant::now() }
    }

    /// Handles a key: a person is there, or the focus has changed.
    pub(crate) fn key(&mut self, key: &Key) {
        if *key == Key::FocusIn {
            self.terminal.focus = Focus::Has;
        } else if *key == Key::FocusOut {
            self.terminal.focus = Focus::Lost;
        } else {
            self.touched = Instant::now();
        }
    }

    /// Whether the user's command gets the notices.
    pub fn has_command(&self) -> bool {
        self.settings.command.is_some()
    }

    /// Gives a notice, unless the person is at the terminal or another process has given it.
    pub fn give(&mut self, notice: &Notice, now: Timestamp) {
        if !self.can_tell() {
            return;
        }
        let Some(store) = self.store() else { return };
        // A notice that cannot be recorded might be given by every process.
        if !block_on(notices::is_first(&*store, notice, now)).unwrap_or(false) {
            return;
        }
        if let Some(command) = &self.settings.command {
            let input = json::render(&notice.json()) + "\n";
            // There is nobody to tell that nobody can be told.
            start_command(command, &input).ok();
        }
        if let Some(channel) = self.channel() {
            let text = sequence(channel, self.terminal.is_tmux, &notice.title(), &notice.line());
            output::live(&text).ok();
        }
    }

    /// The same for the end of a turn of our own agent, which is nothing while a message waits in the
    /// queue.
    pub(crate) fn give_end(&mut self, id: ConversationId, notice: &Notice, now: Timestamp) {
        if !self.can_tell() {
            return;
        }
        let Some(store) = self.store() else { return };
        if !block_on(notices::has_follow_up(&*store, id)) {
            self.give(notice, now);
        }
    }

    /// Whether the person wants to be told and can be. Who cannot tell leaves the notice to others.
    fn can_tell(&self) -> bool {
        let is_wanted = self.settings.is_wanted(self.terminal.focus, self.touched.elapsed());
        is_wanted && (self.channel().is_some() || self.settings.command.is_some())
    }

    fn channel(&self) -> Option<Channel> {
        match self.settings.terminal() {
            _ if !self.terminal.is_there => None,
            TerminalSetting::Off => None,
            TerminalSetting::Auto => Some(self.terminal.best),
            TerminalSetting::Channel(channel) => Some(channel),
        }
    }

    /// The store, which is opened when it is first needed.
    pub(crate) fn store(&mut self) -> Option<Arc<dyn Store>> {
        if self.store.is_none() {
            self.store = (self.open)().ok();
        }
        self.store.clone()
    }
}

/// What a terminal is sent. The texts have no control characters. tmux passes a sequence on only if it
/// is wrapped, and only if its user allows that; so it gets the bell too, which marks the window.
fn sequence(channel: Channel, is_tmux: bool, title: &str, text: &str) -> String {
    let sequence = match channel {
        Channel::Bell => return "\x07".to_owned(),
        Channel::Osc9 => format!("\x1b]9;{title}: {text}\x07"),
        // A semicolon would end the title.
        Channel::Osc777 => format!("\x1b]777;notify;{};{text}\x07", title.replace(';', ",")),
    };
    if !is_tmux {
        return sequence;
    }
    format!("\x1bPtmux;{}\x1b\\\x07", sequence.replace('\x1b', "\x1b\x1b"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use punchlist_engine::notices::NoticeKind;
    use punchlist_model::store::memory::Memory;
    use punchlist_model::{IdSource, RunId};

    use super::*;

    #[test]
    fn each_terminal_gets_its_sequence() {
        for (channel, is_tmux, expected) in [
            (Channel::Bell, false, "\u{7}"),
            (Channel::Bell, true, "\u{7}"),
            (Channel::Osc9, false, "\u{1b}]9;a; b: c\u{7}"),
            (Channel::Osc777, false, "\u{1b}]777;notify;a, b;c\u{7}"),
            (Channel::Osc9, true, "\u{1b}Ptmux;\u{1b}\u{1b}]9;a; b: c\u{7}\u{1b}\\\u{7}"),
        ] {
            assert_eq!(sequence(channel, is_tmux, "a; b", "c"), expected);
        }
    }

    #[test]
    fn a_terminal_emulator_shows_nothing_of_a_notice() {
        let size = |cells: u16| std::num::NonZeroU16::new(cells).unwrap();
        for channel in [Channel::Bell, Channel::Osc9, Channel::Osc777] {
            let mut screen = vt100::Parser::new(size(3), size(40), 0);
            screen.process(b"before");
            screen.process(sequence(channel, false, "claude in shop is done", "ok").as_bytes());
            assert_eq!(screen.screen().contents(), "before");
        }
    }

    /// Counts the notices that a command was given, after keys and some time.
    fn given(focus: Focus, keys: &[Key], after: Duration) -> usize {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("given");
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        let settings = Settings {
            command: Some(format!("cat >> {}", file.display())),
            after,
            ..Settings::default()
        };
        let terminal =
            TerminalFacts { is_there: false, best: Channel::Osc9, is_tmux: false, focus };
        let at = Timestamp::UNIX_EPOCH;
        let run = RunId(IdSource::fixed(at, 1).nth(1));
        let notice = Notice::run(run, NoticeKind::Done, "/home/me/shop", "3 done".to_owned());
        // Of two that share a store, one gives it.
        for _ in 0..2 {
            let store = Arc::clone(&store);
            let open: OpenStore = Box::new(move || Ok(Arc::clone(&store)));
            let mut notify = Notify::new(settings.clone(), terminal, open);
            keys.iter().for_each(|key| notify.key(key));
            notify.give(&notice, at);
        }
        // Whether the store knows the notice says whether it was given.
        usize::from(!block_on(notices::is_first(&*store, &notice, at)).unwrap())
    }

    #[test]
    fn a_terminal_with_the_focus_is_quiet_and_the_notice_is_left_to_others() {
        let (none, long) = (Duration::ZERO, Duration::from_secs(3_600));
        assert_eq!(given(Focus::Lost, &[], long), 1);
        assert_eq!(given(Focus::Has, &[], none), 0);
        assert_eq!(given(Focus::Unknown, &[], none), 1);
        assert_eq!(given(Focus::Unknown, &[Key::Char('x')], long), 0);
        assert_eq!(given(Focus::Unknown, &[Key::FocusOut], long), 1);
        assert_eq!(given(Focus::Lost, &[Key::FocusIn], none), 0);
    }

    #[test]
    fn there_is_no_notice_of_the_end_while_a_follow_up_waits() {
        use punchlist_model::MessageId;
        use punchlist_model::call::NewMessage;
        use punchlist_model::store::turns::Conversation;
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        let at = Timestamp::UNIX_EPOCH;
        let ids = IdSource::fixed(at, 1);
        let id = ConversationId(ids.nth(0));
        let new = Conversation::new(id, "/home/me/shop".to_owned(), at);
        block_on(store.create_conversation(new)).unwrap();
        let shared = Arc::clone(&store);
        let open: OpenStore = Box::new(move || Ok(Arc::clone(&shared)));
        let settings = Settings { command: Some("true".to_owned()), ..Settings::default() };
        let (best, focus) = (Channel::Osc9, Focus::Lost);
        let terminal = TerminalFacts { is_there: false, best, is_tmux: false, focus };
        let mut notify = Notify::new(settings, terminal, open);
        let mut is_told = |turn| {
            let text = "Done.".to_owned();
            let notice = Notice::turn(id, turn, NoticeKind::Done, "/home/me/shop", text);
            notify.give_end(id, &notice, at);
            !block_on(notices::is_first(&*store, &notice, at)).unwrap()
        };
        assert!(is_told(1), "nothing waits");
        let (message, conversation) = (MessageId(ids.nth(1)), id.to_string());
        let text = "and then this".to_owned();
        let new = NewMessage { id: message, conversation, text, steer: false, at };
        block_on(store.queue(new)).unwrap();
        assert!(!is_told(2), "the next turn begins at once");
        block_on(store.pause_queue(id, true)).unwrap();
        assert!(is_told(3), "a paused queue begins nothing");
    }
}
