//! Separates code, comments and string literals of Rust files.
//!
//! A word in a comment does not violate a rule about code, and the reverse. This is no parser: it
//! knows only literals, comments and matching braces.

/// A Rust file, separated. Line numbers start at 1.
pub(super) struct Source {
    /// Only the code: comments and the content of literals are blanks, line breaks stay.
    pub(super) code: String,
    /// The same without the items under `#[cfg(test)]`.
    pub(super) code_without_tests: String,
    /// The string literals outside `#[cfg(test)]`, with the lines on which they begin.
    pub(super) strings: Vec<(usize, String)>,
    /// The comments, with the lines on which they begin.
    pub(super) comments: Vec<(usize, String)>,
    /// The number of lines without tests.
    pub(super) lines_without_tests: usize,
}

const TEST_MARK: &str = "#[cfg(test)]";

impl Source {
    pub(super) fn read(text: &str) -> Self {
        let mut lexer = Lexer::new(text);
        lexer.run();
        let Lexer { code, strings, comments, .. } = lexer;
        let tests = test_ranges(&code);
        let line_of = |at: usize| code[..at].matches('\n').count() + 1;
        let test_lines: Vec<(usize, usize)> =
            tests.iter().map(|(from, to)| (line_of(*from), line_of(*to))).collect();
        let mut code_without_tests = code.clone();
        for (from, to) in tests.iter().rev() {
            let blank: String =
                code[*from..*to].chars().map(|it| if it == '\n' { '\n' } else { ' ' }).collect();
            code_without_tests.replace_range(*from..*to, &blank);
        }
        let is_test =
            |line: usize| test_lines.iter().any(|(from, to)| (*from..=*to).contains(&line));
        Self {
            strings: strings.into_iter().filter(|(line, _)| !is_test(*line)).collect(),
            lines_without_tests: text.lines().count()
                - test_lines.iter().map(|(from, to)| to - from + 1).sum::<usize>(),
            code,
            code_without_tests,
            comments,
        }
    }

    /// The modules that are declared under `#[cfg(test)]` and have their own files.
    pub(super) fn test_modules(&self) -> Vec<String> {
        test_ranges(&self.code)
            .iter()
            .filter_map(|(from, to)| {
                let item = self.code[*from..*to].trim_start_matches(TEST_MARK).trim();
                let name = item.trim_start_matches("pub(crate)").trim().strip_prefix("mod ")?;
                Some(name.strip_suffix(';')?.trim().to_owned())
            })
            .collect()
    }

    /// The lines of code outside tests that contain a word or words, as words.
    pub(super) fn lines_with(&self, words: &str) -> Vec<usize> {
        lines_with(&self.code_without_tests, words)
    }

    /// The modules of the standard library that the code outside tests names: `fs` for `std::fs`,
    /// also in `use std::{env, fs}`.
    pub(super) fn std_modules(&self) -> Vec<(usize, String)> {
        let code = &self.code_without_tests;
        let mut found = Vec::new();
        for (at, prefix) in code.match_indices("std::") {
            let line = code[..at].matches('\n').count() + 1;
            let rest = &code[at + prefix.len()..];
            match rest.strip_prefix('{') {
                None => found.push((line, first_word(rest))),
                Some(list) => {
                    let mut depth = 0_usize;
                    let mut starts = vec![0];
                    for (at, character) in list.char_indices() {
                        match character {
                            '{' => depth += 1,
                            '}' if depth == 0 => break,
                            '}' => depth -= 1,
                            ',' if depth == 0 => starts.push(at + 1),
                            _ => {}
                        }
                    }
                    found.extend(starts.iter().map(|at| (line, first_word(&list[*at..]))));
                }
            }
        }
        found
    }
}

/// The lines of a text that contain a word or words, as words: `fs` is not in `offset`.
pub(super) fn lines_with(text: &str, words: &str) -> Vec<usize> {
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    let (opens, closes) = (words.starts_with(is_word), words.ends_with(is_word));
    text.match_indices(words)
        .filter(|(at, _)| !(opens && text[..*at].ends_with(is_word)))
        .filter(|(at, _)| !(closes && text[at + words.len()..].starts_with(is_word)))
        .map(|(at, _)| text[..at].matches('\n').count() + 1)
        .collect()
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect()
}

/// From each `#[cfg(test)]` to the end of its item, as byte offsets into the blanked code.
fn test_ranges(code: &str) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (from, _) in code.match_indices(TEST_MARK) {
        if ranges.last().is_some_and(|(_, end)| from < *end) {
            continue;
        }
        let mut depth = 0_usize;
        let end = code[from..].char_indices().find_map(|(at, character)| {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            let is_end = depth == 0 && matches!(character, '}' | ';');
            is_end.then_some(from + at + 1)
        });
        ranges.push((from, end.unwrap_or(code.len())));
    }
    ranges
}

struct Lexer {
    rest: Vec<char>,
    at: usize,
    line: usize,
    code: String,
    strings: Vec<(usize, String)>,
    comments: Vec<(usize, String)>,
}

