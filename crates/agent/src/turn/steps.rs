//! Steps: classify, plan, work off one item after the other, validate.

use std::collections::BTreeSet;

use punchlist_model::Number;
use serde::{Deserialize, Serialize};

use super::common::Common;
use super::{Answer, Ask, Effect, Ending, Info, Offered, PlanChange, PlanStatus, Purpose};

/// How the user is told that the whole task is complete, with the reasoning after it.
pub const VALIDATED: &str = "Task validated as complete: ";

/// How much the steps of a task may cost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct StepLimits {
    /// Model calls of a simple task.
    pub direct: u32,
    /// Tool calls of a planning round.
    pub planning: u32,
    /// Tool calls of an item.
    pub item: u32,
    /// Planning rounds, executed items and validations in all.
    pub steps: u32,
}

impl Default for StepLimits {
    fn default() -> Self {
        Self { direct: 10, planning: 5, item: 5, steps: 100 }
    }
}

/// The model's word on whether the task is complete.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Validation {
    /// Whether it is.
    pub is_complete: bool,
    /// Why.
    pub reasoning: String,
    /// What is left to do.
    pub suggestions: Vec<String>,
}

/// The model's word on whether a task needs a plan.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Classification {
    is_simple: bool,
}

/// What the steps of a task have used of their limits.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct Steps {
    /// Steps taken: planning rounds, items and validations.
    steps: u32,
    /// Tool calls, or model calls of a simple task, of what is being done now.
    used: u32,
    /// What the last model call was for, for a reply of the user.
    purpose: Option<Purpose>,
    /// Items whose calls were used up once.
    exhausted: BTreeSet<Number>,
    /// Nothing could be started, and planning was tried because of that.
    is_stuck: bool,
    /// How many items were completed when the task was last found incomplete.
    incomplete_at: Option<u32>,
}

impl Steps {
    pub(super) fn begin(&mut self, turn: &mut Common, plan: &PlanStatus) -> Vec<Effect> {
        if !plan.open.is_empty() {
            // The turn works on a plan that exists.
            return if turn.options.is_plan_only {
                self.plan(turn, plan)
            } else {
                self.take(turn, plan)
            };
        }
        if turn.options.is_plan_only {
            return self.plan(turn, plan);
        }
        self.call(turn, Purpose::Classify)
    }

    /// The user's reply: what the question interrupted goes on.
    pub(super) fn reply(&mut self, turn: &mut Common, plan: &PlanStatus) -> Vec<Effect> {
        self.used = 0;
        match self.purpose {
            Some(Purpose::Item(item)) if !plan.in_progress.contains(&item) => self.take(turn, plan),
            Some(purpose) => self.call(turn, purpose),
            None => self.begin(turn, plan),
        }
    }

    pub(super) fn answered(
        &mut self,
        turn: &mut Common,
        ask: &Ask,
        answer: &Answer,
        plan: &PlanStatus,
    ) -> Vec<Effect> {
        let asks = answer.calls == 0 && answer.asks_user && turn.options.is_attended;
        match ask.purpose {
            Purpose::Classify => self.classified(turn, answer, plan),
            Purpose::Validate => self.validated(turn, answer, plan),
            Purpose::FinalAnswer => self.closed(turn, answer, plan),
            Purpose::Direct | Purpose::Plan | Purpose::Item(_) | Purpose::Work if asks => {
                turn.end(Ending::Asked)
            }
            Purpose::Direct | Purpose::Work => self.answered_directly(turn, ask, answer, plan),
            Purpose::Plan => {
                let left = turn.options.steps.planning.saturating_sub(self.used);
                if answer.calls == 0 {
                    self.planned(turn, plan)
                } else {
                    self.run(turn, answer, left)
                }
            }
            Purpose::Item(item) => {
                let left = turn.options.steps.item.saturating_sub(self.used);
                if answer.calls > 0 {
                    return self.run(turn, answer, left);
                }
                turn.change(PlanChange::Complete(item, answer.text.clone()))
            }
        }
    }

    /// The calls of an answer have ended.
    pub(super) fn worked(&mut self, turn: &mut Common, plan: &PlanStatus) -> Vec<Effect> {
        let limits = turn.options.steps;
        match self.purpose {
            Some(Purpose::Plan) if self.used < limits.planning => self.call(turn, Purpose::Plan),
            Some(Purpose::Plan) => self.planned(turn, plan),
            Some(Purpose::Item(item)) => self.worked_on(turn, item, plan),
            Some(
                Purpose::Direct
                | Purpose::Work
                | Purpose::FinalAnswer
                | Purpose::Classify
                | Purpose::Validate,
            )
            | None => self.call(turn, Purpose::Direct),
        }
    }

    /// The plan was changed as the turn wanted.
    pub(super) fn changed(
        &mut self,
        turn: &mut Common,
        change: &PlanChange,
        plan: &PlanStatus,
    ) -> Vec<Effect> {
        match change {
            PlanChange::Start(item) => self.execute(turn, *item),
            PlanChange::GiveBack(..) => self.plan(turn, plan),
            PlanChange::Complete(..)
            | PlanChange::Skip(..)
            | PlanChange::Release(_)
            | PlanChange::Park(_) => self.take(turn, plan),
        }
    }

