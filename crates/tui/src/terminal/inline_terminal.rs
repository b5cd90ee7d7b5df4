//! A terminal whose last lines are drawn in place.
//!
//! At the end, also after a panic that ends the front end, the last frame stays, the cursor is below it,
//! and the terminal modes are restored. What a panic says is printed after that.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::panic;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use punchlist_engine::fail::Fail;
use punchlist_formats::text::Line;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use super::frame::{
    ALL_UNDONE, ASK_KIND, ENTER_ALTERNATE, Frame, HEAR_FOCUS, HIDE_CURSOR, LEAVE_ALTERNATE,
    Picture, Size, cleared, cuts_lines, leave_frame,
};
use super::output;
use crate::options::Screen;

/// The original modes of the terminal, and the number of lines below the cursor, for the panic
/// hook.
static LEFT: Mutex<Option<Left>> = Mutex::new(None);

/// What panics said while the terminal was taken. A panic that ends only a call or a task must not give
/// the terminal back: the front end goes on.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Left {
    terminal: Option<(File, Termios)>,
    below: usize,
    /// Whether the alternate screen is shown.
    is_alternate: bool,
}

/// What a program that outlives this one needs to restore the terminal.
#[derive(Debug)]
pub struct Taken {
    /// The terminal.
    pub terminal: File,
    /// The modes that were set, and those from before: flags for input, local flags, the minimum and
    /// the time of a read.
    pub modes: [(u64, u64, u8, u8); 2],
    /// What is to be written.
    pub sequences: &'static str,
}

/// Called before the terminal is taken over, and with `None` after it was restored.
pub type OnTaken = Box<dyn Fn(Option<Taken>) + Send + Sync>;

/// Who gets the keys that send signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Ctrl-C and Ctrl-Z are signals.
    Signals,
    /// All keys are read, and changes of the window's focus.
    AllKeys,
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
    mode: Mode,
    on_taken: Option<OnTaken>,
    /// Whether the terminal is taken over.
    is_taken: bool,
    /// What is drawn on the alternate screen, while it is shown.
    alternate: Option<Frame>,
    /// Whether the terminal cuts lines that have become too wide.
    cuts_lines: bool,
}

impl InlineTerminal {
    /// Takes over the terminal. Without a keyboard, there are no keys.
    pub(crate) fn open(screen: Screen) -> Result<Self, Fail> {
        Self::open_as(screen, Mode::Signals, None)
    }

    /// The same in a given mode. `on_taken` is called each time before the terminal is taken over.
    pub(crate) fn open_as(
        screen: Screen,
        mode: Mode,
        on_taken: Option<OnTaken>,
    ) -> Result<Self, Fail> {
        let keyboard = File::open("/dev/tty").ok();
        let cuts_lines = screen.cuts_lines;
        let mut terminal = Self {
            frame: Frame::on(cuts_lines),
            screen,
            keyboard,
            mode,
            on_taken,
            is_taken: false,
            alternate: None,
            cuts_lines,
        };
        hook_panics();
        terminal.enter()?;
        Ok(terminal)
    }

    /// Asks the terminal of which kind it is. It answers with [`crate::keys::Key::Terminal`], or not at
    /// all.
    pub(crate) fn ask_kind(&self) -> Result<(), Fail> {
        output::live(ASK_KIND).map(drop)
    }

    /// The terminal has said of which kind it is.
    pub(crate) fn is_of_kind(&mut self, kind: u16) {
        self.cuts_lines = cuts_lines(kind);
        self.frame.set_cuts_lines(self.cuts_lines);
    }

