//! What to do about a broken rule, in terms of the verbs.
//!
//! The model says what is wrong; every face says in its own words what to do next. Hints are whole
//! sentences.

use punchlist_model::{Broken, Problem, Status};

/// The next step for somebody who meets this problem.
pub(crate) fn of(problem: &Problem) -> String {
    let item = problem.item.as_ref();
    let number = item.map_or_else(|| "ITEM".to_owned(), |tag| tag.number.to_string());
    match &problem.broken {
        Broken::NotFound { .. } => "`punchlist list --all` shows every number.".to_owned(),
        Broken::Ambiguous { .. } => "type more of the id, or use the number.".to_owned(),
        Broken::Superseded => format!(
            "`punchlist show {number}` still shows it; `punchlist add` puts it on the list anew."
        ),
        Broken::EmptyTitle { .. } => {
            "say what is to be done, as in `punchlist add \"Fix the tests\"`.".to_owned()
        }
        Broken::EmptyText { field } => format!("write the {field} out."),
        Broken::TooLong { field, .. } => {
            let key = if matches!(*field, "title" | "active form") { "title" } else { "text" };
            format!("shorten it, or allow more with `-c limits.{key}=N`.")
        }
        Broken::Nul { .. } => "take the NUL character out.".to_owned(),
        Broken::TooManyOpen { .. } => {
            "complete or skip some first, or allow more with `-c limits.open_items=N`.".to_owned()
        }
        Broken::Illegal { to, .. } => illegal(item.map(|tag| tag.status), *to, &number),
        Broken::NotOpen => format!("`punchlist reopen {number}` opens it again."),
        Broken::AlreadyInProgress { holder, .. } => {
            let other = holder.number;
            format!(
                "finish it with `punchlist done {other}`, or put it back with `punchlist release {other}`."
            )
        }
        Broken::HeldByOther { .. } => format!(
            "wait until then, act as its holder with `--as NAME`, or take it back with `punchlist release {number}`."
        ),
        Broken::StaleAttempt { .. } => {
            format!("somebody took it over; look at it with `punchlist show {number}`.")
        }
        Broken::Cycle { path } => match path.as_slice() {
            // The first link is the one that was refused; the last has been there before.
            [_, .., of, on] => {
                format!("`punchlist edit {of} --not-after {on}` takes the link back there out.")
            }
            _ => "an item cannot depend on itself.".to_owned(),
        },
        Broken::ParentCycle { .. } => {
            "put it under another item, or at the top with `--top`.".to_owned()
        }
        Broken::OpenChild { child } => format!(
            "complete or skip {} first, or run `punchlist done {number} --with-children`.",
            child.number
        ),
        Broken::ParentCompleted { parent } => {
            format!("open that one first with `punchlist reopen {}`.", parent.number)
        }
        Broken::Unverified { .. } => format!(
            "it stays open until the evidence is there; `punchlist show {number}` says what is asked for."
        ),
        Broken::NameTaken { .. } => "choose another name.".to_owned(),
        Broken::Twice { .. } => "leave one of them out.".to_owned(),
    }
}

fn illegal(from: Option<Status>, to: Status, number: &str) -> String {
    match from {
        Some(Status::Completed | Status::Cancelled) => {
            format!("`punchlist reopen {number}` opens it again.")
        }
        Some(Status::InProgress) if to == Status::InProgress => {
            format!("it is in progress already; `punchlist done {number}` finishes it.")
        }
        Some(Status::Pending) if to == Status::Pending => {
            format!("it is pending already; `punchlist start {number}` begins it.")
        }
        Some(Status::Pending | Status::InProgress) | None => {
            format!("`punchlist show {number}` says where it stands.")
        }
    }
}
