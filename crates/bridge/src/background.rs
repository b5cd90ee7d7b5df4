//! Starts a program that outlives this one.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts a program that goes on after this one and its terminal have ended. It reads `input` and prints
/// nowhere. The program calls [`leave_terminal`] first.
pub fn start(program: &Path, arguments: &[OsString], input: &str) -> io::Result<Child> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(input.as_bytes())?;
    }
    Ok(child)
}

/// Puts this process into a session of its own, so that the end of the terminal does not end it.
pub fn leave_terminal() {
    // Fails only if the process leads a group, which a terminal does not end with the others either.
    let _ = rustix::process::setsid();
}
