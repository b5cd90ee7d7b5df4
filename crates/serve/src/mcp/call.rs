//! `tools/call`: from the arguments to what the model reads.
//!
//! What a model should read is a result, in band; a protocol error is only for a tool that there is
//! not. Some clients show their model nothing but the structured content where there is some, so
//! that says everything that the text does.

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

use super::approval::{Approval, Said};
use super::{Server, Who};
use punchlist_engine::session;
use punchlist_engine::tool_service::{self, Told};

/// The field of a structured result that holds the list as it stands after a change.
const AFTER_CHANGE: &str = "reminder";

impl Server {
    /// Runs a tool.
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
        let said = self.said(&params, &call)?;
        let done = self.run(&call, &context.meta, said.approval()).await;
        let Done { told, after } = match done {
            Ok(done) => done,
            Err(error) => return Ok(failed(&call, &error).into()),
        };
        let Some(approval) = Approval::wanted(&told, &context).filter(|_| said == Said::Nothing)
        else {
            return Ok(match said {
                Said::No => self.declined(&told).into(),
                Said::Nothing | Said::Unanswered | Said::Yes(_) => {
                    self.leave_open(&told, &context.meta).await;
                    result(told.reply, after).into()
                }
            });
        };
        if self.must_ask_later(&context) {
            return Ok(self.ask_later(&params, &call, &told, approval));
        }
        match self.ask(&context, &told, approval).await {
            Said::No => Ok(self.declined(&told).into()),
            Said::Nothing | Said::Unanswered => {
                self.leave_open(&told, &context.meta).await;
                Ok(result(told.reply, None).into())
            }
            Said::Yes(approval) => {
                Ok(match self.run(&call, &context.meta, Some(&approval)).await {
                    Ok(Done { told, after }) => result(told.reply, after).into(),
                    Err(error) => failed(&call, &error).into(),
                })
            }
        }
    }

    /// Whether it offers a tool of that name.
    fn has_tool(&self, name: &str) -> bool {
        self.inner.tools.iter().any(|tool| tool.name == name)
    }

    /// Does what a call asks for, after what a person approved of it, when the connection's earlier calls
    /// are done.
    async fn run(
        &self,
        call: &Call,
        meta: &RequestMetaObject,
        approval: Option<&Approval>,
    ) -> Result<Done, Error> {
        let _turn = self.order.lock().await;
        let (call, meta, approval) = (call.clone(), meta.clone(), approval.cloned());
        let run =
            |server: Self| async move { server.run_now(&call, &meta, approval.as_ref()).await };
        self.with_store(run).await
    }

    /// The same, at once and here.
    async fn run_now(
        &self,
        call: &Call,
        meta: &Map<String, Value>,
        approval: Option<&Approval>,
    ) -> Result<Done, Error> {
        let around = &self.inner.around;
        let Some(ops) = call.ops().map(Arc::<[Op]>::from) else {
            let store = around.store_to_read()?;
            let who = around.who(store.as_deref(), meta).await?;
            let plans = store.as_deref().map(|store| store as &dyn PlanStore);
            let told = tool_service::read(plans, call, &who.caller, around.now()).await?;
            if let Some(store) = plans {
                tool_service::note(store, &who.caller, &told).await;
            }
            return Ok(Done { told, after: None });
        };
        self.change(&*around.store()?, call, ops, meta, approval).await
    }

    /// Does a call that changes the list, in a store.
    async fn change(
        &self,
        store: &dyn Store,
        call: &Call,
        ops: Arc<[Op]>,
        meta: &Map<String, Value>,
        approval: Option<&Approval>,
    ) -> Result<Done, Error> {
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
        Ok(Done { told, after })
    }

    /// Who asks and when, for a change that a model makes.
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

/// What came of running a tool.
struct Done {
    told: Told,
    /// The list as it stands, for models that are shown it after each change.
    after: Option<String>,
}

/// A store that cannot be used, in the words of the tool.
fn failed(call: &Call, error: &Error) -> CallToolResult {
    result(call.reply(Answer::Failed(error, None)), None)
}

/// What the model is told, as the protocol has it.
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
    // Only a failure says which it is.
    result.is_error = reply.is_error.then_some(true);
    result.structured_content = structured;
    result
}
