//! Which files in a directory tree may be used.
//!
//! A database or configuration that came with somebody's repository could mislead the engine. So
//! such a file in a tree is used only if this user's `init` recorded it and the user owns it. The
//! record is in the user's data directory, one file per line: the path of a database; for other
//! files the digest of the content and the path, because those change with every `git pull`. The
//! last line about a file counts.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use punchlist_bridge::{private, replace};

use super::human::CalledBy;
use crate::check::evidence::Sum;
use crate::fail::{Code, Fail};
use crate::{places, project};

/// The state of a database in a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FoundDatabase {
    /// There is no database.
    Absent,
    /// The database may be used.
    Trusted,
    /// The database may not be used, for this reason.
    Ignored(String),
}

/// The state of another file in a tree. Only the recorded content is trusted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FoundFile {
    /// There is no file.
    Absent,
    /// The file may be used. This is its content.
    Trusted(String),
    /// The file may not be used, for this reason.
    Ignored(String),
}

/// The user's record of trusted files, for one caller.
#[derive(Clone, Debug)]
pub struct TrustedFiles {
    /// The user's data directory, if there is one.
    pub data: Option<PathBuf>,
    /// Who makes the call. Messages tell agents to ask their user.
    pub called_by: CalledBy,
}

impl TrustedFiles {
    /// Examines a database in a tree. If there is none, this costs one `stat`.
    pub fn look(&self, path: &Path) -> Result<FoundDatabase, Fail> {
        let Ok(meta) = fs::symlink_metadata(path) else { return Ok(FoundDatabase::Absent) };
        let why = match strange(path, &meta) {
            Some(why) => why.to_owned(),
            None if recorded(&self.record()?, path) == Some(Recorded::Path) => {
                return Ok(FoundDatabase::Trusted);
            }
            None => self.unlisted(),
        };
        Ok(FoundDatabase::Ignored(format!("ignored {}: {why}", path.display())))
    }

    /// Refuses a database that `--db` or `PUNCHLIST_DB` names and that is in a repository, unless
    /// `init` recorded it: the author of the repository may also have set the name. Files in our
    /// own data directory are accepted, even if the home directory is a repository. `path` is
    /// absolute.
    pub fn check_named(&self, path: &Path) -> Result<(), Fail> {
        let given = real(path);
        let target = fs::canonicalize(path).ok().filter(|it| *it != given);
        let data = self.data.as_deref().map(real);
        for path in [Some(given), target].into_iter().flatten() {
            let Some((root, _)) = path.parent().and_then(project::around) else { continue };
            if data.as_ref().is_some_and(|it| path.starts_with(it)) {
                continue;
            }
            let why = match fs::symlink_metadata(&path) {
                Ok(meta) => match strange(&path, &meta) {
                    Some(why) => why,
                    None if recorded(&self.record()?, &path) == Some(Recorded::Path) => continue,
                    None => "it is not on your list of trusted files",
                },
                Err(_) => "no file that you trusted is there",
            };
            let message =
                format!("{} lies in the repository {}: {why}", path.display(), root.display());
            let hint = if self.called_by.is_agent() {
                "ask your user whether it is theirs.".to_owned()
            } else {
                format!(
                    "if it is yours, `punchlist --db {} init` shows what it holds and trusts it; a file outside of repositories needs no trust.",
                    path.display()
                )
            };
            return Err(Fail::refused(message).hint(hint));
        }
        Ok(())
    }

    /// Reads a file in a tree that is not a database.
    pub fn read(&self, path: &Path) -> Result<FoundFile, Fail> {
        let Ok(meta) = fs::symlink_metadata(path) else { return Ok(FoundFile::Absent) };
        let ignored =
            |why: String| FoundFile::Ignored(format!("ignored {}: {why}", path.display()));
        if let Some(why) = strange(path, &meta) {
            return Ok(ignored(why.to_owned()));
        }
        let known = recorded(&self.record()?, path);
        if known.is_none() {
            return Ok(ignored(self.unlisted()));
        }
        let text = text(path)?;
        if known != Some(Recorded::Digest(digest(&text))) {
            let next = self.next("look at it, and run `punchlist init` to trust it again");
            return Ok(ignored(format!("it has changed since you trusted it; {next}")));
        }
        Ok(FoundFile::Trusted(text))
    }

