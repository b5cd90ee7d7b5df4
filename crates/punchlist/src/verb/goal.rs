//! `punchlist goal`.

use punchlist_engine::{goal, plan_service};
use punchlist_formats::typed::budget::TypedBudget;
use punchlist_formats::typed::items::each_of;
use punchlist_formats::view::{self, json};
use punchlist_model::goal::Met;
use punchlist_model::session::Store;
use punchlist_model::{Goal as Aim, Level, Op, Plan, PlanPatch, Rules};
use serde_json::json;

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::change::{Changing, Request};
use crate::evidence;
use crate::fail::Fail;
use crate::items::Several;
use crate::person::{self, Act};
use crate::plan_choice;
use crate::print::Reply;

/// Show or set the goal of the plan
///
/// Without arguments, shows the goal, its acceptance items, the items that were given up since it
/// was set, and what the work has cost.
///
/// When no item is open, Punchlist compares the list with the goal. The goal is met if its
/// acceptance items are completed, with the evidence that the plan demands. A goal without
/// acceptance items is met when somebody says so (`--met`). `list`, `show` and `run` report an
/// unmet goal, and so does the gate when an agent wants to stop.
///
/// `--demand` applies to every item: without that evidence, an item cannot be completed and holds
/// the agent's turn.
#[derive(clap::Args)]
pub(crate) struct Goal {
    /// The goal: what must be true in the end
    #[arg(value_name = "TEXT")]
    statement: Option<String>,
    /// The acceptance items: the goal is met when they are completed
    #[arg(long, value_name = "ITEM")]
    accept: Vec<Several>,
    /// A limit for the cost: `tokens=200000,turns=20,minutes=90`, or a part of that
    #[arg(long, value_name = "BUDGET")]
    budget: Option<TypedBudget>,
    /// The evidence that every item needs to count as done
    #[arg(long, value_name = "LEVEL", value_enum)]
    demand: Option<Demand>,
    /// Say that the goal is met; only a person at a terminal can if the goal has acceptance items
    /// or the plan demands more than a report
    #[arg(long, conflicts_with_all = ["statement", "accept", "budget", "clear"])]
    met: bool,
    /// Remove the goal; the demanded evidence stays
    #[arg(long, conflicts_with_all = ["statement", "accept", "budget"])]
    clear: bool,
    #[command(flatten)]
    changing: Changing,
}

/// The evidence that the plan demands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Demand {
    /// A report of the worker is enough
    #[value(alias = "claimed")]
    Reported,
    /// The item's check must have passed
    Checked,
    /// A person must have approved the item
    Approved,
}

impl Verb for Goal {
    const NAME: &'static str = "goal";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist goal
  punchlist goal \"1.2 is on the server and installs\" --accept 4,5
  punchlist goal --budget tokens=200000,minutes=90
  punchlist goal --demand checked
  punchlist goal --met
  punchlist goal --clear";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let says_nothing = self.statement.is_none()
            && self.accept.is_empty()
            && self.budget.is_none()
            && self.demand.is_none()
            && !self.met
            && !self.clear;
        if self.demand.is_some() {
            person::not_an_agent("the demanded evidence is set")?;
        }
        let (store, plan) = plan_choice::whole_there(app)?;
        if says_nothing {
            let key = block_on(plan_service::attachment(&*store, plan.id))?;
            return Ok(if app.globals.json {
                let header = json::header(&plan, key.as_ref());
                let aim = json::aim(&plan, &evidence::stale(&plan), app.now, person::reader());
                Reply::json(&json!({"plan": header, "goal": aim, "demand": plan.rules.demand}))
            } else {
                Reply::prose(whole(&plan, app))
            });
        }
        let patch = self.patch(&plan, app, &*store)?;
        let request = Request::new(vec![Op::Plan(Box::new(patch))], self.changing);
        let (store, applied) = request.make(app)?;
        let plan = block_on(store.whole(applied.plan.id))?;
        if app.globals.json {
            let value = json!({
                "revision": plan.revision, "changed": [], "warnings": [],
                "goal": json::aim(&plan, &evidence::stale(&plan), app.now, person::reader()),
                "demand": plan.rules.demand,
            });
            return Ok(Reply { changed: true, ..Reply::json(&value) });
        }
        Ok(Reply { changed: true, ..Reply::prose(whole(&plan, app)) })
    }
}

impl Goal {
    /// The change of the plan that the arguments ask for.
    fn patch(&self, plan: &Plan, app: &App, store: &dyn Store) -> Result<PlanPatch, Fail> {
        let mut patch = PlanPatch::default();
        if self.met {
            patch.goal = Some(Some(met(plan, app, store)?));
        } else if self.clear {
            patch.goal = Some(None);
        } else if self.statement.is_some() || !self.accept.is_empty() || self.budget.is_some() {
            let accept = each_of(plan, &self.accept)?;
            let budget = self.budget.map(|it| it.0);
            let said = goal::Said { statement: self.statement.as_deref(), accept, budget };
            patch.goal = Some(Some(said.of(plan)?));
        }
        if let Some(demand) = self.demand {
            let demand = match demand {
                Demand::Reported => None,
                Demand::Checked => Some(Level::Checked),
                Demand::Approved => Some(Level::Approved),
            };
            patch.rules = Some(Rules { demand, ..plan.rules });
        }
        Ok(patch)
    }
}

/// The goal, marked as met by the caller. If an agent's statement is not enough, a person confirms
/// it.
fn met(plan: &Plan, app: &App, store: &dyn Store) -> Result<Aim, Fail> {
    let aim = goal::that_could_be_met(plan)?;
    let (what, verb) = ("this goal is declared met", "goal --met");
    if !plan.is_word_enough(Some(Level::Reported)) {
        let standing = view::goal::standing(plan, &evidence::stale(plan)).unwrap_or_default();
        let about = [format!("Goal: {}", aim.statement), format!("Met so far: {standing}")];
        let (question, otherwise) = ("Is the goal met?", "the goal stays as it was");
        Act { what, verb, about: &about, question, otherwise }.confirm()?;
    }
    let person = person::at_terminal(what, verb);
    let level = if person.is_ok() { Level::Approved } else { Level::Reported };
    // The same name as in the journal: an agent must not speak as the user whose account it runs
    // in.
    let by = app.actor(store)?.name;
    Ok(Aim { met: Some(Met { at: app.now, by, level }), ..aim })
}

fn whole(plan: &Plan, app: &App) -> String {
    view::goal::whole(plan, &evidence::stale(plan), app.now, person::reader())
}
