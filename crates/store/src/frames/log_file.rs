//! The unsafe part: a file system for SQLite that is the usual one, but for writes to a log.
//!
//! Every file but a log is opened by the usual file system and never seen again here. A log is opened
//! by it too, behind a [`LogFile`] that stands in front of it in the memory SQLite has set aside.

#![expect(unsafe_code, reason = "SQLite takes file systems as C structures")]

use std::ffi::{CStr, c_int, c_void};
use std::mem::size_of;
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use rusqlite::ffi::{
    self, SQLITE_CANTOPEN, SQLITE_IOERR, SQLITE_IOERR_FSYNC, SQLITE_IOERR_READ,
    SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE, SQLITE_OK, SQLITE_OPEN_WAL, sqlite3_file,
    sqlite3_filename, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs,
};

use super::held::{Held, Piece};

/// What the file system is called.
const NAME: &CStr = c"punchlist";

/// A log that is open. The usual file system's own file follows it in memory.
#[repr(C)]
struct LogFile {
    /// SQLite knows a file by this.
    base: sqlite3_file,
    held: Held,
}

/// The usual file system.
struct Usual(*mut sqlite3_vfs);

// SAFETY: SQLite never frees a file system that it has registered itself, changes nothing of it but
// which one comes next in its list, and its functions may be called by any thread.
unsafe impl Send for Usual {}
// SAFETY: as above.
unsafe impl Sync for Usual {}

static USUAL: OnceLock<Option<Usual>> = OnceLock::new();

/// The name of the file system, once SQLite knows it; nothing where it will not take it.
pub(super) fn registered() -> Option<&'static CStr> {
    USUAL.get_or_init(register).as_ref().map(|_| NAME)
}

fn register() -> Option<Usual> {
    // SAFETY: SQLite initialises itself first; without a name it gives the usual file system or null.
    let usual = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    // SAFETY: what SQLite has registered stays valid, and is copied before anything is written to it.
    let known = unsafe { usual.as_ref() }?;
    known.xOpen?;
    let ours = sqlite3_vfs {
        szOsFile: c_int::try_from(size_of::<LogFile>()).ok()?.checked_add(known.szOsFile)?,
        pNext: ptr::null_mut(),
        zName: NAME.as_ptr(),
        xOpen: Some(open),
        // All else is the usual one's; its functions find what they need there.
        ..*known
    };
    // SAFETY: it is never freed, as SQLite asks, and by default nothing uses it.
    let taken = unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(ours)), 0) };
    (taken == SQLITE_OK).then_some(Usual(usual))
}

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    opened: *mut c_int,
) -> c_int {
    let Some(Some(Usual(usual))) = USUAL.get() else { return SQLITE_CANTOPEN };
    // SAFETY: as in `register`.
    let Some(usual_open) = (unsafe { (**usual).xOpen }) else { return SQLITE_CANTOPEN };
    if flags & SQLITE_OPEN_WAL == 0 {
        // SAFETY: these are SQLite's own arguments, and the memory is more than the usual file needs.
        return unsafe { usual_open(*usual, name, file, flags, opened) };
    }
    let log = file.cast::<LogFile>();
    // SAFETY: SQLite has set aside `szOsFile` bytes: a `LogFile` and a usual file after it.
    let code = unsafe { usual_open(*usual, name, behind(file), flags, opened) };
    // One that is not open has no methods, and SQLite does not close it.
    let methods = if code == SQLITE_OK { &raw const METHODS } else { ptr::null() };
    let base = sqlite3_file { pMethods: methods };
    // SAFETY: as above; what is written over is not in use.
    unsafe { log.write(LogFile { base, held: Held::default() }) };
    code
}

/// What SQLite does with a log. It locks and shares another file, the database.
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// The usual file system's file of a log.
///
/// # Safety
/// `log` was given to [`open`].
unsafe fn behind(log: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: the memory that `open` got is that long.
    unsafe { log.cast::<LogFile>().add(1).cast() }
}

/// What is held of a log.
///
/// # Safety
/// `log` was opened by [`open`], is not closed, and nobody else uses it: SQLite has one thread in a
/// connection at a time.
unsafe fn held<'a>(log: *mut sqlite3_file) -> &'a mut Held {
    // SAFETY: `open` has written it.
    unsafe { &mut (*log.cast::<LogFile>()).held }
}

/// Defines methods that the usual file system's file has. Some SQLite has no reason to call while
/// anything is held; if it does, that is refused, and what is held forgotten.
macro_rules! usual {
    ($($name:ident = $method:ident($($argument:ident: $type:ty),*) $(unless held, $refused:expr)?;)*) => {$(
        unsafe extern "C" fn $name(log: *mut sqlite3_file $(, $argument: $type)*) -> c_int {
            // SAFETY: SQLite calls this for a log that `open` has opened and that is not closed.
            unsafe {
                $(if !held(log).is_empty() {
                    held(log).refuse();
                    return $refused;
                })?
                let usual = behind(log);
                match (*usual).pMethods.as_ref().and_then(|methods| methods.$method) {
                    Some(method) => method(usual $(, $argument)*),
                    None => SQLITE_IOERR,
                }
            }
        }
    )*};
}

usual! {
    read = xRead(into: *mut c_void, length: c_int, offset: sqlite3_int64)
        unless held, SQLITE_IOERR_READ;
    write_through = xWrite(piece: *const c_void, length: c_int, offset: sqlite3_int64);
    truncate = xTruncate(size: sqlite3_int64) unless held, SQLITE_IOERR_TRUNCATE;
    sync = xSync(flags: c_int) unless held, SQLITE_IOERR_FSYNC;
    close_usual = xClose();
    file_size = xFileSize(size: *mut sqlite3_int64);
    lock = xLock(level: c_int);
    unlock = xUnlock(level: c_int);
    check_reserved_lock = xCheckReservedLock(is_reserved: *mut c_int);
    file_control = xFileControl(operation: c_int, argument: *mut c_void);
    sector_size = xSectorSize();
    device_characteristics = xDeviceCharacteristics();
}

unsafe extern "C" fn write(
    log: *mut sqlite3_file,
    piece: *const c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    let (Ok(size), Ok(at)) = (usize::try_from(length), u64::try_from(offset)) else {
        return SQLITE_IOERR_WRITE;
    };
    // SAFETY: SQLite calls this for a log that `open` has opened and that is not closed, with
    // `length` bytes to read.
    let (held, bytes) = unsafe { (held(log), slice::from_raw_parts(piece.cast::<u8>(), size)) };
    match held.take(at, bytes) {
        Piece::Held => SQLITE_OK,
        // SAFETY: SQLite's own arguments.
        Piece::Alone => unsafe { write_through(log, piece, length, offset) },
        Piece::Together => held.give(|start, all| {
            let place = (c_int::try_from(all.len()), sqlite3_int64::try_from(start));
            let (Ok(length), Ok(start)) = place else { return SQLITE_IOERR_WRITE };
            // SAFETY: `all` is that long, and not touched by the usual file system.
            unsafe { write_through(log, all.as_ptr().cast(), length, start) }
        }),
        Piece::Refused => SQLITE_IOERR_WRITE,
    }
}

unsafe extern "C" fn close(log: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a log once, and does not use it afterwards.
    unsafe {
        let code = close_usual(log);
        // What is held was never committed.
        ptr::drop_in_place(held(log));
        (*log).pMethods = ptr::null();
        code
    }
}