    /// The files whose current content is not trusted yet.
    pub fn not_yet(&self, files: Vec<FileToTrust>) -> Result<Vec<FileToTrust>, Fail> {
        let record = self.record()?;
        let is_new = |it: &FileToTrust| recorded(&record, &it.path) != Some(it.recorded());
        Ok(files.into_iter().filter(is_new).collect())
    }

    /// Records files as trusted.
    pub fn add(&self, files: &[FileToTrust]) -> Result<(), Fail> {
        let mut lines = Vec::new();
        for file in files {
            let bytes = file.path.as_os_str().as_bytes();
            if bytes.contains(&b'\n') {
                let message = format!("{} has a line break in its path", file.path.display());
                return Err(Fail::usage(message).hint("rename the directory."));
            }
            if let Recorded::Digest(digest) = file.recorded() {
                lines.extend_from_slice(format!("{SHA256}{digest} ").as_bytes());
            }
            lines.extend_from_slice(bytes);
            lines.push(b'\n');
        }
        if lines.is_empty() {
            return Ok(());
        }
        let file = self.record()?;
        private::append(&file, &lines).map_err(|why| unwritable(&file, &why))
    }

    /// The files on the record, each once.
    pub fn all(&self) -> Result<BTreeSet<PathBuf>, Fail> {
        let bytes = fs::read(self.record()?).unwrap_or_default();
        Ok(bytes.split(|byte| *byte == b'\n').filter_map(path_of).collect())
    }

    /// Removes a file from the record. Returns whether it was on it.
    pub fn forget(&self, path: &Path) -> Result<bool, Fail> {
        let record = self.record()?;
        let Ok(bytes) = fs::read(&record) else { return Ok(false) };
        let is_kept = |line: &&[u8]| path_of(line).is_none_or(|it| it != path);
        let kept = bytes.split_inclusive(|byte| *byte == b'\n').filter(is_kept);
        let kept: Vec<u8> = kept.flatten().copied().collect();
        if kept.len() == bytes.len() {
            return Ok(false);
        }
        replace::private(&record, &kept).map_err(|why| unwritable(&record, &why))?;
        Ok(true)
    }

    fn record(&self) -> Result<PathBuf, Fail> {
        let data = self.data.as_ref().ok_or_else(places::no_home)?;
        Ok(data.join("trusted"))
    }

    /// Why a file without other faults is not trusted.
    fn unlisted(&self) -> String {
        let next = self.next("if it is yours, run `punchlist init`");
        format!("it is not on your list of trusted files; {next}")
    }

    /// What to do next. An agent is not told the command, because it may not decide whether a file
    /// is trusted.
    fn next(&self, person: &'static str) -> &'static str {
        if self.called_by.is_agent() { "ask your user whether it is theirs" } else { person }
    }
}

/// An absolute path with symbolic links resolved in the directories that exist.
fn real(whole: &Path) -> PathBuf {
    // The path ends in `..`, which must be resolved as a whole.
    if whole.file_name().is_none() {
        return fs::canonicalize(whole).unwrap_or_else(|_| whole.to_owned());
    }
    for above in whole.ancestors().skip(1) {
        if let (Ok(real), Ok(below)) = (fs::canonicalize(above), whole.strip_prefix(above)) {
            return real.join(below);
        }
    }
    whole.to_owned()
}

/// The text of a configuration file.
pub fn text(path: &Path) -> Result<String, Fail> {
    let fail = |why: String| Fail::usage(format!("{}: {why}", path.display()));
    let size = fs::metadata(path).map_err(|why| fail(why.to_string()))?.len();
    if size > MOST {
        return Err(fail(format!("a configuration of {size} bytes is too large")));
    }
    fs::read_to_string(path).map_err(|why| fail(why.to_string()))
}

/// Maximum size of a configuration file, in bytes.
const MOST: u64 = 1024 * 1024;

fn digest(text: &str) -> String {
    let mut sum = Sum::default();
    sum.add(text.as_bytes());
    sum.digits()
}

/// Why a file could not be trusted even if it were recorded.
pub fn strange(path: &Path, meta: &fs::Metadata) -> Option<&'static str> {
    if !meta.is_file() {
        return Some("it is not a plain file");
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Some("it belongs to another user");
    }
    if fs::canonicalize(path).ok().as_deref() != Some(path) {
        return Some("its path contains a symbolic link");
    }
    strange_beside(path)
}

