//! Writing what a change came to, and nothing else.
//!
//! Rows of items that changed are written; rows outside the slice that only move up or down do so by
//! one statement over their range. `unmet` counts what an item still waits for, of what it depends on and
//! of what is under it: it is derived, kept so that the next ready item is one seek away, and maintained
//! here and nowhere else.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_model::{Event, Item, Number, Plan, Position, Status};
use rusqlite::params;

use crate::journal::Place;
use crate::load::Loaded;
use crate::rows::{self, PlanKey, millis, signed};
use crate::session::Session;

/// Writes what a plan says of itself: seldom, and in an index that would be written every time.
pub(crate) fn words(conn: &Session<'_>, key: PlanKey, plan: &Plan) -> rusqlite::Result<()> {
    let mut update = conn.statement(
        "UPDATE plan SET name = ?2, title = ?3, rules = ?4, goal = ?5, end = ?6 WHERE key = ?1",
    )?;
    update.execute(params![
        key.0,
        plan.name,
        plan.title,
        rows::rules(plan),
        rows::goal(plan),
        plan.end.as_str(),
    ])?;
    Ok(())
}

/// Writes what every change of a plan changes.
pub(crate) fn counts(
    conn: &Session<'_>,
    key: PlanKey,
    plan: &Plan,
    last: Place,
) -> rusqlite::Result<()> {
    let mut update = conn.statement(
        "UPDATE plan SET revision = ?2, next_number = ?3, placed = ?4, open = ?5, \
         updated_at = ?6, last_entry = ?7 WHERE key = ?1",
    )?;
    update.execute(params![
        key.0,
        signed(plan.revision),
        plan.next_number.0,
        plan.placed,
        plan.open,
        millis(plan.updated_at),
        last.0,
    ])?;
    Ok(())
}

