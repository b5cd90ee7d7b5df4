//! The traits for runs, calls, questions, messages and conversations.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_model::call::{
    AnswerOutcome, Answered, Asked, CallRecord, CallStore, Message, MessageOutcome, NewMessage,
    News, Question, QuestionFilter, RunFilter, RunRecord, Said,
};
use punchlist_model::store::turns::{
    Conversation, ConversationFilter, EntryFilter, Runner, Turn, TurnEntry, TurnRecord, TurnStore,
    Used,
};
use punchlist_model::store::{Applied, Change, Error};
use punchlist_model::{ConversationId, MessageId, PlanId, QuestionId, RunId, Timestamp};

use super::changes::Tries;
use super::{
    Postgres, calls, changes, conversations, follow, maintenance, messages, questions, runner,
    turn_entries,
};

impl CallStore for Postgres {
    fn begin_run(&self, run: RunRecord) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |tx| Box::pin(calls::begin(tx, run.clone())))
    }

    fn end_run(&self, run: RunId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |tx| Box::pin(calls::end(tx, run, now)))
    }

    fn runs(&self, filter: RunFilter) -> BoxFuture<'_, Result<Vec<RunRecord>, Error>> {
        self.read(move |tx| {
            let filter = filter.clone();
            Box::pin(async move { calls::runs(tx, &filter).await })
        })
    }

    fn record(
        &self,
        run: RunId,
        calls: Vec<CallRecord>,
        asked: Vec<Asked>,
        change: Option<(PlanId, Change)>,
    ) -> BoxFuture<'_, Result<Option<Applied>, Error>> {
        self.write(move |tx| {
            let (calls, asked, change) = (calls.clone(), asked.clone(), change.clone());
            Box::pin(async move {
                let applied = match change {
                    Some((plan, change)) => {
                        Some(changes::change(tx, plan, change, &Tries::default()).await?)
                    }
                    None => None,
                };
                calls::record(tx, run, calls, asked).await?;
                Ok(applied)
            })
        })
    }

    fn calls(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        self.read(move |tx| Box::pin(calls::list(tx, run)))
    }

    fn story(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        self.read(move |tx| Box::pin(calls::story(tx, run)))
    }

    fn interrupt(
        &self,
        run: RunId,
        now: Timestamp,
        outputs: Said,
    ) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>> {
        let outputs = Arc::new(outputs);
        self.write(move |tx| {
            let outputs = Arc::clone(&outputs);
            Box::pin(async move { calls::interrupt(tx, run, now, &outputs).await })
        })
    }

    fn questions(&self, filter: QuestionFilter) -> BoxFuture<'_, Result<Vec<Question>, Error>> {
        self.read(move |tx| {
            let filter = filter.clone();
            Box::pin(async move { questions::list(tx, &filter).await })
        })
    }

    fn answer(
        &self,
        question: QuestionId,
        answered: Answered,
    ) -> BoxFuture<'_, Result<AnswerOutcome, Error>> {
        self.write(move |tx| Box::pin(questions::answer(tx, question, answered.clone())))
    }

    fn queue(&self, message: NewMessage) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |tx| Box::pin(messages::queue(tx, message.clone())))
    }

    fn messages(&self, conversation: String) -> BoxFuture<'_, Result<Vec<Message>, Error>> {
        self.read(move |tx| {
            let conversation = conversation.clone();
            Box::pin(async move { messages::waiting(tx, &conversation).await })
        })
    }

    fn message(&self, message: MessageId) -> BoxFuture<'_, Result<Option<Message>, Error>> {
        self.read(move |tx| Box::pin(messages::get(tx, message)))
    }

    fn edit_message(
        &self,
        message: MessageId,
        text: String,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        self.write(move |tx| {
            let text = text.clone();
            Box::pin(async move { messages::edit(tx, message, &text, now).await })
        })
    }

    fn remove_message(&self, message: MessageId) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        self.write(move |tx| Box::pin(messages::remove(tx, message)))
    }

    fn move_message(
        &self,
        message: MessageId,
        before: Option<MessageId>,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        self.write(move |tx| Box::pin(messages::move_before(tx, message, before)))
    }

    fn steer_message(
        &self,
        message: MessageId,
        steer: bool,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>> {
        self.write(move |tx| Box::pin(messages::steer(tx, message, steer)))
    }

    fn news(&self) -> BoxFuture<'_, Result<News, Error>> {
        self.call(follow::news)
    }
}

impl TurnStore for Postgres {
    fn create_conversation(&self, new: Conversation) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |tx| Box::pin(conversations::create(tx, new.clone())))
    }

    fn conversation(&self, id: ConversationId) -> BoxFuture<'_, Result<Conversation, Error>> {
        self.read(move |tx| {
            Box::pin(async move { conversations::get(tx, id).await.map(|it| it.1) })
        })
    }

    fn conversations(
        &self,
        filter: ConversationFilter,
    ) -> BoxFuture<'_, Result<Vec<Conversation>, Error>> {
        self.read(move |tx| {
            let filter = filter.clone();
            Box::pin(async move { conversations::list(tx, &filter).await })
        })
    }

    fn hold(
        &self,
        id: ConversationId,
        runner: Runner,
        now: Timestamp,
        gone: Vec<String>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |tx| {
            let (runner, gone) = (runner.clone(), gone.clone());
            Box::pin(async move { conversations::hold(tx, id, runner, now, &gone).await })
        })
    }

    fn let_go(&self, id: ConversationId, runner: String) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |tx| {
            conversations::let_go(tx, id, &runner);
            Box::pin(async { Ok(()) })
        })
    }

    fn record_turn(
        &self,
        id: ConversationId,
        runner: String,
        record: TurnRecord,
    ) -> BoxFuture<'_, Result<u64, Error>> {
        self.write(move |tx| {
            let (runner, record) = (runner.clone(), record.clone());
            Box::pin(async move { turn_entries::record(tx, id, &runner, record).await })
        })
    }

    fn turns(&self, id: ConversationId) -> BoxFuture<'_, Result<Vec<Turn>, Error>> {
        self.read(move |tx| Box::pin(turn_entries::turns(tx, id)))
    }

    fn entries(
        &self,
        id: ConversationId,
        filter: EntryFilter,
    ) -> BoxFuture<'_, Result<Vec<TurnEntry>, Error>> {
        self.read(move |tx| {
            let filter = filter.clone();
            Box::pin(async move { turn_entries::entries(tx, id, &filter).await })
        })
    }

    fn used_since(&self, since: Timestamp) -> BoxFuture<'_, Result<Used, Error>> {
        self.read(move |tx| Box::pin(turn_entries::used_since(tx, since)))
    }

    fn used_on(&self, plan: PlanId) -> BoxFuture<'_, Result<(u32, Used), Error>> {
        self.read(move |tx| Box::pin(turn_entries::used_on(tx, plan)))
    }

    fn ask_to_stop(&self, id: ConversationId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |tx| Box::pin(conversations::ask_to_stop(tx, id, now)))
    }

    fn pause_queue(&self, id: ConversationId, is_paused: bool) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |tx| Box::pin(conversations::pause_queue(tx, id, is_paused)))
    }

    fn forget_conversation(
        &self,
        id: ConversationId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.call(move |shared| async move {
            runner::write(&shared, super::Purpose::Write { id: None }, &|tx| {
                tx.ring("");
                Box::pin(conversations::forget(tx, id, now))
            })
            .await?;
            maintenance::rewrite_tables(&shared).await
        })
    }
}
