//! Changes to a plan's goal.

use std::collections::BTreeSet;

use punchlist_formats::typed::items;
use punchlist_model::{Budget, Goal, ItemRef, Number, Plan};

use crate::fail::Fail;

/// Changes to a goal. Parts that are not given stay as they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said<'a> {
    /// The statement: what must be true in the end.
    pub statement: Option<&'a str>,
    /// The acceptance items; an empty list leaves them as they are.
    pub accept: Vec<ItemRef>,
    /// The budget; a part that is not set stays as it is.
    pub budget: Option<Budget>,
}

impl Said<'_> {
    /// The plan's goal with these changes.
    pub fn of(&self, plan: &Plan) -> Result<Goal, Fail> {
        let mut goal = plan.goal.as_deref().cloned().unwrap_or_default();
        if let Some(statement) = self.statement {
            statement.trim().clone_into(&mut goal.statement);
        }
        if goal.statement.is_empty() {
            return Err(no_goal());
        }
        if !self.accept.is_empty() {
            let number = |item: &ItemRef| Ok(items::find(plan, item)?.number);
            goal.acceptance =
                self.accept.iter().map(number).collect::<Result<BTreeSet<Number>, Fail>>()?;
        }
        if let Some(budget) = self.budget {
            goal.budget = Budget {
                tokens: budget.tokens.or(goal.budget.tokens),
                turns: budget.turns.or(goal.budget.turns),
                minutes: budget.minutes.or(goal.budget.minutes),
            };
        }
        Ok(goal)
    }
}

/// The goal of a plan, if it may be declared met: no item is open.
pub fn that_could_be_met(plan: &Plan) -> Result<Goal, Fail> {
    let goal = plan.goal.as_deref().cloned().ok_or_else(no_goal)?;
    if plan.open > 0 {
        let open = plan.open;
        return Err(Fail::refused(format!("the goal is not met while items are open: {open}"))
            .hint("finish or skip them first; `punchlist list` shows them."));
    }
    Ok(goal)
}

fn no_goal() -> Fail {
    Fail::usage("there is no goal yet")
        .hint("say it first: `punchlist goal \"what must be true in the end\"`.")
}
