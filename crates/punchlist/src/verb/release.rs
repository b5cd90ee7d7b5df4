//! `punchlist release`.

use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::Fail;
use crate::items::{self, Several};
use crate::print::Reply;

/// Put items in progress back to pending
///
/// The item's claim ends, and a late write of its worker is refused. A person may release any item.
#[derive(clap::Args)]
pub(crate) struct Release {
    /// Numbers (`3`, `1,2`, `1-3`), titles or ids
    #[arg(required = true, value_name = "ITEM")]
    items: Vec<Several>,
    /// The attempt that you worked under; the call is refused if there is a newer claim
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    #[command(flatten)]
    changing: Changing,
}

impl Verb for Release {
    const NAME: &'static str = "release";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist release 3";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let ops = items::each(app, &self.items)?.into_iter().map(Op::Release).collect();
        Request { attempt: self.attempt, ..Request::new(ops, self.changing) }.answer(app)
    }
}
