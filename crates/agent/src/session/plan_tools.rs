//! The plan's tools as tools of the scheduler.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_formats::dialect::{Surface, ToolSpec};
use punchlist_sched::call::{Checked, Ended, Kind, Output};
use punchlist_sched::{Access, Preview, Subject, Tool, Work};
use serde_json::Value;

use super::plan::TurnPlan;

impl TurnPlan {
    /// The tools by which the model reads and changes the plan. Calls run one after the other, in the
    /// order of the model's answer. Policy treats them as harmless: they only change the plan.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |spec| Arc::new(PlanTool { plan: self.clone(), spec }) as Arc<dyn Tool>;
        self.dialect().tools(Surface::Full).into_iter().map(tool).collect()
    }
}

/// One tool of the plan.
struct PlanTool {
    plan: TurnPlan,
    spec: ToolSpec,
}

impl Tool for PlanTool {
    fn name(&self) -> &str {
        self.spec.name
    }

    fn description(&self) -> &str {
        self.spec.description
    }

    fn schema(&self) -> &Value {
        &self.spec.input_schema
    }

    fn check(&self, _arguments: &Value) -> Result<Checked, String> {
        // No file has this name, so only calls on the same plan wait for each other. A reading call
        // counts as writing: it must see what the calls before it have changed.
        let plan = format!("plan of {}", self.plan.agent());
        let tool = self.spec.name.to_owned();
        let subject = Subject { tool, harmless: true, ..Subject::default() };
        Ok(Checked { access: Access::writes([plan.as_str()]), kind: Kind::OTHER, subject })
    }

    fn preview(&self, arguments: &Value) -> Preview {
        Preview { what: format!("{} {arguments}", self.spec.name), ..Preview::default() }
    }

    fn run(&self, arguments: Value, work: Work) -> BoxFuture<'static, Ended> {
        let (plan, name) = (self.plan.clone(), self.spec.name);
        Box::pin(async move {
            // Without a label there is nothing to repeat the call by.
            let label = work.label().unwrap_or_default().to_owned();
            match plan.call(name, &arguments, &label).await {
                Ok(called) if called.is_error => {
                    Ended::Badly { what: called.text, output: Output::default() }
                }
                Ok(called) => Ended::Well(Output::text(called.text)),
                Err(why) => Ended::Badly { what: why.to_string(), output: Output::default() },
            }
        })
    }
}
