//! One rule: what it is about, and how sure it is that a call is that.

use serde::{Deserialize, Serialize};

use super::{Commands, Decision, Subject, Words};

/// A rule: what it fits, and what it says. What it does not name, it does not look at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What it says.
    pub decision: Decision,
    /// The tool; `*` stands for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The server that the tool comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What a command begins with, word by word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// An argument by name, and a pattern with `*` for its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<(String, String)>,
    /// The project that it is for, by its root. Without one it is for all. Whoever makes a [`super::Policy`]
    /// leaves out the rules of other projects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Why, for the person who is asked and for the model whose call is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Rule {
    /// A rule about everything, until it is told what it is about.
    pub fn new(decision: Decision) -> Self {
        Self {
            decision,
            tool: None,
            server: None,
            command: None,
            argument: None,
            project: None,
            reason: None,
        }
    }

    /// A rule about a tool.
    pub fn tool(decision: Decision, tool: &str) -> Self {
        Self { tool: Some(tool.to_owned()), ..Self::new(decision) }
    }

    /// A rule about commands of a tool that begin so.
    pub fn command(decision: Decision, tool: &str, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { command: Some(words), ..Self::tool(decision, tool) }
    }

    /// A rule about all tools of a server.
    pub fn server(decision: Decision, server: &str) -> Self {
        Self { server: Some(server.to_owned()), ..Self::new(decision) }
    }

    /// A rule about a tool's calls in which an argument is exactly this text.
    pub fn argument(decision: Decision, tool: &str, name: &str, text: &str) -> Self {
        let argument = Some((name.to_owned(), text.to_owned()));
        Self { argument, ..Self::tool(decision, tool) }
    }

    /// Whether it names a program by a path that means another file in each project: `./check.sh`.
    pub fn is_local(&self) -> bool {
        let program = self.command.as_ref().and_then(|it| it.first());
        program.is_some_and(|it| is_relative_program(it))
    }

    /// Whether it is about this call, its commands left aside.
    pub(super) fn fits(&self, subject: &Subject) -> bool {
        let tool = self.tool.as_ref().is_none_or(|it| like(it, &subject.tool));
        let server = match (&self.server, &subject.server) {
            (None, _) => true,
            (Some(rule), Some(server)) => like(rule, server),
            (Some(_), None) => false,
        };
        let argument = self.argument.as_ref().is_none_or(|(name, pattern)| {
            subject.arguments.iter().any(|(it, text)| it == name && like(pattern, text))
        });
        tool && server && argument
    }

    /// Whether it says something of a tool whatever is called with it.
    pub(super) fn is_about_all_of(&self, tool: &str, server: Option<&str>) -> bool {
        let subject = Subject {
            tool: tool.to_owned(),
            server: server.map(str::to_owned),
            ..Subject::default()
        };
        self.command.is_none() && self.argument.is_none() && self.fits(&subject)
    }

    /// Whether a command certainly begins as the rule says.
    pub(super) fn begins(&self, words: &Words) -> bool {
        self.command.as_ref().is_none_or(|prefix| {
            !prefix.is_empty() && words.known.get(..prefix.len()) == Some(prefix.as_slice())
        })
    }

    /// Whether it holds for a command, if it is one that tightens.
    fn catches(&self, words: &Words) -> Catch {
        let Some(prefix) = &self.command else { return Catch::Surely };
        let Some((program, rest)) = prefix.split_first() else { return Catch::No };
        let Some((called, given)) = words.known.split_first() else {
            return if words.more { Catch::Perhaps } else { Catch::No };
        };
        let same = |(rule, word): (&String, &String)| rule == word;
        if !is_called(program, called) || !rest.iter().zip(given).all(same) {
            return Catch::No;
        }
        match (given.len() >= rest.len(), words.more) {
            (true, _) => Catch::Surely,
            (false, true) => Catch::Perhaps,
            (false, false) => Catch::No,
        }
    }

    /// How sure it is that the rule, if it is one that tightens, is about what a call executes.
    pub(super) fn catches_any(&self, subject: &Subject) -> Catch {
        if !self.is_about_commands() {
            return Catch::Surely;
        }
        let of = |all: &[Words]| all.iter().map(|it| self.catches(it)).max().unwrap_or(Catch::No);
        match &subject.commands {
            Commands::None => Catch::No,
            Commands::All(all) => of(all).max(of(&subject.hidden)),
            Commands::Opaque => Catch::Perhaps.max(of(&subject.hidden)),
        }
    }

    /// Whether it is about commands, which then must be known.
    pub(super) fn is_about_commands(&self) -> bool {
        self.command.is_some()
    }
}

/// How sure it is that a rule that tightens is about a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Catch {
    /// It is not.
    No,
    /// It may be, and only running it would show.
    Perhaps,
    /// It is.
    Surely,
}

/// Whether a program is named by a path that counts from wherever the command runs.
pub fn is_relative_program(program: &str) -> bool {
    program.contains('/') && !program.starts_with('/')
}

/// Whether a program is the one that a rule forbids: also by its path, and in any case, since some
/// file systems tell no difference.
fn is_called(program: &str, called: &str) -> bool {
    let name = if program.contains('/') {
        plain(called)
    } else {
        called.rsplit('/').next().unwrap_or(called).to_owned()
    };
    name.eq_ignore_ascii_case(&plain(program))
}

/// A path without steps that lead nowhere: `./a//b` and `a/./b` are `a/b`.
fn plain(path: &str) -> String {
    if !path.contains('/') {
        return path.to_owned();
    }
    let steps: Vec<&str> = path.split('/').filter(|it| !it.is_empty() && *it != ".").collect();
    let begin = if path.starts_with('/') { "/" } else { "" };
    format!("{begin}{}", steps.join("/"))
}

/// Whether a text fits a pattern in which `*` stands for any text.
pub fn like(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for piece in pieces {
        if let Some(piece) = last.replace(piece) {
            match rest.find(piece) {
                Some(at) => rest = rest.get(at + piece.len()..).unwrap_or_default(),
                None => return false,
            }
        }
    }
    match last {
        Some(piece) => rest.ends_with(piece),
        None => rest.is_empty(),
    }
}
