//! Reminders: the policy decides which are due, then the texts are created and their cost is
//! recorded.

use std::collections::BTreeSet;

use punchlist_formats::hook::{Agent, Answer, Called};
use punchlist_formats::prompt;
use punchlist_formats::view::plain;
use punchlist_model::guard::{Asking, Scope, holding};
use punchlist_model::remind::{Input, Reminder};
use punchlist_model::session::Memory;
use punchlist_model::store::Error;
use punchlist_model::{Event, Number, Plan};

use super::{Exchange, TASKS, TODOWRITE, TURN};

/// Our tools that only read.
const READS: [&str; 1] = ["list_todo"];

/// Maximum of journal entries by others that are read. A nag names items, not a history.
const MOST_ENTRIES: u32 = 100;

impl Exchange<'_> {
    /// A model turn has ended. Claude Code reminds itself of its own tools, so with Claude Code
    /// turns count only if the list is written with our tools.
    pub(crate) async fn turn(&self, called: &[Called]) -> Result<Answer, Error> {
        if !self.sub_agent.is_empty() {
            self.note_taken(called).await?;
            return Ok(Answer::Nothing);
        }
        let is_claude = self.agent() == Some(Agent::Claude);
        if is_claude && self.session.memory.written_with.as_deref() != Some(TURN) {
            self.note_lost_tools(called).await?;
            return Ok(Answer::Nothing);
        }
        let ours = |it: &Called| it.ours.as_deref().map(|name| READS.contains(&name));
        if called.iter().any(|it| ours(it) == Some(false)) {
            return self.remind(None, &[Input::Changed]).await;
        }
        self.turn_over(called.iter().any(|it| it.ours.is_none())).await
    }

    /// A model turn has ended in which the list was not changed. `worked` says whether other tools
    /// were called.
    pub(crate) async fn turn_over(&self, worked: bool) -> Result<Answer, Error> {
        let Some(plan) = self.whole("").await? else { return Ok(Answer::Nothing) };
        let gone = self.gone(&plan);
        let worker = self.session.actor_name("");
        let asking =
            Asking { worker: &worker, now: self.given.moment.now, gone: &gone, scope: &Scope::All };
        let open = u32::try_from(holding(&plan, &asking).len()).unwrap_or(u32::MAX);
        let others = Input::ChangedByOthers(self.unseen(&plan).await?);
        let mut inputs = vec![others, Input::Turn { worked, open }];
        // A boundary reminder that is overdue since a compaction need not wait for the next prompt.
        if self.agent() != Some(Agent::Claude) {
            inputs.insert(0, Input::Listens { open: plan.open });
        }
        self.remind(Some(&plan), &inputs).await
    }

    /// Checks whether the agent still has the tools that wrote the list. Another model or version
    /// may lack them; from then on reminders name our tools.
    async fn note_lost_tools(&self, called: &[Called]) -> Result<(), Error> {
        let family = |tool: &str| match tool {
            "TodoWrite" => Some(TODOWRITE),
            "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet" => Some(TASKS),
            _ => None,
        };
        let written_with = self.session.memory.written_with.as_deref();
        let is_lost = |it: &Called| it.missing && family(&it.tool) == written_with;
        if written_with.is_none() || !called.iter().any(is_lost) {
            return Ok(());
        }
        self.remember(|memory| memory.written_with = Some(TURN.to_owned())).await
    }

    /// The items that others changed since the session was last shown its list.
    async fn unseen(&self, plan: &Plan) -> Result<BTreeSet<Number>, Error> {
        let shown = self.attachment("").await?.map(|it| it.shown);
        let Some(shown) = shown.filter(|it| *it < plan.revision) else {
            return Ok(BTreeSet::new());
        };
        let own = self.session.actor_name("");
        let is_own = |name: &str| {
            name.strip_prefix(&own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let entries = self.store.journal(plan.id, shown, MOST_ENTRIES).await?;
        let others = entries.iter().filter(|it| !is_own(&it.actor.name));
        Ok(others.flat_map(|it| &it.events).filter_map(Event::number).collect())
    }

    /// Gives the inputs to the reminder policy, in this order, and returns the texts of the due
    /// reminders.
    pub(crate) async fn remind(
        &self,
        plan: Option<&Plan>,
        inputs: &[Input],
    ) -> Result<Answer, Error> {
        let (policy, now) = (self.given.settings.reminders, self.given.moment.now);
        let texts = self
            .remember(|memory| {
                let mut texts = Vec::new();
                let steps = inputs.iter().cloned();
                let due: Vec<Reminder> = steps
                    .flat_map(|input| memory.watch.step(policy, self.profile(), input, now))
                    .collect();
                for reminder in due {
                    if let Some(text) = self.text_of(plan, &reminder) {
                        memory.watch.gave(reminder.kind(), &text, now);
                        texts.push(text);
                    }
                }
                texts.join("\n")
            })
            .await?;
        Ok(if texts.is_empty() { Answer::Nothing } else { Answer::Context(texts) })
    }

    /// The agent's turn is over: the policy measures whether its reminders had an effect.
    pub(crate) fn turn_ended(&self, memory: &mut Memory) {
        let (policy, now) = (self.given.settings.reminders, self.given.moment.now);
        memory.watch.step(policy, self.profile(), Input::Stopped, now);
    }

    fn text_of(&self, plan: Option<&Plan>, reminder: &Reminder) -> Option<String> {
        let tag = self.given.settings.tag;
        match (reminder, plan) {
            (Reminder::Initial, _) => Some(prompt::initial(self.server(), tag)),
            (Reminder::Offer(others), _) => {
                Some(prompt::offer(*others, &(self.given.program)(), tag))
            }
            (Reminder::Boundary, Some(plan)) => self.words(plan).boundary(plan, tag),
            (Reminder::Nag { turns, changed, whole_list }, Some(plan)) => {
                let list = whole_list.then(|| plain::text(plan));
                let tools = self.words(plan).tools();
                Some(prompt::nag(*turns, changed, plan, list.as_deref(), tools, tag))
            }
            (Reminder::AfterChange, _) | (Reminder::Boundary | Reminder::Nag { .. }, None) => None,
        }
    }
}
