//! Hints for broken rules, in terms of the verbs.
//!
//! The model says what is wrong; each front end says in its own words what to do next. Hints are
//! whole sentences.

use punchlist_model::{Broken, Level, Problem, Status, Tag};

/// The hint for an agent if only a person may take the next step.
pub const ASK_USER: &str = "ask your user: it needs their own word.";

/// The hint for an agent, if it differs from that for a person.
pub(super) fn for_agent(problem: &Problem) -> Option<String> {
    if let Broken::Blocked { by, .. } = &problem.broken {
        let number = problem.item.as_ref().map(|tag| tag.number.to_string());
        let number = number.unwrap_or_else(|| "ITEM".to_owned());
        return Some(past(&number, by, "only a person may override that."));
    }
    let is_for_person = matches!(
        problem.broken,
        Broken::Unverified { demanded: Level::Approved, .. } | Broken::PersonsApproval
    );
    is_for_person.then(|| ASK_USER.to_owned())
}

/// The hint for this problem.
pub(super) fn of(problem: &Problem) -> String {
    let item = problem.item.as_ref();
    let number = item.map_or_else(|| "ITEM".to_owned(), |tag| tag.number.to_string());
    match &problem.broken {
        Broken::NotFound { .. } => "`punchlist list --all` shows every number.".to_owned(),
        Broken::Ambiguous { .. } => "type more of the id, or use the number.".to_owned(),
        Broken::Superseded => {
            format!("`punchlist show {number}` still shows it; `punchlist add` adds it again.")
        }
        Broken::EmptyTitle { .. } => {
            "say what is to be done, as in `punchlist add \"Fix the tests\"`.".to_owned()
        }
        Broken::EmptyText { .. } => {
            format!("say what it is, as in `punchlist wait {number} \"the review\"`.")
        }
        Broken::TooLong { field, .. } => {
            let key = if matches!(*field, "title" | "active form") { "title" } else { "text" };
            format!("shorten it, or allow more with `-c limits.{key}=N`.")
        }
        Broken::Nul { .. } => "take the NUL character out.".to_owned(),
        Broken::TooDeep { .. } => "make it flatter, or keep it in a file and name that.".to_owned(),
        Broken::PersonsApproval => format!("a person approves it: `punchlist approve {number}`."),
        Broken::PersonsGoal => "ask your user: the goal is theirs.".to_owned(),
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
            // The first link is the one that was refused; the last one was there before.
            [_, .., of, on] => {
                format!("`punchlist edit {of} --not-after {on}` removes that dependency.")
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
        Broken::Blocked { to, by } => blocked(&number, *to, by),
        Broken::ParentCompleted { parent } => {
            format!("open that one first with `punchlist reopen {}`.", parent.number)
        }
        Broken::Unverified { demanded: Level::Approved, .. } => format!(
            "a person approves it at a terminal: `punchlist approve {number}`; `punchlist show {number}` says what is asked for."
        ),
        Broken::Unverified { .. } => format!(
            "run its check with `punchlist verify {number}`; without one, give it one: `punchlist edit {number} --verify \"…\"`."
        ),
        Broken::NameTaken { .. } => "choose another name.".to_owned(),
        Broken::Twice { .. } => "leave one of them out.".to_owned(),
        Broken::Conflict(_) => {
            "look at it with `punchlist list`, then send the list again.".to_owned()
        }
    }
}

/// The hint for a blocked item: first finish what blocks it, or remove a cancelled dependency.
fn blocked(number: &str, to: Status, by: &[Tag]) -> String {
    let verb = if to == Status::InProgress { "start" } else { "done" };
    let anyway = format!("a person may say `punchlist {verb} {number} --anyway`.");
    past(number, by, &anyway)
}

/// What blocks the item, followed by who may override that.
fn past(number: &str, by: &[Tag], anyway: &str) -> String {
    let cancelled = by.iter().find(|tag| tag.status == Status::Cancelled);
    match (cancelled, by.first()) {
        (Some(tag), _) => format!(
            "`punchlist edit {number} --not-after {}` removes the dependency; {anyway}",
            tag.number
        ),
        (None, Some(tag)) => format!("finish {} first; {anyway}", tag.number),
        (None, None) => anyway.to_owned(),
    }
}

fn illegal(from: Option<Status>, to: Status, number: &str) -> String {
    match from {
        Some(Status::Completed | Status::Cancelled) => {
            format!("`punchlist reopen {number}` opens it again.")
        }
        Some(Status::InProgress) if to == Status::InProgress => {
            format!(
                "`punchlist done {number}` finishes it, `punchlist release {number}` puts it back."
            )
        }
        Some(Status::Pending) if to == Status::Pending => {
            format!("`punchlist start {number}` begins it.")
        }
        Some(Status::Pending | Status::InProgress) | None => {
            format!("`punchlist show {number}` shows its status.")
        }
    }
}

#[cfg(test)]
mod tests {
    use punchlist_model::refusal::Sides;
    use punchlist_model::{Attempt, Level, Number, Refusal, Revision, Timestamp};

    use super::*;
    use crate::fail::Fail;

    /// One example of each rule that can be broken.
    fn rules() -> Vec<Broken> {
        let tag = |number, title: &str, status| Tag {
            number: Number(number),
            title: title.to_owned(),
            status,
        };
        let other = tag(5, "Write the backfill", Status::InProgress);
        let what = "7".to_owned();
        vec![
            Broken::NotFound { what: what.clone() },
            Broken::Ambiguous { what, candidates: vec![Number(2), Number(4)] },
            Broken::Superseded,
            Broken::EmptyTitle { entry: 0 },
            Broken::EmptyText { field: "reason to wait" },
            Broken::TooLong { field: "title", length: 501, most: 500 },
            Broken::TooLong { field: "context", length: 20_001, most: 20_000 },
            Broken::Nul { field: "title" },
            Broken::TooManyOpen { open: 99, adding: 2, most: 100 },
            Broken::Illegal { to: Status::Completed, legal: vec![Status::Pending] },
            Broken::NotOpen,
            Broken::AlreadyInProgress {
                holder: other.clone(),
                by: Some("ann".to_owned()),
                most: 1,
            },
            Broken::HeldByOther { holder: "ann".to_owned(), until: Timestamp::UNIX_EPOCH },
            Broken::StaleAttempt { yours: Attempt(1), current: Attempt(2) },
            Broken::Cycle { path: vec![Number(3), Number(5), Number(4), Number(3)] },
            Broken::Cycle { path: vec![Number(3), Number(3)] },
            Broken::ParentCycle { path: vec![Number(3), Number(5), Number(3)] },
            Broken::OpenChild { child: other.clone() },
            Broken::Blocked { to: Status::InProgress, by: vec![other.clone()] },
            Broken::Blocked {
                to: Status::Completed,
                by: vec![other.clone(), tag(6, "Choose a name", Status::Cancelled)],
            },
            Broken::TooDeep { field: "metadata" },
            Broken::PersonsGoal,
            Broken::PersonsApproval,
            Broken::ParentCompleted { parent: other },
            Broken::Unverified { demanded: Level::Checked, failed: false },
            Broken::Unverified { demanded: Level::Checked, failed: true },
            Broken::NameTaken { name: "release".to_owned() },
            Broken::Twice { entries: vec![0, 2] },
            Broken::Conflict(Box::new(Sides {
                field: "title",
                yours: "mine".to_owned(),
                theirs: "theirs".to_owned(),
                by: "ann".to_owned(),
                revision: Revision(7),
            })),
        ]
    }

    #[test]
    fn every_broken_rule_says_what_to_do_next() {
        let tag = Tag {
            number: Number(3),
            title: "Migrate the table".to_owned(),
            status: Status::Completed,
        };
        let mut table = String::new();
        for broken in rules() {
            let problem = Problem { entry: 0, item: Some(tag.clone()), broken };
            let fail = Fail::from(Refusal { problems: vec![problem], entries: 1 });
            let hint = fail.hint.unwrap_or_default();
            table.push_str(&format!("error: {}\nhint: {hint}\n\n", fail.message));
        }
        insta::assert_snapshot!(table);
    }
}
