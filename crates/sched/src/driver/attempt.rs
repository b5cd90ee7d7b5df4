//! One attempt at a call, from its start until nothing of it is left.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_core::future::BoxFuture;
use punchlist_model::Attempt;
use serde_json::Value;

use super::attempts::{Brake, Stopping};
use super::panicked;
use crate::call::{CallId, Ended};
use crate::output;
use crate::tool::{Surroundings, Tool, Work};

/// What came of an attempt when it was begun.
pub(super) enum First {
    /// It ended at once, and nothing of it is left.
    Ended(Ended),
    /// It waits for something.
    Waits(Attempted),
}

/// Begins an attempt. Most that do not wait for anything are over when this returns, and have cost
/// neither an entry among attempts nor a waker.
pub(super) fn begin(
    tool: &dyn Tool,
    arguments: Value,
    work: Work,
    around: &Arc<Surroundings>,
) -> First {
    let (call, attempt) = (work.call(), work.attempt());
    let begun = catch_unwind(AssertUnwindSafe(|| {
        let mut future = tool.run(arguments, work);
        // It is polled again where it can be woken before anybody waits for it.
        let first = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        (future, first)
    }));
    let stage = match begun {
        Ok((future, Poll::Pending)) => Stage::Running(future),
        Ok((future, Poll::Ready(how))) => dropped(future, how),
        Err(payload) => Stage::Clearing(Some(Ended::Panicked(panicked(&*payload))), None),
    };
    match stage {
        Stage::Clearing(Some(how), _) if !around.attempts.has_processes(call, attempt) => {
            First::Ended(how)
        }
        stage @ (Stage::Running(_) | Stage::Clearing(..)) => {
            let (brake, around) = (around.attempts.brake(call, attempt), Arc::clone(around));
            First::Waits(Attempted { call, attempt, brake, around, stage })
        }
    }
}

/// Drops what is left of an attempt that ended, which may break as well.
fn dropped(future: BoxFuture<'static, Ended>, how: Ended) -> Stage {
    let how = match catch_unwind(AssertUnwindSafe(|| drop(future))) {
        Ok(()) => how,
        Err(payload) => Ended::Panicked(panicked(&*payload)),
    };
    Stage::Clearing(Some(how), None)
}

/// An attempt that waits for something.
pub(super) struct Attempted {
    call: CallId,
    attempt: Attempt,
    brake: Arc<Brake>,
    around: Arc<Surroundings>,
    stage: Stage,
}

enum Stage {
    /// The tool works.
    Running(BoxFuture<'static, Ended>),
    /// It has ended; its processes are being ended.
    Clearing(Option<Ended>, Option<BoxFuture<'static, ()>>),
}

impl Future for Attempted {
    type Output = (CallId, Attempt, Ended);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Stage::Running(future) = &mut this.stage {
            let polled = if this.brake.poll(context, Stopping::Over).is_ready() {
                let what = "it did not stop when it was told to, and was dropped".to_owned();
                // What it had to say is still in its files.
                let said = output::so_far(&this.around.output, this.call, this.attempt);
                Ok(Poll::Ready(Ended::Badly { what, output: said.unwrap_or_default() }))
            } else {
                catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)))
            };
            let how = match polled {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(how)) => how,
                Err(payload) => Ended::Panicked(panicked(&*payload)),
            };
            let empty = Stage::Clearing(None, None);
            if let Stage::Running(future) = std::mem::replace(&mut this.stage, empty) {
                this.stage = dropped(future, how);
            }
        }
        let Stage::Clearing(how, clearing) = &mut this.stage else { return Poll::Pending };
        let brake = &this.brake;
        let clearing = clearing.get_or_insert_with(|| Box::pin(clear(Arc::clone(brake))));
        match clearing.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                let nothing = || Ended::Panicked("it ended twice".to_owned());
                let how = how.take().unwrap_or_else(nothing);
                Poll::Ready((this.call, this.attempt, how))
            }
        }
    }
}

/// Ends the processes of an attempt and waits until they are gone.
async fn clear(brake: Arc<Brake>) {
    for mut process in brake.processes() {
        process.stop();
        // How it ended is of no interest any more.
        drop(process.over().await);
    }
}
