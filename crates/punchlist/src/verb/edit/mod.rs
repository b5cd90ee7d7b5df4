//! `punchlist edit`.

use punchlist_engine::policy::checks;
use punchlist_formats::typed::item_form::ItemForm;
use punchlist_formats::typed::items::find;
use punchlist_formats::typed::{self, Expect, optional, whole_list};
use punchlist_model::needs::{Needs, Reach};
use punchlist_model::{ItemRef, Op, Patch};

use super::{Group, Verb, add};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::fail::{Code, Fail};
use crate::items::{self, Several, Typed};
use crate::print::Reply;
use crate::{editing, person, plan_choice};

/// Change fields of an item, or edit the whole list
///
/// Only the given fields change. An empty text clears a field: `--owner ""`. Without a field, the
/// item opens in your editor (`$VISUAL`, `$EDITOR`, else vi); with `--all`, the whole list opens as
/// a checklist. If the edited text is invalid, or somebody else has changed the same item
/// meanwhile, Punchlist keeps your text in a file and prints its path.
#[derive(clap::Args)]
pub(crate) struct Edit {
    /// The item: its number, title or id
    #[arg(value_name = "ITEM", required_unless_present = "all", conflicts_with = "all")]
    item: Option<Typed>,
    /// Edit the whole list in your editor
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    fields: Fields,
    #[command(flatten)]
    changing: Changing,
}

#[derive(clap::Args)]
struct Fields {
    /// The title: what is to be done
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The title while the item is in progress
    #[arg(long, value_name = "TEXT")]
    active: Option<String>,
    /// Background that the worker needs to know
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// When the item counts as done
    #[arg(long, value_name = "TEXT")]
    criteria: Option<String>,
    /// The kind of agent that should do the item
    #[arg(long, value_name = "KIND")]
    agent: Option<String>,
    /// Who is responsible for the item
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// What the result is
    #[arg(long, value_name = "TEXT")]
    outcome: Option<String>,
    /// The priority; 0 is the highest
    #[arg(long, value_name = "N")]
    priority: Option<u32>,
    /// Remove the priority
    #[arg(long, conflicts_with = "priority")]
    no_priority: bool,
    /// Make the item depend on this one; may be repeated
    #[arg(long, value_name = "ITEM")]
    after: Vec<Several>,
    /// Remove the dependency on this item; may be repeated
    #[arg(long, value_name = "ITEM")]
    not_after: Vec<Several>,
    /// Make the item a sub-item of this one
    #[arg(long, value_name = "ITEM")]
    under: Option<Typed>,
    /// Make the item a top-level item
    #[arg(long, conflicts_with = "under")]
    top: bool,
    /// The item's check: a shell command; "" removes it
    #[arg(long, value_name = "COMMAND")]
    verify: Option<String>,
    /// The files that the check covers, such as `src/**`; when they change, its result is stale
    #[arg(long, value_name = "GLOB", value_delimiter = ',', requires = "verify")]
    covers: Vec<String>,
    /// Other data to store with the item, as a JSON object; `{}` clears it
    #[arg(long, value_name = "JSON")]
    meta: Option<String>,
}

impl Verb for Edit {
    const NAME: &'static str = "edit";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist edit 3                             # in your editor
  punchlist edit --all                         # the whole list, in your editor
  punchlist edit 3 --title \"Run the final build twice\"
  punchlist edit 3 --after 2 --priority 0
  punchlist edit 3 --not-after 2 --owner \"\"";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let patch = Box::new(self.fields.patch(app)?);
        let is_named = *patch != Patch::default();
        let Some(typed) = self.item else {
            if is_named {
                return Err(Fail::usage("--all edits the whole list and takes no fields")
                    .hint("name the item, as in `punchlist edit 3 --title \"…\"`."));
            }
            return in_editor_whole(app, self.changing);
        };
        if !is_named {
            return in_editor(app, &typed, self.changing);
        }
        let item = items::one(app, &typed)?;
        if patch.check.is_some() {
            keep_persons_check(app, &item)?;
        }
        let op = Op::Edit { item, patch };
        Request::new(vec![op], self.changing).answer(app)
    }
}

fn no_editor() -> Fail {
    Fail::usage("no field is given, and there is no editor")
        .hint("name a field, as in `punchlist edit 3 --title \"…\"`; or set EDITOR.")
}

