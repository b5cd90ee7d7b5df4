//! In whose words the agent is spoken to: those of the tools that wrote the list last.

use punchlist_formats::hook::Agent;
use punchlist_formats::prompt::{self, Also, Names, Tag, Tools};
use punchlist_model::session::Session;
use punchlist_model::{Number, Plan};

use super::{Exchange, TASKS, TODOWRITE, TRACKER, UPDATE_PLAN, WRITE_TODOS};
use crate::hook::mirror::item_id;

/// Most that the list costs when it is put back, in tokens.
const BUDGET: u64 = 1500;

/// The words for one plan of a session.
pub(crate) enum Words {
    /// The agent's own tasks, with the names that it has for them; and the tools for the others.
    Tasks(&'static Tools, Names, &'static Tools),
    /// Some other set of tools.
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

    /// The words of the agent's own tool for whole lists.
    pub(crate) fn of_list(agent: Option<Agent>) -> &'static Tools {
        match agent {
            Some(Agent::Claude) | None => &Tools::TODOWRITE,
            Some(Agent::Codex) => &Tools::UPDATE_PLAN,
            Some(Agent::Gemini) => &Tools::WRITE_TODOS,
        }
    }

    /// Why the turn may not end yet.
    pub(crate) fn refusal(&self, plan: &Plan, open: &[Number], also: Also<'_>) -> String {
        match self {
            Self::Tasks(own, names, others) => {
                prompt::stop_refusal_named(plan, open, own, names, others, also)
            }
            Self::Tools(tools) => prompt::stop_refusal(plan, open, tools, also),
        }
    }

    /// The open list.
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
    /// The words for a plan of this conversation.
    pub(crate) fn words(&self, plan: &Plan) -> Words {
        Words::of(self.server(), &self.session, plan)
    }

    /// Our tools, as the agent calls them: those of its own loop, else those of our server.
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

/// What the agent calls the items of this plan. A name from a plan that the session was attached to
/// before is none in this one.
fn names(session: &Session, plan: &Plan) -> Names {
    let is_it = |task: &str, number: Number| {
        plan.get(number).is_some_and(|item| item.id == item_id(session, plan.id, task))
    };
    let all = session.memory.mirrored.iter();
    all.filter(|(task, number)| is_it(task, **number))
        .map(|(task, number)| (*number, task.clone()))
        .collect()
}
