//! Keeps the calls and questions of a scheduler's run in a store, so that they outlive the program.
//!
//! A program gives a [`CallLedger`] to the run that it starts. The run then records its calls
//! before their effects happen. Its questions are listed by [`Engine::questions`] and by `punchlist
//! questions`, and [`CallLedger::pass_answers`] passes on the answers from there. Runs of plan
//! files record their calls in the same way.

mod late;

use std::future::poll_fn;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use late::LateAnswers;
use punchlist_formats::text::secret::mask;
use punchlist_model::call::{CallRecord, CallState, QuestionFilter, RunRecord, Standing};
use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_model::{Attempt, Number, PlanId, Process, RunId, Timestamp};
use punchlist_sched::call::{Call, CallId, Live, Outcome, State};
use punchlist_sched::run::{Event, Ledger, LedgerError, Page, Run};
use serde_json::Value;

use crate::engine::{Engine, Inner};

/// Records the calls and questions of one run in a store. It is cheap to clone: one clone goes to
/// the scheduler.
#[derive(Clone)]
pub struct CallLedger {
    engine: Engine,
    run: RunId,
    /// What runs, in words. Questions have it as their title, unless somebody asks by name.
    what: Arc<str>,
    /// Who asks.
    name: Option<String>,
    late: LateAnswers,
}

impl Engine {
    /// Records the start of a run of scheduled calls and returns its ledger. `what` describes the
    /// run for people who are asked. `plan` is the plan that it works on, if any.
    pub async fn call_ledger(
        &self,
        what: impl Into<String>,
        plan: Option<PlanId>,
    ) -> Result<CallLedger, Error> {
        self.call_ledger_of(None, what, plan).await
    }

    /// The same for a run of this process, so that others can find out whether it still runs.
    pub async fn call_ledger_of(
        &self,
        process: Option<Process>,
        what: impl Into<String>,
        plan: Option<PlanId>,
    ) -> Result<CallLedger, Error> {
        let Inner { store, around, options } = &*self.inner;
        let (what, now) = (what.into(), around.now());
        let run = RunId(around.ids(now)?.nth(0));
        let record = RunRecord {
            id: run,
            project: options.project.clone(),
            plan,
            what: what.clone(),
            process,
            begun_at: now,
            ended_at: None,
        };
        store.begin_run(record).await?;
        let late = LateAnswers::default();
        Ok(CallLedger { engine: self.clone(), run, what: what.into(), name: None, late })
    }
}

