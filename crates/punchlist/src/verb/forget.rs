//! `punchlist forget`.

use punchlist_engine::forget::Erasure;
use punchlist_model::needs::{Needs, Reach};

use super::{Group, Verb};
use crate::app::{App, no_plan};
use crate::args::Globals;
use crate::block_on;
use crate::fail::{Code, Fail};
use crate::items::{self, Typed};
use crate::person::{self, Act};
use crate::print::Reply;
use crate::{change, places, plan_choice};

/// Erase the texts of an item or a whole plan for good
///
/// This cannot be undone. The texts are erased from the list, the journal and the database files,
/// together with the outputs, questions and answers of their runs. A tombstone remains. On a server,
/// WAL archives, replicas and backups keep the texts. Only a person at a terminal can do this, and
/// confirms it with a key.
#[derive(clap::Args)]
pub(crate) struct Forget {
    /// An item's number, title or id, as `punchlist list --all` shows it; or a plan's name or id
    #[arg(
        value_name = "ITEM|PLAN",
        required_unless_present = "whole_plan",
        conflicts_with = "whole_plan"
    )]
    item: Option<Typed>,
    /// Erase every text of the plan, and its name
    #[arg(long)]
    whole_plan: bool,
}

/// What forgetting cannot reach.
const ON_SERVER: &str = "the texts are gone from the server's tables; WAL archives, replicas and backups \
     keep them until they are removed there";

impl Verb for Forget {
    const NAME: &'static str = "forget";
    const GROUP: Group = Group::Keep;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist forget 4
  punchlist forget release                     # the plan of that name, as `punchlist plans delete`
  punchlist forget --whole-plan --plan 7f3a";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let what = "texts are erased";
        person::at_terminal(what, Self::NAME)?;
        if let Some(plan) = self.item.as_ref().map(|it| named_plan(app, it)).transpose()?.flatten()
        {
            let app = App::new(Globals { plan: Some(plan), ..app.globals.clone() });
            return Self::plan().run(&app);
        }
        let item = self.item.map(|it| items::one(app, &it)).transpose()?;
        let items = item.iter().map(|item| Reach { item: item.clone(), around: Vec::new() });
        let needs = Needs { items: items.collect(), ..Needs::default() };
        let Some((_, plan)) = plan_choice::read(app, &needs)? else { return Err(no_plan()) };
        let erasure = Erasure::find(&plan, item)?;
        let (question, otherwise) = (&erasure.question(), "nothing was erased");
        Act { what, verb: Self::NAME, about: &[], question, otherwise }.confirm()?;
        let store = app.store()?;
        let ctx = app.in_session(app.ctx()?, &*store)?;
        let applied = block_on(erasure.apply(&*store, &places::outputs()?, ctx))?;
        let mut reply = change::report(app, &*store, applied)?;
        if self.whole_plan && !app.globals.json {
            reply.out = format!("forgotten: every text of plan {}\n", plan.id.short());
        }
        if app.is_on_server()? {
            reply.notes.push(ON_SERVER.to_owned());
        }
        Ok(reply)
    }
}

impl Forget {
    /// Erases a whole plan.
    pub(super) fn plan() -> Self {
        Self { item: None, whole_plan: true }
    }
}

/// The plan that was named, if the argument is a plan and not an item.
fn named_plan(app: &App, typed: &Typed) -> Result<Option<String>, Fail> {
    let name = match typed {
        Typed::Number(_) => return Ok(None),
        Typed::Id { typed, .. } | Typed::Title(typed) => typed,
    };
    let Some(store) = app.store_to_read()? else { return Ok(None) };
    let is_plan = match plan_choice::find(app, &*store, name) {
        Ok(_) => true,
        Err(fail) if fail.code == Code::NotFound || fail.code == Code::Usage => false,
        Err(fail) => return Err(fail),
    };
    if !is_plan {
        return Ok(None);
    }
    let is_item = match plan_choice::whole(app) {
        Ok(Some((_, plan))) => {
            typed.within(&plan).is_ok_and(|item| plan.find(&item).is_ok_and(|it| it.is_some()))
        }
        Ok(None) | Err(_) => false,
    };
    if is_item {
        return Err(Fail::usage(format!("{name:?} is a plan and an item"))
            .hint("use the item's number, or `punchlist plans delete` for the plan."));
    }
    Ok(Some(name.clone()))
}
