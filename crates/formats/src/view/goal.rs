//! A plan's goal in words: a line below a list or a run, what to do next, and the budget. The model
//! decides whether the goal is reached.

use std::collections::BTreeSet;

use punchlist_model::goal::{Missing, Reached};
use punchlist_model::{Goal, Level, Number, Plan, Status, Timestamp};

use super::{Reader, shown};
use crate::text::{Colour, Span, Style, one_line};

/// The lines below a list: the state of the goal, what to do next if it is not met, and whether the
/// budget is exceeded. Empty without a goal.
pub fn footer(plan: &Plan, stale: &BTreeSet<Number>, now: Timestamp, reader: Reader) -> Vec<Span> {
    let (Some(goal), Some(reached)) = (&plan.goal, plan.reached(stale)) else { return Vec::new() };
    let statement = shown(&goal.statement);
    let mut lines = Vec::new();
    match &reached {
        Reached::NotYet => {
            lines.push(Span { text: format!("Goal: {statement}"), style: Style::Plain });
        }
        Reached::Yes => {
            let style = Style::In(Colour::Green);
            lines.push(Span { text: format!("Goal met: {statement}"), style });
        }
        Reached::No(missing) => {
            let style = Style::In(Colour::Yellow);
            let text = format!("Goal not met: {}", why(plan, missing, stale));
            lines.push(Span { text, style });
            lines.push(Span { text: next(plan, missing, reader), style: Style::Plain });
        }
    }
    if plan.is_over_budget(now) {
        let text = format!("Over budget: {}", minutes(plan, now));
        lines.push(Span { text, style: Style::In(Colour::Yellow) });
    }
    lines
}

/// The footer as text. Empty for a goal that has nothing to report yet.
pub fn news(plan: &Plan, stale: &BTreeSet<Number>, now: Timestamp, reader: Reader) -> String {
    let is_early = plan.reached(stale) == Some(Reached::NotYet);
    let lines = footer(plan, stale, now, reader).into_iter().skip(usize::from(is_early));
    lines.map(|it| it.text + "\n").collect()
}

/// The state of the goal, in a word if possible: `no: 4 was cancelled, 5 is unverified`.
pub fn standing(plan: &Plan, stale: &BTreeSet<Number>) -> Option<String> {
    Some(match plan.reached(stale)? {
        Reached::NotYet => "not yet".to_owned(),
        Reached::Yes => match plan.goal.as_ref().and_then(|it| it.met.as_ref()) {
            Some(met) => format!("yes, {} by {}", met.level.as_str(), shown(&met.by)),
            None => "yes".to_owned(),
        },
        Reached::No(missing) => format!("no: {}", why(plan, &missing, stale)),
    })
}

/// The known parts of the budget: `12 of 90 minutes`.
pub fn budget(plan: &Plan, now: Timestamp) -> Vec<String> {
    let Some(goal) = &plan.goal else { return Vec::new() };
    let over = if plan.is_over_budget(now) { ": over budget" } else { "" };
    let counted_elsewhere = |most: u64, unit: &str| format!("{most} {unit}, counted only by `do`");
    let parts = [
        goal.budget.tokens.map(|it| counted_elsewhere(it, "tokens")),
        goal.budget.turns.map(|it| counted_elsewhere(u64::from(it), "turns")),
        goal.budget.minutes.map(|_| format!("{}{over}", minutes(plan, now))),
    ];
    parts.into_iter().flatten().collect()
}

fn minutes(plan: &Plan, now: Timestamp) -> String {
    let most = plan.goal.as_ref().and_then(|it| it.budget.minutes).unwrap_or_default();
    format!("{} of {most} minutes", plan.minutes_spent(now).unwrap_or_default())
}

fn why(plan: &Plan, missing: &[Missing], stale: &BTreeSet<Number>) -> String {
    let reasons: Vec<String> = missing.iter().map(|it| reason(plan, *it, stale)).collect();
    reasons.join(", ")
}

/// Why one thing is missing: `4 was cancelled`.
pub fn reason(plan: &Plan, missing: Missing, stale: &BTreeSet<Number>) -> String {
    match missing {
        Missing::GivenUp(number) => format!("{number} was {}", given_up(plan, number)),
        Missing::Unchecked(number) if stale.contains(&number) => format!("{number} is stale"),
        Missing::Unchecked(number) => format!("{number} is unverified"),
        Missing::Failed(number) => format!("the check of {number} failed"),
        Missing::Unapproved(number) => format!("{number} is not approved"),
        Missing::Word => "nobody has said so".to_owned(),
    }
}

