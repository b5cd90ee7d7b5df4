//! Which item comes next.

use punchlist_model::{Ctx, Item, Op, Refusal, Slice, decide};

use crate::fail::Fail;

/// The item that comes next. This is the same decision as a claim, so that both always pick the
/// same item.
pub fn picked<'a>(plan: &'a Slice, ctx: &Ctx) -> Result<Option<&'a Item>, Refusal> {
    let picked = decide(plan, &[Op::Next], ctx)?.picked;
    Ok(picked.and_then(|number| plan.get(number)))
}

/// The error if no item is ready, with the reason.
pub fn nothing_ready(plan: &Slice) -> Fail {
    match plan.open {
        0 => Fail::not_found("nothing is left to do").hint("`punchlist list` shows what was done."),
        open => {
            let items = if open == 1 { "item is" } else { "items are" };
            Fail::not_found(format!(
                "nothing is ready: {open} {items} open, but in progress, waiting or blocked"
            ))
            .hint("`punchlist list` shows what each of them waits for.")
        }
    }
}
