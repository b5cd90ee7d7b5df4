//! Reads lines of bounded length from a stream. Of a line that is too long, only what is needed to answer
//! it is kept.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::skim::Skim;

/// The maximum length of a line with its end; a longer one is refused.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;

/// How much of the line buffer's capacity is kept for the next line.
const KEPT_CAPACITY: usize = 1024 * 1024;

/// The lines of a stream.
pub(crate) struct Lines<R> {
    read: BufReader<R>,
    /// The current line, or the part of it that has been read.
    pub(crate) line: Vec<u8>,
    /// The current line, if it is too long: then its bytes are not kept.
    too_long_line: Option<TooLongLine>,
}

/// A line that is too long.
#[derive(Default)]
pub(crate) struct TooLongLine {
    /// The length so far.
    pub(crate) length: usize,
    /// What is known of its sender.
    pub(crate) skim: Skim,
}

impl TooLongLine {
    fn read(&mut self, piece: &[u8]) {
        self.length = self.length.saturating_add(piece.len());
        self.skim.read(piece);
    }
}

/// What was read.
pub(crate) enum Next {
    /// A line; it is in the buffer.
    Line,
    /// A line that is too long.
    TooLong(TooLongLine),
    /// The end of the stream.
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// The lines of this stream.
    pub(crate) fn new(read: R) -> Self {
        Self { read: BufReader::new(read), line: Vec::new(), too_long_line: None }
    }

    /// Reads up to the end of the line. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Next {
        loop {
            let (taken, is_end) = match self.read.fill_buf().await {
                // A last line without an end is no message.
                Ok([]) | Err(_) => return Next::End,
                Ok(bytes) => {
                    let end = memchr::memchr(b'\n', bytes);
                    let taken = end.map_or(bytes.len(), |end| end + 1);
                    let piece = &bytes[..taken];
                    if let Some(too_long_line) = &mut self.too_long_line {
                        too_long_line.read(piece);
                    } else if self.line.len() + taken > LONGEST {
                        let mut too_long_line = TooLongLine::default();
                        too_long_line.read(&self.line);
                        too_long_line.read(piece);
                        self.too_long_line = Some(too_long_line);
                        self.line = Vec::new();
                    } else {
                        self.line.extend_from_slice(piece);
                    }
                    (taken, end.is_some())
                }
            };
            self.read.consume(taken);
            if is_end {
                return self.too_long_line.take().map_or(Next::Line, Next::TooLong);
            }
        }
    }

    /// Empties the line buffer.
    pub(crate) fn clear(&mut self) {
        self.line.clear();
        // Long lines are rare, so their capacity is not kept.
        self.line.shrink_to(KEPT_CAPACITY);
    }
}
