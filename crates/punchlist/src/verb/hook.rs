//! `punchlist hook`.
//!
//! Whatever happens, the agent must continue: exit code 0, within two seconds, and nothing on
//! stdout but a whole answer. Failures are logged for `doctor`.

use std::io::{self, Read};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use punchlist_engine::hook::{UnderWay, failures, spool};
use punchlist_engine::notices::Notice;
use punchlist_formats::hook::{Agent, Event, Version};

use super::{Group, Verb};
use crate::app::App;
use crate::database::StoreOptions;
use crate::fail::Fail;
use crate::hook_event;
use crate::print::Reply;
use crate::{clock, notify, person, places};

/// Handle a hook event of an agent
///
/// The agent calls this verb once `punchlist install` has set it up; the event arrives as JSON on
/// stdin. The hook stores the agent's own list as a plan, refuses a stop while items are open, and
/// gives the agent its list again after a compaction. A failure never stops the agent: the exit
/// code is always 0, nothing but the answer is printed, and `punchlist doctor` shows what failed.
/// If the database cannot be written, the event goes to a spool beside it; the next hook or verb
/// applies it.
#[derive(clap::Args, Debug)]
pub(crate) struct Hook {
    /// The agent: claude, codex, gemini
    #[arg(value_name = "AGENT")]
    agent: String,
    /// The event's name, in any case [default: as in the JSON]
    #[arg(value_name = "EVENT")]
    event: Option<String>,
    /// The agent has no Punchlist MCP server, so the hook does not mention its tools
    #[arg(long)]
    own_tools: bool,
}

/// Maximum size of the input.
const MOST_INPUT: u64 = 16 * 1024 * 1024;
/// The process ends itself after this time.
const CEILING: Duration = Duration::from_millis(1_800);
/// How long applying the spool may delay this event.
const CATCH_UP: Duration = Duration::from_millis(800);

/// Set by whichever comes first: the answer, which is printed, or the watchdog, which ends the
/// process.
static SETTLED: AtomicBool = AtomicBool::new(false);

/// The event that is being handled. The watchdog spools it if that takes too long.
static UNDER_WAY: UnderWay = UnderWay::new();

impl Verb for Hook {
    const NAME: &'static str = "hook";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist hook claude < event.json
  echo '{\"hook_event_name\": \"PunchlistDoctor\"}' | punchlist hook claude";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        person::serve_agent();
        let log = Log { directory: directory(app), agent: self.agent.clone() };
        watch(log.clone());
        // The exit code of a panic could be taken for an answer.
        let answer = panic::catch_unwind(AssertUnwindSafe(|| self.answer(app, &log)));
        let answer = answer.unwrap_or_else(|_| {
            log.note(app, None, "the hook panicked");
            None
        });
        if SETTLED.swap(true, Ordering::SeqCst) {
            return Ok(Reply::default());
        }
        Ok(answer.map_or_else(Reply::default, |json| Reply::text(json + "\n")))
    }
}

impl Hook {
    /// The answer, if there is one.
    fn answer(&self, app: &App, log: &Log) -> Option<String> {
        let Some(agent) = Agent::named(&self.agent) else {
            log.note(app, None, "unknown agent: use claude, codex or gemini");
            return None;
        };
        let bytes = match stdin() {
            Ok(bytes) => bytes,
            Err(why) => {
                log.note(app, None, &format!("cannot read stdin: {why}"));
                return None;
            }
        };
        let event = agent.read(&bytes, self.event.as_deref())?;
        let name = Some(agent.event(&event.what));
        let decided = match hook_event::at(app, &event) {
            Ok(there) => self.decide(&there, agent, &event, &bytes),
            Err(why) => Err(why),
        };
        match decided {
            Ok(answer) => answer,
            Err(why) => {
                log.note(app, name, &why);
                None
            }
        }
    }

    /// Applies the spooled events, then this one. If the store cannot be used, the event is
    /// spooled, and the error says so.
    fn decide(
        &self,
        app: &App,
        agent: Agent,
        event: &Event,
        bytes: &[u8],
    ) -> Result<Option<String>, String> {
        let facts = hook_event::facts(app, agent, !self.own_tools);
        // A configuration that cannot be read is reported by `decide`, after the event was spooled.
        let options = app
            .database_options()
            .or_else(|_| app.database().map(|path| StoreOptions::file(path)))
            .map_err(|fail| fail.message)?;
        let spool = hook_event::spool(options.path());
        let kept = facts.spooled(agent, self.event.as_deref(), bytes);
        let answer = UNDER_WAY.decide(
            &spool,
            &kept,
            spool::is_kept(&event.what),
            || hook_event::catch_up(&options, &spool, Some(Instant::now() + CATCH_UP)),
            || hook_event::decide(app, agent, event, &facts),
        )?;
        let project = app.project().map_or("", |it| it.name.as_str());
        if let Some(notice) = Notice::hook(agent, event, &answer, project, app.now) {
            // The agent goes on whether its user is told or not.
            notify::from_hook(app, &notice).map_err(|fail| fail.message)?;
        }
        let asks = std::env::var("AI_AGENT").unwrap_or_default();
        Ok(agent.write(&answer, &event.what, Version::of_claude(&asks)))
    }
}

fn stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(MOST_INPUT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_INPUT {
        return Err(io::Error::other("more than 16 MB"));
    }
    Ok(bytes)
}

/// The directory of the failure log: the user's data directory, else the database's.
fn directory(app: &App) -> Option<PathBuf> {
    places::data().ok().or_else(|| Some(app.database().ok()?.parent()?.to_owned()))
}

#[derive(Clone)]
struct Log {
    directory: Option<PathBuf>,
    agent: String,
}

impl Log {
    fn note(&self, app: &App, event: Option<&str>, what: &str) {
        self.write(app.now, event, what);
    }

    fn write(&self, at: punchlist_model::Timestamp, event: Option<&str>, what: &str) {
        let failure = failures::Failure {
            at,
            agent: self.agent.chars().take(40).collect(),
            event: event.map(str::to_owned),
            what: what.to_owned(),
        };
        if let Some(directory) = &self.directory {
            failures::note(directory, &failure).ok();
        }
    }
}

/// The watchdog: ends the process after [`CEILING`], whatever blocks.
fn watch(log: Log) {
    let spawned = thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
        thread::sleep(CEILING);
        if !SETTLED.swap(true, Ordering::SeqCst) {
            log.write(clock::now(), None, &UNDER_WAY.give_up());
            process::exit(0);
        }
    });
    // If the thread cannot be started, the agent's own timeout still applies.
    drop(spawned);
}