    /// Tells that these modes are about to be set, instead of those from before.
    fn tell_taken(&self, set: &Termios, before: &Termios) {
        let Some(on_taken) = &self.on_taken else { return };
        // The keyboard is only read; sequences are written.
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok();
        on_taken(terminal.map(|terminal| Taken {
            terminal,
            modes: [bits(set), bits(before)],
            sequences: ALL_UNDONE,
        }));
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
            // Keys arrive one by one and without echo.
            modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            if self.mode == Mode::AllKeys {
                modes.local_modes.remove(LocalModes::ISIG | LocalModes::IEXTEN);
                modes.input_modes.remove(InputModes::IXON);
            }
            modes.special_codes[SpecialCodeIndex::VMIN] = 1;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
            // Told first: a kill may come between any two of these steps.
            self.tell_taken(&modes, &before);
            tcsetattr(it, OptionalActions::Now, &modes).ok()?;
            Some((it.try_clone().ok()?, before))
        });
        *left() = Some(Left { terminal, below: 0, is_alternate: false });
        self.is_taken = true;
        self.frame = Frame::on(self.cuts_lines);
        self.alternate = None;
        let focus = if self.mode == Mode::AllKeys { HEAR_FOCUS } else { "" };
        output::live(&format!("{HIDE_CURSOR}{focus}")).map(|_| ())
    }

    /// Writes finished lines above the frame and draws the frame, in one update. `resized`: the
    /// terminal has this size now. Returns whether anybody still reads.
    pub(crate) fn update(
        &mut self,
        above: &[String],
        picture: Picture,
        resized: Option<Size>,
    ) -> Result<bool, Fail> {
        let mut out = String::new();
        if self.alternate.take().is_some() {
            out.push_str(LEAVE_ALTERNATE);
            out.push_str(self.frame.cursor_again());
        }
        out.push_str(&self.frame.update(above, picture, resized));
        self.note();
        if out.is_empty() { Ok(true) } else { output::live(&out) }
    }

    /// Draws a picture that fills the alternate screen. The frame comes back with the next
    /// [`Self::update`].
    pub(crate) fn full_screen(
        &mut self,
        picture: Picture,
        resized: Option<Size>,
    ) -> Result<bool, Fail> {
        let mut out = String::new();
        let frame = self.alternate.get_or_insert_with(|| {
            out.push_str(ENTER_ALTERNATE);
            Frame::default()
        });
        if resized.is_some() {
            out.push_str("\x1b[H\x1b[2J");
            *frame = Frame::default();
        }
        out.push_str(&frame.update(&[], picture, None));
        self.note();
        if out.is_empty() { Ok(true) } else { output::live(&out) }
    }

    /// Notes for the panic hook what is on the screen.
    fn note(&self) {
        if let Some(left) = &mut *left() {
            left.below = self.frame.below();
            left.is_alternate = self.alternate.is_some();
        }
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
        let lines = std::mem::replace(&mut self.frame, Frame::on(self.cuts_lines)).into_lines();
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
        if let Some(on_taken) = &self.on_taken
            && std::mem::take(&mut self.is_taken)
        {
            on_taken(None);
        }
    }
}

impl Drop for InlineTerminal {
    fn drop(&mut self) {
        self.leave();
    }
}

fn bits(modes: &Termios) -> (u64, u64, u8, u8) {
    (
        modes.input_modes.bits().into(),
        modes.local_modes.bits().into(),
        modes.special_codes[SpecialCodeIndex::VMIN],
        modes.special_codes[SpecialCodeIndex::VTIME],
    )
}

fn give_back() {
    let Some(Left { terminal, below, is_alternate }) = left().take() else { return };
    let screen = if is_alternate { LEAVE_ALTERNATE } else { "" };
    // If the terminal is gone, there is nothing to restore.
    drop(output::live(&format!("{screen}{}", leave_frame(below))));
    if let Some((file, before)) = terminal {
        tcsetattr(&file, OptionalActions::Drain, &before).ok();
    }
    let panics = std::mem::take(&mut *PANICS.lock().unwrap_or_else(PoisonError::into_inner));
    for text in panics {
        // If nobody reads it, nobody needs it.
        drop(writeln!(io::stderr(), "{text}"));
    }
}

/// Whether a front end has the terminal. A thread that panics while another one writes does not wait.
fn is_taken() -> bool {
    match LEFT.try_lock() {
        Ok(left) => left.is_some(),
        Err(TryLockError::Poisoned(left)) => left.into_inner().is_some(),
        Err(TryLockError::WouldBlock) => true,
    }
}

/// Keeps the message of a panic until the terminal is given back: by the unwinding of the front end, if the
/// panic ends that.
fn hook_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !is_taken() {
                return before(info);
            }
            let backtrace = Backtrace::capture();
            let mut text = info.to_string();
            if backtrace.status() == BacktraceStatus::Captured {
                text.push_str(&format!("\n{backtrace}"));
            }
            PANICS.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        }));
    });
}

/// The columns and rows of the terminal at stdout.
pub(crate) fn size() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some((size.ws_col, size.ws_row)).filter(|it| it.0 > 0 && it.1 > 0)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn kept() -> usize {
        PANICS.lock().unwrap().len()
    }

    #[test]
    fn a_panic_that_is_caught_leaves_the_terminal_taken_and_one_that_ends_the_ui_gives_it_back() {
        let screen = Screen { is_terminal: false, width: 80, colour: false, cuts_lines: false };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let _terminal = InlineTerminal::open(screen).unwrap();
            assert!(catch_unwind(|| panic!("in a call")).is_err());
            assert!(std::thread::spawn(|| panic!("in a thread")).join().is_err());
            assert!(left().is_some(), "the front end goes on");
            assert_eq!(kept(), 2);
            panic!("in the front end");
        }));
        assert!(ended.is_err());
        assert!(left().is_none(), "the terminal is given back");
        assert_eq!(kept(), 0, "what the panics said is printed");
    }
}
