//! A conversation between a program and a model that it runs itself.
//!
//! The order of calls: [`Conversation::prompted`] for each user prompt; then, for each answer of
//! the model, [`Conversation::call`] for its tool calls and [`Conversation::turn_ended`]; and
//! [`Conversation::may_end`] once the model calls no more tools. The program gives the returned
//! texts to the model.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use punchlist_formats::dialect::{Dialect, Surface, ToolSpec};
use punchlist_formats::hook::{Answer, Source, Stop as Wish, asks_user};
use punchlist_formats::prompt::{Tag, Tools, prompt_section};
use punchlist_model::remind::Policy;
use punchlist_model::session::{Session, SessionKey};
use punchlist_model::store::{Change, Error};
use punchlist_model::{Ctx, PlanId};
use serde_json::Value;

use super::{AgentFacts, Exchange, Given, Moment, PlanFacts, Settings};
use crate::engine::{Engine, Inner};
use crate::session::{self, Seen};
use crate::tool_service::{self, Caller};
use crate::{System, around};

/// Whether the turn may end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The turn may end. Open items stay on the plan.
    Allowed,
    /// The turn may not end yet. The text is for the model. The number of refusals is bounded.
    Refused(String),
}

/// The result of a tool call.
#[derive(Clone, PartialEq, Debug)]
pub struct CallResult {
    /// The text for the model.
    pub text: String,
    /// The result as JSON, if the tool has an output schema.
    pub structured: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
    /// Whether the plan was changed.
    pub changed: bool,
    /// The current list, for models that are shown it after each change.
    pub after: Option<String>,
}

/// A conversation with a model, and its plan.
#[derive(Clone)]
pub struct Conversation {
    engine: Engine,
    key: SessionKey,
    dialect: Dialect,
    surface: Surface,
    is_attended: bool,
    /// Whether this process has reported the start of the conversation.
    has_begun: Arc<AtomicBool>,
}

impl Engine {
    /// A conversation with a model that uses the plan through this dialect. The same key later
    /// continues with the same plan. The conversation is unattended; see
    /// [`Conversation::attended`].
    pub fn conversation(&self, key: SessionKey, dialect: Dialect) -> Conversation {
        Conversation {
            engine: self.clone(),
            key,
            dialect,
            surface: Surface::Full,
            is_attended: false,
            has_begun: Arc::default(),
        }
    }
}

impl Conversation {
    /// Makes the conversation attended: a person reads along. Then a stop is refused only once, and
    /// an answer that asks the person something may end the turn.
    #[must_use]
    pub fn attended(mut self) -> Self {
        self.is_attended = true;
        self
    }

    pub(super) fn key(&self) -> &SessionKey {
        &self.key
    }

    /// The tools for the model; [`ToolSpec::for_api`] gives each provider's format.
    pub fn tools(&self) -> Vec<ToolSpec> {
        self.dialect.tools(self.surface)
    }

