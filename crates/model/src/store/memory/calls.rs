//! Runs, calls, questions and messages in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use jiff::Timestamp;
use serde_json::Value;

use super::{Memory, State, lock, whole_ms};
use crate::call::{
    AnswerOutcome, Answered, Asked, CallRecord, CallStore, Message, MessageOutcome, NewMessage,
    News, Question, QuestionFilter, RunFilter, RunRecord, Said, Standing,
};
use crate::event::TOMBSTONE;
use crate::id::{MessageId, Number, PlanId, QuestionId, RunId};
use crate::store::{Applied, Change, Error, kept};

/// The records of this file.
#[derive(Default)]
pub(super) struct Work {
    /// In the order in which the runs began.
    runs: Vec<RunRecord>,
    calls: BTreeMap<(RunId, u32), CallRecord>,
    story: Vec<(RunId, CallRecord)>,
    questions: Vec<Kept>,
    messages: Vec<Message>,
}

/// A stored question. Its state is derived.
struct Kept {
    run: RunId,
    asked: Asked,
    answer: Option<Answered>,
}

impl CallStore for Memory {
    fn begin_run(&self, run: RunRecord) -> BoxFuture<'_, Result<(), Error>> {
        self.answer(self.state().begin_run(run))
    }

    fn end_run(&self, run: RunId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>> {
        let mut state = self.state();
        let ended = state.work.run_mut(run).map(|it| {
            it.ended_at.get_or_insert(kept(now));
        });
        state.notify();
        self.answer(ended)
    }

    fn runs(&self, filter: RunFilter) -> BoxFuture<'_, Result<Vec<RunRecord>, Error>> {
        let state = self.state();
        let newest_first = state.work.runs.iter().rev().filter(|run| filter.fits(run));
        self.answer(Ok(newest_first.take(most(filter.most)).cloned().collect()))
    }

    fn record(
        &self,
        run: RunId,
        calls: Vec<CallRecord>,
        asked: Vec<Asked>,
        change: Option<(PlanId, Change)>,
    ) -> BoxFuture<'_, Result<Option<Applied>, Error>> {
        self.answer(self.state().record(run, calls, asked, change))
    }

    fn calls(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        let state = self.state();
        self.answer(state.work.run(run).map(|_| state.work.calls_of(run).cloned().collect()))
    }

    fn story(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        let state = self.state();
        let story = state.work.story.iter().filter(|it| it.0 == run).map(|it| it.1.clone());
        self.answer(state.work.run(run).map(|_| story.collect()))
    }

    fn interrupt(
        &self,
        run: RunId,
        now: Timestamp,
        outputs: Said,
    ) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        let mut state = self.state();
        let found = state.work.run(run).map(|_| {
            let calls = state.work.calls_of(run);
            calls.filter_map(|call| call.interrupted(now, &outputs)).collect::<Vec<_>>()
        });
        if let Ok(calls) = &found {
            calls.iter().for_each(|call| state.work.put(run, call.clone()));
            state.notify();
        }
        self.answer(found)
    }

    fn questions(&self, filter: QuestionFilter) -> BoxFuture<'_, Result<Vec<Question>, Error>> {
        let state = self.state();
        let questions = state.work.questions.iter().filter_map(|it| state.work.question(it));
        let mut found: Vec<Question> = questions.filter(|it| filter.fits(it)).collect();
        found.sort_by_key(|it| it.asked.id);
        let extra = found.len().saturating_sub(most(filter.most));
        found.drain(..extra);
        self.answer(Ok(found))
    }

    fn answer(
        &self,
        question: QuestionId,
        answered: Answered,
    ) -> BoxFuture<'_, Result<AnswerOutcome, Error>> {
        self.answer(self.state().answer(question, answered))
    }

    fn queue(&self, message: NewMessage) -> BoxFuture<'_, Result<(), Error>> {
        let mut state = self.state();
        let waiting = state.work.waiting(&message.conversation).count();
        let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        let checked = Message::check(&message.text).and_then(|()| Message::check_room(waiting));
        if checked.is_ok() {
            state.work.messages.push(message.into());
            state.notify();
        }
        self.answer(checked.map_err(Error::from))
    }

    fn messages(&self, conversation: String) -> BoxFuture<'_, Result<Vec<Message>, Error>> {
        let state = self.state();
        self.answer(Ok(state.work.waiting(&conversation).cloned().collect()))
    }

    fn message(&self, message: MessageId) -> BoxFuture<'_, Result<Option<Message>, Error>> {
        let state = self.state();
        self.answer(Ok(state.work.messages.iter().find(|it| it.id == message).cloned()))
    }

    fn edit_message(
        &self,
        message: MessageId,
        text: String,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        if let Err(bad) = Message::check(&text) {
            return self.answer(Err(bad.into()));
        }
        let mut state = self.state();
        let outcome = state.work.outcome(message);
        if outcome == MessageOutcome::Done {
            let found = state.work.messages.iter_mut().find(|it| it.id == message);
            if let Some(found) = found {
                (found.text, found.edited_at) = (text, Some(kept(now)));
            }
            state.notify();
        }
        self.answer(Ok(outcome))
    }

    fn remove_message(&self, message: MessageId) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        let mut state = self.state();
        let outcome = state.work.outcome(message);
        if outcome == MessageOutcome::Done {
            state.work.messages.retain(|it| it.id != message);
            state.notify();
        }
        self.answer(Ok(outcome))
    }

    fn move_message(
        &self,
        message: MessageId,
        before: Option<MessageId>,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        let mut state = self.state();
        let outcome = state.work.outcome(message);
        if outcome == MessageOutcome::Done {
            state.work.move_message(message, before);
            state.notify();
        }
        self.answer(Ok(outcome))
    }

    fn steer_message(
        &self,
        message: MessageId,
        steer: bool,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        let mut state = self.state();
        let outcome = state.work.outcome(message);
        if outcome == MessageOutcome::Done {
            let found = state.work.messages.iter_mut().find(|it| it.id == message);
            found.into_iter().for_each(|it| it.steer = steer);
            state.notify();
        }
        self.answer(Ok(outcome))
    }

    fn news(&self) -> BoxFuture<'_, Result<News, Error>> {
        let last_seen = self.state().changes;
        let state = Arc::clone(&self.state);
        self.answer(Ok(Box::pin(Listen { state, last_seen }) as News))
    }
}

