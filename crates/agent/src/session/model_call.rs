//! One call of the model: what it is sent, and what is recorded of its answer.

use std::pin::pin;
use std::time::Duration;

use punchlist_engine::fail::Fail;
use punchlist_formats::dialect::Surface;
use punchlist_formats::hook::asks_user;
use punchlist_formats::prompt::prompt_section;
use punchlist_model::call::Take;
use punchlist_model::store::turns::{ConversationState, Used};
use punchlist_model::{Plan, Timestamp};
use punchlist_sched::tool::misfit;
use serde_json::Value;

use super::attend::Until;
use super::driver::Driver;
use super::entry::{Answer, Entry};
use super::event::{Event, FrontEnd};
use crate::context::{self, Context, Instructions, SystemFacts, WorkerFacts};
use crate::provider::{Delta, Failure, Message, ModelAnswer, ModelRequest, TokenUsage};
use crate::turn::{self, Abort, Ask, Input, Offered};

/// How often a session that waits for the end of a usage limit looks at the clock.
const LOOK_EVERY: Duration = Duration::from_secs(30);

impl Driver<'_> {
    /// Calls the model and steps the turn with its answer.
    pub(super) async fn call_model(
        &mut self,
        ask: &Ask,
        front: &mut dyn FrontEnd,
    ) -> Result<Vec<turn::Effect>, Fail> {
        self.take_steering().await?;
        if self.attendant.is_stop_asked().await? {
            return self.step(Input::Abort(Abort::User), Vec::new()).await;
        }
        if let Some(why) = self.budget_reached().await? {
            return self.step(Input::Abort(Abort::Budget(why)), Vec::new()).await;
        }
        let plan = self.plan.whole().await?;
        self.show_plan(plan.as_ref(), front);
        match self.compact(ask, plan.as_ref(), front).await? {
            Until::Done(()) => {}
            Until::Abort => return self.step(Input::Abort(Abort::User), Vec::new()).await,
        }
        let request = self.request(ask, plan.as_ref());
        front.event(Event::Calling(ask.purpose));
        match self.answer(&request, front).await? {
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
        let mut options = self.world.model_options.clone();
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
        let facts = &self.world.facts;
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
            options: &self.world.context,
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
        match self.answer(&request, front).await? {
            Until::Abort => Ok(Until::Abort),
            // Without a summary the call is tried as it is; the provider says if it is too long.
            Until::Done(Err(_)) => Ok(Until::Done(())),
            Until::Done(Ok(answer)) => {
                let used = self.used(&answer.usage);
                let entry = Entry::Summary { text: answer.text, through: summary.through };
                self.recorder.record(vec![(entry, used)], ConversationState::Working).await?;
                front.event(Event::Compacted);
                Ok(Until::Done(()))
            }
        }
    }

    /// Calls the model, and waits out a usage limit.
    async fn answer(
        &mut self,
        request: &ModelRequest,
        front: &mut dyn FrontEnd,
    ) -> Result<Until<Result<ModelAnswer, Failure>>, Fail> {
        loop {
            let (provider, sender) = (self.world.provider.clone(), self.attendant.sender());
            let mut on_delta = |delta: Delta| {
                let event = match delta {
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
        front.event(Event::Waiting { until: Some(until), on });
        while self.world.around.now() < until {
            let left = until.as_millisecond() - self.world.around.now().as_millisecond();
            let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
            // The machine may sleep meanwhile, so the clock is looked at again and again.
            let mut pause = pin!(tokio::time::sleep(left.min(LOOK_EVERY)));
            match self.attendant.attend(front, pause.as_mut()).await? {
                Until::Abort => return Ok(Until::Abort),
                Until::Done(()) => {}
            }
        }
        self.recorder.record(Vec::new(), ConversationState::Working).await?;
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
            calls: answer.calls.clone(),
            usage: answer.usage,
            cost_micros: self.world.price.as_ref().map(|_| used.cost_micros),
        });
        let steering = self.world.store().messages(self.recorder.conversation.to_string()).await?;
        let input = turn::Answer {
            calls: u32::try_from(answer.calls.len()).unwrap_or(u32::MAX),
            asks_user: asks_user(&answer.text),
            misfit: self.misfit(&answer.text),
            has_steering: steering.iter().any(|it| it.steer),
            text: answer.text.clone(),
        };
        let (stop, citations, usage) = (answer.stop, answer.citations.clone(), answer.usage);
        let Message::Assistant(message) = answer.into_message(self.world.provider.model().clone())
        else {
            return Err(Fail::ours("an answer is no message of the model"));
        };
        let entry = Answer { purpose: ask.purpose, message, stop, citations, usage };
        self.step(Input::Answered(input), vec![(Entry::Answer(entry), used)]).await
    }

    /// Why a text does not fit the output schema.
    fn misfit(&self, text: &str) -> Option<String> {
        let schema = self.settings.schema.as_ref()?;
        let json = match serde_json::from_str::<Value>(without_code_block(text)) {
            Ok(json) => json,
            Err(why) => return Some(format!("it is not JSON ({why})")),
        };
        // The schema was checked when the session began.
        misfit(schema, &json).unwrap_or(None)
    }

    pub(super) fn used(&self, usage: &TokenUsage) -> Used {
        let price = self.world.price.as_ref();
        Used {
            calls: 1,
            input: usage.input,
            output: usage.output,
            cost_micros: price.map_or(0, |it| it.cost_micros(usage)),
        }
    }

    /// Gives messages that the user sent meanwhile to the model.
    async fn take_steering(&mut self) -> Result<(), Fail> {
        let conversation = self.recorder.conversation.to_string();
        loop {
            let now = self.world.around.now();
            let taken =
                self.world.store().take_message(conversation.clone(), Take::Steering, now).await?;
            let Some(message) = taken else { return Ok(()) };
            self.attendant.sender().send(Event::Steered(message.text.clone())).ok();
            let entry = Entry::Steering { text: message.text };
            self.recorder
                .record(vec![(entry, Used::default())], ConversationState::Working)
                .await?;
        }
    }

    /// Which budget is used up.
    async fn budget_reached(&self) -> Result<Option<String>, Fail> {
        let budget = &self.settings.budget;
        let now = self.world.around.now();
        let began = self.recorder.row.began_at.as_second();
        let minutes = u64::try_from(now.as_second().saturating_sub(began)).unwrap_or(0) / 60;
        if let Some(why) = budget.run.reached(&self.recorder.row.used, minutes) {
            return Ok(Some(format!("the budget of this run is used up: {why}")));
        }
        if budget.day == super::settings::Allowance::default() {
            return Ok(None);
        }
        let used = self.world.store().used_since(day_begin(now)).await?;
        let why = budget.day.reached(&used, 0);
        Ok(why.map(|why| format!("the budget of this day is used up: {why}")))
    }
}

/// The text without the lines of a Markdown code block around it.
fn without_code_block(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```").and_then(|it| it.strip_suffix("```"));
    let inside = inside.and_then(|it| it.split_once('\n'));
    inside.map_or(text, |(_, inside)| inside)
}

/// When the day began, in UTC.
fn day_begin(now: Timestamp) -> Timestamp {
    const DAY: i64 = 24 * 60 * 60;
    Timestamp::from_second(now.as_second().div_euclid(DAY) * DAY).unwrap_or(now)
}
