//! The texts that a model reads when its stop is refused.
//!
//! They are short and exact, and name the model's own tools. They contain no threats and no
//! capitals.

use std::fmt::Write as _;

use punchlist_model::goal::Missing;
use punchlist_model::guard::owes_evidence;
use punchlist_model::{Item, Level, Number, Plan, Status, Verification};

use super::prove::{self, Lacks};
use super::quote::brief;
use super::tools::{Calls, Names, Tools};
use super::wrap::fill;
use crate::view::goal::given_up;

/// Most items that a refusal names.
const MOST_ITEMS: usize = 10;
/// Most columns of a title.
const MOST_TITLE: usize = 100;
/// Most columns of a goal.
const MOST_STATEMENT: usize = 400;
/// How every refusal begins and ends.
const BEGINS: &str = "Not finished: ";
const ENDS: &str = "Then stop.";

/// Whether a text is or contains a refusal of a stop. Some agents give it to the model as a user's
/// prompt.
pub fn is_refusal(text: &str) -> bool {
    let begun = text.find(BEGINS).filter(|at| *at == 0 || text[..*at].ends_with(['\n', ' ', '>']));
    // Lines may be wrapped between any words.
    let words =
        |at: usize| text[at..].split_whitespace().zip(text[at..].split_whitespace().skip(1));
    begun.is_some_and(|at| words(at).any(|(one, other)| ENDS == format!("{one} {other}")))
}

/// Additional sentences of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Also<'a> {
    /// The agent's answer asks a question, but nobody is there to answer it.
    pub unheard: bool,
    /// How to park an item that needs a person, if the agent should know.
    pub park: Option<&'a str>,
}

impl Also<'_> {
    /// The sentences, each followed by a blank.
    fn words(self, what: &str) -> String {
        let mut text = String::new();
        if self.unheard {
            text.push_str("Nobody is here to answer a question. ");
        }
        if let Some(park) = self.park {
            let _ = write!(text, "{what}: {park}. ");
        }
        text
    }
}

/// Why the turn may not end: the items that hold it, and what to do with these tools.
///
/// `held` are the numbers in [`punchlist_model::guard::Verdict::Refuse`]; unknown ones are ignored.
pub fn stop_refusal(plan: &Plan, held: &[Number], tools: &Tools, also: Also<'_>) -> String {
    refusal(plan, held, Calls::plain(tools), also)
}

/// Like [`stop_refusal`], for an agent that has its own names for items. An item without such a
/// name is called `todo` with its number, and is settled with `others`.
pub fn stop_refusal_named(
    plan: &Plan,
    held: &[Number],
    tools: &Tools,
    names: &Names,
    others: &Tools,
    also: Also<'_>,
) -> String {
    refusal(plan, held, Calls::named(tools, names, others), also)
}

fn refusal(plan: &Plan, held: &[Number], calls: Calls<'_>, also: Also<'_>) -> String {
    let Calls { tools, others, .. } = calls;
    let mut items: Vec<&Item> = held.iter().filter_map(|number| plan.get(*number)).collect();
    items.sort_by_key(|item| (item.position, item.number));
    let open = items.iter().filter(|item| item.is_open()).count();
    let unproven: Vec<&Item> =
        items.iter().copied().filter(|item| owes_evidence(plan, item)).collect();

    let mut text = String::from(BEGINS);
    text.push_str(&counts(plan, open, unproven.len()));
    for item in items.iter().take(MOST_ITEMS) {
        let title = brief(&item.title, MOST_TITLE);
        let state = state(plan, item, calls);
        let _ = write!(text, "\n  {}. {title} ({state})", calls.of(item));
    }
    let more = items.len().saturating_sub(MOST_ITEMS);
    if more > 0 {
        let _ = write!(text, "\n  and {more} more");
    }
    let mut advice = String::new();
    let foreign = items.iter().filter(|item| item.is_open() && calls.is_foreign(item)).count();
    let own = open - foreign;
    if open > 0 {
        let them = if open == 1 { "it" } else { "them" };
        let tools = if own > 0 { tools } else { others };
        let _ = write!(advice, "Finish {them}, or {}. ", one_or_each(tools.settle, open));
    }
    if own > 0 && foreign > 0 {
        let settle = one_or_each(others.settle, foreign);
        let _ = write!(advice, "For what is called todo, {settle}. ");
    }
    advice.push_str(&before_completion(plan, &items, calls));
    if !unproven.is_empty() {
        let how = prove::check(&unproven, |items| names(plan, items, calls));
        let _ = write!(advice, "What is completed counts once it was checked{how} ");
    }
    advice.push_str(&also.words("What needs a person can wait without holding you"));
    advice.push_str(ENDS);
    text.push('\n');
    text.push_str(&fill(&advice));
    text
}

