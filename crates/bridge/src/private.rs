//! Files and directories that only this user may read, whatever the umask is.
//!
//! [`crate::replace::private`] replaces such a file atomically.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Creates a private directory and its parents. If it exists and is too open, its mode is
/// tightened.
pub fn directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    tighten(path, 0o700)
}

/// Removes the permissions of others from a file or directory of this user.
pub fn tighten(path: &Path, mode: u32) -> io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    let is_own = meta.uid() == rustix::process::geteuid().as_raw() && !meta.is_symlink();
    if is_own && meta.mode() & 0o777 & !mode != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Removes the permissions of others from a directory and all files in it. If that fails, they are
/// used as they are.
pub fn close(directory: &Path) {
    let is_open = fs::symlink_metadata(directory).is_ok_and(|it| it.mode() & 0o077 != 0);
    if !is_open || tighten(directory, 0o700).is_err() {
        return;
    }
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_directory = entry.file_type().is_ok_and(|it| it.is_dir());
        tighten(&entry.path(), if is_directory { 0o700 } else { 0o600 }).ok();
    }
}

/// Options for opening a private file.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Appends whole lines to a file and syncs it. The file and its directory are created if necessary.
pub fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        directory(parent)?;
    }
    let mut file = options().append(true).create(true).open(path)?;
    // One write, so that two processes at once do not mix their lines.
    file.write_all(lines)?;
    file.sync_all()
}

/// Whether this is a regular file of this user.
pub fn is_own(meta: &fs::Metadata) -> bool {
    meta.is_file() && meta.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_appended_to_a_file_that_is_closed_to_others() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ours").join("list");
        append(&file, b"one\n").unwrap();
        append(&file, b"two\n").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"one\ntwo\n");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_directory_of_ours_that_is_too_open_is_tightened() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("ours");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        directory(&open.join("deep")).unwrap();
        directory(&open).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&open), mode(&open.join("deep"))), (0o700, 0o700));
        let file = open.join("file");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        tighten(&file, 0o600).unwrap();
        assert_eq!(mode(&file), 0o600);
        // A stricter mode stays.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
        tighten(&file, 0o600).unwrap();
        assert_eq!(mode(&file), 0o400);
    }
}
