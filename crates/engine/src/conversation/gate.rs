//! May this turn end? The governor is asked, and what it says is done.
//!
//! Its state is kept with the session before anything follows from it, so that hooks which are
//! killed in between refuse no more often than they may.

use std::collections::BTreeSet;

use punchlist_formats::hook::{Answer, Stop, Task, What};
use punchlist_formats::prompt::{self, Also};
use punchlist_model::goal::{Missing, Reached};
use punchlist_model::guard::{Asking, Input, Pass, Scope, Turn, Verdict, Wish, outlook};
use punchlist_model::session::{Memory, SubAgent};
use punchlist_model::store::{Change, Error};
use punchlist_model::{Level, Plan, Verification};

use super::Exchange;
use super::words::Words;
use crate::hook::mirror::item_id;

/// Most sub-agents that are remembered. A session has a handful at a time.
const MOST_SUB_AGENTS: usize = 256;

/// Tools of the agents' own that ask the user something.
const ASKING: [&str; 3] = ["AskUserQuestion", "ask_user", "request_user_input"];

/// A stop that was asked for, with what it depends on beside the list.
#[derive(Clone, Copy)]
struct Wanted {
    /// Why it is none that the gate looks at.
    pass: Option<Pass>,
    /// It asks something of somebody who is not there.
    unheard: bool,
}