    /// The plan refused what the turn wanted.
    pub(super) fn change_refused(
        &mut self,
        turn: &mut Common,
        change: &PlanChange,
        why: String,
        plan: &PlanStatus,
    ) -> Vec<Effect> {
        match change {
            // An answer does not complete this item, for example because its check has not passed.
            PlanChange::Complete(item, _) if plan.in_progress.contains(item) => {
                self.used = self.used.saturating_add(1);
                let mut effects = vec![Effect::Tell(why)];
                effects.extend(self.worked_on(turn, *item, plan));
                effects
            }
            // Somebody else changed the item meanwhile: the plan is looked at again. That costs a step,
            // so that it ends.
            PlanChange::Start(_)
            | PlanChange::Complete(..)
            | PlanChange::GiveBack(..)
            | PlanChange::Skip(..)
            | PlanChange::Release(_)
            | PlanChange::Park(_) => {
                self.steps = self.steps.saturating_add(1);
                self.take(turn, plan)
            }
        }
    }

    fn classified(&mut self, turn: &mut Common, answer: &Answer, plan: &PlanStatus) -> Vec<Effect> {
        // An answer that is no classification says nothing: a plan does no harm.
        let is_simple = json::<Classification>(&answer.text).is_some_and(|it| it.is_simple);
        if is_simple {
            self.used = 0;
            return self.call(turn, Purpose::Direct);
        }
        let mut effects = vec![inform("Executing as a multi-step task.")];
        effects.extend(self.plan(turn, plan));
        effects
    }

    fn answered_directly(
        &mut self,
        turn: &mut Common,
        ask: &Ask,
        answer: &Answer,
        plan: &PlanStatus,
    ) -> Vec<Effect> {
        // Somebody put items on the list meanwhile: they are worked off first.
        if answer.calls == 0 && !plan.open.is_empty() {
            return self.take(turn, plan);
        }
        let is_last = ask.tools == Offered::Nothing;
        if answer.calls > 0 && !is_last {
            return turn.run_calls(u32::MAX);
        }
        if answer.has_steering && !is_last {
            turn.prompted();
            return self.call(turn, Purpose::Direct);
        }
        if let Some(tell) = turn.hand_back(answer) {
            let mut effects = vec![tell];
            effects.extend(self.call(turn, Purpose::Direct));
            return effects;
        }
        if is_last || answer.misfit.is_some() {
            return turn.end(Common::ending_with(answer, Ending::Limit));
        }
        let mut effects = vec![inform("Task completed successfully.")];
        effects.extend(turn.end(Ending::Answered));
        effects
    }

    /// A planning round, which is a step.
    fn plan(&mut self, turn: &mut Common, plan: &PlanStatus) -> Vec<Effect> {
        if let Some(effects) = self.step(turn, plan) {
            return effects;
        }
        self.call(turn, Purpose::Plan)
    }

    /// The planning round is over.
    fn planned(&mut self, turn: &mut Common, plan: &PlanStatus) -> Vec<Effect> {
        if plan.open.is_empty() {
            let mut effects = vec![inform("Planning failed. Could not generate next steps.")];
            effects.extend(turn.end(Ending::PlanningFailed));
            return effects;
        }
        let mut effects = vec![Effect::Inform(Info::PlanCreated)];
        if turn.options.is_plan_only {
            effects.extend(turn.end(Ending::Planned));
        } else {
            effects.extend(self.take(turn, plan));
        }
        effects
    }

    /// Takes the item in progress, else starts the next; if nothing is open, validates.
    fn take(&mut self, turn: &mut Common, plan: &PlanStatus) -> Vec<Effect> {
        if plan.open.is_empty() {
            return self.validate(turn, plan);
        }
        match (plan.in_progress.first(), plan.next) {
            (Some(item), _) => self.execute_or_stop(turn, *item, plan),
            (None, Some(next)) if self.steps < turn.options.steps.steps => {
                turn.change(PlanChange::Start(next))
            }
            (None, Some(_)) => self.out_of_steps(turn, plan),
            (None, None) if self.is_stuck => turn.end_with_open(Ending::Stuck, plan),
            (None, None) => {
                self.is_stuck = true;
                self.plan(turn, plan)
            }
        }
    }

    fn execute_or_stop(
        &mut self,
        turn: &mut Common,
        item: Number,
        plan: &PlanStatus,
    ) -> Vec<Effect> {
        if self.steps >= turn.options.steps.steps {
            return self.out_of_steps(turn, plan);
        }
        self.execute(turn, item)
    }

    /// Works on an item, which is a step.
    fn execute(&mut self, turn: &mut Common, item: Number) -> Vec<Effect> {
        self.steps = self.steps.saturating_add(1);
        self.used = 0;
        self.is_stuck = false;
        let mut effects = vec![Effect::Inform(Info::Step { step: self.steps, item })];
        effects.extend(self.call(turn, Purpose::Item(item)));
        effects
    }

