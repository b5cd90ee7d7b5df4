//! A transaction: statements are sent at once and answered later, so that many of them cost one round
//! trip.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use deadpool::managed::Object;
use punchlist_model::Timestamp;
use punchlist_model::store::{Durability, Error, kept};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::connect::{Connection, Manager};
use super::error::{Failure, Retry};
use super::options::{Clock, Options};
use super::values::{Value, params};
use super::{NOTIFY_CHANNEL, migrate};
use crate::columns;

/// The answer of a statement that was already sent.
pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<Vec<Row>, Failure>> + Send>>;

/// The text of a statement.
pub(crate) type Sql = Cow<'static, str>;

/// What a transaction may do.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// Reads a consistent state.
    Read,
    /// Writes to a journal, which has an id for each write.
    Journal,
    /// Writes something else. The id of the write is that of an earlier try, if there was one.
    Write { id: Option<String> },
}

/// A transaction. Dropped before it ends, it closes its connection, so that the server undoes it.
pub(crate) struct Tx {
    /// `None` once it has ended.
    connection: Option<Object<Manager>>,
    client: Arc<Client>,
    clock: Clock,
    /// The answers that nobody waits for; they are checked before the end.
    unchecked: Mutex<Vec<Answer>>,
    /// The answer with the id of this write.
    write_id: Mutex<Option<Answer>>,
    /// What to tell followers after the end.
    news: Mutex<Option<String>>,
}

/// How a transaction ended.
pub(crate) enum Ended {
    Committed,
    /// Nothing was written.
    Failed(Failure),
    /// The connection was lost, so nobody knows. The write has this id, if it has one.
    Unknown(Failure, Option<String>),
}

impl Tx {
    /// Begins a transaction. The server waits at most `patience` for a lock.
    pub(crate) fn begin(
        connection: Object<Manager>,
        options: &Options,
        purpose: Purpose,
        patience: Duration,
    ) -> Self {
        let client = Arc::clone(&connection.client);
        let mut tx = Self {
            connection: Some(connection),
            client,
            clock: options.clock,
            unchecked: Mutex::default(),
            write_id: Mutex::default(),
            news: Mutex::default(),
        };
        let millis = patience.as_millis().max(1);
        let begin = match purpose {
            Purpose::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned(),
            Purpose::Journal | Purpose::Write { .. } => {
                let lazy = match options.durability {
                    Durability::Full => "",
                    Durability::Normal => "; SET LOCAL synchronous_commit = off",
                };
                format!(
                    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {millis}{lazy}"
                )
            }
        };
        let began = tx.batch(begin);
        tx.later(began);
        let write_id = match purpose {
            Purpose::Read | Purpose::Journal => None,
            Purpose::Write { id: None } => Some(tx.query(
                "INSERT INTO punchlist.recent_write(id, at) \
                 VALUES (gen_random_uuid()::text, floor(extract(epoch FROM now()) * 1000)::int8) \
                 RETURNING id, (SELECT version FROM punchlist.schema_version)",
                Vec::new(),
            )),
            // Waits for an earlier try that the server has not ended yet.
            Purpose::Write { id: Some(id) } => Some(tx.query(
                "INSERT INTO punchlist.recent_write(id, at) \
                 VALUES ($1, floor(extract(epoch FROM now()) * 1000)::int8) \
                 ON CONFLICT DO NOTHING \
                 RETURNING id, (SELECT version FROM punchlist.schema_version)",
                params![id],
            )),
        };
        tx.write_id = Mutex::new(write_id);
        tx
    }

    fn connection(&self) -> Option<&Connection> {
        self.connection.as_deref()
    }

