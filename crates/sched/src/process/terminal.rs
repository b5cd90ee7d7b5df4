//! The terminal that a program draws on. If the program is killed, its guardian restores it.
//!
//! The program changes some modes of the terminal and writes escape sequences to it. It gives the
//! guardian what it changed while it holds the terminal, and takes that back when it has restored the
//! terminal itself. After the program's death the guardian writes the sequences that undo the others.
//! It restores the modes only if they are still those that the program set: a shell that is faster
//! has set its own.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, tcflush, tcgetattr,
    tcsetattr,
};

/// The modes of a terminal that a program changes to read keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TerminalModes {
    /// Flags for input.
    pub input: u64,
    /// Flags such as echo and line editing.
    pub local: u64,
    /// How many bytes a read waits for.
    pub minimum: u8,
    /// How long a read waits, in tenths of a second.
    pub time: u8,
}

/// What a guardian needs to restore a terminal.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeldTerminal {
    /// The modes that the program has set.
    pub set: TerminalModes,
    /// The modes from before.
    pub before: TerminalModes,
    /// What is written to the terminal.
    pub sequences: Vec<u8>,
}

impl TerminalModes {
    /// The present modes of a terminal.
    pub fn of(terminal: impl AsFd) -> Option<Self> {
        let modes = tcgetattr(terminal).ok()?;
        Some(Self {
            input: modes.input_modes.bits().into(),
            local: modes.local_modes.bits().into(),
            minimum: modes.special_codes[SpecialCodeIndex::VMIN],
            time: modes.special_codes[SpecialCodeIndex::VTIME],
        })
    }

    /// Sets them. What else a terminal has stays as it is.
    fn restore(self, terminal: impl AsFd) -> Option<()> {
        let mut modes = tcgetattr(&terminal).ok()?;
        modes.input_modes = InputModes::from_bits_retain(self.input.try_into().ok()?);
        modes.local_modes = LocalModes::from_bits_retain(self.local.try_into().ok()?);
        modes.special_codes[SpecialCodeIndex::VMIN] = self.minimum;
        modes.special_codes[SpecialCodeIndex::VTIME] = self.time;
        tcsetattr(terminal, OptionalActions::Now, &modes).ok()
    }
}

impl HeldTerminal {
    /// Restores the terminal. If it is gone, there is nothing to restore.
    pub(super) fn restore(&self, terminal: &OwnedFd) {
        // A terminal that is stopped must not keep the guardian from ending processes.
        if let Ok(flags) = fcntl_getfl(terminal) {
            fcntl_setfl(terminal, flags | OFlags::NONBLOCK).ok();
        }
        rustix::io::write(terminal, &self.sequences).ok();
        if TerminalModes::of(terminal) == Some(self.set) {
            // What was typed for the program is not a command for the shell.
            tcflush(terminal, QueueSelector::IFlush).ok();
            self.before.restore(terminal);
        }
    }
}
