//! Decides whether a turn may end: calls the governor and carries out its verdict.
//!
//! The governor's state is stored with the session before the verdict is carried out, so that hooks
//! that are killed in between do not refuse more often than allowed.

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

/// Maximum of sub-agents that a session remembers. A session usually has a handful at a time.
const MOST_SUB_AGENTS: usize = 256;

/// The agents' own tools that ask the user a question.
const ASKING: [&str; 3] = ["AskUserQuestion", "ask_user", "request_user_input"];

/// A stop that the agent requested, with what the verdict depends on besides the list.
#[derive(Clone, Copy)]
struct StopRequest {
    /// Why the gate lets this stop pass, if it does.
    pass: Option<Pass>,
    /// Whether the agent asks a question and nobody is there to answer.
    unheard: bool,
}

impl Exchange<'_> {
    /// In an unattended session a question does not let the stop pass: the turn would end with
    /// everything open and wait for an answer for ever.
    fn request(&self, stop: &Stop, plan_mode: bool) -> StopRequest {
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
        StopRequest { pass, unheard: asks && !self.is_attended() }
    }

    /// Records whether the agent's last action was to ask the user with a tool.
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
            self.remember(|memory| self.turn_ended(memory)).await?;
            return Ok(Answer::Nothing);
        };
        let plan_mode = plan_mode || self.session.memory.planning;
        let turn = |memory: &mut Memory, step: &dyn Fn(Turn) -> (Turn, Verdict)| {
            let (next, verdict) = step(std::mem::take(&mut memory.turn));
            memory.turn = next;
            if verdict.ends() {
                self.turn_ended(memory);
            }
            verdict
        };
        let request = self.request(stop, plan_mode);
        let verdict = self.judge(&plan, &Scope::All, request.pass, turn).await?;
        self.act(&plan, &verdict, request).await
    }

    /// A sub-agent answers for its own list; without one, for the items on the session's list that
    /// it added or claimed.
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
            // A sub-agent that ended and has no items on the session's list can be forgotten.
            if !(verdict.ends() && sub.own.is_empty()) {
                memory.sub_agents.insert(name.clone(), sub);
            }
            verdict
        };
        let request = self.request(stop, plan_mode);
        let verdict = self.judge(&plan, &scope, request.pass, turn).await?;
        match (&scope, &verdict) {
            // The sub-agent's open items on the session's list are not parked: the agent that it
            // works for has not been asked yet and answers for them.
            (Scope::Own(_), Verdict::LetGo { .. }) => Ok(Answer::Nothing),
            (
                Scope::All | Scope::Own(_),
                Verdict::Noted | Verdict::End(_) | Verdict::Refuse { .. } | Verdict::LetGo { .. },
            ) => self.act(&plan, &verdict, request).await,
        }
    }

    /// The agent entered or left plan mode.
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

    /// Runs one step of the governor that `turn` selects, and stores its state.
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
        // Report an unmet goal once per revision: after that the agent may stop.
        let revision = (plan.id, plan.revision);
        let verdict = self
            .remember(|memory| {
                let aim = aim && memory.held_against != Some(revision);
                let wish = Wish { items: items.clone(), bounds: self.bounds(memory), pass, aim };
                let step = |turn: Turn| turn.step(Input::Stop(wish.clone()));
                let verdict = turn(memory, &step);
                if matches!(&verdict, Verdict::Refuse { open, .. } if open.is_empty()) {
                    memory.held_against = Some(revision);
                }
                Some(verdict)
            })
            .await?;
        Ok(verdict.unwrap_or(Verdict::Noted))
    }

    /// What the agent can still do for an unreached goal; nothing if the goal's budget is spent.
    fn missing(&self, plan: &Plan) -> Vec<Missing> {
        // Hooks read no files. `verify` finds stale evidence.
        match plan.reached(&BTreeSet::new()) {
            Some(Reached::No(missing)) if !plan.is_over_budget(self.given.moment.now) => {
                missing.into_iter().filter(|it| it.is_for_agents()).collect()
            }
            Some(Reached::No(_) | Reached::NotYet | Reached::Yes) | None => Vec::new(),
        }
    }

    async fn act(
        &self,
        plan: &Plan,
        verdict: &Verdict,
        request: StopRequest,
    ) -> Result<Answer, Error> {
        if let Some(op) = verdict.op() {
            self.store.change(plan.id, Change::new(vec![op], self.ctx())).await?;
        }
        Ok(match verdict {
            Verdict::Refuse { open, refusal } => {
                let words = self.words(plan);
                // An agent that was refused before and made no progress may need a person.
                let park = (*refusal > 1 || request.unheard).then(|| self.park(&words));
                let also = Also { unheard: request.unheard, park: park.as_deref() };
                Answer::Refuse(if open.is_empty() {
                    let say_met = "run `punchlist goal --met`";
                    prompt::goal_refusal(plan, &self.missing(plan), say_met, also)
                } else {
                    words.refusal(plan, open, also)
                })
            }
            Verdict::Noted | Verdict::End(_) | Verdict::LetGo { .. } => Answer::Nothing,
        })
    }

    /// How the agent sets an item aside that needs a person: with the tools that wrote the list,
    /// else with our tools, else with a verb in its shell. Only the first know the items by the
    /// agent's own ids.
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

    /// A task is about to be completed. It is refused if the plan demands a check that has not
    /// passed, because the agent's own list and the plan would differ. An approval can only come
    /// from a person, so an item that needs one is not refused; it waits.
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

/// The memory of a sub-agent, created if it is new. The number of sub-agents is bounded.
pub(crate) fn sub_agent<'m>(memory: &'m mut Memory, name: &str) -> &'m mut SubAgent {
    if !memory.sub_agents.contains_key(name) && memory.sub_agents.len() >= MOST_SUB_AGENTS {
        memory.sub_agents.pop_first();
    }
    memory.sub_agents.entry(name.to_owned()).or_default()
}
