//! `punchlist goal`.

use std::collections::BTreeSet;
use std::str::FromStr;

use punchlist_formats::text;
use punchlist_formats::view::{self, json};
use punchlist_model::goal::{Met, Reached};
use punchlist_model::session::Store;
use punchlist_model::{Budget, Goal as Aim, ItemRef, Level, Number, Op, Plan, PlanPatch, Rules};
use serde_json::json;

use super::{Group, Verb, list, show};
use crate::app::{App, no_plan};
use crate::block_on;
use crate::change::{Changing, Request};
use crate::error::Fail;
use crate::evidence;
use crate::items::{self, Several};
use crate::person::{self, Act};
use crate::plan_choice;
use crate::print::Reply;

/// Say what the list is for and what counts as done
///
/// Without arguments it shows what was said, how the items stand that the goal is accepted by, what was given
/// up since, and what it has cost. When no item is open, the list is held against the goal: it is met if the
/// items that it is accepted by are done, and checked where that is demanded; if there are none, when somebody
/// says so (`--met`). What is not met is said by `list`, `show` and `run`, and to an agent that wants to stop.
/// What is demanded holds for every item: without it none is completed, and no agent may stop.
#[derive(clap::Args)]
pub(crate) struct Goal {
    /// What must be true in the end
    #[arg(value_name = "TEXT")]
    statement: Option<String>,
    /// The items that it is accepted by
    #[arg(long, value_name = "ITEM")]
    accept: Vec<Several>,
    /// What it may cost: `tokens=200000,turns=20,minutes=90`, or a part of that
    #[arg(long, value_name = "BUDGET")]
    budget: Option<Cost>,
    /// The evidence that every item needs to count as done
    #[arg(long, value_name = "LEVEL", value_enum)]
    demand: Option<Demand>,
    /// Say that it is met; where items decide that, or the plan demands more than a claim, only a person
    /// at a terminal can
    #[arg(long, conflicts_with_all = ["statement", "accept", "budget", "clear"])]
    met: bool,
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
    #[value(alias = "claimed")]
    Reported,
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
            person::not_an_agent("what counts as done is said")?;
        }
        let Some((store, plan)) = plan_choice::whole(app)? else {
            return Err(no_plan());
        };
        if says_nothing {
            let key = list::attachment(&*store, &plan)?;
            return Ok(if app.globals.json {
                let header = json::header(&plan, key.as_ref());
                let aim = json::aim(&plan, &evidence::stale(&plan), app.now, person::reader());
                Reply::json(&json!({"plan": header, "goal": aim, "demand": plan.rules.demand}))
            } else {
                Reply::prose(told(&plan, app))
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
        Ok(Reply { changed: true, ..Reply::prose(told(&plan, app)) })
    }
}

impl Goal {
    fn patch(&self, plan: &Plan, app: &App, store: &dyn Store) -> Result<PlanPatch, Fail> {
        let mut patch = PlanPatch::default();
        if self.met {
            patch.goal = Some(Some(word(plan, app, store)?));
        } else if self.clear {
            patch.goal = Some(None);
        } else if self.statement.is_some() || !self.accept.is_empty() || self.budget.is_some() {
            let mut aim = plan.goal.as_deref().cloned().unwrap_or_default();
            if let Some(statement) = &self.statement {
                statement.trim().clone_into(&mut aim.statement);
            }
            if aim.statement.is_empty() {
                return Err(Fail::usage("there is no goal yet")
                    .hint("say it first: `punchlist goal \"what must be true in the end\"`."));
            }
            if !self.accept.is_empty() {
                let accept = items::each_of(plan, &self.accept)?;
                let number = |item: &ItemRef| Ok(show::find(plan, item)?.number);
                aim.acceptance =
                    accept.iter().map(number).collect::<Result<BTreeSet<Number>, Fail>>()?;
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
                Demand::Reported => None,
                Demand::Checked => Some(Level::Checked),
                Demand::Approved => Some(Level::Approved),
            };
            patch.rules = Some(Rules { demand, ..plan.rules });
        }
        Ok(patch)
    }
}

/// The goal with the caller's word that it is met.
fn word(plan: &Plan, app: &App, store: &dyn Store) -> Result<Aim, Fail> {
    let goal = plan.goal.as_deref().cloned().ok_or_else(|| {
        Fail::usage("there is no goal yet")
            .hint("say it first: `punchlist goal \"what must be true in the end\"`.")
    })?;
    if plan.open > 0 {
        let open = plan.open;
        return Err(Fail::refused(format!("the goal is not met while items are open: {open}"))
            .hint("finish or skip them first; `punchlist list` shows them."));
    }
    let (what, verb) = ("that this goal is met is said", "goal --met");
    if !plan.is_word_enough(Some(Level::Reported)) {
        let standing = view::goal::standing(plan, &evidence::stale(plan)).unwrap_or_default();
        let about = [format!("Goal: {}", goal.statement), format!("Met so far: {standing}")];
        let (question, otherwise) = ("Is the goal met?", "the goal stays as it was");
        Act { what, verb, about: &about, question, otherwise }.confirm()?;
    }
    let person = person::at_terminal(what, verb);
    let level = if person.is_ok() { Level::Approved } else { Level::Reported };
    // Whoever the journal will name: an agent's word is not the user's whose account it runs in.
    let by = app.actor(store)?.name;
    Ok(Aim { met: Some(Met { at: app.now, by, level }), ..goal })
}

fn line(name: &str, value: &str) -> String {
    format!("{name:<13}{value}\n")
}

/// The goal and how it stands.
fn told(plan: &Plan, app: &App) -> String {
    let mut out = String::new();
    let stale = evidence::stale(plan);
    match plan.goal.as_deref() {
        None => out.push_str("There is no goal. Say one: punchlist goal \"…\"\n"),
        Some(Aim { statement, acceptance, given_up, .. }) => {
            out.push_str(&line("goal", &text::one_line(statement)));
            for (name, numbers) in [("accepted by", acceptance), ("given up", given_up)] {
                for number in numbers {
                    out.push_str(&line(name, &item(plan, *number)));
                }
            }
            let budget = view::goal::budget(plan, app.now);
            if !budget.is_empty() {
                out.push_str(&line("budget", &budget.join("; ")));
            }
            out.push_str(&line("met", &view::goal::standing(plan, &stale).unwrap_or_default()));
        }
    }
    if let Some(level) = plan.rules.demand {
        out.push_str(&line("demands", &format!("{} evidence of every item", level.as_str())));
    }
    if let Some(Reached::No(_)) = plan.reached(&stale) {
        // What is not met was said above; what to do about it was not.
        let next = view::goal::footer(plan, &stale, app.now, person::reader()).into_iter().nth(1);
        out.extend(next.map(|it| it.text + "\n"));
    }
    out
}

/// `4  Publish (completed, checked)`.
fn item(plan: &Plan, number: Number) -> String {
    let Some(item) = plan.get(number) else { return number.to_string() };
    let left = item.is_superseded().then(|| "dropped".to_owned());
    let level = item.evidence_level().map(|it| it.as_str().to_owned());
    let words: Vec<String> =
        [Some(item.status.words().to_owned()), level, left].into_iter().flatten().collect();
    format!("{number}  {} ({})", text::one_line(&item.title), words.join(", "))
}
