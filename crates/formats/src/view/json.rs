//! Plans, items and journal entries as JSON: what `--json` prints.
//!
//! Programs rely on these formats: fields may be added but never renamed. Names are in camelCase;
//! only journal entries keep the names of the store. Every field is always present and `null` if it
//! has no value. Texts are not cleaned; [`render`] escapes them for terminals. [`super::schema`]
//! has the JSON Schema.

use std::collections::BTreeSet;

use punchlist_model::call::{Answer, Answered, Offer, Question, Standing};
use punchlist_model::event::{Delta, PlanDelta};
use punchlist_model::goal::Reached;
use punchlist_model::store::{AttachmentKey, Entry, Summary};
use punchlist_model::{
    Claim, Event, Evidence, Goal, Item, Number, Plan, Progress, Slice, Timestamp,
};
use serde_json::{Map, Value, json};

use super::Reader;
use crate::text::escape;

/// `{plan, items, progress}`: the whole list, in order, without superseded items.
pub fn list(plan: &Plan, attachment: Option<&AttachmentKey>, stale: &BTreeSet<Number>) -> Value {
    json!({
        "plan": header(plan, attachment),
        "items": items(plan, plan.listed(), stale),
        "progress": progress(plan.progress()),
    })
}

/// A question to a person, with its state.
pub fn question(question: &Question) -> Value {
    let asked = &question.asked;
    let (standing, answer) = match &question.standing {
        Standing::Waiting => ("waiting", None),
        Standing::Answered(it) => ("answered", Some(answered(it))),
        Standing::Settled => ("settled", None),
    };
    camel_case(json!({
        "id": asked.id,
        "run": question.run,
        "project": question.project,
        "plan": question.plan,
        "call": asked.call,
        "item": asked.item,
        "title": asked.title,
        "place": asked.place,
        "context": asked.context,
        "tool": asked.tool,
        "server": asked.server,
        "what": asked.what,
        "command": asked.command,
        "diff": asked.diff,
        "touches": asked.touches,
        "printed": asked.printed,
        "why": asked.why,
        "arguments": asked.arguments,
        "offers": asked.offers.iter().map(offer).collect::<Vec<_>>(),
        "asked_at": time(asked.at),
        "standing": standing,
        "answer": answer,
    }))
}

fn offer(offer: &Offer) -> Value {
    let (name, words, rules) = match offer {
        Offer::Once => ("once", None, None),
        Offer::Always(rules) => ("always", None, Some(rules)),
        Offer::AlwaysTool => ("always_tool", None, None),
        Offer::AlwaysPrefix(words) => ("always_prefix", Some(words), None),
        Offer::AlwaysServer => ("always_server", None, None),
        Offer::Modify => ("modify", None, None),
    };
    json!({"answer": name, "words": words, "rules": rules})
}

fn answered(answered: &Answered) -> Value {
    let (mut words, mut arguments, mut reason) = (None, None, None);
    let (mut rules, mut reach) = (None, None);
    let name = match &answered.answer {
        Answer::Once => "once",
        Answer::Session(it) => {
            rules = Some(it);
            "session"
        }
        Answer::Always { rules: it, reach: far } => {
            (rules, reach) = (Some(it), Some(far));
            "always"
        }
        Answer::AlwaysTool => "always_tool",
        Answer::AlwaysPrefix(it) => {
            words = Some(it);
            "always_prefix"
        }
        Answer::AlwaysServer => "always_server",
        Answer::Modify(it) => {
            arguments = Some(it);
            "modify"
        }
        Answer::Refuse(it) => {
            reason = it.as_ref();
            "refuse"
        }
        Answer::RefuseAndStop(it) => {
            reason = it.as_ref();
            "refuse_and_stop"
        }
    };
    json!({
        "answer": name,
        "words": words,
        "rules": rules,
        "reach": reach,
        "arguments": arguments,
        "reason": reason,
        "by": answered.by,
        "at": time(answered.at),
    })
}

/// The plan without its items. `name`, `end`, `goal` and `rules` are present only if they have a
/// value.
pub fn header(plan: &Slice, attachment: Option<&AttachmentKey>) -> Value {
    let mut out = json!({
        "id": plan.id,
        "title": plan.title,
        "revision": plan.revision,
        "project": plan.project,
        "conversation": attachment.map(|it| &it.conversation).filter(|it| !it.is_empty()),
        "turn": attachment.map(|it| &it.turn).filter(|it| !it.is_empty()),
        "agent": attachment.map(|it| &it.agent),
    });
    if let Some(fields) = out.as_object_mut() {
        if let Some(name) = &plan.name {
            fields.insert("name".to_owned(), json!(name));
        }
        if plan.end != punchlist_model::End::Open {
            fields.insert("end".to_owned(), json!(plan.end));
        }
        if let Some(it) = &plan.goal {
            fields.insert("goal".to_owned(), camel_case(goal(it)));
        }
        if plan.rules != punchlist_model::Rules::default() {
            fields.insert("rules".to_owned(), camel_case(json!(plan.rules)));
        }
    }
    out
}

