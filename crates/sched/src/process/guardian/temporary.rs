//! The temporary directory of a sandboxed command, which may not write the shared one.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

/// A directory for one command. It is removed when this is dropped.
pub(super) struct Temporary(TempDir);

impl Temporary {
    /// The variables that name it.
    pub(super) const VARIABLES: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

    /// Creates a directory where the command's environment wants temporary files, that only this
    /// user can enter.
    pub(super) fn new(environment: &[(OsString, OsString)]) -> Result<Self, String> {
        let given = environment.iter().rfind(|(name, _)| name == "TMPDIR");
        let given = given.map(|(_, value)| Path::new(value)).filter(|it| it.is_absolute());
        let place = given.unwrap_or(Path::new("/tmp"));
        let mut made = tempfile::Builder::new();
        made.prefix("punchlist-").permissions(Permissions::from_mode(0o700));
        made.tempdir_in(place).map(Self).map_err(|why| {
            format!("cannot create a temporary directory in {}: {why}", place.display())
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // The command may have left directories that nobody may write. Afterwards the directory's
        // own drop tries again.
        if fs::remove_dir_all(self.path()).is_err() {
            drop(unlock(self.path()));
        }
    }
}

/// Lets this user change a directory and all directories below. Links are not followed.
fn unlock(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)?.flatten() {
        if entry.file_type()?.is_dir() {
            unlock(&entry.path())?;
        }
    }
    Ok(())
}
