//! Whether a check may be run: whose command it is, and what the rules say of it.
//!
//! To policy a check is a call of the tool `verify`. A person's own runs unless a rule says otherwise;
//! an agent's needs a rule of the user's that allows it, and the person's word for the project.

use punchlist_engine::policy::checks::subject;
use punchlist_formats::text;
use punchlist_model::{Check, Item, Origin};
use punchlist_sched::policy::{Policy, Subject, Verdict};

use crate::app::App;
use crate::error::{Code, Fail};
use crate::print::{self, Said};
use crate::{consent, person};

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
                .hint("run `punchlist verify` at a terminal."),
            }
        }
        (Verdict::Ask(_), Origin::Agent | Origin::Person) => not_allowed(number, &policy, &subject),
    };
    fail.items.push(number);
    Err(fail)
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
