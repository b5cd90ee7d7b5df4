//! Reads keys on a thread of its own.

use std::fs::File;
use std::io::{self, Read};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};

use crate::keys::{Decoder, Key};

/// Passes the keys of each read to `tell`, until `tell` returns false. A read may have several
/// keys.
pub(crate) fn read(mut terminal: File, tell: impl Fn(Vec<Key>) -> bool + Send + 'static) {
    thread::spawn(move || {
        let mut decoder = Decoder::default();
        while let Some(keys) = next(&mut terminal, &mut decoder) {
            if !keys.is_empty() && !tell(keys) {
                return;
            }
        }
    });
}

/// Reads keys until it is dropped. Afterwards nothing more is read from the terminal, so that another
/// program can.
pub(crate) struct KeyReader {
    /// Closed to end the thread.
    end: Option<io::PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl KeyReader {
    /// Passes the keys of each read to `tell`.
    pub(crate) fn start(
        mut terminal: File,
        tell: impl Fn(Vec<Key>) -> bool + Send + 'static,
    ) -> io::Result<Self> {
        let (ended, end) = io::pipe()?;
        let thread = thread::spawn(move || {
            let mut decoder = Decoder::default();
            loop {
                let mut fds =
                    [PollFd::new(&terminal, PollFlags::IN), PollFd::new(&ended, PollFlags::IN)];
                let is_woken = match poll(&mut fds, None) {
                    Ok(_) => true,
                    Err(rustix::io::Errno::INTR) => false,
                    Err(_) => return,
                };
                let [keys, end] = fds.map(|it| !it.revents().is_empty());
                if is_woken && end {
                    return;
                }
                if is_woken && keys {
                    let Some(keys) = next(&mut terminal, &mut decoder) else { return };
                    if !keys.is_empty() && !tell(keys) {
                        return;
                    }
                }
            }
        });
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for KeyReader {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked reads nothing either.
            thread.join().ok();
        }
    }
}

/// The keys of the next read; `None` if there will be none.
fn next(terminal: &mut File, decoder: &mut Decoder) -> Option<Vec<Key>> {
    let mut bytes = [0; 256];
    match terminal.read(&mut bytes) {
        Ok(0) => None,
        Ok(count) => Some(decoder.push(bytes.get(..count).unwrap_or_default())),
        Err(why) if why.kind() == io::ErrorKind::Interrupted => Some(Vec::new()),
        Err(_) => None,
    }
}
