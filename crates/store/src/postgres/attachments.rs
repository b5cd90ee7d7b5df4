//! Attachments: which conversation is attached to which plan, and what it was shown.

use std::collections::HashMap;

use punchlist_model::store::{Attachment, AttachmentKey};
use punchlist_model::{Plan, PlanId, Revision, Timestamp};
use tokio_postgres::Row;

use super::error::Failure;
use super::load;
use super::tx::Tx;
use super::values::{Value, params};
use crate::columns::{self, string};
use crate::rows::signed;

/// The attachment of a conversation.
pub(crate) async fn get(tx: &Tx, key: &AttachmentKey) -> Result<Option<Attachment>, Failure> {
    let row = tx.first(
        "SELECT plan.id, shown, at FROM punchlist.attachment a \
         JOIN punchlist.plan ON plan.key = a.plan \
         WHERE a.project = $1 AND agent = $2 AND conversation = $3 AND sub_agent = $4 AND turn = $5",
        key_params(key),
    );
    let read = |row: Row| {
        Ok(Attachment {
            key: key.clone(),
            plan: columns::parsed(&row, 0, str::parse::<PlanId>)?,
            shown: columns::revision(&row, 1)?,
            at: columns::time(&row, 2)?,
        })
    };
    row.await?.map(read).transpose()
}

/// The plan that a conversation is attached to.
pub(crate) async fn plan(tx: &Tx, key: &AttachmentKey) -> Result<Option<PlanId>, Failure> {
    Ok(get(tx, key).await?.map(|it| it.plan))
}

/// The whole plan that a conversation is attached to.
pub(crate) async fn whole(tx: &Tx, key: &AttachmentKey) -> Result<Option<Plan>, Failure> {
    match plan(tx, key).await? {
        Some(plan) => load::whole(tx, plan).await.map(Some),
        None => Ok(None),
    }
}

/// A key as parameters of a statement.
fn key_params(key: &AttachmentKey) -> Vec<Value> {
    let AttachmentKey { project, agent, conversation, sub_agent, turn } = key;
    params![project, agent, conversation, sub_agent, turn]
}

/// Attaches a conversation to a plan.
pub(crate) async fn attach(
    tx: &Tx,
    key: AttachmentKey,
    plan: PlanId,
    now: Timestamp,
) -> Result<Attachment, Failure> {
    let (header, now) = (load::header(tx, plan), tx.now(now));
    let (plan_key, _) = header.get().await?;
    let now = now.get().await?;
    let mut params = key_params(&key);
    params.extend(params![plan_key.0, now]);
    let row = tx.first(
        "INSERT INTO punchlist.attachment AS a \
         (project, agent, conversation, sub_agent, turn, plan, shown, at) \
         VALUES ($1, $2, $3, $4, $5, $6, 0, $7) \
         ON CONFLICT (project, agent, conversation, sub_agent, turn) DO UPDATE \
         SET plan = excluded.plan, at = excluded.at, \
         shown = CASE WHEN a.plan = excluded.plan THEN a.shown ELSE 0 END RETURNING shown",
        params,
    );
    let shown = match row.await? {
        Some(row) => columns::revision(&row, 0)?,
        None => Revision(0),
    };
    Ok(Attachment { key, plan, shown, at: now })
}

/// Records the revision that a conversation was shown.
pub(crate) fn shown(tx: &Tx, key: &AttachmentKey, revision: Revision) {
    let mut params = key_params(key);
    params.extend(params![signed(revision)]);
    tx.run(
        "UPDATE punchlist.attachment SET shown = greatest(shown, $6) WHERE project = $1 \
         AND agent = $2 AND conversation = $3 AND sub_agent = $4 AND turn = $5",
        params,
    );
}

/// The most recent attachment of each of these plans.
pub(crate) const NEWEST: &str = "SELECT DISTINCT ON (plan) plan, project, agent, conversation, \
     sub_agent, turn FROM punchlist.attachment WHERE plan = ANY($1) \
     ORDER BY plan, at DESC, project DESC, agent DESC, conversation DESC, sub_agent DESC, turn DESC";

/// Reads the rows of [`NEWEST`].
pub(crate) fn newest(rows: Vec<Row>) -> Result<HashMap<i64, AttachmentKey>, Failure> {
    let read = |row: Row| {
        let key = AttachmentKey {
            project: string(&row, 1)?,
            agent: string(&row, 2)?,
            conversation: string(&row, 3)?,
            sub_agent: string(&row, 4)?,
            turn: string(&row, 5)?,
        };
        Ok((columns::number(&row, 0)?, key))
    };
    rows.into_iter().map(read).collect()
}
