//! Whose streams are read.

use crate::event::AgentType;

/// Which program's stream it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// Claude Code: `stream-json`, or a transcript.
    ClaudeCode,
    /// Codex: `exec --json`, a rollout, or the app server's notifications.
    Codex,
    /// Gemini CLI: `stream-json`, or a chat file.
    Gemini,
    /// An agent that speaks the Agent Client Protocol.
    Acp,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::Acp];

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Acp => "acp",
        }
    }

    /// The one that a person calls so.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// As events carry it.
    pub fn agent_type(self) -> AgentType {
        match self {
            Self::ClaudeCode => AgentType::ClaudeCode,
            Self::Codex => AgentType::OpenaiCodex,
            Self::Gemini => AgentType::GoogleGemini,
            Self::Acp => AgentType::Acp,
        }
    }
}