    fn take_write_id(&mut self) -> Option<Answer> {
        self.write_id.get_mut().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether an earlier try of this write was committed after all.
    pub(crate) async fn is_done(&mut self) -> Result<bool, Failure> {
        let Some(answer) = self.take_write_id() else { return Ok(false) };
        let rows = answer.await?;
        if rows.is_empty() {
            return Ok(true);
        }
        self.write_id = Mutex::new(Some(Box::pin(std::future::ready(Ok(rows)))));
        Ok(false)
    }

    /// Sends a statement. Its answer need not be awaited at once.
    pub(crate) fn query(&self, sql: impl Into<Sql>, params: Vec<Value>) -> Answer {
        let sql = sql.into();
        let client = Arc::clone(&self.client);
        let prepared = self.connection().and_then(|it| it.statement(&sql, &params));
        sent(async move {
            let rows = match prepared {
                Some(statement) => {
                    let params: Vec<&(dyn ToSql + Sync)> =
                        params.iter().map(|it| it as &(dyn ToSql + Sync)).collect();
                    client.query(&statement, &params).await?
                }
                None => {
                    let params: Vec<(&(dyn ToSql + Sync), Type)> =
                        params.iter().map(|it| (it as &(dyn ToSql + Sync), it.kind())).collect();
                    client.query_typed(&sql, &params).await?
                }
            };
            Ok(rows)
        })
    }

    /// The first row of a statement.
    pub(crate) async fn first(
        &self,
        sql: impl Into<Sql>,
        params: Vec<Value>,
    ) -> Result<Option<Row>, Failure> {
        Ok(self.query(sql, params).await?.into_iter().next())
    }

    /// Sends a statement whose answer matters only if it is an error.
    pub(crate) fn run(&self, sql: impl Into<Sql>, params: Vec<Value>) {
        let answer = self.query(sql, params);
        self.later(answer);
    }

    fn later(&self, answer: Answer) {
        self.unchecked.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
    }

    /// Sends a statement without parameters.
    fn batch(&self, sql: String) -> Answer {
        let client = Arc::clone(&self.client);
        sent(async move {
            client.batch_execute(&sql).await?;
            Ok(Vec::new())
        })
    }

    /// The time of this write: the server's, except in tests.
    pub(crate) fn now(&self, callers: Timestamp) -> Now {
        match self.clock {
            Clock::Caller => Now::Known(kept(callers)),
            Clock::Server => Now::Asked(self.query(NOW, Vec::new())),
        }
    }

    /// The same; fails if a newer version has migrated the database while this store was open.
    pub(crate) fn checked_now(&self, callers: Timestamp) -> CheckedNow {
        const SQL: &str = "SELECT version, floor(extract(epoch FROM clock_timestamp()) * 1000)::int8 \
                           FROM punchlist.schema_version";
        let callers = match self.clock {
            Clock::Caller => Some(kept(callers)),
            Clock::Server => None,
        };
        CheckedNow { callers, answer: self.query(SQL, Vec::new()) }
    }

    /// Tells followers about this transaction once it is committed.
    pub(crate) fn ring(&self, what: impl Into<String>) {
        *self.news.lock().unwrap_or_else(PoisonError::into_inner) = Some(what.into());
    }

    /// Ends a transaction that only read.
    pub(crate) fn end_reading(mut self) {
        drop(self.batch("COMMIT".to_owned()));
        self.release();
    }

    /// The host of its connection.
    pub(crate) fn host(&self) -> Option<usize> {
        self.connection().map(|it| it.host)
    }

    /// The id of this write, if it has one. It must be known before the commit is sent: otherwise a lost
    /// connection would leave a write that nobody can ask about.
    pub(crate) async fn id(&mut self) -> Result<Option<String>, Failure> {
        match self.take_write_id() {
            None => Ok(None),
            Some(answer) => write_id(answer.await).map(Some),
        }
    }

    /// Commits a write with this id.
    pub(crate) async fn commit(mut self, id: Option<String>) -> Ended {
        let commit = self.batch("COMMIT".to_owned());
        self.tell();
        let mut failed = None;
        for answer in self.take_unchecked().into_iter().chain([commit]) {
            if let Err(failure) = answer.await {
                failed = failed.or(Some(failure));
            }
        }
        match failed {
            None => {
                self.release();
                Ended::Committed
            }
            Some(failure) if failure.retry() == Retry::Lost => Ended::Unknown(failure, id),
            // After a failed statement, COMMIT undoes everything.
            Some(failure) => {
                self.release();
                Ended::Failed(failure)
            }
        }
    }

    fn take_unchecked(&mut self) -> Vec<Answer> {
        std::mem::take(self.unchecked.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// The failure of the first statement that failed, of those that nobody has waited for.
    async fn first_failure(&mut self) -> Option<Failure> {
        let id = self.take_write_id();
        for answer in id.into_iter().chain(self.take_unchecked()) {
            match answer.await {
                Err(failure) if !failure.is_aftermath() => return Some(failure),
                Ok(_) | Err(_) => {}
            }
        }
        None
    }

    /// Rolls back after a failure.
    pub(crate) async fn undo(mut self, mut failure: Failure) -> Ended {
        // The server refuses every statement after one that failed; only the first says why.
        if failure.is_aftermath() {
            failure = self.first_failure().await.unwrap_or(failure);
        }
        let undone = match failure.retry() {
            Retry::Lost => false,
            Retry::No | Retry::Conflict => self.batch("ROLLBACK".to_owned()).await.is_ok(),
        };
        if undone {
            self.release();
        }
        Ended::Failed(failure)
    }

    /// Wakes followers. The message is a transaction of its own, after the commit: the server lets
    /// transactions with messages commit only one by one, each after its disk write.
    fn tell(&self) {
        let news = self.news.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(news) = news {
            // Followers look from time to time anyway, so nobody waits for this answer.
            drop(self.query(
                "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)",
                params![NOTIFY_CHANNEL, news],
            ));
        }
        if self.connection().is_some_and(Connection::should_clean) {
            drop(self.query(
                "DELETE FROM punchlist.recent_write \
                 WHERE at < floor(extract(epoch FROM now()) * 1000)::int8 - 86400000",
                Vec::new(),
            ));
        }
    }

    /// Gives the connection back.
    fn release(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.prepare_often_used();
        }
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(Object::take(connection));
        }
    }
}

/// The id of this write.
fn write_id(answer: Result<Vec<Row>, Failure>) -> Result<String, Failure> {
    let rows = answer?;
    let row = rows.first().ok_or_else(|| missing("id of the write"))?;
    migrate::check_known(columns::number(row, 1)?)?;
    columns::string(row, 0)
}

/// The server's clock, in milliseconds since 1970.
const NOW: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::int8";

/// The time of a write.
pub(crate) enum Now {
    Known(Timestamp),
    Asked(Answer),
}

impl Now {
    pub(crate) async fn get(self) -> Result<Timestamp, Failure> {
        match self {
            Self::Known(at) => Ok(at),
            Self::Asked(answer) => {
                let rows = answer.await?;
                let row = rows.first().ok_or_else(|| missing("time"))?;
                columns::time(row, 0)
            }
        }
    }
}

/// The time of a write, asked for together with the version of the schema.
pub(crate) struct CheckedNow {
    callers: Option<Timestamp>,
    answer: Answer,
}

impl CheckedNow {
    pub(crate) async fn get(self) -> Result<Timestamp, Failure> {
        let rows = self.answer.await?;
        let row = rows.first().ok_or_else(|| missing("schema"))?;
        migrate::check_known(columns::number(row, 0)?)?;
        match self.callers {
            Some(at) => Ok(at),
            None => columns::time(row, 1),
        }
    }
}

/// Polls a statement once, which puts it into the connection's queue.
fn sent(statement: impl Future<Output = Result<Vec<Row>, Failure>> + Send + 'static) -> Answer {
    let mut statement: Answer = Box::pin(statement);
    match statement.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Box::pin(std::future::ready(done)),
        Poll::Pending => statement,
    }
}

/// The error for a value that must be there.
pub(crate) fn missing(what: &str) -> Failure {
    Failure::Store(Error::Server { what: format!("the server returned no {what}"), source: None })
}
