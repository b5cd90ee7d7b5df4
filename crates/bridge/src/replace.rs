//! Replaces a file atomically.
//!
//! The new bytes are written to a draft beside the file, synced, and renamed over the file, so a
//! reader finds the old file or the new one. A draft that is dropped is removed. The caller has
//! resolved links and checked that it may write.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// The part of a draft's name between the file's name and random letters.
pub(crate) const DRAFT: &str = ".punchlist-";

/// The owner and the mode of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    user: u32,
    group: u32,
    mode: u32,
}

impl Stamp {
    /// Whether the owner may write the file.
    pub fn is_writable(self) -> bool {
        self.mode & 0o200 != 0
    }
}

impl From<&Metadata> for Stamp {
    fn from(meta: &Metadata) -> Self {
        Self { user: meta.uid(), group: meta.gid(), mode: meta.mode() & 0o7777 }
    }
}

/// A new file beside the one that it will replace.
#[derive(Debug)]
pub struct Draft {
    file: NamedTempFile,
    path: PathBuf,
}

impl Draft {
    /// A draft with this mode, reduced by the umask.
    pub fn new(path: &Path, mode: u32) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A name may have the maximal length already, so the draft uses only its beginning.
        let name: String = name.chars().take(50).collect();
        let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
        let file = Builder::new()
            .prefix(&format!(".{name}{DRAFT}"))
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(directory.unwrap_or(Path::new(".")))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// A draft with the owner and the mode of the file that it will replace.
    pub fn like(path: &Path, was: Stamp) -> io::Result<Self> {
        let draft = Self::new(path, 0o600)?;
        let (file, own) = (draft.file.as_file(), draft.file.as_file().metadata()?);
        if (own.uid(), own.gid()) != (was.user, was.group) {
            fchown(file, Some(was.user), Some(was.group))?;
        }
        file.set_permissions(Permissions::from_mode(was.mode))?;
        Ok(draft)
    }

    /// Renames the draft over the file.
    pub fn replace(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(&self.path).map_err(|it| it.error)?;
        sync_directory(&self.path);
        Ok(())
    }

    /// Renames the draft to a path without a file. If somebody else has created a file meanwhile,
    /// it stays, and the error is [`ErrorKind::AlreadyExists`].
    pub fn create(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        match self.file.persist_noclobber(&self.path) {
            Ok(_) => {}
            Err(it) if it.error.kind() == ErrorKind::AlreadyExists => return Err(it.error),
            // Not every file system supports this; then a plain rename is used.
            Err(it) => drop(it.file.persist(&self.path).map_err(|it| it.error)?),
        }
        sync_directory(&self.path);
        Ok(())
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Replaces or creates a file that only this user may read.
pub fn private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::new(path, 0o600)?;
    draft.write_all(bytes)?;
    draft.replace()
}

/// Replaces an existing file. It keeps its owner and mode.
pub fn rewrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let was = Stamp::from(&fs::metadata(path)?);
    with(path, Some(was), bytes, 0o600)
}

/// Replaces the file that had this stamp; without a stamp, creates a new file. A new file has this
/// mode, reduced by the umask.
pub fn with(path: &Path, was: Option<Stamp>, bytes: &[u8], new_mode: u32) -> io::Result<()> {
    let mut draft = match was {
        Some(was) => Draft::like(path, was)?,
        None => Draft::new(path, new_mode)?,
    };
    draft.write_all(bytes)?;
    if was.is_some() { draft.replace() } else { draft.create() }
}

/// Syncs the directory, so that the rename is durable. Errors are ignored, because some file
/// systems cannot sync directories.
fn sync_directory(file: &Path) {
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty());
    if let Ok(directory) = File::open(directory.unwrap_or(Path::new("."))) {
        directory.sync_all().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_a_private_one_is_closed_to_others() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        private(&file, b"one").unwrap();
        assert_eq!((mode(&file), fs::read(&file).unwrap()), (0o600, b"one".to_vec()));
        fs::set_permissions(&file, Permissions::from_mode(0o754)).unwrap();
        rewrite(&file, b"two").unwrap();
        assert_eq!((mode(&file), fs::read(&file).unwrap()), (0o754, b"two".to_vec()));
        private(&file, b"three").unwrap();
        assert_eq!((mode(&file), fs::read(&file).unwrap()), (0o600, b"three".to_vec()));
        assert_eq!(names(dir.path()), ["file"]);
    }

    #[test]
    fn a_new_file_takes_the_place_of_none() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        with(&file, None, b"one", 0o640).unwrap();
        assert_eq!(mode(&file) & !0o640, 0);
        let why = with(&file, None, b"two", 0o640).unwrap_err();
        assert_eq!(why.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&file).unwrap(), b"one");
        assert_eq!(
            rewrite(&dir.path().join("none"), b"x").unwrap_err().kind(),
            ErrorKind::NotFound
        );
        assert_eq!(names(dir.path()), ["file"]);
    }

    #[test]
    fn a_draft_stands_beside_the_file_and_goes_when_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("é".repeat(120));
        let draft = Draft::new(&file, 0o600).unwrap();
        let there = names(dir.path());
        assert!(there.len() == 1 && there[0].contains(DRAFT), "{there:?}");
        drop(draft);
        assert_eq!(names(dir.path()), [""; 0]);
    }
}
