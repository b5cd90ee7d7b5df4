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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_pager_may_have_arguments_and_reads_what_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("seen");
        let mut child = start(&format!("tee -a {} >/dev/null", file.display())).unwrap();
        child.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(std::fs::read(&file).unwrap(), b"one\ntwo\n");
    }
}
