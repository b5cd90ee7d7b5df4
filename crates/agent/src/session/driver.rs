//! Performs the effects of the turn machine, and feeds the results back to it.

use std::collections::VecDeque;

use punchlist_engine::fail::Fail;
use punchlist_formats::hook::asks_user;
use punchlist_formats::text;
use punchlist_model::call::Message;
use punchlist_model::store::AttachmentKey;
use punchlist_model::store::turns::{ConversationState, Used};
use punchlist_model::{Plan, Revision};

use super::attend::Attendant;
use super::entry::{CallEnd, Entry};
use super::event::{Ended, Event, FrontEnd};
use super::output_schema;
use super::plan::TurnPlan;
use super::recorder::{Happened, Recorder};
use super::settings::SessionSettings;
use super::tool_calls::{Calls, CutOff, MAY_HAVE_HAPPENED, Scheduled};
use super::world::World;
use crate::provider::{CallResult, ModelCall};
use crate::turn::{Abort, Effect, Ending, Info, Input, PlanChange};

/// Works on one turn.
pub(super) struct Driver<'a> {
    pub(super) world: &'a World,
    pub(super) settings: &'a SessionSettings,
    /// The user's request.
    pub(super) request: String,
    pub(super) plan: TurnPlan,
    pub(super) recorder: Recorder,
    pub(super) attendant: Attendant,
    pub(super) calls: Calls,
    /// Calls whose workers go on although the model was told that they are still running.
    pub(super) left: Vec<Scheduled>,
    /// What became of the calls of an earlier process, until that is recorded.
    pub(super) cut_off: Option<CutOff>,
    /// The revision of the plan that the model was last sent.
    pub(super) sent_revision: Option<Revision>,
    /// The plan as the front end was last shown it.
    pub(super) shown: Option<Plan>,
}

