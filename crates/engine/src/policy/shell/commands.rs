//! Splits a command line into its commands, so that policy can decide about each.
//!
//! A shell grammar parses the line twice, as POSIX and as `bash`. The result only counts if both
//! give the same commands. Every command must begin with a literal word that all shells read in the
//! same way. Everything else is [`Commands::Opaque`]: here-documents, backticks, arithmetic,
//! assignments, functions, texts that are run as code. An opaque line costs a question; a wrong
//! result could run a command that nobody allowed. Nothing is run or looked up here.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast;
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};
use punchlist_sched::policy::{Commands, Words};

use super::program;
use super::word::{self, Word};

/// Maximum length of a command line that is parsed, in bytes.
const LONGEST: usize = 16 * 1024;

/// Maximum number of brackets and backticks, quoted or not. The grammar recurses for each.
const MOST_BRACKETS: usize = 100;

/// Maximum number of words and operators. The grammar backtracks.
const MOST_TOKENS: usize = 2_000;

/// Maximum number of parentheses, braces and blocks. Each may double the grammar's work.
const MOST_OPEN: usize = 16;

/// Maximum nesting of command lines.
const DEEPEST: u32 = 4;

/// The operators that every shell knows, except here-documents and `<>`.
const OPERATORS: &[&str] =
    &["\n", ";", "&", "|", "&&", "||", "(", ")", ";;", "<", ">", ">>", ">|", "<&", ">&"];

/// Words that open a block.
const OPENERS: &[&str] = &["{", "if", "elif", "else", "for", "while", "until", "case"];

/// The commands that a command line consists of.
pub fn commands(line: &str) -> Commands {
    if !is_bounded(line) || !line.chars().all(is_harmless) {
        return Commands::Opaque;
    }
    // The text may be hostile and the grammar is third-party code: if it panics, the line is
    // opaque.
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        let posix = Collector::collect(line, Dialect::Posix)?;
        let bash = Collector::collect(line, Dialect::Bash)?;
        (posix == bash).then_some(posix)
    }));
    match parsed {
        Ok(Some(all)) => Commands::All(all),
        Ok(None) | Err(_) => Commands::Opaque,
    }
}

/// Whether a line is small enough for the grammar, which might otherwise not terminate.
pub(super) fn is_bounded(line: &str) -> bool {
    let brackets = line.bytes().filter(|it| b"({`".contains(it)).count();
    line.len() <= LONGEST
        && brackets <= MOST_BRACKETS
        && !may_begin_a_here_document(line)
        && !may_force_a_redirection(line)
        && !may_expand_with_a_flag(line)
}

/// The commands of a line that runs in a directory below the root: relative paths are rewritten
/// relative to the root. If one leads out of the root, the line is opaque.
pub(super) fn below(commands: Commands, directory: &str) -> Commands {
    let Commands::All(all) = commands else { return commands };
    let moved = all.into_iter().map(|mut words| {
        if is_relative(&words) {
            let place = usize::from(words.is_write());
            if let Some(path) = words.known.get_mut(place) {
                *path = joined(directory, path)?;
            }
        }
        Some(words)
    });
    moved.collect::<Option<Vec<Words>>>().map_or(Commands::Opaque, Commands::All)
}

/// A path relative to the root, with `./` in front; `None` if it leads out of the root.
fn joined(directory: &str, path: &str) -> Option<String> {
    let mut steps: Vec<&str> = Vec::new();
    for step in directory.split('/').chain(path.split('/')) {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()?),
            step => steps.push(step),
        }
    }
    Some(format!("./{}", steps.join("/")))
}

/// Whether the line contains `>!`, quoted or not. zsh writes to the file that follows; other shells
/// write to a file whose name begins with `!`.
fn may_force_a_redirection(line: &str) -> bool {
    let line = line.replace("\\\n", "");
    line.contains(">!") || line.contains(">&!")
}

/// Whether the line contains a parameter with a flag of zsh, such as `$=name`, quoted or not. Other shells
/// leave the dollar sign as it is.
fn may_expand_with_a_flag(line: &str) -> bool {
    let line = line.replace("\\\n", "");
    ["$=", "$~", "$^", "$+"].iter().any(|it| line.contains(it))
}

/// Whether the line contains the start of a here-document, quoted or not. Such lines are opaque
/// anyway, and the grammar may not terminate: twenty characters once used up all memory.
fn may_begin_a_here_document(line: &str) -> bool {
    // Continued lines are joined first.
    line.replace("\\\n", "").contains("<<")
}

