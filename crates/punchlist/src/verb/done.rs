//! `punchlist done`.

use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::Fail;
use crate::items::{self, Several};
use crate::print::Reply;

/// Mark items as completed
///
/// An item cannot be completed while one of its sub-items or dependencies is open, or while
/// evidence that the plan demands is missing; the message says which. Several items are completed
/// together or not at all. Also called `complete`.
#[derive(clap::Args)]
pub(crate) struct Done {
    /// Numbers (`3`, `1,2`, `1-3`), titles or ids
    #[arg(required = true, value_name = "ITEM")]
    items: Vec<Several>,
    /// What the result is
    #[arg(long, short, value_name = "TEXT")]
    outcome: Option<String>,
    /// Also complete the open sub-items
    #[arg(long)]
    with_children: bool,
    /// Complete the item even if a dependency is not completed; for people only
    #[arg(long)]
    anyway: bool,
    /// The attempt that you worked under; the call is refused if there is a newer claim
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
  punchlist done 1-3,5
  punchlist done \"Fix the tests\"        # the title, or enough of it
  punchlist done 4 --with-children";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let complete = |item| Op::Complete {
            item,
            outcome: self.outcome.clone(),
            with_children: self.with_children,
        };
        let ops = items::each(app, &self.items)?.into_iter().map(complete).collect();
        let request = Request::new(ops, self.changing);
        Request { attempt: self.attempt, anyway: self.anyway, ..request }.answer(app)
    }
}
