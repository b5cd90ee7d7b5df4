//! `punchlist release`.

use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::error::Fail;
use crate::items::{self, Typed};
use crate::print::Reply;

/// Put items in progress back to pending
///
/// A person may take back any item; its claim ends, and a late write of its worker is refused.
#[derive(clap::Args)]
pub(crate) struct Release {
    /// Numbers or ids, as `punchlist list` shows them
    #[arg(required = true, value_name = "ITEM")]
    items: Vec<Typed>,
    /// The attempt under which it was worked on; a later claim then refuses this one
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
        let ops = items::each_once(self.items).map(|item| Op::Release(item.0)).collect();
        Request { attempt: self.attempt, ..Request::new(ops, self.changing) }.answer(app)
    }
}
