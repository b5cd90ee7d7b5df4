//! Keys as they are pressed, read on a thread of their own.

use std::fs::File;
use std::io::{self, Read};
use std::thread;

use crate::keys::{Decoder, Key};

/// Passes on the keys of each read, which are several where somebody is quick, until `tell` says that nobody
/// wants them any more.
pub(crate) fn read(mut terminal: File, tell: impl Fn(Vec<Key>) -> bool + Send + 'static) {
    thread::spawn(move || {
        let mut decoder = Decoder::default();
        let mut bytes = [0; 256];
        loop {
            match terminal.read(&mut bytes) {
                Ok(0) => return,
                Ok(count) => {
                    let keys = decoder.push(bytes.get(..count).unwrap_or_default());
                    if !keys.is_empty() && !tell(keys) {
                        return;
                    }
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
}
