//! `punchlist start`.

use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::Fail;
use crate::items::{self, Typed};
use crate::print::Reply;

/// Start an item: claim it and mark it as in progress
///
/// A worker can have one item in progress at a time, and all dependencies of the item must be
/// completed. The claim has a lease of 15 minutes (`claim.lease`), which each of your writes
/// renews. When the lease has expired, others may take the item.
#[derive(clap::Args)]
pub(crate) struct Start {
    /// The item: its number, title or id
    #[arg(value_name = "ITEM")]
    item: Typed,
    /// The process that does the work; the claim ends when the process ends
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Start the item even if a dependency is not completed; for people only
    #[arg(long)]
    anyway: bool,
    #[command(flatten)]
    changing: Changing,
}

impl Verb for Start {
    const NAME: &'static str = "start";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist start 3
  punchlist start \"Run the final build\"
  punchlist start 3 --as claude
  punchlist start 3 --pid $$";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let request = Request::new(vec![Op::Start(items::one(app, &self.item)?)], self.changing);
        Request { pid: self.pid, anyway: self.anyway, ..request }.answer(app)
    }
}
