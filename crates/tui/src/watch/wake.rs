//! The wake-ups of a watch, in one channel: files, plans, keys, signals and stdin.
//!
//! Each source is a thread that only waits and sends. None of them draws.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use pollster::block_on;
use punchlist_model::PlanId;
use punchlist_model::call::News;
use punchlist_model::store::Following;

use crate::keys::Key;
use crate::terminal::key_reader;
use crate::terminal::signals::{Request, Signals};

/// A wake-up.
pub(super) enum Wake {
    /// A file changed.
    Files,
    /// A plan changed.
    Plan(PlanId),
    /// Something else in the store may have changed.
    Store,
    /// Plans can no longer be followed, with the reason.
    NoPlans(String),
    /// A key was pressed.
    Key(Key),
    /// A signal arrived.
    Signal(Request),
    /// Bytes arrived on stdin.
    Bytes(Vec<u8>),
    /// stdin ended, with the reason if reading failed.
    End(Option<String>),
}

/// Sends every change of a plan.
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

/// Sends a wake-up whenever something in the store may have changed.
pub(super) fn news(mut news: News, tell: Sender<Wake>) {
    thread::spawn(move || {
        // The changes of plans report errors.
        while let Some(Ok(())) = block_on(poll_fn(|context| news.as_mut().poll_next(context))) {
            if tell.send(Wake::Store).is_err() {
                return;
            }
        }
    });
}

/// Sends every key of a terminal.
pub(super) fn keys(terminal: File, tell: Sender<Wake>) {
    let tell = move |keys: Vec<Key>| keys.into_iter().all(|it| tell.send(Wake::Key(it)).is_ok());
    key_reader::read(terminal, tell);
}

/// Sends the bytes of stdin.
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

/// Sends signals. When this returns, signals no longer end the program.
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
    // If the thread could not start, its sender is gone and this returns.
    is_ready.recv().ok();
}
