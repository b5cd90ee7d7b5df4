//! The files with the outputs of running calls, which survive a killed process.
//!
//! Every output is written to a file as it arrives. When a call ends normally, its outcome has the
//! output, and the file is removed once the outcome is recorded, unless the output was cut and
//! refers to the file. If the process was killed or the tool was dropped, [`so_far`] reads the
//! files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use punchlist_model::Attempt;

use super::Options;
use super::capture::{Capture, cut};
use crate::call::{CallId, Output};

/// The files of the running calls.
#[derive(Debug, Default)]
pub(crate) struct Files(Mutex<BTreeMap<CallId, Vec<PathBuf>>>);

impl Files {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<CallId, Vec<PathBuf>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a file of a call.
    pub(crate) fn add(&self, call: CallId, path: &Path) {
        self.lock().entry(call).or_default().push(path.to_owned());
    }

    /// Removes the files of a call whose end is recorded, except the one that the record refers to.
    pub(crate) fn recorded(&self, call: CallId, output: Option<&Output>) {
        let Some(paths) = self.lock().remove(&call) else { return };
        let kept = output.and_then(|it| it.whole.as_deref()).map(Path::new);
        for path in paths.iter().filter(|it| Some(it.as_path()) != kept) {
            // If the file cannot be removed, the cleanup of the directory removes it later.
            drop(fs::remove_file(path));
        }
    }
}

/// The file name for the `nth` output, from 1, of an attempt.
pub(crate) fn name(call: CallId, attempt: Attempt, nth: u32) -> String {
    let attempt = if attempt.0 <= 1 { String::new() } else { format!("-{}", attempt.0) };
    let nth = if nth <= 1 { String::new() } else { format!(".{nth}") };
    format!("{}{attempt}{nth}.txt", call.0)
}

/// Whether a file of this name has output of this call.
pub fn is_of(name: &str, call: u32) -> bool {
    let digits = name.split(['.', '-']).next().unwrap_or_default();
    name.ends_with(".txt") && digits.parse() == Ok(call)
}

/// The output of an attempt so far, from its files; `None` if it printed nothing.
///
/// For a call whose process was killed, or whose tool was dropped. The output refers to the first
/// file as the whole.
pub fn so_far(options: &Options, call: CallId, attempt: Attempt) -> Option<Output> {
    let directory = options.directory.as_deref()?;
    let mut text = String::new();
    let mut whole = None;
    for nth in 1.. {
        let path = directory.join(name(call, attempt, nth));
        let Ok(piece) = read(&path, options) else { break };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&piece);
        whole.get_or_insert_with(|| path.display().to_string());
    }
    (!text.is_empty()).then(|| Output { whole, ..Output::text(text) })
}

/// Reads a file as an output, cut in the middle if it is too long.
fn read(path: &Path, options: &Options) -> io::Result<String> {
    // Something that is not a regular file was not written by us, and reading it could block.
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = File::open(path)?;
    let (length, most) = (file.metadata()?.len(), options.most);
    let limit = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
    let mut head = Vec::new();
    if length <= limit(most) {
        file.take(limit(most)).read_to_end(&mut head)?;
        let mut short = Capture::new(&Options { directory: None, ..options.clone() }, "");
        short.take(&head);
        return Ok(short.finish().text);
    }
    (&mut file).take(limit(most / 2)).read_to_end(&mut head)?;
    let mut tail = Vec::new();
    file.seek(SeekFrom::End(-i64::try_from(most - most / 2).unwrap_or(0)))?;
    file.take(limit(most)).read_to_end(&mut tail)?;
    let note = format!("the whole is in {}", path.display());
    Ok(cut(&head, &tail, length, &[note]))
}
