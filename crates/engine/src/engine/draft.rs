//! New items, before they are added to a plan.

use std::sync::atomic::{AtomicU64, Ordering};

use punchlist_model::{Check, ItemRef, NewItem, Number, Op, Origin};

/// The next token. Tokens identify drafts, so that one can refer to another before either has a
/// number.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A new item with this title.
pub fn item(title: impl Into<String>) -> Draft {
    let token = NEXT.fetch_add(1, Ordering::Relaxed);
    Draft { token, item: NewItem::titled(title), after: Vec::new(), under: None }
}

/// An item that is not on a plan yet.
#[derive(Clone, PartialEq, Debug)]
pub struct Draft {
    token: u64,
    item: NewItem,
    after: Vec<u64>,
    under: Option<u64>,
}

impl Draft {
    /// Makes the item depend on another draft, which is added in the same call.
    #[must_use]
    pub fn after(mut self, other: &Self) -> Self {
        self.after.push(other.token);
        self
    }

    /// Makes the item depend on an item of the plan.
    #[must_use]
    pub fn after_item(mut self, number: Number) -> Self {
        self.item.depends_on.push(ItemRef::Number(number));
        self
    }

    /// Makes the item a sub-item of another draft, which is added in the same call.
    #[must_use]
    pub fn under(mut self, other: &Self) -> Self {
        self.under = Some(other.token);
        self
    }

    /// What a worker needs to know.
    #[must_use]
    pub fn context(mut self, text: impl Into<String>) -> Self {
        self.item.context = text.into();
        self
    }

    /// The completion criteria.
    #[must_use]
    pub fn criteria(mut self, text: impl Into<String>) -> Self {
        self.item.completion_criteria = text.into();
        self
    }

    /// The priority. 0 comes first.
    #[must_use]
    pub fn priority(mut self, priority: u32) -> Self {
        self.item.priority = Some(priority);
        self
    }

    /// The command that must succeed before the item counts as done. The program vouches for it: it
    /// is trusted like a person's command.
    #[must_use]
    pub fn check(mut self, command: impl Into<String>) -> Self {
        let (command, covers) = (command.into(), Vec::new());
        self.item.check = Some(Check { command, covers, origin: Origin::Person });
        self
    }
}

/// The operations that add these drafts. If a draft refers to one that is not among them, the error
/// is its title.
pub(super) fn ops(drafts: &[Draft]) -> Result<Vec<Op>, String> {
    let place = |token: &u64| {
        let at = drafts.iter().position(|it| it.token == *token)?;
        u32::try_from(at + 1).ok().map(ItemRef::Batch)
    };
    let mut ops = Vec::new();
    for draft in drafts {
        let mut item = draft.item.clone();
        let lost = || draft.item.title.clone();
        for token in &draft.after {
            item.depends_on.push(place(token).ok_or_else(lost)?);
        }
        if let Some(token) = &draft.under {
            item.parent = Some(place(token).ok_or_else(lost)?);
        }
        ops.push(Op::Add(Box::new(item)));
    }
    Ok(ops)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_names_others_of_its_batch_by_their_place() {
        let build = item("Build");
        let test = item("Test").after(&build).after_item(Number(7));
        let unit = item("Unit tests").under(&test);
        let ops = ops(&[build, test, unit]).unwrap();
        let added = |at: usize| {
            let Op::Add(item) = &ops[at] else { panic!("{:?}", ops[at]) };
            item.clone()
        };
        assert_eq!(added(1).depends_on, [ItemRef::Number(Number(7)), ItemRef::Batch(1)]);
        assert_eq!(added(2).parent, Some(ItemRef::Batch(2)));
    }

    #[test]
    fn a_draft_that_names_a_stranger_is_an_error() {
        let stranger = item("Elsewhere");
        assert_eq!(ops(&[item("Here").after(&stranger)]), Err("Here".to_owned()));
    }
}
