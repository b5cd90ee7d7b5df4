//! A turn: one request of the user, worked on until it is answered. A pure state machine.
//!
//! [`Turn::step`] takes what happened and the plan as it stands, and returns the effects that the runtime
//! performs: call the model, run the calls of its answer, change the plan, end. The machine calls no
//! model, runs no tool, reads no clock and words no refusal. A [`Turn`] is stored after each step; after a
//! crash [`Turn::resume`] returns the effects that were under way.
//!
//! The two strategies differ in what they do with an answer: `supervisor` lets the model lead and refuses
//! an answer while items hold the turn, `steps` plans, works off item by item and validates.

mod ask;
mod common;
mod plan;
#[cfg(test)]
mod search;
mod steps;
mod supervisor;
#[cfg(test)]
mod tests;

use punchlist_model::Number;
use punchlist_model::guard;
use serde::{Deserialize, Serialize};

pub use ask::{Ask, Offered, Purpose};
pub use plan::{PlanChange, PlanStatus};
pub use steps::{StepLimits, VALIDATED, Validation};
pub use supervisor::CallLimits;

use common::{Common, Phase};
use steps::Steps;
use supervisor::Supervisor;

/// How a turn is to be worked on.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Which loop.
    pub strategy: Strategy,
    /// Limits of [`Strategy::Supervisor`].
    pub calls: CallLimits,
    /// Limits of [`Strategy::Steps`].
    pub steps: StepLimits,
    /// A person reads along: an answer that asks something suspends the turn.
    pub is_attended: bool,
    /// The turn ends as soon as there is a plan.
    pub is_plan_only: bool,
    /// The final answer must fit a JSON Schema.
    pub has_schema: bool,
}

/// Which loop works on a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The model decides whether a plan is needed, and leads.
    #[default]
    Supervisor,
    /// Classify, plan, work off one item after the other, validate.
    Steps,
}

/// How often an answer that does not fit the schema is handed back.
pub const SCHEMA_TRIES: u32 = 3;

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// The user's request.
    Begin,
    /// The model's answer is complete.
    Answered(Answer),
    /// Every call of the answer has ended.
    CallsEnded,
    /// The plan was changed as [`Effect::Change`] asked.
    Changed,
    /// The plan refused the change, with this text for the model.
    ChangeRefused(String),
    /// The model could not be called, after all retries.
    ModelFailed(String),
    /// The user's reply to the question that suspended the turn.
    Reply,
    /// The turn must end now.
    Abort(Abort),
}

/// What the machine needs to know about an answer of the model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    /// How many tool calls it has.
    pub calls: u32,
    /// Its text.
    pub text: String,
    /// Its text ends by asking the user something.
    pub asks_user: bool,
    /// Why the text does not fit the output schema.
    pub misfit: Option<String>,
    /// A steering message waits: the answer is not final.
    pub has_steering: bool,
}

/// Why a turn is aborted.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Abort {
    /// The user stopped it.
    User,
    /// A budget is used up; the text names it.
    Budget(String),
}

/// What the runtime has to do. Effects are performed in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Call the model, then step with [`Input::Answered`] or [`Input::ModelFailed`].
    CallModel(Ask),
    /// Run the first `most` calls of the last answer; the others get a result that says that they were not
    /// run. Then step with [`Input::CallsEnded`].
    RunCalls {
        /// How many calls are run.
        most: u32,
    },
    /// Change the plan. While the turn goes on, step with [`Input::Changed`] or
    /// [`Input::ChangeRefused`].
    Change(PlanChange),
    /// Tell the model that its answer is not accepted, because these items are open, or, if there are
    /// none, because the goal is not reached.
    RefuseAnswer {
        /// What holds the turn.
        open: Vec<Number>,
        /// Which refusal of this prompt it is, from 1.
        refusal: u32,
    },
    /// Add a message for the model.
    Tell(String),
    /// Tell the user.
    Inform(Info),
    /// Cancel the model call or the tool calls that are under way, and wait until they have ended.
    Cancel,
    /// The turn is over, or suspended.
    End(Ending),
}

/// What the user is told on the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Info {
    /// A fixed sentence.
    Text(String),
    /// The plan that was just made.
    PlanCreated,
    /// An item is taken up.
    Step {
        /// Which step of the turn, from 1.
        step: u32,
        /// The item.
        item: Number,
    },
}

