//! Whether a check may be run: whose command it is, and what the rules say of it.
//!
//! To policy a check is a call of the tool `verify`. A person's own check runs unless a rule says otherwise;
//! an agent's check needs a rule of the user's that allows it, and the person's consent for the project.

use std::path::Path;

use punchlist_model::{Check, Origin};
use punchlist_sched::policy::{Policy, Subject, Verdict};

use super::shell;
use crate::project;

/// The tool that rules name.
const TOOL: &str = "verify";

/// What policy looks at: a person's check is harmless to it. It runs in a directory of the project, named
/// from its root, or outside of it.
pub fn subject(check: &Check, below: Option<&str>) -> Subject {
    let harmless = check.origin == Origin::Person;
    Subject { harmless, ..shell::subject_below(TOOL, &check.command, below) }
}

/// Where a directory is in its project, from the root of the checkout that it is in: rules name
/// programs from there.
pub fn below(directory: &Path) -> Option<String> {
    let has_git = |it: &&Path| it.join(".git").exists();
    let root = match directory.ancestors().find(has_git) {
        Some(root) => root.to_owned(),
        None => project::find(directory).ok()?.root,
    };
    Some(directory.strip_prefix(root).ok()?.to_str()?.to_owned())
}

/// Why a check does not run in a run, where nobody is asked about it; nothing, if it does or if a rule
/// says by itself what becomes of it.
pub fn held(policy: &Policy, check: &Check, is_given: bool) -> Option<&'static str> {
    match (check.origin, policy.verdict(&subject(check, Some("")))) {
        (Origin::Person, _) | (Origin::Agent, Verdict::Deny(_)) => None,
        (Origin::Agent, Verdict::Allow) => {
            let words = "an agent wrote its check (punchlist verify --consent lets those run)";
            (!is_given).then_some(words)
        }
        (Origin::Agent, Verdict::Ask(_)) => {
            Some("an agent wrote its check, and no rule allows it (punchlist verify names one)")
        }
    }
}

#[cfg(test)]
mod tests {
    use punchlist_sched::policy::{Decision, Rule};

    use super::*;

    fn verdict(rules: Vec<Rule>, origin: Origin) -> Verdict {
        let check = Check { command: "make test".to_owned(), covers: Vec::new(), origin };
        Policy::new(rules, Vec::new()).verdict(&subject(&check, Some("")))
    }

    #[test]
    fn in_a_run_an_agents_check_needs_a_rule_and_the_persons_word() {
        let check = |origin| Check { command: "make test".to_owned(), covers: Vec::new(), origin };
        let rules = |decision: Option<Decision>| {
            let rule = decision.map(|it| Rule::command(it, TOOL, &["make", "test"]));
            Policy::new(rule.into_iter().collect(), Vec::new())
        };
        let is_held =
            |decision, origin, given| held(&rules(decision), &check(origin), given).is_some();
        assert!(!is_held(None, Origin::Person, false));
        for given in [false, true] {
            assert!(is_held(None, Origin::Agent, given));
            assert!(is_held(Some(Decision::Ask), Origin::Agent, given));
            assert!(
                !is_held(Some(Decision::Deny), Origin::Agent, given),
                "the rule says so itself"
            );
            assert_eq!(is_held(Some(Decision::Allow), Origin::Agent, given), !given);
        }
    }

    #[test]
    fn a_persons_check_needs_no_rule_and_an_agents_does() {
        let rule = |decision| Rule::command(decision, TOOL, &["make", "test"]);
        assert_eq!(verdict(Vec::new(), Origin::Person), Verdict::Allow);
        assert_eq!(verdict(Vec::new(), Origin::Agent), Verdict::Ask(None));
        assert_eq!(verdict(vec![rule(Decision::Allow)], Origin::Agent), Verdict::Allow);
        assert!(matches!(verdict(vec![rule(Decision::Deny)], Origin::Person), Verdict::Deny(_)));
        assert!(matches!(
            verdict(vec![rule(Decision::Ask)], Origin::Person),
            Verdict::Ask(Some(_))
        ));
    }
}
