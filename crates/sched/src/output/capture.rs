//! Keeps the beginning and the end of an output in memory, and the whole in a file.
//!
//! The thread that reads the output writes the file piece by piece, from the first byte on, without
//! syncing: it survives if this process is killed. The file is removed if the output turns out to
//! be short. If the file cannot be written, a cut output says so, and the call goes on.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::OFlags;

use super::Options;
use super::files::Files;
use super::lines::whole_characters;
use crate::call::{CallId, Output};

/// An output that arrives in pieces.
#[derive(Debug)]
pub struct Capture {
    most: usize,
    most_whole: u64,
    path: Option<PathBuf>,
    /// Everything so far, or the beginning once the output is cut.
    head: Vec<u8>,
    /// The end, once the output is cut.
    tail: VecDeque<u8>,
    total: u64,
    /// Whether more has arrived than is kept in memory.
    is_cut: bool,
    whole: Whole,
    /// The call of this output, and the list of files to remove when its end is recorded.
    files: Option<(CallId, Arc<Files>)>,
}

#[derive(Debug)]
enum Whole {
    /// Nothing has arrived yet.
    NotOpened,
    /// The open file, and its size so far.
    Written(File, u64),
    /// The file could not be written, with the reason.
    Missing(String),
}

impl Capture {
    /// A new output. It is written to a file of that name in the options' directory, which stays
    /// only if the output is cut. An existing file is overwritten.
    pub fn new(options: &Options, name: &str) -> Self {
        Self {
            most: options.most,
            most_whole: options.most_whole,
            path: options.directory.as_ref().map(|it| it.join(name)),
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            is_cut: false,
            whole: Whole::NotOpened,
            files: None,
        }
    }

    /// The same for a call: the file stays until the call's end is recorded.
    pub(crate) fn of(call: CallId, files: Arc<Files>, options: &Options, name: &str) -> Self {
        Self { files: Some((call, files)), ..Self::new(options, name) }
    }

    /// Adds bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if matches!(self.whole, Whole::NotOpened) && !bytes.is_empty() {
            self.whole = self.open();
        }
        self.write(bytes);
        if !self.is_cut {
            if self.head.len() + bytes.len() <= self.most {
                self.head.extend_from_slice(bytes);
                return;
            }
            self.is_cut = true;
            let so_far = std::mem::take(&mut self.head);
            let (head, tail) = so_far.split_at(so_far.len().min(self.most / 2));
            self.head = head.to_owned();
            self.keep_end(tail);
        }
        // The output so far may be shorter than the beginning that is kept.
        let room = (self.most / 2).saturating_sub(self.head.len());
        let (head, tail) =
            bytes.split_at(if self.tail.is_empty() { room.min(bytes.len()) } else { 0 });
        self.head.extend_from_slice(head);
        self.keep_end(tail);
    }

    /// Ends the output. Returns the kept text and the path of the whole.
    pub fn finish(self) -> Output {
        let path = match &self.whole {
            Whole::Written(..) => self.path,
            Whole::NotOpened | Whole::Missing(_) => None,
        };
        if !self.is_cut {
            if self.files.is_none()
                && let Some(path) = &path
            {
                // If the file cannot be removed, the cleanup of the directory removes it later.
                drop(fs::remove_file(path));
            }
            return Output::text(text(&self.head));
        }
        let missing = match &self.whole {
            Whole::Missing(why) => Some(why.clone()),
            Whole::Written(_, written) if *written < self.total => {
                Some(format!("the file has only the first {written} bytes"))
            }
            Whole::NotOpened | Whole::Written(..) => None,
        };
        let whole = path.map(|it| it.display().to_string());
        let found = whole.as_ref().map(|it| format!("the whole is in {it}"));
        let notes: Vec<String> = found.into_iter().chain(missing).collect();
        let tail: Vec<u8> = self.tail.into();
        Output { whole, ..Output::text(cut(&self.head, &tail, self.total, &notes)) }
    }

    fn keep_end(&mut self, bytes: &[u8]) {
        let most = self.most - self.most / 2;
        let new = bytes.get(bytes.len().saturating_sub(most)..).unwrap_or_default();
        let over = (self.tail.len() + new.len()).saturating_sub(most);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(new);
    }

    fn open(&self) -> Whole {
        let Some(path) = &self.path else {
            return Whole::Missing("the whole is not kept".to_owned());
        };
        let open = || -> io::Result<File> {
            if let Some(directory) = path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            }
            let no_links = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0);
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600).custom_flags(no_links);
            options.open(path)
        };
        match open() {
            Ok(file) => {
                if let Some((call, files)) = &self.files {
                    files.add(*call, path);
                }
                Whole::Written(file, 0)
            }
            Err(why) => Whole::Missing(format!("the whole is not kept: {}: {why}", path.display())),
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let Whole::Written(file, written) = &mut self.whole else { return };
        let room = usize::try_from(self.most_whole.saturating_sub(*written)).unwrap_or(usize::MAX);
        let bytes = bytes.get(..room).unwrap_or(bytes);
        match file.write_all(bytes) {
            Ok(()) => *written += u64::try_from(bytes.len()).unwrap_or(0),
            Err(why) => self.whole = Whole::Missing(format!("the whole is not kept: {why}")),
        }
    }
}

/// The beginning and the end of an output of `total` bytes, with a note of how much is left out
/// between them.
pub(super) fn cut(head: &[u8], tail: &[u8], total: u64, notes: &[String]) -> String {
    let (head, tail) = (up_to_a_line(head), from_a_line(tail));
    let kept = u64::try_from(head.len() + tail.len()).unwrap_or(u64::MAX);
    let left_out = total.saturating_sub(kept);
    let notes: String = notes.iter().map(|it| format!("; {it}")).collect();
    let head = text(head);
    format!(
        "{}\n[… {left_out} bytes left out{notes} …]\n{}",
        head.trim_end_matches('\n'),
        text(tail)
    )
}

/// The bytes up to the last line break, if there is one.
fn up_to_a_line(bytes: &[u8]) -> &[u8] {
    match bytes.iter().rposition(|it| *it == b'\n') {
        Some(end) => bytes.get(..=end).unwrap_or(bytes),
        None => whole_characters(bytes),
    }
}

/// The bytes from the beginning of the first whole line, if there is one, else from the first whole
/// character.
fn from_a_line(bytes: &[u8]) -> &[u8] {
    let line = bytes.iter().position(|it| *it == b'\n').map(|end| end + 1);
    let from = line
        .filter(|from| *from < bytes.len())
        .or_else(|| bytes.iter().take(4).position(|it| it & 0xC0 != 0x80));
    bytes.get(from.unwrap_or(0)..).unwrap_or(bytes)
}

/// Converts bytes to text without NUL, which stores do not accept.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{FFFD}") } else { text.into_owned() }
}
