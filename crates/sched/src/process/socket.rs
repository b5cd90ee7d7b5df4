//! One end of the socket between a driver and its guardian.
//!
//! It wakes its task for incoming data, and for room to write only after the socket was full:
//! otherwise each read of the other side would wake the task.

use std::future::pending;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::task::{Context, Poll};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

pub(super) struct Socket {
    stream: AsyncFd<UnixStream>,
    /// Set while the socket is full: waits for room.
    full: Option<AsyncFd<UnixStream>>,
}

impl Socket {
    /// Must be called within a tokio runtime.
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream: hear(stream, Interest::READABLE)?, full: None })
    }

    /// Reads, if data has arrived.
    pub(super) fn read<R>(&self, read: impl FnOnce(&UnixStream) -> io::Result<R>) -> io::Result<R> {
        self.stream.try_io(Interest::READABLE, read)
    }

    /// Writes, if there is room.
    pub(super) fn write<R>(
        &mut self,
        write: impl FnOnce(&UnixStream) -> io::Result<R>,
    ) -> io::Result<R> {
        let stream = self.stream.get_ref();
        let written = match &self.full {
            Some(full) => full.try_io(Interest::WRITABLE, |_| write(stream)),
            None => write(stream),
        };
        let is_full = written.as_ref().is_err_and(|why| why.kind() == io::ErrorKind::WouldBlock);
        match (is_full, &self.full) {
            (true, None) => {
                self.full = Some(hear(stream.try_clone()?, Interest::WRITABLE)?);
            }
            (true, Some(_)) | (false, None) => {}
            (false, Some(_)) => self.full = None,
        }
        written
    }

    /// Ready when data has arrived, or the other side has closed.
    pub(super) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_read_ready(context).map_ok(drop)
    }

    /// Ready when there may be room to write.
    pub(super) fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.full {
            Some(full) => full.poll_write_ready(context).map_ok(drop),
            None => Poll::Ready(Ok(())),
        }
    }

    /// Waits until data has arrived.
    pub(super) async fn readable(&self) -> io::Result<()> {
        self.stream.readable().await.map(drop)
    }

    /// Waits until there is room again. Waits for ever if the socket is not full.
    pub(super) async fn has_room(&self) -> io::Result<()> {
        match &self.full {
            Some(full) => full.writable().await.map(drop),
            None => pending().await,
        }
    }
}

/// Hears of one thing and not of the other.
#[expect(
    deprecated,
    reason = "its successor is unsafe for what changes its descriptor, which a stream never does"
)]
fn hear(stream: UnixStream, what: Interest) -> io::Result<AsyncFd<UnixStream>> {
    AsyncFd::with_interest(stream, what)
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.get_ref().as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::{Read as _, Write as _};

    use super::*;

    fn is_full(why: &io::Error) -> bool {
        why.kind() == io::ErrorKind::WouldBlock
    }

    #[tokio::test]
    async fn what_does_not_fit_is_written_when_the_other_side_has_read() {
        let (ours, its) = UnixStream::pair().unwrap();
        let (mut ours, its) = (Socket::new(ours).unwrap(), Socket::new(its).unwrap());
        let piece = [7_u8; 4096];
        let (mut sent, mut read) = (0_usize, 0_usize);
        // Twice, because the wake-up must work each time.
        for _ in 0..2 {
            poll_fn(|context| ours.poll_writable(context)).await.unwrap();
            loop {
                match ours.write(|mut it| it.write(&piece)) {
                    Ok(count) => sent += count,
                    Err(why) => break assert!(is_full(&why), "{why}"),
                }
            }
            while read < sent {
                its.readable().await.unwrap();
                let mut buffer = [0; 65_536];
                match its.read(|mut it| it.read(&mut buffer)) {
                    Ok(count) => read += count,
                    Err(why) => assert!(is_full(&why), "{why}"),
                }
            }
            ours.has_room().await.unwrap();
        }
        assert!(sent > 2 * piece.len());
    }

    #[tokio::test]
    async fn the_other_sides_end_can_be_read() {
        let (ours, its) = UnixStream::pair().unwrap();
        let ours = Socket::new(ours).unwrap();
        drop(its);
        poll_fn(|context| ours.poll_readable(context)).await.unwrap();
        assert_eq!(ours.read(|mut it| it.read(&mut [0; 8])).unwrap(), 0);
    }
}