/// Whether a character is neither a control character nor one that is invisible, changes the text
/// direction or looks like another.
fn is_harmless(c: char) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => true,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' => false,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => false,
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' => false,
        _ => !c.is_control() && !c.is_whitespace(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dialect {
    Posix,
    Bash,
}

impl Dialect {
    fn options(self) -> ParserOptions {
        let posix = self == Self::Posix;
        ParserOptions {
            enable_extended_globbing: false,
            posix_mode: posix,
            sh_mode: posix,
            ..ParserOptions::default()
        }
    }
}

/// Collects the commands of one line. Every step returns `None` if the line is opaque.
struct Collector {
    dialect: Dialect,
    found: Vec<Words>,
    /// Whether the line changes the directory, so that relative paths are unknown.
    moved: bool,
    depth: u32,
}

impl Collector {
    fn collect(line: &str, dialect: Dialect) -> Option<Vec<Words>> {
        let mut collector = Self { dialect, found: Vec::new(), moved: false, depth: 0 };
        collector.line(line)?;
        if collector.moved && collector.found.iter().any(is_relative) {
            return None;
        }
        Some(collector.found)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        if self.depth > DEEPEST {
            return None;
        }
        let options = self.dialect.options();
        let tokens = uncached_tokenize_str(line, &options.tokenizer_options()).ok()?;
        if !are_plain(&tokens) {
            return None;
        }
        let program = parse_tokens(&tokens, &options).ok()?;
        self.depth += 1;
        program.complete_commands.iter().try_for_each(|it| self.list(it))?;
        self.depth -= 1;
        Some(())
    }

    fn list(&mut self, list: &ast::CompoundList) -> Option<()> {
        list.0.iter().try_for_each(|ast::CompoundListItem(chain, _)| {
            self.pipeline(&chain.first)?;
            chain.additional.iter().try_for_each(|link| match link {
                ast::AndOr::And(it) | ast::AndOr::Or(it) => self.pipeline(it),
            })
        })
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) -> Option<()> {
        if pipeline.seq.is_empty() {
            return None;
        }
        // In shells without this keyword, `time` is a program that runs a command.
        if pipeline.timed.is_some() {
            self.add(Words { known: vec!["time".to_owned()], more: true });
        }
        pipeline.seq.iter().try_for_each(|it| self.command(it))
    }

    fn command(&mut self, command: &ast::Command) -> Option<()> {
        match command {
            ast::Command::Simple(it) => self.simple(it),
            ast::Command::Compound(it, redirects) => {
                self.compound(it)?;
                redirects.iter().flat_map(|it| &it.0).try_for_each(|it| self.redirect(it))
            }
            // A function can have the name of any program.
            ast::Command::Function(_) | ast::Command::ExtendedTest(..) => None,
        }
    }

    fn compound(&mut self, command: &ast::CompoundCommand) -> Option<()> {
        match command {
            ast::CompoundCommand::BraceGroup(it) => self.list(&it.list),
            ast::CompoundCommand::Subshell(it) => self.list(&it.list),
            ast::CompoundCommand::ForClause(it) => {
                // No program reads a variable of one letter; a longer name might be `PATH`.
                let is_letter = matches!(it.variable_name.as_bytes(), [b'a'..=b'z']);
                it.values.iter().flatten().try_for_each(|it| self.word(it).map(drop))?;
                is_letter.then_some(())?;
                self.list(&it.body.list)
            }
            ast::CompoundCommand::CaseClause(it) => {
                self.word(&it.value)?;
                it.cases.iter().try_for_each(|case| {
                    case.patterns.iter().try_for_each(|it| self.word(it).map(drop))?;
                    case.cmd.iter().try_for_each(|it| self.list(it))
                })
            }
            ast::CompoundCommand::IfClause(it) => {
                self.list(&it.condition)?;
                self.list(&it.then)?;
                it.elses.iter().flatten().try_for_each(|part| {
                    part.condition.iter().try_for_each(|it| self.list(it))?;
                    self.list(&part.body)
                })
            }
            ast::CompoundCommand::WhileClause(it) | ast::CompoundCommand::UntilClause(it) => {
                self.list(&it.0)?;
                self.list(&it.1.list)
            }
            ast::CompoundCommand::Arithmetic(_)
            | ast::CompoundCommand::ArithmeticForClause(_)
            | ast::CompoundCommand::Coprocess(_) => None,
        }
    }

    fn simple(&mut self, command: &ast::SimpleCommand) -> Option<()> {
        let before = command.prefix.iter().flat_map(|it| &it.0);
        let after = command.suffix.iter().flat_map(|it| &it.0);
        let (mut words, mut redirects) = (Vec::new(), Vec::new());
        for item in before {
            match item {
                ast::CommandPrefixOrSuffixItem::IoRedirect(it) => redirects.push(it),
                // An assignment may change what the command does.
                ast::CommandPrefixOrSuffixItem::AssignmentWord(..)
                | ast::CommandPrefixOrSuffixItem::Word(_)
                | ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => return None,
            }
        }
        words.extend(command.word_or_name.as_ref());
        for item in after {
            match item {
                ast::CommandPrefixOrSuffixItem::IoRedirect(it) => redirects.push(it),
                // After a command's name, an assignment is an ordinary word.
                ast::CommandPrefixOrSuffixItem::Word(it)
                | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, it) => words.push(it),
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => return None,
            }
        }
        if words.is_empty() && redirects.is_empty() {
            return None;
        }
        if !words.is_empty() {
            self.words(&words)?;
        }
        redirects.iter().try_for_each(|it| self.redirect(it))
    }

    fn words(&mut self, words: &[&ast::Word]) -> Option<()> {
        let mut literal = Words::default();
        for raw in words {
            match self.word(raw)? {
                Word::Known(text) if !literal.more => literal.known.push(text),
                Word::Known(_) => {}
                Word::Unknown => literal.more = true,
            }
        }
        for command in program::commands(literal)? {
            let name = command.known.first().map_or("", |it| it.rsplit('/').next().unwrap_or(it));
            self.moved |= ["cd", "chdir", "pushd", "popd"].contains(&name);
            self.add(command);
        }
        Some(())
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect) -> Option<()> {
        use ast::IoFileRedirectKind as Kind;
        use ast::IoFileRedirectTarget as Target;
        let ast::IoRedirect::File(_, kind, target) = redirect else { return None };
        match (kind, target) {
            (Kind::DuplicateInput | Kind::DuplicateOutput, Target::Fd(0..=9)) => Some(()),
            (Kind::DuplicateInput | Kind::DuplicateOutput, Target::Duplicate(it)) => {
                let plain = it.value == "-" || matches!(it.value.as_bytes(), [b'0'..=b'9']);
                plain.then_some(())
            }
            (Kind::Read, Target::Filename(it)) => match self.word(it)? {
                // Some shells open network connections for paths below `/dev`.
                Word::Known(path) => (path == "/dev/null" || !path.contains("/dev")).then_some(()),
                Word::Unknown => None,
            },
            (Kind::Write | Kind::Append | Kind::Clobber, Target::Filename(it)) => {
                match self.word(it)? {
                    Word::Known(path) if path == "/dev/null" => {}
                    Word::Known(path) => self.add(Words::write(Some(path))),
                    Word::Unknown => self.add(Words::write(None)),
                }
                Some(())
            }
            (Kind::ReadAndWrite, _)
            | (_, Target::ProcessSubstitution(..) | Target::Fd(_) | Target::Duplicate(_))
            | (Kind::DuplicateInput | Kind::DuplicateOutput, Target::Filename(_)) => None,
        }
    }

    /// Reads a word and the command lines in it.
    fn word(&mut self, word: &ast::Word) -> Option<Word> {
        let reading = word::read(&word.value)?;
        reading.substituted.iter().try_for_each(|it| self.line(it))?;
        Some(reading.word)
    }

    fn add(&mut self, words: Words) {
        if !self.found.contains(&words) {
            self.found.push(words);
        }
    }
}

