//! One call's life: what was asked, where it stands, and how it ended.
//!
//! A call is a header that never changes but for a modification, and a state. A state that has ended is
//! a type of its own, so nothing can happen to it any more. [`Live::step`] is the only way a call moves;
//! it knows nothing of other calls. To see what may follow what, read
//! `call/snapshots/every_state_meets_every_step.snap`.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

pub use punchlist_model::QuestionId;
use punchlist_model::{Attempt, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Access;
use crate::policy::Subject;

/// A call, by the order in which calls were scheduled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CallId(pub u32);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}", self.0)
    }
}

/// Calls that were scheduled together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct BatchId(pub u32);

/// Which version of a call's arguments: a person may change them while an older version is validated.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct ArgumentsVersion(pub u32);

/// A kind of call, for limits. The one that limits do not name is [`Kind::OTHER`].
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Kind(pub u16);

impl Kind {
    /// Any kind without a limit of its own.
    pub const OTHER: Self = Self(0);
}

/// What is asked for.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Request {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// The calls that must have succeeded before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<CallId>,
    /// Of several that could run, the one with the higher number goes first.
    #[serde(default)]
    pub priority: i32,
    /// How long one attempt may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What happens after an attempt that failed.
    #[serde(default)]
    pub retry: Retry,
    /// If it fails for good, nothing begins that has not begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vital: bool,
}

/// How often a call may be tried again. Who sets it declares that a second attempt does no harm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Retry {
    /// How many attempts more than the first.
    pub times: u32,
    /// How long to wait before the second attempt; twice as long before each one after it.
    pub wait_ms: u64,
}

impl Retry {
    /// The longest wait between two attempts.
    const LONGEST_MS: u64 = 5 * 60_000;

    /// How long to wait after an attempt, or nothing if it was the last.
    pub fn wait_after(self, attempt: Attempt) -> Option<u64> {
        let again = attempt.0 <= self.times;
        let doubled = 1_u64.checked_shl(attempt.0.saturating_sub(1)).unwrap_or(u64::MAX);
        again.then(|| self.wait_ms.saturating_mul(doubled).min(Self::LONGEST_MS))
    }
}

/// What validation found out about a call.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Checked {
    /// What it touches.
    pub access: Access,
    /// Its kind, for limits.
    pub kind: Kind,
    /// What rules are about.
    pub subject: Subject,
}

/// A call: its header, and where it stands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Call {
    /// Which.
    pub id: CallId,
    /// With which it was scheduled.
    pub batch: BatchId,
    /// What is asked for.
    pub request: Request,
    /// Where it stands.
    pub state: State,
}

/// Where a call stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum State {
    /// Something may still happen to it.
    Live(Live),
    /// Nothing will. The outcome is shared: the machine, the ledger and every watcher are given it, and
    /// its output may be long.
    Done(Arc<Outcome>),
}

/// What a call may be while it has not ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Live {
    /// Its tool and arguments are validated.
    Validating {
        /// Which version of its arguments.
        version: ArgumentsVersion,
    },
    /// It waits for other calls, for its turn, or for the next attempt.
    Scheduled {
        /// How often it was tried.
        tried: Attempt,
        /// It may run: a rule or a person allowed it.
        allowed: bool,
        /// When it may be tried again, after an attempt that failed.
        again_at: Option<Timestamp>,
        /// What that attempt gave back, should there be no other.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Box<Output>>,
    },
    /// A person is asked.
    AwaitingApproval {
        /// The question.
        question: QuestionId,
    },
    /// It runs.
    Executing {
        /// Which attempt.
        attempt: Attempt,
        /// Since when.
        started_at: Timestamp,
        /// It is being stopped, and why. Until it has ended, it may still touch what it touches.
        stopping: Option<Box<StopReason>>,
    },
}

/// Why an execution is stopped.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StopReason {
    /// Somebody does not want it any more.
    Cancelled(CancelReason),
    /// It took too long.
    TimedOut,
}

/// How a call ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what it was asked.
    Success(Output),
    /// It did not.
    Error(CallError),
    /// It was not allowed to come to an end, or to begin.
    Cancelled {
        /// Why.
        reason: CancelReason,
        /// What it gave back until then; nothing if it never began or said nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Box<Output>>,
    },
}

