//! The supported programs.

use crate::event::AgentType;

/// The program that wrote a stream.
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
    /// All programs.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::Acp];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Acp => "acp",
        }
    }

    /// The program with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The type in events.
    pub fn agent_type(self) -> AgentType {
        match self {
            Self::ClaudeCode => AgentType::ClaudeCode,
            Self::Codex => AgentType::OpenaiCodex,
            Self::Gemini => AgentType::GoogleGemini,
            Self::Acp => AgentType::Acp,
        }
    }
}
