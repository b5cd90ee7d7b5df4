//! Handing something over to one who waits for it, from any thread.
//!
//! Everything that crosses a thread on its way into or out of the driver goes through here and nowhere
//! else, so this is what the search through interleavings runs on. It knows nothing of calls.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
#[cfg(not(test))]
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

// In tests of this crate the lock is one that the search can look behind. Tests of the driver see the
// real one, because they are a program of their own.
#[cfg(test)]
use shuttle::sync::{Mutex, MutexGuard};

struct Inner<T> {
    items: VecDeque<T>,
    /// Who waits.
    waker: Option<Waker>,
    /// How many could still put something in.
    senders: usize,
    /// Whether anybody will take something out.
    open: bool,
}

struct Shared<T>(Mutex<Inner<T>>);

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        // Nothing in here panics while it holds the lock, and every state in between is a whole one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts things in.
pub(crate) struct Sender<T>(Arc<Shared<T>>);

/// Takes them out.
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

/// A mailbox, from both sides.
pub(crate) fn mailbox<T>() -> (Sender<T>, Receiver<T>) {
    let inner = Inner { items: VecDeque::new(), waker: None, senders: 1, open: true };
    let shared = Arc::new(Shared(Mutex::new(inner)));
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    /// Puts something in, or gives it back if nobody will take it.
    pub(crate) fn send(&self, item: T) -> Result<(), T> {
        let mut inner = self.0.lock();
        if !inner.open {
            return Err(item);
        }
        inner.items.push_back(item);
        wake(inner);
        Ok(())
    }

    /// Lets `put` change what waits to be taken. Says whether anybody will take it.
    pub(crate) fn put(&self, put: impl FnOnce(&mut VecDeque<T>)) -> bool {
        let mut inner = self.0.lock();
        if !inner.open {
            return false;
        }
        put(&mut inner.items);
        wake(inner);
        true
    }
}

/// Wakes who waits, after the lock is free again.
fn wake<T>(mut inner: MutexGuard<'_, Inner<T>>) {
    let waker = inner.waker.take();
    drop(inner);
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.senders = inner.senders.saturating_sub(1);
        if inner.senders == 0 {
            wake(inner);
        }
    }
}

impl<T> Receiver<T> {
    /// Takes everything out, in order, into `taken`. `false` says that nothing will ever come again.
    pub(crate) fn poll_all(
        &mut self,
        context: &mut Context<'_>,
        taken: &mut VecDeque<T>,
    ) -> Poll<bool> {
        let mut inner = self.0.lock();
        if !inner.items.is_empty() {
            taken.append(&mut inner.items);
            return Poll::Ready(true);
        }
        Self::wait(inner, context).map(|()| false)
    }

    /// Takes the next one out. `None` says that nothing will ever come again.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut inner = self.0.lock();
        if let Some(item) = inner.items.pop_front() {
            return Poll::Ready(Some(item));
        }
        Self::wait(inner, context).map(|()| None)
    }

    /// Leaves word that it waits, or is ready because nobody is left who could send.
    fn wait(mut inner: MutexGuard<'_, Inner<T>>, context: &mut Context<'_>) -> Poll<()> {
        if inner.senders == 0 {
            return Poll::Ready(());
        }
        let old = inner.waker.replace(context.waker().clone());
        drop(inner);
        drop(old);
        Poll::Pending
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.open = false;
        let left = (std::mem::take(&mut inner.items), inner.waker.take());
        drop(inner);
        // What is dropped may wake others, who may come back here.
        drop(left);
    }
}
