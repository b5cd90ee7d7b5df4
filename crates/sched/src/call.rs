//! One call: its request, its state and its outcome.
//!
//! A call has a header, which only a modification of the arguments changes, and a state. A final
//! state is a type of its own, so that it cannot change any more. [`Live::step`] is the only
//! function that changes the state; it knows no other calls.
//! `call/snapshots/every_state_meets_every_step.snap` shows all transitions.

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

/// The id of a call. Ids count up in the order in which calls are scheduled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CallId(pub u32);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}", self.0)
    }
}

/// The id of a batch: calls that were scheduled together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct BatchId(pub u32);

/// The version of a call's arguments. A person may change them while an older version is being
/// validated.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct ArgumentsVersion(pub u32);

/// The kind of a call, for limits. Kinds without a limit are [`Kind::OTHER`].
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Kind(pub u16);

impl Kind {
    /// Any kind without a limit of its own.
    pub const OTHER: Self = Self(0);
}

/// The request for a call.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Request {
    /// The tool's name.
    pub tool: String,
    /// The tool's arguments.
    pub arguments: Value,
    /// A name that the caller gave the call, to recognise it in the ledger and in the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The calls that must succeed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<CallId>,
    /// If several calls could run, the one with the higher priority runs first.
    #[serde(default)]
    pub priority: i32,
    /// The timeout of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether a failed attempt is retried.
    #[serde(default)]
    pub retry: Retry,
    /// Whether no further call of the run starts if this one fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vital: bool,
}

/// How often a call may be retried. By setting it, the caller declares that a second attempt does
/// no harm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Retry {
    /// The number of retries after the first attempt.
    pub times: u32,
    /// The delay before the first retry; it doubles with each further one.
    pub wait_ms: u64,
}

impl Retry {
    /// The maximum delay between two attempts.
    const LONGEST_MS: u64 = 5 * 60_000;

    /// The delay after an attempt; `None` if it was the last.
    pub fn wait_after(self, attempt: Attempt) -> Option<u64> {
        let again = attempt.0 <= self.times;
        let doubled = 1_u64.checked_shl(attempt.0.saturating_sub(1)).unwrap_or(u64::MAX);
        again.then(|| self.wait_ms.saturating_mul(doubled).min(Self::LONGEST_MS))
    }
}

/// The result of validating a call.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Checked {
    /// What the call reads and writes.
    pub access: Access,
    /// The kind of the call, for limits.
    pub kind: Kind,
    /// What policy rules are matched against.
    pub subject: Subject,
}

/// A call: its header and its state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Call {
    /// The call's id.
    pub id: CallId,
    /// The batch that it belongs to.
    pub batch: BatchId,
    /// The request.
    pub request: Request,
    /// The state.
    pub state: State,
}

/// The state of a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum State {
    /// The call has not ended.
    Live(Live),
    /// The call has ended. The outcome is shared by the machine, the ledger and all subscribers,
    /// because its output may be long.
    Done(Arc<Outcome>),
}

/// The states of a call that has not ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Live {
    /// The tool and the arguments are being validated.
    Validating {
        /// The version of the arguments.
        version: ArgumentsVersion,
    },
    /// The call waits for other calls, for a free place, or for the next attempt.
    Scheduled {
        /// The number of attempts so far.
        tried: Attempt,
        /// Whether a rule or a person has allowed the call.
        allowed: bool,
        /// When the call may be retried, after a failed attempt.
        again_at: Option<Timestamp>,
        /// The output of the failed attempt, in case there is no other attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Box<Output>>,
    },
    /// The call waits for a person's answer.
    AwaitingApproval {
        /// The question.
        question: QuestionId,
    },
    /// The call runs.
    Executing {
        /// The number of the attempt.
        attempt: Attempt,
        /// When the attempt started.
        started_at: Timestamp,
        /// Why the call is being stopped, if it is. Until it has ended, it may still write.
        stopping: Option<Box<StopReason>>,
    },
}

/// Why a running call is stopped.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StopReason {
    /// The call was cancelled.
    Cancelled(CancelReason),
    /// The attempt exceeded its timeout.
    TimedOut,
}

/// The outcome of a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The call succeeded.
    Success(Output),
    /// The call failed.
    Error(CallError),
    /// The call was cancelled before it ended, or before it started.
    Cancelled {
        /// The reason.
        reason: CancelReason,
        /// The output so far; `None` if the call did not start or printed nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Box<Output>>,
    },
}

