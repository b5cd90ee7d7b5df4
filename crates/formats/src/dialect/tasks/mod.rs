//! `tasks`: Claude Code's four tools, `TaskCreate`, `TaskGet`, `TaskUpdate` and `TaskList`.
//!
//! Ids are item numbers. A deleted task is a superseded item. Results and errors have Claude Code's
//! words. Rules of the plan that Claude Code does not have are refused in the same style.

mod offer;
mod read;
mod reply;
mod voice;

use punchlist_model::needs::{Around, Needs, Reach};
use punchlist_model::{Number, Op};

pub(super) use offer::{PROMPT, tools};
pub(super) use read::call;

/// A parsed call.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Call {
    what: What,
    /// `None` for a call that only reads.
    ops: Option<Vec<Op>>,
}

#[derive(Clone, PartialEq, Debug)]
enum What {
    Create,
    /// `None` if the id is not a number, so that it names no task.
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

    /// What to load, if that is less than the whole plan and does not follow from the operations.
    pub(super) fn needs(&self) -> Option<Needs> {
        let What::Get(task) = self.what else { return None };
        let around = vec![Around::Dependencies, Around::Dependants];
        let reach = |number: Number| Reach { item: number.into(), around };
        Some(Needs { items: task.map(reach).into_iter().collect(), ..Needs::header() })
    }
}
