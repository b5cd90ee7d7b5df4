//! A plan in a file: a header line, a line an item, a line a journal entry.
//!
//! Texts are exact. What comes in is believed only if it adds up: the journal, replayed from
//! nothing, must give the items and the header, and each step must fit the plan as it then is. So a
//! file that somebody wrote by hand cannot bring in a plan that no sequence of changes leads to.

mod replay;

use punchlist_formats::text::escape;
use punchlist_model::store::Entry;
use punchlist_model::{End, Goal, Item, Number, Plan, PlanId, Revision, Rules, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::Fail;

/// The format's version. A file of a later one is refused.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    Plan(Box<Header>),
    Item(Box<Item>),
    Entry(Box<Entry>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    id: PlanId,
    project: String,
    name: Option<String>,
    title: String,
    revision: Revision,
    rules: Rules,
    goal: Option<Goal>,
    end: End,
    created_at: Timestamp,
    updated_at: Timestamp,
    next_number: Number,
}

/// The file of a whole plan.
pub(crate) fn write(plan: &Plan, journal: Vec<Entry>) -> Result<String, Fail> {
    let header = Header {
        version: VERSION,
        id: plan.id,
        project: plan.project.clone(),
        name: plan.name.clone(),
        title: plan.title.clone(),
        revision: plan.revision,
        rules: plan.rules,
        goal: plan.goal.clone(),
        end: plan.end,
        created_at: plan.created_at,
        updated_at: plan.updated_at,
        next_number: plan.next_number,
    };
    let items = plan.items.values().map(|item| Line::Item(Box::new(item.clone())));
    let entries = journal.into_iter().map(|entry| Line::Entry(Box::new(entry)));
    let mut out = String::new();
    for line in std::iter::once(Line::Plan(Box::new(header))).chain(items).chain(entries) {
        let json = serde_json::to_string(&line)
            .map_err(|why| Fail::ours(format!("the plan cannot be written: {why}")))?;
        // The same JSON, but nothing in it acts on a terminal.
        out.push_str(&escape::json(&json));
        out.push('\n');
    }
    Ok(out)
}

/// Reads a file and holds it against itself.
pub(crate) fn read(text: &str) -> Result<(Plan, Vec<Entry>), Fail> {
    let mut plan: Option<Plan> = None;
    let mut journal: Vec<(usize, Entry)> = Vec::new();
    for (n, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |why: String| bad(n, &why);
        if has_nul(line) {
            return Err(wrong("a text contains a NUL character".to_owned()));
        }
        let line: Line = serde_json::from_str(line).map_err(|why| wrong(why.to_string()))?;
        match (line, &mut plan) {
            (Line::Plan(header), None) => plan = Some(begin(*header).map_err(wrong)?),
            (Line::Plan(_), Some(_)) => return Err(wrong("a second header".to_owned())),
            (Line::Item(_) | Line::Entry(_), None) => {
                return Err(wrong("the header has to come first".to_owned()));
            }
            (Line::Item(item), Some(plan)) => {
                if !journal.is_empty() {
                    return Err(wrong("an item behind the journal".to_owned()));
                }
                let number = item.number;
                if plan.items.insert(number, *item).is_some() {
                    return Err(wrong(format!("item {number} for the second time")));
                }
            }
            (Line::Entry(entry), Some(_)) => journal.push((n, *entry)),
        }
    }
    let Some(mut plan) = plan else {
        return Err(Fail::usage("the file is empty").hint("make one with `punchlist export`."));
    };
    (plan.placed, plan.open) = plan.recount();
    replay::check(&plan, &journal)?;
    Ok((plan, journal.into_iter().map(|(_, entry)| entry).collect()))
}

fn begin(header: Header) -> Result<Plan, String> {
    if header.version != VERSION {
        return Err(format!("format {}; this version reads format {VERSION}", header.version));
    }
    let mut plan = Plan::new(header.id, header.project, header.created_at);
    plan.name = header.name;
    plan.title = header.title;
    plan.revision = header.revision;
    plan.rules = header.rules;
    plan.goal = header.goal;
    plan.end = header.end;
    plan.updated_at = header.updated_at;
    plan.next_number = header.next_number;
    Ok(plan)
}

/// Whether a line of JSON has an escaped NUL in it. A raw one is no JSON.
fn has_nul(line: &str) -> bool {
    line.match_indices("\\u0000").any(|(at, _)| {
        let before = line[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        before % 2 == 0
    })
}

/// A line that cannot be.
fn bad(line: usize, why: &str) -> Fail {
    Fail::usage(format!("line {line}: {why}"))
        .hint("only a file of `punchlist export` can be imported.")
}
