//! One line of JSON as a flat index of where its values stand.
//!
//! The whole line is checked while it is indexed, so every slice that is taken out of it afterwards is
//! valid JSON by itself and can be passed on as it is. Nothing is unescaped or copied until somebody
//! asks. Depth and number of values are bounded, and nothing here recurses. It knows no agent.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

#[cfg(target_arch = "x86_64")]
use super::wide::Avx2;
use super::wide::{self, BLOCK, Narrow, SHORT, Specials, Width};
use crate::text::mend;

/// The deepest nesting that is read. Readers of our output commonly stop at 128.
pub(crate) const MOST_DEPTH: usize = 120;

/// The most values, keys included, that one line may have.
pub(crate) const MOST_VALUES: usize = 1 << 20;

/// Why a line is no JSON that we read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flaw {
    /// It is not UTF-8 from this byte on.
    Utf8(usize),
    /// It is not JSON at this byte.
    Syntax(usize),
    /// It ends in the middle.
    Short,
    /// It is nested deeper than [`MOST_DEPTH`].
    Deep,
    /// It has more values than [`MOST_VALUES`].
    Many,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Utf8(at) => write!(f, "not UTF-8 at byte {}", at + 1),
            Self::Syntax(at) => write!(f, "not JSON at byte {}", at + 1),
            Self::Short => write!(f, "not JSON: it ends in the middle"),
            Self::Deep => write!(f, "nested deeper than {MOST_DEPTH} levels"),
            Self::Many => write!(f, "more than {MOST_VALUES} values"),
        }
    }
}

/// Where a value stands. What it is, its first byte tells.
#[derive(Clone, Copy, Debug)]
struct Node {
    start: u32,
    end: u32,
    /// The index of the first node after it and all that is in it.
    next: u32,
}

/// The memory that lines are indexed in, one after the other.
#[derive(Default, Debug)]
pub(crate) struct Tape {
    nodes: Vec<Node>,
    open: Vec<u32>,
    /// The line, where something in it had to be mended.
    mended: String,
}

impl Tape {
    /// Indexes a line. Surrogates that have lost their other half become U+FFFD ([`mend`]): they are legal
    /// in a literal, but nothing that reads our output could make a text of them.
    pub(crate) fn read<'t>(&'t mut self, line: &'t [u8]) -> Result<Value<'t>, Flaw> {
        self.nodes.clear();
        self.open.clear();
        self.mended = String::new();
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let text = simdutf8::basic::from_utf8(line).map_err(|_| not_utf8(line))?;
        if u32::try_from(text.len()).is_err() {
            return Err(Flaw::Many);
        }
        self.index(line)?;
        // It changes neither where values stand nor what is valid.
        if let Cow::Owned(mended) = mend(line) {
            self.mended = String::from_utf8(mended).map_err(|_| not_utf8(line))?;
        }
        let text = if self.mended.is_empty() { text } else { &self.mended };
        // One huge line must not hold its memory for ever.
        if self.nodes.capacity() > 1 << 16 && self.nodes.len() < 1 << 12 {
            self.nodes.shrink_to(1 << 12);
        }
        Ok(Value { text, nodes: &self.nodes, at: 0 })
    }

    fn index(&mut self, line: &[u8]) -> Result<(), Flaw> {
        #[cfg(target_arch = "x86_64")]
        if let Some(width) = Avx2::find() {
            #[expect(
                unsafe_code,
                reason = "the compiler wants a word that the processor has AVX2"
            )]
            // SAFETY: there is a value that says so, and the function takes references, not pointers.
            return unsafe { index_widely(Scan { bytes: line, at: 0, tape: self, width }) };
        }
        Scan { bytes: line, at: 0, tape: self, width: Narrow }.document()
    }
}

/// The same, compiled for wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn index_widely(mut scan: Scan<'_, '_, Avx2>) -> Result<(), Flaw> {
    scan.document()
}

/// Where a line ceases to be UTF-8; the quick check does not say.
fn not_utf8(line: &[u8]) -> Flaw {
    Flaw::Utf8(std::str::from_utf8(line).map_or_else(|error| error.valid_up_to(), str::len))
}

/// What may come next inside a container.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    CommaOrEnd,
    Nothing,
}

