//! Properties of whole-list writes, over every plan and whatever others changed meanwhile.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::item::CheckRun;

use super::properties::{change, context, entry};
use super::world::epoch;
use crate::command::{ItemRef, ListEntry, NewItem, Op, Patch};
use crate::decide::decide_since;
use crate::store::{Entry, Kind};
use crate::{
    Decision, Event, IdSource, Item, Level, Number, Plan, PlanId, Refusal, Revision, Status,
    Warning, decide,
};

/// A plan with its journal.
struct Kept {
    plan: Plan,
    journal: Vec<Entry>,
}

impl Kept {
    fn new() -> Self {
        let id = PlanId(IdSource::fixed(epoch(), 0).nth(0));
        Self { plan: Plan::new(id, "/p", epoch()), journal: Vec::new() }
    }

    fn commit(&mut self, decision: &Decision, worker: u8) {
        if decision.events.is_empty() {
            return;
        }
        decision.events.iter().for_each(|event| self.plan.evolve(event));
        self.plan.revision.0 += 1;
        self.journal.push(Entry {
            plan: self.plan.id,
            revision: self.plan.revision,
            at: epoch(),
            actor: crate::Actor::agent(format!("w{worker}")),
            kind: Kind::Edit,
            undoes: None,
            events: decision.events.clone(),
        });
    }

    fn play(&mut self, changes: Vec<(Vec<Op>, u8, u8, bool)>) {
        for (ops, worker, _, recorded) in changes {
            let ctx = context(self.journal.len(), worker, 0, recorded);
            if let Ok(decision) = decide(&self.plan, &ops, &ctx) {
                self.commit(&decision, worker);
            }
        }
    }

    /// A whole-list write by a caller that was last shown the plan at `base`.
    fn write(
        &self,
        entries: &[ListEntry],
        base: usize,
        recorded: bool,
    ) -> Result<Decision, Refusal> {
        let ctx = context(200, 0, 0, recorded);
        let since = &self.journal[base..];
        decide_since(&self.plan, &[Op::ReplaceAll(entries.to_vec())], &ctx, since)
    }

    fn after(&self, decision: &Decision) -> Plan {
        let mut plan = self.plan.clone();
        decision.events.iter().for_each(|event| plan.evolve(event));
        plan
    }
}

fn titles(plan: &Plan) -> Vec<String> {
    plan.listed().iter().map(|item| item.title.clone()).collect()
}

/// The numbers that a decision's warnings name.
fn warned(decision: &Decision) -> BTreeSet<Number> {
    let numbers = decision.warnings.iter().filter_map(|warning| match warning {
        Warning::DroppedOpen(tag)
        | Warning::NotFromList(tag)
        | Warning::AddedSince { item: tag, .. }
        | Warning::ChangedSince { item: tag, .. }
        | Warning::RemovedSince { item: tag, .. }
        | Warning::Conflict { item: tag, .. } => Some(tag.number),
        Warning::Blocked { .. }
        | Warning::OpenUnderCancelled { .. }
        | Warning::DependsOnCancelled { .. }
        | Warning::Ignored { .. } => None,
    });
    numbers.collect()
}

