//! Records which feature of an agent a passed test has shown. The table of docs/agents.md is made
//! from these records.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::thread;

use punchlist_testkit::features::{Agent, Feature, Shown};

/// The environment variable with the file for the records; without it there are none.
const RESULTS: &str = "PUNCHLIST_TEST_RESULTS";

/// What a test is going to show.
#[must_use = "it is noted when this goes out of scope"]
pub(crate) struct Shows {
    agent: Agent,
    feature: Feature,
    how: &'static str,
}

/// Says that this test shows a feature of an agent; `how` is the way that the table names, empty if
/// there is only one.
pub(crate) fn shows(agent: Agent, feature: Feature, how: &'static str) -> Shows {
    Shows { agent, feature, how }
}

impl Drop for Shows {
    fn drop(&mut self) {
        // A failed test has shown nothing.
        let Some(file) = std::env::var_os(RESULTS).filter(|_| !thread::panicking()) else { return };
        let variable = format!("PUNCHLIST_TEST_{}_VERSION", self.agent.as_str().to_uppercase());
        let version = std::env::var(variable).expect("the version is named beside the file");
        // The harness names each thread after its test, unless tests run one by one.
        let test = thread::current().name().unwrap_or_default().to_owned();
        let shown = Shown {
            agent: self.agent,
            version,
            feature: self.feature,
            how: self.how.to_owned(),
            test,
        };
        let line = format!("{shown}\n");
        // One write per line, so that parallel tests do not mix their lines.
        let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}