impl Exchange<'_> {
    /// Where nobody sits, a question is an answer like any other: it would end the turn with everything
    /// open, and wait for ever.
    fn wanted(&self, stop: &Stop, plan_mode: bool) -> Wanted {
        let asks = stop.asks || self.session.memory.asked && self.sub_agent.is_empty();
        let pass = if plan_mode {
            Some(Pass::PlanMode)
        } else if asks && self.is_attended() {
            Some(Pass::AsksUser)
        } else if stop.background {
            Some(Pass::Background)
        } else {
            None
        };
        Wanted { pass, unheard: asks && !self.is_attended() }
    }

    /// Notes whether the last that the agent did was to ask the user by a tool.
    pub(crate) async fn note_asking(&self, what: &What) -> Result<(), Error> {
        let asked = match what {
            What::Turn(called) => called.iter().any(|it| ASKING.contains(&it.tool.as_str())),
            What::Prompt | What::Wrote(_) | What::Begins(_) => false,
            What::Ends
            | What::Compacted
            | What::NotCreated(_)
            | What::Creating(_)
            | What::Completing(_)
            | What::Planning(_)
            | What::Stop(_)
            | What::SubBegins
            | What::SubStop(_)
            | What::Doctor => return Ok(()),
        };
        if !self.sub_agent.is_empty() || asked == self.session.memory.asked {
            return Ok(());
        }
        self.remember(|memory| memory.asked = asked).await
    }

    pub(crate) async fn stop(&self, stop: &Stop, plan_mode: bool) -> Result<Answer, Error> {
        let Some(plan) = self.whole("").await? else {
            self.remember(|memory| self.is_over(memory)).await?;
            return Ok(Answer::Nothing);
        };
        let plan_mode = plan_mode || self.session.memory.planning;
        let turn = |memory: &mut Memory, step: &dyn Fn(Turn) -> (Turn, Verdict)| {
            let (next, verdict) = step(std::mem::take(&mut memory.turn));
            memory.turn = next;
            if verdict.ends() {
                self.is_over(memory);
            }
            verdict
        };
        let wanted = self.wanted(stop, plan_mode);
        let verdict = self.judge(&plan, &Scope::All, wanted.pass, turn).await?;
        self.act(&plan, &verdict, wanted).await
    }

    /// A sub-agent answers for its own list, else for what it made or claimed on the session's.
    pub(crate) async fn sub_stop(&self, stop: &Stop, plan_mode: bool) -> Result<Answer, Error> {
        if self.sub_agent.is_empty() {
            return Ok(Answer::Nothing);
        }
        let (plan, scope) = match self.whole(self.sub_agent).await? {
            Some(plan) => (Some(plan), Scope::All),
            None => {
                let sub = self.session.memory.sub_agents.get(self.sub_agent);
                let own = sub.map(|it| it.own.clone()).unwrap_or_default();
                (self.whole("").await?, Scope::Own(own))
            }
        };
        let Some(plan) = plan else { return Ok(Answer::Nothing) };
        let name = self.sub_agent.to_owned();
        let turn = |memory: &mut Memory, step: &dyn Fn(Turn) -> (Turn, Verdict)| {
            let mut sub = memory.sub_agents.remove(&name).unwrap_or_default();
            let (next, verdict) = step(sub.turn);
            sub.turn = next;
            // One that ended and has nothing of its own on the session's list is done with.
            if !(verdict.ends() && sub.own.is_empty()) {
                memory.sub_agents.insert(name.clone(), sub);
            }
            verdict
        };
        let wanted = self.wanted(stop, plan_mode);
        let verdict = self.judge(&plan, &scope, wanted.pass, turn).await?;
        match (&scope, &verdict) {
            // What it leaves behind on the session's list is not parked: whoever it works for has
            // not been asked yet, and answers for it.
            (Scope::Own(_), Verdict::LetGo { .. }) => Ok(Answer::Nothing),
            (
                Scope::All | Scope::Own(_),
                Verdict::Noted | Verdict::End(_) | Verdict::Refuse { .. } | Verdict::LetGo { .. },
            ) => self.act(&plan, &verdict, wanted).await,
        }
    }

    /// The agent went into plan mode, or out of it.
    pub(crate) async fn planning(&self, planning: bool) -> Result<Answer, Error> {
        self.remember(|memory| memory.planning = planning).await?;
        Ok(Answer::Nothing)
    }

    pub(crate) async fn sub_begins(&self) -> Result<Answer, Error> {
        if self.sub_agent.is_empty() {
            return Ok(Answer::Nothing);
        }
        self.remember(|memory| {
            if let Some(sub) = memory.sub_agents.get_mut(self.sub_agent) {
                sub.turn = Turn::Fresh;
            }
        })
        .await?;
        Ok(Answer::Nothing)
    }

    /// Steps the governor that `turn` finds, and keeps it.
    async fn judge(
        &self,
        plan: &Plan,
        scope: &Scope,
        pass: Option<Pass>,
        turn: impl Fn(&mut Memory, &dyn Fn(Turn) -> (Turn, Verdict)) -> Verdict + Send + Sync,
    ) -> Result<Verdict, Error> {
        let gone = self.gone(plan);
        let worker = self.session.actor_name(self.sub_agent);
        let asking = Asking { worker: &worker, now: self.given.moment.now, gone: &gone, scope };
        let items = outlook(plan, &asking);
        let aim = !self.missing(plan).is_empty() && *scope == Scope::All;
        // Of a list as it stands it is said once: an agent that has looked may stop.
        let stands = (plan.id, plan.revision);
        let verdict = self
            .remember(|memory| {
                let aim = aim && memory.held_against != Some(stands);
                let wish = Wish { items: items.clone(), bounds: self.bounds(memory), pass, aim };
                let step = |turn: Turn| turn.step(Input::Stop(wish.clone()));
                let verdict = turn(memory, &step);
                if matches!(&verdict, Verdict::Refuse { open, .. } if open.is_empty()) {
                    memory.held_against = Some(stands);
                }
                Some(verdict)
            })
            .await?;
        Ok(verdict.unwrap_or(Verdict::Noted))
    }

    /// What the agent can do about a goal that a settled list has not reached; nothing once the goal has
    /// cost what it may.
    fn missing(&self, plan: &Plan) -> Vec<Missing> {
        // Hooks look at no files: what is stale is for `verify` to find.
        match plan.reached(&BTreeSet::new()) {
            Some(Reached::No(missing)) if !plan.is_over_budget(self.given.moment.now) => {
                missing.into_iter().filter(|it| it.is_for_agents()).collect()
            }
            Some(Reached::No(_) | Reached::NotYet | Reached::Yes) | None => Vec::new(),
        }
    }

    async fn act(&self, plan: &Plan, verdict: &Verdict, wanted: Wanted) -> Result<Answer, Error> {
        if let Some(op) = verdict.op() {
            self.store.change(plan.id, Change::new(vec![op], self.ctx())).await?;
        }
        Ok(match verdict {
            Verdict::Refuse { open, refusal } => {
                let words = self.words(plan);
                // Whoever was refused once and has not settled it may need somebody.
                let park = (*refusal > 1 || wanted.unheard).then(|| self.park(&words));
                let also = Also { unheard: wanted.unheard, park: park.as_deref() };
                Answer::Refuse(if open.is_empty() {
                    prompt::goal_refusal(plan, &self.missing(plan), also)
                } else {
                    words.refusal(plan, open, also)
                })
            }
            Verdict::Noted | Verdict::End(_) | Verdict::LetGo { .. } => Answer::Nothing,
        })
    }

    /// How what needs a person is put aside: with the tools that wrote the list, else with ours, else by a
    /// verb in the agent's shell. Only the first know the items by the names that the agent has for them.
    fn park(&self, words: &Words) -> String {
        let ours = self.server();
        match (words.tools().park, ours.park) {
            (Some(own), _) => own.to_owned(),
            (None, Some(park)) if self.given.agent.has_server => {
                format!("{park} (the ids are those of {})", ours.list)
            }
            (None, _) => {
                let program = (self.given.program)();
                format!("`{program} wait NUMBER WHAT` (the numbers are those of `{program} list`)")
            }
        }
    }

    /// A task is about to be completed. Where its plan demands a check that it lacks, it is not yet:
    /// the agent's own list would say otherwise than ours. An approval is a person's to give, and
    /// the item waits for it.
    pub(crate) async fn completing(&self, task: &Task) -> Result<Answer, Error> {
        if self.bounds(&self.session.memory).is_none() {
            return Ok(Answer::Nothing);
        }
        let Some(plan) = self.whole("").await? else { return Ok(Answer::Nothing) };
        let id = item_id(&self.session, plan.id, &task.id);
        let Some(item) = plan.items.values().find(|item| item.id == id && item.is_open()) else {
            return Ok(Answer::Nothing);
        };
        let lacks = match plan.verification(item, false) {
            Verification::Required | Verification::Failed => true,
            Verification::None | Verification::Passed | Verification::Stale => false,
        };
        if lacks && plan.demanded(item) == Some(Level::Checked) {
            return Ok(Answer::Refuse(prompt::completion_refusal(item)));
        }
        Ok(Answer::Nothing)
    }
}

/// What is remembered of a sub-agent, made if it is new; never more than a bounded number.
pub(crate) fn sub_agent<'m>(memory: &'m mut Memory, name: &str) -> &'m mut SubAgent {
    if !memory.sub_agents.contains_key(name) && memory.sub_agents.len() >= MOST_SUB_AGENTS {
        memory.sub_agents.pop_first();
    }
    memory.sub_agents.entry(name.to_owned()).or_default()
}