struct Scan<'a, 't, W> {
    bytes: &'a [u8],
    at: usize,
    tape: &'t mut Tape,
    width: W,
}

#[expect(clippy::inline_always, reason = "it is compiled for each width as one function")]
impl<W: Width> Scan<'_, '_, W> {
    #[inline(always)]
    fn document(&mut self) -> Result<(), Flaw> {
        let mut expect = Expect::Value;
        loop {
            self.blanks();
            let Some(&byte) = self.bytes.get(self.at) else {
                return if expect == Expect::Nothing { Ok(()) } else { Err(Flaw::Short) };
            };
            expect = match (expect, byte) {
                (Expect::Value | Expect::ValueOrEnd, _) if byte != b']' => self.value(byte)?,
                (Expect::Key | Expect::KeyOrEnd, b'"') => self.key()?,
                (Expect::CommaOrEnd, b',') => {
                    self.at += 1;
                    if self.in_object() { Expect::Key } else { Expect::Value }
                }
                (Expect::KeyOrEnd, b'}') => self.close()?,
                (Expect::ValueOrEnd, b']') => self.close()?,
                (Expect::CommaOrEnd, b'}') if self.in_object() => self.close()?,
                (Expect::CommaOrEnd, b']') if !self.in_object() => self.close()?,
                (
                    Expect::Value
                    | Expect::ValueOrEnd
                    | Expect::Key
                    | Expect::KeyOrEnd
                    | Expect::CommaOrEnd
                    | Expect::Nothing,
                    _,
                ) => return Err(Flaw::Syntax(self.at)),
            };
        }
    }

    #[inline]
    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn in_object(&self) -> bool {
        let open = self.tape.open.last().and_then(|at| self.tape.nodes.get(*at as usize));
        open.is_some_and(|node| self.bytes.get(node.start as usize) == Some(&b'{'))
    }

    #[inline]
    fn push(&mut self, start: usize, end: usize) -> Result<(), Flaw> {
        if self.tape.nodes.len() >= MOST_VALUES {
            return Err(Flaw::Many);
        }
        let next = self.tape.nodes.len() as u32 + 1;
        self.tape.nodes.push(Node { start: start as u32, end: end as u32, next });
        Ok(())
    }

