//! Keeps the lease of a claimed item: renews it in time, or says that it is lost.
//!
//! It is a task of its own, so that it neither waits for the run nor the run for it. If the lease cannot
//! be renewed until two thirds of it have passed, the command must end: after the rest of the time another
//! worker may begin.

use std::sync::Arc;
use std::time::Duration;

use punchlist_model::session::Store;
use punchlist_model::store::{Change, Error};
use punchlist_model::{Ctx, ItemRef, Op, PlanId};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::workplace::Claimed;
use crate::around::Around;

/// How long to wait after a failure, at most.
const PAUSE: Duration = Duration::from_secs(1);

/// The lease of a claimed item. Renewing ends when this is dropped.
pub(crate) struct Lease {
    lost: watch::Receiver<Option<String>>,
    task: AbortHandle,
}

/// What is needed to renew a lease.
pub(crate) struct Renewal {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) around: Arc<dyn Around>,
    pub(crate) plan: PlanId,
    pub(crate) ctx: Ctx,
}

impl Lease {
    /// Begins to renew the lease.
    pub(crate) fn keep(renewal: Renewal, claimed: &Claimed) -> Self {
        let (tell, lost) = watch::channel(None);
        let claimed = claimed.clone();
        let task = tokio::spawn(async move {
            let why = renewal.keep(&claimed).await;
            // Nobody listens if the item has ended.
            drop(tell.send(Some(why)));
        });
        Self { lost, task: task.abort_handle() }
    }

    /// Waits until the lease is lost, and returns why.
    pub(crate) fn lost(&self) -> watch::Receiver<Option<String>> {
        self.lost.clone()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits until a lease is lost, and returns why. Waits for ever if it is given up before.
pub(crate) async fn lost(mut lease: watch::Receiver<Option<String>>) -> String {
    let why = lease.wait_for(Option::is_some).await.ok().and_then(|it| it.clone());
    match why {
        Some(why) => why,
        None => std::future::pending().await,
    }
}

impl Renewal {
    /// Renews the lease until that fails. Returns why.
    async fn keep(&self, claimed: &Claimed) -> String {
        let (third, mut since) = (claimed.lease / 3, claimed.since);
        loop {
            sleep_until(since + third).await;
            let deadline = since + third * 2;
            since = match self.until(claimed, deadline).await {
                Ok(at) => at,
                Err(why) => return why,
            };
        }
    }

    /// Tries to renew the lease until a deadline. Returns when it was renewed, at the earliest.
    async fn until(&self, claimed: &Claimed, deadline: Instant) -> Result<Instant, String> {
        let mut last = "the store did not answer".to_owned();
        loop {
            let began = Instant::now();
            match timeout_at(deadline, self.renew(claimed)).await {
                Ok(Ok(())) => return Ok(began),
                Ok(Err(error @ (Error::Refused(_) | Error::NoPlan(_)))) => {
                    return Err(error.to_string());
                }
                Ok(Err(error)) => last = error.to_string(),
                Err(_) => {}
            }
            if Instant::now() + PAUSE >= deadline {
                sleep_until(deadline).await;
                return Err(format!("the lease could not be renewed: {last}"));
            }
            sleep(PAUSE.min(claimed.lease / 20)).await;
        }
    }

    async fn renew(&self, claimed: &Claimed) -> Result<(), Error> {
        let now = self.around.now();
        let ctx = Ctx { now, ids: self.around.ids(now)?, ..self.ctx.clone() };
        let renew =
            Op::Renew { item: ItemRef::Number(claimed.item), attempt: Some(claimed.attempt) };
        self.store.change(self.plan, Change::new(vec![renew], ctx)).await.map(drop)
    }
}
