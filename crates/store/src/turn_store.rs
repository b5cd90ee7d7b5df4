//! The trait for the conversations of our own agent, implemented for both stores.

use futures_core::future::BoxFuture;
use punchlist_model::store::Error;
use punchlist_model::store::turns::{
    Conversation, ConversationFilter, EntryFilter, Runner, Turn, TurnEntry, TurnRecord, TurnStore,
    Used,
};
use punchlist_model::{ConversationId, PlanId, Timestamp};
use rusqlite::Connection;

use crate::{Sqlite, Threaded, conversations, scrub, turn_entries};

impl TurnStore for Sqlite {
    fn create_conversation(&self, new: Conversation) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|conn| conversations::create(conn, new)) })
    }

    fn conversation(&self, id: ConversationId) -> BoxFuture<'_, Result<Conversation, Error>> {
        Box::pin(async move { self.read(|conn| conversations::get(conn, id).map(|it| it.1)) })
    }

    fn conversations(
        &self,
        filter: ConversationFilter,
    ) -> BoxFuture<'_, Result<Vec<Conversation>, Error>> {
        Box::pin(async move { self.read(|conn| conversations::list(conn, &filter)) })
    }

    fn hold(
        &self,
        id: ConversationId,
        runner: Runner,
        now: Timestamp,
        gone: Vec<String>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(
            async move { self.write(|conn| conversations::hold(conn, id, runner, now, &gone)) },
        )
    }

    fn let_go(&self, id: ConversationId, runner: String) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|conn| conversations::let_go(conn, id, &runner)) })
    }

    fn record_turn(
        &self,
        id: ConversationId,
        runner: String,
        record: TurnRecord,
    ) -> BoxFuture<'_, Result<u64, Error>> {
        Box::pin(async move { self.write(|conn| turn_entries::record(conn, id, &runner, record)) })
    }

    fn turns(&self, id: ConversationId) -> BoxFuture<'_, Result<Vec<Turn>, Error>> {
        Box::pin(async move { self.read(|conn| turn_entries::turns(conn, id)) })
    }

    fn entries(
        &self,
        id: ConversationId,
        filter: EntryFilter,
    ) -> BoxFuture<'_, Result<Vec<TurnEntry>, Error>> {
        Box::pin(async move { self.read(|conn| turn_entries::entries(conn, id, &filter)) })
    }

    fn used_since(&self, since: Timestamp) -> BoxFuture<'_, Result<Used, Error>> {
        Box::pin(async move { self.read(|conn| turn_entries::used_since(conn, since)) })
    }

    fn used_on(&self, plan: PlanId) -> BoxFuture<'_, Result<(u32, Used), Error>> {
        Box::pin(async move { self.read(|conn| turn_entries::used_on(conn, plan)) })
    }

    fn ask_to_stop(&self, id: ConversationId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|conn| conversations::ask_to_stop(conn, id, now)) })
    }

    fn pause_queue(&self, id: ConversationId, is_paused: bool) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|conn| conversations::pause_queue(conn, id, is_paused)) })
    }

    fn forget_conversation(
        &self,
        id: ConversationId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let work = |conn: &Connection| conversations::forget(conn, id, now);
            self.current()?.write(work, Some(scrub::purge))
        })
    }
}

impl TurnStore for Threaded {
    fn create_conversation(&self, new: Conversation) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.create_conversation(new))
    }

    fn conversation(&self, id: ConversationId) -> BoxFuture<'_, Result<Conversation, Error>> {
        self.only_read(move |store| store.conversation(id))
    }

    fn conversations(
        &self,
        filter: ConversationFilter,
    ) -> BoxFuture<'_, Result<Vec<Conversation>, Error>> {
        self.only_read(move |store| store.conversations(filter))
    }

    fn hold(
        &self,
        id: ConversationId,
        runner: Runner,
        now: Timestamp,
        gone: Vec<String>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.hold(id, runner, now, gone))
    }

    fn let_go(&self, id: ConversationId, runner: String) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.let_go(id, runner))
    }

    fn record_turn(
        &self,
        id: ConversationId,
        runner: String,
        record: TurnRecord,
    ) -> BoxFuture<'_, Result<u64, Error>> {
        self.write(move |store| store.record_turn(id, runner, record))
    }

    fn turns(&self, id: ConversationId) -> BoxFuture<'_, Result<Vec<Turn>, Error>> {
        self.only_read(move |store| store.turns(id))
    }

    fn entries(
        &self,
        id: ConversationId,
        filter: EntryFilter,
    ) -> BoxFuture<'_, Result<Vec<TurnEntry>, Error>> {
        self.only_read(move |store| store.entries(id, filter))
    }

    fn used_since(&self, since: Timestamp) -> BoxFuture<'_, Result<Used, Error>> {
        self.only_read(move |store| store.used_since(since))
    }

    fn used_on(&self, plan: PlanId) -> BoxFuture<'_, Result<(u32, Used), Error>> {
        self.only_read(move |store| store.used_on(plan))
    }

    fn ask_to_stop(&self, id: ConversationId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.ask_to_stop(id, now))
    }

    fn pause_queue(&self, id: ConversationId, is_paused: bool) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.pause_queue(id, is_paused))
    }

    fn forget_conversation(
        &self,
        id: ConversationId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.forget_conversation(id, now))
    }
}
