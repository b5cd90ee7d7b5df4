//! Replaces a file as a whole or not at all.
//!
//! The new bytes are written to a draft beside the file, flushed to the disk and renamed over the file, so a
//! reader finds the old file or the new one. A draft that is dropped is removed. Paths are taken as they are:
//! the caller has resolved links and knows that it may write there.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// Stands in the name of a draft between the file's own name and random letters.
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
    /// A draft with this mode, less what the user's umask takes away.
    pub fn new(path: &Path, mode: u32) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The longest names just fit, so a draft has the beginning only.
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

    /// Puts the draft in the place of the file.
    pub fn replace(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(&self.path).map_err(|it| it.error)?;
        sync_directory(&self.path);
        Ok(())
    }

    /// Puts the draft where no file is. A file that somebody else has made meanwhile stays, and is the error
    /// [`ErrorKind::AlreadyExists`].
    pub fn create(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        match self.file.persist_noclobber(&self.path) {
            Ok(_) => {}
            Err(it) if it.error.kind() == ErrorKind::AlreadyExists => return Err(it.error),
            // Not every file system can refuse to replace; there a plain rename must do.
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

/// Replaces a file, or makes it: afterwards it belongs to this user alone.
pub fn private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::new(path, 0o600)?;
    draft.write_all(bytes)?;
    draft.replace()
}

/// Replaces a file that is there. It keeps its owner and its mode.
pub fn rewrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let was = Stamp::from(&fs::metadata(path)?);
    with(path, Some(was), bytes, 0o600)
}

/// Replaces the file that had this stamp; without one, makes a file where none is. A new file has this mode,
/// less what the user's umask takes away.
pub fn with(path: &Path, was: Option<Stamp>, bytes: &[u8], new_mode: u32) -> io::Result<()> {
    let mut draft = match was {
        Some(was) => Draft::like(path, was)?,
        None => Draft::new(path, new_mode)?,
    };
    draft.write_all(bytes)?;
    if was.is_some() { draft.replace() } else { draft.create() }
}

/// Makes a rename last. Where a directory cannot be synced, the rename is as safe as it gets.
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
