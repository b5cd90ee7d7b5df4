//! `tools/call`: from the arguments to the result.
//!
//! Errors that a model should read are results; only an unknown tool is a protocol error. Some
//! clients show their model only the structured content if there is any, so it says everything that
//! the text says.

use std::sync::Arc;

use punchlist_formats::dialect::{Answer, Call, Reply};
use punchlist_model::session::Store;
use punchlist_model::store::{Change, Error, PlanStore};
use punchlist_model::{Actor, Ctx, Holder, Mode, Op};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    RequestMetaObject,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};

use super::approval::{Approval, UserAnswer};
use super::{Server, Who};
use punchlist_engine::session;
use punchlist_engine::tool_service::{self, Told};

/// The field of a structured result that has the list after a change.
const AFTER_CHANGE: &str = "reminder";

impl Server {
    /// Handles `tools/call`.
    pub(super) async fn call(
        &self,
        mut params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.has_tool(&params.name) {
            let name: String = params.name.chars().take(80).collect();
            return Err(ErrorData::invalid_params(format!("there is no tool {name:?}"), None));
        }
        let arguments = params.arguments.take().unwrap_or_default();
        let call = match self.inner.options.dialect.call_with(&params.name, arguments) {
            Ok(call) => call,
            Err(reply) => return Ok(result(reply, None).into()),
        };
        let answer = self.user_answer(&params, &call)?;
        let outcome = self.run(&call, &context.meta, answer.approval()).await;
        let Outcome { told, after } = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return Ok(failed(&call, &error).into()),
        };
        let Some(approval) =
            Approval::wanted(&told, &context).filter(|_| answer == UserAnswer::Nothing)
        else {
            return Ok(match answer {
                UserAnswer::No => self.declined(&told).into(),
                UserAnswer::Nothing | UserAnswer::Unanswered | UserAnswer::Yes(_) => {
                    self.leave_open(&told, &context.meta).await;
                    result(told.reply, after).into()
                }
            });
        };
        if self.must_ask_later(&context) {
            return Ok(self.ask_later(&params, &call, &told, approval));
        }
        match self.ask(&context, &told, approval).await {
            UserAnswer::No => Ok(self.declined(&told).into()),
            UserAnswer::Nothing | UserAnswer::Unanswered => {
                self.leave_open(&told, &context.meta).await;
                Ok(result(told.reply, None).into())
            }
            UserAnswer::Yes(approval) => {
                Ok(match self.run(&call, &context.meta, Some(&approval)).await {
                    Ok(Outcome { told, after }) => result(told.reply, after).into(),
                    Err(error) => failed(&call, &error).into(),
                })
            }
        }
    }

    /// Whether the server offers a tool of that name.
    fn has_tool(&self, name: &str) -> bool {
        self.inner.tools.iter().any(|tool| tool.name == name)
    }

    /// Runs a call after the connection's earlier calls, and first stores what a person approved
    /// for it.
    async fn run(
        &self,
        call: &Call,
        meta: &RequestMetaObject,
        approval: Option<&Approval>,
    ) -> Result<Outcome, Error> {
        let _running = self.order.lock().await;
        let (call, meta, approval) = (call.clone(), meta.clone(), approval.cloned());
        let run =
            |server: Self| async move { server.run_now(&call, &meta, approval.as_ref()).await };
        self.with_store(run).await
    }

    /// Runs a call at once.
    async fn run_now(
        &self,
        call: &Call,
        meta: &Map<String, Value>,
        approval: Option<&Approval>,
    ) -> Result<Outcome, Error> {
        let around = &self.inner.around;
        let Some(ops) = call.ops().map(Arc::<[Op]>::from) else {
            let store = around.store_to_read()?;
            let who = around.who(store.as_deref(), meta).await?;
            let plans = store.as_deref().map(|store| store as &dyn PlanStore);
            let told = tool_service::read(plans, call, &who.caller, around.now()).await?;
            if let Some(store) = plans {
                tool_service::note(store, &who.caller, &told).await;
            }
            return Ok(Outcome { told, after: None });
        };
        self.change(&*around.store()?, call, ops, meta, approval).await
    }

    /// Runs a call that changes the list.
    async fn change(
        &self,
        store: &dyn Store,
        call: &Call,
        ops: Arc<[Op]>,
        meta: &Map<String, Value>,
        approval: Option<&Approval>,
    ) -> Result<Outcome, Error> {
        let around = &self.inner.around;
        let dialect = self.inner.options.dialect;
        let who = around.who(Some(store), meta).await?;
        if let Some(approval) = approval {
            self.approve(store, approval).await?;
        }
        let change = Change::new(ops, self.ctx(&who)?);
        let now = change.ctx.now;
        let gone = |plan: &_| around.gone(plan);
        let told = tool_service::change(store, call, &who.caller, change, &gone).await?;
        let after = tool_service::after_change(store, dialect, &told).await;
        if let Some(session) = who.session.as_ref().filter(|_| told.reply.changed) {
            session::written(store, session, dialect, now).await;
        }
        Ok(Outcome { told, after })
    }

    /// The context of a change by a model.
    pub(super) fn ctx(&self, who: &Who) -> Result<Ctx, Error> {
        self.ctx_of(who.actor.clone(), who.holder.clone())
    }

    pub(super) fn ctx_of(&self, actor: Actor, holder: Holder) -> Result<Ctx, Error> {
        let options = &self.inner.options;
        let now = self.inner.around.now();
        Ok(Ctx {
            now,
            ids: self.inner.around.ids(now)?,
            actor,
            holder,
            attempt: None,
            base: None,
            mode: Mode::Enforced,
            limits: tool_service::limits(
                options.dialect,
                options.limits,
                options.open_items_chosen,
            ),
            gone: Vec::new(),
            anyway: false,
        })
    }
}

/// The outcome of running a tool.
struct Outcome {
    told: Told,
    /// The list after the change, for dialects that show it.
    after: Option<String>,
}

/// The result for a store that cannot be used.
fn failed(call: &Call, error: &Error) -> CallToolResult {
    result(call.reply(Answer::Failed(error, None)), None)
}

/// A reply as a result of the protocol.
fn result(reply: Reply, after: Option<String>) -> CallToolResult {
    let mut structured = reply.structured;
    let mut content = vec![ContentBlock::text(reply.text)];
    if let Some(after) = after {
        if let Some(Value::Object(fields)) = &mut structured {
            fields.insert(AFTER_CHANGE.to_owned(), after.as_str().into());
        }
        content.push(ContentBlock::text(after));
    }
    let mut result = CallToolResult::success(content);
    // Only failures have this field.
    result.is_error = reply.is_error.then_some(true);
    result.structured_content = structured;
    result
}
