//! Which items of a list are wanted.

use std::collections::BTreeSet;
use std::str::FromStr;

use punchlist_formats::text;
use punchlist_model::{Item, Number, Plan, Status};

/// What narrows a list down. Everything that is given must hold.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct Wanted {
    /// Only items that stand like this: open, done, pending, in_progress, completed or cancelled
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    status: Vec<Standing>,
    /// Only open items: the same as `--status open`
    #[arg(long, conflicts_with = "status")]
    open: bool,
    /// Only items that could be started now
    #[arg(long)]
    ready: bool,
    /// Only items that you own or have in progress
    #[arg(long, conflicts_with = "owner")]
    mine: bool,
    /// Only items that this person or agent owns or has in progress
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// Only items with this text in them, in whatever case
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// How an item stands, as typed: one status, or all that are open or done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Standing(&'static [Status]);

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

impl Wanted {
    /// Whether every item is wanted.
    pub(crate) fn is_all(&self) -> bool {
        self.status.is_empty()
            && !self.open
            && !self.ready
            && !self.mine
            && self.owner.is_none()
            && self.search.is_none()
    }

    /// Whether the caller's name is needed.
    pub(crate) fn asks_who(&self) -> bool {
        self.mine
    }

    /// The items that fit, dropped ones included. `me` is the caller's name.
    pub(crate) fn of(&self, plan: &Plan, me: Option<&str>) -> BTreeSet<Number> {
        plan.items.values().filter(|it| self.fits(plan, it, me)).map(|it| it.number).collect()
    }

    fn fits(&self, plan: &Plan, item: &Item, me: Option<&str>) -> bool {
        let stands =
            self.status.is_empty() || self.status.iter().any(|it| it.0.contains(&item.status));
        stands
            && (!self.open || item.is_open())
            && (!self.ready || plan.is_ready(item))
            && (!self.mine || me.is_some_and(|me| is_of(item, me) || is_of(item, user(me))))
            && self.owner.as_deref().is_none_or(|name| is_of(item, name))
            && self.search.as_deref().is_none_or(|text| contains(item, text))
    }
}

/// `ann` of `ann@host`, which is how people write down who owns something.
fn user(name: &str) -> &str {
    name.split_once('@').map_or(name, |it| it.0)
}

/// Whether somebody of that name owns an item or has it in progress.
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
