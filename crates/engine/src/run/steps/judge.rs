//! What policy says about the command and the check of an item.

use punchlist_model::Item;
use punchlist_sched::policy::{Policy, Subject, Verdict};

use super::{AGENT, BY_HAND, Job, SHELL};
use crate::policy::{checks, shell};
use crate::run::schedule::Task;

/// The rules that apply in a directory.
#[derive(Clone)]
pub(crate) struct Judge {
    /// The policy at the start of the run.
    pub(crate) policy: Policy,
    /// The directory relative to the project's root; `None` if it is outside.
    pub(crate) below: Option<String>,
}

impl Judge {
    /// The call of an item's command and check.
    pub(crate) fn shell(&self, job: &Job, line: Option<&str>) -> Subject {
        let done = line.map(|line| Subject {
            // A person named the file, so the command needs no rule.
            harmless: !job.asks,
            ..shell::subject_below(SHELL, line, self.below.as_deref())
        });
        self.strictest(job, done)
    }

    /// The call of an agent that does an item, and of the item's check.
    pub(crate) fn agent(&self, job: &Job, agent: &str) -> Subject {
        let subject = Subject {
            tool: AGENT.to_owned(),
            harmless: !job.asks,
            arguments: vec![("agent".to_owned(), agent.to_owned())],
            ..Subject::default()
        };
        self.strictest(job, Some(subject))
    }

    /// The call of a step that a person does. No rule can say that a person has done it.
    pub(crate) fn by_hand() -> Subject {
        Subject { tool: BY_HAND.to_owned(), always_asks: true, ..Subject::default() }
    }

    /// What the rules say about an item, apart from the approval that the plan asks for.
    pub(crate) fn verdict(&self, job: &Job, task: &Task, item: &Item) -> Verdict {
        let subject = match task {
            Task::Step => self.shell(job, item.run.as_ref().map(|it| it.command.as_str())),
            Task::Agent(agent) => self.agent(job, agent),
            Task::ByHand => Self::by_hand(),
        };
        self.policy.verdict(&Subject { always_asks: false, ..subject })
    }

    /// The item's command or its check, whichever is judged more strictly.
    fn strictest(&self, job: &Job, done: Option<Subject>) -> Subject {
        let check = job.check.as_ref().map(|it| checks::subject(it, self.below.as_deref()));
        // If there is only the check, a person is asked about the check.
        let asks = job.is_foreign || job.asks && done.is_none();
        let check = check.map(|it| Subject { harmless: it.harmless && !asks, ..it });
        let strictness = |subject: &Subject| match self.policy.verdict(subject) {
            Verdict::Allow => 0,
            Verdict::Ask(None) => 1,
            Verdict::Ask(Some(_)) => 2,
            Verdict::Deny(_) => 3,
        };
        let subject = check.into_iter().chain(done).max_by_key(strictness).unwrap_or_default();
        Subject { always_asks: job.approve, ..subject }
    }
}
