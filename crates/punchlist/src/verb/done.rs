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
/// Refused while an item under it or one that it depends on is open, or while evidence is asked for that
/// is not there; the message says which. Several items are completed together or not at all. Also called
/// `complete`.
#[derive(clap::Args)]
pub(crate) struct Done {
    /// Numbers (`3`, `1,2`, `1-3`), titles or ids
    #[arg(required = true, value_name = "ITEM")]
    items: Vec<Several>,
    /// What came of it
    #[arg(long, short, value_name = "TEXT")]
    outcome: Option<String>,
    /// Complete the open items under it too
    #[arg(long)]
    with_children: bool,
    /// Also if what it depends on is not completed; for people, refused to agents
    #[arg(long)]
    anyway: bool,
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
