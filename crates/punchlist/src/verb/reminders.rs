//! `punchlist reminders`.

use punchlist_engine::session;
use punchlist_formats::view::{json, ledger};
use punchlist_model::Session;
use punchlist_model::remind::{Kind, Ledger, Tally};
use punchlist_model::session::SessionFilter;
use serde_json::{Value, json};

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::error::Fail;
use crate::identity;
use crate::print::Reply;

/// Show what agents were reminded of, and what that cost
///
/// For each kind of reminder and each session: how many were given, what they cost in tokens (about:
/// a quarter of the bytes), after how many the next turn acted on them, and after how many it did not.
/// To act is to write the list, and for an offer to adopt what was offered; what sub-agents write does not
/// count. The next turn of a nag is the model's, of all others the agent's, up to its stop. The keys `reminders.*` of the configuration switch kinds off or make them rarer.
#[derive(clap::Args)]
pub(crate) struct Reminders {
    /// Sessions of every project
    #[arg(long)]
    all: bool,
}

impl Verb for Reminders {
    const NAME: &'static str = "reminders";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist reminders
  punchlist reminders --all --json";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let project = if self.all { None } else { Some(app.project()?.name.clone()) };
        let sessions = match app.store_to_read()? {
            Some(store) => {
                let filter = SessionFilter { project, ..SessionFilter::default() };
                block_on(store.sessions(filter))?
            }
            None => Vec::new(),
        };
        if app.globals.json {
            return Ok(Reply::json(&value(app, &sessions)));
        }
        if sessions.is_empty() {
            let place = if self.all { "anywhere" } else { "here" };
            return Ok(Reply::text(format!("No agent's session is known {place} yet.\n")));
        }
        let screen = app.screen();
        Ok(Reply::prose(screen.drawn(&ledger::ledger(&sessions, &app.view(screen)))))
    }
}

fn value(app: &App, sessions: &[Session]) -> Value {
    let host = identity::host();
    let one = |it: &Session| {
        json!({
            "agent": it.key.agent,
            "session": it.key.id,
            "project": it.project,
            "live": session::is_live(it, &host, app.now),
            "begunAt": json::time(it.begun_at),
            "seenAt": json::time(it.seen_at),
            "kinds": kinds(&it.memory.watch.ledger),
            "total": tally(it.memory.watch.ledger.total()),
        })
    };
    let all = ledger::sum(sessions);
    json!({
        "sessions": sessions.iter().map(one).collect::<Vec<_>>(),
        "kinds": kinds(&all),
        "total": tally(all.total()),
    })
}

fn kinds(ledger: &Ledger) -> Value {
    let of = |kind: Kind| ledger.kinds.get(&kind).copied().unwrap_or_default();
    let kinds = Kind::ALL.into_iter().map(|kind| (kind.as_str().to_owned(), tally(of(kind))));
    json::camel_case(Value::Object(kinds.collect()))
}

fn tally(tally: Tally) -> Value {
    json!(tally)
}
