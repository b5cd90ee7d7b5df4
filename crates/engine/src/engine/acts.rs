//! What a person does to a plan at a front end. Each act is one change, or one call of the engine,
//! so that a terminal and a page do the same.

use punchlist_formats::text::{one_line, truncate};
use punchlist_formats::view;
use punchlist_model::{Item, ItemRef, NewItem, Number, Op, Patch, Place, Plan};

use super::{PlanHandle, Verified, Worker};
use crate::change;
use crate::fail::Fail;

/// An act of a person on a plan.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "the fields are those of the operations")]
pub enum PlanAct {
    /// Adds an item.
    Add { title: String, place: Place, parent: Option<ItemRef> },
    /// Changes a text of an item.
    Edit { item: ItemRef, text_of: ItemText, text: String },
    /// Moves an item to another place on the list.
    Move { item: ItemRef, to: Place },
    /// Puts an item under another one, or at the top level.
    Nest { item: ItemRef, parent: Option<ItemRef> },
    /// Cancels an item; without a reason if the text is blank.
    Skip { item: ItemRef, reason: String },
    /// Makes a completed or cancelled item pending again.
    Reopen(ItemRef),
    /// Makes an item in progress pending again.
    Release(ItemRef),
    /// Starts an item.
    Start(ItemRef),
    /// Completes an item; without an outcome if the text is blank.
    Done { item: ItemRef, outcome: String, with_children: bool },
    /// Makes an item wait; a blank text ends the wait.
    Wait { item: ItemRef, on: String },
    /// Runs the check of an item and records the result.
    Verify(Number),
    /// Records the person's approval of an item.
    Approve(Number),
    /// Undoes the person's last change.
    Undo,
}

/// A text of an item that a person edits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemText {
    /// The title.
    Title,
    /// The context.
    Context,
    /// The completion criteria.
    Criteria,
}

impl ItemText {
    /// The name in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Context => "context",
            Self::Criteria => "criteria",
        }
    }
}

/// Where an item moves among its neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Before the item above it.
    Up,
    /// After the item below it.
    Down,
    /// Under the item above it.
    In,
    /// Out of the item that it is under.
    Out,
}

impl PlanAct {
    /// The act that moves an item by one step among the items with the same parent; `None` if there
    /// is no neighbour on that side.
    pub fn step(plan: &Plan, item: &Item, step: Step) -> Option<Self> {
        let by = |it: &Item| ItemRef::Both(it.number, it.id);
        let above = |it: &Item| it.parent.and_then(|it| plan.get(it));
        let listed = plan.listed();
        let siblings: Vec<&Item> =
            listed.into_iter().filter(|it| it.parent == item.parent).collect();
        let at = siblings.iter().position(|it| it.id == item.id)?;
        let before = at.checked_sub(1).and_then(|it| siblings.get(it));
        let to = |to| Self::Move { item: by(item), to };
        let under = |parent| Self::Nest { item: by(item), parent };
        Some(match step {
            Step::Up => to(Place::Before(by(before?))),
            Step::Down => to(Place::After(by(siblings.get(at + 1)?))),
            Step::In => under(Some(by(before?))),
            Step::Out => under(above(above(item)?).map(by)),
        })
    }

    /// The operations of the act; `None` if it is more than a change of items.
    pub fn ops(&self) -> Option<Vec<Op>> {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|it| !it.is_empty());
        let op = match self {
            Self::Add { title, place, parent } => Op::Add(Box::new(NewItem {
                place: place.clone(),
                parent: parent.clone(),
                ..NewItem::titled(title.clone())
            })),
            Self::Edit { item, text_of, text } => {
                let text = Some(text.clone());
                let patch = match text_of {
                    ItemText::Title => Patch { title: text, ..Patch::default() },
                    ItemText::Context => Patch { context: text, ..Patch::default() },
                    ItemText::Criteria => Patch { completion_criteria: text, ..Patch::default() },
                };
                Op::Edit { item: item.clone(), patch: Box::new(patch) }
            }
            Self::Move { item, to } => Op::Move { item: item.clone(), to: to.clone() },
            Self::Nest { item, parent } => {
                let patch = Patch { parent: Some(parent.clone()), ..Patch::default() };
                Op::Edit { item: item.clone(), patch: Box::new(patch) }
            }
            Self::Skip { item, reason } => Op::Cancel { item: item.clone(), reason: given(reason) },
            Self::Reopen(item) => Op::Reopen { item: item.clone(), start: false },
            Self::Release(item) => Op::Release(item.clone()),
            Self::Start(item) => Op::Start(item.clone()),
            Self::Done { item, outcome, with_children } => Op::Complete {
                item: item.clone(),
                outcome: given(outcome),
                with_children: *with_children,
            },
            Self::Wait { item, on } => match given(on) {
                Some(on) => Op::Wait { item: item.clone(), on },
                None => Op::Resume(item.clone()),
            },
            Self::Verify(_) | Self::Approve(_) | Self::Undo => return None,
        };
        Some(vec![op])
    }
}

impl PlanHandle {
    /// Performs an act in a person's name, and says what it did. The program vouches that it is a
    /// person.
    pub async fn perform(&self, person: &str, act: PlanAct) -> Result<String, Fail> {
        let worker = self.by_person(person);
        if let Some(ops) = act.ops() {
            return Ok(told(&worker.change(ops).await?));
        }
        match act {
            PlanAct::Verify(item) => self.verify(item).await,
            PlanAct::Approve(item) => Ok(told(&worker.approve(item).await?)),
            PlanAct::Undo
            | PlanAct::Add { .. }
            | PlanAct::Edit { .. }
            | PlanAct::Move { .. }
            | PlanAct::Nest { .. }
            | PlanAct::Skip { .. }
            | PlanAct::Reopen(_)
            | PlanAct::Release(_)
            | PlanAct::Start(_)
            | PlanAct::Done { .. }
            | PlanAct::Wait { .. } => self.undo(&worker).await,
        }
    }

    /// Applies several acts in a person's name as one change, and says what it did. Acts that are
    /// more than a change of items are left out.
    pub async fn perform_all(&self, person: &str, acts: &[PlanAct]) -> Result<String, Fail> {
        let ops: Vec<Op> = acts.iter().filter_map(PlanAct::ops).flatten().collect();
        Ok(told(&self.by_person(person).change(ops).await?))
    }

    /// Runs the check of an item and records the result, in a person's name or the program's.
    pub async fn verify_item(&self, item: Number) -> Result<Verified, Fail> {
        self.engine.verify(self.id(), item).await
    }

    async fn verify(&self, item: Number) -> Result<String, Fail> {
        let verified = self.verify_item(item).await?;
        let word = if verified.passed { "passed" } else { "failed" };
        let last = verified.output.lines().rfind(|it| !it.trim().is_empty());
        let last = last.filter(|_| !verified.passed).map(|it| format!(": {}", one_line(it)));
        let last = last.unwrap_or_default();
        Ok(format!("the check of {item} {word} ({}){}", verified.ended, truncate(&last, 200)))
    }

    async fn undo(&self, worker: &Worker) -> Result<String, Fail> {
        let applied = self.take_back(worker.actor().clone(), None).await?;
        let undid = change::undid(&**self.store(), &applied).await?;
        Ok(if undid.is_empty() { told(&applied) } else { undid.join("\n") })
    }
}

/// What a change did, one line per item, and its warnings.
fn told(applied: &punchlist_model::store::Applied) -> String {
    let mut lines = view::change::lines(applied).trim_end().to_owned();
    for warning in view::change::warnings(applied) {
        lines.push('\n');
        lines.push_str(&warning);
    }
    lines
}
