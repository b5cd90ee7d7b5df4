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
pub const LACKS: &[Lack] = &[];
