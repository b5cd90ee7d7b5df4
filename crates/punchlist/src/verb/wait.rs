//! `punchlist wait`.

use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::Fail;
use crate::items::{self, Typed};
use crate::print::Reply;

/// Say what an item waits for, or that the wait is over
///
/// A waiting item is open, but it is not ready and is not held against anybody.
#[derive(clap::Args)]
pub(crate) struct Wait {
    /// Its number, title or id
    #[arg(value_name = "ITEM")]
    item: Typed,
    /// The person or event that it waits for
    #[arg(value_name = "WHAT", required_unless_present = "over", conflicts_with = "over")]
    what: Option<String>,
    /// The wait is over
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
