//! Files and directories that are this user's alone, whatever the umask says.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Makes a directory of ours, and those above it; one that is there and too open is tightened.
pub fn directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    tighten(path, 0o700)
}

/// Takes away what others may do with a file or directory of this user's.
pub fn tighten(path: &Path, mode: u32) -> io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    let is_own = meta.uid() == rustix::process::geteuid().as_raw() && !meta.is_symlink();
    if is_own && meta.mode() & 0o777 & !mode != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Closes a directory of ours to others that was made too open, and all files in it. Where that cannot be
/// done, what is there is used as it is.
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

/// Options for a file of ours: what is made is this user's alone.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Opens a file to append to it, and makes it if need be.
pub fn append(path: &Path) -> io::Result<File> {
    options().append(true).create(true).open(path)
}

/// Whether it is a plain file of this user's.
pub fn is_own(meta: &fs::Metadata) -> bool {
    meta.is_file() && meta.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // What is stricter than ours stays so.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
        tighten(&file, 0o600).unwrap();
        assert_eq!(mode(&file), 0o400);
    }
}
