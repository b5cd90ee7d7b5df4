//! Records the plans of agents that speak the Agent Client Protocol (ACP). A proxy between agent
//! and editor passes the messages on; they go into a file that `watch` reads, and the plans in them
//! go into the database.

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

/// The agent's name for sessions that are recorded through ACP.
const AGENT: &str = "acp";
/// How long the message files are kept.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Maximum size of a message file, in bytes.
const MOST: u64 = 8 * 1024 * 1024;

/// Handles messages until the agent has closed its output. Messages go to the journal file until
/// writing fails; each plan goes to `on_list` with its session.
pub fn hear(
    receive: &Receiver<Heard>,
    mut journal: Option<Journal>,
    on_list: &mut dyn FnMut(&str, &[ListEntry]),
) {
    let mut ear = Ear::default();
    for heard in receive {
        let mut events = Vec::new();
        ear.hear(&heard, &mut |it| events.push(it));
        for it in events {
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

/// A file with the plan messages of one run.
#[derive(Debug)]
pub struct Journal {
    file: File,
    began: Instant,
    written: u64,
}

impl Journal {
    /// Creates a file in this directory and removes files that are older than a week. `root` is the
    /// directory that the agent works in.
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

/// What is needed to record ACP plans in the database.
pub struct Recording<'a> {
    /// The project.
    pub project: &'a str,
    /// The project's directory.
    pub directory: &'a Path,
    /// The name of the plan that all sessions work on, if one was given.
    pub plan: Option<&'a str>,
    /// The agent's process.
    pub agent: Option<Process>,
    /// The user's settings.
    pub settings: Settings<'a>,
    /// This machine's name.
    pub host: &'a str,
    /// The clock and the source of ids.
    pub around: &'a dyn Around,
}

impl Recording<'_> {
    /// Records a session's whole list; `None` records that the session has ended.
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
