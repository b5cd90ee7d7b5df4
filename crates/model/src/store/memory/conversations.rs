//! The conversations of our own agent in memory.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use futures_core::future::BoxFuture;
use jiff::Timestamp;

use super::{Memory, State};
use crate::id::{ConversationId, PlanId};
use crate::store::maintenance::project_after_move;
use crate::store::turns::{
    Conversation, ConversationFilter, ConversationState, EntryFilter, Runner, TextSearch, Turn,
    TurnEntry, TurnRecord, TurnStore, Used,
};
use crate::store::{Error, kept};

/// All conversations.
#[derive(Default)]
pub(super) struct Conversations(BTreeMap<ConversationId, Kept>);

/// A conversation with its turns and entries.
struct Kept {
    conversation: Conversation,
    turns: BTreeMap<u32, Turn>,
    entries: Vec<TurnEntry>,
}

impl TurnStore for Memory {
    fn create_conversation(&self, new: Conversation) -> BoxFuture<'_, Result<(), Error>> {
        let mut state = self.state();
        let created = state.conversations.create(new);
        if created.is_ok() {
            state.notify();
        }
        self.answer(created)
    }

    fn conversation(&self, id: ConversationId) -> BoxFuture<'_, Result<Conversation, Error>> {
        self.answer(self.state().conversations.get(id).map(|it| it.conversation.clone()))
    }

    fn conversations(
        &self,
        filter: ConversationFilter,
    ) -> BoxFuture<'_, Result<Vec<Conversation>, Error>> {
        self.answer(Ok(self.state().conversations.list(&filter)))
    }

    fn hold(
        &self,
        id: ConversationId,
        runner: Runner,
        now: Timestamp,
        gone: Vec<String>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.answer(self.state().change_conversation(id, |it| {
            it.conversation.check_may_hold(&runner.name, now, &gone)?;
            it.conversation.runner = Some(runner.kept());
            Ok(())
        }))
    }

    fn let_go(&self, id: ConversationId, runner: String) -> BoxFuture<'_, Result<(), Error>> {
        let mut state = self.state();
        let found = state.conversations.0.get_mut(&id);
        if let Some(it) = found.filter(|it| it.conversation.check_held_by(&runner).is_ok()) {
            it.conversation.runner = None;
            state.notify();
        }
        self.answer(Ok(()))
    }

    fn record_turn(
        &self,
        id: ConversationId,
        runner: String,
        record: TurnRecord,
    ) -> BoxFuture<'_, Result<u64, Error>> {
        let mut state = self.state();
        self.answer(state.record_turn(id, &runner, record))
    }

    fn turns(&self, id: ConversationId) -> BoxFuture<'_, Result<Vec<Turn>, Error>> {
        self.answer(
            self.state().conversations.get(id).map(|it| it.turns.values().cloned().collect()),
        )
    }

    fn entries(
        &self,
        id: ConversationId,
        filter: EntryFilter,
    ) -> BoxFuture<'_, Result<Vec<TurnEntry>, Error>> {
        self.answer(self.state().conversations.get(id).map(|it| it.entries(&filter)))
    }

    fn used_since(&self, since: Timestamp) -> BoxFuture<'_, Result<Used, Error>> {
        let (state, since) = (self.state(), kept(since));
        let entries = state.conversations.0.values().flat_map(|it| &it.entries);
        self.answer(Ok(total(entries.filter(|it| it.at >= since))))
    }

    fn used_on(&self, plan: PlanId) -> BoxFuture<'_, Result<(u32, Used), Error>> {
        let (mut turns, mut used) = (0, Used::default());
        for conversation in self.state().conversations.0.values() {
            for turn in conversation.turns.values().filter(|it| it.plan == Some(plan)) {
                turns += 1;
                used += turn.used;
            }
        }
        self.answer(Ok((turns, used)))
    }

    fn ask_to_stop(&self, id: ConversationId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>> {
        self.answer(self.state().change_conversation(id, |it| {
            it.conversation.stop_asked_at = Some(kept(now));
            Ok(())
        }))
    }

    fn pause_queue(&self, id: ConversationId, is_paused: bool) -> BoxFuture<'_, Result<(), Error>> {
        self.answer(self.state().change_conversation(id, |it| {
            it.conversation.queue_paused = is_paused;
            Ok(())
        }))
    }

    fn forget_conversation(
        &self,
        id: ConversationId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.answer(self.state().forget_conversation(id, now))
    }
}

impl State {
    /// Changes a conversation and wakes those who wait for news, unless the change fails.
    fn change_conversation<T>(
        &mut self,
        id: ConversationId,
        change: impl FnOnce(&mut Kept) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let found = self.conversations.0.get_mut(&id).ok_or(Error::NoConversation(id))?;
        let value = change(found)?;
        self.notify();
        Ok(value)
    }

