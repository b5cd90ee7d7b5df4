//! Which items of a list to show, as people type it.

use std::collections::BTreeSet;
use std::str::FromStr;

use punchlist_model::{Item, Number, Plan, Status};

use crate::text;

/// Filters for a list. An item must match all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted<'a> {
    /// Items with one of these statuses; empty means any.
    pub standing: &'a [Standing],
    /// Only open items.
    pub open: bool,
    /// Only ready items.
    pub ready: bool,
    /// Only items that the caller of this name owns or has in progress.
    pub mine: Option<&'a str>,
    /// Only items that this person or agent owns or has in progress.
    pub owner: Option<&'a str>,
    /// Only items that contain this text, in any case.
    pub search: Option<&'a str>,
}

/// A filter by status, as typed: one status, or all open or all closed ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing(&'static [Status]);

impl FromStr for Standing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(match text {
            "open" => &[Status::Pending, Status::InProgress],
            "done" | "completed" => &[Status::Completed],
            "pending" => &[Status::Pending],
            "in_progress" | "in-progress" => &[Status::InProgress],
            "cancelled" => &[Status::Cancelled],
            _ => {
                return Err(
                    "it is open, done, pending, in_progress, completed or cancelled".to_owned()
                );
            }
        }))
    }
}

impl Wanted<'_> {
    /// The items that match, also superseded ones; `None` if there is no filter.
    pub fn of(&self, plan: &Plan) -> Option<BTreeSet<Number>> {
        if *self == Self::default() {
            return None;
        }
        let fitting = plan.items.values().filter(|it| self.fits(plan, it));
        Some(fitting.map(|it| it.number).collect())
    }

    fn fits(&self, plan: &Plan, item: &Item) -> bool {
        let stands =
            self.standing.is_empty() || self.standing.iter().any(|it| it.0.contains(&item.status));
        stands
            && (!self.open || item.is_open())
            && (!self.ready || plan.is_ready(item))
            && self.mine.is_none_or(|me| is_of(item, me) || is_of(item, user(me)))
            && self.owner.is_none_or(|name| is_of(item, name))
            && self.search.is_none_or(|text| contains(item, text))
    }
}

/// `ann` of `ann@host`: people give only the user's name as owner.
fn user(name: &str) -> &str {
    name.split_once('@').map_or(name, |it| it.0)
}

/// Whether an owner or worker of this name has the item.
fn is_of(item: &Item, name: &str) -> bool {
    let wanted = name.trim().to_lowercase();
    let holder = item.claim.as_ref().map(|it| &it.holder.name);
    [item.owner.as_ref(), holder].into_iter().flatten().any(|it| it.to_lowercase() == wanted)
}

fn contains(item: &Item, wanted: &str) -> bool {
    let wanted = wanted.to_lowercase();
    let texts = [Some(&item.title), Some(&item.context), Some(&item.completion_criteria)];
    let more = [&item.active_form, &item.outcome, &item.waiting_on, &item.owner, &item.agent_type];
    let texts = texts.into_iter().chain(more.map(|it| it.as_ref())).flatten();
    texts.into_iter().any(|it| text::many_lines(it).to_lowercase().contains(&wanted))
}
