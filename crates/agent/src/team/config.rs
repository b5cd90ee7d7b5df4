//! The configuration of a team: `[[team.members]]`.

use std::path::PathBuf;
use std::time::Duration;

use punchlist_engine::workers::Agent;
use punchlist_streams::event::AgentType;
use serde::Deserialize;
use serde_json::Value;

use crate::workers::config::{check_names, timeout, words};

/// How long a turn may take, if nothing else is configured.
const TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// Maximum length of a name. A person types it.
const LONGEST_NAME: usize = 40;
/// Maximum number of members.
const MOST_MEMBERS: usize = 16;
/// Addresses every member.
pub const ALL: &str = "all";

/// A member as the user configured it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberConfig {
    /// The name by which the member is addressed. It is the `agentId` of its events.
    pub name: String,
    /// The name that is shown, if it is not the same.
    pub display_name: Option<String>,
    /// The colour of the name, as the user wrote it.
    pub theme_colour: Option<String>,
    /// Who the member is.
    pub kind: MemberKind,
    /// The model, if it is not the default.
    pub model: Option<String>,
    /// Where the member works.
    pub place: MemberPlace,
    /// How long one turn may take.
    pub timeout: Duration,
    /// The variables with keys of model providers that its program gets.
    pub env: Vec<String>,
}

/// Who a member is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemberKind {
    /// The program of an agent that the user has.
    Program {
        /// The agent.
        agent: Agent,
        /// The program, and further arguments.
        command: Vec<String>,
    },
    /// An agent that speaks the Agent Client Protocol.
    Acp {
        /// The program and its arguments.
        command: Vec<String>,
    },
    /// Our own runtime.
    Own,
}

impl MemberKind {
    /// What the member is, in a word or two.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Program { agent, .. } => agent.title(),
            Self::Acp { .. } => "ACP agent",
            Self::Own => "punchlist",
        }
    }
}

/// Where a member works.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemberPlace {
    /// In the project.
    Project,
    /// In this directory; a relative one is below the project.
    Directory(PathBuf),
    /// In a git worktree of its own.
    Worktree,
}

/// A member as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Written {
    name: Option<String>,
    display_name: Option<String>,
    theme_color: Option<String>,
    agent_type: Option<String>,
    command: Option<Value>,
    model: Option<String>,
    directory: Option<PathBuf>,
    #[serde(default)]
    worktree: bool,
    timeout: Option<Value>,
    #[serde(default)]
    env: Vec<String>,
}

/// The table as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTeam {
    members: Vec<Value>,
}

impl MemberConfig {
    /// Reads the table `team` of the settings.
    pub fn read_all(team: &Value) -> Result<Vec<Self>, String> {
        let WrittenTeam { members } =
            WrittenTeam::deserialize(team).map_err(|why| format!("[team]: {why}"))?;
        if members.is_empty() || members.len() > MOST_MEMBERS {
            return Err(format!("[team]: a team has 1 to {MOST_MEMBERS} members"));
        }
        let mut all: Vec<Self> = Vec::new();
        for (number, member) in members.iter().enumerate() {
            let read = read(member).map_err(|why| {
                let name = member["name"].as_str().map(|it| format!(" ({it:?})"));
                format!("[[team.members]] {}{}: {why}", number + 1, name.unwrap_or_default())
            })?;
            if all.iter().any(|it| is_same(&it.name, &read.name)) {
                return Err(format!("[[team.members]]: two members have the name {:?}", read.name));
            }
            all.push(read);
        }
        Ok(all)
    }

    /// The name that is shown: the display name, else the name.
    pub fn shown_name(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.name)
    }

    /// The program in its events.
    pub fn agent_type(&self) -> AgentType {
        match &self.kind {
            MemberKind::Program { agent: Agent::Claude, .. } => AgentType::ClaudeCode,
            MemberKind::Program { agent: Agent::Codex, .. } => AgentType::OpenaiCodex,
            MemberKind::Program { agent: Agent::Gemini, .. } => AgentType::GoogleGemini,
            MemberKind::Acp { .. } => AgentType::Acp,
            MemberKind::Own => AgentType::Punchlist,
        }
    }
}

/// Whether two names address the same member. Case does not count.
pub fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn read(member: &Value) -> Result<MemberConfig, String> {
    let Written {
        name,
        display_name,
        theme_color,
        agent_type,
        command,
        model,
        directory,
        worktree,
        timeout,
        env,
    } = Written::deserialize(member).map_err(|why| why.to_string())?;
    let kind_name = agent_type.ok_or("agentType is missing; it is one of ".to_owned() + KINDS)?;
    let kind = kind(&kind_name, command)?;
    let name = name.unwrap_or_else(|| short_name(&kind).to_owned());
    let is_plain = |it: char| it.is_alphanumeric() || it == '-' || it == '_';
    if name.is_empty() || name.chars().count() > LONGEST_NAME || !name.chars().all(is_plain) {
        return Err(format!("a name has letters, digits, - and _, at most {LONGEST_NAME}"));
    }
    if is_same(&name, ALL) {
        return Err("the name \"all\" addresses every member; take another".to_owned());
    }
    if model.is_some() && matches!(kind, MemberKind::Acp { .. }) {
        return Err("model: name it in command, as the program wants it".to_owned());
    }
    if !env.is_empty() && kind == MemberKind::Own {
        return Err("env: agentType \"punchlist\" has the keys of its models".to_owned());
    }
    check_names(&env)?;
    let place = match (directory, worktree) {
        (Some(_), true) => return Err("directory and worktree: give one of them".to_owned()),
        (Some(directory), false) => MemberPlace::Directory(directory),
        (None, true) => MemberPlace::Worktree,
        (None, false) => MemberPlace::Project,
    };
    Ok(MemberConfig {
        name,
        display_name: display_name.filter(|it| !it.trim().is_empty()),
        theme_colour: theme_color,
        kind,
        model,
        place,
        timeout: timeout.map_or(Ok(TIMEOUT), |it| self::timeout(&it))?,
        env,
    })
}