fn most(most: Option<u32>) -> usize {
    most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

impl RunFilter {
    fn fits(&self, run: &RunRecord) -> bool {
        self.project.as_ref().is_none_or(|project| *project == run.project)
            && self.plan.is_none_or(|plan| Some(plan) == run.plan)
            && !(self.running && run.ended_at.is_some())
    }
}

impl QuestionFilter {
    fn fits(&self, question: &Question) -> bool {
        self.project.as_ref().is_none_or(|project| *project == question.project)
            && self.run.is_none_or(|run| run == question.run)
            && !(self.waiting && question.standing != Standing::Waiting)
            && self.names(question.asked.id)
    }
}

impl State {
    fn begin_run(&mut self, run: RunRecord) -> Result<(), Error> {
        if let Some(plan) = run.plan {
            self.plan(plan)?;
        }
        if self.work.run(run.id).is_ok() {
            return Err(RunRecord::begun_already(run.id));
        }
        self.work.runs.push(run.kept());
        self.notify();
        Ok(())
    }

    fn record(
        &mut self,
        run: RunId,
        calls: Vec<CallRecord>,
        asked: Vec<Asked>,
        change: Option<(PlanId, Change)>,
    ) -> Result<Option<Applied>, Error> {
        self.work.check(run, &calls, &asked)?;
        let applied = match change {
            Some((plan, change)) => {
                let change = Change { ctx: whole_ms(change.ctx), ..change };
                Some(self.change(plan, &change)?)
            }
            None => None,
        };
        calls.into_iter().for_each(|call| self.work.put(run, call.kept()));
        let questions =
            asked.into_iter().map(|asked| Kept { run, asked: asked.kept(), answer: None });
        self.work.questions.extend(questions);
        self.notify();
        Ok(applied)
    }

    fn answer(&mut self, id: QuestionId, answered: Answered) -> Result<AnswerOutcome, Error> {
        let place = self.work.questions.iter().position(|it| it.asked.id == id);
        let found = place.and_then(|place| self.work.questions.get(place));
        let question = found.and_then(|it| self.work.question(it)).ok_or(Error::NoQuestion(id))?;
        let outcome = question.answered(answered);
        if let AnswerOutcome::Taken(question) = &outcome
            && let Standing::Answered(answered) = &question.standing
            && let Some(there) = place.and_then(|place| self.work.questions.get_mut(place))
        {
            there.answer = Some(answered.clone());
            self.notify();
        }
        Ok(outcome)
    }
}

impl Work {
    fn run(&self, id: RunId) -> Result<&RunRecord, Error> {
        self.runs.iter().find(|run| run.id == id).ok_or(Error::NoRun(id))
    }

    /// Renames the projects of runs, where `after` has a new name.
    pub(super) fn move_runs(&mut self, after: impl Fn(&str) -> Option<String>) {
        for run in &mut self.runs {
            if let Some(project) = after(&run.project) {
                run.project = project;
            }
        }
    }

    fn run_mut(&mut self, id: RunId) -> Result<&mut RunRecord, Error> {
        self.runs.iter_mut().find(|run| run.id == id).ok_or(Error::NoRun(id))
    }

    fn calls_of(&self, run: RunId) -> impl Iterator<Item = &CallRecord> {
        self.calls.range((run, 0)..=(run, u32::MAX)).map(|(_, call)| call)
    }

    fn check(&self, run: RunId, calls: &[CallRecord], asked: &[Asked]) -> Result<(), Error> {
        self.run(run)?;
        let mut states = BTreeMap::new();
        for call in calls {
            let there = self.calls.get(&(run, call.number)).map(|it| it.state);
            if let Some(from) = states.insert(call.number, call.state).or(there) {
                from.check(run, call.number, call.state)?;
            }
        }
        for question in asked {
            let call = question.call;
            if !states.contains_key(&call) && !self.calls.contains_key(&(run, call)) {
                return Err(Error::NoCall { run, call });
            }
        }
        Ok(())
    }

    fn put(&mut self, run: RunId, mut call: CallRecord) {
        // A forgotten call stays forgotten.
        if self.calls.get(&(run, call.number)).is_some_and(|it| it.request.is_null()) {
            call.request = Value::Null;
        }
        self.story.push((run, call.clone()));
        self.calls.insert((run, call.number), call);
    }

    fn question(&self, it: &Kept) -> Option<Question> {
        let run = self.run(it.run).ok()?;
        let call = self.calls.get(&(it.run, it.asked.call))?;
        Some(Question {
            run: run.id,
            project: run.project.clone(),
            plan: run.plan,
            asked: it.asked.clone(),
            standing: Standing::of(it.answer.clone(), call.state),
        })
    }

    fn waiting(&self, conversation: &str) -> impl Iterator<Item = &Message> {
        let waits = move |it: &&Message| it.conversation == conversation && it.taken_at.is_none();
        self.messages.iter().filter(waits)
    }

    fn move_message(&mut self, message: MessageId, before: Option<MessageId>) {
        let Some(found) = self.messages.iter().find(|it| it.id == message) else { return };
        let conversation = found.conversation.clone();
        let waits = |it: &Message| it.conversation == conversation && it.taken_at.is_none();
        let places: Vec<usize> =
            (0..self.messages.len()).filter(|n| waits(&self.messages[*n])).collect();
        let waiting: Vec<MessageId> = places.iter().map(|n| self.messages[*n].id).collect();
        self.place(&places, Message::moved(&waiting, message, before));
    }

    /// Takes messages as they were read, all or none.
    pub(super) fn take_messages(
        &mut self,
        conversation: &str,
        taken: &[Message],
        now: Timestamp,
    ) -> Result<(), Error> {
        let changed =
            taken.iter().find(|it| self.waiting(conversation).all(|waiting| waiting != *it));
        if let Some(changed) = changed {
            return Err(Error::MessageChanged(changed.id));
        }
        for message in &mut self.messages {
            if taken.iter().any(|it| it.id == message.id) {
                message.taken_at = Some(kept(now));
            }
        }
        Ok(())
    }

    /// Steering messages that still wait at the end of a turn become the first of the queue.
    pub(super) fn end_steering(&mut self, conversation: &str) {
        let waits = |it: &Message| it.conversation == conversation && it.taken_at.is_none();
        let places: Vec<usize> =
            (0..self.messages.len()).filter(|n| waits(&self.messages[*n])).collect();
        let waiting: Vec<Message> = self.waiting(conversation).cloned().collect();
        let Some(order) = Message::after_turn(&waiting) else { return };
        self.place(&places, order);
        self.messages.iter_mut().filter(|it| waits(it)).for_each(|it| it.steer = false);
    }

    /// Marks the waiting messages of a conversation: the agent asks the user something, and none of them
    /// is the reply.
    pub(super) fn question_asked(&mut self, conversation: &str) {
        let waits = |it: &&mut Message| it.conversation == conversation && it.taken_at.is_none();
        self.messages.iter_mut().filter(waits).for_each(|it| it.is_from_before_question = true);
    }

    /// Puts messages into these places, in this order.
    fn place(&mut self, places: &[usize], order: Vec<MessageId>) {
        let moved: Vec<Message> = order
            .into_iter()
            .filter_map(|id| self.messages.iter().find(|it| it.id == id).cloned())
            .collect();
        for (place, message) in places.iter().zip(moved) {
            self.messages[*place] = message;
        }
    }

    /// Deletes all messages of a conversation.
    pub(super) fn remove_messages(&mut self, conversation: &str) {
        self.messages.retain(|it| it.conversation != conversation);
    }

    /// The result of changing a message.
    fn outcome(&self, id: MessageId) -> MessageOutcome {
        match self.messages.iter().find(|it| it.id == id).map(|it| it.taken_at) {
            None => MessageOutcome::Unknown,
            Some(Some(at)) => MessageOutcome::Taken(at),
            Some(None) => MessageOutcome::Done,
        }
    }

    /// Erases the texts of an item's calls; or those of all runs on a plan, and the messages of the
    /// conversations that are attached to it.
    pub(super) fn forget(
        &mut self,
        plan: PlanId,
        item: Option<Number>,
        conversations: &BTreeSet<String>,
    ) {
        let on_plan = |run: &&mut RunRecord| run.plan == Some(plan);
        let mut runs = BTreeSet::new();
        for run in self.runs.iter_mut().filter(on_plan) {
            runs.insert(run.id);
            if item.is_none() {
                TOMBSTONE.clone_into(&mut run.what);
            }
        }
        let is_meant =
            |run: RunId, of: Option<Number>| runs.contains(&run) && (item.is_none() || of == item);
        let story = self.story.iter_mut().map(|(run, call)| (*run, call));
        let calls = self.calls.iter_mut().map(|((run, _), call)| (*run, call));
        for (run, call) in calls.chain(story) {
            if is_meant(run, call.item) {
                call.forget();
            }
        }
        for question in self.questions.iter_mut().filter(|it| is_meant(it.run, it.asked.item)) {
            question.asked.forget();
            if let Some(answer) = &mut question.answer {
                answer.forget();
            }
        }
        if item.is_none() {
            let messages = self.messages.iter_mut();
            messages
                .filter(|it| conversations.contains(&it.conversation))
                .for_each(Message::forget);
        }
    }
}

/// The stream of [`CallStore::news`].
struct Listen {
    state: Arc<Mutex<State>>,
    last_seen: u64,
}

impl Stream for Listen {
    type Item = Result<(), Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let shared = Arc::clone(&self.state);
        let mut state = lock(&shared);
        if state.changes != self.last_seen {
            self.last_seen = state.changes;
            return Poll::Ready(Some(Ok(())));
        }
        state.register_waker(cx);
        Poll::Pending
    }
}
