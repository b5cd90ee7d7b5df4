//! `punchlist acp-tap`.
//!
//! This process executes the agent in its own place (`exec`), so that exit code, signals, stdin and
//! stderr are the agent's. Only stdout goes through a second process, the listener, which passes
//! each part on before it parses it.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{self, Command};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use punchlist_bridge::acp_proxy;
use punchlist_engine::acp::{self, Journal, Recording};
use punchlist_model::{ListEntry, Process};

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::clock::{self, Clock};
use crate::fail::Fail;
use crate::print::Reply;
use crate::{identity, places, plan_choice};

/// Record the plans of an agent that speaks ACP
///
/// A proxy between an editor and an agent that use the Agent Client Protocol. Put `punchlist
/// acp-tap --` before the agent's command in the editor's settings. The proxy passes every message
/// on unchanged. It writes the agent's plan to a file in the data directory, which `punchlist
/// watch` reads; with `--record` it also stores it as a plan of the project. The exit code is the
/// agent's, and signals reach the agent.
#[derive(clap::Args)]
pub(crate) struct AcpTap {
    /// Also store the agent's plan as a plan of this project
    #[arg(long)]
    record: bool,
    /// Only copy stdin to stdout and record plans: the second process of this verb
    #[arg(long, hide = true)]
    listen: bool,
    /// The agent and its arguments
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<OsString>,
}

/// How long the listener may run after the agent has closed its stdout.
const PATIENCE: Duration = Duration::from_secs(2);

impl Verb for AcpTap {
    const NAME: &'static str = "acp-tap";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist acp-tap -- gemini --acp
  punchlist acp-tap --record -- npx @zed-industries/codex-acp";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        if self.listen {
            listen(app, self.record);
        }
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(Fail::usage("there is no command to run")
                .hint("name the agent after two dashes: `punchlist acp-tap -- gemini --acp`."));
        };
        let mut agent = Command::new(program);
        agent.args(arguments);
        // If the listener cannot be started, the agent runs without it.
        if let Some(stdout) = helper(app, self.record) {
            agent.stdout(stdout);
        }
        let why = agent.exec();
        let shown = program.to_string_lossy();
        Err(Fail::usage(format!("cannot run {shown}: {why}")).hint("see that it is installed."))
    }
}

/// Starts the listener. Returns the pipe that becomes the agent's stdout.
fn helper(app: &App, record: bool) -> Option<io::PipeWriter> {
    let (reader, writer) = io::pipe().ok()?;
    let mut command = Command::new(env::current_exe().ok()?);
    command.args(["acp-tap", "--listen"]);
    if record {
        command.arg("--record");
    }
    if let Some(db) = &app.globals.db {
        command.arg("--db").arg(db);
    }
    if let Some(plan) = &app.globals.plan {
        command.arg("--plan").arg(plan);
    }
    if let Some(directory) = &app.globals.directory {
        command.arg("-C").arg(directory);
    }
    // In a process group of its own: Ctrl-C at the terminal is for the agent, and the listener
    // still has to pass on what the agent prints at the end.
    command.stdin(reader).process_group(0).spawn().ok()?;
    Some(writer)
}

/// Copies stdin to stdout and records plans, until stdin ends.
fn listen(app: &App, record: bool) -> ! {
    let (send, receive) = acp_proxy::line();
    let journal = journal();
    let mut keeper = record.then(|| Keeper::new(app));
    let listener = thread::Builder::new().name("listener".to_owned());
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let spawned = listener.spawn(move || {
        // A panic here ends only the recording, not the copying.
        let _until_here = done;
        acp::hear(&receive, journal, &mut |session, entries| {
            if let Some(keeper) = &mut keeper {
                keeper.keep(session, entries);
            }
        });
        if let Some(keeper) = keeper {
            keeper.end();
        }
    });
    // If the thread cannot be started, stdin is still copied.
    drop(spawned);
    let mut stdout = io::stdout().lock();
    // An error has nobody to go to; the agent sees it as a broken pipe.
    drop(acp_proxy::pass_on(&mut io::stdin().lock(), &mut stdout, &send));
    drop(send);
    drop(stdout);
    // The editor does not wait until the recording has ended.
    close_stdout();
    match is_done.recv_timeout(PATIENCE) {
        Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
    }
    process::exit(0)
}

/// Closes stdout, so that the editor sees its end.
fn close_stdout() {
    if let Ok(nowhere) = File::options().write(true).open("/dev/null") {
        rustix::stdio::dup2_stdout(&nowhere).ok();
    }
}

/// Creates the file for the recorded lists. ACP messages to the editor do not name the agent's
/// directory; it is usually the current one.
fn journal() -> Option<Journal> {
    let directory = places::acp_lists().ok()?;
    Journal::open(&directory, env::current_dir().ok().as_deref(), clock::now())
}

/// Keeps lists as plans of the project.
struct Keeper {
    app: App,
    agent: Option<Process>,
    sessions: BTreeSet<String>,
}

impl Keeper {
    fn new(app: &App) -> Self {
        // The parent process is the agent: it replaced the process that started the listener.
        let agent = identity::holder("", Some(parent_id())).ok().and_then(|it| it.process);
        Self { app: App::new(app.globals.clone()), agent, sessions: BTreeSet::new() }
    }

    fn keep(&mut self, session: &str, entries: &[ListEntry]) {
        // A list that could not be stored is stored with the next one, which is complete again.
        if self.write(session, Some(entries)).is_ok() {
            self.sessions.insert(session.to_owned());
        }
    }

    fn end(self) {
        for session in &self.sessions {
            drop(self.write(session, None));
        }
    }

    /// Writes a list, or the end of its session.
    fn write(&self, session: &str, entries: Option<&[ListEntry]>) -> Result<(), Fail> {
        let app = &self.app;
        let recording = Recording {
            project: &app.project()?.name,
            directory: &app.project()?.root,
            plan: app.globals.plan.as_deref().map(plan_choice::valid_name).transpose()?,
            agent: self.agent.clone(),
            settings: app.settings()?.conversation(),
            host: &identity::host(),
            around: &Clock,
        };
        Ok(block_on(recording.record(&*app.store()?, session, entries))?)
    }
}
