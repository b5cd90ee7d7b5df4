//! Waits for a store's answer without a runtime.
//!
//! The SQLite store's futures are ready at the first poll, so this costs one call. Should one not
//! be, the thread parks until it is woken.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The future's value.
pub(crate) fn settle<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return value;
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ready_answer_is_there_at_once() {
        assert_eq!(settle(std::future::ready(7)), 7);
    }

    #[test]
    fn an_answer_from_another_thread_wakes_the_caller() {
        let mut polls = 0;
        let value = settle(std::future::poll_fn(|context| {
            polls += 1;
            if polls == 3 {
                return Poll::Ready("here");
            }
            let waker = context.waker().clone();
            thread::spawn(move || waker.wake());
            Poll::Pending
        }));
        assert_eq!(value, "here");
    }
}
