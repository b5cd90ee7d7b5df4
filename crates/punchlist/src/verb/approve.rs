//! `punchlist approve`.

use punchlist_model::{Evidence, Level, Op, Patch};

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::error::Fail;
use crate::items::{self, Typed};
use crate::print::Reply;
use crate::{clock, person, who};

/// The key of an item's metadata under which the note of an approval is kept.
const NOTE: &str = "approval_note";

/// Say as a person that items are done well
///
/// The strongest evidence that there is, and yours alone: it needs a terminal, and is refused where
/// an agent makes the call.
#[derive(clap::Args)]
pub(crate) struct Approve {
    /// Numbers or ids, as `punchlist list` shows them
    #[arg(required = true, value_name = "ITEM")]
    items: Vec<Typed>,
    /// What you want to add
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Complete them too
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
        person::at_terminal("items are approved", Self::NAME)?;
        let by = who::name(app.globals.name.as_deref())?;
        let proof = Evidence { level: Level::Approved, at: clock::now(), by, run: None };
        let mut ops = Vec::new();
        for item in items::each_once(self.items) {
            let evidence = Box::new(proof.clone());
            ops.push(Op::Prove { item: item.0.clone(), evidence });
            if let Some(note) = &self.note {
                let mut patch = Patch::default();
                patch.merge.insert(NOTE.to_owned(), note.clone().into());
                ops.push(Op::Edit { item: item.0.clone(), patch: Box::new(patch) });
            }
            if self.done {
                ops.push(Op::Complete { item: item.0, outcome: None, with_children: false });
            }
        }
        Request::new(ops, self.changing).answer(app)
    }
}
