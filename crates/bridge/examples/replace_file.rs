//! Replaces a settings file: a reader finds the old file or the new one, never half of it.

use std::fs;
use std::io::Write;

use punchlist_bridge::replace::{Draft, Stamp};

/// Runs the example.
pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("settings.json");
    fs::write(&path, "{}\n")?;
    let was = Stamp::from(&fs::metadata(&path)?);
    // The draft has the owner and the mode of the file. If it is dropped, nothing has happened.
    let mut draft = Draft::like(&path, was)?;
    draft.write_all(b"{\"hooks\": {}}\n")?;
    draft.replace()?;
    assert_eq!(fs::read_to_string(&path)?, "{\"hooks\": {}}\n");
    assert_eq!(Stamp::from(&fs::metadata(&path)?), was);
    Ok(())
}
