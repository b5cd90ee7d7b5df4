//! Timers.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// The longest delay of a timer.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The time of a timer, and a number that makes it unique.
pub(super) type TimerKey = (Instant, u64);

/// Pending timers, by time.
pub(super) struct Timers<T> {
    all: BTreeMap<TimerKey, T>,
    next: u64,
    /// Sleeps until the first timer.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), next: 0, sleep: None }
    }
}

impl<T> Timers<T> {
    /// Adds a timer.
    pub(super) fn add(&mut self, after: Duration, what: T) -> TimerKey {
        let key = (Instant::now() + after.min(LONGEST), self.next);
        self.all.insert(key, what);
        self.next += 1;
        key
    }

    /// Removes a timer.
    pub(super) fn remove(&mut self, key: TimerKey) {
        self.all.remove(&key);
    }

    /// The number of pending timers.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The next expired timer.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<T> {
        let Some(((at, _), _)) = self.all.first_key_value() else { return Poll::Pending };
        let at = *at;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        match sleep.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => match self.all.pop_first() {
                Some((_, what)) => Poll::Ready(what),
                None => Poll::Pending,
            },
        }
    }
}
