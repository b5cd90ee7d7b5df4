//! Prompts that a user may choose: plan a task, and review what is open.

use punchlist_formats::prompt::{self, Tools};
use rmcp::model::{
    ErrorData, GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument,
    PromptMessage, RequestMetaObject, Role,
};
use serde_json::Value;

use super::Server;
use super::resources::Which;

impl Server {
    pub(super) fn prompts(&self) -> ListPromptsResult {
        if self.inner.tools.is_empty() {
            return ListPromptsResult::default();
        }
        let task = PromptArgument::new("task")
            .with_title("Task")
            .with_description("What is to be done")
            .with_required(true);
        ListPromptsResult::with_all_items(vec![
            Prompt::new("plan", Some("Plan a task before it is begun"), Some(vec![task]))
                .with_title("Plan this task"),
            Prompt::new("review", Some("Go through what is open, item by item"), None)
                .with_title("Review the open list"),
        ])
    }

    pub(super) async fn prompt(
        &self,
        params: GetPromptRequestParams,
        meta: &RequestMetaObject,
    ) -> Result<GetPromptResult, ErrorData> {
        let tools = Tools::of(self.inner.options.dialect);
        let (description, text) = match params.name.as_str() {
            "plan" if !self.inner.tools.is_empty() => {
                let task = params.arguments.as_ref().and_then(|it| it.get("task"));
                let task = task.and_then(Value::as_str).filter(|it| !it.trim().is_empty());
                let task = task.ok_or_else(|| {
                    ErrorData::invalid_params(
                        "the argument `task` is missing: say what is to be done",
                        None,
                    )
                })?;
                ("Plan a task before it is begun", prompt::plan_task(task, tools))
            }
            "review" if !self.inner.tools.is_empty() => {
                // If the store cannot be used, the tools will report it when they are called.
                let plan = self.plan(Which::Current, meta).await.ok().flatten();
                ("Go through what is open, item by item", prompt::review(plan.as_ref(), tools))
            }
            name => {
                let name: String = name.chars().take(80).collect();
                return Err(ErrorData::invalid_params(
                    format!("there is no prompt {name:?}"),
                    None,
                ));
            }
        };
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message]).with_description(description))
    }
}
