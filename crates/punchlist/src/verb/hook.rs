//! `punchlist hook`.
//!
//! Whatever happens here, the agent goes on: exit 0, within two seconds, and nothing on stdout but a
//! deliberate answer in one piece. What failed is written down for `doctor`.

use std::env;
use std::fs;
use std::io::{self, Read};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use punchlist_bridge::doctor::BUT;
use punchlist_bridge::hook::{self, Given, failures};
use punchlist_bridge::session::{agent_process, attended, is_called, only_plans};
use punchlist_formats::hook::{Agent, Answer, Event, Task, What, claude, gemini};

use super::{Group, Verb};
use crate::app::App;
use crate::error::Fail;
use crate::print::Reply;
use crate::settle::settle;
use crate::{clock, places, which, who};

/// Answer a hook of an agent
///
/// Called by the agent, which `punchlist install` tells to: the event comes as JSON on stdin. It keeps
/// the agent's own list as a plan, holds a stop while items are open, and puts the list back where the
/// agent lost it. Whatever goes wrong, the agent goes on: the exit code is always 0, nothing is
/// printed but an answer, and `punchlist doctor` shows what failed.
#[derive(clap::Args, Debug)]
pub(crate) struct Hook {
    /// The agent: claude, codex, gemini
    #[arg(value_name = "AGENT")]
    agent: String,
    /// The event, in any case; else the JSON names it
    #[arg(value_name = "EVENT")]
    event: Option<String>,
    /// The agent does not have the tools of our server: it is not told of them
    #[arg(long)]
    own_tools: bool,
}

/// The longest input that is read.
const MOST_INPUT: u64 = 16 * 1024 * 1024;
/// The longest file of a task that is read.
const MOST_TASK: u64 = 1024 * 1024;
/// When the agent has waited long enough.
const CEILING: Duration = Duration::from_secs(2);

/// Whether the answer is settled: by us, who print it, or by the watchdog, who ends the process.
static SETTLED: AtomicBool = AtomicBool::new(false);

impl Verb for Hook {
    const NAME: &'static str = "hook";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist hook claude < event.json
  echo '{\"hook_event_name\": \"PunchlistDoctor\"}' | punchlist hook claude";

