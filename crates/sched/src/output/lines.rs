//! Cuts bytes into lines of bounded length.

use super::{Line, Stream};

/// The lines of one stream.
#[derive(Debug)]
pub(crate) struct Lines {
    stream: Stream,
    longest: usize,
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    /// The line was longer than that.
    cut: bool,
    /// The last line ended with a return, to which a line feed may belong.
    returned: bool,
}

impl Lines {
    pub(crate) fn new(stream: Stream, longest: usize) -> Self {
        Self { stream, longest, begun: Vec::new(), cut: false, returned: false }
    }

    /// Takes the next bytes and says which lines they end. A return ends a line too: that is how
    /// programs draw progress.
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

    /// Nothing more comes: what was begun is a line.
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

/// The bytes without a character at their end that was cut.
pub(super) fn whole_characters(bytes: &[u8]) -> &[u8] {
    // A character has at most four bytes, of which all but the first begin with the bits 10.
    let begins = bytes.iter().rev().take(4).position(|it| it & 0xC0 != 0x80);
    let Some(back) = begins else { return bytes };
    let at = bytes.len() - 1 - back;
    let (before, last) = bytes.split_at(at);
    match std::str::from_utf8(last) {
        // Only if more was to come; other nonsense is shown as such.
        Err(error) if error.error_len().is_none() => before,
        Ok(_) | Err(_) => bytes,
    }
}
