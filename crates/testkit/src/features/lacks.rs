//! What agents lack, and why: the cells of the table that no test can fill, and what limits others.

use super::{Agent, Feature};

/// Something that an agent does not do, or not always.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lack {
    /// Which agent.
    pub agent: Agent,
    /// What.
    pub feature: Feature,
    /// Why, as a sentence or two for users.
    pub why: &'static str,
}

/// All of them. One is taken out when the agent gets what it lacked, and a test shows it.
pub const LACKS: &[Lack] = &[
    Lack {
        agent: Agent::Codex,
        feature: Feature::Adoption,
        why: "Codex's sandbox keeps a command of the model's from the database: call `punchlist adopt` \
              yourself, or start Codex without the sandbox.",
    },
    Lack {
        agent: Agent::Codex,
        feature: Feature::Evidence,
        why: "It has no event before an item is completed, so that it is held when it wants to stop.",
    },
    Lack {
        agent: Agent::Gemini,
        feature: Feature::Gate,
        why: "Not after an API error, a loop that it detects, or its own limit of turns: it asks no hook then.",
    },
    Lack {
        agent: Agent::Gemini,
        feature: Feature::PlanMode,
        why: "Or if the model switched it. That you switched by Shift+Tab cannot be told from outside.",
    },
    Lack {
        agent: Agent::Gemini,
        feature: Feature::Compaction,
        why: "Nothing tells that one happened: its hook `PreCompress` runs before every turn. A stop \
              with items open names them.",
    },
    Lack {
        agent: Agent::Gemini,
        feature: Feature::SubAgents,
        why: "Nothing tells a sub-agent's calls from the agent's own, and it is not given `write_todos`.",
    },
    Lack {
        agent: Agent::Gemini,
        feature: Feature::Evidence,
        why: "It has no event before an item is completed, so that it is held when it wants to stop.",
    },
];