/// What became of an item that was given up.
pub fn given_up(plan: &Plan, number: Number) -> &'static str {
    let cancelled = plan.get(number).is_some_and(|it| it.status == Status::Cancelled);
    if cancelled { "cancelled" } else { "dropped" }
}

/// The command that fixes what is missing. An agent is told to ask its user for what only a person
/// may do.
pub fn command(plan: &Plan, missing: Missing, reader: Reader) -> String {
    match missing {
        Missing::GivenUp(number) => match plan.get(number) {
            Some(item) if !item.is_superseded() => format!("punchlist reopen {number}"),
            Some(_) | None => "punchlist add".to_owned(),
        },
        // The failed check may have been removed since; then there is nothing to run.
        Missing::Unchecked(number) | Missing::Failed(number)
            if plan.get(number).is_some_and(|it| it.check.is_some()) =>
        {
            format!("punchlist verify {number}")
        }
        Missing::Unchecked(number) | Missing::Failed(number) | Missing::Unapproved(number) => {
            match reader {
                Reader::Person => format!("punchlist approve {number}"),
                Reader::Agent => format!("ask your user to approve {number}"),
            }
        }
        Missing::Word if may_say_met(plan, reader) => "punchlist goal --met".to_owned(),
        Missing::Word => "ask your user whether it is met".to_owned(),
    }
}

/// Whether the reader may state that the goal is met.
fn may_say_met(plan: &Plan, reader: Reader) -> bool {
    reader == Reader::Person || plan.is_word_enough(Some(Level::Reported))
}

