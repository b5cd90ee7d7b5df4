//! Whether lists in Gemini CLI's settings exclude Punchlist's server.
//!
//! Only the list of the file with the highest precedence counts: the system's file, then the
//! project's, then the user's. Files are only read.

use std::path::{Path, PathBuf};

use punchlist_formats::hook::Agent;
use serde_json::Value;

use super::{Finding, Options};
use crate::install::entries::SERVER;
use crate::install::{Scope, document, gemini};

/// The administrator's settings for all users of the machine.
const SYSTEM: &str = "/etc/gemini-cli/settings.json";

/// A list in the settings: its name, and its name in older versions.
const ALLOWED: (&str, &str) = ("allowed", "allowMCPServers");
const EXCLUDED: (&str, &str) = ("excluded", "excludeMCPServers");

/// Examines all files that apply to a project.
pub(super) fn look(options: &Options, root: &Path) -> Vec<Finding> {
    let (home, config) = (&options.install.home, options.install.config_dir.as_deref());
    let project = gemini::settings(home, config, &Scope::Project(root.to_owned()));
    let user = gemini::settings(home, config, &Scope::User);
    judge([PathBuf::from(SYSTEM), project, user])
}

fn judge(paths: impl IntoIterator<Item = PathBuf>) -> Vec<Finding> {
    // A file that the agent cannot read has no effect.
    let says = |path: &Path| document(Agent::Gemini, path).ok().map(|it| it.value());
    let files: Vec<(PathBuf, Value)> =
        paths.into_iter().filter_map(|path| says(&path).map(|says| (path, says))).collect();
    let strongest = |(new, old): (&str, &str)| {
        files.iter().find_map(|(path, says)| {
            let lists = [(format!("mcp.{new}"), &says["mcp"][new]), (old.to_owned(), &says[old])];
            let (name, list) = lists.into_iter().find(|it| it.1.is_array())?;
            let ours = list.as_array().is_some_and(|it| it.iter().any(|it| it == SERVER));
            Some((name, path.display(), ours))
        })
    };
    let mut findings = Vec::new();
    if let Some((name, path, false)) = strongest(ALLOWED) {
        let said = format!(
            "{name} in {path} does not name {SERVER}: Gemini CLI does not start the server"
        );
        findings.push(Finding::bad("mcp", said, format!("add {SERVER} to {name} in {path}")));
    }
    if let Some((name, path, true)) = strongest(EXCLUDED) {
        let said = format!("{name} in {path} names {SERVER}: Gemini CLI does not start the server");
        findings.push(Finding::bad("mcp", said, format!("remove {SERVER} from {name} in {path}")));
    }
    findings
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_strongest_list_that_leaves_our_server_out_is_named() {
        let ours = json!({"mcp": {"allowed": ["other", SERVER]}});
        let others = json!({"mcp": {"allowed": ["other"]}});
        let excludes = json!({"mcp": {"excluded": [SERVER]}});
        let old = json!({"allowMCPServers": ["other"], "excludeMCPServers": ["other"]});
        for (project, user, expected) in [
            (json!({}), json!({}), None),
            (json!({}), ours.clone(), None),
            (json!({}), others.clone(), Some("mcp.allowed in USER does not name punchlist")),
            (others.clone(), ours.clone(), Some("mcp.allowed in PROJECT does not name punchlist")),
            (ours, others, None),
            (json!({}), excludes, Some("mcp.excluded in USER names punchlist")),
            (old, json!({}), Some("allowMCPServers in PROJECT does not name punchlist")),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let [one, other] = ["PROJECT", "USER"].map(|it| dir.path().join(it));
            fs::write(&one, project.to_string()).unwrap();
            fs::write(&other, user.to_string()).unwrap();
            let found = judge([one, other]);
            let said: Vec<String> = found
                .iter()
                .map(|it| it.said.replace(&format!("{}/", dir.path().display()), ""))
                .collect();
            let expected: Vec<String> = expected
                .map(|it| format!("{it}: Gemini CLI does not start the server"))
                .into_iter()
                .collect();
            assert_eq!(said, expected, "{project} {user}");
        }
    }
}
