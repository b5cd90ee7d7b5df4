//! What a person may type next: items, plans and names of the current project, with a description each.

use std::collections::BTreeSet;

use punchlist_formats::view::plans::called;
use punchlist_model::store::Summary;
use punchlist_model::{Item, Plan, Status};

/// A value, and what it is.
pub type Candidate = (String, String);

/// The items of a plan that make sense for a verb.
pub fn items(plan: &Plan, verb: &str) -> Vec<Candidate> {
    let fits = |item: &&Item| match verb {
        "done" | "start" | "skip" | "wait" => item.is_open(),
        "release" => item.status == Status::InProgress,
        "reopen" => !item.is_open(),
        "verify" => item.check.is_some(),
        _ => true,
    };
    let one = |item: &Item| {
        (item.number.to_string(), format!("{} ({})", item.title, item.status.words()))
    };
    plan.listed().into_iter().filter(fits).map(one).collect()
}

/// Plans, by name if they have one.
pub fn plans(plans: &[Summary]) -> Vec<Candidate> {
    let one = |plan: &Summary| {
        let name = plan.name.clone().unwrap_or_else(|| plan.id.short());
        (name, format!("{} ({} open)", called(plan), plan.open))
    };
    plans.iter().map(one).collect()
}

/// The names of owners and workers of items, and of agents.
pub fn names(plan: &Plan) -> Vec<Candidate> {
    let items = plan.items.values();
    let owners = items.clone().filter_map(|it| it.owner.clone());
    let holders = items.clone().filter_map(|it| Some(it.claim.as_ref()?.holder.name.clone()));
    let kinds = items.filter_map(|it| it.agent_type.clone());
    let names: BTreeSet<String> = owners.chain(holders).chain(kinds).collect();
    names.into_iter().map(|it| (it, String::new())).collect()
}