/// What a call gives back.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Output {
    /// What the caller is shown: possibly cut.
    pub text: String,
    /// Where the whole is, if the text was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// What the tool found out, for programs. Models are not shown it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl Output {
    /// An output that is this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// With this data beside its text.
    #[must_use]
    pub fn with_data(self, data: Value) -> Self {
        Self { data, ..self }
    }
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Output {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// Why a call failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum CallError {
    /// Tool or arguments are not what they must be.
    #[error("{0}")]
    Invalid(String),
    /// It waits for a call that is not there.
    #[error("it waits for {0}, which does not exist")]
    Unknown(CallId),
    /// It waits for a call of a batch that has ended and that its caller has dropped.
    #[error("it waits for {0}, whose batch is over and forgotten")]
    Forgotten(CallId),
    /// It waits for itself, by way of others.
    #[error("it waits for itself: {}", circle(.0))]
    Circle(Vec<CallId>),
    /// A rule says no.
    #[error("denied by policy: {0}")]
    Denied(String),
    /// A person would have to be asked, and nobody is there.
    #[error("nobody is there to be asked; {0}")]
    NobodyToAsk(String),
    /// It ran and failed.
    #[error("{what}")]
    Failed {
        /// What went wrong.
        what: String,
        /// What it gave back until then.
        output: Box<Output>,
    },
    /// It took too long and was ended.
    #[error("timed out after {}", span(*after_ms))]
    TimedOut {
        /// How long it had.
        after_ms: u64,
        /// What it gave back until then.
        output: Box<Output>,
    },
    /// The tool itself broke. That is a fault in the tool, not in the call.
    #[error("the tool broke: {0}")]
    Panicked(String),
}

/// `1 s`, `1500 ms`.
fn span(ms: u64) -> String {
    match (ms / 1000, ms % 1000) {
        (seconds, 0) => format!("{seconds} s"),
        _ => format!("{ms} ms"),
    }
}

fn circle(calls: &[CallId]) -> String {
    let names: Vec<String> = calls.iter().map(ToString::to_string).collect();
    names.join(" → ")
}

/// Why a call was cancelled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// A person was asked and said no.
    #[error("refused{}", because(.0.as_ref()))]
    Refused(Option<String>),
    /// Somebody took it back.
    #[error("cancelled{}", because(.0.as_ref()))]
    Asked(Option<String>),
    /// What it waited for did not succeed.
    #[error("{0}, which it waited for, did not succeed")]
    Dependency(CallId),
    /// It had not begun when this one failed, after which nothing was to begin.
    #[error("{0} failed, so it did not begin")]
    Halted(CallId),
    /// It had not begun when a person refused this one, and did not say why.
    #[error("{0} was refused, so it did not begin")]
    Beside(CallId),
    /// The tool found that it is not to be done.
    #[error("{0}")]
    Declined(String),
    /// The program ended while it ran. Whether it did anything is not known.
    #[error("interrupted: the program ended while it ran")]
    Interrupted,
}

fn because(reason: Option<&String>) -> String {
    reason.map(|it| format!(": {it}")).unwrap_or_default()
}

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ended {
    /// It did what it was asked.
    Well(Output),
    /// It failed, or was made to end.
    Badly {
        /// What went wrong.
        what: String,
        /// What it gave back until then.
        output: Output,
    },
    /// It was not to be done after all, and why.
    Declined(String),
    /// The tool broke.
    Panicked(String),
}

/// What may happen to a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Tool and arguments are right.
    Valid {
        /// A rule allows it already.
        allowed: bool,
    },
    /// They are not, or a rule says no.
    Invalid(CallError),
    /// A person is asked.
    Ask(QuestionId),
    /// A person, or a new rule, allows it.
    Allow,
    /// Its arguments are validated again: a person changed them, or what they are about has changed.
    Modify(ArgumentsVersion),
    /// It begins.
    Start(Timestamp),
    /// Its execution ended.
    End {
        /// How.
        how: Ended,
        /// How long it had.
        timeout_ms: u64,
        /// When it is tried again, if it failed by itself and may be.
        again_at: Option<Timestamp>,
    },
    /// It is not wanted any more, or took too long.
    Stop(StopReason),
}

/// A step that the state does not know.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a call that is {state} cannot {step}")]
pub struct IllegalStep {
    /// The state's name.
    pub state: &'static str,
    /// What was tried.
    pub step: &'static str,
}