    /// The model has worked on an item: it may be settled, go on, or have used up its calls.
    fn worked_on(&mut self, turn: &mut Common, item: Number, plan: &PlanStatus) -> Vec<Effect> {
        if !plan.in_progress.contains(&item) {
            return self.take(turn, plan);
        }
        if self.used < turn.options.steps.item {
            return self.call(turn, Purpose::Item(item));
        }
        let most = turn.options.steps.item;
        let reason = format!("The limit of {most} tool calls for this item was used up.");
        if self.exhausted.insert(item) {
            turn.change(PlanChange::GiveBack(item, reason))
        } else {
            turn.change(PlanChange::Skip(item, reason))
        }
    }

    fn validate(&mut self, turn: &mut Common, plan: &PlanStatus) -> Vec<Effect> {
        if let Some(effects) = self.step(turn, plan) {
            return effects;
        }
        self.call(turn, Purpose::Validate)
    }

    fn validated(&mut self, turn: &mut Common, answer: &Answer, plan: &PlanStatus) -> Vec<Effect> {
        // Somebody added an item meanwhile: the claim comes too early.
        if !plan.open.is_empty() {
            return self.take(turn, plan);
        }
        let validation = json::<Validation>(&answer.text).unwrap_or_else(|| Validation {
            reasoning: answer.text.trim().to_owned(),
            ..Validation::default()
        });
        if validation.is_complete && !answer.has_steering {
            let told = format!("{VALIDATED}{}", validation.reasoning);
            let mut effects = vec![inform(&told)];
            if turn.options.has_schema {
                effects.extend(self.call(turn, Purpose::FinalAnswer));
            } else {
                effects.extend(turn.end(Ending::Answered));
            }
            return effects;
        }
        let mut effects = Vec::new();
        if !validation.is_complete {
            if self.incomplete_at == Some(plan.completed) {
                return turn.end(Ending::NotValidated);
            }
            self.incomplete_at = Some(plan.completed);
            effects.push(Effect::Tell(validation.for_planning()));
        }
        effects.extend(self.plan(turn, plan));
        effects
    }

    /// The answer that must fit the schema.
    fn closed(&mut self, turn: &mut Common, answer: &Answer, plan: &PlanStatus) -> Vec<Effect> {
        if !plan.open.is_empty() {
            return self.take(turn, plan);
        }
        match turn.hand_back(answer) {
            Some(tell) => {
                let mut effects = vec![tell];
                effects.extend(self.call(turn, Purpose::FinalAnswer));
                effects
            }
            None => turn.end(Common::ending_with(answer, Ending::Answered)),
        }
    }

    /// Counts a step, or ends the turn if none is left.
    fn step(&mut self, turn: &mut Common, plan: &PlanStatus) -> Option<Vec<Effect>> {
        if self.steps >= turn.options.steps.steps {
            return Some(self.out_of_steps(turn, plan));
        }
        self.steps = self.steps.saturating_add(1);
        self.used = 0;
        None
    }

    fn out_of_steps(&self, turn: &mut Common, plan: &PlanStatus) -> Vec<Effect> {
        let most = turn.options.steps.steps;
        let told = format!("Task did not complete within the maximum of {most} steps.");
        let mut effects = vec![inform(&told)];
        effects.extend(turn.end_with_open(Ending::Limit, plan));
        effects
    }

    /// Runs as many calls of the answer as are left.
    fn run(&mut self, turn: &mut Common, answer: &Answer, left: u32) -> Vec<Effect> {
        self.used = self.used.saturating_add(answer.calls.min(left).max(1));
        turn.run_calls(left)
    }

    fn call(&mut self, turn: &mut Common, purpose: Purpose) -> Vec<Effect> {
        self.purpose = Some(purpose);
        let tools = match purpose {
            Purpose::Classify | Purpose::Validate | Purpose::FinalAnswer => Offered::Nothing,
            Purpose::Direct | Purpose::Work => {
                self.used = self.used.saturating_add(1);
                // The last call writes the answer.
                if self.used < turn.options.steps.direct {
                    Offered::WithoutPlan
                } else {
                    Offered::Nothing
                }
            }
            Purpose::Plan => Offered::Planning,
            Purpose::Item(_) => Offered::Everything,
        };
        turn.call_model(Ask::new(purpose, tools))
    }
}

impl Validation {
    /// What planning is told.
    fn for_planning(&self) -> String {
        let told = format!("Validation result: {}", self.reasoning);
        match self.suggestions.as_slice() {
            // Without suggestions the reasoning is the suggestion.
            [] => told,
            several => format!("{told}\nSuggestions: {}", several.join(", ")),
        }
    }
}

fn inform(text: &str) -> Effect {
    Effect::Inform(Info::Text(text.to_owned()))
}

/// The JSON object in an answer: models put prose or a fence around it.
fn json<T: for<'a> Deserialize<'a>>(text: &str) -> Option<T> {
    let object = text.get(text.find('{')?..=text.rfind('}')?)?;
    serde_json::from_str(object).ok()
}
