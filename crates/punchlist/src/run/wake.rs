//! What wakes a run from outside: keys and signals.

use std::fs::File;
use std::io::{self, Read};
use std::thread;

use rustix::process::Signal as Raw;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::error::Fail;

/// What a signal asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sort {
    /// Stop.
    Leave,
    /// The terminal has another size.
    Resize,
    /// Stop until woken.
    Pause,
    /// Go on.
    Resume,
}

/// What a terminal sends: the bytes of one read, which are several keys where somebody pastes or is quick.
pub(super) fn keys(terminal: Option<File>) -> UnboundedReceiver<Vec<u8>> {
    let (tell, keys) = unbounded_channel();
    if let Some(terminal) = terminal {
        thread::spawn(move || read(terminal, &tell));
    }
    keys
}

fn read(mut terminal: File, tell: &UnboundedSender<Vec<u8>>) {
    let mut bytes = [0; 256];
    loop {
        match terminal.read(&mut bytes) {
            Ok(0) => return,
            Ok(count) => {
                if tell.send(bytes.get(..count).unwrap_or_default().to_vec()).is_err() {
                    return;
                }
            }
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// The signals that a run hears. From now on they do not end the program.
pub(super) struct Signals(Vec<(Signal, Sort)>);

impl Signals {
    pub(super) fn hear() -> Result<Self, Fail> {
        let (pause, resume) =
            (SignalKind::from_raw(Raw::TSTP.as_raw()), SignalKind::from_raw(Raw::CONT.as_raw()));
        let all = [
            (SignalKind::interrupt(), Sort::Leave),
            (SignalKind::terminate(), Sort::Leave),
            (SignalKind::hangup(), Sort::Leave),
            (SignalKind::quit(), Sort::Leave),
            (SignalKind::window_change(), Sort::Resize),
            (pause, Sort::Pause),
            (resume, Sort::Resume),
        ];
        let hear = |(kind, sort)| signal(kind).map(|it| (it, sort));
        let all: io::Result<Vec<_>> = all.into_iter().map(hear).collect();
        all.map(Self).map_err(|why| Fail::ours(format!("signals cannot be heard: {why}")))
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Sort {
        std::future::poll_fn(|context| {
            let came = self
                .0
                .iter_mut()
                .find_map(|(signal, sort)| signal.poll_recv(context).is_ready().then_some(*sort));
            came.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
        })
        .await
    }
}
