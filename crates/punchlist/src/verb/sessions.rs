//! `punchlist sessions`.

mod queue;
mod todos;

use punchlist_agent::leader::LedBy;
use punchlist_agent::session::export::{self, Format};
use punchlist_agent::session::{StoredSession, listing, stored};
use punchlist_formats::text::one_line;
use punchlist_model::session::Store;
use punchlist_model::store::turns::{Conversation, ConversationFilter};
use serde_json::{Value, json};

use super::{Group, Verb};
use crate::app::App;
use crate::clock::{self, Clock};
use crate::fail::Fail;
use crate::print::Reply;
use crate::{block_on, person};

/// Show the sessions of `do`, or one of them
///
/// The session that changed last comes first. A text finds the sessions that contain it, in their
/// titles and in everything that was said. `show` prints all turns of a session, `queue` the messages
/// that wait in it, `export` writes it as a document, `stop` ends a session that runs elsewhere,
/// `forget` deletes one.
///
/// Sessions that an agent leads (`do --agent`) are listed with the command that goes on with them in the
/// agent's program. Of those, only the requests and the answers are stored here.
#[derive(clap::Args)]
pub(crate) struct Sessions {
    /// Only sessions that contain this text
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Show the sessions of every project
    #[arg(long)]
    all: bool,
    #[command(subcommand)]
    act: Option<Act>,
}

/// The commands of `sessions`.
#[derive(clap::Subcommand)]
enum Act {
    /// Show all turns of a session
    Show {
        /// The beginning or end of its id; the newest of this project if left out
        id: Option<String>,
        #[command(flatten)]
        todos: todos::TodoArgs,
    },
    /// Show or change the messages that wait in a session
    ///
    /// A message waits until the turn that runs has ended. After an abort, an error or a limit the
    /// queue is paused. A MESSAGE is the beginning or end of its id.
    Queue {
        /// The beginning or end of its id; the newest of this project if left out
        id: Option<String>,
        #[command(flatten)]
        change: queue::QueueArgs,
    },
    /// Write a session as a document to stdout
    Export {
        /// The beginning or end of its id; the newest of this project if left out
        id: Option<String>,
        /// markdown, html or jsonl; markdown if left out, jsonl with `--json`
        #[arg(long, value_name = "FORMAT")]
        format: Option<Format>,
    },
    /// Ask a session that runs elsewhere to end its turn
    Stop {
        /// The beginning or end of its id
        id: String,
    },
    /// Delete a session with everything that was said; its plans stay
    Forget {
        /// The beginning or end of its id
        id: String,
    },
}

impl Verb for Sessions {
    const NAME: &'static str = "sessions";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist sessions
  punchlist sessions \"release note\" --all
  punchlist sessions show 3c1d
  punchlist sessions show 3c1d --todos --status pending
  punchlist sessions queue 3c1d --add \"then write the tests\"
  punchlist sessions export 3c1d --format html > session.html
  punchlist sessions stop 3c1d
  punchlist sessions forget 3c1d";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        match &self.act {
            None => self.list(app),
            Some(Act::Show { id, todos }) if todos.todos => todos::show(app, id.as_deref(), todos),
            Some(Act::Show { id, .. }) => show(app, id.as_deref()),
            Some(Act::Queue { id, change }) => queue::queue(app, id.as_deref(), change),
            Some(Act::Export { id, format }) => {
                let StoredSession { conversation, turns, entries } = whole(app, id.as_deref())?;
                let usual = if app.globals.json { Format::Jsonl } else { Format::Markdown };
                let format = format.unwrap_or(usual);
                Ok(Reply::text(export::export(format, &conversation, &turns, &entries)))
            }
            Some(Act::Stop { id }) => stop(app, id),
            Some(Act::Forget { id }) => forget(app, id),
        }
    }
}

