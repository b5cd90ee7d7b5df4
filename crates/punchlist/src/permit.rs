//! Whether a check may be run: whose command it is, and what the rules say of it.
//!
//! To policy a check is a call of the tool `verify`. A person's own runs unless a rule says otherwise;
//! an agent's needs a rule of the user's that allows it, and the person's word for the project.

use std::path::Path;

use punchlist_engine::policy::shell;
use punchlist_formats::text;
use punchlist_formats::view::Reader;
use punchlist_model::{Check, Item, Origin};
use punchlist_sched::policy::{Policy, Subject, Verdict};

use crate::app::App;
use crate::error::{Code, Fail};
use crate::print::{self, Said};
use crate::{consent, person, project};

/// The tool that rules name.
const TOOL: &str = "verify";

/// Lets a check run, or says why not. May ask at the terminal.
pub(crate) fn check(app: &App, item: &Item, check: &Check) -> Result<(), Fail> {
    let (policy, subject) = (app.policy()?, subject(check, Some("")));
    let (number, title) = (item.number, text::one_line(&item.title));
    let about = format!("{number}  {title}: {}", text::one_line(&check.command));
    let mut fail = match (policy.verdict(&subject), check.origin) {
        (Verdict::Allow, Origin::Person) => return Ok(()),
        (Verdict::Allow, Origin::Agent) => return consent::ask(app, Some(&about)),
        (Verdict::Deny(rule), _) => {
            Fail::refused(format!("a rule denies the check of item {number}: {}", rule.told()))
                .hint("it stands in your config.toml or in the project's punchlist.toml.")
        }
        (Verdict::Ask(Some(rule)), Origin::Person) => {
            match print::confirm(&format!("Run {about}?")) {
                Said::Yes => return Ok(()),
                Said::No => Fail::new(Code::Interrupted, "no check was run"),
                Said::Nothing => Fail::refused(format!(
                    "a rule asks before the check of item {number}, and there is no terminal: {}",
                    rule.told()
                ))
                .hint(if person::is_agent() {
                    person::ASK_USER
                } else {
                    "run `punchlist verify` at a terminal."
                }),
            }
        }
        (Verdict::Ask(_), Origin::Agent | Origin::Person) => not_allowed(number, &policy, &subject),
    };
    fail.items.push(number);
    Err(fail)
}

/// What policy looks at: a person's check is harmless to it. It runs in a directory of the project, named
/// from its root, or outside of it.
pub(crate) fn subject(check: &Check, below: Option<&str>) -> Subject {
    let harmless = check.origin == Origin::Person;
    Subject { harmless, ..shell::subject_below(TOOL, &check.command, below) }
}

/// Where a directory is in its project, from the root of the checkout that it is in: rules name
/// programs from there.
pub(crate) fn below(directory: &Path) -> Option<String> {
    let has_git = |it: &&Path| it.join(".git").exists();
    let root = match directory.ancestors().find(has_git) {
        Some(root) => root.to_owned(),
        None => project::find(directory).ok()?.root,
    };
    Some(directory.strip_prefix(root).ok()?.to_str()?.to_owned())
}

/// Why a check does not run in a run, where nobody is asked about it; nothing, if it does or if a rule
/// says by itself what becomes of it.
pub(crate) fn held(
    policy: &Policy,
    check: &Check,
    is_given: bool,
    reader: Reader,
) -> Option<&'static str> {
    match (check.origin, policy.verdict(&subject(check, Some("")))) {
        (Origin::Person, _) | (Origin::Agent, Verdict::Deny(_)) => None,
        (Origin::Agent, Verdict::Allow) if is_given => None,
        (Origin::Agent, Verdict::Allow) => Some(match reader {
            Reader::Person => {
                "an agent wrote its check (punchlist verify --consent lets those run)"
            }
            Reader::Agent => "an agent wrote its check, and the user has not allowed those here",
        }),
        (Origin::Agent, Verdict::Ask(_)) => Some(match reader {
            Reader::Person => {
                "an agent wrote its check, and no rule allows it (punchlist verify names one)"
            }
            Reader::Agent => "an agent wrote its check, and no rule allows it (ask your user)",
        }),
    }
}

/// An agent is told to ask its user; the rule to add is for people.
fn not_allowed(number: punchlist_model::Number, policy: &Policy, subject: &Subject) -> Fail {
    if person::is_agent() {
        return Fail::refused(format!(
            "an agent wrote the check of item {number}, and no rule of the user's allows it"
        ))
        .hint("ask your user to look at the check and to run it.");
    }
    let rules: String = policy.lacking(subject).iter().map(|rule| rule.to_toml()).collect();
    Fail::refused(format!(
        "an agent wrote the check of item {number}, and no rule of yours allows it"
    ))
    .details(rules.lines().map(str::to_owned).collect())
    .hint("put that into your config.toml if it may run, or write the check yourself: `punchlist edit`.")
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
        let is_held = |decision, origin, given| {
            let said = [Reader::Person, Reader::Agent]
                .map(|it| held(&rules(decision), &check(origin), given, it));
            assert!(!said[1].is_some_and(|it| it.contains("punchlist verify")), "{said:?}");
            said[0].is_some()
        };
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
