//! `punchlist reopen`.

use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::Fail;
use crate::items::{self, Several};
use crate::print::Reply;

/// Reopen completed or cancelled items
///
/// The items are pending again. Their old outcome is only in the journal.
#[derive(clap::Args)]
pub(crate) struct Reopen {
    /// Numbers (`3`, `1,2`, `1-3`), titles or ids
    #[arg(required = true, value_name = "ITEM")]
    items: Vec<Several>,
    /// Also start the item
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
        let reopen = |item| Op::Reopen { item, start: self.start };
        let ops = items::each(app, &self.items)?.into_iter().map(reopen).collect();
        Request::new(ops, self.changing).answer(app)
    }
}
