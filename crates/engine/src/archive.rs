//! The file format of exported plans: a header line, one line per item, one line per journal entry.
//! A file can hold several plans, one after the other.
//!
//! Texts are kept exactly. A plan is only accepted if it is consistent: replaying the journal from
//! an empty plan must give the items and the header, and each event must be possible at its place.
//! So a file that somebody wrote by hand cannot bring in a plan that no sequence of changes leads
//! to.

pub mod export;
pub mod import;
pub mod origin;
mod replay;

use punchlist_formats::text::escape;
use punchlist_model::json::{DEEPEST, is_too_deep};
use punchlist_model::store::Entry;
use punchlist_model::{
    Delta, End, Event, Goal, Item, Number, Plan, PlanId, Revision, Rules, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fail::Fail;

/// The version of the format. A file with a later version is refused.
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
    goal: Option<Box<Goal>>,
    end: End,
    created_at: Timestamp,
    updated_at: Timestamp,
    next_number: Number,
}

/// Whether a text looks like the output of [`write()`]: one JSON object per line.
pub fn is_one(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Writes a whole plan in the file format.
pub fn write(plan: &Plan, journal: Vec<Entry>) -> Result<String, Fail> {
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
        // The JSON stays equivalent, but control characters are escaped for terminals.
        out.push_str(&escape::json(&json));
        out.push('\n');
    }
    Ok(out)
}

/// A plan that was read, with its whole journal.
pub type Read = (Plan, Vec<Entry>);

/// Reads a file with one or more plans and checks each for consistency.
pub fn read(text: &str) -> Result<Vec<Read>, Fail> {
    let mut plans: Vec<Read> = Vec::new();
    let mut under_way: Option<Draft> = None;
    for (n, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |why: String| bad(n, &why);
        if has_nul(line) {
            return Err(wrong("a text contains a NUL character".to_owned()));
        }
        let line: Line = serde_json::from_str(line).map_err(|why| wrong(why.to_string()))?;
        if line.is_too_deep() {
            return Err(wrong(format!("metadata is nested more than {DEEPEST} levels deep")));
        }
        match (line, &mut under_way) {
            (Line::Plan(header), before) => {
                let id = header.id;
                let plan = begin(*header).map_err(wrong)?;
                if let Some(draft) = before.replace(Draft { plan, journal: Vec::new() }) {
                    plans.push(draft.finish()?);
                }
                if plans.iter().any(|(plan, _)| plan.id == id) {
                    return Err(wrong("the plan appears twice".to_owned()));
                }
            }
            (Line::Item(_) | Line::Entry(_), None) => {
                return Err(wrong("the header has to come first".to_owned()));
            }
            (Line::Item(item), Some(draft)) => draft.item(*item).map_err(wrong)?,
            (Line::Entry(entry), Some(draft)) => draft.journal.push((n, *entry)),
        }
    }
    let Some(last) = under_way else {
        return Err(Fail::usage("the file is empty").hint("make one with `punchlist export`."));
    };
    plans.push(last.finish()?);
    Ok(plans)
}

/// A plan that is being read.
struct Draft {
    plan: Plan,
    /// The journal entries with their line numbers.
    journal: Vec<(usize, Entry)>,
}

impl Draft {
    fn item(&mut self, item: Item) -> Result<(), String> {
        if !self.journal.is_empty() {
            return Err("an item after the journal".to_owned());
        }
        let number = item.number;
        match self.plan.items.insert(number, item) {
            Some(_) => Err(format!("item {number} appears twice")),
            None => Ok(()),
        }
    }

    fn finish(mut self) -> Result<Read, Fail> {
        (self.plan.placed, self.plan.open) = self.plan.recount();
        replay::check(&self.plan, &self.journal)?;
        Ok((self.plan, self.journal.into_iter().map(|(_, entry)| entry).collect()))
    }
}

