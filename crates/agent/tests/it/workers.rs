//! Workers as real processes: scripts in the place of agents, which print what real agents printed.

mod acp;
mod delegate;
mod programs;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::tz::TimeZone;
use punchlist_agent::workers::acp::{Approver, RefuseAll};
use punchlist_agent::workers::model::NoModels;
use punchlist_agent::workers::{
    Outcome, ProgramEnvironment, Task, WorkerConfig, WorkerEvent, WorkerOptions, Workers,
};
use punchlist_model::{Number, Timestamp};
use punchlist_sched::{Processes, Work, output, process};
use serde_json::Value;

/// A directory with a project and programs.
struct Place(tempfile::TempDir);

/// What was heard of a worker, as lines.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("project")).unwrap();
        fs::create_dir(place.path("bin")).unwrap();
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap().join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    /// Writes a program for the shell.
    fn program(&self, name: &str, lines: &str) {
        let path = self.path(&format!("bin/{name}"));
        fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn options(&self) -> WorkerOptions {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let variable = |name: &str, value: &str| (name.into(), value.into());
        WorkerOptions {
            root: self.path("project"),
            environment: ProgramEnvironment {
                variables: vec![
                    variable("PATH", &path),
                    variable("HOME", "/nonexistent"),
                    variable("PUNCHLIST_PLAN", "the plan of another"),
                ],
                ..ProgramEnvironment::default()
            },
            worktrees: None,
            models: Arc::new(NoModels),
            approver: Arc::new(RefuseAll),
            clock: Arc::new(now),
            time_zone: TimeZone::UTC,
        }
    }

    fn workers(&self, config: Value) -> Workers {
        self.workers_with(config, Arc::new(RefuseAll))
    }

    fn workers_with(&self, config: Value, approver: Arc<dyn Approver>) -> Workers {
        let config = WorkerConfig::read("w", &config).unwrap();
        Workers::new([config], WorkerOptions { approver, ..self.options() })
    }

    fn task(&self) -> Task {
        Task {
            item: Some(Number(3)),
            task: "Write the notes\nKeep them short.".to_owned(),
            context: "The release is 1.2.".to_owned(),
            criteria: "NOTES.md exists".to_owned(),
            directory: self.path("project"),
        }
    }

    /// Has the worker of this configuration do a task.
    async fn run(&self, config: Value) -> (Outcome, Vec<String>) {
        self.run_workers(&self.workers(config)).await
    }

    async fn run_workers(&self, workers: &Workers) -> (Outcome, Vec<String>) {
        let heard = Heard::default();
        let listener = |event| heard.take(event);
        let work = Work::alone(processes(), output::Options::default());
        let outcome = workers.run("w", self.task(), "ab12", &work, &listener).await;
        (outcome, heard.0.into_inner().unwrap())
    }
}

impl Heard {
    fn take(&self, event: WorkerEvent) {
        self.0.lock().unwrap().push(match event {
            WorkerEvent::Used(_) => return,
            WorkerEvent::Doing(text) => text,
            WorkerEvent::Session(_) => "session".to_owned(),
            WorkerEvent::List(list) => {
                let entry = list.iter().map(|it| format!("{} {}", it.status.as_str(), it.title));
                entry.collect::<Vec<_>>().join(", ")
            }
        });
    }
}

fn now() -> Timestamp {
    "2026-11-17T18:00:00Z".parse().unwrap()
}

/// The example of this crate, which becomes a guardian.
fn example() -> PathBuf {
    // Beside this test's own program, where cargo puts examples.
    let here = std::env::current_exe().unwrap();
    let program = here.ancestors().nth(2).unwrap().join("examples/delegate");
    assert!(program.exists(), "`cargo build -p punchlist-agent --examples`");
    program
}

fn processes() -> Processes {
    let mut options = process::Options::new(example(), ["guardian".into()]);
    options.grace = Duration::from_millis(200);
    Processes::new(options)
}

fn fixture(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let path = root.join("fixtures").join(path);
    assert!(path.exists(), "{}", path.display());
    path
}

/// Waits until a process is gone. A pid is not used again this soon.
fn assert_gone(pid: &str) {
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    for _ in 0..500 {
        if rustix::process::test_kill_process(pid).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{pid:?} still runs");
}
