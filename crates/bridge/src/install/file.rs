//! Looks at a file of somebody else's and replaces it, but only if it is still what was looked at.
//!
//! A new text is written beside the file and renamed over it, so a reader finds the old one or the
//! new one and nothing else. A symbolic link stays: what it leads to is replaced. Owner and mode
//! stay too. What the text means is nobody's business here.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::Error;

/// The largest file that is read.
pub(crate) const MOST: u64 = 64 * 1024 * 1024;

/// A file as it was when we looked.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Where it is called for.
    pub(crate) path: PathBuf,
    /// Where it is, links resolved.
    real: PathBuf,
    /// What is in it; `None` if there is none.
    pub(crate) bytes: Option<Vec<u8>>,
    /// Owner, group and mode.
    owner: Option<(u32, u32, u32)>,
}

/// For whom new files and directories are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum For {
    /// This user alone.
    User,
    /// Whoever the user's mask lets in.
    Anybody,
}

fn unreadable(path: &Path, why: std::io::Error) -> Error {
    Error::Unreadable { path: path.to_owned(), why }
}

fn unwritable(path: &Path, why: std::io::Error) -> Error {
    Error::Unwritable { path: path.to_owned(), why }
}

/// Looks at a file.
pub(crate) fn look(path: &Path) -> Result<Seen, Error> {
    let odd = |what: &str| Error::Odd { path: path.to_owned(), what: what.to_owned() };
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(why) if why.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(odd("a link that leads nowhere"));
            }
            return Ok(Seen {
                path: path.to_owned(),
                real: path.to_owned(),
                bytes: None,
                owner: None,
            });
        }
        Err(why) => return Err(unreadable(path, why)),
    };
    let meta = fs::metadata(&real).map_err(|why| unreadable(path, why))?;
    if !meta.is_file() {
        return Err(odd("not a plain file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(&real).map_err(|why| unreadable(path, why))?;
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(|why| unreadable(path, why))?;
    if bytes.len() as u64 > MOST {
        return Err(odd("larger than any settings are"));
    }
    let owner = Some((meta.uid(), meta.gid(), meta.mode() & 0o7777));
    Ok(Seen { path: path.to_owned(), real, bytes: Some(bytes), owner })
}

/// What a path leads to, as far as it leads anywhere yet.
pub(crate) fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    match there {
        Some((above, real)) => match path.strip_prefix(above) {
            Ok(rest) if rest.as_os_str().is_empty() => real,
            Ok(rest) => real.join(rest),
            Err(_) => path.to_owned(),
        },
        None => path.to_owned(),
    }
}

impl Seen {
    /// Whether the file may be replaced at all, asked before anything is written anywhere.
    pub(crate) fn is_writable(&self) -> Result<(), Error> {
        match self.owner {
            // Renaming would get round it, which is not what whoever took the right away meant.
            Some((_, _, mode)) if mode & 0o200 == 0 => {
                Err(Error::ReadOnly { path: self.path.clone() })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Puts another text in its place, or removes it. Gives whether that was done: it is not if the
    /// file has changed since it was looked at.
    pub(crate) fn replace(&self, new: Option<&[u8]>, new_for: For) -> Result<bool, Error> {
        let is_same = |now: &Self| now.bytes == self.bytes && now.real == self.real;
        let Some(new) = new else {
            if !is_same(&look(&self.path)?) {
                return Ok(false);
            }
            return match fs::remove_file(&self.real) {
                Err(why) if why.kind() != ErrorKind::NotFound => Err(unwritable(&self.path, why)),
                Ok(()) | Err(_) => Ok(true),
            };
        };
        let failed = |why| unwritable(&self.path, why);
        let draft =
            Draft::beside(&self.real, self.owner.map(|it| it.2), new_for).map_err(failed)?;
        draft.fill(new, self.owner).map_err(failed)?;
        if !is_same(&look(&self.path)?) {
            return Ok(false);
        }
        draft.rename(&self.real, self.bytes.is_none()).map_err(failed)
    }
}

/// What the name of a draft has between the file's own name and the writer's number.
const DRAFT: &str = ".punchlist-";

/// Removes drafts that killed processes left in a directory. Only for those who hold the lock that
/// all writers of such drafts hold.
pub(crate) fn sweep(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.')
            && [".json", ".toml"].iter().any(|it| name.contains(&format!("{it}{DRAFT}")))
        {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// A new file beside the one that it will replace. Removed unless it has.
struct Draft {
    path: PathBuf,
    file: File,
    renamed: bool,
}

impl Draft {
    fn beside(real: &Path, mode: Option<u32>, new_for: For) -> std::io::Result<Self> {
        let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mode = mode.unwrap_or(match new_for {
            For::User => 0o600,
            For::Anybody => 0o666,
        });
        for n in 0..1000_u32 {
            let path = real.with_file_name(format!(".{name}{DRAFT}{}-{n}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
                Ok(file) => return Ok(Self { path, file, renamed: false }),
                Err(why) if why.kind() == ErrorKind::AlreadyExists => {}
                Err(why) => return Err(why),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    fn fill(&self, bytes: &[u8], owner: Option<(u32, u32, u32)>) -> std::io::Result<()> {
        (&self.file).write_all(bytes)?;
        if let Some((user, group, mode)) = owner {
            let own = self.file.metadata()?;
            if (own.uid(), own.gid()) != (user, group) {
                std::os::unix::fs::fchown(&self.file, Some(user), Some(group))?;
            }
            self.file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        self.file.sync_all()
    }

    /// Renames it over the other, or, where there was none, to where there still must be none.
    fn rename(mut self, to: &Path, must_be_new: bool) -> std::io::Result<bool> {
        if must_be_new {
            match fs::hard_link(&self.path, to) {
                Ok(()) => {}
                Err(why) if why.kind() == ErrorKind::AlreadyExists => return Ok(false),
                // Not every file system has links; there a rename must do.
                Err(_) => {
                    fs::rename(&self.path, to)?;
                    self.renamed = true;
                }
            }
        } else {
            fs::rename(&self.path, to)?;
            self.renamed = true;
        }
        sync_directory(to);
        Ok(true)
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

/// Makes a directory and those above it. Gives the ones that were made, the outermost first.
pub(crate) fn make_directories(path: &Path, new_for: For) -> Result<Vec<PathBuf>, Error> {
    let mut missing: Vec<&Path> = path.ancestors().take_while(|it| !it.exists()).collect();
    missing.reverse();
    let mode = match new_for {
        For::User => 0o700,
        For::Anybody => 0o777,
    };
    let mut made = Vec::new();
    for directory in missing.into_iter().filter(|it| !it.as_os_str().is_empty()) {
        match DirBuilder::new().mode(mode).create(directory) {
            Ok(()) => made.push(directory.to_owned()),
            Err(why) if why.kind() == ErrorKind::AlreadyExists => {}
            Err(why) => return Err(unwritable(directory, why)),
        }
    }
    Ok(made)
}
