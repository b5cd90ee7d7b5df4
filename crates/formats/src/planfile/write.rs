//! Boxes written back into a file: nothing else of it changes, to the byte.

use punchlist_model::{Plan, Status};

use super::read::read;
use super::{PlanFile, Tick, matched};

/// What each item's box should say for a plan; `None` where the plan does not know the item.
pub fn ticks(file: &PlanFile, plan: &Plan) -> Vec<Option<Tick>> {
    let status = |number| {
        Some(match plan.get(number)?.status {
            Status::Pending => Tick::Open,
            Status::InProgress => Tick::Begun,
            Status::Completed => Tick::Done,
            Status::Cancelled => Tick::Skipped,
        })
    };
    matched(file, plan).into_iter().map(|number| number.and_then(status)).collect()
}

/// The text with its items' boxes set, in the order of [`PlanFile::items`].
///
/// A box that says so already stays as it was written. The text is read again, so that what
/// somebody wrote into the file meanwhile stays; `ticks` should come from that same text.
pub fn write_back(text: &str, ticks: &[Option<Tick>]) -> String {
    let file = read(text);
    let mut out = String::with_capacity(text.len() + ticks.len());
    let mut from = 0;
    for (item, tick) in file.items.iter().zip(ticks) {
        if let Some(tick) = tick.filter(|tick| *tick != item.tick) {
            out.push_str(&text[from..item.inside.start]);
            out.push(tick.sign());
            from = item.inside.end;
        }
    }
    out.push_str(&text[from..]);
    out
}
