//! Texts and questions for a person about an installation.

use punchlist_bridge::install::known::events;
use punchlist_bridge::install::{self, Change, Options, Scope, claude};
use punchlist_formats::hook::Agent;
use punchlist_formats::view::Reader;

use crate::fail::Fail;

/// The question whether to trust the hooks in Codex's settings.
pub(super) const TRUST_QUESTION: &str = "Codex runs a hook only once you have trusted it. Trust these now \
                                         (trusted_hash in hooks.state)?";

/// Describes what will be done.
pub(super) fn description(options: &Options, would: &[Change]) -> Vec<String> {
    let agent = options.agent;
    let (binary, database) = (options.binary.display(), options.database.display());
    let whom = match options.scope {
        Scope::User => "for you in every project",
        Scope::Project(_) => "for everybody in this project",
    };
    let mut words = vec![format!("{}, {whom}:", agent.title())];
    words.extend(would.iter().map(|it| format!("  {}", edit(it))));
    words.push(String::new());
    let plan = options.plan.as_ref().map(|it| format!(" --plan {it}")).unwrap_or_default();
    if options.own_tools {
        words.push("  tool        update_plan, Codex's own, is switched on".to_owned());
    } else {
        words.push(format!("  server      {binary} mcp --db {database}{plan}"));
        words.push("              the plan tools; started with each session".to_owned());
    }
    if install::switches_own_tools_off(would) {
        words.push("  tool        update_plan, Codex's own, is set as it was before".to_owned());
    }
    words.push(format!("  hooks       {binary} hook {} --db {database}{plan}", agent.as_str()));
    words.push(
        "              commands run at these events, and may hold a turn that would end with"
            .to_owned(),
    );
    words.push("              items open:".to_owned());
    let events: Vec<&str> = events(agent, options.version).iter().map(|it| it.0).collect();
    for line in events.chunks(4) {
        words.push(format!("              {}", line.join(", ")));
    }
    if permission_question(options).is_some() {
        words.push(format!("  permission  {}", permission_name(agent)));
        words.push("              its tools run without asking; asked for on its own".to_owned());
    }
    if agent == Agent::Codex && options.trust {
        words.push("  trust       hooks.state, trusted_hash".to_owned());
        words.push(
            "              Codex runs the hooks without asking; asked for on its own".to_owned(),
        );
    }
    words.push(String::new());
    words
}

/// The planned changes to an agent, one line each.
pub fn summary(options: &Options) -> Vec<String> {
    match install::would_install(options) {
        Ok(would) if would.is_empty() => vec!["is set up already".to_owned()],
        Ok(would) => would.iter().map(edit).collect(),
        Err(error) => vec![error.to_string()],
    }
}

fn edit(change: &Change) -> String {
    let what = if change.before.is_none() { "makes" } else { "edits" };
    format!("{what} {}", change.path.display())
}

/// The question which tools to use, if there is a choice that nobody has made yet.
pub(super) fn tools_question(options: &Options, would: &[Change]) -> Option<&'static str> {
    if options.agent != Agent::Codex || options.own_tools {
        return None;
    }
    if install::switches_own_tools_off(would) {
        return Some(
            "So far Punchlist keeps the list of Codex's own plan tool, update_plan, and had it \
             switched on. Stay with that one, instead of the plan tools above?",
        );
    }
    (!install::has_own_tools(options)).then_some(
        "Codex has a plan tool of its own, update_plan, which is off. Switch it on and keep its \
         list, instead of the plan tools above?",
    )
}

/// The question for the permission, if it is not given yet.
pub(super) fn permission_question(options: &Options) -> Option<String> {
    let without = Options { permission: false, ..options.clone() };
    let is_new = options.permission && !install::is_permitted(options);
    let adds = is_new && differ(options, &without).unwrap_or(false);
    let name = permission_name(options.agent);
    adds.then(|| format!("Let the plan tools run without asking ({name})?"))
}

/// The permission's name in the agent's settings.
fn permission_name(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => claude::PERMISSION,
        Agent::Codex => "default_tools_approval_mode = \"approve\"",
        Agent::Gemini => "trust: true",
    }
}

/// Whether two installations would write different files.
pub(super) fn differ(one: &Options, other: &Options) -> Result<bool, Fail> {
    Ok(install::would_install(one)? != install::would_install(other)?)
}

/// The last line. If the permission was left out but somebody else gave it, the text says that it
/// stays.
pub(super) fn with_permission(options: &Options, ending: &str) -> String {
    if options.permission || !install::is_permitted(options) {
        return ending.to_owned();
    }
    let name = permission_name(options.agent);
    format!("{name} is not from Punchlist and stays: the plan tools run without asking.\n{ending}")
}

/// The uninstall command, between two texts. Empty for an agent, because only people may run it.
pub(super) fn undo(options: &Options, reader: Reader, before: &str, after: &str) -> String {
    let project = match options.scope {
        Scope::User => "",
        Scope::Project(_) => " --project",
    };
    match reader {
        Reader::Person => {
            format!("{before}punchlist uninstall {}{project}{after}", options.agent.as_str())
        }
        Reader::Agent => String::new(),
    }
}

/// `1 file`, `2 files`.
pub(super) fn files(count: usize) -> String {
    format!("{count} file{}", if count == 1 { "" } else { "s" })
}
