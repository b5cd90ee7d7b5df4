//! `punchlist replace`.

use punchlist_formats::typed::checklist;
use punchlist_model::Op;

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::Fail;
use crate::input;
use crate::print::Reply;

/// Replace the whole list with the one on stdin
///
/// Reads a checklist (`- [ ] title`, `[x]` done, `[>]` in progress, `[-]` cancelled) or a JSON
/// array of `{title, status, active_form, id}`. Entries are matched with items by id, then by equal
/// title. A matched item keeps its number and history, a new entry is added, and an item that is
/// not in the input is dropped, with a warning if it was open. `punchlist list --all` and
/// `punchlist log` still show dropped items.
#[derive(clap::Args)]
pub(crate) struct Replace {
    #[command(flatten)]
    changing: Changing,
}

impl Verb for Replace {
    const NAME: &'static str = "replace";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist list --view markdown > plan.md; $EDITOR plan.md; punchlist replace < plan.md
  punchlist replace --expect 12 < plan.md
  echo '[{\"title\": \"Build\", \"status\": \"completed\"}]' | punchlist replace";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let entries = checklist::parse(&input::stdin()?)?;
        let request = Request::new(vec![Op::ReplaceAll(entries)], self.changing);
        Request { makes_plan: true, ..request }.answer(app)
    }
}
