//! The orders for a guardian that are not sent yet. The task that talks to the guardian sends them, and
//! so does whoever must not go on before an order is on its way.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

#[derive(Clone, Default)]
pub(super) struct Outbox(Arc<Mutex<VecDeque<Outgoing>>>);

struct Outgoing {
    bytes: Vec<u8>,
    /// How many bytes are sent. The descriptors go with the first byte.
    at: usize,
    descriptors: Vec<OwnedFd>,
}

impl Outbox {
    pub(super) fn push(&self, bytes: Vec<u8>, descriptors: Vec<OwnedFd>) {
        self.orders().push_back(Outgoing { bytes, at: 0, descriptors });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.orders().is_empty()
    }

    /// Sends everything. If the socket is full, the rest stays here.
    pub(super) fn send(&self, socket: &UnixStream) -> io::Result<()> {
        let mut orders = self.orders();
        while let Some(next) = orders.front_mut() {
            next.at += send(socket, next)?;
            next.descriptors.clear();
            if next.at >= next.bytes.len() {
                orders.pop_front();
            }
        }
        Ok(())
    }

    fn orders(&self) -> MutexGuard<'_, VecDeque<Outgoing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the rest of a frame, with its descriptors at the first byte.
fn send(socket: &UnixStream, next: &Outgoing) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<_> = next.descriptors.iter().map(AsFd::as_fd).collect();
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("too many descriptors for one process"));
    }
    let bytes = next.bytes.get(next.at..).unwrap_or_default();
    let flags = SendFlags::empty();
    Ok(rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags)?)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn what_does_not_fit_into_the_socket_is_sent_later_in_order() {
        let (ours, mut its) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let out = Outbox::default();
        let expected: Vec<u8> = (0..64_u8).flat_map(|it| std::iter::repeat_n(it, 30_000)).collect();
        for piece in expected.chunks(30_000) {
            out.push(piece.to_vec(), Vec::new());
        }
        let mut read = Vec::new();
        let mut buffer = [0; 65_536];
        while read.len() < expected.len() {
            match out.send(&ours) {
                Ok(()) => assert!(out.is_empty()),
                Err(why) => assert_eq!(why.kind(), io::ErrorKind::WouldBlock),
            }
            let count = its.read(&mut buffer).unwrap();
            read.extend_from_slice(&buffer[..count]);
        }
        assert!(read == expected && out.is_empty());
    }
}
