//! Asks the user to approve items that need a person's approval.
//!
//! An older client is asked while its call waits. A newer client gets the question as the result of
//! its call, and calls again with the user's answer; the state that it sends back is signed and
//! bound to that one call. Only an explicit yes approves. If nobody answers, the item waits for the
//! approval, which a person can give at any terminal, and the model gets the refusal; so it does
//! with a client that cannot ask.

use std::collections::BTreeMap;
use std::time::Duration;

use punchlist_formats::dialect::Call;
use punchlist_formats::{prompt, text};
use punchlist_model::session::Store;
use punchlist_model::store::{Change, Error};
use punchlist_model::{Actor, Evidence, Holder, ItemRef, Level, Number, Op, PlanId};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, ErrorData,
    InputRequest, InputRequiredResult, ProtocolVersion, RequestMetaObject, SealOptions,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::{Deserialize, Serialize};

use super::Server;
use punchlist_engine::tool_service::{self, Told};

/// The key of the question in the result for a newer client.
const QUESTION: &str = "approval";

/// How long a newer client may take to send the answer back.
const ANSWER_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest name of a client that is stored, in columns.
const LONGEST_NAME: usize = 80;

/// The items that a person is asked to approve, or has approved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Approval {
    plan: PlanId,
    items: Vec<Number>,
    /// The name that the client gives itself.
    via: String,
}

impl Approval {
    /// The approval that a refused call needs, if that is all it needs.
    pub(super) fn wanted(told: &Told, context: &RequestContext<RoleServer>) -> Option<Self> {
        let items: Vec<Number> = told.unapproved.iter().map(|tag| tag.number).collect();
        let via = context.client_info().map(|it| it.name).unwrap_or_default();
        let via = text::truncate(&text::one_line(&via), LONGEST_NAME).into_owned();
        Some(Self { plan: told.plan?, items, via }).filter(|it| !it.items.is_empty())
    }

    /// Who approved: the person, and through which client.
    fn by(&self, person: &str) -> String {
        let via = if self.via.is_empty() { "an MCP client" } else { &self.via };
        format!("{person} via {via}")
    }
}

/// The user's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum UserAnswer {
    /// Nobody was asked.
    Nothing,
    /// The user was asked and did not answer.
    Unanswered,
    /// The user declined.
    No,
    /// The user approved this.
    Yes(Approval),
}

impl UserAnswer {
    pub(super) fn approval(&self) -> Option<&Approval> {
        match self {
            Self::Yes(approval) => Some(approval),
            Self::Nothing | Self::Unanswered | Self::No => None,
        }
    }

    fn of(result: Option<&ElicitResult>, approval: Approval) -> Self {
        match result.map(|it| &it.action) {
            Some(ElicitationAction::Accept) => Self::Yes(approval),
            Some(ElicitationAction::Decline) => Self::No,
            // Everything else is no answer.
            _ => Self::Unanswered,
        }
    }
}

impl Server {
    /// The answer that a newer client sends back, if it does.
    pub(super) fn user_answer(
        &self,
        params: &CallToolRequestParams,
        call: &Call,
    ) -> Result<UserAnswer, ErrorData> {
        let Some(state) = &params.request_state else { return Ok(UserAnswer::Nothing) };
        let opened = self.inner.codec.open_json_with(state, &binding(params, call));
        let Ok(approval) = opened else {
            let what =
                "requestState does not belong to this call, or is too old: call again without it";
            return Err(ErrorData::invalid_params(what, None));
        };
        let response = params.input_responses.as_ref().and_then(|it| it.get(QUESTION));
        let result = response.and_then(|it| ElicitResult::deserialize(it).ok());
        Ok(UserAnswer::of(result.as_ref(), approval))
    }

    /// Whether this client must get the question as a result.
    pub(super) fn must_ask_later(&self, context: &RequestContext<RoleServer>) -> bool {
        self.can_ask(context)
            && context.protocol_version().is_some_and(|it| it >= ProtocolVersion::NO_INITIALIZE)
    }

