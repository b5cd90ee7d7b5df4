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

/// Show every agent's plan as it happens
///
/// Finds the running and recent sessions of Claude Code, Codex and Gemini CLI on this machine by itself,
/// joins them with the plans that Punchlist keeps, and shows who waits for you, who works and on what, who
/// rests and who died. Where an agent's process cannot be seen, it says for how long there was no news.
///
/// On a terminal the view is drawn in place, and its last state stays when you leave: `j` and `k` move,
/// Enter opens a list, `q` leaves. Elsewhere it prints a line per change. With `--json`, it prints unified
/// events as `punchlist events` does: first what is known (`session.started`, the last `todo_list`), then
/// everything as it happens. A list that is kept as a plan is told once, from the plan. An event may come
/// twice, with the same `eventId`, when a file was replaced.
#[derive(clap::Args)]
pub(crate) struct Watch {
    /// Watch these files instead, whatever wrote them; `-` for stdin
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How far back the last event of a session may be; who runs is always shown
    #[arg(long, value_name = "TIME", default_value = "1d")]
    since: String,
    /// Keep what is seen as plans: of sessions whose own hooks or tools do not do so already
    #[arg(long)]
    record: bool,
    /// With --json, only events of this kind; may be repeated, or several with commas
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind)]
    only: Vec<KindName>,
    /// Show what is known now, and end
    #[arg(long)]
    once: bool,
}

impl Verb for Watch {
    const NAME: &'static str = "watch";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist watch
  punchlist watch --since 2h --record
  punchlist watch --once
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
            },
        )
    }
}
