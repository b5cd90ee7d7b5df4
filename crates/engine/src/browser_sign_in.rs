//! Signs a person's browser in: writes a file that sends a code to the server, and opens it.
//!
//! The code is not in the browser's argument list, and only this user can read the file. The file is removed
//! when the code was used or after half a minute.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use punchlist_bridge::browser::{self, Opening};
use punchlist_bridge::private;
use punchlist_model::store::access::{AccessStore, GrantKind};

use crate::access::{self, Secret};
use crate::around::Around;
use crate::fail::Fail;

/// How long the file is kept, if the browser does not come.
const OPEN_FOR: Duration = Duration::from_secs(30);

/// How long the person waits for their browser before they are shown the address.
const SOON: Duration = Duration::from_secs(5);

/// How often it is looked whether the code was used.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A browser that is being signed in.
pub struct SignIn {
    file: OpenFile,
    code: Secret,
    opening: Opening,
}

impl SignIn {
    /// Writes `page`, which sends the code, into a directory of the user, and opens it with `browser`, if the
    /// user named one. The inner error says why no browser can be opened.
    pub fn open(
        directory: &Path,
        browser: Option<&str>,
        code: &Secret,
        page: &str,
    ) -> Result<Result<Self, io::Error>, Fail> {
        let failed = |why: io::Error| {
            Fail::ours(format!("cannot write a file in {}: {why}", directory.display()))
        };
        private::directory(directory).map_err(failed)?;
        // The id of the code is no secret.
        let id = code.expose().split('_').nth(1).unwrap_or_default();
        let path = directory.join(format!("{id}.html"));
        let mut options = private::options();
        options.write(true).create_new(true);
        let mut opened = options.open(&path).map_err(failed)?;
        let file = OpenFile(path);
        opened.write_all(page.as_bytes()).map_err(failed)?;
        let opening = browser::open(browser, &file.0);
        Ok(opening.map(|opening| Self { file, code: code.clone(), opening }))
    }

    /// Waits until the code was used, for half a minute. If no browser can use it, or none does so soon,
    /// calls `no_browser`. The file is removed at the end.
    pub async fn wait(
        self,
        store: &dyn AccessStore,
        around: &dyn Around,
        no_browser: impl FnOnce(),
    ) {
        let Self { file, code, opening } = self;
        let valid = || access::check(store, GrantKind::Code, code.expose(), around.now());
        let (began, mut no_browser) = (Instant::now(), Some(no_browser));
        while matches!(valid().await, Ok(Some(_))) && began.elapsed() < OPEN_FOR {
            let has_failed = opening.has_failed();
            if (has_failed || began.elapsed() > SOON)
                && let Some(no_browser) = no_browser.take()
            {
                no_browser();
            }
            if has_failed {
                break;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        drop(file);
    }
}

/// The file, which is removed with this value: the code in it may still work.
struct OpenFile(PathBuf);

impl Drop for OpenFile {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// Removes the files of processes that were killed. A process that still runs removes its own in this time.
pub fn remove_old_files(directory: &Path) {
    let Ok(files) = fs::read_dir(directory) else { return };
    for file in files.flatten() {
        let age = file.metadata().and_then(|it| it.modified()).map(|it| it.elapsed());
        if matches!(age, Ok(Ok(age)) if age > OPEN_FOR) {
            fs::remove_file(file.path()).ok();
        }
    }
}
