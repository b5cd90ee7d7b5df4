//! Reads one word of a command line: its exact text, or that the text is only known at run time.
//!
//! This is strict on purpose. The grammar says where a word begins and ends. Its meaning is read
//! here, and only if every shell that may be called `sh` agrees. Everything else is `None`: opaque.

use std::iter::Peekable;
use std::str::Chars;

/// A word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// This text, always as exactly one word.
    Known(String),
    /// A text that is only known at run time: no word, one, or several.
    Unknown,
}

/// The result of reading a word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reading {
    /// The word.
    pub(super) word: Word,
    /// The command lines in `$(…)` that the shell runs to expand the word.
    pub(super) substituted: Vec<String>,
}

/// Reads a word of a command line; `None` if shells may read it differently.
pub(super) fn read(raw: &str) -> Option<Reading> {
    // These two words look like patterns but are not.
    if raw == "[" || raw == "{}" {
        return Some(Reading { word: Word::Known(raw.to_owned()), substituted: Vec::new() });
    }
    let mut reader = Reader {
        rest: raw.chars().peekable(),
        text: String::new(),
        unknown: false,
        substituted: Vec::new(),
    };
    // A comment, or in some shells a descriptor that is put into a variable.
    if raw.starts_with(['#', '{']) {
        return None;
    }
    reader.plain()?;
    let word = if reader.unknown { Word::Unknown } else { Word::Known(reader.text) };
    Some(Reading { word, substituted: reader.substituted })
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    text: String,
    unknown: bool,
    substituted: Vec<String>,
}

impl Reader<'_> {
    fn plain(&mut self) -> Option<()> {
        while let Some(c) = self.rest.next() {
            match c {
                '\'' => self.single()?,
                '"' => self.double()?,
                // A continued line within a word is not supported.
                '\\' => match self.rest.next() {
                    Some('\n') | None => return None,
                    Some(c) if c.is_ascii() => self.text.push(c),
                    Some(_) => return None,
                },
                '$' => self.dollar(false)?,
                // Patterns, home directories, and brace lists, which only some shells know.
                '*' | '?' | '[' | '~' | '{' | '}' => self.unknown = true,
                // Characters that end a word cannot be in one; backticks are not supported.
                '`' | '(' | ')' | '<' | '>' | '|' | '&' | ';' | ' ' | '\t' | '\n' => return None,
                // Some shells take bytes of non-ASCII letters for blanks.
                _ if !c.is_ascii() => return None,
                _ => self.text.push(c),
            }
        }
        Some(())
    }

    fn single(&mut self) -> Option<()> {
        loop {
            match self.rest.next()? {
                '\'' => return Some(()),
                c => self.text.push(c),
            }
        }
    }

    fn double(&mut self) -> Option<()> {
        loop {
            match self.rest.next()? {
                '"' => return Some(()),
                '`' => return None,
                '$' => self.dollar(true)?,
                '\\' => match self.rest.next()? {
                    c @ ('$' | '`' | '"' | '\\') => self.text.push(c),
                    '\n' => return None,
                    c => self.text.extend(['\\', c]),
                },
                c => self.text.push(c),
            }
        }
    }

    /// Reads what follows a dollar sign: a parameter's name or a command. Everything that evaluates
    /// or assigns is opaque.
    fn dollar(&mut self, quoted: bool) -> Option<()> {
        match self.rest.peek().copied() {
            Some('A'..='Z' | 'a'..='z' | '_') => {
                while self.rest.next_if(|c| is_of_name(*c)).is_some() {}
            }
            Some('0'..='9' | '?' | '#' | '@' | '*' | '$' | '!' | '-') => {
                self.rest.next();
            }
            Some('{') => {
                self.rest.next();
                let first = self.rest.next()?;
                match first {
                    'A'..='Z' | 'a'..='z' | '_' => {
                        while self.rest.next_if(|c| is_of_name(*c)).is_some() {}
                    }
                    '0'..='9' => {}
                    _ => return None,
                }
                if self.rest.next()? != '}' {
                    return None;
                }
            }
            Some('(') => {
                self.rest.next();
                let inner = self.substitution()?;
                self.substituted.push(inner);
            }
            // A quotation or arithmetic that only some shells know. Otherwise the dollar sign is
            // literal.
            Some('\'' | '[') => return None,
            Some('"') if !quoted => return None,
            Some(_) | None => {
                self.text.push('$');
                return Some(());
            }
        }
        self.unknown = true;
        Some(())
    }

    /// Reads a command line up to its closing parenthesis. Anything that makes the end hard to find
    /// is opaque.
    fn substitution(&mut self) -> Option<String> {
        let mut inner = String::new();
        let mut open = 1_u32;
        if self.rest.peek() == Some(&'(') {
            return None;
        }
        loop {
            let c = self.rest.next()?;
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                '\'' => {
                    inner.push(c);
                    loop {
                        let c = self.rest.next()?;
                        inner.push(c);
                        if c == '\'' {
                            break;
                        }
                    }
                    continue;
                }
                '"' => {
                    inner.push(c);
                    loop {
                        let c = self.rest.next()?;
                        inner.push(c);
                        match c {
                            '"' => break,
                            // A quotation within a command within a quotation is not supported.
                            '$' | '`' | '\\' => return None,
                            _ => {}
                        }
                    }
                    continue;
                }
                '`' | '\\' | '#' => return None,
                _ => {}
            }
            if open == 0 {
                return Some(inner);
            }
            inner.push(c);
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
