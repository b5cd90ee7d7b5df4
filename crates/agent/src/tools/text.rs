//! Files that hold text: read whole, politely refused if they are something else, and written as one.

use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;

use punchlist_engine::replace::{self, Stamp};
use sha2::{Digest, Sha256};

use super::place::Place;

/// The largest file that is edited or shown in a diff.
pub(super) const MOST: u64 = 8 * 1024 * 1024;

/// What is where a text may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// Nothing.
    Nothing,
    /// A text, as it is in the file.
    Text(String, Stamp),
    /// A file of another kind: why it is not text.
    Other(String, Stamp),
}

/// What there is, if it is a file. Anything that is no plain file is an error.
pub(super) fn look(place: &Place) -> Result<Found, String> {
    let shown = &place.shown;
    let meta = match fs::symlink_metadata(&place.real) {
        Ok(meta) => meta,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(why) => return Err(format!("cannot look at {shown}: {why}")),
    };
    is_file(&meta).map_err(|what| format!("{shown} is {what}"))?;
    let stamp = Stamp::from(&meta);
    if meta.len() > MOST {
        let what = format!("it is {} bytes long, more than the {MOST} that are taken", meta.len());
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

/// What is there, as far as a question about it rests on that: the content of a text, else what the file
/// system says of the file.
pub(super) fn stamp(place: &Place) -> String {
    match look(place) {
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

/// Whether it is a plain file, or what it is instead. Pipes and devices might never end.
pub(super) fn is_file(meta: &Metadata) -> Result<(), &'static str> {
    match meta {
        _ if meta.is_file() => Ok(()),
        _ if meta.is_dir() => Err("a directory"),
        _ => Err("neither a file nor a directory"),
    }
}

/// Whether bytes are no text: no text has a NUL near its beginning.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8 * 1024).any(|it| *it == 0)
}

/// Puts a text there, with the directories that are missing. What was there keeps its mode.
pub(super) fn put(place: &Place, found: &Found, text: &str) -> Result<(), String> {
    let failed = |why: std::io::Error| format!("cannot write {}: {why}", place.shown);
    let was = match found {
        Found::Nothing => None,
        Found::Text(_, stamp) | Found::Other(_, stamp) => Some(*stamp),
    };
    if let Some(directory) = place.real.parent() {
        fs::create_dir_all(directory).map_err(failed)?;
        // Between the look and now, it may have become a way out.
        if fs::canonicalize(directory).ok().as_deref() != Some(directory) {
            return Err(format!("{} has moved while it was looked at; try again", place.shown));
        }
    }
    if let Ok(meta) = fs::symlink_metadata(&place.real) {
        is_file(&meta).map_err(|what| format!("{} is {what}", place.shown))?;
        // Renaming would get round it, which is not what whoever took the right away meant.
        if meta.mode() & 0o200 == 0 {
            return Err(format!("{} is read-only", place.shown));
        }
    }
    replace::with(&place.real, was, text.as_bytes(), 0o666).map_err(|why| {
        if why.kind() == ErrorKind::AlreadyExists {
            return format!("somebody else just made {}; look at it first", place.shown);
        }
        failed(why)
    })
}

/// Whether every line of a text ends as on Windows.
pub(super) fn is_crlf(text: &str) -> bool {
    let all = text.matches('\n').count();
    all > 0 && text.matches("\r\n").count() == all
}

/// A text with every line ending as on Windows.
pub(super) fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// How many lines, in words.
pub(super) fn lines(text: &str) -> String {
    match text.lines().count() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}
