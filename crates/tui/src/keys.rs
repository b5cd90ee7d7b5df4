//! Decodes keys from the bytes that a terminal sends.
//!
//! An escape sequence may arrive in two reads, and a paste in many; incomplete bytes are kept for
//! the next read. Pasted text is its own kind of key, so that it is never taken for a command.

/// A key, or a pasted text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Key {
    /// A character.
    Char(char),
    /// A letter with Ctrl, in lower case.
    Ctrl(char),
    /// A letter with Alt.
    Alt(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
    /// Backspace.
    Backspace,
    /// Backspace with Alt.
    WordBackspace,
    /// Delete.
    Delete,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Arrow left with Alt or Ctrl.
    WordLeft,
    /// Arrow right with Alt or Ctrl.
    WordRight,
    /// Home.
    Home,
    /// End.
    End,
    /// A pasted text.
    Paste(String),
    /// Anything else.
    Other,
    /// Enter with Alt.
    AltEnter,
    /// Tab with Shift.
    BackTab,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key, from 1.
    Function(u8),
    /// Arrow up with Alt.
    AltUp,
    /// Arrow down with Alt.
    AltDown,
    /// The terminal window has the focus.
    FocusIn,
    /// The terminal window has lost the focus.
    FocusOut,
    /// Enter with Shift, from terminals that tell it from Enter.
    ShiftEnter,
    /// Ctrl-_, which undoes a change to a text.
    Undo,
    /// No key: the terminal has said of which kind it is, as the number of its secondary attributes.
    Terminal(u16),
}

/// Maximum length of a paste; the rest is dropped. Whoever takes a paste of this length knows that it may
/// be cut.
pub(crate) const LONGEST_PASTE: usize = 1024 * 1024;
/// The longest sequence that any terminal sends.
const LONGEST: usize = 32;
const PASTE_BEGINS: &[u8] = b"200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Decodes bytes to keys.
#[derive(Default)]
pub(crate) struct Decoder {
    /// Bytes of an incomplete key.
    held: Vec<u8>,
    /// The paste so far, while one is under way.
    pasted: Option<Vec<u8>>,
}

impl Decoder {
    /// Adds bytes, and returns the keys that are now complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        let mut keys = Vec::new();
        while !rest.is_empty() {
            if let Some(pasted) = &mut self.pasted {
                let end = rest.windows(PASTE_ENDS.len()).position(|it| it == PASTE_ENDS);
                // The end marker itself may be split over two reads.
                let cut = (1..PASTE_ENDS.len()).rev().find(|it| rest.ends_with(&PASTE_ENDS[..*it]));
                let upto = end.unwrap_or(rest.len() - cut.unwrap_or(0));
                let room = LONGEST_PASTE.saturating_sub(pasted.len()).min(upto);
                pasted.extend_from_slice(&rest[..room]);
                rest = &rest[upto..];
                if end.is_none() {
                    break;
                }
                rest = &rest[PASTE_ENDS.len()..];
                let pasted = self.pasted.take().unwrap_or_default();
                keys.push(Key::Paste(String::from_utf8_lossy(&pasted).into_owned()));
                continue;
            }
            let Some((key, length)) = first(rest) else {
                // Longer than any real sequence: drop it.
                if rest.len() > LONGEST {
                    rest = &[];
                }
                break;
            };
            rest = &rest[length..];
            match key {
                Some(key) => keys.push(key),
                None => self.pasted = Some(Vec::new()),
            }
        }
        self.held = rest.to_vec();
        keys
    }
}

