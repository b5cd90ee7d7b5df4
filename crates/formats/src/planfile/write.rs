//! Writes boxes back into a file. No other byte changes.

use punchlist_model::{Plan, Status};

use super::read::read;
use super::{PlanFile, Tick, matched};

/// The box of each item according to a plan; `None` if the plan does not have the item.
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

/// The text with the boxes of its items set, in the order of [`PlanFile::items`].
///
/// A box that already has the right meaning stays as it was written. The text is parsed again, so
/// pass `ticks` that come from the same text.
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
