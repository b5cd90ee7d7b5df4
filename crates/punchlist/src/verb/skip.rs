//! `punchlist skip`.

use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::error::Fail;
use crate::items::{self, Typed};
use crate::print::Reply;

/// Cancel items: they will not be done
///
/// They stay on the list with the reason. Items that depend on them are named, because somebody has
/// to decide about those.
#[derive(clap::Args)]
pub(crate) struct Skip {
    /// Numbers or ids, as `punchlist list` shows them
    #[arg(required = true, value_name = "ITEM")]
    items: Vec<Typed>,
    /// Why it will not be done
    #[arg(long, short, value_name = "TEXT")]
    reason: Option<String>,
    /// The attempt under which it was worked on; a later claim then refuses this one
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
        let cancel = |item: Typed| Op::Cancel { item: item.0, reason: self.reason.clone() };
        let ops = items::each_once(self.items).map(cancel).collect();
        Request { attempt: self.attempt, ..Request::new(ops, self.changing) }.answer(app)
    }
}
