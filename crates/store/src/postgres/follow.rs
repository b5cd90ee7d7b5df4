//! Following the journal, for changes of this process and of others.
//!
//! Entries get their `seq` before they are committed, so they may become visible in another order. A
//! cursor therefore has two parts: a `seq`, and the oldest transaction that was running when it was
//! read. Entries up to that `seq` are missing only if a transaction from then on wrote them, so those
//! are looked for again. Within a plan, changes wait for each other, so their order is always right.
//!
//! A store has one connection that listens, from its first follower on. Followers also look from time
//! to time, in case a writer died between its commit and its message; behind a pooler, where a
//! connection cannot listen, that is all they do. No transaction is open while a follower waits.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use punchlist_model::PlanId;
use punchlist_model::call::News;
use punchlist_model::store::{Cursor, Entry, Error, Following, Scope, Since};
use tokio::sync::{mpsc, watch};
use tokio_postgres::{AsyncMessage, Row};

use super::connect::Connection;
use super::error::Failure;
use super::load::plan_key;
use super::runner::{self, Patience};
use super::tx::{Tx, missing};
use super::values::{Value, ints, params};
use super::{NOTIFY_CHANNEL, Shared};
use crate::columns::{self, Columns};
use crate::journal::{entry, entry_columns};
use crate::rows::signed;

/// How often a follower looks although nobody told it to.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The same behind a pooler, where nobody can tell it.
const POOLED_INTERVAL: Duration = Duration::from_millis(100);
/// How many entries are read at once.
const BATCH: u32 = 256;
/// How many delivered entries a cursor names.
const MOST_NAMED: usize = 50;

/// Wakes the followers of a store.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<Option<watch::Sender<u64>>>,
}

/// What a follower waits for.
struct Ear {
    rung: watch::Receiver<u64>,
    interval: Duration,
}

impl Ear {
    /// Waits until there may be something new. Returns whether somebody said so.
    async fn wait(&mut self) -> bool {
        let changed = tokio::time::timeout(self.interval, self.rung.changed()).await;
        match changed {
            Ok(Ok(())) => true,
            // The listener has ended; the next follower starts another.
            Ok(Err(_)) => {
                tokio::time::sleep(self.interval).await;
                false
            }
            Err(_) => false,
        }
    }
}

/// Begins to listen: every change that is committed after this returns is told, unless its writer dies
/// or a pooler is between.
async fn listen(shared: &Arc<Shared>) -> Result<Ear, Error> {
    let mut rung = None;
    {
        let bell = shared.bell.rung.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*bell
            && !sender.is_closed()
        {
            rung = Some(sender.subscribe());
        }
    }
    if let Some(rung) = rung {
        return Ok(Ear { rung, interval: POLL_INTERVAL });
    }
    let (sender, receiver) = watch::channel(0_u64);
    let connection = listener(shared, &sender).await?;
    if !connection.is_direct {
        return Ok(Ear { rung: receiver, interval: POOLED_INTERVAL });
    }
    *shared.bell.rung.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender.clone());
    tokio::spawn(keep_listening(Arc::downgrade(shared), sender, connection));
    Ok(Ear { rung: receiver, interval: POLL_INTERVAL })
}

/// A connection that listens.
async fn listener(shared: &Shared, sender: &watch::Sender<u64>) -> Result<Connection, Error> {
    let mut patience = Patience::begin(&shared.options);
    loop {
        let sender = sender.clone();
        let on_message = move |message: AsyncMessage| {
            if let AsyncMessage::Notification(_) = message {
                sender.send_modify(|it| *it = it.wrapping_add(1));
            }
        };
        let connected = async {
            let connection = shared.pool.manager().connect(on_message).await?;
            if connection.is_direct {
                connection.client.batch_execute(&format!("LISTEN {NOTIFY_CHANNEL}")).await?;
            }
            Ok::<_, Failure>(connection)
        };
        match connected.await {
            Ok(connection) => return Ok(connection),
            Err(failure) => patience.after(shared, failure).await?,
        }
    }
}

/// Keeps a listening connection while anybody follows, and connects again when it is lost.
async fn keep_listening(
    shared: std::sync::Weak<Shared>,
    sender: watch::Sender<u64>,
    mut connection: Connection,
) {
    loop {
        while !connection.client.is_closed() {
            // Followers hold receivers; the connection tells when it is lost by closing.
            if tokio::time::timeout(Duration::from_millis(200), sender.closed()).await.is_ok() {
                return;
            }
        }
        let Some(shared) = shared.upgrade() else { return };
        match listener(&shared, &sender).await {
            Ok(again) => connection = again,
            // The server is still away: followers poll, and get its error.
            Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
        }
        // Something may have been written meanwhile.
        sender.send_modify(|it| *it = it.wrapping_add(1));
    }
}