    /// The question as a result, for a client that will call again.
    pub(super) fn ask_later(
        &self,
        params: &CallToolRequestParams,
        call: &Call,
        told: &Told,
        approval: Approval,
    ) -> CallToolResponse {
        let binding = binding(params, call);
        let options = SealOptions::new().associated_data(&binding).ttl(ANSWER_TTL);
        let state = self.inner.codec.seal_json_with(&approval, &options).ok();
        let question = InputRequest::Elicitation(ElicitRequest::new(question(told)));
        let requests = BTreeMap::from([(QUESTION.to_owned(), question)]);
        InputRequiredResult::new(Some(requests), state).into()
    }

    /// Asks an older client and waits for the answer.
    pub(super) async fn ask(
        &self,
        context: &RequestContext<RoleServer>,
        told: &Told,
        approval: Approval,
    ) -> UserAnswer {
        if !self.can_ask(context) {
            return UserAnswer::Nothing;
        }
        let mut ended = self.inner.ended.subscribe();
        tokio::select! {
            answer = context.peer.create_elicitation(question(told)) => {
                UserAnswer::of(answer.ok().as_ref(), approval)
            }
            () = context.ct.cancelled() => UserAnswer::Unanswered,
            // The connection ended, or the sender of this signal is gone.
            _ = ended.wait_for(|ended| *ended) => UserAnswer::Unanswered,
        }
    }

    /// Whether the client can show a form to its user, and the user's answer counts.
    fn can_ask(&self, context: &RequestContext<RoleServer>) -> bool {
        let capability = context.client_capabilities().and_then(|it| it.elicitation);
        let has_form = capability.is_some_and(|it| it.form.is_some() || it.url.is_none());
        has_form && self.inner.around.hears_person()
    }

    /// Stores an approval in the person's name, with the client's.
    pub(super) async fn approve(
        &self,
        store: &dyn Store,
        approval: &Approval,
    ) -> Result<(), Error> {
        let by = approval.by(&self.inner.options.person);
        let ctx = self.ctx_of(Actor::person(&by), Holder::named(&by))?;
        let evidence = Evidence { level: Level::Approved, at: ctx.now, by, run: None };
        let prove = |number: &Number| Op::Prove {
            item: ItemRef::Number(*number),
            evidence: Box::new(evidence.clone()),
        };
        let ops: Vec<_> = approval.items.iter().map(prove).collect();
        store.change(approval.plan, Change::new(ops, ctx)).await.map(drop)
    }

    /// Makes the items wait for the approval, which any person can give later.
    pub(super) async fn leave_open(&self, told: &Told, meta: &RequestMetaObject) {
        if told.unapproved.is_empty() {
            return;
        }
        let (told, meta) = (told.clone(), meta.clone());
        let stored = self.with_store(move |server| async move {
            let store = server.inner.around.store()?;
            let who = server.inner.around.who(Some(&*store), &meta).await?;
            tool_service::await_approval(&*store, &told, server.ctx(&who)?).await;
            Ok(())
        });
        // The model gets the refusal even if this fails.
        stored.await.ok();
    }

    /// The result for the model when the user declined.
    pub(super) fn declined(&self, told: &Told) -> CallToolResult {
        let titles = told.unapproved.iter().map(|tag| tag.title.as_str());
        CallToolResult::error(vec![ContentBlock::text(prompt::declined(titles))])
    }
}

/// The data that the returned state is bound to: the same call, word for word.
fn binding(params: &CallToolRequestParams, call: &Call) -> Vec<u8> {
    format!("{}\0{:?}", params.name, call.ops()).into_bytes()
}

fn question(told: &Told) -> ElicitRequestParams {
    let titles = told.unapproved.iter().map(|tag| tag.title.as_str());
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: prompt::approval(titles),
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    }
}