/// The output of a call.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Output {
    /// The text for the caller, possibly shortened.
    pub text: String,
    /// The path of the whole output, if the text was shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// Data for programs. Models do not see it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl Output {
    /// An output with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Adds data to the output.
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
    /// The tool does not exist, or its arguments are invalid.
    #[error("{0}")]
    Invalid(String),
    /// The call depends on a call that does not exist.
    #[error("it depends on {0}, which does not exist")]
    Unknown(CallId),
    /// The call depends on a call whose batch has ended and was dropped by its caller.
    #[error("it depends on {0}, whose batch has ended and was dropped")]
    Forgotten(CallId),
    /// The call depends on itself, through others.
    #[error("it depends on itself: {}", circle(.0))]
    Circle(Vec<CallId>),
    /// A policy rule denies the call.
    #[error("denied by policy: {0}")]
    Denied(String),
    /// A person would have to be asked, but nobody can be.
    #[error("nobody can be asked; {0}")]
    NobodyToAsk(String),
    /// The call ran and failed.
    #[error("{what}")]
    Failed {
        /// The error message.
        what: String,
        /// The output so far.
        output: Box<Output>,
    },
    /// The call exceeded its timeout.
    #[error("timed out after {}", span(*after_ms))]
    TimedOut {
        /// The timeout.
        after_ms: u64,
        /// The output so far.
        output: Box<Output>,
    },
    /// The tool panicked. That is a bug in the tool, not an error in the call.
    #[error("the tool panicked: {0}")]
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
    /// A person was asked and refused.
    #[error("refused{}", because(.0.as_ref()))]
    Refused(Option<String>),
    /// The caller cancelled the call.
    #[error("cancelled{}", because(.0.as_ref()))]
    Asked(Option<String>),
    /// A dependency did not succeed.
    #[error("its dependency {0} did not succeed")]
    Dependency(CallId),
    /// The call had not started when this vital call failed.
    #[error("not started, because {0} failed")]
    Halted(CallId),
    /// The call had not started when a person refused this one without a reason.
    #[error("not started, because {0} was refused")]
    Beside(CallId),
    /// The tool found that the call is not to be executed.
    #[error("{0}")]
    Declined(String),
    /// The program ended while the call ran. Its effects are unknown.
    #[error("interrupted: the program ended while it ran")]
    Interrupted,
}

fn because(reason: Option<&String>) -> String {
    reason.map(|it| format!(": {it}")).unwrap_or_default()
}

/// How an attempt ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ended {
    /// The attempt succeeded.
    Well(Output),
    /// The attempt failed, or was stopped.
    Badly {
        /// The error message.
        what: String,
        /// The output so far.
        output: Output,
    },
    /// The call is not to be executed, with the reason.
    Declined(String),
    /// The tool panicked.
    Panicked(String),
}

/// An input of a call's state machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// The tool and the arguments are valid.
    Valid {
        /// Whether a rule allows the call.
        allowed: bool,
    },
    /// The call is invalid, or a rule denies it.
    Invalid(CallError),
    /// A person is asked.
    Ask(QuestionId),
    /// A person or a new rule allows the call.
    Allow,
    /// The arguments must be validated again, because a person changed them or the files they refer
    /// to have changed.
    Modify(ArgumentsVersion),
    /// An attempt starts.
    Start(Timestamp),
    /// The attempt ended.
    End {
        /// How the attempt ended.
        how: Ended,
        /// The timeout of the attempt.
        timeout_ms: u64,
        /// When to retry, if the attempt failed by itself and retries are left.
        again_at: Option<Timestamp>,
    },
    /// The call is cancelled, or exceeded its timeout.
    Stop(StopReason),
}

/// A step that is not allowed in the present state: a bug.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a call that is {state} cannot {step}")]
pub struct IllegalStep {
    /// The state's name.
    pub state: &'static str,
    /// The step's name.
    pub step: &'static str,
}

impl Live {
    /// Applies a step. Consumes the state, so that nobody keeps the old one.
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
                    // The first reason counts, but a cancelled call is not retried after a timeout.
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

    /// The state's name, as shown.
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
        // The call succeeded before it could be stopped, so it counts as a success.
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
    /// A cancelled call, with its output so far.
    pub fn cancelled(reason: CancelReason, output: Output) -> Self {
        let output = (output != Output::default()).then(|| Box::new(output));
        Self::Cancelled { reason, output }
    }

    /// Whether the call succeeded.
    pub fn is_success(&self) -> bool {
        match self {
            Self::Success(_) => true,
            Self::Error(_) | Self::Cancelled { .. } => false,
        }
    }

    /// The outcome as text for the model that made the call: how it ended, and its output.
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

    /// The output, whole or so far.
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
    /// The first state of every call.
    pub const NEW: Self = Self::Live(Live::Validating { version: ArgumentsVersion(0) });

    /// The outcome, if the call has ended.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Done(outcome) => Some(outcome),
            Self::Live(_) => None,
        }
    }

    /// The state's name, as shown.
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