/// How far a follower has read.
#[derive(Clone, Default)]
struct Position {
    seq: i64,
    /// The oldest transaction that was running.
    running: u64,
    /// Entries of transactions since then that were delivered, with their transactions.
    delivered: BTreeMap<i64, u64>,
    /// The last revision, if one plan is followed.
    revision: i64,
}

impl Position {
    fn parse(text: &str) -> Self {
        let mut parts = text.split('.');
        let mut parsed = || {
            let seq = parts.next()?.parse().ok()?;
            let running = parts.next()?.parse().ok()?;
            let delivered = parts.next().into_iter().flat_map(|it| it.split('-'));
            // Their transactions are not in the cursor: they count as the newest.
            let delivered = delivered.filter_map(|it| Some((it.parse().ok()?, u64::MAX)));
            Some(Self { seq, running, delivered: delivered.collect(), revision: 0 })
        };
        // An unknown cursor means the beginning, so that nothing is missed.
        parsed().unwrap_or_default()
    }

    /// The cursor. It also names what was delivered since the oldest running transaction began, if that
    /// is not too much, so that whoever continues from it gets nothing again.
    fn cursor(&self) -> Cursor {
        let again = self.delivered.iter().filter(|(_, xid)| **xid >= self.running);
        let again: Vec<String> =
            again.map(|(seq, _)| seq.to_string()).take(MOST_NAMED + 1).collect();
        let again = match again.len() {
            1..=MOST_NAMED => format!(".{}", again.join("-")),
            _ => String::new(),
        };
        Cursor::After(format!("{}.{}{again}", self.seq, self.running))
    }

    /// After all entries that are visible now.
    async fn now(tx: &Tx) -> Result<Self, Failure> {
        let newest = tx.query(
            "SELECT coalesce(max(seq), 0), pg_snapshot_xmin(pg_current_snapshot())::text \
             FROM punchlist.journal",
            Vec::new(),
        );
        let late = tx.query(
            "SELECT seq, xid::text FROM punchlist.journal \
             WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())",
            Vec::new(),
        );
        let newest = newest.await?;
        let newest = newest.first().ok_or_else(|| missing("end of the journal"))?;
        let delivered = late.await?;
        let delivered = delivered.iter().map(|row| Ok((columns::number(row, 0)?, xid(row, 1)?)));
        Ok(Self {
            seq: columns::number(newest, 0)?,
            running: xid(newest, 1)?,
            delivered: delivered.collect::<Result<_, Failure>>()?,
            revision: 0,
        })
    }
}

/// A column with the number of a transaction.
fn xid(row: &Row, column: usize) -> Result<u64, Failure> {
    columns::parsed(row, column, str::parse::<u64>)
}

/// A statement for entries after a position.
macro_rules! select_entries {
    ($rest:expr) => {
        concat!(
            "SELECT ",
            entry_columns!(),
            ", seq, plan.id, xid::text FROM punchlist.journal AS journal \
             JOIN punchlist.plan ON plan.key = journal.plan WHERE ",
            $rest
        )
    };
}

const NEW: &str = select_entries!("seq > $1 ORDER BY seq LIMIT $2");
const NEW_OF_PLAN: &str = select_entries!(concat!(
    "journal.plan = ",
    plan_key!(),
    " AND journal.revision > $2 AND seq > $3 ORDER BY journal.revision LIMIT $4"
));
const LATE: &str = select_entries!(
    "xid >= $1::text::xid8 AND xid < pg_snapshot_xmax(pg_current_snapshot()) \
     AND seq <= $2 AND seq <> ALL($3) AND ($4::text IS NULL OR plan.id = $4) ORDER BY seq"
);

/// Reads what is new, and moves the position. Returns whether there is more.
async fn read(
    tx: &Tx,
    scope: &Scope,
    position: &mut Position,
    most: u32,
) -> Result<(Vec<(Cursor, Entry)>, bool), Failure> {
    let running = tx.query("SELECT pg_snapshot_xmin(pg_current_snapshot())::text", Vec::new());
    let plan = match scope {
        Scope::All => None,
        Scope::Plan(plan) => Some(plan.to_string()),
    };
    let late = tx.query(
        LATE,
        vec![
            Value::from(position.running.to_string()),
            Value::from(position.seq),
            ints(position.delivered.keys().copied()),
            Value::from(plan.clone()),
        ],
    );
    let new = match plan {
        None => tx.query(NEW, params![position.seq, most]),
        Some(plan) => tx.query(NEW_OF_PLAN, params![plan, position.revision, position.seq, most]),
    };
    let running = running.await?;
    let running = xid(running.first().ok_or_else(|| missing("snapshot"))?, 0)?;
    let mut found = Vec::new();
    for row in late.await? {
        // Other entries before this position may still be missing, so the cursor stays.
        let cursor = position.cursor();
        position.delivered.insert(columns::number(&row, 7)?, xid(&row, 9)?);
        found.push((cursor, read_entry(&row)?));
    }
    let new = new.await?;
    let is_more = u32::try_from(new.len()).is_ok_and(|it| it >= most);
    position.running = running;
    for row in new {
        position.seq = columns::number(&row, 7)?;
        position.delivered.insert(position.seq, xid(&row, 9)?);
        let entry = read_entry(&row)?;
        position.revision = signed(entry.revision);
        found.push((position.cursor(), entry));
    }
    position.delivered.retain(|_, xid| *xid >= running);
    Ok((found, is_more))
}

