//! Raw SQLite: the same file, settings and statements as the store's, with everything else left out.
//!
//! JSON is formatted by hand, no rule is checked, nobody is rung, and writers wait as SQLite itself
//! lets them.

use std::path::Path;
use std::time::Duration;

use punchlist_model::Number;
use punchlist_store::Durability;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

use super::Outcome;
use super::desk::{TITLE, WHO, at, ids, plan_id};

/// The header of a plan that is going to be changed, and whether any item is in progress.
const SELECT_PLAN: &str = "SELECT key, id, project, name, title, revision, rules, goal, end, \
    next_number, placed, open, created_at, updated_at, EXISTS (SELECT 1 FROM item \
    INDEXED BY item_running WHERE plan = key AND status = 'in_progress' \
    AND superseded_at IS NULL), seen_by, last_entry FROM plan WHERE id = ?1";

const SELECT_RUNNING: &str = "SELECT number FROM item INDEXED BY item_running \
    WHERE plan = ?1 AND status = 'in_progress' AND superseded_at IS NULL";

/// The query on the maintained counter, with what `next` shows of the item.
const SELECT_NEXT: &str = "SELECT number, title FROM item \
    WHERE plan = ?1 AND status = 'pending' AND unmet = 0 AND waiting_on IS NULL \
    AND position IS NOT NULL ORDER BY ifnull(priority, 4294967295), position LIMIT 1";

const INSERT_ITEM: &str = "INSERT INTO item(plan, number, id, position, status, attempt, \
    created_at, title, context, completion_criteria, unmet, numbered) \
    VALUES (?1, ?2, ?3, ?4, 'pending', 0, ?5, ?6, ?7, ?8, 0, ?9)";

const CLAIM_ITEM: &str = "UPDATE item SET status = 'in_progress', attempt = attempt + 1, \
    started_at = ?3, claim = ?4 WHERE plan = ?1 AND number = ?2";

const RELEASE_ITEM: &str = "UPDATE item SET status = 'pending', started_at = NULL, claim = NULL \
    WHERE plan = ?1 AND number = ?2";

const SET_WAITING: &str = "UPDATE item SET waiting_on = ?3 WHERE plan = ?1 AND number = ?2";

const UPDATE_PLAN: &str = "UPDATE plan SET revision = ?2, next_number = ?3, placed = ?4, \
    open = ?5, updated_at = ?6, last_entry = ?7 WHERE key = ?1";

const INSERT_JOURNAL: &str = "INSERT INTO journal(plan, revision, at, actor_kind, actor, kind, \
    undoes, events, before) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

/// A connection as the store makes one, but with `FULL` SQLite itself waits for the disk.
pub(crate) fn open(database: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(database, flags)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.busy_timeout(Duration::from_secs(30))?;
    conn.set_prepared_statement_cache_capacity(64);
    if durability == Durability::Normal {
        conn.pragma_update(None, "synchronous", "NORMAL")?;
    }
    Ok(conn)
}

/// The columns of a plan that a change writes back.
struct Header {
    key: i64,
    revision: i64,
    next_number: i64,
    placed: i64,
    open: i64,
    running: bool,
    /// Where its journal ends.
    last: Option<i64>,
}

fn header(conn: &Connection) -> rusqlite::Result<Header> {
    conn.prepare_cached(SELECT_PLAN)?.query_row([plan_id().to_string()], |row| {
        Ok(Header {
            key: row.get(0)?,
            revision: row.get(5)?,
            next_number: row.get(9)?,
            placed: row.get(10)?,
            open: row.get(11)?,
            running: row.get(14)?,
            last: row.get(16)?,
        })
    })
}

/// Writes header and journal of the next revision.
fn note(
    conn: &Connection,
    plan: &Header,
    n: u64,
    kind: &str,
    events: &str,
) -> rusqlite::Result<()> {
    let (now, revision) = (at(n).as_millisecond(), plan.revision + 1);
    let none = None::<i64>;
    let last = conn
        .prepare_cached(INSERT_JOURNAL)?
        .insert(params![plan.key, revision, now, "person", WHO, kind, none, events, plan.last])?;
    conn.prepare_cached(UPDATE_PLAN)?.execute(params![
        plan.key,
        revision,
        plan.next_number,
        plan.placed,
        plan.open,
        now,
        last,
    ])?;
    Ok(())
}

/// How many items are in progress; the store looks at each of them, if there are any.
fn running(conn: &Connection, plan: &Header) -> rusqlite::Result<usize> {
    if !plan.running {
        return Ok(0);
    }
    let mut select = conn.prepare_cached(SELECT_RUNNING)?;
    let mut rows = select.query([plan.key])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += usize::from(row.get::<_, i64>(0)? > 0);
    }
    Ok(count)
}

