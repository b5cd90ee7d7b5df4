//! Who is attached to which plan.

use punchlist_model::store::{Attachment, AttachmentKey, kept};
use punchlist_model::{PlanId, Revision, Timestamp};
use rusqlite::{OptionalExtension, params};

use crate::load::{self, Failure};
use crate::rows::{self, signed};
use crate::session::Session;

/// Where a conversation is attached.
pub(crate) fn get(conn: &Session<'_>, key: &AttachmentKey) -> Result<Option<Attachment>, Failure> {
    let mut select = conn.statement(
        "SELECT plan.id, shown, at FROM attachment JOIN plan ON plan.key = attachment.plan \
         WHERE attachment.project = ?1 AND agent = ?2 AND conversation = ?3 AND sub_agent = ?4 \
         AND turn = ?5",
    )?;
    let AttachmentKey { project, agent, conversation, sub_agent, turn } = key;
    let found = select.query_row(params![project, agent, conversation, sub_agent, turn], |row| {
        Ok(Attachment {
            key: key.clone(),
            plan: rows::parsed(row, 0, str::parse::<PlanId>)?,
            shown: rows::revision(row, 1)?,
            at: rows::time(row, 2)?,
        })
    });
    Ok(found.optional()?)
}

/// Ties a conversation to a plan.
pub(crate) fn attach(
    conn: &Session<'_>,
    key: AttachmentKey,
    plan: PlanId,
    now: Timestamp,
) -> Result<Attachment, Failure> {
    let (plan_key, _) = load::header(conn, plan)?;
    let shown = get(conn, &key)?.filter(|it| it.plan == plan).map(|it| it.shown);
    let attachment = Attachment { key, plan, shown: shown.unwrap_or_default(), at: kept(now) };
    let mut upsert = conn.statement(
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

/// Notes what a conversation was shown.
pub(crate) fn shown(
    conn: &Session<'_>,
    key: &AttachmentKey,
    revision: Revision,
) -> Result<(), Failure> {
    let mut update = conn.statement(
        "UPDATE attachment SET shown = max(shown, ?6) WHERE project = ?1 AND agent = ?2 \
         AND conversation = ?3 AND sub_agent = ?4 AND turn = ?5",
    )?;
    let AttachmentKey { project, agent, conversation, sub_agent, turn } = key;
    update.execute(params![project, agent, conversation, sub_agent, turn, signed(revision)])?;
    Ok(())
}

/// Whether [`shown`] has anything to write: a reader that has nothing new must not wait for writers.
pub(crate) fn is_news(
    conn: &Session<'_>,
    key: &AttachmentKey,
    revision: Revision,
) -> Result<bool, Failure> {
    Ok(get(conn, key)?.is_some_and(|it| it.shown < revision))
}

/// The newest conversation attached to a plan.
pub(crate) fn newest(
    conn: &Session<'_>,
    plan: rows::PlanKey,
) -> rusqlite::Result<Option<AttachmentKey>> {
    let mut select = conn.statement(
        "SELECT project, agent, conversation, sub_agent, turn FROM attachment WHERE plan = ?1 \
         ORDER BY at DESC, project DESC, agent DESC, conversation DESC, sub_agent DESC, turn DESC \
         LIMIT 1",
    )?;
    let found = select.query_row([plan.0], |row| {
        Ok(AttachmentKey {
            project: row.get(0)?,
            agent: row.get(1)?,
            conversation: row.get(2)?,
            sub_agent: row.get(3)?,
            turn: row.get(4)?,
        })
    });
    found.optional()
}
