//! Which tools the texts for an agent name: those that wrote the list last.

use punchlist_formats::hook::Agent;
use punchlist_formats::prompt::{self, Also, Names, Tag, Tools};
use punchlist_model::session::Session;
use punchlist_model::{Number, Plan};

use super::{Exchange, TASKS, TODOWRITE, TRACKER, UPDATE_PLAN, WRITE_TODOS};
use crate::hook::mirror::item_id;

/// Maximum size of the list in a boundary reminder, in tokens.
const BUDGET: u64 = 1500;

/// The tool names for one plan of a session.
pub(crate) enum Words {
    /// The agent's own task tools, with the agent's ids of the items, and the tools for all other
    /// items.
    Tasks(&'static Tools, Names, &'static Tools),
    /// Another set of tools.
    Tools(&'static Tools),
}

impl Words {
    fn of(server: &'static Tools, session: &Session, plan: &Plan) -> Self {
        let tasks = |tools| Self::Tasks(tools, names(session, plan), server);
        match session.memory.written_with.as_deref() {
            Some(TASKS) => tasks(&Tools::TASKS),
            Some(TRACKER) => tasks(&Tools::TRACKER),
            Some(TODOWRITE) => Self::Tools(&Tools::TODOWRITE),
            Some(UPDATE_PLAN) => Self::Tools(&Tools::UPDATE_PLAN),
            Some(WRITE_TODOS) => Self::Tools(&Tools::WRITE_TODOS),
            Some(_) | None => Self::Tools(server),
        }
    }

    /// The agent's own whole-list tool.
    pub(crate) fn of_list(agent: Option<Agent>) -> &'static Tools {
        match agent {
            Some(Agent::Claude) | None => &Tools::TODOWRITE,
            Some(Agent::Codex) => &Tools::UPDATE_PLAN,
            Some(Agent::Gemini) => &Tools::WRITE_TODOS,
        }
    }

    /// The text of a refusal to end the turn.
    pub(crate) fn refusal(&self, plan: &Plan, open: &[Number], also: Also<'_>) -> String {
        match self {
            Self::Tasks(own, names, others) => {
                prompt::stop_refusal_named(plan, open, own, names, others, also)
            }
            Self::Tools(tools) => prompt::stop_refusal(plan, open, tools, also),
        }
    }

    /// The text with the open list.
    pub(crate) fn boundary(&self, plan: &Plan, tag: &Tag) -> Option<String> {
        match self {
            Self::Tasks(own, names, others) => {
                prompt::boundary_named(plan, own, names, others, tag, BUDGET)
            }
            Self::Tools(tools) => prompt::boundary(plan, tools, tag, BUDGET),
        }
    }

    /// The tools that reminders name.
    pub(crate) fn tools(&self) -> &'static Tools {
        match self {
            Self::Tasks(tools, ..) | Self::Tools(tools) => tools,
        }
    }
}

impl Exchange<'_> {
    /// The tool names for a plan of this conversation.
    pub(crate) fn words(&self, plan: &Plan) -> Words {
        Words::of(self.server(), &self.session, plan)
    }

    /// Our tools under the agent's names for them: those of the program that runs the model, else
    /// those of our MCP server.
    pub(crate) fn server(&self) -> &'static Tools {
        self.given.agent.tools.unwrap_or_else(|| server(self.agent()))
    }
}

fn server(agent: Option<Agent>) -> &'static Tools {
    match agent {
        Some(Agent::Claude | Agent::Codex) | None => &Tools::MCP_TURN,
        Some(Agent::Gemini) => &Tools::MCP_TURN_SHORT,
    }
}

/// The agent's ids of the items in this plan. Ids from a plan that the session was attached to
/// earlier are left out.
fn names(session: &Session, plan: &Plan) -> Names {
    let is_it = |task: &str, number: Number| {
        plan.get(number).is_some_and(|item| item.id == item_id(session, plan.id, task))
    };
    let all = session.memory.mirrored.iter();
    all.filter(|(task, number)| is_it(task, **number))
        .map(|(task, number)| (*number, task.clone()))
        .collect()
}
