//! Editing fields of items and of the plan.

use serde_json::{Map, Value};

use super::{Draft, Step, Stop};
use crate::actor::ActorKind;
use crate::command::{Patch, PlanPatch};
use crate::event::{Event, PlanDelta, What};
use crate::goal::Goal;
use crate::id::Number;
use crate::item::{Item, Level, RESERVED};
use crate::refusal::{Broken, Tag};

impl Draft<'_> {
    pub(super) fn edit(&mut self, number: Number, patch: &Patch) -> Step {
        let Some(old) = self.plan.get(number).cloned() else { return Ok(()) };
        let tag = Tag::from(&old);
        let new = self.patched(old, patch).map_err(|stop| Stop(stop.0.or(Some(tag)), stop.1))?;
        self.change(number, What::Edited, |item| *item = new);
        self.check_parent_open_if(number, patch.parent.is_some())?;
        patch.status.map_or(Ok(()), |to| self.set_status(number, to))
    }

    fn check_parent_open_if(&mut self, number: Number, moved: bool) -> Step {
        let open = self.plan.get(number).is_some_and(Item::is_open);
        if moved && open { self.check_parent_open(number) } else { Ok(()) }
    }

    fn patched(&mut self, mut item: Item, patch: &Patch) -> Result<Item, Stop> {
        let number = item.number;
        if let Some(title) = &patch.title {
            item.title = self.title(title)?;
        }
        if let Some(text) = &patch.active_form {
            item.active_form = self.active_form(text.as_deref())?;
        }
        if let Some(text) = &patch.context {
            item.context = self.text("context", text)?;
        }
        if let Some(text) = &patch.completion_criteria {
            item.completion_criteria = self.text("completion criteria", text)?;
        }
        if let Some(text) = &patch.agent_type {
            item.agent_type = self.optional_text("agent type", text.as_deref())?;
        }
        if let Some(text) = &patch.owner {
            item.owner = self.optional_text("owner", text.as_deref())?;
        }
        if let Some(text) = &patch.outcome {
            item.outcome = self.optional_text("outcome", text.as_deref())?;
        }
        if let Some(all) = &patch.depends_on {
            item.depends_on = self.dependencies(Some(number), all)?;
        }
        let after = self.dependencies(Some(number), &patch.after)?;
        item.depends_on.extend(after);
        for gone in &patch.not_after {
            let gone = self.resolve(gone)?;
            item.depends_on.remove(&gone);
        }
        if let Some(parent) = &patch.parent {
            item.parent = match parent {
                Some(parent) => self.parent(Some(number), parent)?,
                None => None,
            };
        }
        set(&mut item.priority, patch.priority.as_ref());
        let command = |item: &Item| item.check.as_ref().map(|check| check.command.clone());
        let before = command(&item);
        set(&mut item.check, patch.check.as_ref());
        if command(&item) != before {
            // The old command's results say nothing about the new command. They stay in the
            // journal.
            item.evidence.retain(|it| it.level != Level::Checked);
        }
        set(&mut item.run, patch.run.as_ref());
        set(&mut item.approve, patch.approve.as_ref());
        set(&mut item.retry, patch.retry.as_ref());
        set(&mut item.timeout, patch.timeout.as_ref());
        if let Some(metadata) = &patch.metadata {
            let new = self.metadata(metadata.clone())?;
            item.metadata = replaced(item.metadata.take(), new);
        }
        let keys = self.metadata(Some(patch.merge.clone()))?.unwrap_or_default();
        merge(&mut item.metadata, &keys);
        self.check_texts_of(&item)?;
        Ok(item)
    }

    pub(super) fn edit_plan(&mut self, patch: &PlanPatch) -> Step {
        let mut new = self.plan.clone();
        if let Some(title) = &patch.title {
            new.title = self.text("plan title", title)?;
        }
        if let Some(name) = &patch.name {
            new.name = self.optional_text("plan name", name.as_deref())?;
        }
        if let Some(goal) = &patch.goal {
            if let Some(goal) = goal {
                self.text("goal", &goal.statement)?;
            }
            let before = self.plan.goal.as_deref();
            let by = self.ctx.actor.kind;
            if by == ActorKind::Agent && before.is_some_and(|it| it.is_overridden_by(goal.as_ref()))
            {
                return Err(Broken::PersonsGoal.into());
            }
            let now = self.ctx.now;
            new.goal = goal.as_ref().map(|it| Box::new(Goal::set(before, it, now, by)));
        }
        set(&mut new.rules, patch.rules.as_ref());
        let deltas = PlanDelta::between(&self.plan, &new);
        if !deltas.is_empty() {
            self.apply(Event::PlanChanged { deltas });
        }
        Ok(())
    }
}

fn set<T: Clone>(field: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        field.clone_from(value);
    }
}

/// Replaces metadata. The key that a run reserves for its plan file stays.
fn replaced(
    old: Option<Map<String, Value>>,
    new: Option<Map<String, Value>>,
) -> Option<Map<String, Value>> {
    let kept = old.and_then(|mut old| old.remove(RESERVED));
    let Some(kept) = kept else { return new };
    let mut new = new.unwrap_or_default();
    new.insert(RESERVED.to_owned(), kept);
    Some(new)
}

/// Sets keys of the metadata; a null removes its key. Empty metadata becomes `None`.
fn merge(metadata: &mut Option<Map<String, Value>>, keys: &Map<String, Value>) {
    if keys.is_empty() {
        return;
    }
    let mut all = metadata.take().unwrap_or_default();
    for (key, value) in keys {
        match value {
            Value::Null => all.remove(key),
            Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => all.insert(key.clone(), value.clone()),
        };
    }
    *metadata = Some(all).filter(|all| !all.is_empty());
}
