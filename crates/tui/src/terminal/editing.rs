//! Edits a text in the user's editor. If the result is invalid, the file is kept and its path is
//! reported.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use punchlist_engine::editor;
use punchlist_engine::fail::{Code, Fail};

use super::keyboard::{Said, confirm};
use super::{input, output};

/// Maximum of kept files with the same name.
const MOST: u32 = 1000;

/// The result of an edit.
pub struct Edited<T> {
    /// The parsed text.
    pub said: T,
    file: PathBuf,
}

impl<T> Edited<T> {
    /// Ends the edit: removes the file if the change succeeded, else keeps it and reports its path.
    pub fn end<R>(self, done: Result<R, Fail>) -> Result<R, Fail> {
        match done {
            Ok(done) => {
                fs::remove_file(&self.file).ok();
                Ok(done)
            }
            Err(fail) => Err(kept(fail, &self.file)),
        }
    }
}

/// An editor, and the directory that texts are edited in.
pub struct Editor {
    /// The editor, as `EDITOR` names it.
    pub command: String,
    /// Where the files are written, and kept if they are invalid.
    pub directory: PathBuf,
}

impl Editor {
    /// Opens a text in the editor until it can be parsed or the user gives up. `None` if it comes
    /// back unchanged or empty.
    pub fn edit<T>(
        &self,
        name: &str,
        text: &str,
        read: impl Fn(&str) -> Result<T, Fail>,
    ) -> Result<Option<Edited<T>>, Fail> {
        let file = self.write(name, text)?;
        loop {
            let failed =
                |why: std::io::Error| Fail::ours(format!("cannot edit {}: {why}", file.display()));
            if !editor::edit(&self.command, &file).map_err(failed)? {
                let message = "the editor failed; nothing changed";
                return Err(kept(Fail::new(Code::Interrupted, message), &file));
            }
            let after = input::file(&file)?;
            if after == text || after.trim().is_empty() {
                fs::remove_file(&file).ok();
                return Ok(None);
            }
            match read(&after) {
                Ok(said) => return Ok(Some(Edited { said, file })),
                Err(fail) => {
                    output::fail(&fail, fail.hint.as_deref(), false);
                    if confirm("Edit it again?") != Said::Yes {
                        return Err(kept(fail, &file));
                    }
                }
            }
        }
    }

    /// Writes the text to a new file. A kept file is never overwritten.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Fail> {
        let directory = &self.directory;
        let failed = |why: std::io::Error| {
            Fail::ours(format!("cannot write a file to edit in {}: {why}", directory.display()))
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        for n in 1..MOST {
            let file = directory.join(format!("edit-{name}-{n}.md"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
                Ok(mut it) => {
                    it.write_all(text.as_bytes()).map_err(failed)?;
                    return Ok(file);
                }
                Err(why) if why.kind() == ErrorKind::AlreadyExists => {}
                Err(why) => return Err(failed(why)),
            }
        }
        Err(Fail::ours(format!("{} is full of texts that were kept", directory.display()))
            .hint("remove the files named `edit-…` that are there."))
    }
}

/// The error, with the path of the kept file.
fn kept(fail: Fail, file: &std::path::Path) -> Fail {
    let place = format!("your text is kept in {}.", file.display());
    let hint = match &fail.hint {
        Some(hint) => format!("{hint}\n{place}"),
        None => place,
    };
    fail.hint(hint)
}
