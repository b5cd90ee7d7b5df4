//! What in Claude Code's other files keeps it from using what is set up.
//!
//! Claude Code puts its settings together from several files, and a server's name may be given in
//! several places: entries of ours that are all in order say nothing about the rest. Only looks.

use std::path::{Path, PathBuf};

use punchlist_formats::hook::Agent;
use serde_json::Value;

use super::{Finding, Options, is_same_file};
use crate::install::claude::{PERMISSION, Places};
use crate::install::edit::Step::Key;
use crate::install::entries::{SERVER, SERVER_WAY, is_our_server};
use crate::install::{Scope, document};

/// Looks at all files that count in a directory. A file that is not read by the agent either is passed
/// over.
pub(super) fn look(options: &Options, root: &Path) -> Vec<Finding> {
    if options.install.agent != Agent::Claude {
        return Vec::new();
    }
    let (home, config) = (&options.install.home, options.install.config_dir.as_deref());
    let user = Places::of(home, config, &Scope::User);
    let project = Places::of(home, config, &Scope::Project(root.to_owned()));
    let local = project.settings.with_file_name("settings.local.json");
    // The stronger first.
    let mut files: Vec<(PathBuf, Value)> = Vec::new();
    for path in [local, project.settings, user.settings] {
        if files.iter().any(|(other, _)| is_same_file(other, &path)) {
            continue;
        }
        if let Ok(doc) = document(Agent::Claude, &path) {
            files.push((path, doc.value()));
        }
    }
    let mut findings: Vec<Finding> = hooks_are_off(&files).into_iter().collect();
    findings.extend(files.iter().filter_map(|(path, settings)| denied(path, settings)));
    findings.extend(shadowed(&user.servers, &project.servers, root));
    findings
}

/// Whether the strongest file that says something about it switches all hooks off.
fn hooks_are_off(files: &[(PathBuf, Value)]) -> Option<Finding> {
    const NAME: &str = "disableAllHooks";
    let (path, settings) = files.iter().find(|(_, it)| it[NAME].is_boolean())?;
    (settings[NAME] == true).then(|| {
        let path = path.display();
        let said = format!("{NAME} is set in {path}: Claude Code calls no hook at all");
        Finding::bad("hooks", said, format!("take {NAME} out of {path}"))
    })
}

/// Whether a file forbids our tools, or some of them. What one forbids no other can allow.
fn denied(path: &Path, settings: &Value) -> Option<Finding> {
    let list = settings["permissions"]["deny"].as_array()?;
    let rules: Vec<&str> =
        list.iter().filter_map(Value::as_str).filter(|it| reach(it).is_some()).collect();
    let widest = rules.iter().filter_map(|it| reach(it)).max()?;
    let what = match widest {
        Reach::All => "no plan tool can be used",
        Reach::One if rules.len() == 1 => "that plan tool cannot be used",
        Reach::One => "those plan tools cannot be used",
    };
    let (path, rules) = (path.display(), rules.join(", "));
    Some(Finding::bad(
        "permission",
        format!("permissions.deny in {path} names {rules}: {what}"),
        format!("take {rules} out of permissions.deny in {path}"),
    ))
}

/// How much of ours a rule is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Reach {
    One,
    All,
}

fn reach(rule: &str) -> Option<Reach> {
    let tools = format!("{PERMISSION}__");
    let is_all = match rule.strip_suffix('*') {
        Some(begins) => tools.starts_with(begins),
        None => rule == PERMISSION,
    };
    match rule.strip_prefix(&tools) {
        _ if is_all => Some(Reach::All),
        Some(tool) if !tool.is_empty() => Some(Reach::One),
        Some(_) | None => None,
    }
}

/// Servers of others under our name that come before the one for every project.
fn shadowed(users: &Path, projects: &Path, root: &Path) -> Vec<Finding> {
    let name = root.to_string_lossy();
    let own = [Key("projects"), Key(&name), SERVER_WAY[0], SERVER_WAY[1]];
    let is_foreign = |path: &Path, way: &[_]| {
        let server = document(Agent::Claude, path).ok().and_then(|it| it.get(way));
        server.is_some_and(|it| !is_our_server(&it))
    };
    let said = |path: &Path| {
        let path = path.display();
        format!(
            "{path} has another server {SERVER} for {}: Claude Code uses that one, not ours",
            root.display()
        )
    };
    let mut findings = Vec::new();
    if is_foreign(users, &own) {
        let fix = format!("in {}: claude mcp remove {SERVER} --scope local", root.display());
        findings.push(Finding::bad("mcp", said(users), fix));
    }
    if is_foreign(projects, &SERVER_WAY) {
        let fix = format!("give it another name in {}", projects.display());
        findings.push(Finding::bad("mcp", said(projects), fix));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_about_all_our_tools_one_of_them_or_none() {
        for (rule, expected) in [
            ("mcp__punchlist", Some(Reach::All)),
            ("mcp__punchlist__*", Some(Reach::All)),
            ("mcp__*", Some(Reach::All)),
            ("*", Some(Reach::All)),
            ("mcp__punchlist__add", Some(Reach::One)),
            ("mcp__punchlist__list_*", Some(Reach::One)),
            ("mcp__punchlist2", None),
            ("mcp__other__*", None),
            ("mcp__punchlist__", None),
            ("Bash(*)", None),
            ("", None),
        ] {
            assert_eq!(reach(rule), expected, "{rule}");
        }
    }
}
