//! Starts the user's pager.

use std::io;
use std::process::{Child, Command, Stdio};

/// Starts a pager on the current terminal. It shows what is written to its stdin. `pager` may
/// contain arguments, as `PAGER` does.
pub fn start(pager: &str) -> io::Result<Child> {
    // By default, `less` then does not page a text that fits on the screen, and leaves it there.
    let script = format!("export LESS=\"${{LESS-FRX}}\"; {pager}");
    Command::new("/bin/sh").args(["-c", &script]).stdin(Stdio::piped()).spawn()
}
