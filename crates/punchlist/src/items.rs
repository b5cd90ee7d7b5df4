//! Looks up the items that are named on the command line.

use punchlist_engine::fail::Fail;
use punchlist_formats::typed::items;
use punchlist_model::{ItemRef, Plan};

use crate::app::App;
use crate::plan_choice;

pub(crate) use punchlist_formats::typed::items::{Several, Typed};

/// Looks up one item. A number needs no look at the plan.
pub(crate) fn one(app: &App, typed: &Typed) -> Result<ItemRef, Fail> {
    match typed {
        Typed::Number(number) => Ok(ItemRef::Number(*number)),
        Typed::Id { .. } | Typed::Title(_) => Ok(typed.within(&plan(app)?)?),
    }
}

/// Looks up several items, each once.
pub(crate) fn each(app: &App, typed: &[Several]) -> Result<Vec<ItemRef>, Fail> {
    match items::numbers(typed) {
        Some(numbers) => Ok(numbers),
        None => Ok(items::each_of(&plan(app)?, typed)?),
    }
}

fn plan(app: &App) -> Result<Plan, Fail> {
    Ok(plan_choice::whole_there(app)?.1)
}
