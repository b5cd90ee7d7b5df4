//! `punchlist sessions`.

use punchlist_agent::session::{Recorded, export, listing};
use punchlist_model::session::Store;
use punchlist_model::store::turns::{Conversation, ConversationFilter, EntryFilter, Turn, Used};
use serde_json::{Value, json};

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{block_on, clock, person};

/// Show the sessions of `do`, or one of them
///
/// The session that changed last comes first. A text finds the sessions that contain it, in their
/// titles and in everything that was said. `show` prints all turns of a session, `export` writes it
/// as a document, `stop` ends a session that runs elsewhere, `forget` deletes one.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
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
    },
    /// Write a session as a document to stdout
    Export {
        /// The beginning or end of its id; the newest of this project if left out
        id: Option<String>,
        /// jsonl, markdown or html
        #[arg(long, value_name = "FORMAT", default_value = "markdown")]
        format: export::Format,
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
  punchlist sessions export 3c1d --format html > session.html
  punchlist sessions stop 3c1d";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        match &self.act {
            None => self.list(app),
            Some(Act::Show { id }) => show(app, id.as_deref()),
            Some(Act::Export { id, format }) => {
                let Stored { conversation, turns, entries } = stored(app, id.as_deref())?;
                Ok(Reply::text(export::export(*format, &conversation, &turns, &entries)))
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
            Some(store) => block_on(store.conversations(filter))?,
            None => Vec::new(),
        };
        if app.globals.json {
            let all: Vec<Value> = all.iter().map(as_json).collect();
            return Ok(Reply::json(&json!({ "sessions": all })));
        }
        if all.is_empty() {
            let place = if self.all { "anywhere" } else { "here" };
            return Ok(Reply::text(format!(
                "No session {place}. `punchlist do TASK` begins one.\n"
            )));
        }
        let screen = app.screen();
        let lines = listing::lines(&all, is_running, &app.view(screen));
        Ok(Reply::text(screen.drawn(&lines)))
    }
}

/// Everything that is stored of a session.
struct Stored {
    conversation: Conversation,
    turns: Vec<Turn>,
    entries: Vec<Recorded>,
}

fn stored(app: &App, id: Option<&str>) -> Result<Stored, Fail> {
    let store = app.store()?;
    let conversation = found(app, &*store, id)?;
    let turns = block_on(store.turns(conversation.id))?;
    let entries = block_on(store.entries(conversation.id, EntryFilter::default()))?;
    let read = |why| Fail::ours(format!("an entry of the session cannot be read: {why}"));
    let entries: Result<Vec<Recorded>, Fail> =
        entries.iter().map(|it| Recorded::read(it).map_err(read)).collect();
    Ok(Stored { conversation, turns, entries: entries? })
}

fn found(app: &App, store: &dyn Store, id: Option<&str>) -> Result<Conversation, Fail> {
    block_on(listing::find(store, &app.project()?.name, id))
}

fn show(app: &App, id: Option<&str>) -> Result<Reply, Fail> {
    let Stored { conversation, turns, entries } = stored(app, id)?;
    if app.globals.json {
        let turns: Vec<Value> = turns.iter().map(turn_json).collect();
        let mut session = as_json(&conversation);
        if let Some(fields) = session.as_object_mut() {
            fields.insert("turnList".to_owned(), turns.into());
        }
        return Ok(Reply::json(&session));
    }
    let mut out = String::new();
    for line in listing::transcript(&conversation, &turns, &entries) {
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
    let text = format!("Session {} is asked to end its turn.\n", conversation.id.short());
    Ok(Reply { changed: true, ..Reply::prose(text) })
}

fn forget(app: &App, id: &str) -> Result<Reply, Fail> {
    person::not_an_agent("sessions are deleted")?;
    let store = app.store()?;
    let conversation = found(app, &*store, Some(id))?;
    block_on(store.forget_conversation(conversation.id, clock::now()))?;
    let text = format!("Session {} is deleted.\n", conversation.id.short());
    Ok(Reply { changed: true, ..Reply::prose(text) })
}

/// Whether a process runs the session, as far as this one can tell.
pub(crate) fn is_running(conversation: &Conversation) -> bool {
    let Some(runner) = &conversation.runner else { return false };
    let has_ended = |it| punchlist_bridge::process::has_ended(&crate::identity::host(), it);
    runner.until > clock::now() && !runner.process.as_ref().is_some_and(has_ended)
}

fn as_json(it: &Conversation) -> Value {
    json!({
        "id": it.id.to_string(),
        "project": it.project,
        "title": it.title,
        "state": listing::state(it, is_running(it), clock::now()),
        "running": is_running(it),
        "turns": it.turns,
        "used": used_json(it.used),
        "createdAt": it.created_at.to_string(),
        "changedAt": it.changed_at.to_string(),
    })
}

fn turn_json(it: &Turn) -> Value {
    json!({
        "turn": it.number,
        "id": it.id,
        "plan": it.plan.map(|plan| plan.to_string()),
        "ending": it.ending,
        "beganAt": it.began_at.to_string(),
        "endedAt": it.ended_at.map(|at| at.to_string()),
        "used": used_json(it.used),
    })
}

fn used_json(it: Used) -> Value {
    json!({
        "calls": it.calls,
        "input": it.input,
        "output": it.output,
        "costMicros": it.cost_micros,
    })
}
