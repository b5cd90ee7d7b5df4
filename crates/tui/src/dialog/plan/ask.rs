//! A text that is typed for an act on the plan.

use punchlist_engine::engine::{ItemText, PlanAct};
use punchlist_formats::text::{one_line, truncate};
use punchlist_model::{Item, ItemId, ItemRef, Number, Place, Plan};

use super::named;
use crate::line_editor::LineEditor;

/// What a text is typed for.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum AskFor {
    /// The title of a new item.
    Add {
        /// Its place.
        place: Place,
        /// The item that it comes under.
        parent: Option<ItemRef>,
    },
    /// A new text of the item. The text that the person began with tells whether others changed it.
    Edit(ItemText, String),
    /// Why the item is skipped.
    Skip,
    /// The outcome of the item.
    Done {
        /// Whether the items under it are completed too.
        with_children: bool,
    },
    /// What the item waits for.
    Wait,
}

/// A question, and the text that answers it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Ask {
    item: Option<(Number, ItemId)>,
    what: AskFor,
    /// The question.
    pub(super) question: String,
    /// The text so far.
    pub(super) editor: LineEditor,
}

impl Ask {
    /// Asks for the title of a new item.
    pub(super) fn add(place: Place, parent: Option<ItemRef>, question: String) -> Self {
        let what = AskFor::Add { place, parent };
        Self { item: None, what, question, editor: LineEditor::default() }
    }

    /// Asks something about an item.
    pub(super) fn item(item: &Item, what: AskFor, question: String, text: &str) -> Self {
        let item = Some((item.number, item.id));
        Self { item, what, question, editor: LineEditor::new(text) }
    }

    /// Asks for a new text of an item.
    pub(super) fn edit(item: &Item, which: ItemText) -> Self {
        let text = current(item, which);
        let question = format!("The {} of {}", which.words(), named(item));
        Self::item(item, AskFor::Edit(which, text.to_owned()), question, text)
    }

    /// The act, if the text is enough for it and changes something.
    pub(super) fn act(&self) -> Option<PlanAct> {
        let text = self.editor.text();
        if let AskFor::Add { place, parent } = &self.what {
            let (place, parent) = (place.clone(), parent.clone());
            let is_blank = text.trim().is_empty();
            return (!is_blank).then_some(PlanAct::Add { title: text, place, parent });
        }
        let (number, id) = self.item?;
        let item = ItemRef::Both(number, id);
        Some(match &self.what {
            AskFor::Edit(_, before) if text == *before => return None,
            AskFor::Edit(which, _) => PlanAct::Edit { item, text_of: *which, text },
            AskFor::Skip => PlanAct::Skip { item, reason: text },
            AskFor::Done { with_children } => {
                PlanAct::Done { item, outcome: text, with_children: *with_children }
            }
            AskFor::Wait | AskFor::Add { .. } => PlanAct::Wait { item, on: text },
        })
    }

    /// Notices a change by others to the text that is being edited, and says so once.
    pub(super) fn see(&mut self, plan: &Plan) -> Option<String> {
        let AskFor::Edit(which, before) = &mut self.what else { return None };
        let item = plan.get(self.item?.0)?;
        let now = current(item, *which);
        if now == before {
            return None;
        }
        *before = now.to_owned();
        let now = truncate(&one_line(now), 80).into_owned();
        Some(format!("The {} was changed meanwhile; it is now \"{now}\".", which.words()))
    }
}

fn current(item: &Item, which: ItemText) -> &str {
    match which {
        ItemText::Title => &item.title,
        ItemText::Context => &item.context,
        ItemText::Criteria => &item.completion_criteria,
    }
}