/// How a turn ended.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The last answer is the result, and nothing holds the turn.
    Answered,
    /// The last answer asks the user something; [`Input::Reply`] continues the turn.
    Asked,
    /// There is a plan, and nothing else was wanted.
    Planned,
    /// The governor let the turn go although items are open.
    LetGo,
    /// The limit of model calls or steps was reached.
    Limit,
    /// Items are open, and none can be started.
    Stuck,
    /// The model made no plan.
    PlanningFailed,
    /// The validation found the task incomplete twice, and nothing was completed in between.
    NotValidated,
    /// The last answer does not fit the output schema, and was handed back as often as that is allowed.
    Unfit,
    /// The model could not be called.
    Failed(String),
    /// Somebody or a budget ended it.
    Aborted(Abort),
}

/// A turn and all that must survive a crash.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Turn {
    common: Common,
    work: Work,
}

/// What each strategy has used of its limits.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Work {
    Supervisor(Supervisor),
    Steps(Steps),
}

impl Turn {
    /// A turn that has not begun.
    pub fn new(options: Options) -> Self {
        let work = match options.strategy {
            Strategy::Supervisor => Work::Supervisor(Supervisor::new(options.calls)),
            Strategy::Steps => Work::Steps(Steps::default()),
        };
        let governor = guard::Turn::default();
        Self { common: Common { options, phase: Phase::New, governor, misfits: 0 }, work }
    }

    /// How the turn ended, if it has.
    pub fn ending(&self) -> Option<&Ending> {
        match &self.common.phase {
            Phase::Over(ending) => Some(ending),
            Phase::New | Phase::Thinking(_) | Phase::Working { .. } | Phase::Changing(_) => None,
        }
    }

    /// The only way a turn moves. `plan` is the plan as it stands after what happened.
    pub fn step(&mut self, input: Input, plan: &PlanStatus) -> Vec<Effect> {
        let common = &mut self.common;
        match (common.phase.clone(), input) {
            (Phase::Over(Ending::Asked), Input::Reply) => {
                common.prompted();
                match &mut self.work {
                    Work::Supervisor(it) => it.begin(common),
                    Work::Steps(it) => it.reply(common, plan),
                }
            }
            // What arrives after the end, such as a late answer of a cancelled call, has no effect.
            (Phase::Over(_), _) => Vec::new(),
            (_, Input::Abort(why)) => common.stop(Ending::Aborted(why), plan),
            (_, Input::ModelFailed(why)) => common.stop(Ending::Failed(why), plan),
            (Phase::New, Input::Begin) => match &mut self.work {
                Work::Supervisor(it) => it.begin(common),
                Work::Steps(it) => it.begin(common, plan),
            },
            (Phase::Thinking(ask), Input::Answered(answer)) => match &mut self.work {
                Work::Supervisor(it) => it.answered(common, &ask, &answer, plan),
                Work::Steps(it) => it.answered(common, &ask, &answer, plan),
            },
            (Phase::Working { .. }, Input::CallsEnded) => match &mut self.work {
                Work::Supervisor(it) => it.worked(common, plan),
                Work::Steps(it) => it.worked(common, plan),
            },
            (Phase::Changing(change), Input::Changed) => match &mut self.work {
                Work::Supervisor(it) => it.worked(common, plan),
                Work::Steps(it) => it.changed(common, &change, plan),
            },
            (Phase::Changing(change), Input::ChangeRefused(why)) => match &mut self.work {
                Work::Supervisor(it) => it.worked(common, plan),
                Work::Steps(it) => it.change_refused(common, &change, why, plan),
            },
            // An input that does not belong to the phase comes from a runtime that lost count. The turn
            // stays where it is: the input that belongs to it will come.
            (
                Phase::New | Phase::Thinking(_) | Phase::Working { .. } | Phase::Changing(_),
                Input::Begin
                | Input::Answered(_)
                | Input::CallsEnded
                | Input::Changed
                | Input::ChangeRefused(_)
                | Input::Reply,
            ) => Vec::new(),
        }
    }

    /// The effects that were under way when the program ended. Calls that have finished are not run
    /// again: whoever runs them knows which have.
    pub fn resume(&self) -> Vec<Effect> {
        match &self.common.phase {
            Phase::New | Phase::Over(_) => Vec::new(),
            Phase::Thinking(ask) => vec![Effect::CallModel(ask.clone())],
            Phase::Working { most } => vec![Effect::RunCalls { most: *most }],
            Phase::Changing(change) => vec![Effect::Change(change.clone())],
        }
    }
}