/// The entries after a cursor that exist now.
pub(crate) async fn since(tx: &Tx, after: Cursor, most: u32) -> Result<Since, Failure> {
    let mut position = match &after {
        Cursor::Start => Position::default(),
        Cursor::After(text) => Position::parse(text),
        Cursor::Now => {
            let end = Position::now(tx).await?.cursor();
            return Ok(Since { entries: Vec::new(), end });
        }
    };
    let (entries, _) = read(tx, &Scope::All, &mut position, most).await?;
    let end = if entries.is_empty() { after } else { position.cursor() };
    Ok(Since { entries, end })
}

fn read_entry(row: &Row) -> Result<Entry, Failure> {
    entry(row, columns::parsed(row, 8, str::parse::<PlanId>)?)
}

/// Begins to follow: the stream has every change that is committed after this returns.
pub(crate) async fn begin(
    shared: Arc<Shared>,
    after: Cursor,
    scope: Scope,
) -> Result<Following, Error> {
    let ear = listen(&shared).await?;
    let position = match &after {
        Cursor::Start => Position::default(),
        Cursor::After(text) => Position::parse(text),
        Cursor::Now => runner::read(&shared, &|tx| Box::pin(Position::now(tx))).await?,
    };
    let (sender, receiver) = mpsc::channel(usize::try_from(BATCH).unwrap_or(1));
    tokio::spawn(follow(shared, scope, position, ear, sender));
    Ok(Box::pin(Receiver(receiver)))
}

async fn follow(
    shared: Arc<Shared>,
    scope: Scope,
    position: Position,
    mut ear: Ear,
    sender: mpsc::Sender<Result<(Cursor, Entry), Error>>,
) {
    let mut position = position;
    loop {
        let found = runner::read(&shared, &|tx| {
            let (scope, mut position) = (scope.clone(), position.clone());
            Box::pin(async move {
                let found = read(tx, &scope, &mut position, BATCH).await?;
                Ok((found, position))
            })
        })
        .await;
        let is_more = match found {
            Ok(((found, is_more), moved)) => {
                position = moved;
                for it in found {
                    if sender.send(Ok(it)).await.is_err() {
                        return;
                    }
                }
                is_more
            }
            Err(error) => {
                // If nobody reads the stream any longer, nobody needs the error.
                sender.send(Err(error)).await.ok();
                return;
            }
        };
        if !is_more {
            tokio::select! {
                _ = ear.wait() => {}
                () = sender.closed() => return,
            }
        }
    }
}

/// Wakes up when something may have changed.
pub(crate) async fn news(shared: Arc<Shared>) -> Result<News, Error> {
    let ear = listen(&shared).await?;
    let before = marker(&shared).await?;
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(tell(shared, before, ear, sender));
    Ok(Box::pin(Receiver(receiver)))
}

async fn tell(
    shared: Arc<Shared>,
    mut before: Marker,
    mut ear: Ear,
    sender: mpsc::Sender<Result<(), Error>>,
) {
    loop {
        let was_told = tokio::select! {
            was_told = ear.wait() => was_told,
            () = sender.closed() => return,
        };
        if !was_told {
            match marker(&shared).await {
                Ok(now) if now == before => continue,
                Ok(now) => before = now,
                Err(error) => {
                    sender.send(Err(error)).await.ok();
                    return;
                }
            }
        }
        // If a wake-up still waits to be taken, it stands for this one too.
        if let Err(mpsc::error::TrySendError::Closed(_)) = sender.try_send(Ok(())) {
            return;
        }
    }
}

/// Changes with every write.
type Marker = (i64, i64);

async fn marker(shared: &Shared) -> Result<Marker, Error> {
    runner::read(shared, &|tx| Box::pin(read_marker(tx))).await
}

async fn read_marker(tx: &Tx) -> Result<Marker, Failure> {
    let row = tx.first(
        "SELECT coalesce((SELECT max(seq) FROM punchlist.journal), 0), \
         coalesce((SELECT max(seq) FROM punchlist.recent_write), 0)",
        Vec::new(),
    );
    let row = row.await?.ok_or_else(|| missing("end of the journal"))?;
    Ok((row.int(0)?.unwrap_or_default(), row.int(1)?.unwrap_or_default()))
}

/// The reader's side of a stream.
struct Receiver<T>(mpsc::Receiver<T>);

impl<T> Stream for Receiver<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.0.poll_recv(cx)
    }
}
