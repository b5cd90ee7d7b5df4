//! Runs transactions: gets a connection, and tries again after a lost connection or a conflict, as
//! long as this process is set to wait.

use std::time::{Duration, Instant};

use deadpool::managed::{Object, PoolError};
use futures_core::future::BoxFuture;
use punchlist_model::store::Error;

use super::Options;
use super::Shared;
use super::connect::Manager;
use super::error::{Failure, Retry};
use super::tx::{Ended, Purpose, Tx};
use crate::waiting::{self, Waiting};

/// The work of a transaction. It may run several times.
pub(crate) type Work<'w, T> =
    &'w (dyn for<'t> Fn(&'t Tx) -> BoxFuture<'t, Result<T, Failure>> + Send + Sync);

/// How often a conflict with others is tried again.
const MOST_CONFLICTS: u32 = 20;

/// How long a call may still take.
pub(crate) struct Patience {
    began: Instant,
    settings: Waiting,
    tries: u32,
    conflicts: u32,
    is_told: bool,
}

impl Patience {
    pub(crate) fn begin(options: &Options) -> Self {
        let mut settings = waiting::waiting();
        settings.give_up_after = options.patience.unwrap_or(settings.give_up_after);
        Self { began: Instant::now(), settings, tries: 0, conflicts: 0, is_told: false }
    }

    /// The time that is left.
    pub(crate) fn left(&self) -> Duration {
        self.settings.give_up_after.saturating_sub(self.began.elapsed())
    }

    /// Waits before the next try; fails if there is none.
    pub(crate) async fn after(&mut self, shared: &Shared, failure: Failure) -> Result<(), Error> {
        self.tries += 1;
        let pause = match failure.retry() {
            Retry::No => return Err(failure.explain(&shared.shown)),
            Retry::Conflict => {
                self.conflicts += 1;
                if self.conflicts > MOST_CONFLICTS {
                    return Err(failure.explain(&shared.shown));
                }
                Duration::from_millis(u64::from(self.conflicts))
            }
            Retry::Lost => Duration::from_millis(50).saturating_mul(self.tries.min(10)),
        };
        if self.left() <= pause {
            return Err(failure.explain(&shared.shown));
        }
        if self.began.elapsed() >= self.settings.tell_after && !self.is_told {
            self.is_told = true;
            if let Some(tell) = self.settings.tell {
                tell(&format!("{} cannot be reached; trying again", shared.shown));
            }
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }

    /// Waits for an answer until the time is over. A server that does not answer for a while is looked at:
    /// if it is gone, the next try need not wait for it.
    async fn answer<T>(
        &self,
        shared: &Shared,
        host: Option<usize>,
        work: impl Future<Output = T>,
    ) -> Result<T, NoAnswer> {
        let manager = shared.pool.manager();
        tokio::pin!(work);
        loop {
            let pause = manager.limit.min(self.left());
            if let Ok(done) = tokio::time::timeout(pause, &mut work).await {
                return Ok(done);
            }
            let Some(host) = host.filter(|_| !self.left().is_zero()) else {
                return Err(NoAnswer::InTime);
            };
            let is_there = tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                looked = tokio::time::timeout(self.left(), manager.connect_to(host, drop)) => {
                    looked.is_ok_and(|it| it.is_ok())
                }
            };
            if !is_there {
                // Its other connections are as silent.
                shared.pool.retain(|it, _| it.host != host);
                manager.is_gone(host);
                return Err(NoAnswer::Gone);
            }
        }
    }

    /// The error after the time is over.
    fn over(&self, shared: &Shared, may_have_happened: bool) -> Error {
        let seconds = self.settings.give_up_after.as_secs_f32();
        let what = if may_have_happened {
            format!(
                "{} did not answer within {seconds} s; the change may have happened: look before \
                 you repeat it",
                shared.shown
            )
        } else {
            format!("{} did not answer within {seconds} s; nothing was changed", shared.shown)
        };
        Error::Server { what, source: None }
    }
}

