//! Who is attached to which plan, and what they have seen of it.
//!
//! Whoever changes a plan that it has seen up to then has seen it up to its own change. That is noted
//! with the plan, whose row is written anyhow: `plan.seen_by` is the one conversation that has seen the
//! newest revision so. When somebody else changes the plan, it is settled into the row of that
//! conversation.

use punchlist_model::json::Json;
use punchlist_model::store::{Attachment, AttachmentKey, kept};
use punchlist_model::{Plan, PlanId, Revision, Timestamp};
use rusqlite::{OptionalExtension, params};

use crate::load::{self, Failure};
use crate::rows::{self, PlanKey, plan_columns, signed};
use crate::session::Session;

/// Where a conversation is attached.
pub(crate) fn get(conn: &Session<'_>, key: &AttachmentKey) -> Result<Option<Attachment>, Failure> {
    let mut select = conn.statement(
        "SELECT plan.id, iif(seen_by = ?6, revision, shown), at \
         FROM attachment JOIN plan ON plan.key = attachment.plan \
         WHERE attachment.project = ?1 AND agent = ?2 AND conversation = ?3 AND sub_agent = ?4 \
         AND turn = ?5",
    )?;
    let AttachmentKey { project, agent, conversation, sub_agent, turn } = key;
    let name = name(key);
    let params = params![project, agent, conversation, sub_agent, turn, name];
    let found = select.query_row(params, |row| {
        Ok(Attachment {
            key: key.clone(),
            plan: rows::parsed(row, 0, str::parse::<PlanId>)?,
            shown: rows::revision(row, 1)?,
            at: rows::time(row, 2)?,
        })
    });
    Ok(found.optional()?)
}

/// A statement about the plan that a conversation is attached to. SQLite makes less ado of it than of a
/// join.
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
pub(crate) fn plan(conn: &Session<'_>, key: &AttachmentKey) -> Result<Option<PlanId>, Failure> {
    let mut select = conn.statement(of_attached!("id"))?;
    let found = select.query_row(spelt(key), |row| rows::parsed(row, 0, str::parse::<PlanId>));
    Ok(found.optional()?)
}

/// The same with its header.
pub(crate) fn header(
    conn: &Session<'_>,
    key: &AttachmentKey,
) -> Result<Option<(PlanKey, Plan)>, Failure> {
    let mut select = conn.statement(of_attached!(plan_columns!("")))?;
    Ok(select.query_row(spelt(key), rows::plan).optional()?)
}

/// A key as the parameters of a statement.
fn spelt(key: &AttachmentKey) -> [&str; 5] {
    let AttachmentKey { project, agent, conversation, sub_agent, turn } = key;
    [project, agent, conversation, sub_agent, turn]
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
    if shown.is_none() {
        // What it saw in an earlier stay does not count.
        let mut update =
            conn.statement("UPDATE plan SET seen_by = NULL WHERE key = ?1 AND seen_by = ?2")?;
        update.execute(params![plan_key.0, name(&key)])?;
    }
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

/// A conversation as `plan.seen_by` has it. No two are spelt alike.
pub(crate) fn name(key: &AttachmentKey) -> String {
    let AttachmentKey { project, agent, conversation, sub_agent, turn } = key;
    let mut json = Json::with_room(64 + project.len() + conversation.len());
    json.raw("[").text(project).raw(",").text(agent).raw(",").text(conversation);
    json.raw(",").text(sub_agent).raw(",").text(turn).raw("]");
    json.done()
}

/// Whether a conversation is known to be spelt so: a way to tell without spelling it. One that is
/// unusual is not known to be.
pub(crate) fn is_named(name: &str, key: &AttachmentKey) -> bool {
    let AttachmentKey { project, agent, conversation, sub_agent, turn } = key;
    let parts = [project, agent, conversation, sub_agent, turn];
    let is_usual = |it: &String| it.bytes().all(|byte| !matches!(byte, b'"' | b'\\'));
    let mut rest = name.strip_prefix('[');
    for (n, part) in parts.iter().enumerate() {
        let end = if n + 1 < parts.len() { "\"," } else { "\"]" };
        rest = rest
            .and_then(|it| it.strip_prefix('"')?.strip_prefix(part.as_str())?.strip_prefix(end));
    }
    rest == Some("") && parts.into_iter().all(is_usual)
}

/// Notes who has seen the newest revision of a plan, instead of whom; what that one has seen is its own
/// again.
pub(crate) fn seen_by(
    conn: &Session<'_>,
    plan: PlanKey,
    now: Option<&str>,
    before: Option<(&str, Revision)>,
) -> rusqlite::Result<()> {
    if let Some((name, revision)) = before
        && let Ok([project, agent, conversation, sub_agent, turn]) =
            serde_json::from_str::<[String; 5]>(name)
    {
        // Unless it has gone over to another plan.
        let mut update = conn.statement(
            "UPDATE attachment SET shown = max(shown, ?6) WHERE project = ?1 AND agent = ?2 \
             AND conversation = ?3 AND sub_agent = ?4 AND turn = ?5 AND plan = ?7",
        )?;
        let revision = signed(revision);
        update.execute(params![project, agent, conversation, sub_agent, turn, revision, plan.0])?;
    }
    let mut update = conn.statement("UPDATE plan SET seen_by = ?2 WHERE key = ?1")?;
    update.execute(params![plan.0, now])?;
    Ok(())
}

/// The newest conversation attached to a plan.
pub(crate) fn newest(conn: &Session<'_>, plan: PlanKey) -> rusqlite::Result<Option<AttachmentKey>> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(parts: &[String; 5]) -> AttachmentKey {
        let [project, agent, conversation, sub_agent, turn] = parts.clone();
        AttachmentKey { project, agent, conversation, sub_agent, turn }
    }

    proptest! {
        #[test]
        fn a_conversation_is_told_by_its_name_and_by_no_other(
            one in prop::array::uniform5("[a\"\\\\,\\[\\]\u{1}ü]{0,3}"),
            other in prop::array::uniform5("[a\"\\\\,\\[\\]\u{1}ü]{0,3}"),
        ) {
            let named = |a, b| is_named(&name(&key(a)), &key(b));
            prop_assert!(!named(&one, &other) || one == other);
            let is_usual = |it: &String| !it.contains(['"', '\\', '\u{1}']);
            prop_assert_eq!(named(&one, &one), one.iter().all(is_usual));
        }
    }
}