    /// As it is installed, which is how it is called nearly always.
    fn plain(arguments: &[&str]) -> Option<Self> {
        let (words, own_tools) = match arguments {
            [words @ .., "--own-tools"] => (words, true),
            words => (words, false),
        };
        if words.iter().any(|it| it.starts_with('-')) {
            return None;
        }
        let (agent, event) = match words {
            [agent] => (agent, None),
            [agent, event] => (agent, Some((*event).to_owned())),
            _ => return None,
        };
        Some(Self { agent: (*agent).to_owned(), event, own_tools })
    }

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let log = Log { directory: directory(app), agent: self.agent.clone() };
        watch(log.clone());
        // A fault of ours must not look like a deliberate exit code.
        let answer = panic::catch_unwind(AssertUnwindSafe(|| self.answer(app, &log)));
        let answer = answer.unwrap_or_else(|_| {
            log.note(app, None, "the hook broke down");
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
            log.note(app, None, "there is no such agent: use claude, codex or gemini");
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
        match decide(app, agent, &event, !self.own_tools) {
            Ok(answer) => agent.write(&answer, &event.what),
            Err(why) => {
                log.note(app, Some(agent.event(&event.what)), &why);
                None
            }
        }
    }
}

fn decide(app: &App, agent: Agent, event: &Event, has_server: bool) -> Result<Answer, String> {
    let told = |fail: Fail| fail.message;
    let app = &at(app, event)?;
    if event.what == What::Doctor {
        // A hook that cannot open its store would fail later, in silence.
        let but = app.store_to_read().err().map(|fail| format!("{BUT}{}", fail.message));
        let version = env!("CARGO_PKG_VERSION");
        return Ok(Answer::Message(format!("punchlist {version}{}", but.unwrap_or_default())));
    }
    let project = app.project().map_err(told)?;
    let settings = app.settings().map_err(told)?;
    let store = app.store().map_err(told)?;
    let named = app.globals.plan.clone().or_else(|| variable("PUNCHLIST_PLAN"));
    let plan = named.as_deref().map(which::valid_name).transpose().map_err(told)?;
    let ancestors = who::ancestors(|it| is_called(agent.as_str(), it));
    let own = agent_process(agent.as_str(), &ancestors);
    let read_task = |list: &str, id: &str| task(agent, event, list, id);
    let task_list = variable("CLAUDE_CODE_TASK_LIST_ID").filter(|_| agent == Agent::Claude);
    let given = Given {
        agent: agent.as_str(),
        has_server,
        now: app.now,
        ids: clock::ids(app.now).map_err(told)?,
        plan_id: clock::plan_id(app.now).map_err(told)?,
        project: &project.name,
        plan,
        host: &who::host(),
        process: own.map(|it| it.process.clone()),
        interactive: match agent {
            Agent::Claude => interactive(
                variable("CLAUDE_CODE_ENTRYPOINT").as_deref(),
                variable("CLAUDE_CODE_SESSION_ATTENDED").as_deref(),
            ),
            Agent::Codex | Agent::Gemini => own.and_then(|it| attended(agent.as_str(), it)),
        },
        planning: own.is_some_and(|it| only_plans(agent.as_str(), it)),
        gate: settings.gate,
        policy: &settings.reminders,
        tag: &settings.tag,
        limits: settings.limits,
        task: &read_task,
        task_list: task_list.as_deref(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let answer = settle(hook::answer(&store, event, &given));
    store.let_go();
    answer.map_err(|error| failures::describe(&error))
}

/// The call as if made in the directory that the event names.
fn at(app: &App, event: &Event) -> Result<App, String> {
    let mut globals = app.globals.clone();
    if let Some(db) = globals.db.take() {
        globals.db = Some(std::path::absolute(db).map_err(|why| format!("--db: {why}"))?);
    }
    let directory = PathBuf::from(&event.directory);
    if directory.is_absolute() && directory.is_dir() {
        globals.directory = Some(directory);
    }
    Ok(App::new(globals))
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Whether somebody sits before the agent: newer versions say so, of older ones it is known by how
/// they were started.
fn interactive(entrypoint: Option<&str>, attended: Option<&str>) -> Option<bool> {
    match (attended, entrypoint) {
        (Some("1"), _) => Some(true),
        (Some("0"), _) => Some(false),
        (_, Some("cli")) => Some(true),
        (_, Some(entrypoint)) if entrypoint.starts_with("sdk-") => Some(false),
        (_, Some(_) | None) => None,
    }
}

/// Where the agent keeps its own files.
fn config_dir() -> Option<PathBuf> {
    variable("CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".claude")))
}

/// A task as the agent keeps it in a file. Ids come from outside, and are names of files here.
fn task(agent: Agent, event: &Event, list: &str, id: &str) -> Option<Task> {
    let is_name = |text: &str| {
        !text.is_empty() && text.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it))
    };
    if !is_name(list) || !is_name(id) {
        return None;
    }
    let folder = match agent {
        Agent::Claude => config_dir()?.join("tasks").join(list),
        // Beside the folder of the conversation.
        Agent::Gemini => {
            let chats = Path::new(&event.transcript).parent()?;
            chats.parent()?.join(list).join("tracker")
        }
        Agent::Codex => return None,
    };
    let path = folder.join(format!("{id}.json"));
    // What is no plain file could keep us waiting.
    if !fs::symlink_metadata(&path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MOST_TASK).read_to_end(&mut bytes).ok()?;
    match agent {
        Agent::Claude => claude::task_file(&bytes),
        Agent::Gemini => gemini::task_file(&bytes),
        Agent::Codex => None,
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

/// Where failures are written down: the user's data directory, else beside the database.
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

/// Ends the process when the agent has waited long enough, whatever holds us up.
fn watch(log: Log) {
    let spawned = thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
        thread::sleep(CEILING);
        if !SETTLED.swap(true, Ordering::SeqCst) {
            log.write(clock::now(), None, "no answer within 2 seconds");
            process::exit(0);
        }
    });
    // Without a second thread there is still the time-out of the agent's own.
    drop(spawned);
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;
    use crate::args::{self, Globals};
    use crate::verb;

    #[test]
    fn plain_arguments_mean_what_the_parser_takes_them_for() {
        let row = verb::find(Hook::NAME).unwrap();
        for (line, is_plain) in [
            ("claude", true),
            ("claude --db /x/y.db", true),
            ("--db y.db claude --own-tools", true),
            ("gemini AfterAgent", true),
            ("codex stop --db /x --own-tools", true),
            ("nobody", true),
            ("", false),
            ("claude stop more", false),
            ("claude --own-tools stop", false),
            ("claude --own-tools --own-tools", false),
            ("claude --db", false),
            ("claude --db --own-tools", false),
            ("claude --db=/x", false),
            ("claude --db a --db b", false),
            ("claude --json", false),
            ("claude -c gate=off", false),
            ("claude --plan x", false),
            ("claude --help", false),
            ("-- claude", false),
            ("claude --", false),
        ] {
            let words: Vec<std::ffi::OsString> = line.split_whitespace().map(Into::into).collect();
            let plain = args::plain(row, &words);
            assert_eq!(plain.is_some(), is_plain, "{line}");
            let Some((globals, _)) = plain else { continue };
            let left: Vec<&str> = line.split_whitespace().collect();
            let left: Vec<&str> = match left.iter().position(|it| *it == "--db") {
                Some(at) => [&left[..at], &left[at + 2..]].concat(),
                None => left,
            };
            let mut parsed = args::alone(row).try_get_matches_from(&words).unwrap();
            let same = Globals::from_arg_matches_mut(&mut parsed).unwrap();
            assert_eq!(format!("{globals:?}"), format!("{same:?}"), "{line}");
            let same = Hook::from_arg_matches_mut(&mut parsed).unwrap();
            assert_eq!(format!("{:?}", Hook::plain(&left).unwrap()), format!("{same:?}"), "{line}");
        }
    }

    #[test]
    fn whether_somebody_sits_there_is_told_by_newer_versions_and_guessed_of_older_ones() {
        for (entrypoint, attended, expected) in [
            (Some("cli"), None, Some(true)),
            (Some("sdk-cli"), None, Some(false)),
            (Some("sdk-ts"), None, Some(false)),
            (Some("claude-vscode"), None, None),
            (Some("claude-code-github-action"), Some("0"), Some(false)),
            (Some("claude-vscode"), Some("1"), Some(true)),
            (Some("cli"), Some("0"), Some(false)),
            (Some("cli"), Some("maybe"), Some(true)),
            (None, Some("1"), Some(true)),
            (None, None, None),
        ] {
            assert_eq!(interactive(entrypoint, attended), expected, "{entrypoint:?} {attended:?}");
        }
    }
}
