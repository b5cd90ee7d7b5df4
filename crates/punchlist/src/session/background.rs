//! Sessions in the background: `do --detach` starts one, `resume` shows it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use punchlist_agent::session::{
    Answers, Attached, Attachment, Event, JsonEvents, Session, SessionSettings, World,
    stored_settings,
};
use punchlist_bridge::background;
use punchlist_model::store::turns::Conversation;
use punchlist_model::{Actor, ConversationId};
use punchlist_tui::watch;

use super::{Output, reply_with, runtime, session_front_end};
use crate::app::App;
use crate::args::Globals;
use crate::clock::{self, Clock};
use crate::fail::Fail;
use crate::print::{self, Reply};
use crate::{block_on, database, identity, person, places};

/// How long the process in the background may take to begin its turn.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether it has begun.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Begins a session that goes on in the background. `options` are further options of `resume`.
pub(crate) fn detach(
    app: &App,
    world: World,
    settings: SessionSettings,
    task: &str,
    options: &[&str],
) -> Result<Reply, Fail> {
    let model = settings.model.clone();
    let id = runtime()?.block_on(async {
        let session = Session::create(world, settings, task).await?;
        let id = session.id();
        session.close().await?;
        Ok::<_, Fail>(id)
    })?;
    start(app, id, task, options)?;
    let short = id.short();
    if app.globals.json {
        let directory = app.project()?.root.display().to_string();
        let mut events = JsonEvents::new(id);
        print::live_json(events.started(&model, &directory, clock::now()))?;
        if let Some(row) = block_on(app.store()?.turns(id))?.pop() {
            let (turn, request) = (row.number, task.to_owned());
            let began = Event::Began { turn, id: row.id, request, is_resumed: false, plan: None };
            print::live_json(events.event(&began, clock::now()))?;
        }
        return Ok(Reply { changed: true, ..Reply::default() });
    }
    let text = format!(
        "Session {short} works in the background.\n\
         `punchlist resume {short}` shows it, `punchlist sessions stop {short}` ends it.\n"
    );
    Ok(Reply { changed: true, ..Reply::prose(text) })
}

/// Starts the process in the background, and waits until it has begun.
fn start(app: &App, id: ConversationId, task: &str, options: &[&str]) -> Result<(), Fail> {
    let ours = |why: std::io::Error| Fail::ours(format!("the session cannot start: {why}"));
    let program = std::env::current_exe().map_err(ours)?;
    let mut child =
        background::start(&program, &arguments(&app.globals, id, options), task).map_err(ours)?;
    let store = app.store()?;
    let until = Instant::now() + PATIENCE;
    while block_on(store.conversation(id))?.turns == 0 {
        let ended = child.try_wait().map_err(ours)?;
        if ended.is_some() || Instant::now() > until {
            let short = id.short();
            return Err(Fail::refused("the process in the background did not begin to work")
                .hint(format!("`punchlist resume {short} TASK` shows why.")));
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Lets a session that no process runs go on in the background with the messages in its queue. The session
/// is of the given project.
pub(crate) fn waker(app: &App) -> watch::WakeSession {
    let globals = app.globals.clone();
    Box::new(move |id, project| {
        let ours = |why: std::io::Error| Fail::ours(format!("the session cannot go on: {why}"));
        let directory = Some(PathBuf::from(project)).filter(|it| it.is_dir());
        let globals =
            Globals { directory: directory.or(globals.directory.clone()), ..globals.clone() };
        let mut words = arguments(&globals, id, &[]);
        // Nothing but the queue: no text on its stdin.
        words.pop();
        let program = std::env::current_exe().map_err(ours)?;
        let mut child = background::start(&program, &words, "").map_err(ours)?;
        // Nobody else would hear of its end, and it would stay as a zombie.
        thread::spawn(move || child.wait());
        Ok(())
    })
}

/// The call that works on the session in the background.
fn arguments(globals: &Globals, id: ConversationId, options: &[&str]) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut option = |name: &str, value: OsString| words.extend([name.into(), value]);
    if let Some(name) = &globals.name {
        option("--as", name.into());
    }
    if let Some(db) = &globals.db {
        option("--db", db.into());
    }
    if let Some(directory) = &globals.directory {
        option("-C", directory.into());
    }
    for pair in &globals.config {
        option("-c", pair.into());
    }
    words.extend(["resume", "--background", "--wait", "--quiet"].map(OsString::from));
    words.extend(options.iter().map(OsString::from));
    words.extend([id.to_string().into(), "-".into()]);
    words
}

/// Shows a session that another process runs.
pub(crate) fn attach(app: &App, found: &Conversation, output: Output) -> Result<Reply, Fail> {
    let settings = stored_settings(found)?;
    let store = database::open_on_thread(&app.database_options()?)?;
    let may_answer = !app.globals.json
        && print::can_ask()
        && person::at_terminal("a session asks", "resume").is_ok();
    let answers = Answers {
        store: Arc::clone(&store),
        around: Arc::new(Clock),
        person: Actor::person(identity::name(app.globals.name.as_deref())?),
        policy: app.policy()?,
        rules_file: places::config()?,
    };
    let attachment = Attachment::new(store, Arc::new(Clock), may_answer.then_some(answers));
    let short = found.id.short();
    if output == Output::Lines {
        let text = format!("session {short} runs in another process; Ctrl-C leaves it running");
        print::say(&[text]);
    }
    runtime()?.block_on(async {
        let mut front = session_front_end(app, found.id, &settings, output)?;
        let attached = attachment.show(found.id, &mut front).await?;
        drop(front);
        match attached {
            Attached::Ended(ended) => {
                let next = ended.next_command(found.id);
                Ok(Reply { changed: false, ..reply_with(&ended, output, &next) })
            }
            Attached::Detached => {
                print::say(&[format!(
                    "session {short} goes on; `punchlist sessions stop {short}` ends it"
                )]);
                Ok(Reply::default())
            }
            Attached::CutOff => Err(Fail::refused(format!("session {short} was cut off"))
                .hint(format!("`punchlist resume {short}` goes on with it."))),
        }
    })
}
