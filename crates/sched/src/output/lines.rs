//! Splits bytes into lines with a maximum length.

use super::{Line, Stream};

/// The lines of one stream.
#[derive(Debug)]
pub(crate) struct Lines {
    stream: Stream,
    longest: usize,
    /// The beginning of an incomplete line.
    begun: Vec<u8>,
    /// Whether the line was too long and is cut.
    cut: bool,
    /// Whether the last line ended with a carriage return, so that a line feed may follow.
    returned: bool,
}

impl Lines {
    pub(crate) fn new(stream: Stream, longest: usize) -> Self {
        Self { stream, longest, begun: Vec::new(), cut: false, returned: false }
    }

    /// Adds bytes, and passes on the lines that are complete. A carriage return ends a line too,
    /// because programs use it to draw progress.
    pub(crate) fn take(&mut self, mut bytes: &[u8], say: &mut impl FnMut(Line)) {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.returned) && *first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let end = bytes.iter().position(|it| matches!(it, b'\n' | b'\r'));
            let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            let room = self.longest.saturating_sub(self.begun.len());
            self.cut |= piece.len() > room;
            self.begun.extend_from_slice(piece.get(..room).unwrap_or(piece));
            bytes = rest.get(1..).unwrap_or_default();
            if let Some(end) = rest.first() {
                self.returned = *end == b'\r';
                self.line(say);
            }
        }
    }

    /// Passes on the incomplete line at the end of the stream.
    pub(crate) fn finish(&mut self, say: &mut impl FnMut(Line)) {
        if !self.begun.is_empty() {
            self.line(say);
        }
    }

    fn line(&mut self, say: &mut impl FnMut(Line)) {
        let bytes = if self.cut { whole_characters(&self.begun) } else { &self.begun };
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        if std::mem::take(&mut self.cut) {
            text.push('…');
        }
        self.begun.clear();
        say(Line { stream: self.stream, text });
    }
}

/// The bytes without an incomplete character at the end.
pub(super) fn whole_characters(bytes: &[u8]) -> &[u8] {
    // A character has at most four bytes, and all but the first begin with the bits 10.
    let begins = bytes.iter().rev().take(4).position(|it| it & 0xC0 != 0x80);
    let Some(back) = begins else { return bytes };
    let at = bytes.len() - 1 - back;
    let (before, last) = bytes.split_at(at);
    match std::str::from_utf8(last) {
        // Only if the character is incomplete; other invalid bytes stay.
        Err(error) if error.error_len().is_none() => before,
        Ok(_) | Err(_) => bytes,
    }
}
