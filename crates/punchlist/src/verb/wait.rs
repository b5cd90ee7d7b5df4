//! `punchlist wait`.

use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::Fail;
use crate::items::{self, Typed};
use crate::print::Reply;

/// Mark an item as waiting, or end the wait
///
/// A waiting item is open, but it is not ready, and it does not hold an agent's turn.
#[derive(clap::Args)]
pub(crate) struct Wait {
    /// The item: its number, title or id
    #[arg(value_name = "ITEM")]
    item: Typed,
    /// The person or event that the item waits for
    #[arg(value_name = "WHAT", required_unless_present = "over", conflicts_with = "over")]
    what: Option<String>,
    /// End the wait
    #[arg(long)]
    over: bool,
    #[command(flatten)]
    changing: Changing,
}

impl Verb for Wait {
    const NAME: &'static str = "wait";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist wait 4 \"legal\"
  punchlist wait 4 --over";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let item = items::one(app, &self.item)?;
        let op = match self.what {
            Some(on) => Op::Wait { item, on },
            None => Op::Resume(item),
        };
        Request::new(vec![op], self.changing).answer(app)
    }
}
