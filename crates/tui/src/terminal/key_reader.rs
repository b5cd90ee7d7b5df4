//! Reads keys on a thread of its own.

use std::fs::File;
use std::io::{self, Read};
use std::thread;

use crate::keys::{Decoder, Key};

/// Passes the keys of each read to `tell`, until `tell` returns false. A read may have several
/// keys.
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
