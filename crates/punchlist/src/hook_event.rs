//! One event of an agent's hook against the store: decided now, or kept in the spool and applied later.

use std::env;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use punchlist_bridge::doctor::BUT;
use punchlist_engine::hook::spool::{Spool, Spooled, Taken};
use punchlist_engine::hook::{self, AgentFacts, Given, Moment, PlanFacts, failures};
use punchlist_engine::session::{agent_process, attended, is_called, only_plans};
use punchlist_formats::hook::{Agent, Answer, Event, Task, What, claude, gemini};
use punchlist_model::store::Error;
use punchlist_model::{Process, Timestamp};

use crate::app::App;
use crate::args::Globals;
use crate::block_on;
use crate::error::{Code, Fail};
use crate::{called, clock, identity, places, plan_choice, repository};

/// The longest file of a task that is read.
const MOST_TASK: u64 = 1024 * 1024;

/// What a hook finds around itself, besides the event.
pub(crate) struct Found {
    pub(crate) now: Timestamp,
    pub(crate) has_server: bool,
    plan: Option<String>,
    process: Option<Process>,
    interactive: Option<bool>,
    planning: bool,
    task_list: Option<String>,
}

impl Found {
    /// Around this process.
    pub(crate) fn look(app: &App, agent: Agent, has_server: bool) -> Self {
        let ancestors = identity::ancestors(|it| is_called(agent.as_str(), it));
        let own = agent_process(agent.as_str(), &ancestors);
        Self {
            now: app.now,
            has_server,
            plan: app.globals.plan.clone().or_else(|| variable("PUNCHLIST_PLAN")),
            process: own.map(|it| it.process.clone()),
            interactive: match agent {
                Agent::Claude => interactive(
                    variable("CLAUDE_CODE_ENTRYPOINT").as_deref(),
                    variable("CLAUDE_CODE_SESSION_ATTENDED").as_deref(),
                ),
                Agent::Codex | Agent::Gemini => own.and_then(|it| attended(agent.as_str(), it)),
            },
            planning: own.is_some_and(|it| only_plans(agent.as_str(), it)),
            task_list: variable("CLAUDE_CODE_TASK_LIST_ID").filter(|_| agent == Agent::Claude),
        }
    }

    fn of(event: &Spooled) -> Self {
        Self {
            now: event.at,
            has_server: event.has_server,
            plan: event.plan.clone(),
            process: event.process.clone(),
            interactive: event.interactive,
            planning: event.planning,
            task_list: event.task_list.clone(),
        }
    }

    /// The event as it is kept until it can be applied.
    pub(crate) fn spooled(&self, agent: Agent, event: Option<&str>, input: &[u8]) -> Spooled {
        Spooled {
            at: self.now,
            agent: agent.as_str().to_owned(),
            event: event.map(str::to_owned),
            has_server: self.has_server,
            plan: self.plan.clone(),
            process: self.process.clone(),
            interactive: self.interactive,
            planning: self.planning,
            task_list: self.task_list.clone(),
            input: String::from_utf8_lossy(input).into_owned(),
        }
    }
}

/// Why an event came to nothing.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The store cannot be used now: the event can be applied later.
    Store(String),
    /// It never will.
    Event(String),
}

impl Failed {
    /// In words.
    pub(crate) fn words(self) -> String {
        match self {
            Self::Store(words) | Self::Event(words) => words,
        }
    }
}

impl From<Fail> for Failed {
    fn from(fail: Fail) -> Self {
        if fail.code == Code::Unusable {
            Self::Store(fail.message)
        } else {
            Self::Event(fail.message)
        }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        let words = failures::describe(&error);
        match error {
            Error::NewerSchema { .. }
            | Error::ReadOnly(_)
            | Error::Busy(_)
            | Error::Unusable { .. }
            | Error::Unconfirmed { .. } => Self::Store(words),
            Error::Refused(_)
            | Error::Revision { .. }
            | Error::Undo(_)
            | Error::NoPlan(_)
            | Error::NoRun(_)
            | Error::NoCall { .. }
            | Error::CallMoved { .. }
            | Error::NoQuestion(_)
            | Error::Message(_)
            | Error::NameTaken(_)
            | Error::Exists(_)
            | Error::AlreadyMade(_) => Self::Event(words),
        }
    }
}