impl Live {
    /// What becomes of a call in this state. The state is consumed, so nobody keeps the old one.
    pub fn step(self, step: Step) -> Result<State, IllegalStep> {
        let illegal = IllegalStep { state: self.name(), step: step.name() };
        match self {
            Self::Validating { .. } => match step {
                Step::Valid { allowed } => {
                    let tried = Attempt(0);
                    Ok(State::Live(Self::Scheduled { tried, allowed, again_at: None, said: None }))
                }
                Step::Invalid(error) => Ok(Outcome::Error(error).into()),
                Step::Stop(StopReason::Cancelled(reason)) => Ok(cancelled(reason)),
                Step::Stop(StopReason::TimedOut)
                | Step::Ask(_)
                | Step::Allow
                | Step::Modify(_)
                | Step::Start(_)
                | Step::End { .. } => Err(illegal),
            },
            Self::Scheduled { tried, allowed, again_at: _, said } => match step {
                Step::Ask(question) if !allowed => {
                    Ok(State::Live(Self::AwaitingApproval { question }))
                }
                Step::Start(started_at) if allowed => {
                    let attempt = Attempt(tried.0.saturating_add(1));
                    Ok(State::Live(Self::Executing { attempt, started_at, stopping: None }))
                }
                Step::Allow => {
                    let (allowed, again_at) = (true, None);
                    Ok(State::Live(Self::Scheduled { tried, allowed, again_at, said }))
                }
                Step::Stop(StopReason::Cancelled(reason)) => {
                    let said = said.map(|it| *it).unwrap_or_default();
                    Ok(Outcome::cancelled(reason, said).into())
                }
                Step::Stop(StopReason::TimedOut)
                | Step::Ask(_)
                | Step::Start(_)
                | Step::Valid { .. }
                | Step::Invalid(_)
                | Step::Modify(_)
                | Step::End { .. } => Err(illegal),
            },
            Self::AwaitingApproval { .. } => match step {
                Step::Allow => {
                    let tried = Attempt(0);
                    let (allowed, again_at, said) = (true, None, None);
                    Ok(State::Live(Self::Scheduled { tried, allowed, again_at, said }))
                }
                Step::Modify(version) => Ok(State::Live(Self::Validating { version })),
                Step::Stop(StopReason::Cancelled(reason)) => Ok(cancelled(reason)),
                Step::Stop(StopReason::TimedOut)
                | Step::Valid { .. }
                | Step::Invalid(_)
                | Step::Ask(_)
                | Step::Start(_)
                | Step::End { .. } => Err(illegal),
            },
            Self::Executing { attempt, started_at, stopping } => match step {
                Step::End { how, timeout_ms, again_at } => {
                    Ok(ended(attempt, stopping.map(|it| *it), how, timeout_ms, again_at))
                }
                Step::Stop(stop) => {
                    // Who was first said why; but what nobody wants any more is not tried again.
                    let stopping = match (stopping.map(|it| *it), stop) {
                        (Some(StopReason::Cancelled(first)), _) => StopReason::Cancelled(first),
                        (Some(StopReason::TimedOut) | None, stop) => stop,
                    };
                    let stopping = Some(Box::new(stopping));
                    Ok(State::Live(Self::Executing { attempt, started_at, stopping }))
                }
                Step::Valid { .. }
                | Step::Invalid(_)
                | Step::Ask(_)
                | Step::Allow
                | Step::Modify(_)
                | Step::Start(_) => Err(illegal),
            },
        }
    }

    /// The state's name, as it is shown.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Validating { .. } => "validating",
            Self::Scheduled { .. } => "scheduled",
            Self::AwaitingApproval { .. } => "awaiting_approval",
            Self::Executing { .. } => "executing",
        }
    }
}

fn cancelled(reason: CancelReason) -> State {
    Outcome::cancelled(reason, Output::default()).into()
}

