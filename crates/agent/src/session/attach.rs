//! Shows a session that another process runs, as it is recorded, and passes the user's answers and
//! messages on to it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_model::call::{CallRecord, Question, QuestionFilter};
use punchlist_model::session::Store;
use punchlist_model::store::turns::{Conversation, ConversationState, EntryFilter, Turn as Row};
use punchlist_model::{ConversationId, Plan, QuestionId, RunId};

use super::answers::Answers;
use super::driver::final_answer;
use super::entry::{Entry, Recorded};
use super::event::{Ended, Event, FrontEnd, Input};
use super::json_events::is_for_user;
use super::listing::is_running;
use super::output_schema;
use super::queue::{Queue, SeenQueue};
use super::recorder::{Machine, entries, not_json};
use super::stored_settings;
use super::tool_calls::answered;
use crate::provider::{Citation, ModelCall, ModelCallId};
use crate::turn::Ending;

/// How often it is looked whether the process of the session still runs: its end is not recorded.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How the user's look at a session ended.
#[derive(Clone, Debug)]
pub enum Attached {
    /// The turn has ended, or was suspended.
    Ended(Box<Ended>),
    /// The user left. The session goes on.
    Detached,
    /// The process of the session ended in the middle of the turn.
    CutOff,
}

/// A look at a session that another process runs.
pub struct Attachment {
    store: Arc<dyn Store>,
    around: Arc<dyn Around>,
    /// Stores what the person at the front end answers; `None` if nobody there may answer.
    answers: Option<Answers>,
    shown: Shown,
    /// The queue as the front end was shown it.
    queue: SeenQueue,
}

/// What the front end was shown.
#[derive(Default)]
struct Shown {
    turn: Option<u32>,
    /// The number of the last entry.
    entry: u64,
    calls: BTreeMap<ModelCallId, ModelCall>,
    questions: BTreeSet<QuestionId>,
    plan: Option<Plan>,
    state: ConversationState,
    /// The text of the last answer that is meant for the user.
    answer: String,
    /// What that answer refers to.
    citations: Vec<Citation>,
    ending: Option<Ending>,
}

impl Attachment {
    /// A look at a session. Without `answers` the person at the front end cannot answer.
    pub fn new(store: Arc<dyn Store>, around: Arc<dyn Around>, answers: Option<Answers>) -> Self {
        Self { store, around, answers, shown: Shown::default(), queue: SeenQueue::default() }
    }

