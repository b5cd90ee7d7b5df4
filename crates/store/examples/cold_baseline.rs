//! The least that a cold start can cost: what `cargo xtask bench cold` holds the program against.
//!
//! It works on the same database, with the same settings, and executes the same statements as the
//! store does for `add`, `list` and `done`, the journal's row included. Everything else is left out:
//! arguments are read by hand, JSON is formatted by hand, no rule is checked, nobody is rung, and
//! text is printed as it is. It is no example of how to use the store.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher};
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

const ACTOR: &str = "bench@bench";

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        [database, "add", plan, title] => add(database, plan, title),
        [database, "list", plan] => list(database, plan),
        [database, "done", plan, number] => done(database, plan, number),
        [database, "fold"] => fold(database),
        _ => {
            Err("usage: cold_baseline DATABASE add PLAN TITLE | list PLAN | done PLAN N | fold"
                .into())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where this cannot be written, the exit code has to do.
            drop(writeln!(std::io::stderr(), "error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn open(database: &str, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(database, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.busy_timeout(std::time::Duration::from_secs(30))?;
    let known = conn.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))?;
    let ours = conn.query_row("PRAGMA application_id", [], |row| row.get::<_, i64>(0))?;
    if known == 0 || ours == 0 {
        return Err(rusqlite::Error::InvalidQuery);
    }
    Ok(conn)
}

const SELECT_PLAN: &str = "SELECT key, id, project, name, title, revision, rules, goal, end, \
    next_number, placed, open, created_at, updated_at FROM plan WHERE id = ?1";

/// The header of a plan that is going to be changed, and whether any item is in progress.
const SELECT_PLAN_TO_CHANGE: &str = "SELECT key, id, project, name, title, revision, rules, goal, end, \
    next_number, placed, open, created_at, updated_at, EXISTS (SELECT 1 FROM item \
    INDEXED BY item_running WHERE plan = key AND status = 'in_progress' \
    AND superseded_at IS NULL), seen_by, last_entry FROM plan WHERE id = ?1";

const SELECT_ITEMS: &str = "SELECT number, id, position, status, priority, parent, attempt, \
    created_at, started_at, completed_at, superseded_at, depends_on, waiting_on, claim, title, \
    active_form, agent_type, owner, outcome, context, completion_criteria, extra FROM item \
    WHERE plan = ?1";

const SELECT_ITEM: &str = "SELECT number, id, position, status, priority, parent, attempt, \
    created_at, started_at, completed_at, superseded_at, depends_on, waiting_on, claim, title, \
    active_form, agent_type, owner, outcome, context, completion_criteria, extra FROM item \
    WHERE plan = ?1 AND number = ?2";

const SELECT_CHILDREN: &str = "SELECT number FROM item WHERE plan = ?1 AND parent = ?2";

const UPDATE_PLAN: &str = "UPDATE plan SET revision = ?2, next_number = ?3, placed = ?4, \
    open = ?5, updated_at = ?6, last_entry = ?7 WHERE key = ?1";

const INSERT_ITEM: &str = "INSERT INTO item(plan, number, id, position, status, attempt, \
    created_at, title, context, completion_criteria, unmet, numbered) \
    VALUES (?1, ?2, ?3, ?4, 'pending', 0, ?5, ?6, ?7, ?8, 0, ?9)";

const UPDATE_ITEM: &str = "UPDATE item SET status = ?3, attempt = ?4, started_at = ?5, \
    completed_at = ?6, claim = ?7, outcome = ?8, extra = ?9 WHERE plan = ?1 AND number = ?2";

const SELECT_DEPENDANTS: &str = "SELECT item FROM dependency WHERE plan = ?1 AND on_item = ?2";

const INSERT_JOURNAL: &str = "INSERT INTO journal(plan, revision, at, actor_kind, actor, kind, \
    undoes, events, before) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

/// The columns of a plan that a change writes back.
struct Header {
    key: i64,
    revision: i64,
    next_number: i64,
    placed: i64,
    open: i64,
    /// Where its journal ends.
    last: Option<i64>,
}

/// The header of a plan, of which nothing is in progress.
fn header(conn: &Connection, plan: &str) -> Result<Header, Box<dyn std::error::Error>> {
    let mut select = conn.prepare(SELECT_PLAN_TO_CHANGE)?;
    let (header, running) = select.query_row([plan], |row| {
        let header = Header {
            key: row.get(0)?,
            revision: row.get(5)?,
            next_number: row.get(9)?,
            placed: row.get(10)?,
            open: row.get(11)?,
            last: row.get(16)?,
        };
        Ok((header, row.get::<_, bool>(14)?))
    })?;
    if running { Err("the baseline knows no items in progress".into()) } else { Ok(header) }
}

fn update_header(conn: &Connection, plan: &Header, now: i64, last: i64) -> rusqlite::Result<usize> {
    conn.prepare(UPDATE_PLAN)?.execute(params![
        plan.key,
        plan.revision,
        plan.next_number,
        plan.placed,
        plan.open,
        now,
        last,
    ])
}

fn journal(
    conn: &Connection,
    plan: &Header,
    now: i64,
    kind: &str,
    events: &str,
) -> rusqlite::Result<i64> {
    let none = None::<i64>;
    conn.prepare(INSERT_JOURNAL)?.insert(params![
        plan.key,
        plan.revision,
        now,
        "person",
        ACTOR,
        kind,
        none,
        events,
        plan.last,
    ])
}

/// The numbers that a statement gives; the store looks at each of them.
fn numbers(conn: &Connection, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<usize> {
    let mut select = conn.prepare(sql)?;
    let mut rows = select.query(params)?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += usize::from(row.get::<_, i64>(0)? > 0);
    }
    Ok(count)
}

