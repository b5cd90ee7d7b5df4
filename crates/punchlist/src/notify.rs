//! Notices of this process: the user's settings, and what the environment says about the terminal.

use punchlist_engine::notices::{self, Focus, Notice};
use punchlist_formats::view::json;
use punchlist_tui::notify::{Notify, OpenStore, TerminalFacts};
use punchlist_tui::terminal::kind;

use crate::app::App;
use crate::fail::Fail;
use crate::{block_on, database, print};

/// Gives the notices of a verb with a front end.
pub(crate) fn notify(app: &App) -> Result<Notify, Fail> {
    let settings = app.settings()?.notify.clone();
    Ok(Notify::new(settings, terminal(app), open(app)?))
}

/// Opens the store for writing.
pub(crate) fn open(app: &App) -> Result<OpenStore, Fail> {
    let options = app.database_options()?;
    Ok(Box::new(move || Ok(database::open(&options)?)))
}

fn terminal(app: &App) -> TerminalFacts {
    let is_there = app.screen().is_terminal && !app.globals.json;
    TerminalFacts {
        is_there,
        best: kind::notice_channel(&print::variable),
        is_tmux: print::variable("TMUX").is_some(),
        // A process without a terminal cannot have somebody before it.
        focus: if is_there || print::can_ask() { Focus::Unknown } else { Focus::Lost },
    }
}

/// Gives a notice of a hook, by the user's command. A hook has no terminal of its own, so without a
/// command the notice is left to `watch`.
pub(crate) fn from_hook(app: &App, notice: &Notice) -> Result<(), Fail> {
    let Some(command) = &app.settings()?.notify.command else { return Ok(()) };
    let store = app.store()?;
    if block_on(notices::is_first(&*store, notice, app.now))? {
        let input = json::render(&notice.json()) + "\n";
        notices::start_command(command, &input)
            .map_err(|why| Fail::ours(format!("notify.command cannot be started: {why}")))?;
    }
    Ok(())
}
