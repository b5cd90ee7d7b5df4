//! The tools of a conversation's plan as tools of the scheduler, so that they run beside a
//! program's own tools.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_formats::dialect::ToolSpec;
use punchlist_sched::call::{Checked, Ended, Kind, Output};
use punchlist_sched::{Access, Preview, Subject, Tool, Work};
use serde_json::Value;

use super::Conversation;

impl Conversation {
    /// The tools from [`Self::tools`], for the scheduler. They run one after the other in the order
    /// of the calls. Policy treats them as harmless, because they only change the plan.
    pub fn as_tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |spec| Arc::new(PlanTool { talk: self.clone(), spec }) as Arc<dyn Tool>;
        self.tools().into_iter().map(tool).collect()
    }
}

/// One tool of the plan.
struct PlanTool {
    talk: Conversation,
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
        let plan = format!("plan of {}", self.talk.key().actor_name(""));
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

    fn run(&self, arguments: Value, _work: Work) -> BoxFuture<'static, Ended> {
        let (talk, name) = (self.talk.clone(), self.spec.name);
        Box::pin(async move {
            match talk.call(name, &arguments).await {
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
