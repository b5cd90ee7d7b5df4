//! `punchlist watch`.

use std::path::PathBuf;

use punchlist_streams::event::{KindName, KindSet};

use super::events::kind;
use super::{Group, Verb};
use crate::app::App;
use crate::config;
use crate::fail::Fail;
use crate::print::Reply;
use crate::watch::{self, Ask};

/// Show the plans of all agents, live
///
/// Finds the running and recent sessions of Claude Code, Codex and Gemini CLI on this machine,
/// joins them with the plans in the database, and shows which agents wait for you, which work and
/// on what, which are idle and which have died. If an agent's process cannot be seen, the view
/// shows how long ago its last event was.
///
/// On a terminal, the view is drawn in place, and its last state stays when you leave: `j` and `k`
/// move, Enter opens an agent with its list and its last lines, `/` filters, `a` answers a question
/// that waits in the database or replies to a session of `do` that asks you something, `x` puts a row
/// away until its agent does something again, `X` shows what was put away, `q` leaves. Agents of one
/// project stand together; who waits for you comes first. If the terminal does not have the focus, you
/// are told when somebody waits for you and when work has ended (docs/notifications.md). Elsewhere,
/// Punchlist prints one line per change. With `--json`, it prints unified events like `punchlist
/// events`: first the present state (`session.started`, the last `todo_list`), then new events. A list
/// that is stored as a plan is reported once, from the plan. If a file is replaced, an event may appear
/// twice with the same `eventId`.
#[derive(clap::Args)]
pub(crate) struct Watch {
    /// Watch these files instead, of any agent or records of `team`; `-` reads stdin
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How old the last event of a session may be; running sessions are always shown
    #[arg(long, value_name = "TIME", default_value = "1d")]
    since: String,
    /// Store lists as plans, unless the session's own hooks or tools already do
    #[arg(long)]
    record: bool,
    /// With --json, only print events of this kind; may be repeated, or separated by commas
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind)]
    only: Vec<KindName>,
    /// Show the present state, and exit
    #[arg(long)]
    once: bool,
    /// Show one agent's plan, to fit a narrow split: of this session (the beginning or the end of its
    /// id), else of the first agent in this project
    #[arg(long, value_name = "SESSION", num_args = 0..=1, conflicts_with = "record")]
    pane: Option<Option<String>>,
}

impl Verb for Watch {
    const NAME: &'static str = "watch";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist watch
  punchlist watch --since 2h --record
  punchlist watch --once
  punchlist watch --pane
  punchlist watch --json --only todo_list
  codex exec --json \"…\" | punchlist watch -";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let since = config::seconds("--since", &self.since)?;
        let only = if self.only.is_empty() {
            KindSet::ALL
        } else {
            KindSet::of(self.only.iter().copied())
        };
        watch::run(
            app,
            Ask {
                files: self.files,
                since_ms: i64::from(since) * 1000,
                record: self.record,
                only,
                once: self.once,
                pane: self.pane,
            },
        )
    }
}
