//! `punchlist reopen`.

use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::error::Fail;
use crate::items::{self, Typed};
use crate::print::Reply;

/// Open completed or cancelled items again
///
/// They are pending again, and what was noted as their outcome is left to the journal.
#[derive(clap::Args)]
pub(crate) struct Reopen {
    /// Numbers or ids, as `punchlist list` shows them
    #[arg(required = true, value_name = "ITEM")]
    items: Vec<Typed>,
    /// Begin it at once
    #[arg(long)]
    start: bool,
    #[command(flatten)]
    changing: Changing,
}

impl Verb for Reopen {
    const NAME: &'static str = "reopen";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist reopen 2
  punchlist reopen 2 --start";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let reopen = |item: Typed| Op::Reopen { item: item.0, start: self.start };
        let ops = items::each_once(self.items).map(reopen).collect();
        Request::new(ops, self.changing).answer(app)
    }
}
