//! `punchlist move`.

use punchlist_model::{Op, Place, Position};

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::Fail;
use crate::items::{self, Typed};
use crate::print::Reply;

/// Move an item to another place on the list
///
/// The item keeps its number. To make one item depend on another, use `punchlist edit --after`.
#[derive(clap::Args)]
pub(crate) struct Move {
    /// The item: its number, title or id
    #[arg(value_name = "ITEM")]
    item: Typed,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    changing: Changing,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Where {
    /// Move to the top of the list
    #[arg(long)]
    first: bool,
    /// Move to the end of the list
    #[arg(long)]
    last: bool,
    /// Move to this position
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(u32).range(1..))]
    to: Option<u32>,
    /// Move before this item
    #[arg(long, value_name = "ITEM")]
    before: Option<Typed>,
    /// Move right after this item
    #[arg(long, value_name = "ITEM", visible_alias = "after")]
    behind: Option<Typed>,
}

impl Verb for Move {
    const NAME: &'static str = "move";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist move 4 --before 3
  punchlist move 4 --first
  punchlist move 4 --to 2";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let to = match self.place {
            Where { first: true, .. } => Place::Front,
            Where { to: Some(to), .. } => Place::At(Position(to)),
            Where { before: Some(item), .. } => Place::Before(items::one(app, &item)?),
            Where { behind: Some(item), .. } => Place::After(items::one(app, &item)?),
            Where { .. } => Place::Back,
        };
        let op = Op::Move { item: items::one(app, &self.item)?, to };
        Request::new(vec![op], self.changing).answer(app)
    }
}
