//! A file is replaced as a whole or not at all.
//!
//! The new text is written beside the file and renamed over it, so a reader finds the old one or the
//! new one. Owner and mode stay. Where there was no file, there must still be none. Paths are taken as
//! they are: who calls has resolved links and knows that it may write here.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// What a file was when it was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    user: u32,
    group: u32,
    mode: u32,
}

impl From<&Metadata> for Stamp {
    fn from(meta: &Metadata) -> Self {
        Self { user: meta.uid(), group: meta.gid(), mode: meta.mode() & 0o7777 }
    }
}

/// Puts bytes in the place of a file that is there.
pub fn rewrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let stamp = Stamp::from(&fs::metadata(path)?);
    replace(path, Some(stamp), bytes, stamp.mode)
}

/// Puts bytes in a file's place; without a stamp, where there is none. A new file has this mode, less
/// what the user's mask takes away.
pub fn replace(path: &Path, was: Option<Stamp>, bytes: &[u8], new_mode: u32) -> io::Result<()> {
    let draft = Draft::beside(path, was.map_or(new_mode, |it| it.mode))?;
    draft.fill(bytes, was)?;
    draft.rename(path, was.is_none())
}

/// A new file beside the one that it will replace. Removed unless it has.
struct Draft {
    path: PathBuf,
    file: File,
    renamed: bool,
}

impl Draft {
    fn beside(real: &Path, mode: u32) -> io::Result<Self> {
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        // Room for what is added, since the longest names just fit.
        let name: String = name.chars().take(50).collect();
        for n in 0..1000_u32 {
            let path = real.with_file_name(format!(".{name}.punchlist-{}-{n}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
                Ok(file) => return Ok(Self { path, file, renamed: false }),
                Err(why) if why.kind() == ErrorKind::AlreadyExists => {}
                Err(why) => return Err(why),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    fn fill(&self, bytes: &[u8], was: Option<Stamp>) -> io::Result<()> {
        (&self.file).write_all(bytes)?;
        if let Some(was) = was {
            let own = self.file.metadata()?;
            if (own.uid(), own.gid()) != (was.user, was.group) {
                fchown(&self.file, Some(was.user), Some(was.group))?;
            }
            self.file.set_permissions(fs::Permissions::from_mode(was.mode))?;
        }
        self.file.sync_all()
    }

    fn rename(mut self, to: &Path, must_be_new: bool) -> io::Result<()> {
        if must_be_new {
            match fs::hard_link(&self.path, to) {
                // The draft goes when it is dropped; the file stays.
                Ok(()) => {
                    sync_directory(to);
                    return Ok(());
                }
                Err(why) if why.kind() == ErrorKind::AlreadyExists => return Err(why),
                // Not every file system has links; there a rename must do.
                Err(_) => {}
            }
        }
        fs::rename(&self.path, to)?;
        self.renamed = true;
        sync_directory(to);
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.renamed {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// Makes a rename last. Where a directory cannot be synced, the rename is as safe as it gets.
fn sync_directory(file: &Path) {
    if let Some(directory) = file.parent().and_then(|it| File::open(it).ok()) {
        directory.sync_all().ok();
    }
}
