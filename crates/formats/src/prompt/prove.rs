//! Tells an agent how items get the evidence that they lack.
//!
//! The texts name only verbs that work when an agent runs them, and say what only a person can do.
//! Nothing is run or decided here.

use std::fmt::Write as _;

use punchlist_model::{Item, Level, Origin, Slice, Verification};

/// Most numbers in a command line.
const MOST_NUMBERS: usize = 10;

/// What an item lacks before it counts as completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lacks {
    /// A check that passed.
    Check,
    /// A person's approval, which no agent can give.
    Person,
}

impl Lacks {
    pub(crate) fn of(plan: &Slice, item: &Item) -> Option<Self> {
        let failed = match plan.verification(item, false) {
            Verification::Required => false,
            Verification::Failed => true,
            Verification::None | Verification::Passed | Verification::Stale => return None,
        };
        Some(Self::demanded(item, plan.demanded(item), failed))
    }

    /// What an item lacks if it is known that evidence is missing. The agent must fix a failed
    /// check before a person is asked.
    pub(crate) fn demanded(item: &Item, demanded: Option<Level>, failed: bool) -> Self {
        if demanded == Some(Level::Approved) && !(failed && item.check.is_some()) {
            Self::Person
        } else {
            Self::Check
        }
    }
}

/// How to check items; follows words such as "once it was checked". `verify` checks all items that
/// it is given or none, so items without a check, or with one that it may refuse to run, are not
/// named together with others.
pub(crate) fn check(unproven: &[&Item], named: impl Fn(&[&Item]) -> String) -> String {
    let with = |origin: Option<Origin>| -> Vec<&Item> {
        let is_it = |item: &&Item| item.check.as_ref().map(|check| check.origin) == origin;
        unproven.iter().copied().filter(is_it).collect()
    };
    let mut text = match with(Some(Origin::Person)).as_slice() {
        [] => ".".to_owned(),
        trusted => format!(": run `punchlist verify {}`.", numbers(trusted)),
    };
    let own = with(Some(Origin::Agent));
    if !own.is_empty() {
        let (names, all) = (named(&own), numbers(&own));
        let _ = write!(
            text,
            " An agent wrote the check for {names}: run `punchlist verify {all}`, which a rule of the \
             user's must allow, or ask the user to approve {names}."
        );
    }
    let bare = with(None);
    let (it, number) = match bare.as_slice() {
        [] => return text,
        [one] => ("it", one.number.to_string()),
        [..] => ("each", "N".to_owned()),
    };
    let (names, all) = (named(&bare), numbers(&bare));
    // An agent that has its own names for items would take those names for N.
    let typed = all.replace(' ', ", ");
    let is_clear = bare.len() == 1 || names.starts_with(&typed);
    let which = if is_clear { String::new() } else { format!(" (N is one of {typed})") };
    let _ = write!(
        text,
        " There is no check for {names}: give {it} one with `punchlist edit {number} --verify \
         COMMAND`{which} and run `punchlist verify {number}`, which a rule of the user's must allow, \
         or ask the user to approve {names}."
    );
    text
}

/// What an agent does about open items that a person must approve: ask, and let them wait. `wait`
/// says how its tools do that; otherwise the verb does it.
pub(crate) fn approve(items: &[&Item], wait: Option<&str>) -> String {
    let (them, number) = match items {
        [one] => ("it", one.number.to_string()),
        [..] => ("them", "N".to_owned()),
    };
    let verb = format!("`punchlist wait {number} \"{}\"`", Item::APPROVAL);
    let (all, wait) = (numbers(items), wait.unwrap_or(&verb));
    format!("ask the user to approve {all}, and let {them} wait until then: {wait}.")
}

fn numbers(items: &[&Item]) -> String {
    let numbers = items.iter().take(MOST_NUMBERS).map(|item| item.number.to_string());
    numbers.collect::<Vec<String>>().join(" ")
}
