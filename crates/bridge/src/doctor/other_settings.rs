//! Other settings of Claude Code that keep it from using an installation.
//!
//! Claude Code merges several settings files, and a server's name may be defined in several places.
//! So correct entries are not enough. Files are only read.

use std::path::{Path, PathBuf};

use punchlist_formats::hook::Agent;
use serde_json::Value;

use super::{Finding, Options, is_same_file};
use crate::install::claude::{PERMISSION, Places};
use crate::install::entries::{SERVER, is_our_server};
use crate::install::{Scope, document};

/// Examines all files that apply to a directory. A file that the agent cannot read is ignored.
pub(super) fn look(options: &Options, root: &Path) -> Vec<Finding> {
    let (home, config) = (&options.install.home, options.install.config_dir.as_deref());
    let user = Places::of(home, config, &Scope::User);
    let project = Places::of(home, config, &Scope::Project(root.to_owned()));
    let local = project.settings.with_file_name("settings.local.json");
    // In the home directory, the project's file is the user's own.
    let is_home = is_same_file(&project.settings, &user.settings);
    // Higher precedence first.
    let mut files = Vec::new();
    for (whose, path) in
        [(Whose::Local, local), (Whose::Project, project.settings), (Whose::User, user.settings)]
    {
        if is_home && whose == Whose::Project {
            continue;
        }
        if let Ok(doc) = document(Agent::Claude, &path) {
            files.push(Settings { whose, path, says: doc.value() });
        }
    }
    let mut findings: Vec<Finding> = hooks_are_off(&files).into_iter().collect();
    findings.extend(files.iter().filter_map(|it| denied(&it.path, &it.says)));
    let here = Here {
        root,
        users: &user.servers,
        projects: &project.servers,
        state: value(&user.servers)["projects"][root.to_string_lossy().as_ref()].clone(),
    };
    findings.extend(here.switched_off());
    findings.extend(here.shadowed());
    findings.extend(here.project(&files));
    findings
}

/// One of the merged settings files.
struct Settings {
    whose: Whose,
    path: PathBuf,
    says: Value,
}

/// Whose a settings file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    /// This user, in this project.
    Local,
    /// Everybody in this project.
    Project,
    /// This user.
    User,
}

/// The content of a JSON file; null if the agent cannot read it.
fn value(path: &Path) -> Value {
    document(Agent::Claude, path).map(|it| it.value()).unwrap_or_default()
}

/// Whether a list of servers contains Punchlist's.
fn names_us(list: &Value) -> bool {
    list.as_array().is_some_and(|it| it.iter().any(|it| it == SERVER))
}

/// Whether the file with the highest precedence that sets it disables all hooks.
fn hooks_are_off(files: &[Settings]) -> Option<Finding> {
    const NAME: &str = "disableAllHooks";
    let file = files.iter().find(|it| it.says[NAME].is_boolean())?;
    (file.says[NAME] == true).then(|| {
        let path = file.path.display();
        let said = format!("{NAME} is set in {path}: Claude Code calls no hook at all");
        Finding::bad("hooks", said, format!("remove {NAME} from {path}"))
    })
}

/// Whether a file denies some or all of Punchlist's tools. No other file can allow them again.
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
        format!("remove {rules} from permissions.deny in {path}"),
    ))
}

/// Which of Punchlist's tools a rule concerns.
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

/// The servers that Claude Code finds in a directory: the user's for this directory, the project's,
/// the user's for all projects. The first one with a name wins.
struct Here<'a> {
    root: &'a Path,
    /// The file with the user's servers.
    users: &'a Path,
    /// The file with the project's servers.
    projects: &'a Path,
    /// What the user's file says about this directory.
    state: Value,
}

impl Here<'_> {
    /// Whether the user disabled the server named `punchlist` in this directory.
    fn switched_off(&self) -> Option<Finding> {
        let (root, users) = (self.root.display(), self.users.display());
        names_us(&self.state["disabledMcpServers"]).then(|| {
            let said = format!(
                "disabledMcpServers in {users} names {SERVER} for {root}: Claude Code does not start it"
            );
            Finding::bad("mcp", said, format!("enable {SERVER} with /mcp in `claude` in {root}"))
        })
    }

    /// Another server with Punchlist's name, defined by this user for this directory.
    fn shadowed(&self) -> Option<Finding> {
        let root = self.root.display();
        let fix = format!("in {root}: claude mcp remove {SERVER} --scope local");
        let is_foreign = is_foreign(&self.state["mcpServers"][SERVER]);
        is_foreign.then(|| Finding::bad("mcp", self.another(self.users), fix))
    }

    /// Whether the server in the project's file is used. Claude Code ignores it until the user has
    /// approved it, and Punchlist does not approve it for the user.
    fn project(&self, files: &[Settings]) -> Option<Finding> {
        let (root, path) = (self.root.display(), self.projects.display());
        let server = &value(self.projects)["mcpServers"][SERVER];
        match self.approval(files) {
            Approval::Given if is_foreign(server) => {
                let fix = format!("give it another name in {path}");
                Some(Finding::bad("mcp", self.another(self.projects), fix))
            }
            Approval::Given => None,
            // A foreign server that is not used does not replace ours.
            Approval::Refused(_) | Approval::Open if !is_our_server(server) => None,
            Approval::Refused(by) => {
                let by = by.display();
                let said = format!(
                    "disabledMcpjsonServers in {by} names {SERVER}: Claude Code does not use the one \
                     in {path}"
                );
                let fix = format!("remove {SERVER} from disabledMcpjsonServers in {by}");
                Some(Finding::bad("mcp", said, fix))
            }
            Approval::Open => {
                let said =
                    format!("the server in {path} is not approved yet: Claude Code ignores it");
                let fix = format!("start `claude` in {root} and approve {SERVER}");
                Some(Finding::note("mcp", said, fix))
            }
        }
    }

    fn another(&self, path: &Path) -> String {
        let (path, root) = (path.display(), self.root.display());
        format!(
            "{path} has another server {SERVER} for {root}: Claude Code uses that one, not ours"
        )
    }

    /// Whether the user has approved the server named `punchlist` in the project's file.
    fn approval<'a>(&'a self, files: &'a [Settings]) -> Approval<'a> {
        let refuses = |it: &Value| names_us(&it["disabledMcpjsonServers"]);
        if let Some(file) = files.iter().find(|it| refuses(&it.says)) {
            return Approval::Refused(&file.path);
        }
        if refuses(&self.state) {
            return Approval::Refused(self.users);
        }
        let approves = |it: &Value| {
            names_us(&it["enabledMcpjsonServers"]) || it["enableAllProjectMcpServers"] == true
        };
        // Settings inside the project count only if the user trusts the project.
        let is_trusted = self.state["hasTrustDialogAccepted"] == true;
        let counts = |it: &&Settings| match it.whose {
            Whose::User => true,
            Whose::Local => is_trusted,
            Whose::Project => false,
        };
        let is_given = files.iter().filter(counts).any(|it| approves(&it.says))
            || is_trusted && approves(&self.state);
        if is_given { Approval::Given } else { Approval::Open }
    }
}

/// Whether the user approved a server in the project's file.
enum Approval<'a> {
    Given,
    /// Refused, in this file.
    Refused(&'a Path),
    /// Not decided yet.
    Open,
}

/// Whether there is a server that is not Punchlist's.
fn is_foreign(server: &Value) -> bool {
    server.is_object() && !is_our_server(server)
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