    /// What is expected after a value is complete.
    fn after(&self) -> Expect {
        if self.tape.open.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd }
    }

    #[inline(always)]
    fn value(&mut self, byte: u8) -> Result<Expect, Flaw> {
        let start = self.at;
        match byte {
            b'"' => {
                self.string()?;
                self.push(start, self.at)?;
            }
            b'{' | b'[' => {
                if self.tape.open.len() >= MOST_DEPTH {
                    return Err(Flaw::Deep);
                }
                self.tape.open.push(self.tape.nodes.len() as u32);
                self.push(start, start)?;
                self.at += 1;
                return Ok(if byte == b'{' { Expect::KeyOrEnd } else { Expect::ValueOrEnd });
            }
            b't' => self.word(b"true")?,
            b'f' => self.word(b"false")?,
            b'n' => self.word(b"null")?,
            b'-' | b'0'..=b'9' => {
                self.number()?;
                self.push(start, self.at)?;
            }
            _ => return Err(Flaw::Syntax(start)),
        }
        Ok(self.after())
    }

    fn close(&mut self) -> Result<Expect, Flaw> {
        self.at += 1;
        let next = self.tape.nodes.len() as u32;
        let open = self.tape.open.pop().and_then(|at| self.tape.nodes.get_mut(at as usize));
        let Some(node) = open else { return Err(Flaw::Syntax(self.at - 1)) };
        (node.end, node.next) = (self.at as u32, next);
        Ok(self.after())
    }

    /// A key; and as most values are texts and nothing stands between, at once all texts that follow it
    /// and all keys that follow them, up to what is neither.
    #[inline(always)]
    fn key(&mut self) -> Result<Expect, Flaw> {
        let mut is_key = true;
        loop {
            let start = self.at;
            self.string()?;
            self.push(start, self.at)?;
            let between = if is_key { b":\"" } else { b",\"" };
            if self.bytes.get(self.at..).and_then(|it| it.first_chunk()) != Some(between) {
                break;
            }
            self.at += 1;
            is_key = !is_key;
        }
        if !is_key {
            return Ok(Expect::CommaOrEnd);
        }
        self.blanks();
        match self.bytes.get(self.at) {
            Some(b':') => {
                self.at += 1;
                Ok(Expect::Value)
            }
            Some(_) => Err(Flaw::Syntax(self.at)),
            None => Err(Flaw::Short),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Flaw> {
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        if rest.starts_with(word) {
            self.at += word.len();
            return self.push(start, self.at);
        }
        Err(if word.starts_with(rest) { Flaw::Short } else { Flaw::Syntax(start) })
    }

    fn digits(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        match (self.at > start, self.bytes.get(self.at)) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err(Flaw::Syntax(start)),
            (false, None) => Err(Flaw::Short),
        }
    }

    /// A number that fits into a float; others are legal, but hardly anybody reads them.
    fn number(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        let mut is_long = self.at - start > 300;
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
            is_long = true;
        }
        let fits = |text: &[u8]| {
            let number = std::str::from_utf8(text).ok().and_then(|it| it.parse::<f64>().ok());
            number.is_some_and(f64::is_finite)
        };
        if is_long && !self.bytes.get(start..self.at).is_some_and(fits) {
            return Err(Flaw::Syntax(start));
        }
        Ok(())
    }

    /// Goes from the opening quote to behind the closing one.
    #[inline(always)]
    fn string(&mut self) -> Result<(), Flaw> {
        self.at += 1;
        let head = self.bytes.get(self.at..).and_then(|it| it.first_chunk::<SHORT>());
        if let Some(end) = head.and_then(|it| self.width.short(it)) {
            self.at += end + 1;
            return Ok(());
        }
        while let Some(block) = self.bytes.get(self.at..).and_then(|it| it.first_chunk::<BLOCK>()) {
            if self.block(block)? {
                return Ok(());
            }
        }
        loop {
            self.at = plain_until(self.bytes, self.at);
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(Flaw::Syntax(self.at)),
                None => return Err(Flaw::Short),
            }
        }
    }

    /// Goes over a block of a string, or to behind the closing quote in it. Gives whether that came.
    ///
    /// Texts of programs have an escape every few words. So the block is looked at as a whole, without a
    /// step or a branch for each of them.
    #[inline(always)]
    fn block(&mut self, block: &[u8; BLOCK]) -> Result<bool, Flaw> {
        let Specials { quotes, slashes, has_controls } = self.width.specials(block);
        let escaping = wide::escaping(slashes);
        let escaped = escaping << 1;
        let quote = (quotes & !escaped).trailing_zeros();
        // What stands before the quote, or all.
        let inside = 1u64.checked_shl(quote).map_or(u64::MAX, |it| it - 1);
        let is_odd = escaping != 0 && escaped & inside & !self.width.short_escapes(block) != 0;
        if is_odd || has_controls {
            return self.odd_block(block);
        }
        if quote < u64::BITS {
            self.at += quote as usize + 1;
            return Ok(true);
        }
        // A backslash that stands last belongs to what follows.
        self.at += BLOCK - (escaping >> 63) as usize;
        Ok(false)
    }

    /// The same, step by step, up to the first escape with a number or the first flaw.
    #[cold]
    fn odd_block(&mut self, block: &[u8; BLOCK]) -> Result<bool, Flaw> {
        let mut at = 0;
        while let Some(byte) = block.get(at) {
            match byte {
                b'"' => {
                    self.at += at + 1;
                    return Ok(true);
                }
                b'\\' if block.get(at + 1).is_some_and(|it| SHORT_ESCAPES[usize::from(*it)]) => {
                    at += 2;
                }
                b'\\' => {
                    self.at += at;
                    return self.escape().map(|()| false);
                }
                0..0x20 => return Err(Flaw::Syntax(self.at + at)),
                _ => at += 1,
            }
        }
        self.at += at;
        Ok(false)
    }

    #[inline]
    fn escape(&mut self) -> Result<(), Flaw> {
        let Some(byte) = self.bytes.get(self.at + 1) else { return Err(Flaw::Short) };
        // A table and not a match: which of them comes next nobody can foresee, a processor neither.
        if SHORT_ESCAPES[usize::from(*byte)] {
            self.at += 2;
            return Ok(());
        }
        if *byte == b'u' { self.code_point() } else { Err(Flaw::Syntax(self.at)) }
    }

    fn code_point(&mut self) -> Result<(), Flaw> {
        hex(self.bytes, self.at + 2)?;
        self.at += 6;
        Ok(())
    }
}