impl Lexer {
    fn new(text: &str) -> Self {
        Self {
            rest: text.chars().collect(),
            at: 0,
            line: 1,
            code: String::new(),
            strings: Vec::new(),
            comments: Vec::new(),
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    /// Copies a character as code.
    fn keep(&mut self) {
        if let Some(character) = self.peek(0) {
            self.code.push(character);
            self.line += usize::from(character == '\n');
            self.at += 1;
        }
    }

    /// Replaces a character by a blank; line breaks are kept.
    fn blank(&mut self, into: &mut String) {
        if let Some(character) = self.peek(0) {
            into.push(character);
            self.code.push(if character == '\n' { '\n' } else { ' ' });
            self.line += usize::from(character == '\n');
            self.at += 1;
        }
    }

    fn run(&mut self) {
        while let Some(character) = self.peek(0) {
            match character {
                '/' if self.peek(1) == Some('/') => self.line_comment(),
                '/' if self.peek(1) == Some('*') => self.block_comment(),
                '"' => self.string(),
                '\'' => self.quote(),
                _ if character.is_alphabetic() || character == '_' => self.word(),
                _ => self.keep(),
            }
        }
    }

    fn line_comment(&mut self) {
        let (line, mut text) = (self.line, String::new());
        while self.peek(0).is_some_and(|it| it != '\n') {
            self.blank(&mut text);
        }
        self.comments.push((line, text));
    }

    fn block_comment(&mut self) {
        let (line, mut text, mut depth) = (self.line, String::new(), 0_usize);
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => depth += 1,
                (Some('*'), Some('/')) => depth -= 1,
                (Some(_), _) => {
                    self.blank(&mut text);
                    continue;
                }
                (None, _) => break,
            }
            self.blank(&mut text);
            self.blank(&mut text);
            if depth == 0 {
                break;
            }
        }
        self.comments.push((line, text));
    }

    fn string(&mut self) {
        let (line, mut text) = (self.line, String::new());
        self.keep();
        while let Some(character) = self.peek(0) {
            match character {
                '"' => break,
                '\\' => {
                    self.blank(&mut text);
                    self.blank(&mut text);
                }
                _ => self.blank(&mut text),
            }
        }
        self.keep();
        self.strings.push((line, text));
    }

    fn raw_string(&mut self, hashes: usize) {
        let (line, mut text) = (self.line, String::new());
        (0..=hashes).for_each(|_| self.keep());
        let closes = |lexer: &Self| {
            lexer.peek(0) == Some('"') && (1..=hashes).all(|n| lexer.peek(n) == Some('#'))
        };
        while self.peek(0).is_some() && !closes(self) {
            self.blank(&mut text);
        }
        (0..=hashes).for_each(|_| self.keep());
        self.strings.push((line, text));
    }

    /// A character literal, or a lifetime.
    fn quote(&mut self) {
        let mut text = String::new();
        let is_escape = self.peek(1) == Some('\\');
        if !is_escape && self.peek(2) != Some('\'') {
            return self.keep();
        }
        self.keep();
        if is_escape {
            self.blank(&mut text);
        }
        self.blank(&mut text);
        while self.peek(0).is_some_and(|it| it != '\'') {
            self.blank(&mut text);
        }
        self.keep();
    }

    /// A name or number, or the prefix of a literal.
    fn word(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(|it| it.is_alphanumeric() || it == '_') {
            self.keep();
        }
        let word: String = self.rest[start..self.at].iter().collect();
        if matches!(word.as_str(), "r" | "br" | "cr") {
            let hashes = (0..).take_while(|n| self.peek(*n) == Some('#')).count();
            if self.peek(hashes) == Some('"') {
                self.raw_string(hashes);
            }
        }
    }
}

#[track_caller]
fn check(text: &str, code: &str, strings: &[&str], comments: &[&str]) {
    let source = Source::read(text);
    assert_eq!(source.code, code);
    let texts = |list: &[(usize, String)]| list.iter().map(|it| it.1.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&source.strings), strings);
    assert_eq!(texts(&source.comments), comments);
}

#[test]
fn code_comments_and_strings_are_told_apart() {
    check("a(\"b\") // c", "a(\" \")     ", &["b"], &["// c"]);
    check("/* a /* b */ c */d", "                 d", &[], &["/* a /* b */ c */"]);
    check("\"a\\\"b\" c", "\"    \" c", &["a\\\"b"], &[]);
    check("r#\"a\"b\"# c", "r#\"   \"# c", &["a\"b"], &[]);
    check("br\"a\\\" b\"c\" d", "br\"  \" b\" \" d", &["a\\", "c"], &[]);
    check("'\"' '\\'' 'a b'c \"d\"", "' ' '  ' 'a b'c \" \"", &["d"], &[]);
    check("r#type for \"// a\"", "r#type for \"    \"", &["// a"], &[]);
    check("\"never closed", "\"            ", &["never closed"], &[]);
}

#[test]
fn what_is_under_cfg_test_is_not_code() {
    let text =
        "fn a() {}\n#[cfg(test)]\nmod b;\n#[cfg(test)]\nmod c {\n  \"d\" }\nfn e() { \"f\" }\n";
    let source = Source::read(text);
    assert_eq!(source.test_modules(), ["b"]);
    assert_eq!(source.lines_without_tests, 2);
    assert_eq!(source.strings, [(7, "f".to_owned())]);
    assert_eq!(source.lines_with("mod"), [0_usize; 0]);
    assert_eq!(source.lines_with("fn"), [1, 7]);
}

#[test]
fn a_word_is_found_only_as_a_word() {
    let source = Source::read("offset fs\nfs::x dfs\n_fs");
    assert_eq!(source.lines_with("fs"), [1, 2]);
    assert_eq!(Source::read("x.unwrap() x.unwrap_or(1)").lines_with(".unwrap()"), [1]);
}

#[test]
fn modules_of_the_standard_library_are_found_in_lists_too() {
    let source = Source::read("use std::fs;\nuse std::{env, fmt::{self, Display}, net};\n");
    let found: Vec<_> = source.std_modules().into_iter().map(|it| it.1).collect();
    assert_eq!(found, ["fs", "env", "fmt", "net"]);
}
