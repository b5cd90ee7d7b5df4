//! `--record`: what is seen is kept as plans, by one watcher at a time.
//!
//! Two that record at once would see the same lists a moment apart and undo each other. So they queue at a
//! lock beside the database: one records, the others say so and take over when it ends.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punchlist_engine::hook::{AgentFacts, Given, Moment, PlanFacts};
use punchlist_engine::record::{Recorded, Recording, record};
use punchlist_model::session::Store;
use punchlist_streams::watch::join::name;
use punchlist_streams::watch::{Life, Seen, Todo};

use crate::app::App;
use crate::block_on;
use crate::error::Fail;
use crate::{clock, identity, project};

/// Keeps what is seen, or does nothing.
pub(super) struct Keeper {
    store: Option<Arc<dyn Store>>,
    lock: Option<File>,
    /// What was kept last, by agent.
    kept: BTreeMap<String, Vec<Todo>>,
    /// Projects of directories, which are not looked for twice.
    projects: BTreeMap<String, Option<String>>,
    is_waiting: bool,
}

impl Keeper {
    pub(super) fn new(app: &App, record: bool) -> Result<Self, Fail> {
        let store = if record { Some(app.store()?) } else { None };
        Ok(Self {
            store,
            lock: None,
            kept: BTreeMap::new(),
            projects: BTreeMap::new(),
            is_waiting: false,
        })
    }

    /// What a viewer should know of it.
    pub(super) fn note(&self) -> Option<String> {
        let text = "another watch records; this one will when it ends";
        self.is_waiting.then(|| text.to_owned())
    }

    /// Keeps every list that has changed since it was last kept.
    pub(super) fn keep(&mut self, app: &App, streams: &[(&Seen, Life)]) -> Result<(), Fail> {
        let Some(store) = self.store.take() else { return Ok(()) };
        let outcome = self.keep_in(&*store, app, streams);
        self.store = Some(store);
        outcome
    }

    fn keep_in(
        &mut self,
        store: &dyn Store,
        app: &App,
        streams: &[(&Seen, Life)],
    ) -> Result<(), Fail> {
        if !self.is_ours(app)? {
            return Ok(());
        }
        for (seen, life) in streams {
            let Some(list) = seen.list.as_ref() else { continue };
            let key = format!("{}/{}", name(seen.agent_type), seen.agent_id);
            if self.kept.get(&key) == Some(&list.items) {
                continue;
            }
            let directory = seen.directory.clone().unwrap_or_default();
            let Some(project) = self.project(&directory) else { continue };
            let settings = app.settings()?;
            let now = clock::now();
            let given = Given {
                moment: Moment { now, ids: clock::ids(now)?, host: &identity::host() },
                agent: AgentFacts {
                    name: name(seen.agent_type),
                    has_server: false,
                    tools: None,
                    process: None,
                    interactive: None,
                    planning: false,
                    task_list: None,
                },
                plan: PlanFacts { project: &project, name: None, new_id: clock::plan_id(now)? },
                settings: settings.conversation(),
                task: &|_, _| None,
                program: &|| "punchlist".to_owned(),
                version: env!("CARGO_PKG_VERSION"),
            };
            let recording = Recording { given, life: *life };
            match block_on(record(store, seen, &recording))? {
                Recorded::Kept | Recorded::NotOurs | Recorded::Nothing => {}
            }
            self.kept.insert(key, list.items.clone());
        }
        Ok(())
    }

    /// Whether it is this watcher that records.
    fn is_ours(&mut self, app: &App) -> Result<bool, Fail> {
        if self.lock.is_none() {
            let mut path = app.database()?.clone().into_os_string();
            path.push("-watch");
            self.lock = locked(&PathBuf::from(path))?;
            self.is_waiting = self.lock.is_none();
        }
        Ok(self.lock.is_some())
    }

    /// The project of a directory, if there still is such a one; else the directory itself.
    fn project(&mut self, directory: &str) -> Option<String> {
        if directory.is_empty() {
            return None;
        }
        let find = || {
            let found = project::find(Path::new(directory)).ok().map(|it| it.name);
            found.or_else(|| Some(directory.to_owned()))
        };
        self.projects.entry(directory.to_owned()).or_insert_with(find).clone()
    }
}

/// The file, locked; `None` if somebody else has.
fn locked(path: &Path) -> Result<Option<File>, Fail> {
    let failed = |why: std::io::Error| Fail::ours(format!("cannot lock {}: {why}", path.display()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        // Some network file systems have no such locks.
        Err(std::fs::TryLockError::Error(why)) if why.kind() == std::io::ErrorKind::Unsupported => {
            Ok(Some(file))
        }
        Err(std::fs::TryLockError::Error(why)) => Err(failed(why)),
    }
}
