//! The user's own pager.

use std::io;
use std::process::{Child, Command, Stdio};

/// Starts a pager at the terminal of whoever calls. It shows what is written to its stdin. `pager` may have
/// arguments behind it, as `PAGER` does for other programs.
pub fn start(pager: &str) -> io::Result<Child> {
    // Unless the user says otherwise, `less` does not page what fits on the screen, and leaves it there.
    let script = format!("export LESS=\"${{LESS-FRX}}\"; {pager}");
    Command::new("/bin/sh").args(["-c", &script]).stdin(Stdio::piped()).spawn()
}
