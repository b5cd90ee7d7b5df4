//! `punchlist edit`.

use punchlist_model::needs::{Needs, Reach};
use punchlist_model::{Op, Origin, Patch};

use super::{Group, Verb, add};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::error::Fail;
use crate::items::{self, Typed};
use crate::person;
use crate::print::Reply;
use crate::which;

/// Change what an item says
///
/// Only what is named changes. An empty text clears a field: `--owner ""`.
#[derive(clap::Args)]
pub(crate) struct Edit {
    /// Number or id, as `punchlist list` shows it
    #[arg(value_name = "ITEM")]
    item: Typed,
    #[command(flatten)]
    fields: Fields,
    #[command(flatten)]
    changing: Changing,
}

#[derive(clap::Args)]
struct Fields {
    /// What is to be done
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// How it reads while in progress
    #[arg(long, value_name = "TEXT")]
    active: Option<String>,
    /// What whoever does it needs to know
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// How to tell that it is done
    #[arg(long, value_name = "TEXT")]
    criteria: Option<String>,
    /// Which kind of agent should do it
    #[arg(long, value_name = "KIND")]
    agent: Option<String>,
    /// Who answers for it
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// What came of it
    #[arg(long, value_name = "TEXT")]
    outcome: Option<String>,
    /// 0 comes first
    #[arg(long, value_name = "N")]
    priority: Option<u32>,
    /// It has no priority
    #[arg(long, conflicts_with = "priority")]
    no_priority: bool,
    /// Not ready before this item is completed; may be repeated
    #[arg(long, value_name = "ITEM", value_delimiter = ',')]
    after: Vec<Typed>,
    /// Does not depend on this item any more; may be repeated
    #[arg(long, value_name = "ITEM", value_delimiter = ',')]
    not_after: Vec<Typed>,
    /// A part of this item
    #[arg(long, value_name = "ITEM")]
    under: Option<Typed>,
    /// A part of no item
    #[arg(long, conflicts_with = "under")]
    top: bool,
    /// The shell command that shows that it is done; "" takes the check away
    #[arg(long, value_name = "COMMAND")]
    verify: Option<String>,
    /// The files that this speaks for, as in `src/**`: when they change, it is to be run again
    #[arg(long, value_name = "GLOB", value_delimiter = ',', requires = "verify")]
    covers: Vec<String>,
    /// Anything else to keep with it, as a JSON object; `{}` clears it
    #[arg(long, value_name = "JSON")]
    meta: Option<String>,
}

impl Verb for Edit {
    const NAME: &'static str = "edit";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist edit 3 --title \"Run the final build twice\"
  punchlist edit 3 --after 2 --priority 0
  punchlist edit 3 --not-after 2 --owner \"\"";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let patch = Box::new(self.fields.patch()?);
        if *patch == Patch::default() {
            return Err(Fail::usage("nothing is named that should change")
                .hint("name a field, as in `punchlist edit 3 --title \"…\"`."));
        }
        if patch.check.is_some() {
            keep_persons_check(app, &self.item)?;
        }
        let op = Op::Edit { item: self.item.0, patch };
        Request::new(vec![op], self.changing).answer(app)
    }
}

/// A check that a person wrote is not an agent's to change: it is there to be met.
fn keep_persons_check(app: &App, typed: &Typed) -> Result<(), Fail> {
    if !person::is_agent() {
        return Ok(());
    }
    let items = vec![Reach { item: typed.0.clone(), around: Vec::new() }];
    let needs = Needs { items, ..Needs::default() };
    let Some((_, plan)) = which::read(app, &needs)? else { return Ok(()) };
    let item = plan.find(&typed.0).ok().flatten().and_then(|number| plan.get(number));
    let check = item.and_then(|it| it.check.as_ref());
    if check.is_none_or(|it| it.origin == Origin::Agent) {
        return Ok(());
    }
    person::not_an_agent("the checks that people wrote are changed", "edit --verify")
}

impl Fields {
    fn patch(self) -> Result<Patch, Fail> {
        let metadata = self.meta.as_deref().map(add::meta).transpose()?;
        let priority = self.priority.map(Some).or(self.no_priority.then_some(None));
        let parent = self.under.map(|it| Some(it.0)).or(self.top.then_some(None));
        Ok(Patch {
            title: self.title,
            active_form: optional(self.active),
            context: self.context,
            completion_criteria: self.criteria,
            agent_type: optional(self.agent),
            owner: optional(self.owner),
            priority,
            outcome: optional(self.outcome),
            after: items::refs(self.after),
            not_after: items::refs(self.not_after),
            parent,
            check: optional(self.verify)
                .map(|it| it.map(|command| add::check(command, self.covers))),
            metadata: metadata.map(|map| Some(map).filter(|map| !map.is_empty())),
            ..Patch::default()
        })
    }
}

/// A field that an empty text clears.
fn optional(text: Option<String>) -> Option<Option<String>> {
    text.map(|text| Some(text).filter(|text| !text.is_empty()))
}
