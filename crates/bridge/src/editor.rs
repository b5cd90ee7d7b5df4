//! Opens the user's editor.

use std::io;
use std::path::Path;
use std::process::Command;

/// Opens a file in an editor on the current terminal and waits. Returns whether the editor
/// succeeded. `editor` may contain arguments, as `EDITOR` does.
pub fn edit(editor: &str, file: &Path) -> io::Result<bool> {
    // The shell splits `editor` into words; the path is passed as an argument and is not parsed.
    let script = format!("{editor} \"$1\"");
    let status = Command::new("/bin/sh").args(["-c", &script, "sh"]).arg(file).status()?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_may_have_arguments_and_the_file_any_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a file; with $odd 'signs'");
        std::fs::write(&file, "old").unwrap();
        assert!(edit("cp /dev/null", &file).unwrap());
        assert_eq!(std::fs::read(&file).unwrap(), b"");
        assert!(!edit("false", &file).unwrap());
        assert!(!edit("no-such-editor-anywhere 2>/dev/null", &file).unwrap());
    }
}
