//! Telling that something has changed, in this process or another.
//!
//! Whoever rings the bell wakes the stream at once. In case a writer died between its commit and the
//! bell, a thread looks once a second whether anybody has committed; it holds no transaction, and ends
//! when the stream is dropped. What changed is not told here.

use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

use futures_core::Stream;
use notify::RecommendedWatcher;
use punchlist_model::store::Error;

use crate::error::{explain, unusable};
use crate::follow::{LOOK_AGAIN, data_version, watch};
use crate::open::{self, Options};

/// News as they come.
pub(crate) struct Listen {
    shared: Arc<Shared>,
    _bell: Option<RecommendedWatcher>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    /// There is news that nobody has taken.
    news: bool,
    /// Nobody listens any more.
    left: bool,
    /// Why no more news can be had, until that is told.
    failed: Option<Error>,
    done: bool,
    waker: Option<Waker>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each holder leaves it whole at every point, so a poisoned lock is as good.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, failed: Option<Error>) {
        let mut state = self.state();
        match failed {
            None => state.news = true,
            failed @ Some(_) => (state.failed, state.done) = (failed, true),
        }
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits a while; whether anybody still listens.
    fn pause(&self) -> bool {
        let stays = |state: &mut State| !state.left;
        let waited = self.left.wait_timeout_while(self.state(), LOOK_AGAIN, stays);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.left
    }
}

impl Listen {
    /// Begins to listen: what is committed after this returns is told.
    pub(crate) fn begin(options: &Options) -> Result<Self, Error> {
        let Some(database) = open::to_read(options)? else {
            let what = format!("{} is gone", options.path.display());
            return Err(Error::Unusable { what, source: None });
        };
        let shared = Arc::new(Shared::default());
        let heard = Arc::clone(&shared);
        let bell = watch(&database.path, move || heard.tell(None));
        let broken = |error| explain(&database.path, error);
        let mut version = data_version(&database.conn).map_err(broken)?;
        let listener = Self { shared: Arc::clone(&shared), _bell: bell };
        let look = move || {
            while shared.pause() {
                if let Some(words) = database.fate().words(&database.path) {
                    let what = Error::Unusable { what: words, source: None };
                    return shared.tell(Some(what));
                }
                match data_version(&database.conn) {
                    Ok(now) if now == version => {}
                    Ok(now) => {
                        version = now;
                        shared.tell(None);
                    }
                    Err(error) => return shared.tell(Some(explain(&database.path, error))),
                }
            }
        };
        thread::Builder::new()
            .name("punchlist-news".to_owned())
            .spawn(look)
            .map_err(|error| unusable("no thread can be started to listen".to_owned(), error))?;
        Ok(listener)
    }
}

impl Stream for Listen {
    type Item = Result<(), Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.shared.state();
        if std::mem::take(&mut state.news) {
            return Poll::Ready(Some(Ok(())));
        }
        if let Some(error) = state.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        if state.done {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Listen {
    fn drop(&mut self) {
        self.shared.state().left = true;
        self.shared.left.notify_all();
    }
}