/// One item: its stored and its derived fields. `plan` must contain its dependencies and sub-items.
pub fn item(plan: &Slice, item: &Item, stale: bool) -> Value {
    derived(plan, item, stale, plan.is_ready(item))
}

/// Like [`item`], for many items.
pub fn items<'a>(
    plan: &Plan,
    items: impl IntoIterator<Item = &'a Item>,
    stale: &BTreeSet<Number>,
) -> Vec<Value> {
    let parents = plan.open_parents();
    let made = |it: &Item| {
        derived(plan, it, stale.contains(&it.number), plan.is_ready_among(it, &parents))
    };
    items.into_iter().map(made).collect()
}

fn derived(plan: &Slice, item: &Item, stale: bool, ready: bool) -> Value {
    let mut fields = stored(item);
    fields.insert("ready".to_owned(), json!(ready));
    fields.insert("blocked".to_owned(), json!(plan.is_blocked(item)));
    fields.insert("verification".to_owned(), json!(plan.verification(item, stale)));
    camel_case(Value::Object(fields))
}

/// The value with names in camelCase instead of snake_case. JSON that callers supplied (`metadata`,
/// `arguments`) keeps its names.
pub fn camel_case(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| match name.as_str() {
                "metadata" | "arguments" => (name, value),
                _ => (camel(&name), camel_case(value)),
            })
            .collect(),
        Value::Array(values) => values.into_iter().map(camel_case).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let mut out = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        out.extend(letters.next().map(|it| it.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
    out
}

/// One journal entry, with old and new values.
pub fn entry(entry: &Entry) -> Value {
    json!({
        "plan": entry.plan,
        "revision": entry.revision,
        "at": time(entry.at),
        "actor": entry.actor,
        "kind": entry.kind,
        "undoes": entry.undoes,
        "events": entry.events.iter().map(event).collect::<Vec<_>>(),
    })
}

/// A plan's summary.
pub fn summary(summary: &Summary) -> Value {
    let attachment = summary.attachment.as_ref();
    json!({
        "id": summary.id,
        "title": summary.title,
        "name": summary.name,
        "revision": summary.revision,
        "project": summary.project,
        "conversation": attachment.map(|it| &it.conversation).filter(|it| !it.is_empty()),
        "turn": attachment.map(|it| &it.turn).filter(|it| !it.is_empty()),
        "agent": attachment.map(|it| &it.agent),
        "end": summary.end,
        "archived": summary.archived,
        "open": summary.open,
        "progress": progress(summary.progress),
        "createdAt": time(summary.created_at),
        "updatedAt": time(summary.updated_at),
    })
}

/// `{completed, total, percent}`.
pub fn progress(progress: Progress) -> Value {
    json!(progress)
}

/// A time in RFC 3339, UTC, always with milliseconds.
pub fn time(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// One line of JSON, safe for a terminal: control characters are written as escapes.
pub fn render(value: &Value) -> String {
    escape::json(&value.to_string()).into_owned()
}

fn stored(item: &Item) -> Map<String, Value> {
    let fields = json!({
        "id": item.id,
        "number": item.number,
        "position": item.position,
        "title": item.title,
        "active_form": item.active_form,
        "context": item.context,
        "completion_criteria": item.completion_criteria,
        "agent_type": item.agent_type,
        "owner": item.owner,
        "status": item.status,
        "priority": item.priority,
        "outcome": item.outcome,
        "depends_on": item.depends_on,
        "parent": item.parent,
        "waiting_on": item.waiting_on,
        "check": item.check,
        "run": item.run,
        "approve": item.approve,
        "retry": item.retry,
        "timeout": item.timeout,
        "evidence": evidence(&item.evidence),
        "claim": item.claim.as_ref().map(claim),
        "marks": item.marks,
        "metadata": item.metadata,
        "created_at": time(item.created_at),
        "started_at": item.started_at.map(time),
        "completed_at": item.completed_at.map(time),
        "superseded_at": item.superseded_at.map(time),
    });
    match fields {
        Value::Object(fields) => fields,
        // The literal above is an object.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

fn evidence(all: &[Evidence]) -> Value {
    all.iter()
        .map(|it| json!({ "level": it.level, "at": time(it.at), "by": it.by, "run": it.run }))
        .collect()
}

fn claim(claim: &Claim) -> Value {
    json!({
        "holder": claim.holder,
        "attempt": claim.attempt,
        "expires_at": time(claim.expires_at),
    })
}

/// The stored fields of a goal.
fn goal(goal: &Goal) -> Value {
    let Goal { statement, acceptance, budget, since, given_up, met, author } = goal;
    let met = met.as_ref();
    json!({
        "statement": statement,
        "acceptance": acceptance,
        "budget": budget,
        "since": since.map(time),
        "given_up": given_up,
        "met": met.map(|it| json!({"at": time(it.at), "by": it.by, "level": it.level})),
        "author": author,
    })
}

/// A plan's goal and its state; `null` without a goal. Costs that are not counted are `null`.
pub fn aim(plan: &Plan, stale: &BTreeSet<Number>, now: Timestamp, reader: Reader) -> Value {
    let (Some(stored), Some(reached)) = (&plan.goal, plan.reached(stale)) else {
        return Value::Null;
    };
    let (standing, missing) = match &reached {
        Reached::NotYet => ("open", &[][..]),
        Reached::No(missing) => ("unmet", missing.as_slice()),
        Reached::Yes => ("met", &[][..]),
    };
    let missing = missing.iter().map(|it| {
        json!({
            "item": it.number(),
            "why": super::goal::reason(plan, *it, stale),
            "next": super::goal::command(plan, *it, reader),
        })
    });
    let mut value = camel_case(goal(stored));
    value["standing"] = json!(standing);
    value["missing"] = missing.collect();
    value["spent"] = json!({
        "minutes": plan.minutes_spent(now), "turns": null, "tokens": null,
        "over": plan.is_over_budget(now),
    });
    value
}

fn event(event: &Event) -> Value {
    match event {
        Event::Added { item } => json!({ "event": "added", "item": stored(item) }),
        Event::Changed { number, what, deltas } => json!({
            "event": "changed",
            "number": number,
            "what": what,
            "changes": changes(deltas.iter().map(|it| (it.field().as_str(), delta(it)))),
        }),
        Event::Moved { number, from, to } => {
            json!({ "event": "moved", "number": number, "from": from, "to": to })
        }
        Event::Superseded { number, from, at } => {
            json!({ "event": "superseded", "number": number, "from": from, "at": time(*at) })
        }
        Event::Restored { number, to, superseded_at } => json!({
            "event": "restored",
            "number": number,
            "to": to,
            "superseded_at": time(*superseded_at),
        }),
        Event::PlanChanged { deltas } => json!({
            "event": "plan_changed",
            "changes": changes(deltas.iter().map(|it| (it.field().as_str(), plan_delta(it)))),
        }),
        Event::Forgotten { number } => json!({ "event": "forgotten", "number": number }),
    }
}

fn changes<'a>(changes: impl Iterator<Item = (&'a str, Value)>) -> Value {
    Value::Object(changes.map(|(field, change)| (field.to_owned(), change)).collect())
}

fn delta(delta: &Delta) -> Value {
    let pair = |before: Value, after: Value| json!({ "before": before, "after": after });
    match delta {
        Delta::StartedAt { before, after } | Delta::CompletedAt { before, after } => {
            pair(json!(before.map(time)), json!(after.map(time)))
        }
        Delta::Evidence { before, after } => pair(evidence(before), evidence(after)),
        Delta::Claim { before, after } => {
            pair(json!(before.as_ref().map(claim)), json!(after.as_ref().map(claim)))
        }
        Delta::Title { before, after }
        | Delta::Context { before, after }
        | Delta::CompletionCriteria { before, after } => pair(json!(before), json!(after)),
        Delta::ActiveForm { before, after }
        | Delta::AgentType { before, after }
        | Delta::Owner { before, after }
        | Delta::Outcome { before, after }
        | Delta::WaitingOn { before, after } => pair(json!(before), json!(after)),
        Delta::Priority { before, after }
        | Delta::Retry { before, after }
        | Delta::Timeout { before, after } => pair(json!(before), json!(after)),
        Delta::Status { before, after } => pair(json!(before), json!(after)),
        Delta::DependsOn { before, after } => pair(json!(before), json!(after)),
        Delta::Parent { before, after } => pair(json!(before), json!(after)),
        Delta::Check { before, after } => pair(json!(before), json!(after)),
        Delta::Run { before, after } => pair(json!(before), json!(after)),
        Delta::Approve { before, after } => pair(json!(before), json!(after)),
        Delta::Attempt { before, after } => pair(json!(before), json!(after)),
        Delta::Marks { before, after } => pair(json!(before), json!(after)),
        Delta::Metadata { before, after } => pair(json!(before), json!(after)),
    }
}

fn plan_delta(delta: &PlanDelta) -> Value {
    let pair = |before: Value, after: Value| json!({ "before": before, "after": after });
    match delta {
        PlanDelta::Title { before, after } => pair(json!(before), json!(after)),
        PlanDelta::Name { before, after } => pair(json!(before), json!(after)),
        PlanDelta::Rules { before, after } => pair(json!(before), json!(after)),
        PlanDelta::Goal { before, after } => {
            pair(json!(before.as_deref().map(goal)), json!(after.as_deref().map(goal)))
        }
        PlanDelta::End { before, after } => pair(json!(before), json!(after)),
    }
}
