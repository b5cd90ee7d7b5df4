//! What a form asks for. Pure.

use punchlist_engine::answering;
use punchlist_engine::engine::{ItemText, PlanAct, Step};
use punchlist_engine::fail::Fail;
use punchlist_formats::text::{many_lines, one_line};
use punchlist_formats::view::questions;
use punchlist_model::call::{Answer, Asked, Reach};
use punchlist_model::{Item, ItemRef, Number, Place, Plan};

use crate::http::pairs::Pairs;

/// What a form on the page of a plan asks for.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Wanted {
    /// One act.
    Act(PlanAct),
    /// The texts of an item that were changed, as one change.
    Edit(Vec<PlanAct>),
}

/// Reads a form of the page of a plan.
pub(super) fn wanted(plan: &Plan, form: &Pairs) -> Result<Wanted, Fail> {
    let text = form.get("text").unwrap_or_default().to_owned();
    let act = form.get("act").unwrap_or_default();
    if act == "undo" {
        return Ok(Wanted::Act(PlanAct::Undo));
    }
    if act == "add" && form.given("item").is_none() {
        return Ok(Wanted::Act(PlanAct::Add { title: text, place: Place::Back, parent: None }));
    }
    let item = item_of(plan, form)?;
    let by = ItemRef::Both(item.number, item.id);
    Ok(Wanted::Act(match act {
        "add" if form.get("where") == Some("under") => {
            PlanAct::Add { title: text, place: Place::Back, parent: Some(by) }
        }
        "add" => PlanAct::Add {
            title: text,
            place: Place::After(by),
            parent: item.parent.map(ItemRef::Number),
        },
        "start" => PlanAct::Start(by),
        "done" => PlanAct::Done {
            item: by,
            outcome: text,
            with_children: form.get("with_children") == Some("yes"),
        },
        "skip" => PlanAct::Skip { item: by, reason: text },
        "wait" => PlanAct::Wait { item: by, on: text },
        "resume" => PlanAct::Wait { item: by, on: String::new() },
        "release" => PlanAct::Release(by),
        "reopen" => PlanAct::Reopen(by),
        "verify" => PlanAct::Verify(item.number),
        "approve" => PlanAct::Approve(item.number),
        "up" | "down" => {
            let (step, end) = if act == "up" { (Step::Up, "first") } else { (Step::Down, "last") };
            PlanAct::step(plan, item, step).ok_or_else(|| {
                Fail::refused(format!("item {} is already the {end}", item.number))
            })?
        }
        "edit" => return Ok(Wanted::Edit(edits(item, &by, form))),
        _ => return Err(Fail::usage(format!("{act:?} is no act of this page"))),
    }))
}

/// The item that a form names.
fn item_of<'a>(plan: &'a Plan, form: &Pairs) -> Result<&'a Item, Fail> {
    let number = form.get("item").and_then(|it| it.parse::<Number>().ok());
    let number = number.ok_or_else(|| Fail::usage("the form names no item"))?;
    let item = plan
        .get(number)
        .ok_or_else(|| Fail::not_found(format!("the plan has no item {number}")))?;
    match form.given("item_id") {
        Some(id) if id != item.id.to_string() => {
            Err(Fail::refused(format!("item {number} is another one now"))
                .hint("look at it again."))
        }
        _ => Ok(item),
    }
}

/// The texts that differ from what the form showed.
fn edits(item: &Item, by: &ItemRef, form: &Pairs) -> Vec<PlanAct> {
    // A browser sends line breaks as `\r\n`.
    let sent = |name: &str| form.get(name).map(|it| it.replace("\r\n", "\n"));
    let shown = [
        ("title", ItemText::Title, one_line(&item.title)),
        ("context", ItemText::Context, many_lines(&item.context)),
        ("criteria", ItemText::Criteria, many_lines(&item.completion_criteria)),
    ];
    let mut acts = Vec::new();
    for (name, text_of, shown) in shown {
        if let Some(text) = sent(name).filter(|it| *it != shown) {
            acts.push(PlanAct::Edit { item: by.clone(), text_of, text });
        }
    }
    acts
}

/// Reads an answer to a question: a word, and for some a text.
pub(super) fn answer(asked: &Asked, form: &Pairs) -> Result<Answer, Fail> {
    let word = form.get("answer").unwrap_or_default();
    let with = answering::With { reason: form.given("reason"), everywhere: false };
    let (word, set) = word.split_once(' ').unwrap_or((word, ""));
    let rules = || {
        let sets = questions::sets(asked);
        let set = set.parse::<usize>().ok().and_then(|it| sets.get(it).copied());
        set.map(<[_]>::to_vec).ok_or_else(|| Fail::usage("the question does not offer that rule"))
    };
    let given = match word {
        "always" if !set.is_empty() => Answer::Always { rules: rules()?, reach: Reach::Project },
        "everywhere" => Answer::Always { rules: rules()?, reach: Reach::Everywhere },
        "reason" => match with.reason.map(str::trim).filter(|it| !it.is_empty()) {
            Some(reason) => Answer::Refuse(Some(reason.to_owned())),
            None => {
                return Err(
                    Fail::usage("the reason is empty").hint("say why, or refuse without a reason.")
                );
            }
        },
        // A reason that was typed and not sent with its own button does not count.
        "no" => Answer::Refuse(None),
        "stop" => Answer::RefuseAndStop(None),
        _ => {
            let word = answering::Word::parse(word)
                .ok_or_else(|| Fail::usage(format!("{word:?} is no answer")))?;
            let edited = || {
                let text = form.get("arguments").unwrap_or_default();
                let value = answering::arguments(text)?;
                Ok(Some(value).filter(|it| *it != asked.arguments))
            };
            answering::answer(word, with, asked, edited)?
        }
    };
    answering::check_offered(asked, &given)?;
    Ok(given)
}

#[cfg(test)]
mod tests;
