//! The input of a run: options, caller, permissions and environment.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use punchlist_formats::view::Reader;
use punchlist_model::session::Store;
use punchlist_model::{Ctx, Process};
use punchlist_sched::policy::Policy;
use punchlist_sched::process;

use crate::around::Around;

/// Options of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many items run at once.
    pub jobs: NonZeroU32,
    /// Which items to run.
    pub choice: Choice,
    /// What to take over from earlier runs.
    pub earlier: Earlier,
    /// What to do when an item fails.
    pub on_failure: OnFailure,
    /// Whether all approvals are given beforehand.
    pub yes: bool,
    /// Whether questions wait for answers from elsewhere.
    pub wait: bool,
    /// Whether the state of the items is written into the file's boxes at the end.
    pub write_back: bool,
}

impl Default for Options {
    /// All items, one at a time, until one fails. A person is asked, and the boxes of the file are
    /// ticked.
    fn default() -> Self {
        Self {
            jobs: NonZeroU32::MIN,
            choice: Choice::All,
            earlier: Earlier::default(),
            on_failure: OnFailure::Stop,
            yes: false,
            wait: false,
            write_back: true,
        }
    }
}

/// Which items to run, by their titles or numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Choice {
    /// All items.
    #[default]
    All,
    /// These items and their sub-items.
    Only(Vec<String>),
    /// This item and all that come after it in the list.
    From(String),
}

/// What to take over from earlier runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Earlier {
    /// Take over nothing: the plan starts over.
    pub fresh: bool,
    /// Run interrupted items again.
    pub retry_interrupted: bool,
    /// The previous path of the file, if it was moved.
    pub moved_from: Option<PathBuf>,
}

/// What to do when an item fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnFailure {
    /// Start no further items.
    Stop,
    /// Continue with items that do not depend on it.
    Skip,
    /// Retry it this many times, then start no further items.
    Retry(u32),
}

impl FromStr for OnFailure {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "stop" => Ok(Self::Stop),
            "skip" => Ok(Self::Skip),
            _ => text
                .strip_prefix("retry:")
                .and_then(|it| it.parse().ok())
                .map(Self::Retry)
                .ok_or_else(|| "it is `stop`, `skip` or `retry:N`".to_owned()),
        }
    }
}

/// Who calls the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Person {
    /// Whether a person can be asked.
    pub is_there: bool,
    /// Whether an agent calls. Then what it names does not count as named by a person.
    pub is_agent: bool,
}

impl Person {
    /// Who reads the output.
    pub fn reader(self) -> Reader {
        if self.is_agent { Reader::Agent } else { Reader::Person }
    }
}

/// Who calls, and from where.
#[derive(Clone)]
pub struct Caller {
    /// The actor and the limits for changes of the plan.
    pub ctx: Ctx,
    /// The process that holds the items in progress.
    pub process: Option<Process>,
    /// The project of a new plan.
    pub project: String,
    /// Who is at the keyboard.
    pub person: Person,
    /// Clock, random numbers, and which processes have ended.
    pub around: Arc<dyn Around>,
}

/// The environment of a run.
#[derive(Clone)]
pub struct Surroundings {
    /// The store of plans and calls.
    pub store: Arc<dyn Store>,
    /// Who calls.
    pub caller: Caller,
    /// The user's data directory: locks are in `runs`, outputs in `output`.
    pub data: PathBuf,
    /// The file that gets a rule when a person answers "always".
    pub rules_file: PathBuf,
    /// The environment variables of commands and agents.
    pub environment: Vec<(OsString, OsString)>,
    /// How processes are started and ended.
    pub processes: process::Options,
}

impl Surroundings {
    /// The directory with the outputs of calls, one directory per run.
    pub(crate) fn outputs(&self) -> PathBuf {
        self.data.join("output")
    }
}

/// The permissions of a run.
#[derive(Clone)]
pub struct Permissions {
    /// The policy rules for the directory of the file.
    pub steps: Policy,
    /// The policy rules for checks, of the project that the call was made in.
    pub checks: Policy,
    /// Whether a person has consented to checks that agents wrote in that project.
    pub is_consent_given: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_after_a_failure_is_spelt_in_three_ways() {
        let parse = |text: &str| text.parse::<OnFailure>();
        assert_eq!(parse("stop"), Ok(OnFailure::Stop));
        assert_eq!(parse("skip"), Ok(OnFailure::Skip));
        assert_eq!(parse("retry:3"), Ok(OnFailure::Retry(3)));
        for bad in ["", "retry", "retry:", "retry:-1", "retry:x", "Stop"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
