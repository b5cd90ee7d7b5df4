//! `punchlist goal`.

use std::collections::BTreeSet;
use std::str::FromStr;

use punchlist_formats::text;
use punchlist_formats::view::json;
use punchlist_model::needs::Needs;
use punchlist_model::store::PlanStore;
use punchlist_model::{Budget, Goal as Aim, Level, Number, Op, Plan, PlanPatch, Rules};
use serde_json::json;

use super::{Group, Verb, list, show};
use crate::app::{App, no_plan};
use crate::change::{Changing, Request};
use crate::error::Fail;
use crate::items::Typed;
use crate::person;
use crate::print::Reply;
use crate::settle::settle;
use crate::which;

/// Say what the list is for and what counts as done
///
/// Without arguments it shows what was said, and how the items stand that the goal is accepted by.
/// What is demanded holds for every item: without it none is completed, and no agent may stop.
#[derive(clap::Args)]
pub(crate) struct Goal {
    /// What must be true in the end
    #[arg(value_name = "TEXT")]
    statement: Option<String>,
    /// The items that it is accepted by
    #[arg(long, value_name = "ITEM", value_delimiter = ',')]
    accept: Vec<Typed>,
    /// What it may cost: `tokens=200000,turns=20,minutes=90`, or a part of that
    #[arg(long, value_name = "BUDGET")]
    budget: Option<Cost>,
    /// The evidence that every item needs to count as done
    #[arg(long, value_name = "LEVEL", value_enum)]
    demand: Option<Demand>,
    /// Take the goal away; what is demanded stays
    #[arg(long, conflicts_with_all = ["statement", "accept", "budget"])]
    clear: bool,
    #[command(flatten)]
    changing: Changing,
}

/// How well "done" must be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Demand {
    /// The word of whoever did it is enough
    Claimed,
    /// Its check must have passed
    Checked,
    /// A person must have approved it
    Approved,
}

/// A budget as typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cost(Budget);

impl FromStr for Cost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut budget = Budget::default();
        for part in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let wrong = || format!("{part:?} is not one of tokens=N, turns=N and minutes=N");
            let (name, number) = part.split_once('=').ok_or_else(wrong)?;
            let number = number.trim();
            match name.trim() {
                "tokens" => budget.tokens = Some(number.parse().map_err(|_| wrong())?),
                "turns" => budget.turns = Some(number.parse().map_err(|_| wrong())?),
                "minutes" => budget.minutes = Some(number.parse().map_err(|_| wrong())?),
                _ => return Err(wrong()),
            }
        }
        Ok(Self(budget))
    }
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
  punchlist goal --clear";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let says_nothing = self.statement.is_none()
            && self.accept.is_empty()
            && self.budget.is_none()
            && self.demand.is_none()
            && !self.clear;
        if self.demand.is_some() {
            person::not_an_agent("what counts as done is said", Self::NAME)?;
        }
        let Some((store, plan)) = which::read(app, &Needs::whole())? else { return Err(no_plan()) };
        if says_nothing {
            let key = list::attachment(&store, &plan)?;
            return Ok(if app.globals.json {
                let header = json::header(&plan, key.as_ref());
                Reply::json(
                    &json!({"plan": header, "goal": plan.goal, "demand": plan.rules.demand}),
                )
            } else {
                Reply::text(told(&plan))
            });
        }
        let patch = self.patch(&plan)?;
        let request = Request::new(vec![Op::Plan(Box::new(patch))], self.changing);
        let (store, applied) = request.make(app)?;
        let plan = settle(store.read(applied.plan.id, Needs::whole()))?;
        store.let_go();
        if app.globals.json {
            let value = json!({
                "revision": plan.revision, "changed": [], "warnings": [],
                "goal": plan.goal, "demand": plan.rules.demand,
            });
            return Ok(Reply { changed: true, ..Reply::json(&value) });
        }
        Ok(Reply { changed: true, ..Reply::text(told(&plan)) })
    }
}

impl Goal {
    fn patch(&self, plan: &Plan) -> Result<PlanPatch, Fail> {
        let mut patch = PlanPatch::default();
        if self.clear {
            patch.goal = Some(None);
        } else if self.statement.is_some() || !self.accept.is_empty() || self.budget.is_some() {
            let mut aim = plan.goal.clone().unwrap_or_default();
            if let Some(statement) = &self.statement {
                statement.trim().clone_into(&mut aim.statement);
            }
            if aim.statement.is_empty() {
                return Err(Fail::usage("there is no goal yet")
                    .hint("say it first: `punchlist goal \"what must be true in the end\"`."));
            }
            if !self.accept.is_empty() {
                let number = |typed: &Typed| Ok(show::find(plan, &typed.0)?.number);
                aim.acceptance =
                    self.accept.iter().map(number).collect::<Result<BTreeSet<Number>, Fail>>()?;
            }
            if let Some(Cost(budget)) = self.budget {
                aim.budget = Budget {
                    tokens: budget.tokens.or(aim.budget.tokens),
                    turns: budget.turns.or(aim.budget.turns),
                    minutes: budget.minutes.or(aim.budget.minutes),
                };
            }
            patch.goal = Some(Some(aim));
        }
        if let Some(demand) = self.demand {
            let demand = match demand {
                Demand::Claimed => None,
                Demand::Checked => Some(Level::Checked),
                Demand::Approved => Some(Level::Approved),
            };
            patch.rules = Some(Rules { demand, ..plan.rules });
        }
        Ok(patch)
    }
}

fn line(name: &str, value: &str) -> String {
    format!("{name:<13}{value}\n")
}

/// The goal and how it stands.
fn told(plan: &Plan) -> String {
    let mut out = String::new();
    match &plan.goal {
        None => out.push_str("There is no goal. Say one: punchlist goal \"…\"\n"),
        Some(Aim { statement, acceptance, budget }) => {
            out.push_str(&line("goal", &text::one_line(statement)));
            for number in acceptance {
                let item = plan.get(*number);
                let title = item.map(|it| text::one_line(&it.title).into_owned());
                let status = item.map(|it| format!(" ({})", it.status.words()));
                let (title, status) = (title.unwrap_or_default(), status.unwrap_or_default());
                out.push_str(&line("accepted by", &format!("{number}  {title}{status}")));
            }
            let parts = [
                budget.tokens.map(|it| format!("{it} tokens")),
                budget.turns.map(|it| format!("{it} turns")),
                budget.minutes.map(|it| format!("{it} minutes")),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            if !parts.is_empty() {
                out.push_str(&line("budget", &parts.join(", ")));
            }
        }
    }
    if let Some(level) = plan.rules.demand {
        out.push_str(&line("demands", &format!("{} evidence of every item", level.as_str())));
    }
    out
}
