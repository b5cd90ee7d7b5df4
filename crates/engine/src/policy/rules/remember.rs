//! Adds rules to the user's file, and edits that file safely. Nothing else in the file changes.
//!
//! Each rule is appended as its own table. The new text is only written if it parses to all
//! previous rules plus the new ones, and everything else is unchanged. Writers take a lock on the
//! directory, so that no rule is lost if two are added at the same time.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use punchlist_bridge::replace::{self, Stamp};
use punchlist_sched::policy::Rule;

use super::{Bad, read};

/// Maximum size of a file that is read, in bytes.
const MOST: u64 = 1024 * 1024;

/// Why a rule was not stored.
#[derive(Debug, thiserror::Error)]
pub enum Unkept {
    /// The file cannot be read or written.
    #[error("cannot write {}: {why}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// The file is not a regular file, is too large, or is read-only.
    #[error("{} is {what}", path.display())]
    Odd {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The file contains an error.
    #[error("{}: {bad}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// The error.
        bad: Bad,
    },
    /// A table at the end of the file would not be read as the rule.
    #[error("{} cannot take a table at its end; add this by hand:\n\n{}", path.display(), tables(rules))]
    Unfit {
        /// The file.
        path: PathBuf,
        /// The rules.
        rules: Vec<Rule>,
    },
    /// The rule that is to be removed is no table of its own.
    #[error("{} cannot be changed here: remove the rule in line {line} by hand", path.display())]
    NotATable {
        /// The file.
        path: PathBuf,
        /// The line of the rule.
        line: usize,
    },
}

/// Rules as TOML.
fn tables(rules: &[Rule]) -> String {
    rules.iter().map(Rule::to_toml).collect::<Vec<String>>().join("\n")
}

/// Adds rules to the user's file, all or none. The file is created if it does not exist. Returns
/// whether any rule was new.
pub fn remember(path: &Path, rules: &[Rule]) -> Result<bool, Unkept> {
    edit(path, |old| {
        let had = read(old).map_err(|bad| Unkept::Bad { path: path.to_owned(), bad })?;
        let rules: Vec<Rule> = rules.iter().filter(|it| !had.contains(it)).cloned().collect();
        if rules.is_empty() {
            return Ok(None);
        }
        let new = added(old, &rules);
        if !is_only_that(old, &new, had, &rules) {
            return Err(Unkept::Unfit { path: path.to_owned(), rules });
        }
        Ok(Some(new))
    })
}

/// Replaces the user's file by what the function makes of its text, under a lock. The file is created
/// if it does not exist. `None` leaves it as it is. Returns whether it was replaced.
pub(super) fn edit(
    path: &Path,
    change: impl FnOnce(&str) -> Result<Option<String>, Unkept>,
) -> Result<bool, Unkept> {
    let unwritable = |why| Unkept::Unwritable { path: path.to_owned(), why };
    let odd = |what| Unkept::Odd { path: path.to_owned(), what };
    let directory = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(unwritable)?;
    let lock = File::open(directory).map_err(unwritable)?;
    lock.lock().map_err(unwritable)?;
    // A symbolic link stays; the file that it points to is replaced.
    let (real, meta) = match fs::canonicalize(path) {
        Ok(real) => {
            let meta = fs::metadata(&real).map_err(unwritable)?;
            (real, Some(meta))
        }
        Err(why) if why.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(odd("a broken symbolic link"));
            }
            (path.to_owned(), None)
        }
        Err(why) => return Err(unwritable(why)),
    };
    let old = match &meta {
        None => String::new(),
        Some(meta) if !meta.is_file() => return Err(odd("not a plain file")),
        Some(meta) if meta.len() > MOST => return Err(odd("too large for a configuration")),
        // A rename would bypass the missing write permission, which is not what the user wants.
        Some(meta) if meta.mode() & 0o200 == 0 => return Err(odd("read-only")),
        Some(_) => fs::read_to_string(&real).map_err(unwritable)?,
    };
    let Some(new) = change(&old)? else { return Ok(false) };
    // Other programs do not take our lock, so check that they did not write meanwhile.
    if meta.is_some() && fs::read_to_string(&real).ok().as_ref() != Some(&old) {
        return Err(unwritable(io::Error::other("somebody else wrote it at the same time")));
    }
    let was = meta.as_ref().map(Stamp::from);
    replace::with(&real, was, new.as_bytes(), 0o600).map_err(unwritable)?;
    Ok(true)
}

/// The text with the rules appended after an empty line, with the file's own line endings.
fn added(old: &str, rules: &[Rule]) -> String {
    let end = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = match old {
        "" => String::new(),
        _ if old.ends_with('\n') => end.to_owned(),
        _ => end.repeat(2),
    };
    format!("{old}{gap}{}", tables(rules).replace('\n', end))
}

/// Whether a text contains what it contained before, plus the added rules.
fn is_only_that(old: &str, new: &str, mut rules: Vec<Rule>, added: &[Rule]) -> bool {
    rules.extend_from_slice(added);
    read(new).is_ok_and(|it| it == rules) && is_same_rest(old, new)
}

/// Whether everything but the rules is the same in two texts.
pub(super) fn is_same_rest(old: &str, new: &str) -> bool {
    let rest = |text: &str| {
        text.parse::<toml::Table>().ok().map(|mut it| {
            it.remove("policy");
            it
        })
    };
    rest(old).is_some() && rest(old) == rest(new)
}
