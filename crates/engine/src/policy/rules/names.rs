//! What rules can be about: the existing tools, their arguments, and which tools execute commands.
//!
//! A rule about something that does not exist would never match, and its author would believe that
//! it works. So it is an error that suggests the nearest name. Tools of servers are not known here;
//! their names begin with `mcp__`.

use punchlist_sched::policy::{Decision, Rule, like};

use crate::policy::shell;

/// Our own tools, with the arguments that policy can match.
const TOOLS: &[(&str, &[&str])] = &[
    ("shell", &["command", "outside_sandbox"]),
    ("verify", &["command"]),
    ("read", &["path"]),
    ("write", &["path"]),
    ("edit", &["path"]),
    ("list", &["path"]),
    ("search", &["path"]),
    ("agent", &["agent"]),
    ("delegate", &["agentType"]),
    ("read:outside", &["path"]),
    ("write:outside", &["path"]),
    ("edit:outside", &["path"]),
    ("list:outside", &["path"]),
    ("search:outside", &["path"]),
];

/// The tools that execute commands.
const EXECUTE: &[&str] = &["shell", "verify"];

/// The prefix of servers' tools.
const FOREIGN: &str = "mcp__";

/// A key of a rule that can never match, and why.
pub(super) struct Misfit {
    pub(super) key: &'static str,
    pub(super) what: String,
}

/// Finds the reason why a rule can never match a call.
pub(super) fn misfit(rule: &Rule) -> Option<Misfit> {
    tool(rule).or_else(|| command(rule)).or_else(|| argument(rule))
}

fn tool(rule: &Rule) -> Option<Misfit> {
    let name = rule.tool.as_ref()?;
    if rule.server.is_some() || may_be_foreign(name) || matching_tools(rule).next().is_some() {
        return None;
    }
    let names = TOOLS.iter().map(|it| it.0);
    let what = match nearest(name, names.clone()) {
        Some(near) => format!("there is no tool {name:?}; did you mean {near:?}?"),
        None => {
            let names: Vec<&str> = names.filter(|it| !it.contains(':')).collect();
            let names = names.join(", ");
            format!("there is no tool {name:?}; there are {names}, and mcp__SERVER__TOOL")
        }
    };
    Some(Misfit { key: "tool", what })
}

fn command(rule: &Rule) -> Option<Misfit> {
    let words = rule.command.as_ref()?;
    let misfit = |what: String| Some(Misfit { key: "command", what });
    if rule.server.is_some() || !matching_tools(rule).any(|it| EXECUTE.contains(&it.0)) {
        let about = match (&rule.tool, &rule.server) {
            (Some(tool), _) => format!("the tool {tool:?}"),
            (None, _) => "a server's tool".to_owned(),
        };
        return misfit(format!(
            "{about} executes no commands; shell and verify do. For a path write argument = [\"path\", \"…\"]"
        ));
    }
    if rule.decision == Decision::Allow && shell::is_never_told(words) {
        let shown = words.join(" ");
        return misfit(format!(
            "no rule can allow {shown:?}: what it runs is unknown, so it is always asked about"
        ));
    }
    None
}

fn argument(rule: &Rule) -> Option<Misfit> {
    let (name, _) = rule.argument.as_ref()?;
    if rule.server.is_some() || rule.tool.as_deref().is_some_and(|it| it.starts_with(FOREIGN)) {
        return None;
    }
    let mut names: Vec<&str> = matching_tools(rule).flat_map(|it| it.1).copied().collect();
    names.sort_unstable();
    names.dedup();
    if names.contains(&name.as_str()) {
        return None;
    }
    let near = nearest(name, names.iter().copied());
    // Without a tool, the rule may be about an argument of a server's tool.
    let is_ours = rule.tool.as_deref().is_some_and(|it| !may_be_foreign(it));
    let what = match (near, is_ours) {
        (Some(near), _) => format!("there is no argument {name:?}; did you mean {near:?}?"),
        (None, true) => {
            let names = names.join(", ");
            format!("there is no argument {name:?} that rules look at; there is {names}")
        }
        (None, false) => return None,
    };
    Some(Misfit { key: "argument", what })
}

/// Our own tools that a rule may be about.
fn matching_tools(
    rule: &Rule,
) -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    TOOLS.iter().filter(|it| rule.tool.as_ref().is_none_or(|name| like(name, it.0)))
}

/// Whether a pattern may match a server's tool.
fn may_be_foreign(name: &str) -> bool {
    let (begin, has_star) = name.split_once('*').map_or((name, false), |it| (it.0, true));
    begin.starts_with(FOREIGN) || (has_star && FOREIGN.starts_with(begin))
}

/// The nearest known name, if it is near enough.
fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.to_lowercase().chars().take(40).collect();
    let far = names.map(|name| (strsim::levenshtein(&word, name), name));
    let is_near = |far: usize| far <= 2 && far < word.chars().count();
    far.min_by_key(|it| it.0).filter(|it| is_near(it.0)).map(|it| it.1)
}
