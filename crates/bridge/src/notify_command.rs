//! Starts the user's command for notices.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long the command may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Starts a command with this input, and does not wait for it. What it prints is dropped. It goes on if
/// this process ends; otherwise it is ended after 30 seconds.
pub fn start(command: &str, input: &str) -> io::Result<()> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C at the terminal is not meant for it.
        .process_group(0)
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input is none the worse. The input fits into a pipe.
        stdin.write_all(input.as_bytes()).ok();
    }
    thread::spawn(move || wait(&mut child));
    Ok(())
}

fn wait(child: &mut Child) {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(LOOK_EVERY);
    }
    child.kill().ok();
    child.wait().ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_gets_its_input_and_nobody_waits_for_it() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("seen");
        let draft = place.path().join("draft");
        let (to, done) = (draft.display(), file.display());
        start(&format!("cat > {to}; mv {to} {done}"), "{\"kind\":\"done\"}\n").unwrap();
        let until = Instant::now() + PATIENCE;
        while !file.exists() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"kind\":\"done\"}\n");
        start("exit 3", "nobody reads this").unwrap();
    }
}
