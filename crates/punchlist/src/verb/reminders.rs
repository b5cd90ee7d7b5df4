//! `punchlist reminders`.

use punchlist_engine::session;
use punchlist_formats::view::ledger;
use punchlist_model::Session;
use punchlist_model::session::SessionFilter;

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::identity;
use crate::print::Reply;

/// Show the reminders that agents got, and their cost
///
/// For each kind of reminder and each session: how many reminders were given, about how many tokens
/// they cost (a quarter of their bytes), how many the agent acted on in its next turn, and how many
/// it did not. The agent acts on a reminder by writing the list, and on an offer by adopting the
/// plan; writes of sub-agents do not count. For a nag, the next turn is the next model turn; for
/// all others, it lasts until the agent stops. The configuration keys `reminders.*` disable kinds
/// of reminders or make them rarer.
#[derive(clap::Args)]
pub(crate) struct Reminders {
    /// Show the sessions of every project
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
            let host = identity::host();
            let is_live = |it: &Session| session::is_live(it, &host, app.now);
            return Ok(Reply::json(&ledger::json(&sessions, is_live)));
        }
        if sessions.is_empty() {
            let place = if self.all { "anywhere" } else { "here" };
            return Ok(Reply::text(format!("There is no agent session {place} yet.\n")));
        }
        let screen = app.screen();
        Ok(Reply::prose(screen.drawn(&ledger::ledger(&sessions, &app.view(screen)))))
    }
}
