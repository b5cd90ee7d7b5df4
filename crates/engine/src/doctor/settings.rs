//! Findings about the settings: the gate, the policy rules, and errors in the files.

use punchlist_bridge::doctor::Finding;
use punchlist_model::guard::Gate;

use super::Examination;
use crate::project::CONFIG;
use crate::settings::Settings;

impl Examination<'_> {
    /// The gate setting, or the error in the configuration that stops every hook from working.
    pub(super) fn configuration(&self) -> Finding {
        match &self.settings {
            Ok(settings) => gate(settings),
            Err(fail) => {
                let said = format!("{}; hooks do nothing until that is fixed", fail.message);
                let fix = fail.hint.clone().unwrap_or_else(|| "fix it".to_owned());
                Finding::bad("config", said, fix)
            }
        }
    }

    /// Settings in the project's file that are ignored because a project may not loosen them.
    pub(super) fn loosening(&self) -> Option<Finding> {
        let place = self.project.root.join(CONFIG);
        let said = self.settings.as_ref().ok()?.ignored(&place.display().to_string())?;
        let fix = "take it out there; what you want yourself goes into your own config.toml";
        Some(Finding::note("config", said, fix))
    }

    /// The number of policy rules, if there are any. A rule that cannot be read is an error of the
    /// configuration.
    pub(super) fn rules(&self) -> Option<Finding> {
        let rules = &self.settings.as_ref().ok()?.rules;
        let (own, project) = (rules.user.len(), rules.project.len() - rules.ignored());
        let said = match (own, project) {
            (0, 0) => return None,
            (own, 0) => format!("{own} of yours"),
            (0, project) => format!("{project} of this project's"),
            (own, project) => format!("{own} of yours, {project} of this project's"),
        };
        Some(Finding::good("rules", said))
    }
}

/// The gate setting, and where it was set.
fn gate(settings: &Settings) -> Finding {
    match settings.gate {
        None => Finding::good("gate", "once in interactive sessions, full otherwise"),
        Some(Gate::Off) => {
            let said = "off: no stop is held, whatever is open";
            Finding::note("gate", said, "take `gate` out of the configuration (config.toml)")
        }
        Some(gate @ (Gate::Once | Gate::Full)) => {
            Finding::good("gate", format!("{}, by configuration", gate.as_str()))
        }
    }
}