/// What to do about everything that is missing.
fn next(plan: &Plan, missing: &[Missing], reader: Reader) -> String {
    let mut commands: Vec<String> = Vec::new();
    for one in missing {
        let command = command(plan, *one, reader);
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let met = command(plan, Missing::Word, reader);
    match (commands == [met.as_str()], may_say_met(plan, reader)) {
        (true, true) => format!("If it is: {met}"),
        (true, false) => format!("Next: {met}"),
        (false, true) => {
            format!("Next: {}; if it is met all the same: {met}", commands.join(", "))
        }
        (false, false) => format!(
            "Next: {}; whether it is met all the same is for your user to say",
            commands.join(", ")
        ),
    }
}

fn line(name: &str, value: &str) -> String {
    format!("{name:<13}{value}\n")
}

/// The goal in full: its state, the evidence that it demands of items, and what to do next.
pub fn whole(plan: &Plan, stale: &BTreeSet<Number>, now: Timestamp, reader: Reader) -> String {
    let mut out = String::new();
    match plan.goal.as_deref() {
        None => out.push_str("There is no goal. Say one: punchlist goal \"…\"\n"),
        Some(Goal { statement, acceptance, given_up, .. }) => {
            out.push_str(&line("goal", &one_line(statement)));
            for (name, numbers) in [("accepted by", acceptance), ("given up", given_up)] {
                for number in numbers {
                    out.push_str(&line(name, &with_item(plan, *number)));
                }
            }
            let budget = budget(plan, now);
            if !budget.is_empty() {
                out.push_str(&line("budget", &budget.join("; ")));
            }
            out.push_str(&line("met", &standing(plan, stale).unwrap_or_default()));
        }
    }
    if let Some(level) = plan.rules.demand {
        out.push_str(&line("demands", &format!("{} evidence of every item", level.as_str())));
    }
    if let Some(Reached::No(_)) = plan.reached(stale) {
        // The first line of the footer, what is missing, is already shown above.
        let next = footer(plan, stale, now, reader).into_iter().nth(1);
        out.extend(next.map(|it| it.text + "\n"));
    }
    out
}

/// `4  Publish (completed, checked)`.
fn with_item(plan: &Plan, number: Number) -> String {
    let Some(item) = plan.get(number) else { return number.to_string() };
    let left = item.is_superseded().then(|| "dropped".to_owned());
    let level = item.evidence_level().map(|it| it.as_str().to_owned());
    let words: Vec<String> =
        [Some(item.status.words().to_owned()), level, left].into_iter().flatten().collect();
    format!("{number}  {} ({})", one_line(&item.title), words.join(", "))
}

#[cfg(test)]
mod tests {
    use punchlist_model::{Budget, Item, ItemId, Number, PlanId, Position};

    use super::super::Options;
    use super::*;
    use crate::text::line::to_plain;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    /// A plan whose items have these statuses, with a goal that some of them decide.
    fn plan(statuses: &[Status], acceptance: &[u32]) -> Plan {
        let mut plan = Plan::new(PlanId::NIL, "/p", at(0));
        for (number, status) in (1..).zip(statuses) {
            let id: ItemId = "0199f0a0-0000-7000-8000-000000000000".parse().unwrap();
            let mut item = Item::new(id, Number(number), format!("Item {number}"), at(0));
            item.status = *status;
            item.completed_at = Some(at(95));
            item.position = Some(Position(number));
            plan.items.insert(Number(number), item);
            plan.next_number = Number(number + 1);
        }
        plan.open = plan.recount().1;
        plan.goal = Some(Box::new(Goal {
            statement: "It \u{1b}[31mships".to_owned(),
            acceptance: acceptance.iter().map(|it| Number(*it)).collect(),
            budget: Budget { tokens: Some(1000), turns: None, minutes: Some(90) },
            since: Some(at(0)),
            ..Goal::default()
        }));
        plan
    }

    #[test]
    fn it_stands_below_the_list_at_any_width() {
        use Status::{Cancelled, Completed};
        let mut drawn = String::new();
        for width in [24, 40, 80] {
            let plan = plan(&[Completed, Cancelled], &[1, 2]);
            let options = Options { width, ..Options::plain(at(60)) };
            let list = super::super::list::list(&plan, &options);
            drawn.push_str(&format!("{}\n", to_plain(&list)));
        }
        insta::assert_snapshot!(drawn);
    }

    #[test]
    fn a_goal_is_told_in_a_line_and_what_is_missing_with_what_to_do() {
        use Status::{Cancelled, Completed, Pending};
        let mut told = String::new();
        for (statuses, acceptance, stale) in [
            (&[Completed, Pending][..], &[1][..], &[][..]),
            (&[Completed, Completed], &[2], &[]),
            (&[Completed, Cancelled], &[1, 2, 7], &[]),
            (&[Completed, Completed], &[], &[]),
        ] {
            let plan = plan(statuses, acceptance);
            let stale: BTreeSet<Number> = stale.iter().map(|it| Number(*it)).collect();
            for line in footer(&plan, &stale, at(60), Reader::Person) {
                told.push_str(&format!("{}\n", line.text));
            }
            told.push_str(&format!("- {}\n", standing(&plan, &stale).unwrap()));
            told.push_str(&format!("- {}\n\n", budget(&plan, at(60)).join("; ")));
        }
        insta::assert_snapshot!(told);
        assert_eq!(news(&plan(&[Pending], &[]), &BTreeSet::new(), at(60), Reader::Person), "");
        let over = news(&plan(&[Pending], &[]), &BTreeSet::new(), at(91), Reader::Person);
        assert_eq!(over, "Over budget: 91 of 90 minutes\n");
    }
    #[test]
    fn a_command_that_is_offered_can_work() {
        use punchlist_model::{Check, Origin};
        let mut plan = plan(&[Status::Completed, Status::Completed], &[1, 2]);
        let command = "make test".to_owned();
        let check = Check { command, covers: Vec::new(), origin: Origin::Person };
        plan.items.get_mut(&Number(1)).unwrap().check = Some(check);
        let told = |missing: fn(Number) -> Missing| {
            [1, 2].map(|it| super::command(&plan, missing(Number(it)), Reader::Person))
        };
        let expected = ["punchlist verify 1", "punchlist approve 2"];
        assert_eq!(told(Missing::Unchecked), expected);
        assert_eq!(told(Missing::Failed), expected, "its check was taken away since");
    }
    #[test]
    fn an_agent_is_told_to_ask_its_user_where_a_persons_word_is_needed() {
        let mut plan = plan(&[Status::Completed, Status::Cancelled], &[1, 2]);
        let missing = [Missing::Unapproved(Number(1)), Missing::GivenUp(Number(2))];
        let told = next(&plan, &missing, Reader::Agent);
        assert_eq!(
            told,
            "Next: ask your user to approve 1, punchlist reopen 2; whether it is met all the same is \
             for your user to say"
        );
        assert_eq!(
            next(&plan, &missing, Reader::Person),
            "Next: punchlist approve 1, punchlist reopen 2; if it is met all the same: punchlist goal \
             --met"
        );
        let word = [Missing::Word];
        plan.rules.demand = Some(Level::Checked);
        plan.goal.as_mut().unwrap().acceptance.clear();
        assert_eq!(next(&plan, &word, Reader::Agent), "Next: ask your user whether it is met");
        plan.rules.demand = None;
        assert_eq!(next(&plan, &word, Reader::Agent), "If it is: punchlist goal --met");
    }
}
