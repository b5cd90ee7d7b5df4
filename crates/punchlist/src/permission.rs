//! Asks the person for permission before a check runs.

use punchlist_engine::policy::checks::{self, Permission};
use punchlist_engine::policy::consent::{self, Consent};
use punchlist_model::{Check, Item};

use crate::app::App;
use crate::fail::{Code, Fail};
use crate::person::{self, Act};
use crate::places;
use crate::print::{self, Said};

/// Decides whether a check may run; an error says why not. May ask at the terminal.
pub(crate) fn to_run(app: &App, item: &Item, check: &Check) -> Result<(), Fail> {
    let line = checks::line(item, check);
    match checks::permission(&app.policy()?, item, check, person::called_by())? {
        Permission::Granted => Ok(()),
        Permission::NeedsConsent => consent(app, Some(&line)),
        Permission::NeedsYes(rule) => match print::confirm(&format!("Run {line}?")) {
            Said::Yes => Ok(()),
            Said::No => {
                let fail = Fail::new(Code::Interrupted, "no check was run");
                Err(Fail { items: vec![item.number], ..fail })
            }
            Said::Nothing => Err(checks::nobody_to_ask(item.number, &rule)),
        },
    }
}

/// Asks for consent to checks written by agents in this project, unless it was given before.
/// Anything but a yes is an error. `about` is the check that would run, if any.
pub(crate) fn consent(app: &App, about: Option<&str>) -> Result<(), Fail> {
    let (data, project) = (places::data()?, &app.project()?.name);
    if Consent::Checks.is_given(&data, project) {
        return Ok(());
    }
    let (what, verb) = ("consent to checks written by agents is given", "verify --consent");
    person::at_terminal(what, verb)?;
    consent::check_project(project)?;
    let question = "Run checks written by agents in this project?";
    let (about, otherwise) = (consent::checks_meaning(project, about), "no check was run");
    Act { what, verb, about: &about, question, otherwise }.confirm()?;
    Consent::Checks.give(&data, project)
}
