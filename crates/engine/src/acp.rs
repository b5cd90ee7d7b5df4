//! The plans of agents that speak the Agent Client Protocol, as a proxy between agent and editor hears
//! them: a file of what was heard, which `watch` reads, and plans that are recorded.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime};

use punchlist_bridge::acp_proxy::{Ear, Heard, Told};
use punchlist_model::session::{SessionKey, Store};
use punchlist_model::store::Error;
use punchlist_model::{ListEntry, Process, Timestamp};

use crate::around::Around;
use crate::hook::{self, AgentFacts, Given, Moment, PlanFacts, Settings};
use crate::session::{self, Seen};

/// The agent of a session that was heard so.
const AGENT: &str = "acp";
/// How long the files of what was heard are kept.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long a file of what was heard may become.
const MOST: u64 = 8 * 1024 * 1024;

/// Takes in what is heard until the agent has said its last word. Plans go to the journal, as long as it
/// can be written, and to `on_list` with the session that they belong to.
pub fn hear(
    receive: &Receiver<Heard>,
    mut journal: Option<Journal>,
    on_list: &mut dyn FnMut(&str, &[ListEntry]),
) {
    let mut ear = Ear::default();
    for heard in receive {
        let mut told = Vec::new();
        ear.hear(&heard, &mut |it| told.push(it));
        for it in told {
            match it {
                Told::Message(message) => {
                    if journal.as_mut().is_some_and(|it| it.write(&message).is_none()) {
                        journal = None;
                    }
                }
                Told::List { session, entries } => on_list(&session, &entries),
            }
        }
    }
}

/// What was heard of plans, in a file of this run.
#[derive(Debug)]
pub struct Journal {
    file: File,
    began: Instant,
    written: u64,
}

impl Journal {
    /// Begins a file in this directory; files of runs that ended long ago are removed. `root` is where the
    /// agent works.
    pub fn open(directory: &Path, root: Option<&Path>, now: Timestamp) -> Option<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).ok()?;
        sweep(directory, now);
        let name = format!("{}-{}", now.as_millisecond(), process::id());
        let make = |kind: &str| {
            let mut options = OpenOptions::new();
            options.create_new(true).append(true).mode(0o600);
            options.open(directory.join(format!("{name}.{kind}"))).ok()
        };
        if let (Some(root), Some(mut file)) = (root, make("root")) {
            file.write_all(root.as_os_str().as_encoded_bytes()).ok();
        }
        let file = make("jsonl")?;
        Some(Self { file, began: Instant::now(), written: 0 })
    }

    fn write(&mut self, message: &str) -> Option<()> {
        let at = self.began.elapsed().as_millis();
        let (seconds, rest) = (at / 1000, at % 1000);
        let line = format!("{{\"t\":{seconds}.{rest:03},\"dir\":\"a2c\",\"msg\":{message}}}\n");
        self.written = self.written.saturating_add(line.len() as u64);
        if self.written > MOST {
            return None;
        }
        self.file.write_all(line.as_bytes()).ok()
    }
}

fn sweep(directory: &Path, now: Timestamp) {
    let now = SystemTime::from(now);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let written = entry.metadata().and_then(|it| it.modified()).ok();
        let is_old = written.and_then(|it| now.duration_since(it).ok()).is_some_and(|it| it > KEPT);
        let is_ours = entry.path().extension().is_some_and(|it| it == "jsonl" || it == "root");
        if is_old && is_ours {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// Where lists that were heard are recorded as plans.
pub struct Recording<'a> {
    /// The project.
    pub project: &'a str,
    /// Its directory.
    pub directory: &'a Path,
    /// The name of the plan that all sessions work on, if one was given.
    pub plan: Option<&'a str>,
    /// The agent's process.
    pub agent: Option<Process>,
    /// What the user has set.
    pub settings: Settings<'a>,
    /// This machine's name.
    pub host: &'a str,
    /// The clock, and where ids come from.
    pub around: &'a dyn Around,
}

impl Recording<'_> {
    /// Records the whole list of a session, or with `None` that the session is over.
    pub async fn record(
        &self,
        store: &dyn Store,
        session: &str,
        entries: Option<&[ListEntry]>,
    ) -> Result<(), Error> {
        let now = self.around.now();
        let seen = Seen {
            key: SessionKey { agent: AGENT.to_owned(), id: session.to_owned() },
            project: self.project.to_owned(),
            directory: self.directory.to_string_lossy().into_owned(),
            process: self.agent.clone(),
            interactive: Some(true),
            now,
            ended: entries.is_none(),
        };
        let recorded = session::record(store, seen).await?;
        let Some(entries) = entries else { return Ok(()) };
        let ids = self.around.ids(now)?;
        let given = Given {
            moment: Moment { now, ids, host: self.host },
            agent: AgentFacts {
                name: AGENT,
                has_server: false,
                tools: None,
                process: self.agent.clone(),
                interactive: Some(true),
                planning: false,
                task_list: None,
            },
            plan: PlanFacts { project: self.project, name: self.plan, new_id: ids.plan() },
            settings: self.settings,
            task: &|_, _| None,
            program: &|| "punchlist".to_owned(),
            version: env!("CARGO_PKG_VERSION"),
        };
        hook::keep_list(store, &given, recorded, "", entries).await
    }
}
