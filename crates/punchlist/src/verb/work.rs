//! `punchlist work`.

use std::num::NonZeroU32;

use punchlist_engine::work::Kinds;

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;
use crate::work::{self, Ask};

/// Do the items of shared plans on this machine
///
/// A worker takes ready items with `run:` or `agent:` of plans that `punchlist run PLAN.md --share`
/// has published in this project, and does them in this checkout: it claims an item for the time
/// of `claim.lease`, renews the lease while the command runs, runs the item's check and completes
/// it. Start as many workers as you like, on all machines that use the same database; an item is
/// done by one of them. Without work a worker sleeps.
///
/// If a worker dies, its item is interrupted when the lease ends: another worker does it again if
/// it has `retry:`; otherwise it waits for you. A failed item waits for you too: `punchlist wait
/// ITEM --over` lets a worker try it again. Approvals are asked as questions: `punchlist
/// questions` and `punchlist answer` work on every machine.
///
/// A worker runs commands that others wrote. It runs those of the publishers that `work.trust` in
/// your config.toml names, and otherwise only what your policy allows. Without `work.trust` it
/// trusts your own SQLite database, and nobody on a server.
///
/// At SIGTERM or Ctrl-C a worker takes nothing new, hands back what may be repeated (items with
/// `retry:`, and those that wait for an approval) and finishes the rest. A second signal stops
/// everything; what was cut off is interrupted.
#[derive(clap::Args)]
pub(crate) struct Work {
    /// Only take items of this kind: `run`, or the agent in `agent:`; may be repeated [default: run,
    /// and the agents that are installed here]
    #[arg(long = "kind", value_name = "NAME")]
    kinds: Vec<Kinds>,
    /// How many items to do at the same time [default: the number of processors]
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroU32>,
}

impl Verb for Work {
    const NAME: &'static str = "work";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist work
  punchlist work --plan release.md --jobs 2
  punchlist work --kind claude --kind codex --as builder-1";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        work::run(app, Ask { kinds: self.kinds, jobs: self.jobs })
    }
}
