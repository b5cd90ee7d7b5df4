//! Finds commands that may hide in a command line, for rules that ask or deny.
//!
//! A rule that denies `git push` also means `git -C x push` and `env nice git push`. Commands found
//! here allow nothing; they only show a rule that asks or denies what it is about. So the line is
//! read generously, and what is unknown is skipped.

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::{ParserOptions, ast, parse_tokens, uncached_tokenize_str};
use punchlist_sched::policy::Words;

use super::word::{self, Word};
use super::wrappers::{before_the_command, behind_options, wrapper};
use super::{commands, program};

/// Maximum nesting of command lines and wrappers.
const DEEPEST: u32 = 12;
/// Maximum number of commands.
const MOST: usize = 200;

/// The commands that a line may run, besides or inside those that it names.
pub(super) fn hidden(line: &str) -> Vec<Words> {
    // The text may be hostile and the grammar is third-party code.
    let found = catch_unwind(AssertUnwindSafe(|| {
        let mut seeker = Seeker { found: Vec::new(), depth: 0 };
        seeker.line(line);
        seeker.found
    }));
    found.unwrap_or_default()
}

struct Seeker {
    found: Vec<Words>,
    depth: u32,
}

impl Seeker {
    fn line(&mut self, line: &str) {
        if self.depth >= DEEPEST || !commands::is_bounded(line) {
            return;
        }
        let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
        let Ok(tokens) = uncached_tokenize_str(line, &options.tokenizer_options()) else { return };
        if !commands::are_few(&tokens) {
            return;
        }
        let Ok(program) = parse_tokens(&tokens, &options) else { return };
        self.depth += 1;
        program.complete_commands.iter().for_each(|it| self.list(it));
        self.depth -= 1;
    }

    fn list(&mut self, list: &ast::CompoundList) {
        for ast::CompoundListItem(chain, _) in &list.0 {
            self.pipeline(&chain.first);
            for link in &chain.additional {
                match link {
                    ast::AndOr::And(it) | ast::AndOr::Or(it) => self.pipeline(it),
                }
            }
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) {
        pipeline.seq.iter().for_each(|it| self.command(it));
    }

    fn command(&mut self, command: &ast::Command) {
        match command {
            ast::Command::Simple(it) => self.simple(it),
            ast::Command::Compound(it, _) => self.compound(it),
            ast::Command::Function(it) => self.compound(&it.body.0),
            ast::Command::ExtendedTest(..) => {}
        }
    }

    fn compound(&mut self, command: &ast::CompoundCommand) {
        match command {
            ast::CompoundCommand::BraceGroup(it) => self.list(&it.list),
            ast::CompoundCommand::Subshell(it) => self.list(&it.list),
            ast::CompoundCommand::ForClause(it) => self.list(&it.body.list),
            ast::CompoundCommand::CaseClause(it) => {
                it.cases.iter().filter_map(|it| it.cmd.as_ref()).for_each(|it| self.list(it));
            }
            ast::CompoundCommand::IfClause(it) => {
                self.list(&it.condition);
                self.list(&it.then);
                for part in it.elses.iter().flatten() {
                    part.condition.iter().for_each(|it| self.list(it));
                    self.list(&part.body);
                }
            }
            ast::CompoundCommand::WhileClause(it) | ast::CompoundCommand::UntilClause(it) => {
                self.list(&it.0);
                self.list(&it.1.list);
            }
            ast::CompoundCommand::ArithmeticForClause(it) => self.list(&it.body.list),
            ast::CompoundCommand::Arithmetic(_) | ast::CompoundCommand::Coprocess(_) => {}
        }
    }

    fn simple(&mut self, command: &ast::SimpleCommand) {
        let mut words: Vec<&ast::Word> = command.word_or_name.iter().collect();
        for item in command.suffix.iter().flat_map(|it| &it.0) {
            match item {
                ast::CommandPrefixOrSuffixItem::Word(it)
                | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, it) => words.push(it),
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, it) => self.list(&it.list),
                ast::CommandPrefixOrSuffixItem::IoRedirect(_) => {}
            }
        }
        let mut literal = Words::default();
        for raw in words {
            let reading = word::read(&raw.value);
            reading.iter().flat_map(|it| &it.substituted).for_each(|it| self.line(it));
            match reading.map(|it| it.word) {
                Some(Word::Known(text)) if !literal.more => literal.known.push(text),
                // Braces without a list are literal: `xargs -I{}`.
                Some(Word::Unknown) if !literal.more && is_bare(&raw.value) => {
                    literal.known.push(raw.value.clone());
                }
                Some(Word::Known(_)) => {}
                Some(Word::Unknown) | None => literal.more = true,
            }
        }
        self.words(literal);
    }

    /// Adds a command and the commands in it.
    fn words(&mut self, words: Words) {
        let Some(first) = words.known.first() else { return };
        if self.found.len() >= MOST || self.depth >= DEEPEST || self.found.contains(&words) {
            return;
        }
        let name = first.rsplit('/').next().unwrap_or(first).to_ascii_lowercase();
        self.found.push(words.clone());
        let arguments = words.known.get(1..).unwrap_or_default();
        let (rest, any) = behind_options(arguments, before_the_command(&name));
        if any && !rest.is_empty() {
            let known = words.known.iter().take(1).chain(rest).cloned().collect();
            let bare = Words { known, more: words.more };
            if !self.found.contains(&bare) {
                self.found.push(bare);
            }
        }
        self.depth += 1;
        self.handed(&name, arguments, words.more);
        self.depth -= 1;
    }

    /// Adds the commands that a program runs from its own arguments.
    fn handed(&mut self, name: &str, arguments: &[String], more: bool) {
        match name {
            "eval" => self.line(&arguments.join(" ")),
            _ if program::is_shell(name)
                || ["su", "script", "flock", "runuser"].contains(&name) =>
            {
                let text = arguments.iter().position(|it| runs_a_text(it));
                if let Some(text) = text.and_then(|at| arguments.get(at + 1)) {
                    self.line(text);
                }
            }
            "find" | "fd" | "fdfind" => {
                let is_act = |it: &String| match name {
                    "find" => ["-exec", "-execdir", "-ok", "-okdir"].contains(&it.as_str()),
                    _ => program::executes(it),
                };
                let places = arguments.iter().enumerate().filter(|it| is_act(it.1));
                for (at, _) in places {
                    let rest = arguments.get(at + 1..).unwrap_or_default();
                    let end = rest.iter().position(|it| it == ";" || it == "+");
                    let known = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().to_vec();
                    self.words(Words { known, more: true });
                }
            }
            _ => {}
        }
        let Some(wrapper) = wrapper(name) else { return };
        let (mut rest, _) = behind_options(arguments, wrapper.valued);
        if ["env", "sudo", "doas"].contains(&name) {
            let set = rest.iter().take_while(|it| it.contains('=')).count();
            rest = rest.get(set..).unwrap_or_default();
        }
        let more = more || name == "xargs" || name == "parallel";
        // `setarch` may have an architecture as its first operand.
        let operands = if name == "setarch" { vec![0, 1] } else { vec![wrapper.operands] };
        for count in operands {
            let (known, _) = behind_options(rest.get(count..).unwrap_or_default(), wrapper.valued);
            self.words(Words { known: known.to_vec(), more });
        }
        if let Some(text) = split_by_env(name, arguments) {
            self.line(text);
        }
    }
}

