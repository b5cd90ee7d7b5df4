//! What the model is called for, and which tools it is offered.

use punchlist_model::Number;
use serde::{Deserialize, Serialize};

/// One call of the model.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Ask {
    /// What for.
    pub purpose: Purpose,
    /// With which tools.
    pub tools: Offered,
}

/// What a model call is for. The runtime chooses the prompt by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Work on the request (supervisor).
    Work,
    /// Write the answer from what is there.
    FinalAnswer,
    /// Say whether the task is simple (steps).
    Classify,
    /// Do a simple task without a plan (steps).
    Direct,
    /// Make or change the plan (steps).
    Plan,
    /// Work on this item (steps).
    Item(Number),
    /// Say whether the task is complete (steps).
    Validate,
}

/// Which tools the model is offered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offered {
    /// None.
    Nothing,
    /// The plan's tools and those that only read.
    Planning,
    /// All but the plan's.
    WithoutPlan,
    /// All.
    Everything,
}

impl Ask {
    pub(super) fn new(purpose: Purpose, tools: Offered) -> Self {
        Self { purpose, tools }
    }
}
