//! Text files: reads them whole, refuses other files, and writes them atomically.

use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;

use punchlist_engine::replace::{self, Stamp};
use sha2::{Digest, Sha256};

use super::place::Place;

/// The largest file that is edited or shown in a diff, in bytes.
pub(super) const MOST: u64 = 8 * 1024 * 1024;

/// What is at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// Nothing.
    Nothing,
    /// A text, as it is in the file.
    Text(String, Stamp),
    /// A file that is not text, and why.
    Other(String, Stamp),
}

/// Reads what is at a path. Anything that is not a plain file is an error.
pub(super) fn read_file(place: &Place) -> Result<Found, String> {
    let shown = &place.shown;
    let meta = match fs::symlink_metadata(&place.real) {
        Ok(meta) => meta,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(why) => return Err(format!("cannot read {shown}: {why}")),
    };
    is_file(&meta).map_err(|what| format!("{shown} is {what}"))?;
    let stamp = Stamp::from(&meta);
    if meta.len() > MOST {
        let what = format!("it has {} bytes; at most {MOST} are allowed", meta.len());
        return Ok(Found::Other(what, stamp));
    }
    let mut bytes = Vec::new();
    let file = File::open(&place.real).map_err(|why| format!("cannot read {shown}: {why}"))?;
    file.take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(|why| format!("cannot read {shown}: {why}"))?;
    if is_binary(&bytes) {
        return Ok(Found::Other("it is not text but a binary file".to_owned(), stamp));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Found::Text(text, stamp),
        Err(_) => Found::Other("it is not UTF-8 text".to_owned(), stamp),
    })
}

/// A stamp of the file that a question refers to: a digest of a text, otherwise the file system's
/// metadata.
pub(super) fn stamp(place: &Place) -> String {
    match read_file(place) {
        Ok(Found::Nothing) => "nothing".to_owned(),
        Ok(Found::Text(text, _)) => {
            let digest: Vec<String> =
                Sha256::digest(text.as_bytes()).iter().map(|it| format!("{it:02x}")).collect();
            digest.concat()
        }
        Ok(Found::Other(..)) | Err(_) => match fs::symlink_metadata(&place.real) {
            Ok(it) => format!("{} {} {}.{}", it.ino(), it.len(), it.mtime(), it.mtime_nsec()),
            Err(why) => why.to_string(),
        },
    }
}

/// Checks for a plain file. Reading a pipe or a device might never end.
pub(super) fn is_file(meta: &Metadata) -> Result<(), &'static str> {
    match meta {
        _ if meta.is_file() => Ok(()),
        _ if meta.is_dir() => Err("a directory"),
        _ => Err("neither a file nor a directory"),
    }
}

/// Whether the bytes are not text: text has no NUL near its beginning.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8 * 1024).any(|it| *it == 0)
}

/// Writes a text, and creates missing directories. An existing file keeps its mode.
pub(super) fn write_file(place: &Place, found: &Found, text: &str) -> Result<(), String> {
    let failed = |why: std::io::Error| format!("cannot write {}: {why}", place.shown);
    let was = match found {
        Found::Nothing => None,
        Found::Text(_, stamp) | Found::Other(_, stamp) => Some(*stamp),
    };
    if let Some(directory) = place.real.parent() {
        fs::create_dir_all(directory).map_err(failed)?;
        // The directory may have been replaced by a link that leads out.
        if fs::canonicalize(directory).ok().as_deref() != Some(directory) {
            return Err(format!("{} has moved while it was looked at; try again", place.shown));
        }
    }
    if let Ok(meta) = fs::symlink_metadata(&place.real) {
        is_file(&meta).map_err(|what| format!("{} is {what}", place.shown))?;
        // Renaming would bypass a missing write permission, which is there for a reason.
        if meta.mode() & 0o200 == 0 {
            return Err(format!("{} is read-only", place.shown));
        }
    }
    replace::with(&place.real, was, text.as_bytes(), 0o666).map_err(|why| {
        if why.kind() == ErrorKind::AlreadyExists {
            return format!("somebody else has just created {}; read it first", place.shown);
        }
        failed(why)
    })
}

/// Whether every line ends with CRLF.
pub(super) fn is_crlf(text: &str) -> bool {
    let all = text.matches('\n').count();
    all > 0 && text.matches("\r\n").count() == all
}

/// The text with every line ending in CRLF.
pub(super) fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// The number of lines, in words.
pub(super) fn lines(text: &str) -> String {
    match text.lines().count() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}
