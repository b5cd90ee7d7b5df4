//! `punchlist skip`.

use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::Fail;
use crate::items::{self, Several};
use crate::print::Reply;

/// Cancel items: they will not be done
///
/// Cancelled items stay on the list, with the reason. Punchlist names the items that depend on
/// them, because somebody has to decide about those. Also called `rm` or `cancel`: nothing is
/// deleted.
#[derive(clap::Args)]
pub(crate) struct Skip {
    /// Numbers (`3`, `1,2`, `1-3`), titles or ids
    #[arg(required = true, value_name = "ITEM")]
    items: Vec<Several>,
    /// Why the item will not be done
    #[arg(long, short, value_name = "TEXT")]
    reason: Option<String>,
    /// The attempt that you worked under; the call is refused if there is a newer claim
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    #[command(flatten)]
    changing: Changing,
}

impl Verb for Skip {
    const NAME: &'static str = "skip";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist skip 5 --reason \"out of scope\"
  punchlist skip 5 6";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let cancel = |item| Op::Cancel { item, reason: self.reason.clone() };
        let ops = items::each(app, &self.items)?.into_iter().map(cancel).collect();
        Request { attempt: self.attempt, ..Request::new(ops, self.changing) }.answer(app)
    }
}