/// What must happen to open items before the tools can complete them.
fn before_completion(plan: &Plan, items: &[&Item], calls: Calls<'_>) -> String {
    let lacking = |what: Lacks| -> Vec<&Item> {
        let is_it = |it: &&Item| it.is_open() && Lacks::of(plan, it) == Some(what);
        items.iter().copied().filter(is_it).collect()
    };
    let mut text = String::new();
    let unchecked = lacking(Lacks::Check);
    if !unchecked.is_empty() {
        let (are, they) = if unchecked.len() == 1 { ("is", "it") } else { ("are", "they") };
        let how = prove::check(&unchecked, |items| names(plan, items, calls));
        let names = names(plan, &unchecked, calls);
        let _ = write!(text, "Before {names} {are} completed, {they} must be checked{how} ");
    }
    let unapproved = lacking(Lacks::Person);
    if !unapproved.is_empty() {
        let reached = unapproved.iter().any(|it| !calls.is_foreign(it));
        let tools = if reached { calls.tools } else { calls.others };
        let how = prove::approve(&unapproved, tools.wait);
        let names = names(plan, &unapproved, calls);
        let _ = write!(text, "Only a person can approve {names}: when the work is done, {how} ");
    }
    text
}

/// Why a task cannot be completed yet: the evidence that its plan demands, and how to get it.
pub fn completion_refusal(item: &Item) -> String {
    let advice = prove::check(&[item], |_| "it".to_owned());
    format!("Not yet: this task counts as completed once it was checked{advice} Then complete it.")
}

/// Why the turn may not end although no item is open: the goal, and what is missing. `say_met` is how
/// the agent says that the goal is met, where its word is enough.
pub fn goal_refusal(plan: &Plan, missing: &[Missing], say_met: &str, also: Also<'_>) -> String {
    let statement = plan.goal.as_ref().map(|it| it.statement.as_str()).unwrap_or_default();
    let mut text = format!(
        "{BEGINS}every item is settled, but the goal is not met yet.\n  Goal: {}",
        brief(statement, MOST_STATEMENT)
    );
    for number in missing.iter().filter_map(|it| it.number()).take(MOST_ITEMS) {
        let title = plan.get(number).map(|it| brief(&it.title, MOST_TITLE)).unwrap_or_default();
        let _ = write!(text, "\n  {number}. {title} ({})", given_up(plan, number));
    }
    let items = missing.iter().any(|it| it.number().is_some());
    let word;
    let advice = if items {
        "The goal is accepted by these items. Take up again what was given up, or put what does the \
         same on the list and do it. If it is to stay as it is, say why. "
    } else if !plan.is_word_enough(Some(Level::Reported)) {
        "Compare what was done with it. Put what is missing on the list and do it. If nothing is \
         missing, a person says so: ask the user whether the goal is met. "
    } else {
        word = format!(
            "Compare what was done with it. Put what is missing on the list and do it. If nothing is \
             missing, {say_met}. "
        );
        &word
    };
    text.push('\n');
    let also = also.words("What needs a person goes on the list and waits there");
    text.push_str(&fill(&format!("{advice}{also}{ENDS}")));
    text
}

/// The advice of a set of tools is written for several items; this adapts it to one.
fn one_or_each(advice: &str, open: usize) -> String {
    if open == 1 { advice.replacen("became of each", "became of it", 1) } else { advice.to_owned() }
}

fn counts(plan: &Plan, open: usize, unproven: usize) -> String {
    let of = match plan.placed {
        1 => "of 1 item".to_owned(),
        placed => format!("of {placed} items"),
    };
    let mut parts = Vec::new();
    if open > 0 {
        let are = if open == 1 { "is" } else { "are" };
        parts.push(format!("{open} {of} {are} open"));
    }
    if unproven > 0 {
        let lack = if unproven == 1 { "lacks" } else { "lack" };
        let of = if open > 0 { String::new() } else { format!("{of} ") };
        parts.push(format!("{unproven} {of}{lack} evidence"));
    }
    if parts.is_empty() {
        parts.push("items are open".to_owned());
    }
    let mut text = parts.join(", ");
    text.push('.');
    // Given only if the count would otherwise contradict the list that the model sees.
    let excused = usize::try_from(plan.open).unwrap_or(usize::MAX).saturating_sub(open);
    if excused > 0 {
        let _ = write!(text, " Another {excused} may stay open for now.");
    }
    text
}

fn state(plan: &Plan, item: &Item, calls: Calls<'_>) -> String {
    let tools = calls.tools;
    let status = tools.status.of(item.status);
    if !item.is_open() {
        let why = if plan.verification(item, false) == Verification::Failed {
            "its check failed"
        } else {
            "not checked"
        };
        return format!("{status}, {why}");
    }
    let blockers: Vec<&Item> = plan.blockers(item).collect();
    let (cancelled, open): (Vec<&Item>, Vec<&Item>) =
        blockers.into_iter().partition(|it| it.status == Status::Cancelled);
    if !cancelled.is_empty() {
        let gone = tools.status.of(Status::Cancelled);
        format!("{status}, after {}, which was {gone}", names(plan, &cancelled, calls))
    } else if !open.is_empty() {
        format!("{status}, after {}", names(plan, &open, calls))
    } else if plan.verification(item, false) == Verification::Failed {
        format!("{status}, its check failed")
    } else if plan.is_ready(item) {
        format!("{status}, ready")
    } else {
        status.to_owned()
    }
}

fn names(plan: &Plan, items: &[&Item], calls: Calls<'_>) -> String {
    let numbers: Vec<Number> = items.iter().map(|item| item.number).collect();
    calls.list(plan, &numbers)
}
