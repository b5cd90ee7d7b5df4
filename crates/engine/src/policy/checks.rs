//! Whether a check may run: who wrote it, and what the policy rules say.
//!
//! For policy, a check is a call of the tool `verify`. A person's own check runs unless a rule
//! forbids it. An agent's check needs a rule of the user that allows it, and the person's consent
//! for the project ([`super::consent`]). Front ends ask for what [`Permission`] requires.

use std::path::Path;

use punchlist_formats::text;
use punchlist_formats::view::Reader;
use punchlist_model::{Check, Item, ItemRef, Number, Origin, Slice};
use punchlist_sched::policy::{Policy, Subject, Verdict};

use super::human::CalledBy;
use super::shell;
use crate::fail::{ASK_USER, Fail};
use crate::project;

/// The tool's name in policy rules.
const TOOL: &str = "verify";

/// What must happen before a check runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Permission {
    /// The check may run.
    Granted,
    /// A person must have consented to checks that agents write in the project.
    NeedsConsent,
    /// A rule asks: a person must confirm this check. The text is the rule.
    NeedsYes(String),
}

/// What must happen before a check runs. The error says why it may not run.
pub fn permission(
    policy: &Policy,
    item: &Item,
    check: &Check,
    called_by: CalledBy,
) -> Result<Permission, Fail> {
    let (number, subject) = (item.number, subject(check, Some("")));
    let fail = match (policy.verdict(&subject), check.origin) {
        (Verdict::Allow, Origin::Person) => return Ok(Permission::Granted),
        (Verdict::Allow, Origin::Agent) => return Ok(Permission::NeedsConsent),
        (Verdict::Ask(Some(rule)), Origin::Person) => {
            return Ok(Permission::NeedsYes(rule.told()));
        }
        (Verdict::Deny(rule), _) => {
            Fail::refused(format!("a rule denies the check of item {number}: {}", rule.told()))
                .hint("it is in your config.toml or in the project's punchlist.toml.")
        }
        (Verdict::Ask(_), Origin::Agent | Origin::Person) => {
            not_allowed(number, policy, &subject, called_by)
        }
    };
    Err(Fail { items: vec![number], ..fail })
}

/// Refuses an agent that changes a check which a person wrote.
pub fn may_change(plan: &Slice, item: &ItemRef, called_by: CalledBy) -> Result<(), Fail> {
    let item = plan.find(item).ok().flatten().and_then(|number| plan.get(number));
    let check = item.and_then(|it| it.check.as_ref());
    if check.is_none_or(|it| it.origin == Origin::Agent) {
        return Ok(());
    }
    called_by.not_an_agent("the checks that people wrote are changed")
}

/// The error for a check that a rule asks about, if there is no terminal.
pub fn nobody_to_ask(number: Number, rule: &str) -> Fail {
    let fail = Fail::refused(format!(
        "a rule asks before the check of item {number}, and there is no terminal: {rule}"
    ))
    .hint("run `punchlist verify` at a terminal.");
    Fail { items: vec![number], agent_hint: Some(ASK_USER.into()), ..fail }
}

/// A check as one line, for the person who is asked.
pub fn line(item: &Item, check: &Check) -> String {
    let (title, command) = (text::one_line(&item.title), text::one_line(&check.command));
    format!("{}  {title}: {command}", item.number)
}

/// The call that policy decides about. A person's check is harmless. `below` is the directory,
/// relative to the project's root; `None` if it is outside.
pub fn subject(check: &Check, below: Option<&str>) -> Subject {
    let harmless = check.origin == Origin::Person;
    Subject { harmless, ..shell::subject_below(TOOL, &check.command, below) }
}

/// A directory relative to the root of its checkout. Policy rules name programs from there.
pub fn below(directory: &Path) -> Option<String> {
    let has_git = |it: &&Path| it.join(".git").exists();
    let root = match directory.ancestors().find(has_git) {
        Some(root) => root.to_owned(),
        None => project::find(directory).ok()?.root,
    };
    Some(directory.strip_prefix(root).ok()?.to_str()?.to_owned())
}

/// Why a run does not run a check without asking; `None` if it runs the check, or if a rule decides
/// about it.
pub fn held(
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

/// The error for an agent's check that no rule allows. An agent is told to ask its user; a person
/// gets the rule to add.
fn not_allowed(number: Number, policy: &Policy, subject: &Subject, called_by: CalledBy) -> Fail {
    if called_by.is_agent() {
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
