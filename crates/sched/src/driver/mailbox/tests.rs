//! The hand-off under every order that threads may come in, as far as a search through random schedules
//! finds them. A fault prints the schedule that shows it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::Poll;

use shuttle::future::block_on;
use shuttle::thread;

use super::{Receiver, Sender, mailbox};

/// How many schedules are tried.
const SCHEDULES: usize = 500;

#[track_caller]
fn search(story: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(story, SCHEDULES);
}

/// Receives until nothing will ever come again.
fn all(mut receiver: Receiver<u32>) -> Vec<u32> {
    let mut taken = VecDeque::new();
    while block_on(poll_fn(|context| receiver.poll_all(context, &mut taken))) {}
    taken.into()
}

fn send(sender: &Sender<u32>, items: impl IntoIterator<Item = u32>) {
    for item in items {
        sender.send(item).unwrap();
    }
}

#[test]
fn whatever_is_sent_is_received_once_in_the_order_of_its_sender() {
    search(|| {
        let (sender, receiver) = mailbox();
        let senders = [0, 100, 200].map(|from| {
            let sender = sender.clone();
            thread::spawn(move || send(&sender, from..from + 3))
        });
        drop(sender);
        let received = all(receiver);
        for from in [0, 100, 200] {
            let of: Vec<u32> =
                received.iter().copied().filter(|it| it / 100 == from / 100).collect();
            assert_eq!(of, (from..from + 3).collect::<Vec<_>>());
        }
        assert_eq!(received.len(), 9);
        senders.into_iter().for_each(|it| it.join().unwrap());
    });
}

#[test]
fn who_waits_is_woken_by_the_last_sender_that_leaves() {
    search(|| {
        let (sender, receiver) = mailbox::<u32>();
        let leaves = [sender.clone(), sender].map(|it| thread::spawn(move || drop(it)));
        assert!(all(receiver).is_empty());
        leaves.into_iter().for_each(|it| it.join().unwrap());
    });
}

#[test]
fn one_by_one_nothing_is_missed_either() {
    search(|| {
        let (sender, mut receiver) = mailbox();
        let sends = thread::spawn(move || send(&sender, 0..4));
        let mut received = Vec::new();
        while let Some(item) = block_on(poll_fn(|context| receiver.poll_next(context))) {
            received.push(item);
        }
        assert_eq!(received, [0, 1, 2, 3]);
        sends.join().unwrap();
    });
}

#[test]
fn what_is_sent_when_nobody_receives_any_more_comes_back_or_was_dropped_with_it() {
    search(|| {
        let (sender, mut receiver) = mailbox();
        let takes = thread::spawn(move || {
            // Takes what is there, waits for nothing, and leaves.
            let mut taken = VecDeque::new();
            block_on(poll_fn(|context| {
                let _ = receiver.poll_all(context, &mut taken);
                Poll::Ready(())
            }));
            taken.len()
        });
        let token = std::sync::Arc::new(());
        let came_back = (0..3).filter(|_| sender.send(token.clone()).is_err()).count();
        let taken = takes.join().unwrap();
        assert!(came_back + taken <= 3);
        // Nothing lies in a mailbox that nobody opens: wishes would wait for ever.
        assert_eq!(std::sync::Arc::strong_count(&token), 1);
    });
}

#[test]
fn a_change_of_what_waits_wakes_as_well() {
    search(|| {
        let (sender, mut receiver) = mailbox::<u32>();
        let puts = thread::spawn(move || {
            assert!(sender.put(|waiting| waiting.extend([1, 2])));
            assert!(sender.put(|waiting| {
                // A watcher that is slow finds its lines counted, not kept.
                if let Some(last) = waiting.back_mut() {
                    *last += 10;
                } else {
                    waiting.push_back(12);
                }
            }));
        });
        let mut last = 0;
        while let Some(item) = block_on(poll_fn(|context| receiver.poll_next(context))) {
            last = item;
        }
        assert_eq!(last, 12);
        puts.join().unwrap();
    });
}
