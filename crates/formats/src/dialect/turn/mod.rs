//! `turn`: a tool for each step of a plan. Ids are item ids, results are JSON.
//!
//! The tools and keys are those of a per-turn list kept by a supervisor; `update_todo`, `next_todo`
//! and the links between items are ours. Turn and conversation come from the caller, never from the
//! model.

mod offer;
mod read;
mod reply;
mod voice;

use punchlist_model::{ItemRef, Op, Status};

use super::args::BadEntries;

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
    /// With the entry that each step belongs to: links to later entries are steps of their own. An entry
    /// that is bad stands there without a title, so that the others are judged all the same.
    Create {
        entries: Vec<usize>,
        bad: BadEntries,
    },
    List(Filter),
    Complete(ItemRef),
    Update(ItemRef),
    Next,
}

/// Which items `list_todo` shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Filter {
    Remaining,
    Only(Status),
    All,
}

impl Filter {
    fn fits(self, status: Status) -> bool {
        match self {
            Self::Remaining => status.is_open(),
            Self::Only(only) => status == only,
            Self::All => true,
        }
    }
}

impl Call {
    pub(super) fn ops(&self) -> Option<&[Op]> {
        self.ops.as_deref()
    }
}