    fn record_turn(
        &mut self,
        id: ConversationId,
        runner: &str,
        record: TurnRecord,
    ) -> Result<u64, Error> {
        self.conversations.get(id)?.conversation.check_held_by(runner)?;
        record.turn.plan.map_or(Ok(()), |plan| self.plan(plan).map(drop))?;
        let (name, at) = (id.to_string(), record.at);
        self.work.take_messages(&name, &record.taken, at)?;
        if record.turn.ended_at.is_some() {
            self.work.end_steering(&name);
        }
        if record.state == ConversationState::Asked {
            self.work.question_asked(&name);
        }
        self.change_conversation(id, |it| Ok(it.record(record)))
    }

    fn forget_conversation(&mut self, id: ConversationId, now: Timestamp) -> Result<(), Error> {
        self.conversations.get(id)?.conversation.check_not_held(now)?;
        self.conversations.0.remove(&id);
        self.work.remove_messages(&id.to_string());
        self.notify();
        Ok(())
    }
}

impl Conversations {
    fn get(&self, id: ConversationId) -> Result<&Kept, Error> {
        self.0.get(&id).ok_or(Error::NoConversation(id))
    }

    fn create(&mut self, new: Conversation) -> Result<(), Error> {
        let id = new.id;
        if self.0.contains_key(&id) {
            return Err(Error::ConversationExists(id));
        }
        let conversation = new.created();
        self.0.insert(id, Kept { conversation, turns: BTreeMap::new(), entries: Vec::new() });
        Ok(())
    }

    fn list(&self, filter: &ConversationFilter) -> Vec<Conversation> {
        let text = filter.text.as_deref().map(TextSearch::new);
        let has_text = |it: &Kept| text.as_ref().is_none_or(|text| it.contains(text));
        let fits = |it: &&Kept| filter.fits(&it.conversation) && has_text(it);
        let mut found: Vec<Conversation> =
            self.0.values().filter(fits).map(|it| it.conversation.clone()).collect();
        found.sort_by_key(|it| (Reverse(it.changed_at), it.id));
        found.truncate(filter.limit());
        found
    }

    /// Moves the conversations of a project, with the directories in which they work.
    pub(super) fn move_project(&mut self, from: &str, to: &str) {
        for Kept { conversation, .. } in self.0.values_mut() {
            let Some(project) = project_after_move(&conversation.project, from, to) else {
                continue;
            };
            conversation.project = project;
            if let Some(directory) = project_after_move(&conversation.directory, from, to) {
                conversation.directory = directory;
            }
        }
    }
}

impl Kept {
    /// Writes a turn with new entries. Returns the number of the last entry.
    fn record(&mut self, record: TurnRecord) -> u64 {
        let TurnRecord { turn, entries, queue_paused, state, at, .. } = record;
        for new in entries {
            self.entries.push(TurnEntry {
                number: self.last_entry() + 1,
                turn: turn.number,
                at: kept(at),
                kind: new.kind,
                body: new.body,
                used: new.used,
            });
        }
        let number = turn.number;
        let used = total(self.entries.iter().filter(|it| it.turn == number));
        let is_new = self.turns.insert(number, turn.kept(used)).is_none();
        let conversation = &mut self.conversation;
        if is_new {
            conversation.turns += 1;
            conversation.stop_asked_at = None;
        }
        conversation.queue_paused = queue_paused.unwrap_or(conversation.queue_paused);
        conversation.state = state.kept();
        conversation.changed_at = kept(at);
        conversation.used = total(&self.entries);
        self.last_entry()
    }

    fn last_entry(&self) -> u64 {
        self.entries.last().map_or(0, |it| it.number)
    }

    fn entries(&self, filter: &EntryFilter) -> Vec<TurnEntry> {
        let fits = |it: &&TurnEntry| {
            it.number > filter.after
                && filter.turn.is_none_or(|turn| turn == it.turn)
                && filter.kind.is_none_or(|kind| kind == it.kind)
                && filter.but.is_none_or(|kind| kind != it.kind)
        };
        let mut found: Vec<TurnEntry> = self.entries.iter().filter(fits).cloned().collect();
        if filter.last > 0 {
            let last = usize::try_from(filter.last).unwrap_or(usize::MAX);
            found.drain(..found.len().saturating_sub(last));
        }
        found
    }

    fn contains(&self, text: &TextSearch) -> bool {
        text.is_in_title(&self.conversation.title)
            || self.entries.iter().any(|it| text.is_in_body(&it.body))
    }
}

fn total<'a>(entries: impl IntoIterator<Item = &'a TurnEntry>) -> Used {
    let mut total = Used::default();
    entries.into_iter().for_each(|it| total += it.used);
    total
}