/// What to say to the agent. `app` is the call as if made where the event happened ([`at`]).
pub(crate) fn decide(
    app: &App,
    agent: Agent,
    event: &Event,
    found: &Found,
) -> Result<Answer, Failed> {
    if event.what == What::Doctor {
        // A hook that cannot open its store would fail later, in silence.
        let but = app.store_to_read().err().map(|fail| format!("{BUT}{}", fail.message));
        let version = env!("CARGO_PKG_VERSION");
        return Ok(Answer::Message(format!("punchlist {version}{}", but.unwrap_or_default())));
    }
    let project = app.project()?;
    let settings = app.settings()?;
    let store = app.store()?;
    let plan = found.plan.as_deref().map(plan_choice::valid_name).transpose()?;
    let read_task = |list: &str, id: &str| task(agent, event, list, id);
    let globals = app.globals.clone();
    let program = || called::in_a_shell(&App::new(globals.clone()));
    let given = Given {
        moment: Moment { now: found.now, ids: clock::ids(found.now)?, host: &identity::host() },
        agent: AgentFacts {
            name: agent.as_str(),
            has_server: found.has_server,
            tools: None,
            process: found.process.clone(),
            interactive: found.interactive,
            planning: found.planning,
            task_list: found.task_list.as_deref(),
        },
        plan: PlanFacts { project: &project.name, name: plan, new_id: clock::plan_id(found.now)? },
        settings: settings.conversation(),
        task: &read_task,
        program: &program,
        version: env!("CARGO_PKG_VERSION"),
    };
    let answer = block_on(hook::answer(&*store, event, &given));
    if matches!(event.what, What::Begins(_)) && answer.is_ok() {
        repository::note(app.database()?, project, repository::SHORT_PATIENCE);
    }
    Ok(answer?)
}

/// The call as if made in the directory that the event names.
pub(crate) fn at(app: &App, event: &Event) -> Result<App, String> {
    let mut globals = app.globals.clone();
    if let Some(db) = globals.db.take() {
        globals.db = Some(std::path::absolute(db).map_err(|why| format!("--db: {why}"))?);
    }
    Ok(within(globals, event))
}

fn within(mut globals: Globals, event: &Event) -> App {
    let directory = PathBuf::from(&event.directory);
    if directory.is_absolute() && directory.is_dir() {
        globals.directory = Some(directory);
    }
    App::catching_up(globals)
}

/// Where events of a database are kept that cannot be applied.
pub(crate) fn spool(database: &Path) -> Spool {
    let whole = std::path::absolute(database).unwrap_or_else(|_| database.to_owned());
    let whole = fs::canonicalize(&whole).unwrap_or(whole);
    Spool::of(&whole, places::data().ok().as_deref())
}

/// What came of applying the events that wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CaughtUp {
    /// None waits any more.
    Yes,
    /// Some do: the store cannot be used, somebody else applies them, or there was no time for more.
    No,
}

/// Applies the events that wait for a database, until a time.
pub(crate) fn catch_up(database: &Path, until: Option<Instant>) -> CaughtUp {
    let spool = spool(database);
    if spool.waiting().is_empty() {
        return CaughtUp::Yes;
    }
    let events = match spool.take() {
        Ok(Taken::Nothing) => return CaughtUp::Yes,
        Ok(Taken::ByAnother) | Err(_) => return CaughtUp::No,
        Ok(Taken::Events(events)) => events,
    };
    let is_done = events.apply(|event| {
        if until.is_some_and(|until| Instant::now() >= until) {
            return false;
        }
        match event.as_ref().map(|it| apply(database, it)) {
            Some(Err(Failed::Store(_))) => false,
            Some(Err(Failed::Event(why))) => {
                note(event.as_ref(), &why);
                true
            }
            None => {
                note(None, "an event that was kept cannot be read");
                true
            }
            Some(Ok(())) => true,
        }
    });
    if is_done { CaughtUp::Yes } else { CaughtUp::No }
}

fn apply(database: &Path, kept: &Spooled) -> Result<(), Failed> {
    let agent = Agent::named(&kept.agent)
        .ok_or_else(|| Failed::Event(format!("there is no agent {:?}", kept.agent)))?;
    let Some(event) = agent.read(kept.input.as_bytes(), kept.event.as_deref()) else {
        return Ok(());
    };
    let globals = Globals { db: Some(database.to_owned()), ..Globals::default() };
    // What is said to the agent, it would have had to hear then.
    decide(&within(globals, &event), agent, &event, &Found::of(kept)).map(drop)
}

fn note(kept: Option<&Spooled>, what: &str) {
    let failure = failures::Failure {
        at: clock::now(),
        agent: kept.map(|it| it.agent.clone()).unwrap_or_default(),
        event: kept.and_then(|it| it.event.clone()),
        what: format!("an event that was kept came to nothing: {what}"),
    };
    if let Ok(directory) = places::data() {
        failures::note(&directory, &failure).ok();
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
