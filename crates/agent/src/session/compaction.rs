//! Compaction that the user asked for: an idle session has the model summarise the whole conversation.
//! The next turns read the summary in place of what it covers; nothing is deleted from the record.

use std::pin::pin;

use punchlist_engine::fail::Fail;
use punchlist_model::store::turns::{ConversationState, EntryFilter, TurnRecord, Used};

use super::Session;
use super::attend::{Attendant, Until};
use super::entry::Entry;
use super::event::{Event, FrontEnd};
use super::recorder::{entries, not_json};
use crate::context::{self, WholeSummary};
use crate::provider::{Delta, ModelRequest};

impl Session {
    /// Summarises the conversation, and tells the front end what that saved. `keep` says what the summary
    /// must not lose. Messages that arrive meanwhile wait in the queue. The user may abort it.
    pub async fn compact(
        &mut self,
        keep: Option<&str>,
        front: &mut dyn FrontEnd,
    ) -> Result<(), Fail> {
        let (store, around) = (self.world.store(), &self.world.place.around);
        let conversation = store.conversation(self.id()).await?;
        match conversation.state {
            ConversationState::Idle => {}
            ConversationState::Asked => {
                return Err(Fail::refused("the agent has asked you something")
                    .hint("answer it first; then compact the conversation."));
            }
            ConversationState::Working | ConversationState::Waiting { .. } => {
                return Err(Fail::refused("a turn of this conversation has not ended"));
            }
        }
        let recorded = entries(&**store, self.id(), EntryFilter::default()).await?;
        let turn = store.turns(self.id()).await?.pop();
        let wanted = context::whole_summary(&recorded, keep, &self.world.model.context);
        let (Some(turn), Some(wanted)) = (turn, wanted) else {
            return Err(Fail::refused("there is nothing to compact yet"));
        };
        front.event(Event::Compacting);
        let WholeSummary { summary, messages, tokens } = wanted;
        let mut options = self.world.model.options.clone();
        options.cache_key = Some(self.id().to_string());
        let request = ModelRequest {
            answer_id: format!("compact-{}", summary.through),
            system: summary.system,
            messages: summary.messages,
            uncached: 0,
            tools: Vec::new(),
            options,
        };
        let runner = self.runner.clone();
        let mut attendant = Attendant::new(&self.world, self.id(), runner, &self.queue).await?;
        let (provider, sender) = (self.world.model.provider.clone(), attendant.sender());
        let mut on_delta = |delta: Delta| match delta {
            Delta::Retry { why, wait } => drop(sender.send(Event::Retry { why, wait })),
            // Nobody reads the summary as it arrives.
            Delta::Text(_) | Delta::Thinking(_) | Delta::Call(_) => {}
        };
        let answered = {
            let mut call = pin!(provider.call(&request, &mut on_delta));
            attendant.attend(front, call.as_mut()).await?
        };
        attendant.show(front);
        let answer = match answered {
            Until::Abort => {
                front.event(Event::Info("stopped; nothing was summarised".to_owned()));
                return Ok(());
            }
            Until::Done(Err(why)) => {
                let text = format!("the conversation was not summarised: {}", why.message());
                return Err(Fail::refused(text));
            }
            Until::Done(Ok(answer)) if answer.text.trim().is_empty() => {
                return Err(Fail::refused("the model wrote no summary; nothing has changed"));
            }
            Until::Done(Ok(answer)) => answer,
        };
        let price = self.world.model.price.as_ref();
        let used = Used {
            calls: 1,
            input: answer.usage.input,
            output: answer.usage.output,
            cost_micros: price.map_or(0, |it| it.cost_micros(&answer.usage)),
        };
        let size = context::tokens_of(&answer.text);
        let entry = Entry::Summary { text: answer.text, through: summary.through };
        let record = TurnRecord {
            turn,
            entries: vec![entry.to_new(used).map_err(not_json)?],
            taken: Vec::new(),
            queue_paused: None,
            state: ConversationState::Idle,
            at: around.now(),
        };
        store.record_turn(self.id(), self.runner.name.clone(), record).await?;
        let s = if messages == 1 { "" } else { "s" };
        front.event(Event::Info(format!(
            "{messages} message{s} of about {tokens} tokens are now a summary of about {size}; \
             the record keeps them"
        )));
        Ok(())
    }
}