impl Driver<'_> {
    /// Performs effects until the turn is over.
    pub(super) async fn drive(
        &mut self,
        first: Vec<Effect>,
        front: &mut dyn FrontEnd,
    ) -> Result<Ended, Fail> {
        let mut effects = VecDeque::from(first);
        while let Some(effect) = effects.pop_front() {
            self.attendant.show(front);
            match effect {
                Effect::CallModel(ask) => {
                    self.recorder.machine.offered = ask.tools;
                    let next = self.call_model(&ask, front).await?;
                    effects.extend(next);
                }
                Effect::RunCalls { most } => {
                    let next = self.run_calls(most, front).await?;
                    effects.extend(next);
                }
                Effect::Change(change) => {
                    let next = self.change(&change, front).await?;
                    effects.extend(next);
                }
                Effect::End(ending) => return self.end(ending, front).await,
                // The rest was performed with the step that it belongs to.
                Effect::RefuseAnswer { .. }
                | Effect::Tell(_)
                | Effect::Inform(_)
                | Effect::Cancel => {}
            }
        }
        Err(Fail::ours("the turn stopped without an end"))
    }

    /// Steps the turn machine and records how it stands, with what happened and what the step says to
    /// the model and the user. Returns what is left to do.
    pub(super) async fn step(
        &mut self,
        input: Input,
        happened: Vec<(Entry, Used)>,
    ) -> Result<Vec<Effect>, Fail> {
        // Nothing is taken, so nothing can have been changed.
        Ok(self.step_taking(input, happened, Vec::new()).await?.unwrap_or_default())
    }

    /// Steps the turn machine and takes messages from the queue, which are in what happened. `None` if one
    /// of them was changed since it was read; then nothing is recorded and the driver is of no use.
    pub(super) async fn step_taking(
        &mut self,
        input: Input,
        happened: Vec<(Entry, Used)>,
        taken: Vec<Message>,
    ) -> Result<Option<Vec<Effect>>, Fail> {
        let plan = self.plan.whole().await?;
        let status = self.plan.status(plan.as_ref(), self.recorder.machine.told_of_goal);
        let effects = self.recorder.machine.turn.step(input, &status);
        let is_over = self.recorder.machine.turn.ending().is_some();
        let mut happened = happened;
        // Where somebody can reply, an answer that asks suspends the turn and is not refused.
        let unheard = happened.iter().any(|(it, _)| match it {
            Entry::Answer(answer) => asks_user(&answer.message.text),
            Entry::User { .. }
            | Entry::Steering { .. }
            | Entry::Result(_)
            | Entry::Told { .. }
            | Entry::Info { .. }
            | Entry::Summary { .. }
            | Entry::Used { .. }
            | Entry::Ended { .. } => false,
        });
        for effect in &effects {
            if let Some(entry) = self.said(effect, plan.as_ref(), unheard) {
                happened.push((entry, Used::default()));
            }
        }
        self.note_plan(plan.as_ref()).await?;
        if is_over {
            happened.extend(self.end_left_running().await?);
            // What a turn does to its plan at the end happens before the end is recorded: after a crash in
            // between the turn goes on.
            for effect in &effects {
                if let Effect::Change(change) = effect {
                    // It does no harm twice, and without a name it cannot be taken for a later one.
                    self.plan.change(change, None).await?.ok();
                }
            }
            let end = effects.into_iter().find(|it| matches!(it, Effect::End(_)));
            if let Some(Effect::End(ending)) = &end {
                happened.push((Entry::Ended { ending: ending.clone() }, Used::default()));
                self.close(ending);
            }
            let (state, queue_paused) = match &end {
                Some(Effect::End(Ending::Asked)) => (ConversationState::Asked, None),
                Some(Effect::End(ending)) => (ConversationState::Idle, Some(!ends_well(ending))),
                Some(_) | None => (ConversationState::Idle, None),
            };
            let happened = Happened { entries: happened, taken, queue_paused, state };
            let is_recorded = self.recorder.record_all(happened).await?;
            return Ok(is_recorded.then(|| end.into_iter().collect()));
        }
        let state = ConversationState::Working;
        let happened = Happened { entries: happened, taken, queue_paused: None, state };
        Ok(self.recorder.record_all(happened).await?.then_some(effects))
    }

    /// Notes the plan of the turn once there is one, also as the plan of the session.
    async fn note_plan(&mut self, plan: Option<&Plan>) -> Result<(), Fail> {
        let Some(plan) = plan else { return Ok(()) };
        if self.recorder.row.plan != Some(plan.id) {
            let key = AttachmentKey { turn: String::new(), ..self.plan.key().clone() };
            self.world.store().attach(key, plan.id, self.world.place.around.now()).await?;
            if let Some(goal) = self.settings.goal.as_ref().filter(|_| plan.goal.is_none()) {
                self.plan.set_goal(plan, goal, &self.world.user.person).await?;
            }
            self.recorder.row.plan = Some(plan.id);
        }
        Ok(())
    }

    /// What a step says to the model or the user.
    fn said(&mut self, effect: &Effect, plan: Option<&Plan>, unheard: bool) -> Option<Entry> {
        let sender = self.attendant.sender();
        match effect {
            Effect::RefuseAnswer { open, refusal } => {
                let plan = plan?;
                if open.is_empty() {
                    self.recorder.machine.told_of_goal = Some(plan.revision.0);
                }
                sender.send(Event::Refused { open: open.len(), refusal: *refusal }).ok();
                Some(Entry::Told { text: self.plan.refusal(plan, open, unheard) })
            }
            Effect::Tell(text) => Some(Entry::Told { text: text.clone() }),
            Effect::Inform(info) => {
                let text = words(info, plan);
                sender.send(Event::Info(text.clone())).ok();
                Some(Entry::Info { text })
            }
            Effect::CallModel(_)
            | Effect::RunCalls { .. }
            | Effect::Change(_)
            | Effect::Cancel
            | Effect::End(_) => None,
        }
    }

    /// Notes how the turn ended.
    fn close(&mut self, ending: &Ending) {
        self.recorder.row.ending = Some(ending_name(ending).to_owned());
        let is_over = !matches!(ending, Ending::Asked);
        self.recorder.row.ended_at = is_over.then(|| self.world.place.around.now());
    }

    /// Makes a change of the plan that the turn wants.
    async fn change(
        &mut self,
        change: &PlanChange,
        front: &mut dyn FrontEnd,
    ) -> Result<Vec<Effect>, Fail> {
        // The name does not count up before the change is recorded as made: a change that is repeated
        // after a crash has the same name.
        let name = format!("t{}c{}", self.recorder.row.number, self.recorder.machine.changes);
        let input = match self.plan.change(change, Some(&name)).await? {
            Ok(()) => Input::Changed,
            Err(why) => Input::ChangeRefused(why),
        };
        self.recorder.machine.changes = self.recorder.machine.changes.saturating_add(1);
        // What the step says of the next item comes after what became of this one.
        let plan = self.plan.whole().await?;
        self.show_plan(plan.as_ref(), front);
        self.step(input, Vec::new()).await
    }

    /// Runs the calls of the last answer.
    async fn run_calls(
        &mut self,
        most: u32,
        front: &mut dyn FrontEnd,
    ) -> Result<Vec<Effect>, Fail> {
        let Some(answer) = self.recorder.last_answer() else {
            return self.step(Input::CallsEnded, Vec::new()).await;
        };
        let calls = answer.message.calls.clone();
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut ends: Vec<(ModelCall, CallEnd)> = Vec::new();
        let mut to_run: Vec<ModelCall> = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            if self.recorder.has_result(&call.id) {
                continue;
            }
            if at >= most {
                let text = "not run: the calls of this step are used up".to_owned();
                let result = CallResult { call: call.id.clone(), text, is_error: true };
                ends.push((call.clone(), CallEnd { result, whole: None }));
            } else if let Some(result) = self.calls.refused(call, self.recorder.machine.offered) {
                ends.push((call.clone(), CallEnd { result, whole: None }));
            } else {
                to_run.push(call.clone());
            }
        }
        show_ends(&ends, front);
        let waited = self.run_and_wait(&to_run, front).await?;
        ends.extend(waited.ends);
        let (mut is_aborted, delegations) = (waited.is_aborted, waited.delegations);
        let order = |call: &ModelCall| calls.iter().position(|it| it.id == call.id);
        ends.sort_by_key(|(call, _)| order(call));
        if !is_aborted {
            is_aborted = self.wait_for_workers(&delegations, front).await?;
        }
        let happened = ends.into_iter().map(|(_, end)| (Entry::Result(end), Used::default()));
        let happened = happened.collect();
        let input = if is_aborted { Input::Abort(Abort::User) } else { Input::CallsEnded };
        let effects = self.step(input, happened).await?;
        let plan = self.plan.whole().await?;
        self.show_plan(plan.as_ref(), front);
        Ok(effects)
    }

    /// Records what became of the calls of a process that was cut off, together with the run that
    /// takes its place: after another crash nobody reads the run of the earlier process.
    pub(super) async fn record_cut_off(&mut self, front: &mut dyn FrontEnd) -> Result<(), Fail> {
        let last = self.recorder.last_answer();
        let calls = last.map(|it| it.message.calls.clone()).unwrap_or_default();
        let open = calls.into_iter().filter(|it| !self.recorder.has_result(&it.id));
        let ends: Vec<(ModelCall, CallEnd)> =
            open.filter_map(|it| self.ended_before(&it).map(|end| (it, end))).collect();
        show_ends(&ends, front);
        let results = ends.into_iter().map(|(_, end)| (Entry::Result(end), Used::default()));
        self.recorder.record(results.collect(), ConversationState::Working).await?;
        self.cut_off = None;
        Ok(())
    }

    /// The end of a call that ran before the program ended the last time.
    fn ended_before(&self, call: &ModelCall) -> Option<CallEnd> {
        let outcome = self.cut_off.as_ref()?.outcome(call)?;
        if !CutOff::is_unknown(&outcome) {
            let (result, whole) = self.calls.result(call, &outcome);
            return Some(CallEnd { result, whole });
        }
        // A change of the plan can be repeated: it happens once.
        if self.calls.is_plans(&call.tool) {
            return None;
        }
        let (id, text) = (call.id.clone(), MAY_HAVE_HAPPENED.to_owned());
        Some(CallEnd { result: CallResult { call: id, text, is_error: true }, whole: None })
    }

    /// Shows the plan if it has changed since it was last shown.
    pub(super) fn show_plan(&mut self, plan: Option<&Plan>, front: &mut dyn FrontEnd) {
        let Some(plan) = plan else { return };
        if self.shown.as_ref().is_some_and(|it| it.revision == plan.revision) {
            return;
        }
        let before = self.shown.replace(plan.clone()).map(Box::new);
        front.event(Event::Plan { before, now: Box::new(plan.clone()) });
    }

    /// The end of the turn: the answer, and what stays open.
    async fn end(&mut self, ending: Ending, front: &mut dyn FrontEnd) -> Result<Ended, Fail> {
        let plan = self.plan.whole().await?;
        self.show_plan(plan.as_ref(), front);
        self.attendant.look().await?;
        self.attendant.show(front);
        let (answer, citations) = self.recorder.last_words().unwrap_or_default();
        let citations = citations.to_vec();
        let answer = final_answer(&ending, answer.to_owned(), plan.as_ref());
        let answer = output_schema::checked(self.settings.schema.as_ref(), answer);
        let ended = Ended { ending, answer, citations, plan, used: self.recorder.meter.used() };
        front.event(Event::Ended(Box::new(ended.clone())));
        Ok(ended)
    }
}

