//! Hearing that files change, without looking at each.
//!
//! Directories are listened to, not files: one watch serves all sessions in it, sees new ones appear, and
//! survives that a file is replaced. Where the system gives no more watches, that is said, and whoever asks
//! looks by himself more often. It reads nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

/// The most paths that wait to be read; beyond that, everything is looked at.
const MOST_PATHS: usize = 4_096;

/// What was heard since it was last asked.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) paths: BTreeSet<PathBuf>,
    /// More than can be told.
    pub(super) everything: bool,
}

/// The directories that are watched, and what changed in them.
pub(super) struct FileWatch {
    watcher: Option<RecommendedWatcher>,
    heard: Arc<Mutex<Heard>>,
    /// The directories that are listened to, as they were: one that is made anew is another.
    at: BTreeMap<PathBuf, (u64, u64)>,
    most: usize,
    trouble: Option<String>,
}

impl FileWatch {
    pub(super) fn new(most: usize, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let shared = Arc::clone(&heard);
        let on_event = move |event: notify::Result<notify::Event>| {
            if note(&mut lock(&shared), event) {
                wake();
            }
        };
        let (watcher, trouble) = match notify::recommended_watcher(on_event) {
            Ok(watcher) => (Some(watcher), None),
            Err(why) => (None, Some(why.to_string())),
        };
        Self { watcher, heard, at: BTreeMap::new(), most, trouble }
    }

    /// What was heard since it was last asked.
    pub(super) fn heard(&self) -> Heard {
        std::mem::take(&mut *lock(&self.heard))
    }

    /// Listens to these directories and no others. The first are the ones that matter most. Whether one
    /// is new: what was made in it before that was not heard.
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
                // One that is gone has taken its watch with it.
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
                // It went away meanwhile, and is looked for again.
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

    /// Why not everything is heard.
    pub(super) fn trouble(&self) -> Option<String> {
        let why = self.trouble.as_ref()?;
        Some(format!("not every change is heard ({why}): looking every 2 s instead"))
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    // Each holder leaves it whole at every point, so a poisoned lock is as good.
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes what was heard; whether it is worth waking for.
fn note(heard: &mut Heard, event: notify::Result<notify::Event>) -> bool {
    match event {
        // Our own reading makes such events, and they would never end.
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => return false,
        Ok(event) if !event.need_rescan() => heard.paths.extend(event.paths),
        Ok(_) | Err(_) => heard.everything = true,
    }
    if heard.paths.len() > MOST_PATHS {
        heard.paths.clear();
        heard.everything = true;
    }
    true
}
