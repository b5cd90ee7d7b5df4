//! What tests with real agents have shown, and the table of it.
//!
//! A test that runs a real agent declares what it shows ([`Feature`]). What passed is stored as
//! lines of text ([`Shown`]) in a file of the repository. The table of docs/agents.md is made from
//! that file and from [`LACKS`]. Nothing here runs a program or reads a file.

mod lacks;
mod table;

use std::fmt;

pub use lacks::{LACKS, Lack};
pub use table::table;

/// An agent that tests run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Agent {
    Claude,
    Codex,
    Gemini,
}

impl Agent {
    /// All agents, in the order of the table.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// The name in the file of results and in `punchlist install`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The agent's official name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }
}

/// Each feature: its name in code, its name in the file of results, and its title in the table.
macro_rules! features {
    ($($name:ident $key:literal $title:literal)+) => {
        /// A feature that tests show for an agent.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Feature {
            $(#[doc = $title] $name,)+
        }

        impl Feature {
            /// All features, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The name in the file of results.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $key,)+
                }
            }

            /// The title in the table.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)+
                }
            }
        }
    };
}

features! {
    PlanTools "plan-tools" "has the plan tools over MCP"
    Refusals "refusals" "the model reads the text of each refusal of a plan tool"
    OwnList "own-list" "its own list is recorded"
    Gate "gate" "a stop with open items is refused until they are settled"
    Bounds "bounds" "the gate lets it stop within its limits if the model"
    Question "question" "interactive: it may stop to ask you something"
    Unheard "unheard" "headless: a question to the user does not end the turn"
    PlanMode "plan-mode" "it may stop in plan mode"
    Screen "screen" "interactive: a stop is refused once per prompt"
    Off "off" "you can turn the gate off during a session, the agent cannot"
    Answers "answers" "the agent cannot answer a question that is put to you"
    Consents "consents" "the agent can neither give a consent of yours nor uninstall"
    Resume "resume" "after a resume it gets its open list"
    Compaction "compaction" "after a compaction it gets its open list"
    Sessions "sessions" "its session is recognised after"
    Adoption "adoption" "a new session is told about open items of an ended one, and gets them after `adopt`"
    Two "two" "two sessions at once have two plans"
    Shared "shared" "sessions can share a named plan without losing changes"
    SubAgents "sub-agents" "a sub-agent answers for its own items"
    Evidence "evidence" "it cannot complete an item whose check is required"
    Reminders "reminders" "it is reminded when it works and the list does not change"
    Broken "broken" "it keeps working if Punchlist is"
    Project "project" "can be installed for one project"
    Beside "beside" "your own rules and hooks stay in effect"
    Uninstall "uninstall" "`uninstall` keeps"
    Worker "worker" "works on an item of `punchlist run`, with its own list as sub-items"
    Watch "watch" "`punchlist watch` follows it"
    Events "events" "`punchlist events` reads"
}

/// A record that a test showed a feature of an agent.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Shown {
    /// The agent.
    pub agent: Agent,
    /// The agent's version.
    pub version: String,
    /// The feature.
    pub feature: Feature,
    /// In which way, in a few words for the table; empty if there is only one.
    pub how: String,
    /// The name of the test.
    pub test: String,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, version, feature, how, test } = self;
        let (agent, feature) = (agent.as_str(), feature.as_str());
        write!(f, "{agent}\t{version}\t{feature}\t{how}\t{test}")
    }
}

/// Reads a file of results.
///
/// # Errors
/// One entry per bad line.
pub fn read(text: &str) -> Result<Vec<Shown>, Vec<String>> {
    let mut found = Vec::new();
    let mut wrong = Vec::new();
    for (at, line) in (1..).zip(text.lines()) {
        match shown(line) {
            Some(it) => found.push(it),
            None => wrong.push(format!("line {at} is no result: {line:?}")),
        }
    }
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

fn shown(line: &str) -> Option<Shown> {
    let [agent, version, feature, how, test] = line.split('\t').collect::<Vec<_>>()[..] else {
        return None;
    };
    Some(Shown {
        agent: Agent::ALL.into_iter().find(|it| it.as_str() == agent)?,
        version: Some(version).filter(|it| !it.is_empty())?.to_owned(),
        feature: Feature::ALL.iter().copied().find(|it| it.as_str() == feature)?,
        how: how.to_owned(),
        test: Some(test).filter(|it| it.contains("::"))?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_result_is_read_as_it_was_written() {
        for feature in Feature::ALL.iter().copied() {
            for agent in Agent::ALL {
                let (version, how) = ("1.2.3".to_owned(), "`x`".to_owned());
                let it = Shown { agent, version, feature, how, test: "a::b".to_owned() };
                assert_eq!(read(&format!("{it}\n")), Ok(vec![it]));
            }
        }
        let keys: BTreeSet<&str> = Feature::ALL.iter().map(|it| it.as_str()).collect();
        assert_eq!(keys.len(), Feature::ALL.len());
    }

    #[test]
    fn a_line_that_is_no_result_is_named() {
        for line in [
            "",
            "claude",
            "claude\t1\tgate\t",
            "moon\t1\tgate\t\ta::b",
            "claude\t\tgate\t\ta::b",
            "claude\t1\tflight\t\ta::b",
            "claude\t1\tgate\t\tmain",
            "claude\t1\tgate\t\ta::b\tmore",
        ] {
            let wrong = read(&format!("claude\t1\tgate\t\ta::b\n{line}\n")).unwrap_err();
            assert_eq!(wrong, [format!("line 2 is no result: {line:?}")]);
        }
    }
}