/// Whether a shell expands nothing in a word, except braces.
fn is_bare(raw: &str) -> bool {
    raw.chars().all(|c| c.is_ascii_alphanumeric() || "{}-_./=+:@%".contains(c))
}

/// Whether the next word is a command line: `-c`, also combined with other letters.
fn runs_a_text(option: &str) -> bool {
    option == "--command"
        || (option.starts_with('-') && !option.starts_with("--") && option.ends_with('c'))
}

/// The text that `env -S` runs as a command.
fn split_by_env<'a>(name: &str, arguments: &'a [String]) -> Option<&'a str> {
    if name != "env" {
        return None;
    }
    let at =
        arguments.iter().position(|it| it.starts_with("-S") || it.starts_with("--split-string"))?;
    let option = arguments.get(at)?;
    let attached = option.split_once('=').map(|it| it.1).or_else(|| option.strip_prefix("-S"));
    match attached.filter(|it| !it.is_empty()) {
        Some(text) => Some(text),
        None => arguments.get(at + 1).map(String::as_str),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands found in a line, as text.
    fn found(line: &str) -> Vec<String> {
        let one = |it: &Words| {
            let more = if it.more { " …" } else { "" };
            format!("{}{more}", it.known.join(" "))
        };
        hidden(line).iter().map(one).collect()
    }

    #[test]
    fn options_before_a_programs_own_command_hide_nothing() {
        for line in [
            "git -C dir push",
            "git --no-pager push",
            "git -c a.b=c --git-dir x push",
            "/usr/bin/git --git-dir=x push",
        ] {
            let all = found(line);
            assert!(all.iter().any(|it| it.ends_with("git push")), "{line}: {all:?}");
        }
        assert_eq!(found("git --no-pager log push")[1], "git log push");
        assert_eq!(found("cargo +nightly --config x test")[1], "cargo test");
        assert_eq!(found("docker --context x rm y")[1], "docker rm y");
    }

    #[test]
    fn what_wrappers_are_handed_is_found() {
        for line in [
            "choom -n 5 -- rm x",
            "linux64 rm x",
            "setarch x86_64 -R rm x",
            "env -i -u A B=1 rm x",
            "env -S 'rm x'",
            "nice -n5 rm x",
            "timeout --sig KILL 9 rm x",
            "nohup rm x",
            "stdbuf -o L rm x",
            "ionice -c2 -n 7 rm x",
            "chrt --rr 5 rm x",
            "taskset 0x3 rm x",
            "sudo -nu bob A=1 rm x",
            "flock /tmp/l rm x",
            "ssh -p 22 host rm x",
            "exec -a y rm x",
            "busybox rm x",
            "setsid -f sudo env nice rm x",
        ] {
            let all = found(line);
            assert!(all.contains(&"rm x".to_owned()), "{line}: {all:?}");
        }
        for line in
            ["find . -name y -exec rm x {} +", "fd y -X rm x", "fd -Hx rm x", "ls | xargs -0 rm x"]
        {
            let all = found(line);
            assert!(all.iter().any(|it| it.starts_with("rm x")), "{line}: {all:?}");
        }
    }

    #[test]
    fn texts_that_are_run_and_blocks_are_looked_into() {
        for line in [
            "sh -c 'ls; rm x'",
            "bash -lc \"rm x\"",
            "eval rm x",
            "A=1 rm x",
            "echo $(rm x)",
            "f() { rm x; }; f",
            "[[ a ]] && rm x",
            "for name in a; do rm x; done",
            "cat <(rm x)",
        ] {
            let all = found(line);
            assert!(all.contains(&"rm x".to_owned()), "{line}: {all:?}");
        }
        assert_eq!(found("echo rm x"), ["echo rm x"]);
        assert_eq!(found("'"), Vec::<String>::new());
    }

    #[test]
    fn hostile_lines_end_in_no_time() {
        for it in punchlist_testkit::naughty::naughty() {
            hidden(&it.text);
        }
        hidden(&"env ".repeat(4_000));
        hidden(&"sh -c '".repeat(50));
        hidden(&"setarch ".repeat(1_500));
    }
}
