//! Accepts connections, serves them, and ends them when the server is to end.
//!
//! Each connection has a time limit for the head of a request, and there is a limit of connections: one more
//! is answered with 503 and closed.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// How many connections are served at once.
pub const MOST_CONNECTIONS: usize = 512;

/// The time limits of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// How long a client may take to send the head of a request, and how long an idle connection stays open.
    pub head: Duration,
    /// How long running requests may take after the server was told to end.
    pub grace: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { head: Duration::from_secs(15), grace: Duration::from_secs(5) }
    }
}

const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n\
    Connection: close\r\n\r\n";

/// The places for connections. Clones are the same ones.
#[derive(Clone, Debug)]
pub struct Places {
    free: Arc<Semaphore>,
    all: usize,
}

impl Places {
    /// Places for `all` connections.
    pub fn new(all: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(all)), all }
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.all.saturating_sub(self.free.available_permits())
    }
}

/// Begins to listen.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// A signal that the server is to end.
pub fn ending() -> (watch::Sender<bool>, watch::Receiver<bool>) {
    watch::channel(false)
}

/// Begins to listen for signals. The future is ready when somebody interrupts the process or asks it to end.
pub fn interrupted() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

/// Serves until `ending` becomes true. Requests that run are answered first, for a few seconds.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    places: Places,
    patience: Patience,
    mut ending: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ending.wait_for(|it| *it) => break,
            // Takes finished ones out, so that the set does not grow.
            Some(_) = connections.join_next() => continue,
        };
        let mut stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) if is_passing(&error) => {
                // Too many files are open: some may be closed soon.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            Err(error) => return Err(error),
        };
        let Ok(place) = Arc::clone(&places.free).try_acquire_owned() else {
            connections.spawn(async move {
                // Whether the client reads it is its own affair.
                drop(stream.write_all(FULL).await);
            });
            continue;
        };
        let (router, ending) = (router.clone(), ending.clone());
        connections.spawn(async move {
            connection(stream, router, patience.head, ending).await;
            drop(place);
        });
    }
    drop(listener);
    let rest = async { while connections.join_next().await.is_some() {} };
    // What is left is ended with the set.
    drop(tokio::time::timeout(patience.grace, rest).await);
    Ok(())
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, OutOfMemory, WouldBlock};
    /// Too many open files, in the process or the system.
    const TOO_MANY_FILES: [i32; 2] = [24, 23];
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted | OutOfMemory | WouldBlock
    ) || error.raw_os_error().is_some_and(|it| TOO_MANY_FILES.contains(&it))
}

async fn connection(
    stream: TcpStream,
    router: Router,
    head: Duration,
    mut ending: watch::Receiver<bool>,
) {
    // Events are small and must not wait for more.
    drop(stream.set_nodelay(true));
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    // A connection that fails is the client's affair.
    let is_over = tokio::select! {
        _ = connection.as_mut() => true,
        _ = ending.wait_for(|it| *it) => false,
    };
    if !is_over {
        connection.as_mut().graceful_shutdown();
        drop(connection.await);
    }
}
