//! Notes what a test shows of an agent, if it passes. The table of docs/agents.md is made from these notes.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::thread;

use punchlist_testkit::features::{Agent, Feature, Shown};

/// Names the file that notes go to; without it there are none.
const RESULTS: &str = "PUNCHLIST_TEST_RESULTS";

/// What a test is going to show.
#[must_use = "it is noted when this goes out of scope"]
pub(crate) struct Shows {
    agent: Agent,
    feature: Feature,
    how: &'static str,
}

/// Says that this test shows a feature of an agent, in a way that the table is to name; empty where
/// there is but one.
pub(crate) fn shows(agent: Agent, feature: Feature, how: &'static str) -> Shows {
    Shows { agent, feature, how }
}

impl Drop for Shows {
    fn drop(&mut self) {
        // A test that failed has shown nothing.
        let Some(file) = std::env::var_os(RESULTS).filter(|_| !thread::panicking()) else { return };
        let variable = format!("PUNCHLIST_TEST_{}_VERSION", self.agent.as_str().to_uppercase());
        let version = std::env::var(variable).expect("the version is named beside the file");
        // The harness gives each test a thread that is called like it, unless they run one by one.
        let test = thread::current().name().unwrap_or_default().to_owned();
        let shown = Shown {
            agent: self.agent,
            version,
            feature: self.feature,
            how: self.how.to_owned(),
            test,
        };
        let line = format!("{shown}\n");
        // One write a line, so that tests side by side do not write into each other's.
        let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}
