//! `punchlist gate`.

use punchlist_engine::session;
use punchlist_formats::text;
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
/// While items are open, an agent that wants to stop is told what is open: with `once` one time for
/// each prompt of yours, with `full` up to 8 times while it makes progress, with `off` never. What is
/// set here holds at once and for one session; the key `gate` in the configuration holds for all.
/// Without either, interactive sessions have `once` and headless ones `full`. Loosening it is for a person
/// at a terminal, who confirms it by a key.
#[derive(clap::Args)]
pub(crate) struct Gate {
    /// off, once or full; default takes back what was set for the session
    #[arg(value_name = "SETTING", value_enum, hide_possible_values = true)]
    setting: Option<Wanted>,
    /// The session: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Wanted {
    /// Never refuses
    Off,
    /// Refuses once
    Once,
    /// Refuses while it helps
    Full,
    /// As configured
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
                Some(store) => current_session::meant(app, &*store, self.session.as_deref())?,
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
        let session = current_session::meant(app, &*store, self.session.as_deref())?
            .ok_or_else(no_session)?;
        let (holds, _, _) = holding(Some(&session), configured);
        let (then, _, _) = with(wanted.setting(), session.interactive, configured);
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
    Fail::not_found("no agent's session is known here").hint(if person::is_agent() {
        "`punchlist doctor` says whether hooks are installed."
    } else {
        "for sessions to come, put `gate = \"off\"` into the configuration; \
         `punchlist doctor` says whether hooks are installed."
    })
}

/// What holds for a session, where that comes from, and why.
fn holding(
    session: Option<&Session>,
    configured: Option<Setting>,
) -> (Setting, &'static str, &'static str) {
    let set = session.and_then(|it| it.memory.gate);
    with(set, session.and_then(|it| it.interactive), configured)
}

fn with(
    set: Option<Setting>,
    interactive: Option<bool>,
    configured: Option<Setting>,
) -> (Setting, &'static str, &'static str) {
    match (set, configured) {
        (Some(set), _) => (set, "session", "set for this session"),
        (None, Some(configured)) => (configured, "configuration", "set in the configuration"),
        (None, None) if interactive == Some(false) => {
            (Setting::default_for(false), "default", "usual in headless sessions")
        }
        (None, None) => (Setting::default_for(true), "default", "usual in interactive sessions"),
    }
}

/// What holds, and why.
fn shown(app: &App, session: Option<&Session>, configured: Option<Setting>) -> Reply {
    let interactive = session.and_then(|it| it.interactive);
    let (setting, from, why) = holding(session, configured);
    if app.globals.json {
        return Reply::json(&serde_json::json!({
            "agent": session.map(|it| &it.key.agent),
            "session": session.map(|it| &it.key.id),
            "interactive": interactive,
            "gate": setting,
            "from": from,
        }));
    }
    let name = session.map(|it| it.actor_name("")).unwrap_or_default();
    let whose = match session {
        Some(_) => format!("{}  ", text::one_line(&name)),
        None => String::new(),
    };
    let mut out = format!("{whose}gate {}  ({why})\n", setting.as_str());
    if (session, from) == (None, "default") {
        out = format!("gate {}  (usual in interactive sessions)\n", setting.as_str());
        out.push_str(&format!(
            "gate {}  (usual in headless sessions)\n",
            Setting::default_for(false).as_str()
        ));
    }
    Reply::prose(out)
}