/// Opens one item in the user's editor.
fn in_editor(app: &App, typed: &Typed, changing: Changing) -> Result<Reply, Fail> {
    if !editing::is_possible() {
        return Err(no_editor());
    }
    let (_, plan) = plan_choice::whole_there(app)?;
    let item = find(&plan, &typed.within(&plan)?)?;
    let number = item.number;
    let before = ItemForm::of(item);
    let text = before.text(number);
    if ItemForm::read(&text)? != before {
        return Err(Fail::refused(format!("item {number} cannot be edited as a text"))
            .hint("change it field by field, as in `punchlist edit 3 --title \"…\"`."));
    }
    let name = format!("{}-{number}", plan.id.short());
    let read = |text: &str| Ok(ItemForm::read(text)?);
    let Some(edited) = editing::edit(&name, &text, read)? else {
        return Ok(Reply::text("nothing changed\n"));
    };
    let wanted = edited.said.clone();
    let make = || {
        let (_, now) = plan_choice::whole_there(app)?;
        let theirs = wanted.conflicts(&before, &ItemForm::of(find(&now, &number.into())?));
        if !theirs.is_empty() {
            let message =
                format!("item {number} changed while you were editing: {}", theirs.join(", "));
            return Err(Fail::new(Code::Conflict, message)
                .hint(format!("look at it with `punchlist show {number}`, then edit it again.")));
        }
        let patch = Box::new(wanted.patch(&before, item, person::called_by().origin())?);
        if *patch == Patch::default() {
            return Ok(Reply::text("nothing changed\n"));
        }
        if patch.check.is_some() {
            keep_persons_check(app, &number.into())?;
        }
        let op = Op::Edit { item: number.into(), patch };
        Request::new(vec![op], changing).answer(app)
    };
    let done = make();
    edited.end(done)
}

/// Opens the whole list in the user's editor.
fn in_editor_whole(app: &App, changing: Changing) -> Result<Reply, Fail> {
    if !editing::is_possible() {
        return Err(no_editor());
    }
    let (_, plan) = plan_choice::whole_there(app)?;
    let name = format!("{}-all", plan.id.short());
    let read = |text: &str| Ok(whole_list::read(text, &plan)?);
    let Some(edited) = editing::edit(&name, &whole_list::text(&plan), read)? else {
        return Ok(Reply::text("nothing changed\n"));
    };
    let ops = whole_list::ops(&plan, &edited.said);
    if ops.is_empty() {
        return edited.end(Ok(Reply::text("nothing changed\n")));
    }
    let expect = changing.expect.or(Some(Expect::At(plan.revision)));
    let done = Request::new(ops, Changing { expect }).answer(app);
    edited.end(done)
}

/// Refuses an agent that would change a check that a person wrote.
fn keep_persons_check(app: &App, item: &ItemRef) -> Result<(), Fail> {
    if !person::is_agent() {
        return Ok(());
    }
    let items = vec![Reach { item: item.clone(), around: Vec::new() }];
    let needs = Needs { items, ..Needs::default() };
    match plan_choice::read(app, &needs)? {
        Some((_, plan)) => checks::may_change(&plan, item, person::called_by()),
        None => Ok(()),
    }
}

impl Fields {
    fn patch(self, app: &App) -> Result<Patch, Fail> {
        let metadata = self.meta.as_deref().map(typed::metadata).transpose()?;
        let priority = self.priority.map(Some).or(self.no_priority.then_some(None));
        let under = self.under.map(|it| items::one(app, &it)).transpose()?;
        let parent = under.map(Some).or(self.top.then_some(None));
        Ok(Patch {
            title: self.title,
            active_form: optional(self.active),
            context: self.context,
            completion_criteria: self.criteria,
            agent_type: optional(self.agent),
            owner: optional(self.owner),
            priority,
            outcome: optional(self.outcome),
            after: items::each(app, &self.after)?,
            not_after: items::each(app, &self.not_after)?,
            parent,
            check: optional(self.verify)
                .map(|it| it.map(|command| add::check(command, self.covers))),
            metadata: metadata.map(|map| Some(map).filter(|map| !map.is_empty())),
            ..Patch::default()
        })
    }
}