/// The first key and its number of bytes; no key if a paste begins. `None` if more bytes are
/// needed.
fn first(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let one = |key: Key| Some((Some(key), 1));
    match bytes {
        // A single escape byte is the Escape key: a terminal sends a sequence in one piece.
        [0x1b] => one(Key::Escape),
        [0x1b, 0x1b, ..] => one(Key::Escape),
        [0x1b, b'[', rest @ ..] => {
            let end = rest.iter().position(|it| (0x40..0x7f).contains(it))?;
            let sequence = rest.get(..=end)?;
            let key = (sequence != PASTE_BEGINS).then(|| named(sequence));
            Some((key, end + 3))
        }
        [0x1b, b'O', letter, ..] => Some((Some(named(&[*letter])), 3)),
        [0x1b, b'O'] => None,
        [0x1b, b'\r' | b'\n', ..] => Some((Some(Key::AltEnter), 2)),
        [0x1b, 0x7f | 0x08, ..] => Some((Some(Key::WordBackspace), 2)),
        [0x1b, letter @ b' '..=b'~', ..] => Some((Some(Key::Alt(char::from(*letter))), 2)),
        [0x1b, ..] => one(Key::Escape),
        [b'\r' | b'\n', ..] => one(Key::Enter),
        [b'\t', ..] => one(Key::Tab),
        [0x7f | 0x08, ..] => one(Key::Backspace),
        [0, ..] => one(Key::Other),
        [letter @ 0x01..=0x1a, ..] => one(Key::Ctrl(char::from(b'a' + letter - 1))),
        [0x1f, ..] => one(Key::Undo),
        [0x1c..=0x1e, ..] => one(Key::Other),
        [first, ..] => {
            let length = match first {
                0x20..=0x7e => 1,
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => return one(Key::Other),
            };
            let is_open = bytes.len() < length;
            if is_open && bytes.iter().skip(1).all(|it| it & 0xc0 == 0x80) {
                return None;
            }
            let text = bytes.get(..length).and_then(|it| std::str::from_utf8(it).ok());
            match text.and_then(|it| it.chars().next()) {
                Some(c) => Some((Some(Key::Char(c)), length)),
                None => one(Key::Other),
            }
        }
        [] => None,
    }
}

/// The key of an escape sequence without its introducer: `D`, `1;5C`, `3~`.
fn named(sequence: &[u8]) -> Key {
    let text = std::str::from_utf8(sequence).unwrap_or_default();
    let (parameters, letter) = text.split_at(text.len().saturating_sub(1));
    let mut parameters = parameters.split(';');
    let number = parameters.next().unwrap_or_default();
    // Shift alone is ignored; Alt and Ctrl move by words.
    let modifier = parameters.next().unwrap_or_default();
    let by_word = matches!(modifier, "3" | "4" | "5" | "6" | "7");
    // Two ways in which terminals report Enter with a modifier: `13;2u` and `27;2;13~`.
    if matches!((letter, number, parameters.next()), ("u", "13", None) | ("~", "27", Some("13"))) {
        return match modifier {
            "2" => Key::ShiftEnter,
            "3" | "4" => Key::AltEnter,
            _ => Key::Enter,
        };
    }
    if let ("c", Some(kind)) = (letter, number.strip_prefix('>')) {
        return kind.parse().map_or(Key::Other, Key::Terminal);
    }
    match (letter, number, by_word) {
        ("A", _, false) => Key::Up,
        ("A", _, true) => Key::AltUp,
        ("B", _, false) => Key::Down,
        ("B", _, true) => Key::AltDown,
        ("C", _, false) => Key::Right,
        ("C", _, true) => Key::WordRight,
        ("D", _, false) => Key::Left,
        ("D", _, true) => Key::WordLeft,
        ("H", _, _) | ("~", "1" | "7", _) => Key::Home,
        ("F", _, _) | ("~", "4" | "8", _) => Key::End,
        ("~", "3", false) => Key::Delete,
        ("~", "3", true) => Key::Alt('d'),
        ("~", "5", _) => Key::PageUp,
        ("~", "6", _) => Key::PageDown,
        ("Z", _, _) => Key::BackTab,
        ("I", "", _) => Key::FocusIn,
        ("O", "", _) => Key::FocusOut,
        ("P", _, _) => Key::Function(1),
        ("Q", _, _) => Key::Function(2),
        ("R", _, _) => Key::Function(3),
        ("S", _, _) => Key::Function(4),
        ("~", number, _) => function(number).map_or(Key::Other, Key::Function),
        _ => Key::Other,
    }
}

