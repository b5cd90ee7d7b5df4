//! A disk that counts what a test's thread writes to it, and has no more room than it is told.

#![expect(unsafe_code, reason = "SQLite takes calls to the system as C functions")]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fs::{File, OpenOptions};
use std::mem::{ManuallyDrop, transmute};
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::slice;
use std::sync::Once;

use rusqlite::ffi;

thread_local! {
    static WRITES: Cell<usize> = const { Cell::new(0) };
    static ROOM: Cell<Option<usize>> = const { Cell::new(None) };
}

/// How often this thread has written.
pub(super) fn writes() -> usize {
    WRITES.get()
}

/// Lets this thread write so many bytes more, or as many as there is room for.
#[cfg(target_os = "linux")]
pub(super) fn has_room(room: Option<usize>) {
    ROOM.set(room);
}

/// Has SQLite write through here.
pub(super) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        type Write = unsafe extern "C" fn(c_int, *const c_void, usize, i64) -> isize;
        // SAFETY: the usual file system stays; it is asked to call a function of the kind that it
        // calls under these names, of which it has one or both.
        unsafe {
            let usual = ffi::sqlite3_vfs_find(ptr::null());
            let set = (*usual).xSetSystemCall.unwrap();
            let instead = transmute::<Write, unsafe extern "C" fn()>(pwrite);
            let taken = [c"pwrite", c"pwrite64"]
                .map(|name| set(usual, name.as_ptr(), Some(instead)) == ffi::SQLITE_OK);
            assert!(taken.contains(&true), "{taken:?}");
        }
    });
}

unsafe extern "C" fn pwrite(fd: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    WRITES.set(WRITES.get() + 1);
    let room = ROOM.get().unwrap_or(length).min(length);
    ROOM.set(ROOM.get().map(|it| it - room));
    // SAFETY: SQLite's own file and bytes; the file is left open.
    let (file, bytes) = unsafe {
        let file = ManuallyDrop::new(File::from_raw_fd(fd));
        (file, slice::from_raw_parts(bytes.cast::<u8>(), room))
    };
    let written = if room == 0 && length > 0 {
        // This leaves the error where SQLite looks for it, on the system that has such a file.
        OpenOptions::new().write(true).open("/dev/full").unwrap().write_at(b"x", 0)
    } else {
        file.write_at(bytes, at.try_into().unwrap())
    };
    written.map_or(-1, |it| it.try_into().unwrap())
}
