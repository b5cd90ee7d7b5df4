//! In whose words the agent is spoken to: those of the tools that wrote the list last.

use punchlist_formats::prompt::{self, Names, Tag, Tools};
use punchlist_model::session::Session;
use punchlist_model::{Number, Plan};

use super::mirror::item_id;
use super::{TASKS, TODOWRITE};

/// Most that the list costs when it is put back, in tokens.
const BUDGET: u64 = 1500;

/// The words for one plan of a session.
pub(super) enum Words {
    /// The agent's own tasks, with the names that it has for them.
    Tasks(Names),
    /// Some other set of tools.
    Tools(&'static Tools),
}

impl Words {
    pub(super) fn of(session: &Session, plan: &Plan) -> Self {
        match session.memory.written_with.as_deref() {
            Some(TASKS) => Self::Tasks(names(session, plan)),
            Some(TODOWRITE) => Self::Tools(&Tools::TODOWRITE),
            Some(_) | None => Self::Tools(&Tools::MCP_TURN),
        }
    }

    /// Why the turn may not end yet.
    pub(super) fn refusal(&self, plan: &Plan, open: &[Number]) -> String {
        match self {
            Self::Tasks(names) => {
                let (own, others) = (&Tools::TASKS, &Tools::MCP_TURN);
                prompt::stop_refusal_named(plan, open, own, names, others)
            }
            Self::Tools(tools) => prompt::stop_refusal(plan, open, tools),
        }
    }

    /// The open list.
    pub(super) fn boundary(&self, plan: &Plan) -> Option<String> {
        let tag = Tag::reminder();
        match self {
            Self::Tasks(names) => prompt::boundary_named(plan, &Tools::TASKS, names, &tag, BUDGET),
            Self::Tools(tools) => prompt::boundary(plan, tools, &tag, BUDGET),
        }
    }

    /// The tools that reminders name.
    pub(super) fn tools(&self) -> &'static Tools {
        match self {
            Self::Tasks(_) => &Tools::TASKS,
            Self::Tools(tools) => tools,
        }
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