/// The function key of a number in a sequence such as `15~`.
fn function(number: &str) -> Option<u8> {
    // The numbers have gaps: 16 and 22 are no keys.
    const NUMBERS: [&str; 12] =
        ["11", "12", "13", "14", "15", "17", "18", "19", "20", "21", "23", "24"];
    let at = NUMBERS.iter().position(|it| *it == number)?;
    u8::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(reads: &[&str]) -> Vec<Key> {
        let mut decoder = Decoder::default();
        reads.iter().flat_map(|it| decoder.push(it.as_bytes())).collect()
    }

    #[test]
    fn what_comes_at_once_is_several_keys() {
        use Key::*;
        for (bytes, expected) in [
            ("", vec![]),
            ("y", vec![Char('y')]),
            ("rno\r", vec![Char('r'), Char('n'), Char('o'), Enter]),
            ("é€x", vec![Char('é'), Char('€'), Char('x')]),
            ("\u{1b}", vec![Escape]),
            (
                "\u{1b}[D\u{1b}[1~\u{1b}[3~y\u{1b}OPn",
                vec![Left, Home, Delete, Char('y'), Function(1), Char('n')],
            ),
            ("\u{1b}[A\u{1b}OBjk", vec![Up, Down, Char('j'), Char('k')]),
            ("\u{1b}[1;5C\u{1b}[1;3D\u{1b}[H\u{1b}OF", vec![WordRight, WordLeft, Home, End]),
            ("\u{1}\u{5}\u{15}\u{b}\u{17}", ['a', 'e', 'u', 'k', 'w'].map(Ctrl).to_vec()),
            ("\u{1b}b\u{1b}\u{7f}\u{7f}", vec![Alt('b'), WordBackspace, Backspace]),
            ("\u{1b}\r\u{1b}[Z\u{1b}[5~\u{1b}[6~", vec![AltEnter, BackTab, PageUp, PageDown]),
            ("\u{1b}[15~\u{1b}[24~\u{1b}[16~", vec![Function(5), Function(12), Other]),
            ("\u{1b}[1;3A\u{1b}[1;5B", vec![AltUp, AltDown]),
            ("\u{1b}[I\u{1b}[O", vec![FocusIn, FocusOut]),
            (
                "\u{1b}[13;2u\u{1b}[27;2;13~\u{1b}[13;3u\u{1f}",
                vec![ShiftEnter, ShiftEnter, AltEnter, Undo],
            ),
        ] {
            assert_eq!(keys(&[bytes]), expected, "{bytes:?}");
        }
        assert_eq!(Decoder::default().push(b"\xff\x80y"), [Other, Other, Char('y')]);
    }

    #[test]
    fn a_key_that_comes_in_two_reads_is_one_key() {
        assert_eq!(keys(&["\u{1b}[1", ";5C"]), [Key::WordRight]);
        assert_eq!(keys(&["\u{1b}[", "D"]), [Key::Left]);
        let mut decoder = Decoder::default();
        let euro = "€".as_bytes();
        assert_eq!(decoder.push(&euro[..1]), []);
        assert_eq!(decoder.push(&euro[1..]), [Key::Char('€')]);
    }

    #[test]
    fn what_is_pasted_is_one_piece_however_it_comes() {
        let pasted = |text: &str| vec![Key::Paste(text.to_owned()), Key::Char('x')];
        assert_eq!(keys(&["\u{1b}[200~make\nall\u{1b}[201~x"]), pasted("make\nall"));
        assert_eq!(keys(&["\u{1b}[200", "~ma", "ke\u{1b}[20", "1~x"]), pasted("make"));
        let long = "y".repeat(LONGEST_PASTE * 2);
        let keys = keys(&["\u{1b}[200~", &long, "\u{1b}[201~x"]);
        assert!(matches!(&keys[..], [Key::Paste(it), Key::Char('x')] if it.len() == LONGEST_PASTE));
    }
}