/// Titles of which no two are similar.
const DISTINCT: [&str; 8] = [
    "Fix the failing tests",
    "Update documentation",
    "Run the final build",
    "Choose a licence",
    "Port everything to Windows",
    "Measure cold start",
    "Write release notes",
    "Tag version",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn an_open_item_never_vanishes_without_an_event_and_a_warning(
        before in prop::collection::vec(change(), 0..8),
        meanwhile in prop::collection::vec(change(), 0..4),
        entries in prop::collection::vec(entry(), 0..6),
        recorded in any::<bool>(),
    ) {
        let mut kept = Kept::new();
        kept.play(before);
        let base = kept.journal.len();
        kept.play(meanwhile);
        let Ok(decision) = kept.write(&entries, base, recorded) else { return Ok(()) };
        let (after, warned) = (kept.after(&decision), warned(&decision));
        for item in kept.plan.listed().into_iter().filter(|item| item.is_open()) {
            let now = after.get(item.number).unwrap();
            if now.is_superseded() {
                let number = item.number;
                let superseded = |it: &Event| matches!(it, Event::Superseded { number: n, .. } if *n == number);
                prop_assert!(decision.events.iter().any(superseded));
                prop_assert!(warned.contains(&number), "{} went in silence", number);
            }
        }
    }

    #[test]
    fn in_recorded_mode_a_whole_list_is_never_refused(
        before in prop::collection::vec(change(), 0..8),
        meanwhile in prop::collection::vec(change(), 0..4),
        entries in prop::collection::vec(entry(), 0..6),
    ) {
        let mut kept = Kept::new();
        kept.play(before);
        let base = kept.journal.len();
        kept.play(meanwhile);
        prop_assert!(kept.write(&entries, base, true).is_ok());
    }

    /// The list has exactly: what the caller sent, what others added since, and what only others
    /// changed since.
    #[test]
    fn in_enforced_mode_the_result_is_what_was_sent_and_what_others_did_since(
        before in prop::collection::vec(change(), 0..8),
        meanwhile in prop::collection::vec(change(), 0..4),
        entries in prop::collection::vec(entry(), 0..6),
    ) {
        let mut kept = Kept::new();
        kept.play(before);
        let base = kept.journal.len();
        kept.play(meanwhile);
        let Ok(decision) = kept.write(&entries, base, false) else { return Ok(()) };
        let after = kept.after(&decision);
        let mut rest: Vec<&Item> = after.listed();
        for warning in &decision.warnings {
            let (Warning::AddedSince { item, .. } | Warning::ChangedSince { item, .. }) = warning else {
                continue;
            };
            rest.retain(|it| it.number != item.number);
        }
        let mut sent: Vec<(String, Status)> =
            entries.iter().map(|it| (it.title.clone(), it.status)).collect();
        for item in rest {
            let key = (item.title.clone(), item.status);
            let found = sent.iter().position(|it| *it == key);
            prop_assert!(found.is_some(), "{:?} was never sent", key);
            sent.remove(found.unwrap());
        }
        // The remaining entries were overruled by others' changes, with a warning.
        let overruled = decision.warnings.iter().filter(|it| {
            matches!(it, Warning::ChangedSince { .. } | Warning::RemovedSince { .. })
        });
        prop_assert_eq!(sent.len(), overruled.count());
    }

    #[test]
    fn numbers_are_stable_under_single_edits_of_lists_with_distinct_titles(
        count in 1usize..8,
        edit in 0usize..4,
        at in 0usize..8,
        to in 0usize..8,
    ) {
        let mut kept = Kept::new();
        let adds: Vec<Op> =
            DISTINCT[..count].iter().map(|it| Op::Add(Box::new(NewItem::titled(*it)))).collect();
        let decision = decide(&kept.plan, &adds, &context(0, 0, 0, false)).unwrap();
        kept.commit(&decision, 0);
        let (at, to) = (at % count, to % count);
        let mut entries: Vec<ListEntry> =
            DISTINCT[..count].iter().map(|it| ListEntry::titled(*it, Status::Pending)).collect();
        let mut expected: Vec<u32> = (1..=u32::try_from(count).unwrap()).collect();
        match edit {
            0 => entries[at].title = format!("{} in full", entries[at].title),
            1 => {
                let (entry, number) = (entries.remove(at), expected.remove(at));
                entries.insert(to, entry);
                expected.insert(to, number);
            }
            2 => {
                entries.insert(at, ListEntry::titled("Something quite different", Status::Pending));
                expected.insert(at, u32::try_from(count).unwrap() + 1);
            }
            _ => {
                entries.remove(at);
                expected.remove(at);
            }
        }
        let decision = kept.write(&entries, 1, false).unwrap();
        let after = kept.after(&decision);
        let numbers: Vec<u32> = after.listed().iter().map(|it| it.number.0).collect();
        prop_assert_eq!(numbers, expected, "{:?}", titles(&after));
    }

    #[test]
    fn similarity_never_carries_evidence_verification_or_claim(at in 0usize..8, running in any::<bool>()) {
        let mut kept = Kept::new();
        let title = DISTINCT[at];
        let item = || ItemRef::Number(Number(1));
        let check = crate::Check {
            command: "true".to_owned(),
            covers: vec![],
            origin: crate::Origin::Person,
        };
        let evidence = crate::Evidence {
            level: Level::Checked,
            at: epoch(),
            by: "x".to_owned(),
            run: Some(CheckRun {
                command: "true".to_owned(),
                exit_code: Some(0),
                output_digest: String::new(),
                covered: Vec::new(),
                worktree: "/p".to_owned(),
            }),
        };
        let mut ops = vec![
            Op::Add(Box::new(NewItem::titled(title))),
            Op::Edit {
                item: item(),
                patch: Box::new(Patch { check: Some(Some(check)), ..Patch::default() }),
            },
            Op::Prove { item: item(), evidence: Box::new(evidence) },
        ];
        if running {
            ops.push(Op::Start(item()));
        }
        let decision = decide(&kept.plan, &ops, &context(0, 0, 0, false)).unwrap();
        kept.commit(&decision, 0);
        let attempt = kept.plan.get(Number(1)).unwrap().attempt;
        let status = if running { Status::InProgress } else { Status::Pending };
        let entries = [ListEntry::titled(format!("{title} again"), status)];
        let after = kept.after(&kept.write(&entries, 1, false).unwrap());
        let item = after.get(Number(1)).unwrap();
        prop_assert_eq!(after.listed().len(), 1);
        prop_assert_eq!(item.evidence_level(), None);
        prop_assert_eq!(after.verification(item, false), crate::Verification::Required);
        prop_assert!(!running || item.attempt > attempt);
    }
}

#[test]
fn a_base_is_only_needed_for_whole_lists() {
    let ctx = crate::Ctx { base: Some(Revision(3)), ..super::world::ctx() };
    let needed = |op: Op| crate::decide::journal_needed(&[op], &ctx);
    assert_eq!(needed(Op::Next), None);
    assert_eq!(needed(Op::Replace(vec![])), Some(Revision(3)));
}
