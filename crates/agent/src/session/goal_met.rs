//! `goal_met`: the tool by which the model says that the goal of the plan is met. It is offered in a turn
//! whose plan has a goal, or will have one.

use futures_core::future::BoxFuture;
use punchlist_sched::call::{Checked, Ended, Kind, Output};
use punchlist_sched::{Access, Preview, Subject, Tool, Work};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::plan::TurnPlan;
use crate::tools;

/// The name of the tool.
const GOAL_MET: &str = "goal_met";

/// The tool.
pub(super) struct GoalMet {
    plan: TurnPlan,
    schema: Value,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// What shows that the goal is met.
    #[schemars(length(min = 1))]
    reason: String,
}

impl GoalMet {
    /// The tool for the plan of a turn.
    pub(super) fn new(plan: TurnPlan) -> Self {
        Self { plan, schema: tools::schema::<Arguments>() }
    }
}

impl Tool for GoalMet {
    fn name(&self) -> &'static str {
        GOAL_MET
    }

    fn description(&self) -> &'static str {
        "Say that the goal of this list is met. Only when no item is open, and after you have compared \
         what was done with the goal."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, input: &Value) -> Result<Checked, String> {
        let arguments: Arguments = tools::arguments(input)?;
        if arguments.reason.trim().is_empty() {
            return Err("the reason is empty: say what shows that the goal is met".to_owned());
        }
        // As the other tools of the plan: they run in the order of the calls.
        let access = Access::writes([format!("plan of {}", self.plan.agent()).as_str()]);
        let subject = Subject { tool: GOAL_MET.to_owned(), harmless: true, ..Subject::default() };
        Ok(Checked { access, kind: Kind::OTHER, subject })
    }

    fn preview(&self, arguments: &Value) -> Preview {
        Preview { what: format!("{GOAL_MET} {arguments}"), ..Preview::default() }
    }

    fn run(&self, _arguments: Value, work: Work) -> BoxFuture<'static, Ended> {
        let plan = self.plan.clone();
        Box::pin(async move {
            let badly = |what| Ended::Badly { what, output: Output::default() };
            match plan.declare_goal_met(work.label()).await {
                Ok(Ok(())) => Ended::Well(Output::text("The goal is recorded as met.")),
                Ok(Err(why)) => badly(why),
                Err(why) => badly(why.to_string()),
            }
        })
    }
}
