//! Splits a file into lines with positions, and recognises what a line begins with.
//!
//! Items and fields are not known here. Each line is scanned once.

/// One line, without its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// From 1.
    pub(super) number: usize,
    /// Where it begins in the file, in bytes.
    pub(super) start: usize,
    /// The whole line.
    pub(super) text: &'a str,
    /// How far it is indented, in columns; a tab goes to the next multiple of four.
    pub(super) indent: usize,
    /// Where its first character after the indentation is, in bytes of `text`.
    pub(super) body: usize,
}

impl<'a> Line<'a> {
    /// The line without indentation and trailing blanks.
    pub(super) fn body(&self) -> &'a str {
        self.text.get(self.body..).unwrap_or_default().trim_end()
    }

    /// The line as if everything before `body` were indentation.
    pub(super) fn from(&self, body: usize) -> Self {
        let body = body.min(self.text.len());
        let blank = self.text[body..].len() - self.text[body..].trim_start_matches(BLANK).len();
        let body = body + blank;
        Self { body, indent: columns(&self.text[..body]), ..*self }
    }

    /// The line without at most `by` columns of indentation.
    pub(super) fn dedented(&self, by: usize) -> &'a str {
        let mut at = 0;
        for (index, ch) in self.text[..self.body].char_indices() {
            if at >= by {
                return &self.text[index..];
            }
            at = step(at, ch);
        }
        &self.text[self.body..]
    }
}

/// What counts as indentation. Other blanks count as text.
const BLANK: [char; 2] = [' ', '\t'];

fn step(column: usize, ch: char) -> usize {
    if ch == '\t' { (column / 4 + 1) * 4 } else { column + 1 }
}

fn columns(text: &str) -> usize {
    text.chars().fold(0, step)
}

/// The lines of a text, without a byte-order mark.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let skip = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut start = skip;
    let mut rest = &text[skip..];
    (1..).map_while(move |number| {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest.as_bytes());
        let (line, after) = end.map_or((rest, ""), |end| (&rest[..end], &rest[end + 1..]));
        let at = start;
        start += rest.len() - after.len();
        rest = after;
        let line = if end.is_some() { line.strip_suffix('\r').unwrap_or(line) } else { line };
        let body = line.len() - line.trim_start_matches(BLANK).len();
        Some(Line { number, start: at, text: line, indent: columns(&line[..body]), body })
    })
}

/// The beginning or end of a fenced block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fence {
    sign: char,
    count: usize,
    /// Whether nothing follows the fence, as at the end of a block.
    bare: bool,
}

impl Fence {
    /// The fence in a line, if there is one.
    pub(super) fn of(body: &str) -> Option<Self> {
        let sign = body.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let info = body.trim_start_matches(sign);
        let count = body.len() - info.len();
        let is_inline = sign == '`' && info.contains('`');
        let bare = info.trim().is_empty();
        (count >= 3 && !is_inline).then_some(Self { sign, count, bare })
    }

    /// Whether a line closes the block that this fence opened.
    pub(super) fn is_closed_by(self, body: &str) -> bool {
        Self::of(body)
            .is_some_and(|end| end.bare && end.sign == self.sign && end.count >= self.count)
    }
}

/// The level and text of a heading that begins with `#`.
pub(super) fn heading(body: &str) -> Option<(usize, &str)> {
    let rest = body.trim_start_matches('#');
    let level = body.len() - rest.len();
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with(BLANK)) {
        return None;
    }
    let text = rest.trim();
    let bare = text.trim_end_matches('#');
    // Closing `#` signs belong to the markup only after a blank.
    let text = if bare.is_empty() || bare.ends_with(BLANK) { bare.trim_end() } else { text };
    Some((level, text))
}

/// The text of a quotation, without its `>` signs.
pub(super) fn quotation(body: &str) -> Option<&str> {
    let said = body.strip_prefix('>')?;
    Some(said.trim_start_matches(['>', ' ', '\t']))
}

/// The level of a heading that is underlined.
pub(super) fn underline(body: &str) -> Option<usize> {
    let sign = body.chars().next()?;
    let level = match sign {
        '=' => 1,
        '-' => 2,
        _ => return None,
    };
    (body.chars().all(|it| it == sign)).then_some(level)
}

/// The bytes of a list marker and the blanks after it: `-`, `*`, `+`, `1.`, `1)`, or a bullet
/// character.
pub(super) fn bullet(body: &str) -> Option<usize> {
    let first = body.chars().next()?;
    let marker = if matches!(first, '-' | '*' | '+' | '•' | '◦' | '▪' | '‣' | '∙') {
        first.len_utf8()
    } else {
        let digits = body.bytes().take(10).take_while(u8::is_ascii_digit).count();
        let closed = body.get(digits..)?.starts_with(['.', ')']);
        if !(1..=9).contains(&digits) || !closed {
            return None;
        }
        digits + 1
    };
    let rest = &body[marker..];
    if rest.is_empty() {
        return Some(marker);
    }
    let blank = rest.len() - rest.trim_start_matches(BLANK).len();
    (blank > 0).then_some(marker + blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_where_they_are() {
        let text = "\u{feff}a\r\n\tb\n  \n\u{e4}\r";
        let found: Vec<_> = lines(text).collect();
        let seen: Vec<_> = found.iter().map(|it| (it.number, it.text, it.indent)).collect();
        assert_eq!(seen, [(1, "a", 0), (2, "\tb", 4), (3, "  ", 2), (4, "\u{e4}\r", 0)]);
        for line in found {
            assert_eq!(&text[line.start..line.start + line.text.len()], line.text);
        }
    }

    #[test]
    fn a_block_is_closed_by_a_fence_at_least_as_long() {
        let open = Fence::of("```sh").unwrap();
        assert!(!open.is_closed_by("``"));
        assert!(!open.is_closed_by("~~~"));
        assert!(!open.is_closed_by("```sh"));
        assert!(open.is_closed_by("````  "));
        assert_eq!(Fence::of("```a`b"), None);
    }

    #[test]
    fn headings_and_bullets_are_told_from_prose() {
        assert_eq!(heading("## A b ##"), Some((2, "A b")));
        assert_eq!(heading("# C#"), Some((1, "C#")));
        assert_eq!(heading("#"), Some((1, "")));
        assert_eq!(heading("#tag"), None);
        assert_eq!(heading("####### seven"), None);
        assert_eq!(bullet("- a"), Some(2));
        assert_eq!(bullet("10)  a"), Some(5));
        assert_eq!(bullet("*"), Some(1));
        assert_eq!(bullet("• a"), Some(4));
        assert_eq!(bullet("•a"), None);
        assert_eq!(quotation("> > - [ ] a"), Some("- [ ] a"));
        assert_eq!(bullet("1.5 is a number"), None);
        assert_eq!(bullet("**bold**"), None);
        assert_eq!(bullet("1234567890. a"), None);
        assert_eq!(underline("==="), Some(1));
        assert_eq!(underline("- -"), None);
    }
}
