//! `turn`: one tool per operation on a plan. Ids are item ids, results are JSON.
//!
//! The tools and keys come from a per-turn to-do list of a supervisor program; `update_todo`,
//! `next_todo` and dependencies are Punchlist's additions. The caller supplies turn and
//! conversation, never the model.

mod offer;
mod read;
mod reply;
mod voice;

use punchlist_model::{ItemRef, Op, Status};

use super::args::BadEntries;

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
    /// For each operation, the entry that it belongs to; a dependency on a later entry is an
    /// operation of its own. A faulty entry has an empty title, so that the other entries are still
    /// checked.
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
