//! Which files found in a directory tree may be used.
//!
//! A database or configuration that came with somebody's repository could lead the engine anywhere,
//! so one that lies in a tree is used only if this user's `init` recorded its path and the file is
//! this user's own. The record is one path a line in the user's data directory.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Code, Fail};
use crate::places;

/// What is known of a file in a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// There is none.
    Absent,
    /// It may be used.
    Trusted,
    /// It may not, for this reason.
    Ignored(String),
}

/// Looks at a file in a tree. Costs one `stat` where there is none.
pub(crate) fn look(path: &Path) -> Result<Found, Fail> {
    let Ok(meta) = fs::symlink_metadata(path) else { return Ok(Found::Absent) };
    if let Some(why) = strange(path, &meta) {
        return Ok(Found::Ignored(format!("ignored {}: {why}", path.display())));
    }
    if !recorded(&record()?, path) {
        return Ok(Found::Ignored(format!(
            "ignored {}: it is not on your list of trusted files; if it is yours, run `punchlist init`",
            path.display()
        )));
    }
    Ok(Found::Trusted)
}

/// Why a file could not be trusted even if it were recorded.
pub(crate) fn strange(path: &Path, meta: &fs::Metadata) -> Option<&'static str> {
    if !meta.is_file() {
        return Some("it is not a plain file");
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Some("it belongs to another user");
    }
    if fs::canonicalize(path).ok().as_deref() != Some(path) {
        return Some("it lies behind a symbolic link");
    }
    strange_beside(path)
}

/// Why the files beside a database could not be trusted. They are written to without a further
/// look: a link there would lead the first write to any file of this user's.
pub(crate) fn strange_beside(path: &Path) -> Option<&'static str> {
    let strange = ["-bell", "-wal", "-shm", "-journal"].iter().any(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        fs::symlink_metadata(&name).is_ok_and(|meta| is_foreign(&meta))
    });
    strange.then_some("a file beside it is a link, or not your own")
}

/// Whether it is anything but a plain file of this user's.
fn is_foreign(meta: &fs::Metadata) -> bool {
    !meta.is_file() || meta.uid() != rustix::process::geteuid().as_raw()
}

/// Records paths as trusted. Says which of them are new.
pub(crate) fn add(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Fail> {
    let file = record()?;
    let mut text = Vec::new();
    let mut new = Vec::new();
    for path in paths {
        let bytes = path.as_os_str().as_bytes();
        if bytes.contains(&b'\n') {
            let message = format!("{} has a line break in its path", path.display());
            return Err(Fail::usage(message).hint("rename the directory."));
        }
        if !recorded(&file, path) {
            text.extend_from_slice(bytes);
            text.push(b'\n');
            new.push(path.clone());
        }
    }
    if text.is_empty() {
        return Ok(new);
    }
    append(&file, &text).map_err(|why| {
        Fail::new(Code::Unusable, format!("cannot write {}: {why}", file.display()))
            .hint("the record of trusted files lies in your data directory.")
    })?;
    Ok(new)
}

fn append(file: &Path, text: &[u8]) -> std::io::Result<()> {
    if let Some(dir) = file.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(file)?;
    // One write, so that two at once do not mix their lines.
    file.write_all(text)?;
    file.sync_all()
}

fn record() -> Result<PathBuf, Fail> {
    Ok(places::data()?.join("trusted"))
}

fn recorded(file: &Path, path: &Path) -> bool {
    let Ok(bytes) = fs::read(file) else { return false };
    bytes.split(|byte| *byte == b'\n').any(|line| line == path.as_os_str().as_bytes())
}
