//! `tasks`: Claude Code's four tools, `TaskCreate`, `TaskGet`, `TaskUpdate` and `TaskList`.
//!
//! Ids are item numbers; what is deleted is superseded. Results and errors are worded as that
//! program words them. Rules of the plan that it does not have are refused in its style.

mod offer;
mod read;
mod reply;
mod voice;

use punchlist_model::needs::{Around, Needs, Reach};
use punchlist_model::{Number, Op};

pub(super) use offer::{PROMPT, tools};
pub(super) use read::call;

/// A call that was understood.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Call {
    what: What,
    /// `None` for a call that only reads.
    ops: Option<Vec<Op>>,
}

#[derive(Clone, PartialEq, Debug)]
enum What {
    Create,
    /// `None` where the id is no number, so that no task can be meant.
    Get(Option<Number>),
    Update {
        task: Number,
        blocks: Vec<Number>,
    },
    Delete(Number),
    List,
}

impl Call {
    pub(super) fn ops(&self) -> Option<&[Op]> {
        self.ops.as_deref()
    }

    /// What to read where that is less than the whole plan, and not what the steps say.
    pub(super) fn needs(&self) -> Option<Needs> {
        let What::Get(task) = self.what else { return None };
        let around = vec![Around::Dependencies, Around::Dependants];
        let reach = |number: Number| Reach { item: number.into(), around };
        Some(Needs { items: task.map(reach).into_iter().collect(), ..Needs::header() })
    }
}
