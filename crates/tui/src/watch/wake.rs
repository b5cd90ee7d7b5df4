//! What wakes a watcher, in one channel: files, plans, keys, signals, and what comes through a pipe.
//!
//! Each source is a thread of its own that does nothing but wait and tell. None of them draws.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use pollster::block_on;
use punchlist_model::PlanId;
use punchlist_model::store::Following;

use crate::keys::Key;
use crate::terminal::key_reader;
use crate::terminal::signals::{Request, Signals};

/// Something happened.
pub(super) enum Wake {
    /// A file changed.
    Files,
    /// A plan changed.
    Plan(PlanId),
    /// Plans can no longer be followed, and why.
    NoPlans(String),
    /// A key was pressed.
    Key(Key),
    /// A signal came.
    Signal(Request),
    /// Bytes came through the pipe.
    Bytes(Vec<u8>),
    /// The pipe is over, and why, if it broke.
    End(Option<String>),
}

/// Tells of every change to a plan.
pub(super) fn plans(mut changes: Following, tell: Sender<Wake>) {
    thread::spawn(move || {
        loop {
            let wake = match block_on(poll_fn(|context| changes.as_mut().poll_next(context))) {
                Some(Ok((_, entry))) => Wake::Plan(entry.plan),
                Some(Err(why)) => Wake::NoPlans(why.to_string()),
                None => return,
            };
            if tell.send(wake).is_err() {
                return;
            }
        }
    });
}

/// Tells of every key that is pressed at a terminal.
pub(super) fn keys(terminal: File, tell: Sender<Wake>) {
    let tell = move |keys: Vec<Key>| keys.into_iter().all(|it| tell.send(Wake::Key(it)).is_ok());
    key_reader::read(terminal, tell);
}

/// Hands on what comes through stdin.
pub(super) fn stdin(tell: Sender<Wake>) {
    thread::spawn(move || {
        let mut bytes = vec![0; 64 << 10];
        loop {
            let wake = match io::stdin().lock().read(&mut bytes) {
                Ok(0) => Wake::End(None),
                Ok(count) => Wake::Bytes(bytes[..count].to_vec()),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) => Wake::End(Some(why.to_string())),
            };
            let is_end = matches!(wake, Wake::End(_));
            if tell.send(wake).is_err() || is_end {
                return;
            }
        }
    });
}

/// Tells of signals. Those that end the program otherwise are heard once this returns, and do not.
pub(super) fn signals(tell: Sender<Wake>) {
    let (ready, is_ready) = channel();
    thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
            return;
        };
        runtime.block_on(async {
            let Ok(mut signals) = Signals::hear() else { return };
            ready.send(()).ok();
            while tell.send(Wake::Signal(signals.next().await)).is_ok() {}
        });
    });
    // If it could not begin, its end of the channel is gone.
    is_ready.recv().ok();
}
