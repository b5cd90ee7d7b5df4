//! `punchlist gate`.

use punchlist_engine::session::{self, HoldingGate};
use punchlist_model::Session;
use punchlist_model::guard::Gate as Setting;

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::current_session;
use crate::fail::Fail;
use crate::person::{self, Act};
use crate::print::Reply;

/// Show or set how often an agent's stop may be refused
///
/// When an agent wants to stop while items are open, the gate refuses and tells the agent what is
/// open: with `once`, one time per prompt; with `full`, up to 8 times while the agent makes
/// progress; with `off`, never. The setting applies at once and to one session; the configuration
/// key `gate` applies to all sessions. The default is `once` in interactive sessions and `full` in
/// headless ones. Only a person at a terminal can loosen the gate, and confirms it with a key.
#[derive(clap::Args)]
pub(crate) struct Gate {
    /// off, once or full; default removes the session's own setting
    #[arg(value_name = "SETTING", value_enum, hide_possible_values = true)]
    setting: Option<Wanted>,
    /// The session: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// The values of `SETTING`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Wanted {
    /// Never refuse
    Off,
    /// Refuse once per prompt
    Once,
    /// Refuse up to 8 times while the agent makes progress
    Full,
    /// Use the configured setting
    Default,
}

impl Wanted {
    fn setting(self) -> Option<Setting> {
        match self {
            Self::Off => Some(Setting::Off),
            Self::Once => Some(Setting::Once),
            Self::Full => Some(Setting::Full),
            Self::Default => None,
        }
    }
}

impl Verb for Gate {
    const NAME: &'static str = "gate";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist gate
  punchlist gate off
  punchlist gate full --session 7f3a
  punchlist gate default";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let configured = app.settings()?.gate;
        let Some(wanted) = self.setting else {
            let session = match app.store_to_read()? {
                Some(store) => current_session::for_verb(app, &*store, self.session.as_deref())?,
                None if self.session.is_some() => return Err(no_session()),
                None => None,
            };
            return Ok(shown(app, session.as_ref(), configured));
        };
        person::not_an_agent("the gate is set")?;
        if !app.has_store()? {
            return Err(no_session());
        }
        let store = app.store()?;
        let session = current_session::for_verb(app, &*store, self.session.as_deref())?
            .ok_or_else(no_session)?;
        let holds = HoldingGate::of(Some(&session), configured).setting;
        let then = HoldingGate::with(wanted.setting(), session.interactive, configured).setting;
        if then < holds {
            let (what, otherwise) = ("the gate is loosened", "the gate stays as it was");
            let name = session.actor_name("");
            let question =
                format!("Set the gate of {name} from {} to {}?", holds.as_str(), then.as_str());
            Act { what, verb: "gate", about: &[], question: &question, otherwise }.confirm()?;
        }
        let set = block_on(session::update(&*store, &session.key, |memory| {
            memory.gate = wanted.setting();
        }))?;
        let session = set.map(|it| it.0).ok_or_else(no_session)?;
        Ok(Reply { changed: true, ..shown(app, Some(&session), configured) })
    }
}

fn no_session() -> Fail {
    Fail::not_found("there is no agent session here").hint(if person::is_agent() {
        "`punchlist doctor` says whether hooks are installed."
    } else {
        "for sessions to come, put `gate = \"off\"` into the configuration; \
         `punchlist doctor` says whether hooks are installed."
    })
}

/// Shows the setting that applies, and where it comes from.
fn shown(app: &App, session: Option<&Session>, configured: Option<Setting>) -> Reply {
    let holds = HoldingGate::of(session, configured);
    match app.globals.json {
        true => Reply::json(&holds.json(session)),
        false => Reply::prose(holds.text(session)),
    }
}