impl CallLedger {
    /// From now on somebody of this name asks the questions, and what runs is their place.
    #[must_use]
    pub fn asking_as(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// This run goes on with the calls of one that was cut off. If a person has answered its questions
    /// meanwhile, the same questions about the same calls are not asked again.
    pub async fn going_on(self, run: RunId) -> Result<Self, Error> {
        let late = LateAnswers::of(self.store(), run).await?;
        Ok(Self { late, ..self })
    }

    /// The id of the run in the store.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Passes answers from the store on to the run, whichever program gave them. Returns when the
    /// run is over. It holds the run as long as the caller does.
    pub async fn pass_answers(&self, run: &Run) -> Result<(), Error> {
        let mut events = run.subscribe();
        let mut news = self.store().news().await?;
        loop {
            self.pass_given(run).await?;
            tokio::select! {
                over = asked(&mut events) => if over.is_none() { return Ok(()) },
                next = poll_fn(|context| news.as_mut().poll_next(context)) => match next {
                    Some(changed) => changed?,
                    None => return Ok(()),
                },
            }
        }
    }

    /// Passes on the answers that are there now.
    async fn pass_given(&self, run: &Run) -> Result<(), Error> {
        let waiting = run.questions();
        if waiting.is_empty() {
            return Ok(());
        }
        let filter = QuestionFilter { run: Some(self.run), ..QuestionFilter::default() };
        for question in self.store().questions(filter).await? {
            let Standing::Answered(answered) = question.standing else { continue };
            if let Some(it) = waiting.iter().find(|it| it.id == question.asked.id) {
                // A run that is over needs no answer.
                it.answer_as(answered.by, answered.answer).await.ok();
            }
        }
        Ok(())
    }

    /// Records that the run has ended. All its calls must have ended before.
    pub async fn end(&self) -> Result<(), Error> {
        self.store().end_run(self.run, self.engine.inner.around.now()).await
    }

    fn store(&self) -> &dyn Store {
        &**self.engine.store()
    }
}

/// Waits for the next question of a run; `None` once the run is over.
async fn asked(events: &mut punchlist_sched::Events) -> Option<()> {
    while let Some(event) = events.next().await {
        if matches!(event, Event::Asked(_)) {
            return Some(());
        }
    }
    None
}

impl Ledger for CallLedger {
    fn record<'a>(&'a mut self, page: Page<'a>) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move {
            let mut calls = Vec::new();
            for (id, state) in page.moved() {
                if let Some(call) = page.call(id) {
                    calls.push(call_record(call, state, None, page.at)?);
                }
            }
            for asked in page.asked.iter_mut() {
                let what = self.what.as_ref().to_owned();
                match &self.name {
                    Some(name) => (asked.title, asked.place) = (name.to_owned(), vec![what]),
                    None => asked.title = what,
                }
            }
            let mut answers = Vec::new();
            for asked in page.asked.iter() {
                let label =
                    page.call(CallId(asked.call)).and_then(|it| it.request.label.as_deref());
                let answer = label.and_then(|label| self.late.take(label, asked));
                answers.extend(answer.map(|it| (asked.id, it)));
            }
            let asked = page.asked.to_vec();
            let recorded = self.store().record(self.run, calls, asked, None).await;
            recorded.map_err(LedgerError::new)?;
            for (question, answered) in answers {
                self.store().answer(question, answered).await.map_err(LedgerError::new)?;
            }
            Ok(())
        })
    }
}

/// The record of a call in this state. `item` is the item that the call is for.
pub(crate) fn call_record(
    call: &Call,
    state: &State,
    item: Option<Number>,
    at: Timestamp,
) -> Result<CallRecord, LedgerError> {
    Ok(CallRecord {
        number: call.id.0,
        item,
        tool: call.request.tool.clone(),
        request: serde_json::to_value(&call.request).map_err(LedgerError::new)?,
        state: kept(state),
        attempt: attempt(state),
        detail: detail(state).map_err(LedgerError::new)?,
        at,
    })
}

fn kept(state: &State) -> CallState {
    match state {
        State::Live(Live::Validating { .. }) => CallState::Validating,
        State::Live(Live::Scheduled { .. }) => CallState::Scheduled,
        State::Live(Live::AwaitingApproval { .. }) => CallState::AwaitingApproval,
        State::Live(Live::Executing { .. }) => CallState::Executing,
        State::Done(outcome) => match &**outcome {
            Outcome::Success(_) => CallState::Success,
            Outcome::Error(_) => CallState::Error,
            Outcome::Cancelled { .. } => CallState::Cancelled,
        },
    }
}

fn attempt(state: &State) -> Attempt {
    match state {
        State::Live(Live::Executing { attempt, .. }) => *attempt,
        State::Live(Live::Scheduled { tried, .. }) => *tried,
        State::Live(Live::Validating { .. } | Live::AwaitingApproval { .. }) | State::Done(_) => {
            Attempt(0)
        }
    }
}

/// The value with secrets masked in every text, for the store. Whole outputs on disk stay as they are.
pub(crate) fn masked(value: Value) -> Value {
    match value {
        Value::String(text) => Value::from(mask(&text)),
        Value::Array(values) => values.into_iter().map(masked).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, masked(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// The details of a state: the outcome, or why the call is being stopped.
fn detail(state: &State) -> serde_json::Result<Option<Value>> {
    match state {
        State::Done(outcome) => serde_json::to_value(&**outcome).map(|it| Some(masked(it))),
        State::Live(Live::Executing { stopping: Some(stop), .. }) => {
            serde_json::to_value(stop).map(Some)
        }
        State::Live(_) => Ok(None),
    }
}