fn ended(
    attempt: Attempt,
    stopping: Option<StopReason>,
    how: Ended,
    timeout_ms: u64,
    again_at: Option<Timestamp>,
) -> State {
    let error = match (stopping, how) {
        // It was quicker than who wanted to stop it: what is done is done.
        (_, Ended::Well(output)) => return Outcome::Success(output).into(),
        (Some(StopReason::Cancelled(reason)), Ended::Badly { output, .. }) => {
            return Outcome::cancelled(reason, output).into();
        }
        (Some(StopReason::Cancelled(reason)), Ended::Panicked(_)) => return cancelled(reason),
        (_, Ended::Declined(why)) => return cancelled(CancelReason::Declined(why)),
        (Some(StopReason::TimedOut), Ended::Badly { output, .. }) => {
            CallError::TimedOut { after_ms: timeout_ms, output: Box::new(output) }
        }
        (Some(StopReason::TimedOut) | None, Ended::Panicked(what)) => CallError::Panicked(what),
        (None, Ended::Badly { what, output }) => {
            CallError::Failed { what, output: Box::new(output) }
        }
    };
    let outcome = Outcome::Error(error);
    match again_at {
        Some(_) => {
            let said = outcome.output().filter(|it| **it != Output::default());
            let said = said.map(|it| Box::new(it.clone()));
            State::Live(Live::Scheduled { tried: attempt, allowed: true, again_at, said })
        }
        None => outcome.into(),
    }
}

impl Step {
    fn name(&self) -> &'static str {
        match self {
            Self::Valid { .. } => "be found valid",
            Self::Invalid(_) => "be found invalid",
            Self::Ask(_) => "ask",
            Self::Allow => "be allowed",
            Self::Modify(_) => "be modified",
            Self::Start(_) => "start",
            Self::End { .. } => "end",
            Self::Stop(StopReason::Cancelled(_)) => "be cancelled",
            Self::Stop(StopReason::TimedOut) => "time out",
        }
    }
}

impl Outcome {
    /// A call that was cancelled, with what it gave back until then.
    pub fn cancelled(reason: CancelReason, output: Output) -> Self {
        let output = (output != Output::default()).then(|| Box::new(output));
        Self::Cancelled { reason, output }
    }

    /// Whether the call did what it was asked.
    pub fn is_success(&self) -> bool {
        match self {
            Self::Success(_) => true,
            Self::Error(_) | Self::Cancelled { .. } => false,
        }
    }

    /// The outcome as the model that asked for the call reads it: how it ended, and what it printed.
    pub fn for_model(&self) -> String {
        let printed = self.output().map(|it| it.text.as_str()).filter(|it| !it.trim().is_empty());
        let ended = match self {
            Self::Success(_) => return printed.unwrap_or("Done. It printed nothing.").to_owned(),
            Self::Error(error) => format!("Error: {error}"),
            Self::Cancelled { reason, .. } => match reason {
                CancelReason::Asked(why) => format!("Cancelled{}", because(why.as_ref())),
                CancelReason::Refused(why) => {
                    format!("Refused by a person{}", because(why.as_ref()))
                }
                CancelReason::Dependency(_)
                | CancelReason::Halted(_)
                | CancelReason::Beside(_)
                | CancelReason::Declined(_)
                | CancelReason::Interrupted => format!("Cancelled: {reason}"),
            },
        };
        match printed {
            Some(printed) => format!("{ended}\n{printed}"),
            None => ended,
        }
    }

    /// What the call gave back, whole or in part.
    pub fn output(&self) -> Option<&Output> {
        match self {
            Self::Success(output) => Some(output),
            Self::Error(CallError::Failed { output, .. } | CallError::TimedOut { output, .. }) => {
                Some(output)
            }
            Self::Cancelled { output, .. } => output.as_deref(),
            Self::Error(
                CallError::Invalid(_)
                | CallError::Unknown(_)
                | CallError::Forgotten(_)
                | CallError::Circle(_)
                | CallError::Denied(_)
                | CallError::NobodyToAsk(_)
                | CallError::Panicked(_),
            ) => None,
        }
    }
}

impl State {
    /// Where every call begins.
    pub const NEW: Self = Self::Live(Live::Validating { version: ArgumentsVersion(0) });

    /// How the call ended, if it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Done(outcome) => Some(outcome),
            Self::Live(_) => None,
        }
    }

    /// The state's name, as it is shown.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Live(live) => live.name(),
            Self::Done(outcome) => match **outcome {
                Outcome::Success(_) => "success",
                Outcome::Error(_) => "error",
                Outcome::Cancelled { .. } => "cancelled",
            },
        }
    }
}

impl From<Outcome> for State {
    fn from(outcome: Outcome) -> Self {
        Self::Done(Arc::new(outcome))
    }
}
