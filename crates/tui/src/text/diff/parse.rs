//! Reads a unified diff. Any text is accepted: what is not part of a diff is a note.

use punchlist_formats::text::{Colour, Style};

use super::{Numbered, Part};

/// The parts of a unified diff.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let mut reader = Reader::default();
    for line in text.split_inclusive('\n') {
        reader.line(line.strip_suffix('\n').unwrap_or(line));
    }
    reader.parts
}

#[derive(Default)]
struct Reader {
    parts: Vec<Part>,
    /// The numbers of the next lines.
    old: usize,
    new: usize,
    /// How many lines of the hunk are still to come.
    old_left: usize,
    new_left: usize,
    is_in_hunk: bool,
}

impl Reader {
    fn line(&mut self, line: &str) {
        // Within a hunk, `--- x` is the removed line `-- x`.
        let is_promised = self.old_left > 0 || self.new_left > 0;
        if let Some(hunk) = hunk(line) {
            (self.old, self.old_left) = hunk.0;
            (self.new, self.new_left) = hunk.1;
            self.is_in_hunk = true;
            return self.note(line, Style::In(Colour::Cyan));
        }
        if !is_promised && (line.starts_with("--- ") || line.starts_with("+++ ")) {
            self.is_in_hunk = false;
            return self.note(line, Style::Bold);
        }
        let mut chars = line.chars();
        match chars.next() {
            Some('-') if self.is_in_hunk => self.removed(chars.as_str()),
            Some('+') if self.is_in_hunk => self.added(chars.as_str()),
            // Some programs drop the blank of an empty line.
            None if is_promised => self.same(""),
            Some(' ') if self.is_in_hunk => self.same(chars.as_str()),
            Some(_) | None => {
                // `\ No newline at end of file` stands within a hunk; other lines end it.
                self.is_in_hunk &= line.starts_with('\\');
                self.note(line, Style::Dim);
            }
        }
    }

    fn note(&mut self, line: &str, style: Style) {
        self.parts.push(Part::Note(line.to_owned(), style));
    }

    fn removed(&mut self, text: &str) {
        let line = Numbered { number: self.old, text: text.to_owned() };
        self.old += 1;
        self.old_left = self.old_left.saturating_sub(1);
        match self.parts.last_mut() {
            Some(Part::Change { removed, added }) if added.is_empty() => removed.push(line),
            Some(_) | None => {
                self.parts.push(Part::Change { removed: vec![line], added: Vec::new() });
            }
        }
    }

    fn added(&mut self, text: &str) {
        let line = Numbered { number: self.new, text: text.to_owned() };
        self.new += 1;
        self.new_left = self.new_left.saturating_sub(1);
        match self.parts.last_mut() {
            Some(Part::Change { added, .. }) => added.push(line),
            Some(_) | None => {
                self.parts.push(Part::Change { removed: Vec::new(), added: vec![line] });
            }
        }
    }

    fn same(&mut self, text: &str) {
        self.parts.push(Part::Same { old: self.old, new: self.new, text: text.to_owned() });
        self.old += 1;
        self.new += 1;
        self.old_left = self.old_left.saturating_sub(1);
        self.new_left = self.new_left.saturating_sub(1);
    }
}

/// The first line and the number of lines, old and new, of `@@ -1,3 +1,4 @@`.
fn hunk(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let side = |text: &str| {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        // A diff may claim anything; a file has fewer lines.
        let first = first.parse::<u32>().ok()?;
        Some((usize::try_from(first).ok()?, count.parse::<u32>().ok()?.try_into().ok()?))
    };
    Some((side(old)?, side(new)?))
}
