//! One call of the model: what it is sent, and what is recorded of its answer.

use std::pin::pin;
use std::time::Duration;

use punchlist_engine::fail::Fail;
use punchlist_formats::dialect::Surface;
use punchlist_formats::hook::asks_user;
use punchlist_formats::prompt::prompt_section;
use punchlist_model::store::turns::{ConversationState, Used};
use punchlist_model::{Plan, Timestamp};
use serde_json::Value;

use super::attend::Until;
use super::driver::Driver;
use super::entry::{Answer, CallEnd, Entry};
use super::event::{Event, FrontEnd};
use super::output_schema;
use super::recorder::Happened;
use crate::context::{self, Context, Instructions, SystemFacts, WorkerFacts};
use crate::provider::{
    CallResult, Delta, Failure, Message, ModelAnswer, ModelRequest, Price, TokenUsage,
};
use crate::turn::{self, Abort, Ask, Input, Offered};

/// How often a session that waits for the end of a usage limit looks at the clock.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// How often steering messages are read again because one was changed meanwhile.
const TAKING_TRIES: u32 = 10;

impl Driver<'_> {
    /// Calls the model and steps the turn with its answer.
    pub(super) async fn call_model(
        &mut self,
        ask: &Ask,
        front: &mut dyn FrontEnd,
    ) -> Result<Vec<turn::Effect>, Fail> {
        self.take_steering().await?;
        if self.attendant.look().await? {
            return self.step(Input::Abort(Abort::User), Vec::new()).await;
        }
        let plan = self.plan.whole().await?;
        if let Some(why) = self.plan.budget_reached(plan.as_ref()).await? {
            return self.step(Input::Abort(Abort::Budget(why)), Vec::new()).await;
        }
        self.show_plan(plan.as_ref(), front);
        match self.compact(ask, plan.as_ref(), front).await? {
            Until::Done(()) => {}
            Until::Abort => return self.step(Input::Abort(Abort::User), Vec::new()).await,
        }
        // A summary is a model call, too.
        if let Some(why) = self.plan.budget_reached(plan.as_ref()).await? {
            return self.step(Input::Abort(Abort::Budget(why)), Vec::new()).await;
        }
        self.remind(plan.as_ref()).await?;
        let request = self.request(ask, plan.as_ref());
        front.event(Event::Calling(ask.purpose));
        match self.answer(&request, true, front).await? {
            Until::Abort => self.step(Input::Abort(Abort::User), Vec::new()).await,
            Until::Done(Err(failure)) => {
                self.step(Input::ModelFailed(failure.message()), Vec::new()).await
            }
            Until::Done(Ok(answer)) => self.answered(ask, answer, front).await,
        }
    }

    /// What the model is sent.
    fn request(&mut self, ask: &Ask, plan: Option<&Plan>) -> ModelRequest {
        let answer_id = self.recorder.next_answer();
        let built = self.in_context(ask, plan, context::build);
        self.sent_revision = plan.map(|it| it.revision);
        ModelRequest {
            answer_id,
            system: built.system,
            messages: built.messages,
            uncached: built.uncached,
            tools: self.calls.offered(ask.tools),
            options: self.model_options(),
        }
    }

    fn model_options(&self) -> crate::provider::ModelOptions {
        let mut options = self.world.model.options.clone();
        options.cache_key = Some(self.recorder.conversation.to_string());
        options
    }

    /// Calls a function with everything that the model's reading depends on.
    fn in_context<T>(
        &self,
        ask: &Ask,
        plan: Option<&Plan>,
        then: impl FnOnce(&Context<'_>) -> T,
    ) -> T {
        let has_plan_tools = match ask.tools {
            Offered::Planning | Offered::Everything => true,
            Offered::Nothing | Offered::WithoutPlan => false,
        };
        let section = has_plan_tools
            .then(|| prompt_section(self.plan.dialect(), Surface::Full, true))
            .flatten();
        let facts = &self.world.model.facts;
        let instructions: Vec<Instructions<'_>> =
            facts.instructions.iter().map(|(path, text)| Instructions { path, text }).collect();
        let workers: Vec<WorkerFacts<'_>> = facts
            .workers
            .iter()
            .map(|(name, description)| WorkerFacts { name, description })
            .collect();
        let list = plan.map(|it| self.plan.list(it));
        let in_progress = plan.and_then(|it| self.plan.in_progress(it));
        let schema = self.settings.schema.as_ref().map(Value::to_string);
        then(&Context {
            ask,
            strategy: self.settings.turn.strategy,
            system: &SystemFacts {
                directory: &facts.directory,
                operating_system: &facts.operating_system,
                date: &facts.date,
                branch: facts.branch.as_deref(),
                instructions: &instructions,
                plan_section: section,
                plan_tool: self.plan.adding_tool(),
                workers: &workers,
                output_schema: schema.as_deref(),
            },
            earlier: &self.recorder.earlier,
            turn: &self.recorder.entries,
            request: &self.request,
            list: list.as_deref(),
            in_progress: in_progress.as_deref(),
            list_changed: plan.map(|it| it.revision) != self.sent_revision,
            options: &self.world.model.context,
        })
    }

    /// Summarises the oldest part of the conversation, if it has become too long.
    async fn compact(
        &mut self,
        ask: &Ask,
        plan: Option<&Plan>,
        front: &mut dyn FrontEnd,
    ) -> Result<Until<()>, Fail> {
        let Some(summary) = self.in_context(ask, plan, context::summary_request) else {
            return Ok(Until::Done(()));
        };
        let request = ModelRequest {
            answer_id: self.recorder.next_answer(),
            system: summary.system,
            messages: summary.messages,
            uncached: 0,
            tools: Vec::new(),
            options: self.model_options(),
        };
        match self.answer(&request, false, front).await? {
            Until::Abort => Ok(Until::Abort),
            // Without a summary the call is tried as it is; the provider says if it is too long.
            Until::Done(Err(_)) => Ok(Until::Done(())),
            // Nor does a summary help that says nothing.
            Until::Done(Ok(answer)) if answer.text.trim().is_empty() => Ok(Until::Done(())),
            Until::Done(Ok(answer)) => {
                let used = self.used(&answer.usage);
                // The list is added anew.
                self.sent_revision = None;
                let entry = Entry::Summary { text: answer.text, through: summary.through };
                self.recorder.record(vec![(entry, used)], ConversationState::Working).await?;
                front.event(Event::Compacted);
                Ok(Until::Done(()))
            }
        }
    }

    /// Calls the model, and waits out a usage limit. Nobody is shown a summary as it arrives.
    async fn answer(
        &mut self,
        request: &ModelRequest,
        is_shown: bool,
        front: &mut dyn FrontEnd,
    ) -> Result<Until<Result<ModelAnswer, Failure>>, Fail> {
        loop {
            let (provider, sender) = (self.world.model.provider.clone(), self.attendant.sender());
            let mut on_delta = |delta: Delta| {
                let event = match delta {
                    Delta::Text(_) | Delta::Thinking(_) if !is_shown => return,
                    Delta::Text(text) => Event::Text(text),
                    Delta::Thinking(text) => Event::Thinking(text),
                    Delta::Retry { why, wait } => Event::Retry { why, wait },
                    Delta::Call(_) => return,
                };
                sender.send(event).ok();
            };
            let result = {
                let mut call = pin!(provider.call(request, &mut on_delta));
                // Dropping the call closes the connection.
                match self.attendant.attend(front, call.as_mut()).await? {
                    Until::Abort => return Ok(Until::Abort),
                    Until::Done(result) => result,
                }
            };
            match result {
                Err(Failure::UsageLimit { provider, until, .. })
                    if self.settings.wait_for_quota =>
                {
                    let on = format!("the usage limit of {provider}");
                    match self.wait(until, on, front).await? {
                        Until::Abort => return Ok(Until::Abort),
                        Until::Done(()) => {}
                    }
                }
                result => return Ok(Until::Done(result)),
            }
        }
    }

    /// Waits until a time, visibly for others.
    pub(super) async fn wait(
        &mut self,
        until: Timestamp,
        on: String,
        front: &mut dyn FrontEnd,
    ) -> Result<Until<()>, Fail> {
        let state = ConversationState::Waiting { until: Some(until), on: on.clone() };
        self.recorder.record(Vec::new(), state).await?;
        self.plan.wait(&on).await?;
        front.event(Event::Waiting { until: Some(until), on: on.clone() });
        let waited = self.wait_until(until, front).await;
        self.plan.wait_no_longer(&on).await?;
        self.recorder.record(Vec::new(), ConversationState::Working).await?;
        waited
    }

    async fn wait_until(
        &mut self,
        until: Timestamp,
        front: &mut dyn FrontEnd,
    ) -> Result<Until<()>, Fail> {
        while self.world.place.around.now() < until {
            let left = until.as_millisecond() - self.world.place.around.now().as_millisecond();
            let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
            // The machine may sleep meanwhile, so the clock is looked at again and again.
            let mut pause = pin!(tokio::time::sleep(left.min(LOOK_EVERY)));
            match self.attendant.attend(front, pause.as_mut()).await? {
                Until::Abort => return Ok(Until::Abort),
                Until::Done(()) => {}
            }
        }
        Ok(Until::Done(()))
    }

    /// Records an answer and steps the turn with it.
    async fn answered(
        &mut self,
        ask: &Ask,
        answer: ModelAnswer,
        front: &mut dyn FrontEnd,
    ) -> Result<Vec<turn::Effect>, Fail> {
        let used = self.used(&answer.usage);
        front.event(Event::Answered {
            text: answer.text.clone(),
            citations: answer.citations.clone(),
            calls: answer.calls.clone(),
            usage: answer.usage,
            cost_micros: self.world.model.price.as_ref().map(|_| used.cost_micros),
        });
        let steering = self.world.store().messages(self.recorder.conversation.to_string()).await?;
        // Calls of an answer without tools are not run, and have a result that says so.
        let not_run = if ask.tools == Offered::Nothing { answer.calls.clone() } else { Vec::new() };
        let calls = answer.calls.len() - not_run.len();
        let schema = self.settings.schema.as_ref();
        let input = turn::Answer {
            calls: u32::try_from(calls).unwrap_or(u32::MAX),
            asks_user: asks_user(&answer.text),
            misfit: schema.and_then(|it| output_schema::misfit(it, &answer.text)),
            has_steering: steering.iter().any(|it| it.steer),
            text: answer.text.clone(),
        };
        let (stop, citations, usage) = (answer.stop, answer.citations.clone(), answer.usage);
        let Message::Assistant(message) =
            answer.into_message(self.world.model.provider.model().clone())
        else {
            return Err(Fail::ours("an answer is no message of the model"));
        };
        let entry = Answer { purpose: ask.purpose, message, stop, citations, usage };
        let mut happened = vec![(Entry::Answer(entry), used)];
        for call in not_run {
            let text = "not run: no tools are offered now".to_owned();
            let result = CallResult { call: call.id.clone(), text: text.clone(), is_error: true };
            happened.push((Entry::Result(CallEnd { result, whole: None }), Used::default()));
            front.event(Event::CallEnded { call, is_error: true, is_cancelled: false, text });
        }
        self.step(Input::Answered(input), happened).await
    }

    pub(super) fn used(&self, usage: &TokenUsage) -> Used {
        used(usage, self.world.model.price.as_ref())
    }

    /// Gives messages that the user sent meanwhile to the model.
    async fn take_steering(&mut self) -> Result<(), Fail> {
        let conversation = self.recorder.conversation.to_string();
        for _ in 0..TAKING_TRIES {
            let mut taken = self.world.store().messages(conversation.clone()).await?;
            taken.retain(|it| it.steer);
            if taken.is_empty() {
                return Ok(());
            }
            let texts: Vec<String> = taken.iter().map(|it| it.text.clone()).collect();
            let entry = |text: &String| (Entry::Steering { text: text.clone() }, Used::default());
            let happened = Happened {
                entries: texts.iter().map(entry).collect(),
                taken,
                state: ConversationState::Working,
                ..Happened::default()
            };
            if self.recorder.record_all(happened).await? {
                for text in texts {
                    self.attendant.sender().send(Event::Steered(text)).ok();
                }
                return Ok(());
            }
            // A message was edited or removed meanwhile.
        }
        // The next call of the model takes them.
        Ok(())
    }
}

/// What one model call has used.
pub(super) fn used(usage: &TokenUsage, price: Option<&Price>) -> Used {
    Used {
        calls: 1,
        input: usage.input,
        output: usage.output,
        cost_micros: price.map_or(0, |it| it.cost_micros(usage)),
    }
}
