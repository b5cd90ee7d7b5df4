//! Opens a file in the user's browser.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The program that opens files, if the user named none.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// A browser that is being opened.
#[derive(Clone, Debug, Default)]
pub struct Opening(Arc<AtomicBool>);

impl Opening {
    /// Whether the program that opens it has ended and said that it failed, as it does without a screen.
    pub fn has_failed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Opens a file, with `browser` if the user named one. Does not wait for the browser.
pub fn open(browser: Option<&str>, file: &Path) -> io::Result<Opening> {
    let mut child = Command::new(browser.unwrap_or(OPENER))
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C at the terminal is not meant for it.
        .process_group(0)
        .spawn()?;
    // It may become the browser itself; whoever waits for it takes its exit status.
    let opening = Opening::default();
    let told = opening.clone();
    thread::spawn(move || {
        let has_failed = child.wait().is_ok_and(|it| !it.success());
        told.0.store(has_failed, Ordering::Relaxed);
    });
    Ok(opening)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_named_browser_gets_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let (browser, seen) = (directory.path().join("browser"), directory.path().join("seen"));
        // Renamed when it is whole, so that no half of it is read.
        let script = format!("#!/bin/sh\ncp \"$1\" {0}.new && mv {0}.new {0}\n", seen.display());
        fs::write(&browser, script).unwrap();
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o700)).unwrap();
        let file = directory.path().join("page.html");
        fs::write(&file, "hello").unwrap();
        open(browser.to_str(), &file).unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while !seen.exists() {
            assert!(Instant::now() < until, "the browser did not start");
            thread::yield_now();
        }
        assert_eq!(fs::read(&seen).unwrap(), b"hello");
    }

    #[test]
    fn a_program_that_cannot_open_the_file_is_noticed() {
        let opening = open(Some("false"), Path::new("/nonexistent")).unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while !opening.has_failed() {
            assert!(Instant::now() < until, "nobody noticed");
            thread::yield_now();
        }
        assert!(open(Some("/nonexistent"), Path::new("/nonexistent")).is_err());
    }
}