/// The characters that make an escape with a backslash before them and nothing behind.
const SHORT_ESCAPES: [bool; 256] = {
    let mut table = [false; 256];
    let escapes = b"\"\\/bfnrt";
    let mut at = 0;
    while at < escapes.len() {
        table[escapes[at] as usize] = true;
        at += 1;
    }
    table
};

fn hex(bytes: &[u8], at: usize) -> Result<u32, Flaw> {
    let digits = bytes.get(at..at + 4).ok_or(Flaw::Short)?;
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16).ok_or(Flaw::Syntax(at))?;
        Ok(unit * 16 + digit)
    })
}

/// Where the first byte stands, from `at` on, that is a quote, a backslash or a control character.
#[inline]
fn plain_until(bytes: &[u8], mut at: usize) -> usize {
    let mut rest = bytes.get(at..).unwrap_or_default();
    while let Some((block, tail)) = rest.split_first_chunk::<BLOCK>() {
        let Specials { quotes, slashes, has_controls } = Narrow.specials(block);
        if quotes | slashes != 0 || has_controls {
            break;
        }
        at += BLOCK;
        rest = tail;
    }
    let is_special = |it: &u8| matches!(it, b'"' | b'\\' | 0..0x20);
    at + rest.iter().position(is_special).unwrap_or(rest.len())
}

/// A value of an indexed line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a> {
    text: &'a str,
    nodes: &'a [Node],
    at: u32,
}

impl<'a> Value<'a> {
    fn node(&self) -> Node {
        self.nodes.get(self.at as usize).copied().unwrap_or(Node {
            start: 0,
            end: 0,
            next: u32::MAX,
        })
    }

    fn first(&self) -> u8 {
        self.text.as_bytes().get(self.node().start as usize).copied().unwrap_or(b'n')
    }

    fn beside(&self, at: u32) -> Self {
        Self { at, ..*self }
    }

    /// The value as it was written.
    pub(crate) fn raw(&self) -> &'a str {
        let Node { start, end, .. } = self.node();
        self.text.get(start as usize..end as usize).unwrap_or("null")
    }

    pub(crate) fn is_object(&self) -> bool {
        self.first() == b'{'
    }

    pub(crate) fn is_array(&self) -> bool {
        self.first() == b'['
    }

    pub(crate) fn is_null(&self) -> bool {
        self.first() == b'n'
    }

    /// The string, if it is one.
    pub(crate) fn str(&self) -> Option<Str<'a>> {
        (self.first() == b'"').then(|| Str(self.raw()))
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        match self.first() {
            b't' => Some(true),
            b'f' => Some(false),
            _ => None,
        }
    }

    /// The number, if it is a whole one that is not negative.
    pub(crate) fn u64(&self) -> Option<u64> {
        self.first().is_ascii_digit().then(|| self.raw().parse().ok())?
    }

    /// The number, if it is a whole one.
    pub(crate) fn i64(&self) -> Option<i64> {
        (self.first().is_ascii_digit() || self.first() == b'-').then(|| self.raw().parse().ok())?
    }

    /// The number, if it is one.
    pub(crate) fn f64(&self) -> Option<f64> {
        (self.first().is_ascii_digit() || self.first() == b'-').then(|| self.raw().parse().ok())?
    }

    /// The keys and values of an object; nothing of anything else.
    pub(crate) fn fields(&self) -> Fields<'a> {
        let (at, end) = if self.is_object() { (self.at + 1, self.node().next) } else { (0, 0) };
        Fields { of: *self, at, end }
    }

    /// The elements of an array; nothing of anything else.
    pub(crate) fn items(&self) -> Items<'a> {
        let (at, end) = if self.is_array() { (self.at + 1, self.node().next) } else { (0, 0) };
        Items { of: *self, at, end }
    }

    /// A field of an object: the last one of that name, as everybody else reads it.
    pub(crate) fn get(&self, name: &str) -> Option<Self> {
        self.fields().filter(|(key, _)| key.is(name)).last().map(|(_, value)| value)
    }

    /// A field of a field.
    pub(crate) fn path(&self, names: &[&str]) -> Option<Self> {
        names.iter().try_fold(*self, |value, name| value.get(name))
    }

    /// A field that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<Str<'a>> {
        self.get(name)?.str()
    }

    /// A field that is true.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).and_then(|it| it.bool()) == Some(true)
    }
}