fn show_ends(ends: &[(ModelCall, CallEnd)], front: &mut dyn FrontEnd) {
    for (call, end) in ends {
        let CallResult { is_error, text, .. } = end.result.clone();
        let call = call.clone();
        front.event(Event::CallEnded { call, is_error, is_cancelled: false, text });
    }
}

/// The answer at the end of a turn: none, or the model's last one, with what stays open.
pub(super) fn final_answer(ending: &Ending, last: String, plan: Option<&Plan>) -> String {
    match ending {
        Ending::Answered | Ending::Asked | Ending::Planned | Ending::Unfit => last,
        Ending::LetGo | Ending::Limit => match still_open(plan) {
            Some(open) => format!("{}\n\n{open}", last.trim_end()).trim_start().to_owned(),
            None => last,
        },
        Ending::Stuck
        | Ending::PlanningFailed
        | Ending::NotValidated
        | Ending::Failed(_)
        | Ending::Aborted(_) => String::new(),
    }
}

/// A line for the user.
fn words(info: &Info, plan: Option<&Plan>) -> String {
    match info {
        Info::Text(text) => text.clone(),
        Info::PlanCreated => {
            let titles =
                plan.into_iter().flat_map(|it| it.listed()).map(|it| text::one_line(&it.title));
            format!("Created new plan: {}", titles.collect::<Vec<_>>().join("; "))
        }
        Info::Step { step, item } => {
            let title = plan.and_then(|it| it.get(*item)).map(|it| text::one_line(&it.title));
            format!("Step {step}: {}", title.unwrap_or_default())
        }
    }
}