impl Sessions {
    fn list(&self, app: &App) -> Result<Reply, Fail> {
        let project = if self.all { None } else { Some(app.project()?.name.clone()) };
        let filter = ConversationFilter {
            project,
            text: self.text.clone(),
            ..ConversationFilter::default()
        };
        let all = match app.store_to_read()? {
            Some(store) => block_on(stored::all(&*store, filter, &Clock))?,
            None => Vec::new(),
        };
        if app.globals.json {
            let all: Vec<Value> = all.iter().map(|it| stored::json(it, &Clock)).collect();
            return Ok(Reply::json(&json!({ "sessions": all })));
        }
        if all.is_empty() {
            let place = if self.all { "anywhere" } else { "here" };
            return Ok(Reply::text(match &self.text {
                Some(text) => format!("No session {place} contains {:?}.\n", one_line(text)),
                None => format!("No session {place}. `punchlist do TASK` begins one.\n"),
            }));
        }
        let screen = app.screen();
        let lines = listing::lines(&all, is_running, &app.view(screen));
        Ok(Reply::text(screen.drawn(&lines)))
    }
}

/// Everything that is stored of a session.
fn whole(app: &App, id: Option<&str>) -> Result<StoredSession, Fail> {
    let store = app.store()?;
    let conversation = found(app, &*store, id)?;
    block_on(StoredSession::read(&*store, conversation))
}

fn found(app: &App, store: &dyn Store, id: Option<&str>) -> Result<Conversation, Fail> {
    block_on(listing::find(store, &app.project()?.name, id))
}

fn show(app: &App, id: Option<&str>) -> Result<Reply, Fail> {
    let stored = whole(app, id)?;
    if app.globals.json {
        return Ok(Reply::json(&stored.json(&Clock)));
    }
    let mut out = String::new();
    for line in stored.transcript(&Clock) {
        out.push_str(&app.screen().line(&line));
        out.push('\n');
    }
    Ok(Reply { out, prose: true, ..Reply::default() })
}

fn stop(app: &App, id: &str) -> Result<Reply, Fail> {
    let store = app.store()?;
    let conversation = found(app, &*store, Some(id))?;
    if !is_running(&conversation) {
        return Err(Fail::refused(format!("session {} does not run", conversation.id.short()))
            .hint("`punchlist sessions` shows which run."));
    }
    block_on(store.ask_to_stop(conversation.id, clock::now()))?;
    if app.globals.json {
        let value = json!({"id": conversation.id.to_string(), "stopAsked": true});
        return Ok(Reply { changed: true, ..Reply::json(&value) });
    }
    let short = conversation.id.short();
    let text = match LedBy::of(&conversation) {
        Some(led_by) => {
            let title = led_by.agent.title();
            format!("Session {short} is asked to end: the program of {title} is stopped.\n")
        }
        None => format!("Session {short} is asked to end its turn.\n"),
    };
    Ok(Reply { changed: true, ..Reply::prose(text) })
}

fn forget(app: &App, id: &str) -> Result<Reply, Fail> {
    person::not_an_agent("sessions are deleted")?;
    let store = app.store()?;
    let conversation = found(app, &*store, Some(id))?;
    block_on(store.forget_conversation(conversation.id, clock::now()))?;
    if app.globals.json {
        let value = json!({"id": conversation.id.to_string(), "forgotten": true});
        return Ok(Reply { changed: true, ..Reply::json(&value) });
    }
    let short = conversation.id.short();
    let text = match LedBy::of(&conversation) {
        Some(led_by) => {
            let title = led_by.agent.title();
            format!("Session {short} is deleted here. {title} keeps its own files of it.\n")
        }
        None => format!("Session {short} is deleted.\n"),
    };
    Ok(Reply { changed: true, ..Reply::prose(text) })
}

/// Whether a process runs the session, as far as this one can tell.
pub(crate) fn is_running(conversation: &Conversation) -> bool {
    listing::is_running(conversation, &Clock)
}
