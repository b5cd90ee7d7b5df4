//! `punchlist done`.

use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::error::Fail;
use crate::items::{self, Typed};
use crate::print::Reply;

/// Mark items as completed
///
/// Refused while an item under it is open, or while evidence is asked for that is not there; the
/// message says which. Several items are completed together or not at all.
#[derive(clap::Args)]
pub(crate) struct Done {
    /// Numbers or ids, as `punchlist list` shows them
    #[arg(required = true, value_name = "ITEM")]
    items: Vec<Typed>,
    /// What came of it
    #[arg(long, short, value_name = "TEXT")]
    outcome: Option<String>,
    /// Complete the open items under it too
    #[arg(long)]
    with_children: bool,
    /// The attempt under which it was worked on; a later claim then refuses this one
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    #[command(flatten)]
    changing: Changing,
}

impl Verb for Done {
    const NAME: &'static str = "done";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist done 3
  punchlist done 3 --outcome \"all 212 tests pass\"
  punchlist done 1 2 5
  punchlist done 4 --with-children";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let complete = |item: Typed| Op::Complete {
            item: item.0,
            outcome: self.outcome.clone(),
            with_children: self.with_children,
        };
        let ops = items::each_once(self.items).map(complete).collect();
        Request { attempt: self.attempt, ..Request::new(ops, self.changing) }.answer(app)
    }
}