/// Whether this is a program or file with a relative path, which a change of directory affects.
fn is_relative(words: &Words) -> bool {
    let relative = |it: &String| !it.starts_with('/');
    if words.is_write() {
        return words.known.get(1).is_none_or(relative);
    }
    words.known.first().is_some_and(|it| it.contains('/') && relative(it))
}

/// Whether there are few enough tokens for the grammar.
pub(super) fn are_few(tokens: &[Token]) -> bool {
    let opens = |token: &&Token| match token {
        Token::Operator(it, _) => it.contains('('),
        Token::Word(it, _) => OPENERS.contains(&it.as_str()),
    };
    tokens.len() <= MOST_TOKENS && tokens.iter().filter(opens).count() <= MOST_OPEN
}

/// Whether a line uses only operators that every shell knows, and few enough tokens.
fn are_plain(tokens: &[Token]) -> bool {
    let is_known = |token: &Token| match token {
        Token::Operator(it, _) => OPERATORS.contains(&it.as_str()),
        Token::Word(..) => true,
    };
    if !tokens.iter().all(is_known) {
        return false;
    }
    let is_number = |token: &Token| {
        let Token::Word(it, _) = token else { return false };
        it.len() > 1 && it.bytes().all(|it| it.is_ascii_digit())
    };
    let redirects =
        |token: &Token| matches!(token, Token::Operator(it, _) if it.starts_with(['<', '>']));
    // Shells differ in how they read descriptors of several digits.
    let odd =
        tokens.windows(2).any(|it| matches!(it, [one, two] if is_number(one) && redirects(two)));
    are_few(tokens) && !odd
}
