//! What agents cannot do, and why: table cells that no test can fill, and limits of other cells.

use super::{Agent, Feature};

/// Something that an agent does not do, or not always.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lack {
    /// Which agent.
    pub agent: Agent,
    /// The feature.
    pub feature: Feature,
    /// Why, in a sentence or two for users.
    pub why: &'static str,
}

/// All of them. An entry is removed when the agent gets the feature and a test shows it.
pub const LACKS: &[Lack] = &[
    Lack {
        agent: Agent::Codex,
        feature: Feature::Adoption,
        why: "Codex's sandbox does not let the model's commands open the database: run `punchlist adopt` \
              yourself, or start Codex without the sandbox.",
    },
    Lack {
        agent: Agent::Codex,
        feature: Feature::Evidence,
        why: "It has no event before an item is completed. Its stop is refused instead.",
    },
    Lack {
        agent: Agent::Gemini,
        feature: Feature::Gate,
        why: "Not after an API error, a detected loop, or its own limit of turns: it runs no hook then.",
    },
    Lack {
        agent: Agent::Gemini,
        feature: Feature::PlanMode,
        why: "Or if the model switched to it. A switch by Shift+Tab is not visible to hooks.",
    },
    Lack {
        agent: Agent::Gemini,
        feature: Feature::Compaction,
        why: "No event says that one happened: its hook `PreCompress` runs before every turn. A refused \
              stop names the open items.",
    },
    Lack {
        agent: Agent::Gemini,
        feature: Feature::SubAgents,
        why: "A sub-agent's calls look like the agent's own, and it does not have `write_todos`.",
    },
    Lack {
        agent: Agent::Gemini,
        feature: Feature::Evidence,
        why: "It has no event before an item is completed. Its stop is refused instead.",
    },
];