/// Makes the row of a plan.
pub(crate) fn new_plan(conn: &Session<'_>, plan: &Plan) -> rusqlite::Result<PlanKey> {
    let mut insert = conn.statement(
        "INSERT INTO plan(id, project, name, title, revision, rules, goal, end, next_number, \
         placed, open, created_at, updated_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    insert
        .insert(params![
            plan.id.to_string(),
            plan.project,
            plan.name,
            plan.title,
            signed(plan.revision),
            rows::rules(plan),
            rows::goal(plan),
            plan.end.as_str(),
            plan.next_number.0,
            plan.placed,
            plan.open,
            millis(plan.created_at),
            millis(plan.updated_at),
        ])
        .map(PlanKey)
}

/// Writes all items of a plan that has none yet.
pub(crate) fn all(conn: &Session<'_>, key: PlanKey, plan: &Plan) -> rusqlite::Result<()> {
    let writer = Writer { conn, key, after: plan, under: open_under(plan) };
    plan.items.values().try_for_each(|item| writer.insert(item))
}

/// Applies the events to what was loaded, in memory and in the rows.
pub(crate) fn apply(
    conn: &Session<'_>,
    loaded: Loaded,
    events: &[Event],
) -> rusqlite::Result<Plan> {
    let Loaded { key, whole, .. } = loaded;
    if let [event @ Event::Added { item }] = events
        && item.parent.is_none()
        && Shift::of(event, loaded.plan.placed).is_none()
    {
        // At the end, where it touches nothing else.
        let mut after = loaded.plan;
        after.evolve(event);
        // Nothing can be under it yet.
        Writer { conn, key, after: &after, under: BTreeMap::new() }.insert(item)?;
        return Ok(after);
    }
    let before = &loaded.plan;
    let mut after = before.clone();
    let mut moved = BTreeSet::new();
    for event in events {
        if !whole && let Some(shift) = Shift::of(event, after.placed) {
            shift.apply(conn, key)?;
        }
        if let Event::Moved { number, .. }
        | Event::Superseded { number, .. }
        | Event::Restored { number, .. } = event
        {
            moved.insert(*number);
        }
        after.evolve(event);
    }
    let writer = Writer { conn, key, after: &after, under: open_under(&after) };
    writer.settle_dependants(&loaded)?;
    writer.settle_parents(before)?;
    for (number, item) in &after.items {
        let old = before.get(*number);
        // One that moved back to its place is not where the ranges have put its row.
        if !whole && moved.contains(number) && old.is_some_and(|it| it.position == item.position) {
            writer.reposition(item)?;
        }
        match old {
            None => writer.insert(item)?,
            Some(old) if old == item => {}
            Some(old) if is_moved_only(old, item) => {
                // In a slice the ranges have moved it already, unless it was the one that moved.
                if whole || moved.contains(number) {
                    writer.reposition(item)?;
                }
            }
            Some(old) => writer.update(old, item)?,
        }
    }
    Ok(after)
}

fn is_moved_only(old: &Item, new: &Item) -> bool {
    old.position != new.position && *new == Item { position: new.position, ..old.clone() }
}

/// Whether an item has nothing but its texts and its place.
pub(crate) fn is_plain(item: &Item) -> bool {
    // Every field is named, so that one that is added is not forgotten.
    let Item {
        id: _,
        number: _,
        position: _,
        title: _,
        context: _,
        completion_criteria: _,
        created_at: _,
        active_form,
        agent_type,
        owner,
        status,
        priority,
        outcome,
        depends_on,
        parent,
        waiting_on,
        check,
        run,
        approve,
        retry,
        timeout,
        evidence,
        claim,
        attempt,
        marks,
        metadata,
        started_at,
        completed_at,
        superseded_at,
        from_list,
    } = item;
    let has_text = active_form.is_some()
        || agent_type.is_some()
        || owner.is_some()
        || outcome.is_some()
        || waiting_on.is_some();
    let has_links = !depends_on.is_empty() || parent.is_some();
    let has_orders = check.is_some()
        || run.is_some()
        || *approve
        || retry.is_some()
        || timeout.is_some()
        || priority.is_some();
    let has_history = *status != Status::Pending
        || !evidence.is_empty()
        || claim.is_some()
        || !attempt.is_none()
        || !marks.is_empty()
        || started_at.is_some()
        || completed_at.is_some()
        || superseded_at.is_some();
    !(has_text || has_links || has_orders || has_history || metadata.is_some() || *from_list)
}

/// Whether all that changed of an item is how far it has come, and what stands in the `extra` column.
fn is_course_only(old: &Item, new: &Item) -> bool {
    // Every field is named, so that one that is added is not forgotten.
    let Item {
        id: _,
        number: _,
        created_at: _,
        status: _,
        attempt: _,
        started_at: _,
        completed_at: _,
        claim: _,
        outcome: _,
        check: _,
        run: _,
        approve: _,
        retry: _,
        timeout: _,
        evidence: _,
        marks: _,
        metadata: _,
        from_list: _,
        position,
        title,
        context,
        completion_criteria,
        active_form,
        agent_type,
        owner,
        priority,
        depends_on,
        parent,
        waiting_on,
        superseded_at,
    } = old;
    let same_texts = *title == new.title
        && *context == new.context
        && *completion_criteria == new.completion_criteria
        && *active_form == new.active_form
        && *agent_type == new.agent_type
        && *owner == new.owner
        && *waiting_on == new.waiting_on;
    let same_place = *position == new.position
        && *priority == new.priority
        && *depends_on == new.depends_on
        && *parent == new.parent
        && *superseded_at == new.superseded_at;
    same_texts && same_place
}

/// Whether an item is found by its id without an index: the id tells the number.
fn numbered(item: &Item) -> Option<bool> {
    (item.id.told_number() == item.number).then_some(true)
}

/// Whether others that depend on it must wait for it.
fn blocks(item: &Item) -> bool {
    item.status != Status::Completed && !item.is_superseded()
}

/// The item that must wait until this one is closed.
fn holds_up(item: &Item) -> Option<Number> {
    item.parent.filter(|_| item.is_open())
}

/// How many open items are under which, as far as they are loaded.
fn open_under(plan: &Plan) -> BTreeMap<Number, u32> {
    let mut under = BTreeMap::new();
    for parent in plan.items.values().filter_map(holds_up) {
        *under.entry(parent).or_default() += 1;
    }
    under
}

/// A range of positions that goes up or down by one.
struct Shift {
    from: Position,
    to: u32,
    by: i32,
}

impl Shift {
    /// What an event does to the places of others, with so many `placed` before it.
    fn of(event: &Event, placed: u32) -> Option<Self> {
        let shift = match event {
            Event::Added { item } => Self { from: item.position?, to: placed, by: 1 },
            Event::Moved { from, to, .. } if from < to => {
                Self { from: Position(from.0 + 1), to: to.0, by: -1 }
            }
            Event::Moved { from, to, .. } => {
                Self { from: *to, to: from.0.saturating_sub(1), by: 1 }
            }
            Event::Superseded { from, .. } => {
                Self { from: Position(from.0 + 1), to: placed, by: -1 }
            }
            Event::Restored { to, .. } => Self { from: *to, to: placed, by: 1 },
            Event::Changed { .. } | Event::PlanChanged { .. } | Event::Forgotten { .. } => {
                return None;
            }
        };
        (shift.from.0 <= shift.to).then_some(shift)
    }

    fn apply(&self, conn: &Session<'_>, key: PlanKey) -> rusqlite::Result<()> {
        let mut update = conn.statement(SHIFT)?;
        update.execute(params![key.0, self.from.0, self.to, self.by])?;
        Ok(())
    }
}

/// Moves a range of positions. An item stands where its number says unless it was moved: only those
/// that were are in the index.
pub(crate) const SHIFT: &str = "UPDATE item SET position = position + ?4 \
    WHERE plan = ?1 AND number IN ( \
    SELECT number FROM item WHERE plan = ?1 AND number BETWEEN ?2 AND ?3 AND position = number \
    UNION ALL SELECT number FROM item INDEXED BY item_position \
    WHERE plan = ?1 AND position BETWEEN ?2 AND ?3 AND position <> number)";

struct Writer<'a, 'c> {
    conn: &'a Session<'c>,
    key: PlanKey,
    /// The plan as it will be.
    after: &'a Plan,
    /// How many open items of it are under which.
    under: BTreeMap<Number, u32>,
}

impl Writer<'_, '_> {
    /// Corrects the counts of those that depend on an item that began or ceased to block. The links
    /// are still the old ones; items whose own links change are counted afresh afterwards.
    fn settle_dependants(&self, before: &Loaded) -> rusqlite::Result<()> {
        for (number, old) in &before.plan.items {
            let Some(new) = self.after.get(*number) else { continue };
            let by = i32::from(blocks(new)) - i32::from(blocks(old));
            // Mostly nothing depends on it, and to see that is cheaper than to say what would follow.
            if by != 0 && !before.is_leaf(*number) && self.has_dependants(*number)? {
                let mut update = self.conn.statement(
                    "UPDATE item SET unmet = unmet + ?3 WHERE plan = ?1 AND number IN \
                     (SELECT item FROM dependency WHERE plan = ?1 AND on_item = ?2)",
                )?;
                update.execute(params![self.key.0, number.0, by])?;
            }
        }
        Ok(())
    }

    /// Corrects the counts of those that have more or fewer open items under them than before. New ones
    /// are counted when they are written.
    fn settle_parents(&self, before: &Plan) -> rusqlite::Result<()> {
        let mut by: BTreeMap<Number, i32> = BTreeMap::new();
        for (number, new) in &self.after.items {
            let (was, is) = (before.get(*number).and_then(holds_up), holds_up(new));
            if was != is {
                was.into_iter().for_each(|parent| *by.entry(parent).or_default() -= 1);
                is.into_iter().for_each(|parent| *by.entry(parent).or_default() += 1);
            }
        }
        let is_new = |it: &Number| before.get(*it).is_none() && self.after.get(*it).is_some();
        for (parent, by) in by.into_iter().filter(|(parent, by)| *by != 0 && !is_new(parent)) {
            let mut update = self
                .conn
                .statement("UPDATE item SET unmet = unmet + ?3 WHERE plan = ?1 AND number = ?2")?;
            update.execute(params![self.key.0, parent.0, by])?;
        }
        Ok(())
    }

    fn has_dependants(&self, number: Number) -> rusqlite::Result<bool> {
        let mut select =
            self.conn.statement("SELECT item FROM dependency WHERE plan = ?1 AND on_item = ?2")?;
        select.exists(params![self.key.0, number.0])
    }

    fn insert(&self, item: &Item) -> rusqlite::Result<()> {
        if is_plain(item) && !self.under.contains_key(&item.number) {
            return self.insert_plain(item);
        }
        let mut insert = self.conn.statement(
            "INSERT INTO item(plan, number, id, position, status, priority, parent, attempt, \
             created_at, started_at, completed_at, superseded_at, depends_on, waiting_on, claim, \
             title, active_form, agent_type, owner, outcome, context, completion_criteria, extra, \
             unmet, numbered) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, \
             ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)",
        )?;
        insert.execute(params![
            self.key.0,
            item.number.0,
            item.id.to_string(),
            item.position.map(|it| it.0),
            item.status.as_str(),
            item.priority,
            item.parent.map(|it| it.0),
            item.attempt.0,
            millis(item.created_at),
            item.started_at.map(millis),
            item.completed_at.map(millis),
            item.superseded_at.map(millis),
            rows::number_list(&item.depends_on),
            item.waiting_on,
            item.claim.as_ref().map(rows::json),
            item.title,
            item.active_form,
            item.agent_type,
            item.owner,
            item.outcome,
            item.context,
            item.completion_criteria,
            rows::extra(item),
            self.unmet(item)?,
            numbered(item),
        ])?;
        item.depends_on.iter().try_for_each(|on| self.link(item.number, *on))
    }

    /// Writes a new item as most of them are, by a statement with nothing in it that is not there.
    fn insert_plain(&self, item: &Item) -> rusqlite::Result<()> {
        let mut insert = self.conn.statement(
            "INSERT INTO item(plan, number, id, position, status, attempt, created_at, title, \
             context, completion_criteria, unmet, numbered) \
             VALUES (?1, ?2, ?3, ?4, 'pending', 0, ?5, ?6, ?7, ?8, 0, ?9)",
        )?;
        insert.execute(params![
            self.key.0,
            item.number.0,
            item.id.spelt(&mut [0; 36]),
            item.position.map(|it| it.0),
            millis(item.created_at),
            item.title,
            item.context,
            item.completion_criteria,
            numbered(item),
        ])?;
        Ok(())
    }

    /// Writes how far an item has come, by a statement with nothing else in it.
    fn update_course(&self, item: &Item) -> rusqlite::Result<()> {
        let mut update = self.conn.statement(
            "UPDATE item SET status = ?3, attempt = ?4, started_at = ?5, completed_at = ?6, \
             claim = ?7, outcome = ?8, extra = ?9 WHERE plan = ?1 AND number = ?2",
        )?;
        update.execute(params![
            self.key.0,
            item.number.0,
            item.status.as_str(),
            item.attempt.0,
            item.started_at.map(millis),
            item.completed_at.map(millis),
            item.claim.as_ref().map(rows::json),
            item.outcome,
            rows::extra(item),
        ])?;
        Ok(())
    }

    fn update(&self, old: &Item, new: &Item) -> rusqlite::Result<()> {
        if is_course_only(old, new) {
            return self.update_course(new);
        }
        let mut update = self.conn.statement(
            "UPDATE item SET status = ?3, priority = ?4, attempt = ?5, started_at = ?6, \
             completed_at = ?7, superseded_at = ?8, depends_on = ?9, waiting_on = ?10, \
             claim = ?11, title = ?12, active_form = ?13, agent_type = ?14, owner = ?15, \
             outcome = ?16, context = ?17, completion_criteria = ?18, extra = ?19 \
             WHERE plan = ?1 AND number = ?2",
        )?;
        update.execute(params![
            self.key.0,
            new.number.0,
            new.status.as_str(),
            new.priority,
            new.attempt.0,
            new.started_at.map(millis),
            new.completed_at.map(millis),
            new.superseded_at.map(millis),
            rows::number_list(&new.depends_on),
            new.waiting_on,
            new.claim.as_ref().map(rows::json),
            new.title,
            new.active_form,
            new.agent_type,
            new.owner,
            new.outcome,
            new.context,
            new.completion_criteria,
            rows::extra(new),
        ])?;
        // Seldom together with the rest, and each in an index that would be written every time.
        if old.position != new.position {
            self.reposition(new)?;
        }
        if old.parent != new.parent {
            let mut update = self
                .conn
                .statement("UPDATE item SET parent = ?3 WHERE plan = ?1 AND number = ?2")?;
            update.execute(params![self.key.0, new.number.0, new.parent.map(|it| it.0)])?;
        }
        if old.depends_on != new.depends_on {
            for on in new.depends_on.difference(&old.depends_on) {
                self.link(new.number, *on)?;
            }
            for on in old.depends_on.difference(&new.depends_on) {
                self.unlink(new.number, *on)?;
            }
            let mut update = self
                .conn
                .statement("UPDATE item SET unmet = ?3 WHERE plan = ?1 AND number = ?2")?;
            update.execute(params![self.key.0, new.number.0, self.unmet(new)?])?;
        }
        Ok(())
    }

    fn reposition(&self, item: &Item) -> rusqlite::Result<()> {
        let mut update =
            self.conn.statement("UPDATE item SET position = ?3 WHERE plan = ?1 AND number = ?2")?;
        update.execute(params![self.key.0, item.number.0, item.position.map(|it| it.0)])?;
        Ok(())
    }

    /// How many of an item's dependencies, and of the items under it, keep it from being ready. What is
    /// not in the slice did not change, so its row is right.
    fn unmet(&self, item: &Item) -> rusqlite::Result<u32> {
        let mut unmet = self.open_under(item.number)?;
        for on in &item.depends_on {
            let blocking = match self.after.get(*on) {
                Some(item) => blocks(item),
                None => self.row_blocks(*on)?,
            };
            unmet += u32::from(blocking);
        }
        Ok(unmet)
    }

    fn open_under(&self, number: Number) -> rusqlite::Result<u32> {
        let mut open = self.under.get(&number).copied().unwrap_or_default();
        let mut select = self.conn.statement(
            "SELECT number FROM item INDEXED BY item_parent WHERE plan = ?1 AND parent = ?2 \
             AND status IN ('pending', 'in_progress') AND superseded_at IS NULL",
        )?;
        let mut rows = select.query(params![self.key.0, number.0])?;
        while let Some(row) = rows.next()? {
            open += u32::from(self.after.get(Number(row.get(0)?)).is_none());
        }
        Ok(open)
    }

    fn row_blocks(&self, number: Number) -> rusqlite::Result<bool> {
        let mut select = self.conn.statement(
            "SELECT 1 FROM item WHERE plan = ?1 AND number = ?2 AND status <> 'completed' \
             AND superseded_at IS NULL",
        )?;
        select.exists(params![self.key.0, number.0])
    }

    fn link(&self, item: Number, on: Number) -> rusqlite::Result<()> {
        let mut insert = self
            .conn
            .statement("INSERT INTO dependency(plan, on_item, item) VALUES (?1, ?2, ?3)")?;
        insert.execute(params![self.key.0, on.0, item.0])?;
        Ok(())
    }

    fn unlink(&self, item: Number, on: Number) -> rusqlite::Result<()> {
        let mut delete = self
            .conn
            .statement("DELETE FROM dependency WHERE plan = ?1 AND on_item = ?2 AND item = ?3")?;
        delete.execute(params![self.key.0, on.0, item.0])?;
        Ok(())
    }
}
