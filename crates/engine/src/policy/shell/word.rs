//! One word of a command line: the text that it surely is, or that it only shows when it runs.
//!
//! Strict on purpose. The grammar says where a word begins and ends; what it means is read here, and
//! only where every shell that may be called `sh` agrees. Everything else is `None`: nobody can tell.

use std::iter::Peekable;
use std::str::Chars;

/// What a word is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// This text, and always exactly one word.
    Known(String),
    /// Text that only shows when it runs: no word, one or many.
    Unknown,
}

/// What was read of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reading {
    /// What it is.
    pub(super) word: Word,
    /// The command lines that the shell runs to find out, each within `$(…)`.
    pub(super) substituted: Vec<String>,
}

/// Reads a word as it stands in the command line; `None` if nobody can tell what a shell makes of it.
pub(super) fn read(raw: &str) -> Option<Reading> {
    // The two words that look like patterns and are none.
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
                // A line that goes on within a word is more trouble than it is worth.
                '\\' => match self.rest.next() {
                    Some('\n') | None => return None,
                    Some(c) if c.is_ascii() => self.text.push(c),
                    Some(_) => return None,
                },
                '$' => self.dollar(false)?,
                // Patterns, home directories, and lists in braces, which only some shells know.
                '*' | '?' | '[' | '~' | '{' | '}' => self.unknown = true,
                // What ends a word cannot be within one; what quotes differently each time is not read.
                '`' | '(' | ')' | '<' | '>' | '|' | '&' | ';' | ' ' | '\t' | '\n' => return None,
                // Some shells take bytes of other letters for blanks.
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

    /// What follows a dollar: a parameter by its bare name, or a command. Nothing that computes or
    /// assigns.
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
            // A quotation that only some shells know, arithmetic, and what stands at the end of a
            // pattern or a price.
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

    /// The command line up to the parenthesis that ends it. What makes that end hard to find is not
    /// looked for.
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
                            // A quotation in a command in a quotation in a command.
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
