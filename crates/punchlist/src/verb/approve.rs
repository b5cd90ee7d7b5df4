//! `punchlist approve`.

use punchlist_formats::typed::items::find;
use punchlist_formats::view::detail;
use punchlist_model::{Evidence, Level, Op, Patch};

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::Fail;
use crate::items::{self, Several};
use crate::person::{self, Act};
use crate::print::Reply;
use crate::{clock, identity, plan_choice};

/// The metadata key for the note of an approval.
const NOTE: &str = "approval_note";

/// Approve items as a person
///
/// An approval is the strongest evidence. Only a person at a terminal can give it, and confirms it
/// with a key. A call made by an agent is refused.
#[derive(clap::Args)]
pub(crate) struct Approve {
    /// Numbers (`3`, `1,2`, `1-3`), titles or ids
    #[arg(required = true, value_name = "ITEM")]
    items: Vec<Several>,
    /// A note to store with the approval
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Also complete the items
    #[arg(long)]
    done: bool,
    #[command(flatten)]
    changing: Changing,
}

impl Verb for Approve {
    const NAME: &'static str = "approve";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist approve 3
  punchlist approve 3 --note \"read it twice\" --done";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let what = "items are approved";
        person::at_terminal(what, Self::NAME)?;
        let by = identity::name(app.globals.name.as_deref())?;
        let items = items::each(app, &self.items)?;
        let (_, plan) = plan_choice::whole_there(app)?;
        let found = items.iter().map(|it| find(&plan, it));
        let about = detail::before_approval(&found.collect::<Result<Vec<_>, _>>()?);
        let question = if self.done { "Approve and complete?" } else { "Approve?" };
        let otherwise = "nothing was approved";
        Act { what, verb: Self::NAME, about: &about, question, otherwise }.confirm()?;
        let proof = Evidence { level: Level::Approved, at: clock::now(), by, run: None };
        let mut ops = Vec::new();
        for item in items {
            let evidence = Box::new(proof.clone());
            ops.push(Op::Prove { item: item.clone(), evidence });
            if let Some(note) = &self.note {
                let mut patch = Patch::default();
                patch.merge.insert(NOTE.to_owned(), note.clone().into());
                ops.push(Op::Edit { item: item.clone(), patch: Box::new(patch) });
            }
            if self.done {
                ops.push(Op::Complete { item, outcome: None, with_children: false });
            }
        }
        Request::new(ops, self.changing).answer(app)
    }
}
