//! The protocol between a driver and its guardian: frames over a socket, in a binary format because
//! arguments and paths are bytes and not text. File descriptors are sent with the frame that needs
//! them, in order.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::terminal::{HeldTerminal, TerminalModes};

/// Maximum length of a frame. The arguments and environment of a process may be a few megabytes.
const LONGEST: usize = 32 * 1024 * 1024;
/// The number of bytes for the length of a frame.
const HEAD: usize = 4;

/// A message from the driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// The times for ending processes. The first message, sent once.
    Begin { grace_ms: u32, linger_ms: u32 },
    /// Start a process. Its stdin, if it has one, its stdout, and its stderr, if that is separate,
    /// come as descriptors.
    Spawn(Spawn),
    /// End a process and its descendants.
    Stop { id: u64 },
    /// Restore a terminal when the driver is gone. The terminal comes as a descriptor.
    HoldTerminal(HeldTerminal),
    /// The driver has restored the terminal itself.
    ReleaseTerminal,
}

/// A process to be started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Spawn {
    pub(super) id: u64,
    pub(super) has_stdin: bool,
    pub(super) is_apart: bool,
    pub(super) directory: PathBuf,
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// If it runs in a sandbox: the directories that it may write.
    pub(super) sandbox: Option<Vec<PathBuf>>,
}

impl Spawn {
    /// How many file descriptors come with the order.
    pub(super) fn descriptors(&self) -> usize {
        1 + usize::from(self.has_stdin) + usize::from(self.is_apart)
    }
}

/// A message from the guardian.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Report {
    /// The guardian is ready.
    Ready,
    /// A process runs.
    Started { id: u64, pid: u32 },
    /// The process could not be started.
    Failed { id: u64, why: String },
    /// The process and its descendants have ended, except `undead` ones that cannot be killed.
    Ended { id: u64, code: Option<i32>, signal: Option<i32>, left_behind: u32, undead: u32 },
}

/// An invalid frame: the other side does not speak this protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Garbled;

pub(super) trait Frame: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn get(bytes: &mut Bytes<'_>) -> Option<Self>;

    /// Encodes the frame.
    fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; HEAD];
        self.put(&mut out);
        let length = u32::try_from(out.len() - HEAD).unwrap_or(u32::MAX);
        if let Some(head) = out.get_mut(..HEAD) {
            head.copy_from_slice(&length.to_le_bytes());
        }
        out
    }
}

/// Whether a frame is too long for the other side.
pub(super) fn is_too_long(frame: &[u8]) -> bool {
    frame.len() > LONGEST + HEAD
}

/// Removes the first frame from the received bytes and decodes it, if it is complete.
pub(super) fn decode<F: Frame>(received: &mut Vec<u8>) -> Result<Option<F>, Garbled> {
    let Some(head) = received.first_chunk::<HEAD>() else { return Ok(None) };
    let length = usize::try_from(u32::from_le_bytes(*head)).unwrap_or(usize::MAX);
    if length > LONGEST {
        return Err(Garbled);
    }
    let Some(body) = received.get(HEAD..HEAD + length) else { return Ok(None) };
    let mut bytes = Bytes(body);
    let frame = F::get(&mut bytes).filter(|_| bytes.0.is_empty()).ok_or(Garbled)?;
    received.drain(..HEAD + length);
    Ok(Some(frame))
}

/// The rest of a frame.
pub(super) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            2.. => None,
        }
    }

    fn maybe_i32(&mut self) -> Option<Option<i32>> {
        let there = self.flag()?;
        let value = i32::from_le_bytes(self.array()?);
        Some(there.then_some(value))
    }

    fn text(&mut self) -> Option<OsString> {
        let length = usize::try_from(self.u32()?).ok()?;
        Some(OsString::from_vec(self.take(length)?.to_owned()))
    }

    fn modes(&mut self) -> Option<TerminalModes> {
        Some(TerminalModes {
            input: self.u64()?,
            local: self.u64()?,
            minimum: self.u8()?,
            time: self.u8()?,
        })
    }

    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()?;
        // Each element has at least its length, so a false count cannot cause a large allocation.
        (0..count).map(|_| one(self)).collect()
    }
}

