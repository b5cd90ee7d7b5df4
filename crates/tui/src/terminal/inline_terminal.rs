//! A terminal whose last lines are drawn in place.
//!
//! At the end, also after a panic, the last frame stays, the cursor is below it, and the terminal
//! modes are restored.

use std::fs::File;
use std::io;
use std::panic;
use std::sync::{Mutex, MutexGuard, PoisonError};

use punchlist_engine::fail::Fail;
use punchlist_formats::text::Line;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use super::frame::{Frame, HIDE_CURSOR, cleared, leave_frame};
use super::output;
use crate::options::Screen;

/// The original modes of the terminal, and the number of lines below the cursor, for the panic
/// hook.
static LEFT: Mutex<Option<Left>> = Mutex::new(None);

struct Left {
    terminal: Option<(File, Termios)>,
    below: usize,
}

fn left() -> MutexGuard<'static, Option<Left>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A terminal with a frame.
pub(crate) struct InlineTerminal {
    frame: Frame,
    /// The properties of the screen.
    screen: Screen,
    keyboard: Option<File>,
}

impl InlineTerminal {
    /// Takes over the terminal. Without a keyboard, there are no keys.
    pub(crate) fn open(screen: Screen) -> Result<Self, Fail> {
        let keyboard = File::open("/dev/tty").ok();
        let mut terminal = Self { frame: Frame::default(), screen, keyboard };
        hook_panics();
        terminal.enter()?;
        Ok(terminal)
    }

    /// The keyboard, for a key reader.
    pub(crate) fn keyboard(&self) -> Option<File> {
        self.keyboard.as_ref()?.try_clone().ok()
    }

    /// Takes over the terminal, for the first time or again.
    pub(crate) fn enter(&mut self) -> Result<(), Fail> {
        // If the terminal was not restored meanwhile, its present modes are not the original ones.
        let known = left().take().and_then(|it| it.terminal).map(|it| it.1);
        let terminal = self.keyboard.as_ref().and_then(|it| {
            let before = known.or_else(|| tcgetattr(it).ok())?;
            let mut modes = before.clone();
            // Keys arrive one by one and without echo. Ctrl-C stays a signal.
            modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            modes.special_codes[SpecialCodeIndex::VMIN] = 1;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(it, OptionalActions::Now, &modes).ok()?;
            Some((it.try_clone().ok()?, before))
        });
        *left() = Some(Left { terminal, below: 0 });
        self.frame = Frame::default();
        output::live(HIDE_CURSOR).map(|_| ())
    }

    /// Draws these lines. Returns whether anybody still reads.
    pub(crate) fn draw(&mut self, lines: &[Line], anew: Option<usize>) -> Result<bool, Fail> {
        let lines = lines.iter().map(|it| self.screen.line(it)).collect();
        let out = self.frame.draw(lines, anew);
        if let Some(left) = &mut *left() {
            left.below = self.frame.below();
        }
        if out.is_empty() { Ok(true) } else { output::live(&out) }
    }

    /// Writes a line above the frame, where it stays, and draws the frame again below it.
    pub(crate) fn above(&mut self, line: &str) -> Result<bool, Fail> {
        let lines = std::mem::take(&mut self.frame).into_lines();
        let line = format!("\r{}{line}\r\n", cleared(lines.len()));
        let frame = self.frame.draw(lines, None);
        if let Some(left) = &mut *left() {
            left.below = self.frame.below();
        }
        output::live(&(line + &frame))
    }

    /// Restores the terminal, with the last frame above the cursor.
    pub(crate) fn leave(&mut self) {
        give_back();
    }
}

impl Drop for InlineTerminal {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    let Some(Left { terminal, below }) = left().take() else { return };
    // If the terminal is gone, there is nothing to restore.
    drop(output::live(&leave_frame(below)));
    if let Some((file, before)) = terminal {
        tcsetattr(&file, OptionalActions::Drain, &before).ok();
    }
}

/// Restores the terminal before a panic message is printed.
fn hook_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
    });
}

/// The columns and rows of the terminal at stdout.
pub(crate) fn size() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some((size.ws_col, size.ws_row)).filter(|it| it.0 > 0 && it.1 > 0)
}
