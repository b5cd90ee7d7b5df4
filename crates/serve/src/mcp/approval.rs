//! Questions to the user: an item that needs a person's word is put before the person.
//!
//! Older clients are asked while the call waits. Newer ones are answered with the question, and call
//! again with what was said; what they hand back is signed and bound to that one call. Only a plain
//! yes approves. A question that nobody answered stays open: the item waits for the approval, which can be
//! given at any terminal, and the model has the refusal, as it has with a client that cannot ask.

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

/// The name of the question in what a newer client is answered.
const QUESTION: &str = "approval";

/// How long an answer may take on the way that hands the question back.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest name of a client that is kept, in columns.
const LONGEST_NAME: usize = 80;

/// What a person is asked to approve, or has approved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Approval {
    plan: PlanId,
    items: Vec<Number>,
    /// The client that put the question before its user, by the name that it gives itself.
    via: String,
}

impl Approval {
    /// What is missing for a call that was refused, if a person's word is all.
    pub(super) fn wanted(told: &Told, context: &RequestContext<RoleServer>) -> Option<Self> {
        let items: Vec<Number> = told.unapproved.iter().map(|tag| tag.number).collect();
        let via = context.client_info().map(|it| it.name).unwrap_or_default();
        let via = text::truncate(&text::one_line(&via), LONGEST_NAME).into_owned();
        Some(Self { plan: told.plan?, items, via }).filter(|it| !it.items.is_empty())
    }

    /// Who approved: the person, and how that was heard.
    fn by(&self, person: &str) -> String {
        let via = if self.via.is_empty() { "an MCP client" } else { &self.via };
        format!("{person} via {via}")
    }
}

/// What a person said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Said {
    /// Nobody was asked.
    Nothing,
    /// Somebody was asked and did not answer.
    Unanswered,
    /// No.
    No,
    /// Yes, to this.
    Yes(Approval),
}

impl Said {
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
            // What is neither yes nor no is no answer.
            _ => Self::Unanswered,
        }
    }
}

impl Server {
    /// What a newer client brings back of a question that an earlier answer held.
    pub(super) fn said(
        &self,
        params: &CallToolRequestParams,
        call: &Call,
    ) -> Result<Said, ErrorData> {
        let Some(state) = &params.request_state else { return Ok(Said::Nothing) };
        let opened = self.inner.codec.open_json_with(state, &binding(params, call));
        let Ok(approval) = opened else {
            let what =
                "requestState does not belong to this call, or is too old: call again without";
            return Err(ErrorData::invalid_params(what, None));
        };
        let response = params.input_responses.as_ref().and_then(|it| it.get(QUESTION));
        let result = response.and_then(|it| ElicitResult::deserialize(it).ok());
        Ok(Said::of(result.as_ref(), approval))
    }

    /// Whether this client is one that is answered with the question.
    pub(super) fn must_ask_later(&self, context: &RequestContext<RoleServer>) -> bool {
        self.can_ask(context)
            && context.protocol_version().is_some_and(|it| it >= ProtocolVersion::NO_INITIALIZE)
    }

    /// The question, for a client that will call again.
    pub(super) fn ask_later(
        &self,
        params: &CallToolRequestParams,
        call: &Call,
        told: &Told,
        approval: Approval,
    ) -> CallToolResponse {
        let binding = binding(params, call);
        let options = SealOptions::new().associated_data(&binding).ttl(PATIENCE);
        let state = self.inner.codec.seal_json_with(&approval, &options).ok();
        let question = InputRequest::Elicitation(ElicitRequest::new(question(told)));
        let requests = BTreeMap::from([(QUESTION.to_owned(), question)]);
        InputRequiredResult::new(Some(requests), state).into()
    }

    /// Asks a client that waits for it.
    pub(super) async fn ask(
        &self,
        context: &RequestContext<RoleServer>,
        told: &Told,
        approval: Approval,
    ) -> Said {
        if !self.can_ask(context) {
            return Said::Nothing;
        }
        let mut ended = self.inner.ended.subscribe();
        tokio::select! {
            answer = context.peer.create_elicitation(question(told)) => {
                Said::of(answer.ok().as_ref(), approval)
            }
            () = context.ct.cancelled() => Said::Unanswered,
            // Whether it ended or nobody could say so any more.
            _ = ended.wait_for(|ended| *ended) => Said::Unanswered,
        }
    }

    /// Whether the client can put a form before its user, and that user's answer counts.
    fn can_ask(&self, context: &RequestContext<RoleServer>) -> bool {
        let capability = context.client_capabilities().and_then(|it| it.elicitation);
        let has_form = capability.is_some_and(|it| it.form.is_some() || it.url.is_none());
        has_form && self.inner.around.hears_person()
    }

    /// Writes down what a person approved, in that person's name, and through which client.
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

    /// Nobody has answered: the question stays open on the list, where any person can answer it.
    pub(super) async fn leave_open(&self, told: &Told, meta: &RequestMetaObject) {
        if told.unapproved.is_empty() {
            return;
        }
        let (told, meta) = (told.clone(), meta.clone());
        let noted = self.with_store(move |server| async move {
            let store = server.inner.around.store()?;
            let who = server.inner.around.who(Some(&*store), &meta).await?;
            tool_service::await_approval(&*store, &told, server.ctx(&who)?).await;
            Ok(())
        });
        // The model has the refusal, whether or not the list says so too.
        noted.await.ok();
    }

    /// What the model is told when the user said no.
    pub(super) fn declined(&self, told: &Told) -> CallToolResult {
        let titles = told.unapproved.iter().map(|tag| tag.title.as_str());
        CallToolResult::error(vec![ContentBlock::text(prompt::declined(titles))])
    }
}

/// What an answer must come back with: the same call, word for word.
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
