//! Adding items.

use serde_json::{Map, Value};

use super::{Draft, Step, Stop};
use crate::command::NewItem;
use crate::event::Event;
use crate::item::{Item, Mark, Status};
use crate::json::is_too_deep;
use crate::refusal::{Broken, Tag};

impl Draft<'_> {
    pub(super) fn add(&mut self, new: &NewItem) -> Step {
        let number = self.plan.next_number;
        let id = new.id.unwrap_or_else(|| self.ctx.ids.item(number));
        // A refused item keeps its number in the draft. Later entries of the batch may refer to it,
        // and should not be refused for that.
        let built = self.build(Item::new(id, number, "", self.ctx.now), new);
        let mut item = match built {
            Ok(item) => item,
            Err(stop) => {
                self.add_placeholder(Item::new(id, number, new.title.as_str(), self.ctx.now));
                return Err(stop);
            }
        };
        item.marks.append(&mut self.marks);
        self.decision.added.push(number);
        self.apply(Event::Added { item: Box::new(item) });
        Ok(())
    }

    fn build(&mut self, mut item: Item, new: &NewItem) -> Result<Item, Stop> {
        item.title = self.title(&new.title)?;
        item.active_form = self.active_form(new.active_form.as_deref())?;
        item.context = self.text("context", &new.context)?;
        item.completion_criteria = self.text("completion criteria", &new.completion_criteria)?;
        item.agent_type = self.optional_text("agent type", new.agent_type.as_deref())?;
        item.owner = self.optional_text("owner", new.owner.as_deref())?;
        item.waiting_on = self
            .optional_text("waiting", new.waiting_on.as_deref())?
            .filter(|text| !text.trim().is_empty());
        item.priority = new.priority;
        item.check = new.check.clone();
        item.run = new.run.clone();
        item.approve = new.approve;
        item.retry = new.retry;
        item.timeout = new.timeout;
        item.metadata = self.metadata(new.metadata.clone())?;
        item.from_list = new.from_list;
        self.check_texts_of(&item)?;
        self.check_room_for(1)?;
        item.depends_on = self.dependencies(None, &new.depends_on)?;
        if let Some(parent) = &new.parent {
            item.parent = self.parent(None, parent)?;
        }
        self.check_parent_of_new(&item)?;
        item.position = Some(self.position(&new.place)?);
        Ok(item)
    }

    /// Checks the texts inside commands and metadata.
    pub(super) fn check_texts_of(&mut self, item: &Item) -> Step {
        if let Some(check) = &item.check {
            self.text("check", &check.command)?;
            for glob in &check.covers {
                self.text("covered glob", glob)?;
            }
        }
        if let Some(run) = &item.run {
            self.text("command", &run.command)?;
        }
        if let Some(metadata) = &item.metadata {
            let json = serde_json::to_string(metadata).unwrap_or_default();
            self.text("metadata", &json)?;
            if json.contains("\\u0000") {
                self.breach(Mark::NulRemoved, || Broken::Nul { field: "metadata" }.into())?;
            }
        }
        Ok(())
    }

    /// Checks that metadata is not nested too deeply. In recorded mode, the keys that are too deep
    /// are dropped.
    pub(super) fn metadata(
        &mut self,
        metadata: Option<Map<String, Value>>,
    ) -> Result<Option<Map<String, Value>>, Stop> {
        let Some(mut fields) = metadata else { return Ok(None) };
        if fields.values().any(|value| is_too_deep(value, 1)) {
            self.breach(Mark::OverLimit, || Broken::TooDeep { field: "metadata" }.into())?;
            fields.retain(|_, value| !is_too_deep(value, 1));
        }
        Ok(Some(fields))
    }

    /// Checks that the plan may have `adding` more open items.
    pub(super) fn check_room_for(&mut self, adding: u32) -> Step {
        let Some(most) = self.ctx.most_open() else { return Ok(()) };
        let open = self.plan.open;
        if open.saturating_add(adding) <= most {
            return Ok(());
        }
        self.breach(Mark::OverLimit, || Broken::TooManyOpen { open, adding, most }.into())
    }

    fn check_parent_of_new(&mut self, item: &Item) -> Step {
        let parent = item.parent.and_then(|parent| self.plan.get(parent));
        let Some(parent) = parent.filter(|parent| parent.status == Status::Completed) else {
            return Ok(());
        };
        let broken = Broken::ParentCompleted { parent: parent.into() };
        let stop = Stop(Some(Tag::from(item)), broken);
        self.breach(Mark::OpenChild, || stop)
    }

    /// Adds a placeholder for a refused item to the draft. The draft is never stored.
    fn add_placeholder(&mut self, mut item: Item) {
        item.position = Some(self.plan.back());
        self.decision.added.push(item.number);
        self.plan.evolve(&Event::Added { item: Box::new(item) });
    }
}