    /// The section on the plan for the system prompt.
    pub fn system(&self) -> &'static str {
        prompt_section(self.dialect, self.surface, true).unwrap_or_default()
    }

    /// The user sent a prompt. Returns the texts to give to the model with it.
    pub async fn prompted(&self) -> Result<Vec<String>, Error> {
        let is_first = !self.has_begun.swap(true, Ordering::Relaxed);
        let is_stored = self.engine.inner.store.session(self.key.clone()).await?.is_some();
        let source = if is_stored { Source::Resume } else { Source::Startup };
        self.with(async |exchange| {
            let mut texts = Vec::new();
            if is_first {
                texts.extend(context(exchange.begins(source).await?));
            }
            texts.extend(context(exchange.prompt(None).await?));
            Ok(texts)
        })
        .await
    }

    /// Runs a tool that the model called. A refusal by a rule is a result with that text; an error
    /// means that the store cannot be used.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Result<CallResult, Error> {
        let fields = arguments.as_object().cloned().unwrap_or_default();
        let call = match self.dialect.call_with(tool, fields) {
            Ok(call) => call,
            Err(reply) => return Ok(result(reply, None)),
        };
        let Inner { store, around, options } = &*self.engine.inner;
        let session = self.session().await?;
        let caller = Caller {
            title: session.memory.prompt.clone().unwrap_or_default(),
            ..Caller::new(session.attachment())
        };
        let now = around.now();
        let Some(ops) = call.ops() else {
            let outcome = tool_service::read(Some(&**store), &call, &caller, now).await?;
            tool_service::note(&**store, &caller, &outcome).await;
            return Ok(result(outcome.reply, None));
        };
        let name = session.actor_name("");
        let limits = tool_service::limits(self.dialect, options.limits, false);
        let ctx = Ctx { limits, ..Ctx::new(name, now, around.ids(now)?) };
        let gone = |plan: &_| around::gone(&**around, plan);
        let change = Change::new(ops.to_vec(), ctx.clone());
        let outcome = tool_service::change(&**store, &call, &caller, change, &gone).await?;
        tool_service::await_approval(&**store, &outcome, ctx).await;
        let after = tool_service::after_change(&**store, self.dialect, &outcome).await;
        if outcome.reply.changed {
            session::written(&**store, &session, self.dialect, now).await;
        }
        Ok(result(outcome.reply, after))
    }

    /// A model turn has ended. Returns the texts to give to the model before the next one. `worked`
    /// says whether the model called tools other than the plan's.
    pub async fn turn_ended(&self, worked: bool) -> Result<Vec<String>, Error> {
        self.with(async |exchange| Ok(context(exchange.turn_over(worked).await?))).await
    }

    /// The model wants to end the turn with this answer.
    pub async fn may_end(&self, answer: Option<&str>) -> Result<Stop, Error> {
        let wish = Wish { asks: answer.is_some_and(asks_user), ..Wish::default() };
        let answer = self.with(async |exchange| exchange.stop(&wish, false).await).await?;
        Ok(match answer {
            Answer::Refuse(why) => Stop::Refused(why),
            Answer::Nothing | Answer::Context(_) | Answer::Message(_) => Stop::Allowed,
        })
    }

    /// The model's context was compacted. The open list is sent with the next prompt.
    pub async fn compacted(&self) -> Result<(), Error> {
        self.with(async |exchange| exchange.compacted().await.map(drop)).await
    }

    /// The session, recorded if it is new.
    async fn session(&self) -> Result<Session, Error> {
        let Inner { store, around, options } = &*self.engine.inner;
        let seen = Seen {
            key: self.key.clone(),
            project: options.project.clone(),
            directory: String::new(),
            process: None,
            interactive: Some(self.is_attended),
            now: around.now(),
            ended: false,
        };
        session::record(&**store, seen).await
    }

    async fn with<T>(
        &self,
        act: impl AsyncFnOnce(&Exchange<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Inner { store, around, options } = &*self.engine.inner;
        let session = self.session().await?;
        let now = around.now();
        let ids = around.ids(now)?;
        let (host, policy, tag) = (System::host(), Policy::default(), Tag::reminder());
        let given = Given {
            moment: Moment { now, ids, host: &host },
            agent: AgentFacts {
                name: &self.key.agent,
                has_server: true,
                tools: Some(Tools::of(self.dialect)),
                process: None,
                interactive: Some(self.is_attended),
                planning: false,
                task_list: None,
            },
            plan: PlanFacts { project: &options.project, name: None, new_id: PlanId(ids.nth(0)) },
            settings: Settings {
                gate: None,
                reminders: &policy,
                tag: &tag,
                limits: options.limits,
            },
            task: &|_, _| None,
            program: &|| "punchlist".to_owned(),
            version: env!("CARGO_PKG_VERSION"),
        };
        act(&Exchange { store: &**store, given: &given, session, sighting: None, sub_agent: "" })
            .await
    }
}

/// The text for the model, if any.
fn context(answer: Answer) -> Vec<String> {
    match answer {
        Answer::Context(text) | Answer::Refuse(text) => vec![text],
        Answer::Nothing | Answer::Message(_) => Vec::new(),
    }
}

fn result(reply: punchlist_formats::dialect::Reply, after: Option<String>) -> CallResult {
    CallResult {
        structured: reply.structured,
        text: reply.text,
        is_error: reply.is_error,
        changed: reply.changed,
        after,
    }
}
