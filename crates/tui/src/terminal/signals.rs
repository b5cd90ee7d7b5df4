//! The signals that a live view handles.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, Waker};

use punchlist_engine::fail::Fail;
use rustix::process::{Signal as Raw, getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    /// Leave, with this exit code.
    Leave(u8),
    /// Draw again: the terminal has a new size.
    Resize,
    /// Pause until continued.
    Pause,
    /// Continue.
    Resume,
}

/// Handled signals. They no longer end the program.
pub(crate) struct Signals(Vec<(Signal, Request)>);

impl Signals {
    /// Starts handling. Needs a tokio runtime.
    pub(crate) fn hear() -> Result<Self, Fail> {
        let (pause, resume) =
            (SignalKind::from_raw(Raw::TSTP.as_raw()), SignalKind::from_raw(Raw::CONT.as_raw()));
        let all = [
            (SignalKind::interrupt(), Request::Leave(130)),
            (SignalKind::terminate(), Request::Leave(143)),
            (SignalKind::hangup(), Request::Leave(129)),
            (SignalKind::quit(), Request::Leave(131)),
            (SignalKind::window_change(), Request::Resize),
            (pause, Request::Pause),
            (resume, Request::Resume),
        ];
        let hear = |(kind, request)| signal(kind).map(|it| (it, request));
        let all: io::Result<Vec<_>> = all.into_iter().map(hear).collect();
        all.map(Self).map_err(|why| Fail::ours(format!("signals cannot be heard: {why}")))
    }

    /// A signal that has come already, if any.
    pub(crate) fn pending(&mut self) -> Option<Request> {
        let mut context = Context::from_waker(Waker::noop());
        self.0.iter_mut().find_map(|(signal, request)| {
            let came = signal.poll_recv(&mut context);
            matches!(came, Poll::Ready(Some(()))).then_some(*request)
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Request {
        poll_fn(|context| {
            let came = self.0.iter_mut().find_map(|(signal, request)| {
                signal.poll_recv(context).is_ready().then_some(*request)
            });
            came.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// Stops this process until it is continued.
pub(crate) fn pause() -> Result<(), Fail> {
    kill_process(getpid(), Raw::STOP).map_err(|why| Fail::ours(format!("cannot stop: {why}")))
}
