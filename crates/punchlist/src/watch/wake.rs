//! What wakes a watcher, in one channel: files, plans, keys, signals, and what comes through a pipe.
//!
//! Each source is a thread of its own that does nothing but wait and tell. None of them draws.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use punchlist_model::PlanId;
use punchlist_model::store::Following;
use rustix::process::Signal as Raw;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::block_on;

/// Something happened.
pub(crate) enum Wake {
    /// A file changed.
    Files,
    /// A plan changed.
    Plan(PlanId),
    /// Plans can no longer be followed, and why.
    NoPlans(String),
    /// A key was pressed.
    Key(u8),
    /// A signal came.
    Signal(Sort),
    /// Bytes came through the pipe.
    Bytes(Vec<u8>),
    /// The pipe is over, and why, if it broke.
    End(Option<String>),
}

/// What a signal asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sort {
    /// Leave.
    Leave(u8),
    /// The terminal has another size.
    Resize,
    /// Stop until woken.
    Pause,
    /// Go on.
    Resume,
}

/// Tells of every change to a plan.
pub(crate) fn plans(mut changes: Following, tell: Sender<Wake>) {
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
pub(crate) fn keys(mut terminal: File, tell: Sender<Wake>) {
    thread::spawn(move || {
        let mut bytes = [0; 64];
        loop {
            match terminal.read(&mut bytes) {
                Ok(0) => return,
                Ok(count) => {
                    for key in plain(&bytes[..count]) {
                        if tell.send(Wake::Key(key)).is_err() {
                            return;
                        }
                    }
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
}

/// Keys as one byte each: arrows mean what `j` and `k` mean, other sequences nothing.
fn plain(bytes: &[u8]) -> Vec<u8> {
    match bytes {
        [0x1b, b'[' | b'O', b'A'] => vec![b'k'],
        [0x1b, b'[' | b'O', b'B'] => vec![b'j'],
        [0x1b, _, ..] => Vec::new(),
        _ => bytes.to_vec(),
    }
}

/// Hands on what comes through stdin.
pub(crate) fn stdin(tell: Sender<Wake>) {
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
pub(crate) fn signals(tell: Sender<Wake>) {
    let (ready, is_ready) = channel();
    thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
            return;
        };
        runtime.block_on(async {
            let pause = SignalKind::from_raw(Raw::TSTP.as_raw());
            let resume = SignalKind::from_raw(Raw::CONT.as_raw());
            let mut all: Vec<(Signal, Sort)> = [
                (SignalKind::interrupt(), Sort::Leave(130)),
                (SignalKind::terminate(), Sort::Leave(143)),
                (SignalKind::hangup(), Sort::Leave(129)),
                (SignalKind::quit(), Sort::Leave(131)),
                (SignalKind::window_change(), Sort::Resize),
                (pause, Sort::Pause),
                (resume, Sort::Resume),
            ]
            .into_iter()
            .filter_map(|(kind, sort)| Some((signal(kind).ok()?, sort)))
            .collect();
            ready.send(()).ok();
            loop {
                let sort = poll_fn(|context| {
                    let came = all.iter_mut().find_map(|(signal, sort)| {
                        signal.poll_recv(context).is_ready().then_some(*sort)
                    });
                    came.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
                });
                if tell.send(Wake::Signal(sort.await)).is_err() {
                    return;
                }
            }
        });
    });
    // If it could not begin, its end of the channel is gone.
    is_ready.recv().ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_are_keys_and_other_sequences_are_none() {
        for (bytes, expected) in [
            (&b"q"[..], &b"q"[..]),
            (b"jjk", b"jjk"),
            (b"\x1b[A", b"k"),
            (b"\x1bOB", b"j"),
            (b"\x1b[1;5C", b""),
            (b"\x1b", b"\x1b"),
            (b"\xff\0", b"\xff\0"),
        ] {
            assert_eq!(plain(bytes), expected, "{bytes:?}");
        }
    }
}