/// Why the files beside a database could not be trusted. They are written without further checks:
/// through a symbolic link, the first write could change any file of this user.
pub fn strange_beside(path: &Path) -> Option<&'static str> {
    let strange = ["-bell", "-wal", "-shm", "-journal"].iter().any(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        fs::symlink_metadata(&name).is_ok_and(|meta| !private::is_own(&meta))
    });
    strange.then_some("a file beside it is a link, or not your own")
}

/// A file to trust.
#[derive(Clone, Debug)]
pub struct FileToTrust {
    /// The file's path.
    pub path: PathBuf,
    /// The file's text; `None` for a database.
    pub text: Option<String>,
}

impl FileToTrust {
    fn recorded(&self) -> Recorded {
        self.text.as_ref().map_or(Recorded::Path, |text| Recorded::Digest(digest(text)))
    }
}

/// What a line of the record says about a file.
#[derive(PartialEq, Eq, Debug)]
enum Recorded {
    /// The path, with any content.
    Path,
    /// The digest of the content.
    Digest(String),
}

fn unwritable(record: &Path, why: &io::Error) -> Fail {
    Fail::new(Code::Unusable, format!("cannot write {}: {why}", record.display()))
        .hint("the record of trusted files is in your data directory.")
}

/// The path on a line of the record; `None` for a line that is no record.
fn path_of(line: &[u8]) -> Option<PathBuf> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let path = match line.strip_prefix(SHA256.as_bytes()) {
        Some(rest) => rest.splitn(2, |byte| *byte == b' ').nth(1)?,
        None => line,
    };
    path.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(path)))
}

/// The prefix of a digest. A path begins with a slash.
const SHA256: &str = "sha256:";

/// The last record of a file.
fn recorded(record: &Path, path: &Path) -> Option<Recorded> {
    let bytes = fs::read(record).ok()?;
    let path = path.as_os_str().as_bytes();
    bytes.rsplit(|byte| *byte == b'\n').find_map(|line| {
        if line == path {
            return Some(Recorded::Path);
        }
        let rest = line.strip_prefix(SHA256.as_bytes())?.strip_suffix(path)?;
        let digest = str::from_utf8(rest.strip_suffix(b" ")?).ok()?;
        (digest.len() == 64).then(|| Recorded::Digest(digest.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_about_a_file_counts_and_other_paths_are_not_it() {
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join("trusted");
        let (one, two) = (digest("one"), digest("two"));
        let lines = format!(
            "/p/a.db\n{SHA256}{one} /p/a.toml\n{SHA256}{two} /p/a.toml\n{SHA256}{one} /q/p/a.toml\n"
        );
        fs::write(&record, lines).unwrap();
        let of = |path: &str| recorded(&record, Path::new(path));
        assert_eq!(of("/p/a.db"), Some(Recorded::Path));
        assert_eq!(of("/p/a.toml"), Some(Recorded::Digest(two)));
        assert_eq!(of("/q/p/a.toml"), Some(Recorded::Digest(one)));
        for other in ["a.toml", "/a.toml", "/p/a.d", "/p/b.db"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(recorded(&dir.path().join("none"), Path::new("/p/a.db")), None);
    }

    #[test]
    fn a_file_that_is_forgotten_is_not_on_the_record() {
        let dir = tempfile::tempdir().unwrap();
        let data = Some(dir.path().to_owned());
        let files = TrustedFiles { data, called_by: CalledBy::PersonAtTerminal };
        assert!(!files.forget(Path::new("/p/a.db")).unwrap());
        let (one, two) = (digest("one"), digest("two"));
        let lines =
            format!("/p/a.db\n{SHA256}{one} /p/a b.toml\n{SHA256}{two} /p/a b.toml\n\n/q/a.db\n");
        fs::write(dir.path().join("trusted"), lines).unwrap();
        let shown = || files.all().unwrap().iter().map(|it| it.display().to_string()).collect();
        let all: Vec<String> = shown();
        assert_eq!(all, ["/p/a b.toml", "/p/a.db", "/q/a.db"]);
        assert!(files.forget(Path::new("/p/a b.toml")).unwrap());
        assert!(!files.forget(Path::new("/p/a b.toml")).unwrap());
        let all: Vec<String> = shown();
        assert_eq!(all, ["/p/a.db", "/q/a.db"]);
    }
}