impl Line {
    /// Whether metadata is nested deeper than the limit.
    fn is_too_deep(&self) -> bool {
        let is_deep = |metadata: &Option<Map<String, Value>>| {
            metadata.iter().flat_map(Map::values).any(|value| is_too_deep(value, 1))
        };
        let of_delta = |delta: &Delta| {
            let Delta::Metadata { before, after } = delta else { return false };
            is_deep(before) || is_deep(after)
        };
        let of_event = |event: &Event| match event {
            Event::Added { item } => is_deep(&item.metadata),
            Event::Changed { deltas, .. } => deltas.iter().any(of_delta),
            Event::Moved { .. }
            | Event::Superseded { .. }
            | Event::Restored { .. }
            | Event::PlanChanged { .. }
            | Event::Forgotten { .. } => false,
        };
        match self {
            Self::Plan(_) => false,
            Self::Item(item) => is_deep(&item.metadata),
            Self::Entry(entry) => entry.events.iter().any(of_event),
        }
    }
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

/// Whether a line of JSON contains an escaped NUL. A raw NUL would be a JSON error.
fn has_nul(line: &str) -> bool {
    line.match_indices("\\u0000").any(|(at, _)| {
        let before = line[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        before % 2 == 0
    })
}

/// The error for a line that cannot be imported.
fn bad(line: usize, why: &str) -> Fail {
    Fail::usage(format!("line {line}: {why}"))
        .hint("only a file of `punchlist export` can be imported.")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use punchlist_model::id::IdSource;
    use punchlist_model::store::memory::Memory;
    use punchlist_model::store::{Change, NewPlan, PlanStore};
    use punchlist_model::{
        Actor, Ctx, Holder, ItemRef, Limits, ListEntry, Mode, NewItem, Op, Patch, Place, Status,
    };

    use super::*;
    use pollster::block_on;

    /// Something that may happen to a plan: a change, an undo, or erasing a text.
    #[derive(Clone, Debug)]
    enum Step {
        Change(Vec<Op>, Mode),
        Undo,
        Forget(Option<Number>),
    }

    fn item() -> impl Strategy<Value = ItemRef> {
        (1..7_u32).prop_map(|number| ItemRef::Number(Number(number)))
    }

    fn op() -> impl Strategy<Value = Op> {
        let text = "[a-c\u{1b}\u{202e}\\\\\"]{0,4}";
        let add = (text, prop::option::of(item()), prop::collection::vec(item(), 0..2)).prop_map(
            |(title, parent, depends_on)| {
                Op::Add(Box::new(NewItem { title, parent, depends_on, ..NewItem::default() }))
            },
        );
        let status = prop::sample::select(Status::ALL.to_vec());
        let entry = (text, status).prop_map(|(title, status)| ListEntry::titled(title, status));
        prop_oneof![
            4 => add,
            1 => item().prop_map(Op::Start),
            1 => Just(Op::Next),
            1 => (item(), any::<bool>()).prop_map(|(item, with_children)| Op::Complete {
                item,
                outcome: Some("well".to_owned()),
                with_children
            }),
            1 => item().prop_map(|item| Op::Cancel { item, reason: None }),
            1 => item().prop_map(Op::Release),
            1 => (item(), any::<bool>()).prop_map(|(item, start)| Op::Reopen { item, start }),
            1 => item().prop_map(|item| Op::Wait { item, on: "ann".to_owned() }),
            1 => (item(), text).prop_map(|(item, title)| {
                let patch = Patch { title: Some(title), ..Patch::default() };
                Op::Edit { item, patch: Box::new(patch) }
            }),
            1 => (item(), item()).prop_map(|(item, to)| Op::Move { item, to: Place::Before(to) }),
            1 => item().prop_map(Op::Supersede),
            1 => prop::collection::vec(entry, 0..4).prop_map(Op::ReplaceAll),
        ]
    }

    fn step() -> impl Strategy<Value = Step> {
        let mode = prop_oneof![Just(Mode::Enforced), Just(Mode::Recorded)];
        prop_oneof![
            12 => (prop::collection::vec(op(), 1..3), mode).prop_map(|(ops, mode)| Step::Change(ops, mode)),
            2 => Just(Step::Undo),
            1 => prop::option::of(1..7_u32).prop_map(|it| Step::Forget(it.map(Number))),
        ]
    }

    /// Creates a plan with a history, and returns its journal.
    fn lived(steps: Vec<Step>) -> (Plan, Vec<Entry>) {
        let store = Memory::new();
        let at = Timestamp::UNIX_EPOCH;
        let id = PlanId(IdSource::fixed(at, 0xff).nth(0));
        let new = NewPlan {
            made_for: None,
            id,
            project: "/p".to_owned(),
            name: Some("release".to_owned()),
            title: String::new(),
            rules: Rules::default(),
            at,
        };
        block_on(store.create(new)).unwrap();
        for (n, step) in (1_u8..).zip(steps) {
            let now = Timestamp::from_second(i64::from(n) * 600).unwrap();
            let name = if n % 3 == 0 { "ann" } else { "bob" };
            let ctx = |mode| Ctx {
                now,
                ids: IdSource::fixed(now, n),
                actor: Actor::person(name),
                holder: Holder::named(name),
                attempt: None,
                base: None,
                mode,
                limits: Limits::default(),
                gone: Vec::new(),
                anyway: false,
            };
            // Many of these changes are refused. That is fine: only the accepted ones matter.
            match step {
                Step::Change(ops, mode) => {
                    block_on(store.change(id, Change::new(ops, ctx(mode)))).ok();
                }
                Step::Undo => {
                    block_on(store.undo(id, ctx(Mode::Enforced), None)).ok();
                }
                Step::Forget(number) => {
                    block_on(store.forget(id, number.map(ItemRef::Number), ctx(Mode::Enforced)))
                        .ok();
                }
            }
        }
        let plan = block_on(store.whole(id)).unwrap();
        (plan, block_on(store.journal(id, Revision(0), u32::MAX)).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn whatever_happened_to_a_plan_it_comes_back_as_it_was(steps in prop::collection::vec(step(), 0..20)) {
            let (plan, journal) = lived(steps);
            let text = write(&plan, journal.clone()).unwrap();
            let all = read(&text).map_err(|fail| TestCaseError::fail(fail.message))?;
            let [(again, entries)] = <[Read; 1]>::try_from(all).unwrap();
            prop_assert_eq!(again, plan);
            prop_assert_eq!(entries, journal);
        }

        #[test]
        fn a_file_cut_or_damaged_anywhere_never_panics(
            steps in prop::collection::vec(step(), 0..6),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let (plan, journal) = lived(steps);
            let mut bytes = write(&plan, journal).unwrap().into_bytes();
            let at = at.index(bytes.len());
            drop(read(&String::from_utf8_lossy(&bytes[..at])));
            bytes[at] = byte;
            drop(read(&String::from_utf8_lossy(&bytes)));
        }
    }
}
