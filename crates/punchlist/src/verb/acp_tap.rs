//! `punchlist acp-tap`.
//!
//! The agent takes this very process over, so that its exit code, signals, stdin and stderr are its
//! own and cost nothing. Only its stdout goes through a helper, which passes it on before it looks.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::{CommandExt, parent_id};
use std::path::Path;
use std::process::{self, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime};

use punchlist_bridge::acp_proxy::{self, Ear, Heard, Told};
use punchlist_engine::hook::{self, AgentFacts, Given, Moment, PlanFacts};
use punchlist_engine::session::{self, Seen};
use punchlist_model::session::SessionKey;
use punchlist_model::{ListEntry, Process};

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{clock, identity, places, plan_choice};

/// Listen to the plans of an agent that speaks ACP
///
/// Stands between an editor and an agent that speak the Agent Client Protocol: put `punchlist acp-tap
/// --` before the agent's command in the editor's settings. Everything is passed on as it is; what the
/// agent says of its plan is written to a file in the data directory, where `punchlist watch` looks,
/// and with `--record` also kept as a plan. The agent's exit code and signals are its own.
#[derive(clap::Args)]
pub(crate) struct AcpTap {
    /// Keep what the agent plans as a plan of this project
    #[arg(long)]
    record: bool,
    /// Only pass stdin on to stdout, and listen: the other half of the same verb
    #[arg(long, hide = true)]
    listen: bool,
    /// The agent and its arguments
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<OsString>,
}

/// How long the listener may still take once the agent has said its last word.
const PATIENCE: Duration = Duration::from_secs(2);
/// For how long what was heard is kept.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long a file of what was heard may become.
const MOST: u64 = 8 * 1024 * 1024;

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
        // Whatever fails here, the agent runs all the same, only unheard.
        if let Some(stdout) = helper(app, self.record) {
            agent.stdout(stdout);
        }
        let why = agent.exec();
        let shown = program.to_string_lossy();
        Err(Fail::usage(format!("cannot run {shown}: {why}")).hint("see that it is installed."))
    }
}

/// Starts the other half; gives what the agent shall write to.
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
    // In a group of its own: an interrupt at the terminal is for the agent, whose last words are
    // still to be passed on.
    command.stdin(reader).process_group(0).spawn().ok()?;
    Some(writer)
}

/// Passes stdin on to stdout, and ends with it.
fn listen(app: &App, record: bool) -> ! {
    let (send, receive) = acp_proxy::line();
    let journal = Journal::open();
    let keeper = record.then(|| Keeper::new(app));
    let listener = thread::Builder::new().name("listener".to_owned());
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let spawned = listener.spawn(move || {
        // A fault of ours ends the listening and nothing else.
        let _until_here = done;
        hear(&receive, journal, keeper);
    });
    // Without a listener everything is passed on just the same.
    drop(spawned);
    let mut stdout = io::stdout().lock();
    // Nobody is left to tell: who writes will hear it from the pipe.
    drop(acp_proxy::pass_on(&mut io::stdin().lock(), &mut stdout, &send));
    drop(send);
    drop(stdout);
    // The client is not kept waiting for what only concerns us.
    close_stdout();
    match is_done.recv_timeout(PATIENCE) {
        Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
    }
    process::exit(0)
}

/// Lets whoever reads us know that nothing more comes.
fn close_stdout() {
    if let Ok(nowhere) = File::options().write(true).open("/dev/null") {
        rustix::stdio::dup2_stdout(&nowhere).ok();
    }
}

fn hear(receive: &Receiver<Heard>, mut journal: Option<Journal>, mut keeper: Option<Keeper>) {
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
                Told::List { session, entries } => {
                    if let Some(keeper) = &mut keeper {
                        keeper.keep(&session, &entries);
                    }
                }
            }
        }
    }
    if let Some(keeper) = keeper {
        keeper.end();
    }
}

/// What was heard of plans, in a file of this run.
struct Journal {
    file: File,
    began: std::time::Instant,
    written: u64,
}

impl Journal {
    fn open() -> Option<Self> {
        let directory = places::acp_lists().ok()?;
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).ok()?;
        sweep(&directory);
        let name = format!("{}-{}", clock::now().as_millisecond(), process::id());
        let make = |kind: &str| {
            let mut options = OpenOptions::new();
            options.create_new(true).append(true).mode(0o600);
            options.open(directory.join(format!("{name}.{kind}"))).ok()
        };
        // The agent says on which directory it works to nobody that we hear; it mostly is this one.
        if let (Ok(here), Some(mut root)) = (env::current_dir(), make("root")) {
            root.write_all(here.as_os_str().as_encoded_bytes()).ok();
        }
        let file = make("jsonl")?;
        Some(Self { file, began: std::time::Instant::now(), written: 0 })
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

/// Removes files of runs that ended long ago.
fn sweep(directory: &Path) {
    let now = SystemTime::from(clock::now());
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let written = entry.metadata().and_then(|it| it.modified()).ok();
        let is_old = written.and_then(|it| now.duration_since(it).ok()).is_some_and(|it| it > KEPT);
        let is_ours = entry.path().extension().is_some_and(|it| it == "jsonl" || it == "root");
        if is_old && is_ours {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// Keeps lists as plans of the project.
struct Keeper {
    app: App,
    agent: Option<Process>,
    sessions: BTreeSet<String>,
}

impl Keeper {
    fn new(app: &App) -> Self {
        // The agent is what started us, since it took our other half's place.
        let agent = identity::holder("", Some(parent_id())).ok().and_then(|it| it.process);
        Self { app: App::new(app.globals.clone()), agent, sessions: BTreeSet::new() }
    }

    fn keep(&mut self, session: &str, entries: &[ListEntry]) {
        // What could not be kept is kept with the next list, which comes whole.
        if self.write(session, Some(entries)).is_ok() {
            self.sessions.insert(session.to_owned());
        }
    }

    fn end(self) {
        for session in &self.sessions {
            drop(self.write(session, None));
        }
    }

    /// Writes a list, or that its session is over.
    fn write(&self, session: &str, entries: Option<&[ListEntry]>) -> Result<(), Fail> {
        let now = clock::now();
        let app = &self.app;
        let settings = app.settings()?;
        let store = app.store()?;
        let plan = app.globals.plan.as_deref().map(plan_choice::valid_name).transpose()?;
        let project = &app.project()?.name;
        let seen = Seen {
            key: SessionKey { agent: "acp".to_owned(), id: session.to_owned() },
            project: project.clone(),
            directory: app.project()?.root.to_string_lossy().into_owned(),
            process: self.agent.clone(),
            interactive: Some(true),
            now,
            ended: entries.is_none(),
        };
        let recorded = block_on(session::record(&*store, seen))?;
        let Some(entries) = entries else { return Ok(()) };
        let given = Given {
            moment: Moment { now, ids: clock::ids(now)?, host: &identity::host() },
            agent: AgentFacts {
                name: "acp",
                has_server: false,
                tools: None,
                process: self.agent.clone(),
                interactive: Some(true),
                planning: false,
                task_list: None,
            },
            plan: PlanFacts { project, name: plan, new_id: clock::plan_id(now)? },
            settings: settings.conversation(),
            task: &|_, _| None,
            program: &|| "punchlist".to_owned(),
            version: env!("CARGO_PKG_VERSION"),
        };
        Ok(block_on(hook::keep_list(&*store, &given, recorded, "", entries))?)
    }
}
