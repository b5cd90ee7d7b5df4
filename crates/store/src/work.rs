//! The trait for runs, calls, questions and messages, implemented for both stores.
//!
//! [`crate::sqlite`] knows how to run a transaction and who waits for the disk; this file says what
//! each transaction does.

use futures_core::future::BoxFuture;
use punchlist_model::call::{
    AnswerOutcome, Answered, Asked, CallRecord, CallStore, Message, MessageOutcome, NewMessage,
    News, Question, QuestionFilter, RunFilter, RunRecord, Said,
};
use punchlist_model::store::{Applied, Change, Error};
use punchlist_model::{MessageId, PlanId, QuestionId, RunId, Timestamp};

use crate::follow::Listen;
use crate::{Sqlite, Threaded, calls, changes, messages, questions};

impl CallStore for Sqlite {
    fn begin_run(&self, run: RunRecord) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|conn| calls::begin(conn, run)) })
    }

    fn end_run(&self, run: RunId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|conn| calls::end(conn, run, now)) })
    }

    fn runs(&self, filter: RunFilter) -> BoxFuture<'_, Result<Vec<RunRecord>, Error>> {
        Box::pin(async move { self.read(|conn| calls::runs(conn, &filter)) })
    }

    fn record(
        &self,
        run: RunId,
        calls: Vec<CallRecord>,
        asked: Vec<Asked>,
        change: Option<(PlanId, Change)>,
    ) -> BoxFuture<'_, Result<Option<Applied>, Error>> {
        Box::pin(async move {
            match change {
                None => self.write(|conn| calls::record(conn, run, calls, asked)).map(|()| None),
                Some((plan, change)) => self.write(|conn| {
                    let applied = changes::change(conn, plan, change)?;
                    calls::record(conn, run, calls, asked)?;
                    Ok(Some(applied))
                }),
            }
        })
    }

    fn calls(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        Box::pin(async move { self.read(|conn| calls::list(conn, run)) })
    }

    fn story(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        Box::pin(async move { self.read(|conn| calls::story(conn, run)) })
    }

    fn interrupt(
        &self,
        run: RunId,
        now: Timestamp,
        outputs: Said,
    ) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        Box::pin(async move { self.write(|conn| calls::interrupt(conn, run, now, &outputs)) })
    }

    fn questions(&self, filter: QuestionFilter) -> BoxFuture<'_, Result<Vec<Question>, Error>> {
        Box::pin(async move { self.read(|conn| questions::list(conn, &filter)) })
    }

    fn answer(
        &self,
        question: QuestionId,
        answered: Answered,
    ) -> BoxFuture<'_, Result<AnswerOutcome, Error>> {
        Box::pin(async move { self.write(|conn| questions::answer(conn, question, answered)) })
    }

    fn queue(&self, message: NewMessage) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|conn| messages::queue(conn, message)) })
    }

    fn messages(&self, conversation: String) -> BoxFuture<'_, Result<Vec<Message>, Error>> {
        Box::pin(async move { self.read(|conn| messages::waiting(conn, &conversation)) })
    }

    fn message(&self, message: MessageId) -> BoxFuture<'_, Result<Option<Message>, Error>> {
        Box::pin(async move { self.read(|conn| messages::get(conn, message)) })
    }

    fn edit_message(
        &self,
        message: MessageId,
        text: String,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        Box::pin(async move { self.write(|conn| messages::edit(conn, message, &text, now)) })
    }

    fn remove_message(&self, message: MessageId) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        Box::pin(async move { self.write(|conn| messages::remove(conn, message)) })
    }

    fn move_message(
        &self,
        message: MessageId,
        before: Option<MessageId>,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        Box::pin(async move { self.write(|conn| messages::move_before(conn, message, before)) })
    }

    fn steer_message(
        &self,
        message: MessageId,
        steer: bool,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        Box::pin(async move { self.write(|conn| messages::steer(conn, message, steer)) })
    }

    fn news(&self) -> BoxFuture<'_, Result<News, Error>> {
        Box::pin(async move { Ok(Box::pin(Listen::begin(self.options())?) as News) })
    }
}

impl CallStore for Threaded {
    fn begin_run(&self, run: RunRecord) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.begin_run(run))
    }

    fn end_run(&self, run: RunId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.end_run(run, now))
    }

    fn runs(&self, filter: RunFilter) -> BoxFuture<'_, Result<Vec<RunRecord>, Error>> {
        self.only_read(move |store| store.runs(filter))
    }

    fn record(
        &self,
        run: RunId,
        calls: Vec<CallRecord>,
        asked: Vec<Asked>,
        change: Option<(PlanId, Change)>,
    ) -> BoxFuture<'_, Result<Option<Applied>, Error>> {
        self.write(move |store| store.record(run, calls, asked, change))
    }

    fn calls(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        self.only_read(move |store| store.calls(run))
    }

    fn story(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        self.only_read(move |store| store.story(run))
    }

    fn interrupt(
        &self,
        run: RunId,
        now: Timestamp,
        outputs: Said,
    ) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        self.write(move |store| store.interrupt(run, now, outputs))
    }

    fn questions(&self, filter: QuestionFilter) -> BoxFuture<'_, Result<Vec<Question>, Error>> {
        self.only_read(move |store| store.questions(filter))
    }

    fn answer(
        &self,
        question: QuestionId,
        answered: Answered,
    ) -> BoxFuture<'_, Result<AnswerOutcome, Error>> {
        self.write(move |store| store.answer(question, answered))
    }

    fn queue(&self, message: NewMessage) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.queue(message))
    }

    fn messages(&self, conversation: String) -> BoxFuture<'_, Result<Vec<Message>, Error>> {
        self.only_read(move |store| store.messages(conversation))
    }

    fn message(&self, message: MessageId) -> BoxFuture<'_, Result<Option<Message>, Error>> {
        self.only_read(move |store| store.message(message))
    }

    fn edit_message(
        &self,
        message: MessageId,
        text: String,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        self.write(move |store| store.edit_message(message, text, now))
    }

    fn remove_message(&self, message: MessageId) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        self.write(move |store| store.remove_message(message))
    }

    fn move_message(
        &self,
        message: MessageId,
        before: Option<MessageId>,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        self.write(move |store| store.move_message(message, before))
    }

    fn steer_message(
        &self,
        message: MessageId,
        steer: bool,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        self.write(move |store| store.steer_message(message, steer))
    }

    fn news(&self) -> BoxFuture<'_, Result<News, Error>> {
        self.only_read(CallStore::news)
    }
}