/// What stays open, as the end of an answer.
fn still_open(plan: Option<&Plan>) -> Option<String> {
    let open: Vec<String> = plan?
        .listed()
        .into_iter()
        .filter(|it| it.is_open())
        .map(|it| format!("- {}", text::one_line(&it.title)))
        .collect();
    (!open.is_empty()).then(|| format!("Still open:\n{}", open.join("\n")))
}

/// Whether the queue goes on after this ending. After an abort, an error or a limit it is paused.
fn ends_well(ending: &Ending) -> bool {
    match ending {
        Ending::Answered | Ending::Asked | Ending::Planned => true,
        Ending::LetGo
        | Ending::Limit
        | Ending::Stuck
        | Ending::PlanningFailed
        | Ending::NotValidated
        | Ending::Unfit
        | Ending::Failed(_)
        | Ending::Aborted(_) => false,
    }
}

/// The word by which a store names an ending.
pub(crate) fn ending_name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Answered => "answered",
        Ending::Asked => "asked",
        Ending::Planned => "planned",
        Ending::LetGo => "let_go",
        Ending::Limit => "limit",
        Ending::Stuck => "stuck",
        Ending::PlanningFailed => "planning_failed",
        Ending::NotValidated => "not_validated",
        Ending::Unfit => "unfit",
        Ending::Failed(_) => "failed",
        Ending::Aborted(Abort::User) => "aborted",
        Ending::Aborted(Abort::Budget(_)) => "budget",
    }
}
