//! Things that are due after a while.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// The longest that is waited for; whoever waits longer is as good as never due.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// When something is due, and a number that tells it from others that are due then.
pub(super) type TimerKey = (Instant, u64);

/// Things that are due, by when.
pub(super) struct Timers<T> {
    all: BTreeMap<TimerKey, T>,
    next: u64,
    /// Sleeps until the first of them.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), next: 0, sleep: None }
    }
}

impl<T> Timers<T> {
    /// Something is due after that time.
    pub(super) fn add(&mut self, after: Duration, what: T) -> TimerKey {
        let key = (Instant::now() + after.min(LONGEST), self.next);
        self.all.insert(key, what);
        self.next += 1;
        key
    }

    /// Nobody waits for it any more.
    pub(super) fn remove(&mut self, key: TimerKey) {
        self.all.remove(&key);
    }

    /// How many things are due.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The next that is due, once it is.
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