const KINDS: &str = "claude, codex, gemini, acp, punchlist";

fn kind(name: &str, command: Option<Value>) -> Result<MemberKind, String> {
    // The names of events are accepted too.
    let agent = match name {
        "claude-code" => Some(Agent::Claude),
        "openai-codex" => Some(Agent::Codex),
        "google-gemini" => Some(Agent::Gemini),
        name => Agent::named(name),
    };
    if let Some(agent) = agent {
        let command = command.map_or_else(|| Ok(vec![agent.as_str().to_owned()]), words)?;
        return Ok(MemberKind::Program { agent, command });
    }
    match (name, command) {
        ("acp", Some(command)) => Ok(MemberKind::Acp { command: words(command)? }),
        ("acp", None) => {
            Err("command is missing, such as command = [\"gemini\", \"--acp\"]".to_owned())
        }
        ("punchlist", None) => Ok(MemberKind::Own),
        ("punchlist", Some(_)) => {
            Err("command: agentType \"punchlist\" starts no other program".to_owned())
        }
        (other, _) => Err(format!("agentType {other:?} is not one of {KINDS}")),
    }
}

/// The name of a member that has none.
fn short_name(kind: &MemberKind) -> &str {
    match kind {
        MemberKind::Program { agent, .. } => agent.as_str(),
        MemberKind::Acp { .. } => "acp",
        MemberKind::Own => "punchlist",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_member_is_read_with_its_keys() {
        let all = MemberConfig::read_all(&json!({"members": [
            {"name": "max", "displayName": "Max", "themeColor": "magenta", "agentType": "claude",
             "model": "opus", "worktree": true, "timeout": "15m",
             "command": ["/opt/claude", "--permission-mode", "acceptEdits"]},
            {"agentType": "openai-codex", "directory": "web"},
            {"name": "Zoë", "agentType": "acp", "command": ["gemini", "--acp"]},
            {"agentType": "punchlist", "model": "ollama/qwen3"},
        ]}));
        let [max, codex, zoe, own] = &all.unwrap()[..] else { panic!() };
        assert_eq!((max.shown_name(), max.timeout), ("Max", Duration::from_secs(900)));
        assert_eq!(max.place, MemberPlace::Worktree);
        assert_eq!(max.agent_type(), AgentType::ClaudeCode);
        // A member without a name has its agent's.
        assert_eq!((codex.name.as_str(), codex.shown_name()), ("codex", "codex"));
        assert_eq!(codex.place, MemberPlace::Directory("web".into()));
        assert_eq!((zoe.agent_type(), own.agent_type()), (AgentType::Acp, AgentType::Punchlist));
    }

    #[test]
    fn what_is_wrong_with_a_team_is_said_with_member_and_key() {
        let check = |team: Value, expected: &str| {
            let error = MemberConfig::read_all(&team).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        let one = |member: Value| json!({"members": [member]});
        check(json!({}), "missing field `members`");
        check(json!({"members": []}), "a team has 1 to 16 members");
        check(json!({"members": [], "mode": 1}), "unknown field `mode`");
        check(one(json!({"name": "a"})), "1 (\"a\"): agentType is missing; it is one of claude");
        check(one(json!({"agentType": "cluade"})), "\"cluade\" is not one of claude, codex");
        check(one(json!({"agentType": "claude", "color": "red"})), "unknown field `color`");
        check(one(json!({"agentType": "claude", "name": "a b"})), "a name has letters");
        check(one(json!({"agentType": "claude", "name": "a/b"})), "a name has letters");
        check(one(json!({"agentType": "claude", "name": "All"})), "addresses every member");
        check(one(json!({"agentType": "acp"})), "command is missing");
        check(
            one(json!({"agentType": "acp", "command": ["x"], "model": "m"})),
            "name it in command",
        );
        check(one(json!({"agentType": "punchlist", "command": ["x"]})), "starts no other program");
        check(one(json!({"agentType": "codex", "timeout": "soon"})), "is not a time");
        check(one(json!({"agentType": "codex", "env": ["$K"]})), "is not the name of a variable");
        check(one(json!({"agentType": "punchlist", "env": ["K"]})), "has the keys of its models");
        let both = json!({"agentType": "codex", "directory": "a", "worktree": true});
        check(one(both), "give one of them");
        let codex = json!({"agentType": "codex", "name": "Kim"});
        let other = json!({"agentType": "codex", "name": "kim"});
        check(json!({"members": [codex, other]}), "two members have the name \"kim\"");
    }
}
