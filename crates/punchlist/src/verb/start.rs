//! `punchlist start`.

use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::Fail;
use crate::items::{self, Typed};
use crate::print::Reply;

/// Begin an item: it is in progress, and yours
///
/// One item at a time for each worker, and none that depends on what is not completed. The claim is a lease of 15 minutes (`claim.lease`) that any
/// write of yours renews; when it has run out, others may take the item.
#[derive(clap::Args)]
pub(crate) struct Start {
    /// Its number, title or id
    #[arg(value_name = "ITEM")]
    item: Typed,
    /// The process that does the work: when it ends, the claim ends
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Also if what it depends on is not completed; for people, refused to agents
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
