//! Recording: stores the lists that a watcher sees as plans, by one watcher at a time.
//!
//! Two watchers that record at once would see the same lists a moment apart and undo each other. So
//! they take a lock beside the database: one records; the others show a note and take over when it
//! ends.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punchlist_model::PlanId;
use punchlist_model::session::Store;
use punchlist_streams::watch::join::name;
use punchlist_streams::watch::{Life, Seen, Todo};

use crate::around::Around;
use crate::fail::Fail;
use crate::hook::{AgentFacts, Given, Moment, PlanFacts, Settings};
use crate::project;
use crate::record::{Recorded, Recording, record};

/// Records the lists that a watcher sees as plans.
pub struct Recorder<'a> {
    store: Arc<dyn Store>,
    settings: Settings<'a>,
    host: String,
    lock_file: PathBuf,
    lock: Option<File>,
    /// The last recorded list of each agent.
    kept: BTreeMap<String, Vec<Todo>>,
    /// The project of each directory.
    projects: BTreeMap<String, String>,
    is_waiting: bool,
}

impl<'a> Recorder<'a> {
    /// A recorder for a store. `lock_file` is the file that all recorders of the store lock; `host`
    /// is the name of this machine.
    pub fn new(
        store: Arc<dyn Store>,
        settings: Settings<'a>,
        lock_file: PathBuf,
        host: String,
    ) -> Self {
        Self {
            store,
            settings,
            host,
            lock_file,
            lock: None,
            kept: BTreeMap::new(),
            projects: BTreeMap::new(),
            is_waiting: false,
        }
    }

    /// A note for the viewer.
    pub(super) fn note(&self) -> Option<String> {
        let text = "another watch is recording; this one takes over when it ends";
        self.is_waiting.then(|| text.to_owned())
    }

    /// Records every list that has changed since it was last recorded.
    pub(super) async fn record(
        &mut self,
        around: &dyn Around,
        streams: &[(&Seen, Life)],
    ) -> Result<(), Fail> {
        if !self.has_lock()? {
            return Ok(());
        }
        for (seen, life) in streams {
            let Some(list) = seen.list.as_ref() else { continue };
            let key = format!("{}/{}", name(seen.agent_type), seen.agent_id);
            if self.kept.get(&key) == Some(&list.items) {
                continue;
            }
            let directory = seen.directory.as_deref().filter(|it| !it.is_empty());
            let Some(project) = directory.map(|it| self.project(it)) else { continue };
            let now = around.now();
            let ids = around.ids(now)?;
            let given = Given {
                moment: Moment { now, ids, host: &self.host },
                agent: AgentFacts {
                    name: name(seen.agent_type),
                    has_server: false,
                    tools: None,
                    process: None,
                    interactive: None,
                    planning: false,
                    task_list: None,
                },
                // The highest counter keeps it apart from the ids of items.
                plan: PlanFacts {
                    project: &project,
                    name: None,
                    new_id: PlanId(ids.nth(u32::MAX)),
                },
                settings: self.settings,
                task: &|_, _| None,
                program: &|| "punchlist".to_owned(),
                version: env!("CARGO_PKG_VERSION"),
            };
            let recording = Recording { given, life: *life };
            match record(&*self.store, seen, &recording).await? {
                Recorded::Kept | Recorded::NotOurs | Recorded::Nothing => {}
            }
            self.kept.insert(key, list.items.clone());
        }
        Ok(())
    }

    /// Takes the lock if it is free. Returns whether this recorder has it.
    fn has_lock(&mut self) -> Result<bool, Fail> {
        if self.lock.is_none() {
            self.lock = locked(&self.lock_file)?;
            self.is_waiting = self.lock.is_none();
        }
        Ok(self.lock.is_some())
    }

    /// The project of a directory; the directory itself if it no longer exists.
    fn project(&mut self, directory: &str) -> String {
        let find = || {
            let found = project::find(Path::new(directory));
            found.map_or_else(|_| directory.to_owned(), |it| it.name)
        };
        self.projects.entry(directory.to_owned()).or_insert_with(find).clone()
    }
}

/// The locked file; `None` if another process has the lock.
fn locked(path: &Path) -> Result<Option<File>, Fail> {
    let failed = |why: io::Error| Fail::ours(format!("cannot lock {}: {why}", path.display()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        // Some network file systems do not support such locks.
        Err(TryLockError::Error(why)) if why.kind() == ErrorKind::Unsupported => Ok(Some(file)),
        Err(TryLockError::Error(why)) => Err(failed(why)),
    }
}
