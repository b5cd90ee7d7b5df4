//! Attachments: which conversation is attached to which plan, and what it was shown.

use std::collections::HashMap;

use punchlist_model::store::{Attachment, AttachmentKey, kept};
use punchlist_model::{PlanId, Revision, Slice, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::load::{self, Failure};
use crate::rows::{self, PlanKey, plan_columns, signed};

/// The attachment of a conversation.
pub(crate) fn get(conn: &Connection, key: &AttachmentKey) -> Result<Option<Attachment>, Failure> {
    let mut select = conn.prepare_cached(
        "SELECT plan.id, shown, at FROM attachment JOIN plan ON plan.key = attachment.plan \
         WHERE attachment.project = ?1 AND agent = ?2 AND conversation = ?3 AND sub_agent = ?4 \
         AND turn = ?5",
    )?;
    let found = select.query_row(columns(key), |row| {
        Ok(Attachment {
            key: key.clone(),
            plan: rows::parsed(row, 0, str::parse::<PlanId>)?,
            shown: rows::revision(row, 1)?,
            at: rows::time(row, 2)?,
        })
    });
    Ok(found.optional()?)
}

/// A statement about the plan that a conversation is attached to.
macro_rules! of_attached {
    ($columns:expr) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM plan WHERE key = (SELECT plan FROM attachment WHERE project = ?1 \
             AND agent = ?2 AND conversation = ?3 AND sub_agent = ?4 AND turn = ?5)"
        )
    };
}

/// The plan that a conversation is attached to.
pub(crate) fn plan(conn: &Connection, key: &AttachmentKey) -> Result<Option<PlanId>, Failure> {
    let mut select = conn.prepare_cached(of_attached!("id"))?;
    let found = select.query_row(columns(key), |row| rows::parsed(row, 0, str::parse::<PlanId>));
    Ok(found.optional()?)
}

/// The plan that a conversation is attached to, with its header.
pub(crate) fn header(
    conn: &Connection,
    key: &AttachmentKey,
) -> Result<Option<(PlanKey, Slice)>, Failure> {
    let mut select = conn.prepare_cached(of_attached!(plan_columns!("")))?;
    Ok(select.query_row(columns(key), |row| rows::plan(row)).optional()?)
}

/// A key as parameters of a statement.
fn columns(key: &AttachmentKey) -> [&str; 5] {
    let AttachmentKey { project, agent, conversation, sub_agent, turn } = key;
    [project, agent, conversation, sub_agent, turn]
}

/// Attaches a conversation to a plan.
pub(crate) fn attach(
    conn: &Connection,
    key: AttachmentKey,
    plan: PlanId,
    now: Timestamp,
) -> Result<Attachment, Failure> {
    let (plan_key, _) = load::header(conn, plan)?;
    let shown = get(conn, &key)?.filter(|it| it.plan == plan).map(|it| it.shown);
    let attachment = Attachment { key, plan, shown: shown.unwrap_or_default(), at: kept(now) };
    let mut upsert = conn.prepare_cached(
        "INSERT INTO attachment(project, agent, conversation, sub_agent, turn, plan, shown, at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO UPDATE \
         SET plan = excluded.plan, shown = excluded.shown, at = excluded.at",
    )?;
    let AttachmentKey { project, agent, conversation, sub_agent, turn } = &attachment.key;
    upsert.execute(params![
        project,
        agent,
        conversation,
        sub_agent,
        turn,
        plan_key.0,
        signed(attachment.shown),
        rows::millis(attachment.at),
    ])?;
    Ok(attachment)
}

/// Records the revision that a conversation was shown.
pub(crate) fn shown(
    conn: &Connection,
    key: &AttachmentKey,
    revision: Revision,
) -> Result<(), Failure> {
    let mut update = conn.prepare_cached(
        "UPDATE attachment SET shown = max(shown, ?6) WHERE project = ?1 AND agent = ?2 \
         AND conversation = ?3 AND sub_agent = ?4 AND turn = ?5",
    )?;
    let AttachmentKey { project, agent, conversation, sub_agent, turn } = key;
    update.execute(params![project, agent, conversation, sub_agent, turn, signed(revision)])?;
    Ok(())
}

/// The most recent attachment of each of these plans. `keys` is a JSON array.
pub(crate) fn newest(
    conn: &Connection,
    keys: &str,
) -> rusqlite::Result<HashMap<i64, AttachmentKey>> {
    let mut select = conn.prepare_cached(
        "SELECT plan, project, agent, conversation, sub_agent, turn FROM (SELECT *, row_number() OVER \
         (PARTITION BY plan ORDER BY at DESC, project DESC, agent DESC, conversation DESC, \
         sub_agent DESC, turn DESC) AS place FROM attachment \
         WHERE plan IN (SELECT value FROM json_each(?1))) WHERE place = 1",
    )?;
    let read = |row: &Row<'_>| {
        let key = AttachmentKey {
            project: row.get(1)?,
            agent: row.get(2)?,
            conversation: row.get(3)?,
            sub_agent: row.get(4)?,
            turn: row.get(5)?,
        };
        Ok((row.get(0)?, key))
    };
    select.query_map([keys], read)?.collect()
}