/// Puts an item at the end of the list.
pub(crate) fn add(conn: &mut Connection, n: u64) -> Outcome {
    let tx = Transaction::new(conn, TransactionBehavior::Immediate)?;
    let mut plan = header(&tx)?;
    running(&tx, &plan)?;
    let (number, position) = (plan.next_number, plan.placed + 1);
    let id = ids(n).item(0, Number(u32::try_from(number)?)).to_string();
    let time = at(n);
    let events = format!(
        "[{{\"event\":\"added\",\"item\":{{\"id\":\"{id}\",\"number\":{number},\
         \"position\":{position},\"title\":\"{TITLE}\",\"status\":\"pending\",\
         \"created_at\":\"{time}\"}}}}]"
    );
    let millis = time.as_millisecond();
    tx.prepare_cached(INSERT_ITEM)?
        .execute(params![plan.key, number, id, position, millis, TITLE, "", "", true])?;
    plan.next_number += 1;
    plan.placed += 1;
    plan.open += 1;
    note(&tx, &plan, n, "add", &events)?;
    Ok(tx.commit()?)
}

/// The next ready item: the query on the counter, and nothing else.
pub(crate) fn next(conn: &Connection, key: i64) -> rusqlite::Result<(i64, String)> {
    conn.prepare_cached(SELECT_NEXT)?.query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// The row number of the plan.
pub(crate) fn key(conn: &Connection) -> rusqlite::Result<i64> {
    header(conn).map(|plan| plan.key)
}

/// Takes the next ready item, as a journaled change.
pub(crate) fn claim(conn: &mut Connection, n: u64) -> Outcome<i64> {
    let tx = Transaction::new(conn, TransactionBehavior::Immediate)?;
    let plan = header(&tx)?;
    running(&tx, &plan)?;
    let (number, _) = next(&tx, plan.key)?;
    let (time, until) = (at(n), at(n + 900_000));
    let claim = format!(
        "{{\"holder\":{{\"name\":\"{WHO}\",\"process\":null}},\"attempt\":1,\
         \"expires_at\":\"{until}\"}}"
    );
    tx.prepare_cached(CLAIM_ITEM)?.execute(params![
        plan.key,
        number,
        time.as_millisecond(),
        claim
    ])?;
    let events = format!(
        "[{{\"event\":\"changed\",\"number\":{number},\"what\":\"started\",\"deltas\":\
         [{{\"status\":{{\"before\":\"pending\",\"after\":\"in_progress\"}}}},\
         {{\"claim\":{{\"before\":null,\"after\":{claim}}}}},\
         {{\"attempt\":{{\"before\":0,\"after\":1}}}},\
         {{\"started_at\":{{\"before\":null,\"after\":\"{time}\"}}}}]}}]"
    );
    note(&tx, &plan, n, "next", &events)?;
    tx.commit()?;
    Ok(number)
}

/// Lets an item wait for somebody, or for nobody any more.
pub(crate) fn wait(conn: &mut Connection, n: u64, number: i64, on: Option<&str>) -> Outcome {
    let tx = Transaction::new(conn, TransactionBehavior::Immediate)?;
    let plan = header(&tx)?;
    tx.prepare_cached(SET_WAITING)?.execute((plan.key, number, on))?;
    note(&tx, &plan, n, "wait", "[]")?;
    Ok(tx.commit()?)
}

/// Puts an item back, so that it can be taken again.
pub(crate) fn release(conn: &mut Connection, n: u64, number: i64) -> Outcome {
    let tx = Transaction::new(conn, TransactionBehavior::Immediate)?;
    let plan = header(&tx)?;
    tx.prepare_cached(RELEASE_ITEM)?.execute((plan.key, number))?;
    note(&tx, &plan, n, "release", "[]")?;
    Ok(tx.commit()?)
}

/// Whether two databases hold the same plan, items and journal.
pub(crate) fn check_alike(one: &Path, other: &Path) -> Outcome {
    let conn = open(one, Durability::Normal)?;
    conn.execute("ATTACH DATABASE ?1 AS other", [other.to_string_lossy()])?;
    for table in ["plan", "item", "journal"] {
        for (here, there) in [("main", "other"), ("other", "main")] {
            let sql = format!(
                "SELECT count(*) FROM (SELECT * FROM {here}.{table} EXCEPT \
                 SELECT * FROM {there}.{table})"
            );
            let differing: i64 = conn.query_row(&sql, [], |row| row.get(0))?;
            if differing > 0 {
                return Err(format!("{differing} rows of {table} differ from raw SQLite's").into());
            }
        }
    }
    Ok(())
}