    /// Shows the turn that runs, from its begin, until it ends or the user leaves.
    pub async fn show(
        mut self,
        id: ConversationId,
        front: &mut dyn FrontEnd,
    ) -> Result<Attached, Fail> {
        let mut news = self.store.news().await?;
        loop {
            if let Some(attached) = self.look(id, front).await? {
                return Ok(attached);
            }
            tokio::select! {
                input = front.input() => match input {
                    Input::Abort => return Ok(Attached::Detached),
                    Input::Steer(text) => self.queue(id, text, true, front).await?,
                    Input::Queue(text) => self.queue(id, text, false, front).await?,
                    Input::Compact(_) => {
                        let text = "not compacted: another process runs the session";
                        front.event(Event::Info(text.to_owned()));
                    }
                    Input::Goal(goal) => {
                        let why = "another process runs the session".to_owned();
                        front.event(Event::NotQueued { text: format!("/goal {goal}"), why });
                    }
                    Input::Answer(question, answer) => {
                        if let Some(answers) = &self.answers
                            && let Some(text) = answers.give(question, answer).await?
                        {
                            front.event(Event::Info(text));
                        }
                    }
                },
                changed = poll_fn(|context| news.as_mut().poll_next(context)) => {
                    if let Some(changed) = changed {
                        changed?;
                    }
                }
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Shows what is new. Returns how it ended, if it has.
    async fn look(
        &mut self,
        id: ConversationId,
        front: &mut dyn FrontEnd,
    ) -> Result<Option<Attached>, Fail> {
        // In this order: what is recorded before the process ends is shown.
        let conversation = self.store.conversation(id).await?;
        let is_running = is_running(&conversation, &*self.around);
        let last = self.store.turns(id).await?.pop();
        let Some(row) = last else {
            return Ok((!is_running).then_some(Attached::CutOff));
        };
        self.show_turn(id, &row, front).await?;
        self.show_state(&conversation, front);
        let is_paused = conversation.queue_paused;
        let (changes, _) = self.queue.look(&*self.store, id, is_paused).await?;
        for change in changes {
            front.event(Event::Queued(Box::new(change)));
        }
        if row.ending.is_some()
            && let Some(ending) = self.shown.ending.take()
        {
            let answer = std::mem::take(&mut self.shown.answer);
            let plan = self.shown.plan.take();
            let answer = final_answer(&ending, answer, plan.as_ref());
            let schema = stored_settings(&conversation)?.schema;
            let answer = output_schema::checked(schema.as_ref(), answer);
            let citations = std::mem::take(&mut self.shown.citations);
            let ended = Ended { ending, answer, citations, plan, used: row.used };
            front.event(Event::Ended(Box::new(ended.clone())));
            return Ok(Some(Attached::Ended(Box::new(ended))));
        }
        Ok((!is_running).then_some(Attached::CutOff))
    }

    async fn show_turn(
        &mut self,
        id: ConversationId,
        row: &Row,
        front: &mut dyn FrontEnd,
    ) -> Result<(), Fail> {
        if self.shown.turn != Some(row.number) {
            self.shown = Shown { turn: Some(row.number), ..Shown::default() };
            let (turn, id) = (row.number, row.id.clone());
            // The plan follows.
            let (request, plan) = (String::new(), None);
            front.event(Event::Began { turn, id, request, is_resumed: true, plan });
        }
        let filter = EntryFilter {
            turn: Some(row.number),
            after: self.shown.entry,
            ..EntryFilter::default()
        };
        for it in entries(&*self.store, id, filter).await? {
            self.show_entry(it, front);
        }
        if let Some(plan) = row.plan {
            self.show_plan(self.store.whole(plan).await?, front);
        }
        let machine: Machine = serde_json::from_str(&row.machine).map_err(not_json)?;
        match machine.run {
            Some(run) if row.ending.is_none() => self.show_questions(run, front).await,
            Some(_) | None => Ok(()),
        }
    }

    fn show_entry(&mut self, recorded: Recorded, front: &mut dyn FrontEnd) {
        self.shown.entry = recorded.number;
        // An end is followed by others if the turn was only suspended. A summary may come later.
        if !matches!(recorded.entry, Entry::Summary { .. }) {
            self.shown.ending = None;
        }
        match recorded.entry {
            Entry::User { text } | Entry::Steering { text } => front.event(Event::Steered(text)),
            Entry::Answer(answer) => {
                let (text, calls) = (answer.message.text, answer.message.calls);
                front.event(Event::Calling(answer.purpose));
                if is_for_user(answer.purpose) {
                    self.shown.answer.clone_from(&text);
                    self.shown.citations.clone_from(&answer.citations);
                }
                front.event(Event::Text(text.clone()));
                let usage = answer.usage;
                front.event(Event::Answered {
                    text,
                    citations: answer.citations,
                    calls: calls.clone(),
                    usage,
                    cost_micros: None,
                });
                for call in calls {
                    self.shown.calls.insert(call.id.clone(), call.clone());
                    front.event(Event::CallStarted(call));
                }
            }
            Entry::Result(end) => {
                if let Some(call) = self.shown.calls.get(&end.result.call).cloned() {
                    let (is_error, text) = (end.result.is_error, end.result.text);
                    front.event(Event::CallEnded { call, is_error, is_cancelled: false, text });
                }
            }
            Entry::Told { text } => {
                let first = text.lines().next().unwrap_or_default();
                front.event(Event::Info(format!("(to the model) {first}")));
            }
            Entry::Info { text } => front.event(Event::Info(text)),
            Entry::Summary { .. } => front.event(Event::Compacted),
            Entry::Used { .. } => {}
            Entry::Ended { ending } => self.shown.ending = Some(ending),
        }
    }

    fn show_plan(&mut self, plan: Plan, front: &mut dyn FrontEnd) {
        if self.shown.plan.as_ref().is_some_and(|it| it.revision == plan.revision) {
            return;
        }
        let before = self.shown.plan.replace(plan.clone()).map(Box::new);
        front.event(Event::Plan { before, now: Box::new(plan) });
    }

    /// Shows questions that wait, and takes away those that no longer do.
    async fn show_questions(&mut self, run: RunId, front: &mut dyn FrontEnd) -> Result<(), Fail> {
        let filter = QuestionFilter { run: Some(run), waiting: true, ..QuestionFilter::default() };
        let waiting = self.store.questions(filter).await?;
        let is_waiting = |id: &QuestionId| waiting.iter().any(|it| it.asked.id == *id);
        let (waits, over) = self.shown.questions.iter().partition(|it| is_waiting(it));
        self.shown.questions = waits;
        let over: BTreeSet<QuestionId> = over;
        for question in over {
            let answered = answered(&*self.store, run, question).await?;
            front.event(Event::Settled { question, answered });
        }
        if waiting.iter().all(|it| self.shown.questions.contains(&it.asked.id)) {
            return Ok(());
        }
        let calls = self.store.calls(run).await?;
        for question in waiting {
            if self.shown.questions.insert(question.asked.id) {
                self.show_question(question, &calls, front);
            }
        }
        Ok(())
    }

    fn show_question(&self, question: Question, calls: &[CallRecord], front: &mut dyn FrontEnd) {
        let asked = question.asked;
        if self.answers.is_none() {
            let id = asked.id.short();
            front.event(Event::Info(format!("question {id} waits: punchlist answer {id}")));
            return;
        }
        let record = calls.iter().find(|it| it.number == asked.call);
        let label = record.and_then(|it| it.request.get("label")?.as_str());
        let call = label.and_then(|it| self.shown.calls.get(&ModelCallId(it.to_owned())));
        if let Some(call) = call.cloned() {
            front.event(Event::Asked { asked: Arc::new(asked), call });
        }
    }

    fn show_state(&mut self, conversation: &Conversation, front: &mut dyn FrontEnd) {
        if self.shown.state == conversation.state {
            return;
        }
        self.shown.state = conversation.state.clone();
        if let ConversationState::Waiting { until, on } = &conversation.state {
            let until = until.map(|it| format!(" until {it}")).unwrap_or_default();
            front.event(Event::Info(format!("the session waits for {on}{until}")));
        }
    }

    async fn queue(
        &self,
        id: ConversationId,
        text: String,
        steer: bool,
        front: &mut dyn FrontEnd,
    ) -> Result<(), Fail> {
        let queue = Queue::new(Arc::clone(&self.store), Arc::clone(&self.around), id);
        if let Err(Fail { message: why, .. }) = queue.add(text.clone(), steer).await {
            front.event(Event::NotQueued { text, why });
        }
        Ok(())
    }
}
