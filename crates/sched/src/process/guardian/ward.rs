//! A ward: one process with its descendants, and the phases of its end.
//!
//! Pure: it gets the time and the number of living members, and returns what to do.

use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::time::Instant;

/// How long killed processes may take to vanish. Those that hang in the kernel longer are given up.
const UNDEAD: Duration = Duration::from_secs(5);
/// How often to look for processes that were started while others were killed.
const AGAIN: Duration = Duration::from_millis(10);

/// How a leader ended: with an exit code or by a signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Status {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

/// A process that was started, with its descendants.
#[derive(Debug)]
pub(super) struct Ward {
    /// The leader of its process group.
    pub(super) leader: Pid,
    /// How the leader ended, if it has.
    status: Option<Status>,
    phase: Phase,
    left_behind: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The ward runs.
    Running,
    /// The leader has ended; its descendants may end by themselves until then.
    Lingering(Instant),
    /// SIGTERM must be sent; it must have ended by then.
    ToEnd(Instant),
    /// SIGTERM was sent; it must have ended by then.
    Ending(Instant),
    /// It was killed; it is given up then.
    Killed(Instant),
}

/// What the guardian must do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Nothing before that time, unless a process ends.
    Wait(Instant),
    /// Send this signal to all members, and look again at that time.
    Signal(Signal, Instant),
    /// No member is left, or none that can be ended.
    Over { status: Option<Status>, left_behind: u32, undead: u32 },
}

impl Ward {
    pub(super) fn new(leader: Pid) -> Self {
        Self { leader, status: None, phase: Phase::Running, left_behind: 0 }
    }

    /// Asks the ward to end by then; otherwise it is killed.
    pub(super) fn stop(&mut self, until: Instant) {
        match &mut self.phase {
            Phase::Running | Phase::Lingering(_) => self.phase = Phase::ToEnd(until),
            // SIGTERM is due or was sent, but the deadline may be earlier now.
            Phase::ToEnd(by) | Phase::Ending(by) => *by = until.min(*by),
            Phase::Killed(_) => {}
        }
    }

    pub(super) fn leader_ended(&mut self, status: Status) {
        self.status = Some(status);
    }

    /// Whether the leader is alive. After its end, its pid may belong to another process.
    pub(super) fn has_leader(&self) -> bool {
        self.status.is_none()
    }

    /// Whether the ward needs attention.
    pub(super) fn is_ending(&self) -> bool {
        self.status.is_some() || self.phase != Phase::Running
    }

    /// What to do if this many members are left besides the leader.
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
            // New processes may have been started meanwhile.
            Phase::Killed(_) => Next::Signal(Signal::KILL, now + AGAIN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINGER: Duration = Duration::from_millis(200);
    const GRACE: Duration = Duration::from_secs(2);
    const WELL: Status = Status { code: Some(0), signal: None };

    /// A ward, and what it returns at given milliseconds with given numbers of members.
    struct Story {
        ward: Ward,
        began: Instant,
    }

    impl Story {
        fn new() -> Self {
            Self { ward: Ward::new(Pid::from_raw(7).unwrap()), began: Instant::now() }
        }

        fn at(&self, ms: u64) -> Instant {
            self.began + Duration::from_millis(ms)
        }

        #[track_caller]
        fn check(&mut self, ms: u64, left: usize, expected: Next) {
            let now = self.at(ms);
            assert_eq!(self.ward.next(now, left, LINGER, GRACE), expected);
        }
    }

    fn over(left_behind: u32, undead: u32) -> Next {
        Next::Over { status: Some(WELL), left_behind, undead }
    }

    #[test]
    fn a_leader_that_leaves_nobody_behind_is_over_at_once() {
        let mut story = Story::new();
        assert!(!story.ward.is_ending());
        story.ward.leader_ended(WELL);
        assert!(story.ward.is_ending());
        story.check(0, 0, over(0, 0));
    }

    #[test]
    fn what_is_left_behind_lingers_is_asked_and_is_killed() {
        let mut story = Story::new();
        story.ward.leader_ended(WELL);
        story.check(0, 3, Next::Wait(story.at(200)));
        story.check(100, 2, Next::Wait(story.at(200)));
        story.check(200, 2, Next::Signal(Signal::TERM, story.at(2_200)));
        story.check(1_000, 1, Next::Wait(story.at(2_200)));
        story.check(2_200, 1, Next::Signal(Signal::KILL, story.at(2_210)));
        story.check(2_205, 1, Next::Signal(Signal::KILL, story.at(2_215)));
        story.check(2_210, 0, over(2, 0));
    }

    #[test]
    fn who_is_stopped_is_asked_then_killed_and_the_nearer_time_counts() {
        let mut story = Story::new();
        story.ward.stop(story.at(2_000));
        story.check(0, 1, Next::Signal(Signal::TERM, story.at(2_000)));
        story.ward.stop(story.at(3_000));
        story.check(10, 1, Next::Wait(story.at(2_000)));
        story.ward.stop(story.at(500));
        story.check(20, 1, Next::Wait(story.at(500)));
        story.check(500, 0, Next::Signal(Signal::KILL, story.at(510)));
        story.ward.leader_ended(WELL);
        story.check(505, 0, over(0, 0));
    }

    #[test]
    fn who_cannot_be_killed_is_given_up() {
        let mut story = Story::new();
        story.ward.stop(story.at(0));
        story.check(0, 1, Next::Signal(Signal::TERM, story.at(0)));
        story.check(0, 1, Next::Signal(Signal::KILL, story.at(10)));
        story.check(5_000, 1, Next::Over { status: None, left_behind: 0, undead: 2 });
    }
}
