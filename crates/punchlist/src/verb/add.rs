//! `punchlist add`.

use punchlist_formats::typed::{self, titles};
use punchlist_model::{Check, ItemRef, NewItem, Place, Position};

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::Fail;
use crate::items::{self, Several, Typed};
use crate::print::Reply;
use crate::{input, person};

/// Add items to the list
///
/// Each title becomes an item, in the given order. Items go to the end of the list unless an option
/// says otherwise. The first `add` in a project creates its plan; with `--plan NAME` it creates a
/// plan of that name. Checklist lines (`- [ ] title`) are parsed, nested ones too. To add only the
/// items that the list does not have yet, use `punchlist import FILE`.
#[derive(clap::Args)]
pub(crate) struct Add {
    /// The title: what is to be done; `-` reads titles or a checklist from stdin, one item per line
    #[arg(required = true, value_name = "TITLE")]
    titles: Vec<String>,
    /// Background that the worker needs to know
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// When the item counts as done
    #[arg(long, value_name = "TEXT")]
    criteria: Option<String>,
    /// The title while the item is in progress ("Fixing the tests")
    #[arg(long, value_name = "TEXT")]
    active: Option<String>,
    /// The kind of agent that should do the item
    #[arg(long, value_name = "KIND")]
    agent: Option<String>,
    /// Who is responsible for the item
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// The priority; 0 is the highest
    #[arg(long, value_name = "N")]
    priority: Option<u32>,
    /// Make the item depend on this one; may be repeated
    #[arg(long, value_name = "ITEM")]
    after: Vec<Several>,
    /// Make the item a sub-item of this one
    #[arg(long, value_name = "ITEM")]
    under: Option<Typed>,
    /// Mark the item as waiting for a person or an event
    #[arg(long, value_name = "WHAT")]
    wait: Option<String>,
    /// The item's check: a shell command that must pass before the item can be completed
    #[arg(long, value_name = "COMMAND")]
    verify: Option<String>,
    /// The files that the check covers, such as `src/**`; when they change, its result is stale
    #[arg(long, value_name = "GLOB", value_delimiter = ',', requires = "verify")]
    covers: Vec<String>,
    /// Other data to store with the item, as a JSON object
    #[arg(long, value_name = "JSON")]
    meta: Option<String>,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    changing: Changing,
}

#[derive(clap::Args)]
#[group(multiple = false)]
struct Where {
    /// Insert at the top of the list
    #[arg(long)]
    first: bool,
    /// Insert at this position
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(u32).range(1..))]
    at: Option<u32>,
    /// Insert before this item
    #[arg(long, value_name = "ITEM")]
    before: Option<Typed>,
    /// Insert right after this item
    #[arg(long, value_name = "ITEM")]
    behind: Option<Typed>,
}

impl Verb for Add {
    const NAME: &'static str = "add";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist add \"Fix the failing tests\" \"Update the documentation\"
  punchlist add \"Publish\" --after 1,2 --criteria \"the tag is on the server\"
  punchlist add \"Fix the tests\" --verify \"make test\" --covers \"src/**\"
  punchlist add \"Write the API reference\" --under 2
  grep -rn TODO src | punchlist add - --plan todos
  punchlist add - < notes.md";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let stdin = match self.titles.iter().any(|title| title == "-") {
            true => input::stdin()?,
            false => String::new(),
        };
        let titles = titles::given(&self.titles, &stdin, app.ctx()?.most_open())?;
        if self.active.is_some() && titles.len() > 1 {
            return Err(Fail::usage("--active is for one title; there are several")
                .hint("add that item by itself."));
        }
        let model = NewItem {
            title: String::new(),
            active_form: self.active,
            context: self.context.unwrap_or_default(),
            completion_criteria: self.criteria.unwrap_or_default(),
            agent_type: self.agent,
            owner: self.owner,
            priority: self.priority,
            depends_on: items::each(app, &self.after)?,
            parent: self.under.map(|it| items::one(app, &it)).transpose()?,
            waiting_on: self.wait,
            check: self.verify.map(|command| check(command, self.covers)),
            metadata: self.meta.as_deref().map(typed::metadata).transpose()?,
            ..NewItem::default()
        };
        let ops = titles::ops(titles, &model, |n| self.place.of(app, n))?;
        let request = Request::new(ops, self.changing);
        Request { makes_plan: true, ..request }.answer(app)
    }
}

impl Where {
    /// The place of the n-th item, so that several items keep the given order.
    fn of(&self, app: &App, n: u32) -> Result<Place, Fail> {
        let follow = |first: Place| if n == 0 { first } else { Place::After(ItemRef::Batch(n)) };
        if self.first {
            return Ok(follow(Place::Front));
        }
        if let Some(at) = self.at {
            return Ok(Place::At(Position(at.saturating_add(n))));
        }
        if let Some(item) = &self.before {
            return Ok(Place::Before(items::one(app, item)?));
        }
        match &self.behind {
            Some(_) if n > 0 => Ok(Place::After(ItemRef::Batch(n))),
            Some(item) => Ok(Place::After(items::one(app, item)?)),
            None => Ok(Place::Back),
        }
    }
}

/// A check with its origin: a person or an agent.
pub(super) fn check(command: String, covers: Vec<String>) -> Check {
    Check { command, covers, origin: person::called_by().origin() }
}