/// The fields of an object.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    of: Value<'a>,
    at: u32,
    end: u32,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (Str<'a>, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let key = self.of.beside(self.at);
        let value = self.of.beside(self.at + 1);
        self.at = value.node().next;
        Some((Str(key.raw()), value))
    }
}

/// The elements of an array.
#[derive(Clone, Debug)]
pub(crate) struct Items<'a> {
    of: Value<'a>,
    at: u32,
    end: u32,
}

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        if self.at >= self.end {
            return None;
        }
        let value = self.of.beside(self.at);
        self.at = value.node().next;
        Some(value)
    }
}

/// A string literal of an indexed line, with its quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Str<'a>(&'a str);

impl<'a> Str<'a> {
    /// With quotes and escapes.
    pub(crate) fn literal(&self) -> &'a str {
        self.0
    }

    /// Between the quotes, escapes as they are.
    fn inner(&self) -> &'a str {
        self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or_default()
    }

    /// The text itself.
    pub(crate) fn cow(&self) -> Cow<'a, str> {
        unescape(self.0)
    }

    /// Whether it is this text. Texts that are compared with have no characters that need escapes.
    #[inline]
    pub(crate) fn is(&self, text: &str) -> bool {
        // With escapes it is longer.
        match self.0.len().cmp(&(text.len() + 2)) {
            Ordering::Less => false,
            Ordering::Equal => self.inner() == text,
            Ordering::Greater => {
                // Most texts differ in their first byte, and then there is no need to look for escapes.
                let first = |it: &str| it.as_bytes().first().copied();
                (first(self.inner()) == first(text) || first(self.inner()) == Some(b'\\'))
                    && memchr::memchr(b'\\', self.0.as_bytes()).is_some()
                    && self.cow() == text
            }
        }
    }
}

/// The text that a valid literal stands for.
pub(crate) fn unescape(literal: &str) -> Cow<'_, str> {
    let inner = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
    let Some(first) = memchr::memchr(b'\\', inner.as_bytes()) else { return Cow::Borrowed(inner) };
    let mut text = String::with_capacity(inner.len());
    let (mut plain, mut rest) = inner.split_at(first);
    loop {
        text.push_str(plain);
        let Some((_, tail)) = rest.split_at_checked(1) else { return Cow::Owned(text) };
        rest = unescape_one(tail, &mut text);
        let end = memchr::memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        (plain, rest) = rest.split_at(end);
    }
}

/// Appends what an escape stands for, of which the backslash is gone. Gives what follows.
fn unescape_one<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let mut chars = rest.chars();
    match chars.next() {
        Some('b') => text.push('\u{8}'),
        Some('f') => text.push('\u{c}'),
        Some('n') => text.push('\n'),
        Some('r') => text.push('\r'),
        Some('t') => text.push('\t'),
        Some('u') => {
            let bytes = rest.as_bytes();
            let unit = hex(bytes, 1).unwrap_or(0xFFFD);
            let low = (bytes.get(5..7) == Some(b"\\u")).then(|| hex(bytes, 7).ok()).flatten();
            let (code, len) = match low {
                Some(low @ 0xDC00..0xE000) if (0xD800..0xDC00).contains(&unit) => {
                    (0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00), 11)
                }
                Some(_) | None => (unit, 5),
            };
            text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            return rest.get(len..).unwrap_or_default();
        }
        Some(other) => text.push(other),
        None => {}
    }
    chars.as_str()
}

/// Appends a text as a literal.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut from = 0;
    loop {
        let to = plain_until(bytes, from);
        out.extend_from_slice(bytes.get(from..to).unwrap_or_default());
        let Some(byte) = bytes.get(to) else { break };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            other => {
                let (high, low) = (HEX[usize::from(other >> 4)], HEX[usize::from(other & 15)]);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
        }
        from = to + 1;
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests;
