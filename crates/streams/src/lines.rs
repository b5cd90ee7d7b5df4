//! Splits bytes into whole lines.
//!
//! Whole lines are passed on directly, many at a time. Only a line that is cut by the end of a
//! chunk is stored, up to a limit. A longer line is dropped and reported at its end. This file
//! knows nothing about the content of lines.

/// The default maximum length of a line. Agents write images into one line.
pub const LONGEST_LINE: usize = 32 << 20;

/// A piece of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// One or more whole lines with their line breaks; the last one may lack its own.
    Lines(&'a [u8]),
    /// A line that was too long, with its length in bytes.
    TooLong(u64),
}

/// A receiver of pieces.
pub trait Take {
    /// Takes a piece.
    fn piece(&mut self, piece: Piece<'_>);

    /// Takes the whole lines at the beginning of some bytes, and returns their length. A receiver
    /// that reads all lines finds the end of the last one anyway.
    fn whole_lines(&mut self, bytes: &[u8]) -> usize {
        let whole = memchr::memrchr(b'\n', bytes).map_or(0, |it| it + 1);
        if whole > 0 {
            self.piece(Piece::Lines(&bytes[..whole]));
        }
        whole
    }
}

impl<F: FnMut(Piece<'_>)> Take for F {
    fn piece(&mut self, piece: Piece<'_>) {
        self(piece);
    }
}

/// Splits a stream into whole lines.
#[derive(Debug)]
pub struct Lines {
    /// The beginning of an incomplete line.
    carry: Vec<u8>,
    /// How many bytes of a too long line were dropped so far.
    dropped: Option<u64>,
    longest: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self::new(LONGEST_LINE)
    }
}

impl Lines {
    /// A splitter with this maximum length of a line.
    pub fn new(longest: usize) -> Self {
        Self { carry: Vec::new(), dropped: None, longest }
    }

    /// Adds a chunk, and passes on the pieces that are complete.
    pub fn push(&mut self, chunk: &[u8], take: impl FnMut(Piece<'_>)) {
        self.push_to(chunk, take);
    }

    /// The same for a receiver that may find the end of the last whole line.
    pub fn push_to(&mut self, chunk: &[u8], mut take: impl Take) {
        let mut rest = chunk;
        if self.dropped.is_some() || !self.carry.is_empty() {
            let Some(end) = memchr::memchr(b'\n', rest) else { return self.keep(rest) };
            let (head, tail) = rest.split_at(end + 1);
            self.keep(&head[..end]);
            self.flush(&mut take);
            rest = tail;
        }
        let whole = take.whole_lines(rest);
        self.keep(rest.get(whole..).unwrap_or_default());
    }

    /// Ends the stream: the rest is a line.
    pub fn end(&mut self, take: impl FnMut(Piece<'_>)) {
        self.end_to(take);
    }

    /// The same for a [`Take`].
    pub fn end_to(&mut self, mut take: impl Take) {
        if self.dropped.is_some() || !self.carry.is_empty() {
            self.flush(&mut take);
        }
    }

    /// The stored length of the incomplete line.
    pub fn kept(&self) -> usize {
        self.carry.len()
    }

    /// The stored part of the incomplete line.
    pub(super) fn carried(&self) -> &[u8] {
        &self.carry
    }

    fn keep(&mut self, part: &[u8]) {
        if let Some(dropped) = &mut self.dropped {
            *dropped += part.len() as u64;
        } else if self.carry.len() + part.len() > self.longest {
            self.dropped = Some((self.carry.len() + part.len()) as u64);
            self.carry = Vec::new();
        } else {
            self.carry.extend_from_slice(part);
        }
    }

    fn flush(&mut self, take: &mut impl Take) {
        match self.dropped.take() {
            Some(bytes) => take.piece(Piece::TooLong(bytes)),
            None => take.piece(Piece::Lines(&self.carry)),
        }
        self.carry.clear();
        // Frees the memory of an occasional long line.
        self.carry.shrink_to(1 << 16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a text that arrives in chunks of one size, lines one by one.
    fn pieces(text: &[u8], chunk: usize, longest: usize) -> Vec<String> {
        let mut all = Vec::new();
        let mut take = |piece: Piece<'_>| match piece {
            Piece::Lines(lines) => {
                let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
                for line in lines.split(|it| *it == b'\n') {
                    if line.len() > longest {
                        all.push(format!("({} bytes)", line.len()));
                    } else {
                        all.push(String::from_utf8_lossy(line).into_owned());
                    }
                }
            }
            Piece::TooLong(bytes) => all.push(format!("({bytes} bytes)")),
        };
        let mut lines = Lines::new(longest);
        text.chunks(chunk).for_each(|chunk| lines.push(chunk, &mut take));
        lines.end(&mut take);
        all
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = b"one\n\nthree\nfour is too long for us\nfive\0\n\xff\nlast";
        for chunk in 1..=text.len() {
            assert_eq!(
                pieces(text, chunk, 8),
                ["one", "", "three", "(23 bytes)", "five\0", "\u{fffd}", "last"],
                "{chunk}"
            );
        }
    }

    #[test]
    fn a_stream_without_any_newline_is_one_line_and_is_not_kept() {
        let mut lines = Lines::new(1 << 10);
        let mut seen = Vec::new();
        for _ in 0..10_000 {
            lines.push(&[b'x'; 997], |piece| seen.push(format!("{piece:?}")));
            assert!(lines.kept() <= 1 << 10, "kept {}", lines.kept());
        }
        assert!(seen.is_empty());
        lines.end(|piece| seen.push(format!("{piece:?}")));
        assert_eq!(seen, ["TooLong(9970000)"]);
    }

    #[test]
    fn a_line_that_is_as_long_as_allowed_is_kept() {
        assert_eq!(pieces(b"12345678\n123456789\n", 3, 8), ["12345678", "(9 bytes)"]);
    }

    #[test]
    fn nothing_is_no_line() {
        assert_eq!(pieces(b"", 1, 8), [""; 0]);
    }
}