fn add(database: &str, plan: &str, title: &str) -> Outcome {
    let mut conn = open(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let now = now();
    let tx = Transaction::new(&mut conn, TransactionBehavior::Immediate)?;
    let mut plan = header(&tx, plan)?;
    let (number, position) = (plan.next_number, plan.placed + 1);
    let id = new_id(now, number);
    let time = rfc3339(now);
    let mut events = String::from("[{\"event\":\"added\",\"item\":{\"id\":\"");
    write!(events, "{id}\",\"number\":{number},\"position\":{position},\"title\":\"")?;
    escape(title, &mut events);
    write!(events, "\",\"status\":\"pending\",\"created_at\":\"{time}\"}}}}]")?;
    tx.prepare(INSERT_ITEM)?
        .execute(params![plan.key, number, id, position, now, title, "", "", true,])?;
    plan.revision += 1;
    plan.next_number += 1;
    plan.placed += 1;
    plan.open += 1;
    let last = journal(&tx, &plan, now, "add", &events)?;
    update_header(&tx, &plan, now, last)?;
    tx.commit()?;
    print(&format!("added {number}  {title}\n"))
}

fn list(database: &str, plan: &str) -> Outcome {
    let mut conn = open(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let tx = conn.transaction()?;
    let key: i64 = tx.prepare(SELECT_PLAN)?.query_row([plan], |row| row.get(0))?;
    let mut lines: Vec<(i64, String)> = Vec::new();
    let (mut completed, mut total) = (0, 0);
    let mut select = tx.prepare(SELECT_ITEMS)?;
    let mut rows = select.query([key])?;
    while let Some(row) = rows.next()? {
        let Some(position) = row.get::<_, Option<i64>>(2)? else { continue };
        let marker = match row.get_ref(3)?.as_str()? {
            "completed" => "[x]",
            "in_progress" => "[>]",
            "cancelled" => "[-]",
            _ => "[ ]",
        };
        completed += usize::from(marker == "[x]");
        total += usize::from(marker != "[-]");
        let (number, title) = (row.get::<_, i64>(0)?, row.get_ref(14)?.as_str()?);
        lines.push((position, format!("{marker} {number} {title}\n")));
    }
    lines.sort_unstable_by_key(|it| it.0);
    let mut out: String = lines.into_iter().map(|it| it.1).collect();
    writeln!(out, "\n({completed}/{total} completed)")?;
    print(&out)
}

fn done(database: &str, plan: &str, number: &str) -> Outcome {
    let number: i64 = number.parse()?;
    let mut conn = open(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let now = now();
    let tx = Transaction::new(&mut conn, TransactionBehavior::Immediate)?;
    let mut plan = header(&tx, plan)?;
    let mut select = tx.prepare(SELECT_ITEM)?;
    let (status, title) = select.query_row((plan.key, number), |row| {
        Ok((row.get::<_, String>(3)?, row.get::<_, String>(14)?))
    })?;
    drop(select);
    if numbers(&tx, SELECT_CHILDREN, (plan.key, number))? > 0 {
        return Err("the baseline knows no children".into());
    }
    if numbers(&tx, SELECT_DEPENDANTS, (plan.key, number))? > 0 {
        return Err("the baseline knows no dependants".into());
    }
    let (time, none) = (rfc3339(now), None::<&str>);
    let evidence =
        format!("[{{\"level\":\"claimed\",\"at\":\"{time}\",\"by\":\"{ACTOR}\",\"run\":null}}]");
    let extra = format!("{{\"evidence\":{evidence}}}");
    let params = params![plan.key, number, "completed", 0, none, now, none, none, extra];
    tx.prepare(UPDATE_ITEM)?.execute(params)?;
    let events = format!(
        "[{{\"event\":\"changed\",\"number\":{number},\"what\":\"completed\",\"deltas\":\
         [{{\"status\":{{\"before\":\"{status}\",\"after\":\"completed\"}}}},\
         {{\"evidence\":{{\"before\":[],\"after\":{evidence}}}}},\
         {{\"completed_at\":{{\"before\":null,\"after\":\"{time}\"}}}}]}}]"
    );
    plan.revision += 1;
    plan.open -= 1;
    let last = journal(&tx, &plan, now, "done", &events)?;
    update_header(&tx, &plan, now, last)?;
    tx.commit()?;
    print(&format!("completed {number}  {title}\n"))
}

/// Folds the log into the database, so that a copy of it begins without one.
fn fold(database: &str) -> Outcome {
    let conn = open(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let busy: i64 = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy == 0 { Ok(()) } else { Err("the database is in use".into()) }
}

fn print(text: &str) -> Outcome {
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "a program of its own, with nobody to hand it in")]
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A UUID of version 7 that tells an item's number.
fn new_id(now: i64, number: i64) -> String {
    // The standard library's only random number; a hasher that was given nothing returns its seed,
    // stirred.
    let random = RandomState::new().build_hasher().finish();
    format!(
        "{:08x}-{:04x}-7{:03x}-{:04x}-{number:08x}{:04x}",
        now >> 16,
        now & 0xffff,
        random & 0xfff,
        0x8000 | random >> 50,
        random >> 12 & 0xffff
    )
}

/// A time as events have it. Days are turned into a date by counting from the first of March 0000,
/// so that the leap day is the last of its year.
fn rfc3339(millis: i64) -> String {
    let (days, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (seconds, millis) = (rest / 1000, rest % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// A text inside a JSON string.
fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => out.push(character),
        }
    }
}
