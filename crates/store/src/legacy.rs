//! Records what the plans of schema 5 and 6 were made for.
//!
//! Their ids were hashes of what they were made for, which was recorded nowhere else. A project's
//! own plan and the first plans of conversations are found by their ids; the path of a plan file is
//! known from the newest run of its plan. A plan file that was never run is found by its id when it
//! is run, see [`punchlist_model::legacy_ids`].

use std::collections::BTreeSet;
use std::path::Path;

use punchlist_model::MadeFor;
use punchlist_model::legacy_ids::plan_id;
use punchlist_model::store::AttachmentKey;
use rusqlite::{Connection, Row, params};

use crate::rows;

/// Records what each plan was made for, as far as the database shows it.
pub(crate) fn record_what_plans_were_made_for(conn: &Connection) -> rusqlite::Result<()> {
    for project in all(conn, "SELECT DISTINCT project FROM plan", |row| row.get::<_, String>(0))? {
        let id = plan_id(&MadeFor::Project(project)).to_string();
        conn.execute("UPDATE plan SET is_own = 1 WHERE id = ?1", [id])?;
    }
    let keys = "SELECT project, agent, conversation, sub_agent, turn FROM attachment";
    for key in all(conn, keys, attachment)? {
        let column = rows::conversation_key(&key);
        let id = plan_id(&MadeFor::Conversation(key)).to_string();
        conn.execute("UPDATE plan SET conversation_key = ?2 WHERE id = ?1", params![id, column])?;
    }
    // The newest run of a plan comes first; its `what` is the path of the plan file.
    let runs = "SELECT plan, what FROM run WHERE plan IS NOT NULL ORDER BY key DESC";
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    let mut recorded = BTreeSet::new();
    for (plan, path) in all(conn, runs, read)? {
        if Path::new(&path).is_absolute() && recorded.insert(plan) {
            conn.execute(
                "UPDATE OR IGNORE plan SET plan_file = ?2 WHERE key = ?1 AND plan_file IS NULL \
                 AND is_own = 0 AND conversation_key IS NULL",
                params![plan, path],
            )?;
        }
    }
    Ok(())
}

fn all<T>(
    conn: &Connection,
    sql: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    conn.prepare(sql)?.query_map([], read)?.collect()
}

fn attachment(row: &Row<'_>) -> rusqlite::Result<AttachmentKey> {
    Ok(AttachmentKey {
        project: row.get(0)?,
        agent: row.get(1)?,
        conversation: row.get(2)?,
        sub_agent: row.get(3)?,
        turn: row.get(4)?,
    })
}
