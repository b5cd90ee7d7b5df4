//! One item as a text to edit: one line per field, then the longer texts.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_model::{Check, Item, ItemRef, Number, Origin, Patch};

use super::{Mistake, items};
use crate::text;

/// The fields on one line.
const LINES: [&str; 9] =
    ["title", "active form", "owner", "agent", "priority", "after", "under", "verify", "covers"];
/// The fields of several lines.
const BLOCKS: [&str; 3] = ["context", "criteria", "outcome"];

/// The fields of an item, as they are shown in the editor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemForm(BTreeMap<&'static str, String>);

impl ItemForm {
    /// The current fields of the item.
    pub fn of(item: &Item) -> Self {
        let line = |value: Option<&str>| text::one_line(value.unwrap_or_default()).into_owned();
        let block = |value: &str| text::many_lines(value).trim_end().to_owned();
        let after: Vec<String> = item.depends_on.iter().map(ToString::to_string).collect();
        let check = item.check.as_ref();
        Self(BTreeMap::from([
            ("title", line(Some(&item.title))),
            ("active form", line(item.active_form.as_deref())),
            ("owner", line(item.owner.as_deref())),
            ("agent", line(item.agent_type.as_deref())),
            ("priority", item.priority.map(|it| it.to_string()).unwrap_or_default()),
            ("after", after.join(", ")),
            ("under", item.parent.map(|it| it.to_string()).unwrap_or_default()),
            ("verify", line(check.map(|it| it.command.as_str()))),
            ("covers", check.map(|it| line(Some(&it.covers.join(", ")))).unwrap_or_default()),
            ("context", block(&item.context)),
            ("criteria", block(&item.completion_criteria)),
            ("outcome", block(item.outcome.as_deref().unwrap_or_default())),
        ]))
    }

    fn get(&self, field: &str) -> &str {
        self.0.get(field).map_or("", String::as_str)
    }

    /// The text to edit.
    pub fn text(&self, number: Number) -> String {
        let mut out = format!(
            "# Item {number}. Change the text after the colons, save, and leave the editor.\n\
             # A file that comes back as it was, or empty, changes nothing.\n"
        );
        for field in LINES {
            out.push_str(format!("{field}: {}", self.get(field)).trim_end());
            out.push('\n');
        }
        for field in BLOCKS {
            out.push_str(&format!("\n{}\n{}\n", heading(field), self.get(field)));
        }
        out
    }

    /// Parses an edited text. A missing field is empty.
    pub fn read(edited: &str) -> Result<Self, Mistake> {
        let mut fields: BTreeMap<&'static str, String> =
            LINES.into_iter().chain(BLOCKS).map(|field| (field, String::new())).collect();
        let mut block: Option<&'static str> = None;
        for (n, line) in (1..).zip(edited.lines()) {
            if let Some(field) = BLOCKS.into_iter().find(|it| line.trim_end() == heading(it)) {
                block = Some(field);
                continue;
            }
            if let Some(text) = block.and_then(|field| fields.get_mut(field)) {
                text.push_str(line);
                text.push('\n');
                continue;
            }
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let field = LINES.into_iter().find(|it| *it == name.trim());
            let Some(field) = field.filter(|_| line.contains(':')) else {
                return Err(Mistake::new(format!("line {n} is not a field: {line:?}"))
                    .hint(format!("the fields are {}.", LINES.join(", "))));
            };
            fields.insert(field, value.trim().to_owned());
        }
        for field in BLOCKS {
            if let Some(text) = fields.get_mut(field) {
                *text = text.trim_end().to_owned();
            }
        }
        let form = Self(fields);
        form.check()?;
        Ok(form)
    }

    fn check(&self) -> Result<(), Mistake> {
        if self.get("title").is_empty() {
            return Err(Mistake::new("the title is empty").hint("say what is to be done."));
        }
        self.priority()?;
        self.after()?;
        self.under()?;
        Ok(())
    }

    fn priority(&self) -> Result<Option<u32>, Mistake> {
        let text = self.get("priority");
        let wrong = || Mistake::new(format!("the priority {text:?} is not a number"));
        (!text.is_empty()).then(|| text.parse().map_err(|_| wrong())).transpose()
    }

    fn numbers(&self, field: &str) -> Result<BTreeSet<Number>, Mistake> {
        let parts = self.get(field).split(',').map(str::trim).filter(|it| !it.is_empty());
        let number = |part: &str| match items::reference(part.strip_prefix('#').unwrap_or(part)) {
            Some(ItemRef::Number(number)) => Ok(number),
            _ => Err(Mistake::new(format!("{field}: {part:?} is not the number of an item"))),
        };
        parts.map(number).collect()
    }

    fn after(&self) -> Result<BTreeSet<Number>, Mistake> {
        self.numbers("after")
    }

    fn under(&self) -> Result<Option<Number>, Mistake> {
        let found = self.numbers("under")?;
        if found.len() > 1 {
            return Err(Mistake::new("an item has one parent, but several are named"));
        }
        Ok(found.first().copied())
    }

    /// The fields that differ.
    pub fn changed(&self, other: &Self) -> Vec<&'static str> {
        let fields = LINES.into_iter().chain(BLOCKS);
        fields.filter(|field| self.get(field) != other.get(field)).collect()
    }

    /// The fields that this text and somebody else both changed since `before`.
    pub fn conflicts(&self, before: &Self, current: &Self) -> Vec<&'static str> {
        let mine = self.changed(before);
        current.changed(before).into_iter().filter(|it| mine.contains(it)).collect()
    }

    /// The patch that changes an item from `before` to this form.
    ///
    /// `origin` says who wrote the text, and so who wrote a check in it.
    pub fn patch(&self, before: &Self, item: &Item, origin: Origin) -> Result<Patch, Mistake> {
        let mut patch = Patch::default();
        let optional = |text: &str| Some((!text.is_empty()).then(|| text.to_owned()));
        for field in self.changed(before) {
            let value = self.get(field);
            match field {
                "title" => patch.title = Some(value.to_owned()),
                "active form" => patch.active_form = optional(value),
                "owner" => patch.owner = optional(value),
                "agent" => patch.agent_type = optional(value),
                "priority" => patch.priority = Some(self.priority()?),
                "after" => {
                    let (was, is) = (before.after()?, self.after()?);
                    patch.after = is.difference(&was).map(|it| (*it).into()).collect();
                    patch.not_after = was.difference(&is).map(|it| (*it).into()).collect();
                }
                "under" => patch.parent = Some(self.under()?.map(Into::into)),
                "context" => patch.context = Some(value.to_owned()),
                "criteria" => patch.completion_criteria = Some(value.to_owned()),
                "outcome" => patch.outcome = optional(value),
                _ => patch.check = Some(self.check_of(before, item, origin)),
            }
        }
        Ok(patch)
    }

    fn check_of(&self, before: &Self, item: &Item, origin: Origin) -> Option<Check> {
        let command = match (self.get("verify"), &item.check) {
            // The stored command, which the form may show differently.
            (command, Some(check)) if command == before.get("verify") => check.command.clone(),
            (command, _) => command.to_owned(),
        };
        let covers = self.get("covers").split(',').map(str::trim).filter(|it| !it.is_empty());
        let covers = covers.map(str::to_owned).collect();
        (!command.is_empty()).then_some(Check { command, covers, origin })
    }
}

fn heading(field: &str) -> String {
    format!("--- {field} ---")
}
