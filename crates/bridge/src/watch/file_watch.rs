//! Subscribes to changes of files.
//!
//! Directories are watched, not files: one watch covers all sessions in a directory, also new and
//! replaced files. If the system has no more watches, that is reported, and the caller polls more
//! often. Nothing is read here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

/// Most changed paths in the queue; beyond that, everything is checked.
const MOST_PATHS: usize = 4_096;

/// The changes since the last call.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) paths: BTreeSet<PathBuf>,
    /// More changed than the queue holds.
    pub(super) everything: bool,
}

/// The watched directories, and what changed in them.
pub(super) struct FileWatch {
    watcher: Option<RecommendedWatcher>,
    changes: Arc<Mutex<Changes>>,
    /// The watched directories with device and inode, because a directory may be deleted and
    /// created again.
    at: BTreeMap<PathBuf, (u64, u64)>,
    most: usize,
    trouble: Option<String>,
}

impl FileWatch {
    pub(super) fn new(most: usize, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let changes = Arc::new(Mutex::new(Changes::default()));
        let shared = Arc::clone(&changes);
        let on_event = move |event: notify::Result<notify::Event>| {
            if note(&mut lock(&shared), event) {
                wake();
            }
        };
        let (watcher, trouble) = match notify::recommended_watcher(on_event) {
            Ok(watcher) => (Some(watcher), None),
            Err(why) => (None, Some(why.to_string())),
        };
        Self { watcher, changes, at: BTreeMap::new(), most, trouble }
    }

    /// The changes since the last call.
    pub(super) fn changes(&self) -> Changes {
        std::mem::take(&mut *lock(&self.changes))
    }

    /// Watches these directories and no others, the most important first. Returns whether one is
    /// new: then changes in it before this call were not reported.
    pub(super) fn listen<'a>(&mut self, wanted: impl Iterator<Item = &'a PathBuf>) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        let mut is_new = false;
        let mut all = BTreeMap::new();
        let mut missing = Vec::new();
        for path in wanted {
            let Ok(data) = fs::metadata(path) else { continue };
            let identity = (data.dev(), data.ino());
            if all.insert(path.clone(), identity).is_none() && self.at.get(path) != Some(&identity)
            {
                missing.push((path.clone(), identity));
            }
        }
        self.at.retain(|path, identity| {
            let stays = all.get(path) == Some(identity);
            if !stays {
                // A deleted directory has lost its watch already.
                drop(watcher.unwatch(path));
            }
            stays
        });
        self.trouble = None;
        for (path, identity) in missing {
            if self.at.len() >= self.most {
                self.trouble = Some(format!("more than {} directories", self.most));
                break;
            }
            match watcher.watch(&path, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.at.insert(path, identity);
                    is_new = true;
                }
                // It was deleted meanwhile; the next scan looks for it again.
                Err(_) if !path.exists() => {}
                Err(why) => {
                    let is_full = matches!(why.kind, notify::ErrorKind::MaxFilesWatch);
                    let full = || "the system's limit is reached".to_owned();
                    self.trouble = Some(if is_full { full() } else { why.to_string() });
                    break;
                }
            }
        }
        is_new
    }

    /// Why some changes are not reported.
    pub(super) fn trouble(&self) -> Option<String> {
        let why = self.trouble.as_ref()?;
        Some(format!("not every change is reported ({why}): checking every 2 s instead"))
    }
}

fn lock(changes: &Mutex<Changes>) -> MutexGuard<'_, Changes> {
    // No holder leaves the value half-changed, so a poisoned lock can be used.
    changes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes an event; returns whether to wake the watcher.
fn note(changes: &mut Changes, event: notify::Result<notify::Event>) -> bool {
    match event {
        // Our own reads cause such events.
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => return false,
        Ok(event) if !event.need_rescan() => changes.paths.extend(event.paths),
        Ok(_) | Err(_) => changes.everything = true,
    }
    if changes.paths.len() > MOST_PATHS {
        changes.paths.clear();
        changes.everything = true;
    }
    true
}
