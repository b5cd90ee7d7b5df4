//! What a run is told: what is wanted, who wants it, what is allowed, and what it finds around it.

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

/// What is wanted of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many items run at once.
    pub jobs: NonZeroU32,
    /// Which items are meant.
    pub choice: Choice,
    /// What counts of earlier runs.
    pub earlier: Earlier,
    /// What happens when an item fails.
    pub on_failure: OnFailure,
    /// Every approval is given beforehand.
    pub yes: bool,
    /// Questions wait for answers that are given elsewhere.
    pub wait: bool,
    /// The state of the items is written into the file's boxes at the end.
    pub write_back: bool,
}

impl Default for Options {
    /// All items, one at a time, until one fails; a person is asked, and the boxes of the file are ticked.
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

/// Which items are meant, by their titles or numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Choice {
    /// All of them.
    #[default]
    All,
    /// These, and what is under them.
    Only(Vec<String>),
    /// This one, and all that stand below it.
    From(String),
}

/// What counts of earlier runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Earlier {
    /// Nothing: the plan starts over.
    pub fresh: bool,
    /// Items that were under way when an earlier run was ended are run again.
    pub retry_interrupted: bool,
    /// Where the file was, if it was moved.
    pub moved_from: Option<PathBuf>,
}

/// What happens when an item fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnFailure {
    /// Nothing new begins.
    Stop,
    /// What does not need it goes on.
    Skip,
    /// It is tried so many times more; then nothing new begins.
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

/// Who is at the keyboard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Person {
    /// Somebody can be asked.
    pub is_there: bool,
    /// An agent calls: what it names, no person has named.
    pub is_agent: bool,
}

impl Person {
    /// Who reads what is printed.
    pub fn reader(self) -> Reader {
        if self.is_agent { Reader::Agent } else { Reader::Person }
    }
}

/// Who calls, and from where.
#[derive(Clone)]
pub struct Caller {
    /// In whose name the plan is changed, and with which limits.
    pub ctx: Ctx,
    /// The process that holds what the run has begun.
    pub process: Option<Process>,
    /// The project that a new plan belongs to.
    pub project: String,
    /// Who is at the keyboard.
    pub person: Person,
    /// Clock, random numbers, and which processes have ended.
    pub around: Arc<dyn Around>,
}

/// What a run finds around it.
#[derive(Clone)]
pub struct Surroundings {
    /// Where plans and calls are kept.
    pub store: Arc<dyn Store>,
    /// Who calls.
    pub caller: Caller,
    /// The user's data directory: locks are in `runs`, whole outputs in `output`.
    pub data: PathBuf,
    /// The file that gets a rule when somebody answers "always".
    pub rules_file: PathBuf,
    /// The environment of commands and agents.
    pub environment: Vec<(OsString, OsString)>,
    /// How processes are started and ended.
    pub processes: process::Options,
}

impl Surroundings {
    /// The directory with whole outputs of calls, a directory a run.
    pub(crate) fn outputs(&self) -> PathBuf {
        self.data.join("output")
    }
}

/// What is allowed.
#[derive(Clone)]
pub struct Permissions {
    /// The rules for the directory of the file.
    pub steps: Policy,
    /// The rules for checks, of the project that the call is made in.
    pub checks: Policy,
    /// A person lets checks run that agents wrote in that project.
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
