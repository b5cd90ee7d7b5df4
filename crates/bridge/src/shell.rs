//! Runs a person's own commands.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// The most bytes of an output.
const LONGEST: usize = 64 * 1024;

/// Runs a command line on the current terminal and waits. Returns its exit code, as shells count it.
/// Nothing is asked and nothing is kept from it: the person typed it.
pub fn run(line: &str, directory: &Path) -> io::Result<i32> {
    let status = Command::new("/bin/sh").args(["-c", line]).current_dir(directory).status()?;
    Ok(code(status))
}

/// Runs a program on the current terminal and waits. Returns its exit code.
pub fn run_program(program: &Path, arguments: &[String], directory: &Path) -> io::Result<i32> {
    let status = Command::new(program).args(arguments).current_dir(directory).status()?;
    Ok(code(status))
}

/// Runs a command without a terminal and waits. Returns what it printed, up to a limit.
pub fn output(words: &[String], directory: &Path) -> io::Result<String> {
    let (program, arguments) =
        words.split_first().ok_or_else(|| io::Error::other("there is no program"))?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    let output = command.output()?;
    let mut all = output.stdout;
    all.extend(output.stderr);
    all.truncate(LONGEST);
    Ok(String::from_utf8_lossy(&all).into_owned())
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|it| 128 + it)).unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_runs_in_its_directory_and_has_an_exit_code() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(run("echo done > here", directory.path()).unwrap(), 0);
        assert_eq!(std::fs::read_to_string(directory.path().join("here")).unwrap(), "done\n");
        assert_eq!(run("exit 7", directory.path()).unwrap(), 7);
        assert_eq!(run("kill -9 $$", directory.path()).unwrap(), 137);
        let words = ["/bin/sh", "-c", "echo \"$1\"", "sh", "a; b"].map(str::to_owned);
        assert_eq!(output(&words, directory.path()).unwrap(), "a; b\n");
    }
}
