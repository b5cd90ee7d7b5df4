//! The tools of a plan as tools of the scheduler, so that they run beside a program's own tools.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_formats::dialect::ToolSpec;
use punchlist_model::store::Error;
use punchlist_sched::call::{Checked, Ended, Kind, Output};
use punchlist_sched::{Access, Preview, Subject, Tool, Work};
use serde_json::Value;

use super::{CallResult, Conversation};

/// Runs the calls of a plan's tools.
pub trait PlanCaller: Send + Sync {
    /// The name of the agent that calls. Calls of one agent wait for each other.
    fn agent(&self) -> String;

    /// Runs a call. `label` is the name that the scheduler's caller gave it.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a Value,
        label: Option<&'a str>,
    ) -> BoxFuture<'a, Result<CallResult, Error>>;
}

/// The tools of a plan, for the scheduler. They run one after the other in the order of the calls.
/// Policy treats them as harmless, because they only change the plan.
pub fn plan_tools(specs: Vec<ToolSpec>, caller: Arc<dyn PlanCaller>) -> Vec<Arc<dyn Tool>> {
    let tool = |spec| Arc::new(PlanTool { caller: Arc::clone(&caller), spec }) as Arc<dyn Tool>;
    specs.into_iter().map(tool).collect()
}

impl Conversation {
    /// The tools from [`Self::tools`], for the scheduler.
    pub fn as_tools(&self) -> Vec<Arc<dyn Tool>> {
        plan_tools(self.tools(), Arc::new(self.clone()))
    }
}

impl PlanCaller for Conversation {
    fn agent(&self) -> String {
        self.key().actor_name("")
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a Value,
        _label: Option<&'a str>,
    ) -> BoxFuture<'a, Result<CallResult, Error>> {
        Box::pin(Self::call(self, tool, arguments))
    }
}

/// One tool of the plan.
struct PlanTool {
    caller: Arc<dyn PlanCaller>,
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
        // No file has this name, so only calls on the same plan wait for each other.
        let plan = format!("plan of {}", self.caller.agent());
        let access = if self.spec.read_only {
            Access::reads([plan.as_str()])
        } else {
            Access::writes([plan.as_str()])
        };
        let tool = self.spec.name.to_owned();
        let subject = Subject { tool, harmless: true, ..Subject::default() };
        Ok(Checked { access, kind: Kind::OTHER, subject })
    }

    fn preview(&self, arguments: &Value) -> Preview {
        Preview { what: format!("{} {arguments}", self.spec.name), ..Preview::default() }
    }

    fn run(&self, arguments: Value, work: Work) -> BoxFuture<'static, Ended> {
        let (caller, name) = (Arc::clone(&self.caller), self.spec.name);
        Box::pin(async move {
            match caller.call(name, &arguments, work.label()).await {
                Ok(result) if result.is_error => {
                    Ended::Badly { what: result.text, output: Output::default() }
                }
                Ok(result) => {
                    let text = [Some(result.text), result.after].into_iter().flatten();
                    let output = Output::text(text.collect::<Vec<_>>().join("\n\n"));
                    Ended::Well(match result.structured {
                        Some(data) => output.with_data(data),
                        None => output,
                    })
                }
                Err(why) => Ended::Badly { what: why.to_string(), output: Output::default() },
            }
        })
    }
}