fn put_u32(out: &mut Vec<u8>, value: usize) {
    // A value that does not fit makes the frame too long, which is checked.
    out.extend(u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &OsStr) {
    put_u32(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

fn put_maybe(out: &mut Vec<u8>, value: Option<i32>) {
    out.push(u8::from(value.is_some()));
    out.extend(value.unwrap_or_default().to_le_bytes());
}

impl Frame for Order {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Begin { grace_ms, linger_ms } => {
                out.push(0);
                out.extend(grace_ms.to_le_bytes());
                out.extend(linger_ms.to_le_bytes());
            }
            Self::Spawn(it) => {
                out.push(1);
                out.extend(it.id.to_le_bytes());
                out.push(u8::from(it.has_stdin));
                out.push(u8::from(it.is_apart));
                put_text(out, it.directory.as_os_str());
                put_text(out, &it.program);
                put_u32(out, it.arguments.len());
                it.arguments.iter().for_each(|argument| put_text(out, argument));
                put_u32(out, it.environment.len());
                for (name, value) in &it.environment {
                    put_text(out, name);
                    put_text(out, value);
                }
                out.push(u8::from(it.sandbox.is_some()));
                if let Some(writable) = &it.sandbox {
                    put_u32(out, writable.len());
                    writable.iter().for_each(|path| put_text(out, path.as_os_str()));
                }
            }
            Self::Stop { id } => {
                out.push(2);
                out.extend(id.to_le_bytes());
            }
            Self::HoldTerminal(HeldTerminal { set, before, sequences }) => {
                out.push(3);
                for modes in [set, before] {
                    out.extend(modes.input.to_le_bytes());
                    out.extend(modes.local.to_le_bytes());
                    out.extend([modes.minimum, modes.time]);
                }
                put_text(out, OsStr::from_bytes(sequences));
            }
            Self::ReleaseTerminal => out.push(4),
        }
    }

    fn get(bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(match bytes.u8()? {
            0 => Self::Begin { grace_ms: bytes.u32()?, linger_ms: bytes.u32()? },
            1 => Self::Spawn(Spawn {
                id: bytes.u64()?,
                has_stdin: bytes.flag()?,
                is_apart: bytes.flag()?,
                directory: bytes.text()?.into(),
                program: bytes.text()?,
                arguments: bytes.list(Bytes::text)?,
                environment: bytes.list(|it| Some((it.text()?, it.text()?)))?,
                sandbox: match bytes.flag()? {
                    true => Some(bytes.list(|it| it.text().map(PathBuf::from))?),
                    false => None,
                },
            }),
            2 => Self::Stop { id: bytes.u64()? },
            3 => Self::HoldTerminal(HeldTerminal {
                set: bytes.modes()?,
                before: bytes.modes()?,
                sequences: bytes.text()?.into_vec(),
            }),
            4 => Self::ReleaseTerminal,
            5.. => return None,
        })
    }
}

impl Frame for Report {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ready => out.push(0),
            Self::Started { id, pid } => {
                out.push(1);
                out.extend(id.to_le_bytes());
                out.extend(pid.to_le_bytes());
            }
            Self::Failed { id, why } => {
                out.push(2);
                out.extend(id.to_le_bytes());
                put_text(out, OsStr::new(why));
            }
            Self::Ended { id, code, signal, left_behind, undead } => {
                out.push(3);
                out.extend(id.to_le_bytes());
                put_maybe(out, *code);
                put_maybe(out, *signal);
                out.extend(left_behind.to_le_bytes());
                out.extend(undead.to_le_bytes());
            }
        }
    }

    fn get(bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(match bytes.u8()? {
            0 => Self::Ready,
            1 => Self::Started { id: bytes.u64()?, pid: bytes.u32()? },
            2 => {
                Self::Failed { id: bytes.u64()?, why: bytes.text()?.to_string_lossy().into_owned() }
            }
            3 => Self::Ended {
                id: bytes.u64()?,
                code: bytes.maybe_i32()?,
                signal: bytes.maybe_i32()?,
                left_behind: bytes.u32()?,
                undead: bytes.u32()?,
            },
            4.. => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = OsString> {
        prop::collection::vec(any::<u8>(), 0..20).prop_map(OsString::from_vec)
    }

    fn order() -> impl Strategy<Value = Order> {
        let spawn = (
            any::<(u64, bool, bool)>(),
            text(),
            text(),
            prop::collection::vec(text(), 0..4),
            prop::collection::vec((text(), text()), 0..4),
            prop::option::of(prop::collection::vec(text().prop_map(PathBuf::from), 0..3)),
        );
        prop_oneof![
            any::<(u32, u32)>()
                .prop_map(|(grace_ms, linger_ms)| Order::Begin { grace_ms, linger_ms }),
            any::<u64>().prop_map(|id| Order::Stop { id }),
            Just(Order::ReleaseTerminal),
            (any::<[(u64, u64, u8, u8); 2]>(), prop::collection::vec(any::<u8>(), 0..20)).prop_map(
                |(modes, sequences)| {
                    let [set, before] = modes.map(|(input, local, minimum, time)| TerminalModes {
                        input,
                        local,
                        minimum,
                        time,
                    });
                    Order::HoldTerminal(HeldTerminal { set, before, sequences })
                }
            ),
            spawn.prop_map(
                |(
                    (id, has_stdin, is_apart),
                    directory,
                    program,
                    arguments,
                    environment,
                    sandbox,
                )| {
                    let directory = directory.into();
                    Order::Spawn(Spawn {
                        id,
                        has_stdin,
                        is_apart,
                        directory,
                        program,
                        arguments,
                        environment,
                        sandbox,
                    })
                }
            ),
        ]
    }

    fn report() -> impl Strategy<Value = Report> {
        prop_oneof![
            Just(Report::Ready),
            any::<(u64, u32)>().prop_map(|(id, pid)| Report::Started { id, pid }),
            any::<(u64, String)>().prop_map(|(id, why)| Report::Failed { id, why }),
            any::<(u64, Option<i32>, Option<i32>, u32, u32)>().prop_map(
                |(id, code, signal, left_behind, undead)| Report::Ended {
                    id,
                    code,
                    signal,
                    left_behind,
                    undead
                }
            ),
        ]
    }

    #[track_caller]
    fn check<F: Frame + PartialEq + std::fmt::Debug>(frames: &[F], cut: usize) {
        let sent: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
        let mut received = Vec::new();
        let mut understood = Vec::new();
        // The split into pieces must not matter.
        for piece in sent.chunks(cut.max(1)) {
            received.extend_from_slice(piece);
            while let Some(frame) = decode::<F>(&mut received).unwrap() {
                understood.push(frame);
            }
        }
        assert_eq!(understood, frames);
        assert!(received.is_empty());
    }

    proptest! {
        #[test]
        fn orders_are_understood_as_they_were_given(
            orders in prop::collection::vec(order(), 0..4), cut in 1..50_usize,
        ) {
            check(&orders, cut);
        }

        #[test]
        fn reports_are_understood_as_they_were_given(
            reports in prop::collection::vec(report(), 0..4), cut in 1..50_usize,
        ) {
            check(&reports, cut);
        }

        #[test]
        fn nonsense_is_no_frame_and_nothing_worse(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut orders = bytes.clone();
            while let Ok(Some(_)) = decode::<Order>(&mut orders) {}
            let mut reports = bytes;
            while let Ok(Some(_)) = decode::<Report>(&mut reports) {}
        }
    }

    #[test]
    fn a_frame_that_says_it_is_endless_is_not_waited_for() {
        assert_eq!(decode::<Report>(&mut vec![0xFF; 5]), Err(Garbled));
    }
}