/// Why there is no answer.
enum NoAnswer {
    /// The time is over.
    InTime,
    /// The server is gone.
    Gone,
}

/// A connection from the pool. Tries again while there is none.
pub(crate) async fn connection(
    shared: &Shared,
    patience: &mut Patience,
) -> Result<Object<Manager>, Error> {
    loop {
        let failure = match tokio::time::timeout(patience.left(), shared.pool.get()).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(PoolError::Backend(failure))) => failure,
            Ok(Err(_)) => {
                let what = format!("{} has no free connection", shared.shown);
                return Err(Error::Server { what, source: None });
            }
            Err(_) => return Err(patience.over(shared, false)),
        };
        patience.after(shared, failure).await?;
    }
}

/// Runs a transaction that reads.
pub(crate) async fn read<T>(shared: &Shared, work: Work<'_, T>) -> Result<T, Error> {
    let mut patience = Patience::begin(&shared.options);
    loop {
        let connection = connection(shared, &mut patience).await?;
        let tx = Tx::begin(connection, &shared.options, Purpose::Read, patience.left());
        let failure = match patience.answer(shared, tx.host(), work(&tx)).await {
            Ok(Ok(value)) => {
                tx.end_reading();
                return Ok(value);
            }
            Ok(Err(failure)) => match tx.undo(failure).await {
                Ended::Failed(failure) | Ended::Unknown(failure, _) => failure,
                Ended::Committed => continue,
            },
            Err(NoAnswer::Gone) => Failure::Silent,
            Err(NoAnswer::InTime) => return Err(patience.over(shared, false)),
        };
        patience.after(shared, failure).await?;
    }
}

/// Runs a transaction that writes, until it is known to have happened once.
pub(crate) async fn write<T>(
    shared: &Shared,
    mut purpose: Purpose,
    work: Work<'_, T>,
) -> Result<T, Error> {
    let mut patience = Patience::begin(&shared.options);
    // The result of a try of which nobody knows whether it was committed.
    let mut unknown: Option<T> = None;
    loop {
        let connection = match connection(shared, &mut patience).await {
            Ok(connection) => connection,
            Err(_) if unknown.is_some() => return Err(patience.over(shared, true)),
            Err(error) => return Err(error),
        };
        let mut tx = Tx::begin(connection, &shared.options, purpose.clone(), patience.left());
        let host = tx.host();
        let is_repeated = unknown.is_some();
        let done = patience.answer(shared, host, async {
            if is_repeated && tx.is_done().await? {
                return Ok(None);
            }
            let value = work(&tx).await?;
            Ok(Some((value, tx.id().await?)))
        });
        let ended = match done.await {
            Ok(Ok(None)) => match unknown {
                Some(value) => return Ok(value),
                None => continue,
            },
            Ok(Ok(Some((value, id)))) => {
                let ended = match patience.answer(shared, host, tx.commit(id.clone())).await {
                    Ok(ended) => ended,
                    Err(NoAnswer::Gone) => Ended::Unknown(Failure::Silent, id),
                    Err(NoAnswer::InTime) => return Err(patience.over(shared, true)),
                };
                match ended {
                    Ended::Committed => return Ok(value),
                    Ended::Unknown(failure, id) => {
                        if let (Purpose::Write { id: known }, Some(id)) = (&mut purpose, id) {
                            *known = Some(id);
                        }
                        unknown = Some(value);
                        failure
                    }
                    Ended::Failed(failure) => failure,
                }
            }
            Ok(Err(failure)) => match tx.undo(failure).await {
                Ended::Failed(failure) | Ended::Unknown(failure, _) => failure,
                Ended::Committed => continue,
            },
            Err(NoAnswer::Gone) => Failure::Silent,
            Err(NoAnswer::InTime) => return Err(patience.over(shared, unknown.is_some())),
        };
        patience.after(shared, ended).await?;
    }
}
