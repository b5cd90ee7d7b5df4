//! One process that is guarded, and how it ends: by itself, then what it left behind; or asked to, then
//! made to.
//!
//! Pure: it is told the time and who is left, and says what is to be done.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitStatus};
use tokio::time::Instant;

/// How long those that were killed may take to vanish. What hangs in the system longer is given up.
const UNDEAD: Duration = Duration::from_secs(5);
/// How often those are looked for that may have been born while others were killed.
const AGAIN: Duration = Duration::from_millis(10);

/// A process that was started, with all that came of it.
#[derive(Debug)]
pub(super) struct Ward {
    /// Who leads its group.
    pub(super) leader: Pid,
    /// How the leader ended, once it has.
    status: Option<WaitStatus>,
    phase: Phase,
    left_behind: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nobody wants it to end.
    Running,
    /// The leader has ended; what it left may still do so by itself.
    Lingering(Instant),
    /// It shall end by then, and is to be told.
    ToEnd(Instant),
    /// It was told.
    Ending(Instant),
    /// It was killed; until then it is waited for.
    Killed(Instant),
}

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// Nothing before that time, unless somebody ends.
    Wait(Instant),
    /// Send this to all who are left, and look again at that time.
    Signal(Signal, Instant),
    /// Nobody is left, or nobody who can be ended.
    Over { status: Option<WaitStatus>, left_behind: u32, undead: u32 },
}

impl Ward {
    pub(super) fn new(leader: Pid) -> Self {
        Self { leader, status: None, phase: Phase::Running, left_behind: 0 }
    }

    /// Somebody wants it to have ended by then, or else be killed.
    pub(super) fn stop(&mut self, until: Instant) {
        match &mut self.phase {
            Phase::Running | Phase::Lingering(_) => self.phase = Phase::ToEnd(until),
            // It has been told already; but its time may have become shorter.
            Phase::ToEnd(by) | Phase::Ending(by) => *by = until.min(*by),
            Phase::Killed(_) => {}
        }
    }

    pub(super) fn leader_ended(&mut self, status: WaitStatus) {
        self.status = Some(status);
    }

    /// Whether the leader has been seen to end: then its number may belong to somebody else.
    pub(super) fn has_leader(&self) -> bool {
        self.status.is_none()
    }

    /// Whether there is anything to be done for it.
    pub(super) fn is_ending(&self) -> bool {
        self.status.is_some() || self.phase != Phase::Running
    }

    /// What is to be done, if so many are left besides the leader.
    pub(super) fn next(
        &mut self,
        now: Instant,
        left: usize,
        linger: Duration,
        grace: Duration,
    ) -> Next {
        let count = u32::try_from(left).unwrap_or(u32::MAX);
        let given_up = matches!(self.phase, Phase::Killed(until) if now >= until);
        if given_up || (left == 0 && self.status.is_some()) {
            let undead = count.saturating_add(u32::from(self.status.is_none()));
            return Next::Over { status: self.status, left_behind: self.left_behind, undead };
        }
        match self.phase {
            Phase::Running => {
                self.phase = Phase::Lingering(now + linger);
                Next::Wait(now + linger)
            }
            Phase::Lingering(until) if now < until => Next::Wait(until),
            Phase::Lingering(_) => {
                self.left_behind = count;
                self.phase = Phase::Ending(now + grace);
                Next::Signal(Signal::TERM, now + grace)
            }
            Phase::ToEnd(until) => {
                self.phase = Phase::Ending(until);
                Next::Signal(Signal::TERM, until)
            }
            Phase::Ending(until) if now < until => Next::Wait(until),
            Phase::Ending(_) => {
                self.phase = Phase::Killed(now + UNDEAD);
                Next::Signal(Signal::KILL, now + AGAIN)
            }
            // Some may have been born meanwhile.
            Phase::Killed(_) => Next::Signal(Signal::KILL, now + AGAIN),
        }
    }
}
