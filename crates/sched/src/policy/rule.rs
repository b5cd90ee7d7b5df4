//! A policy rule, and whether it matches a call.

use serde::{Deserialize, Serialize};

use super::{Commands, Decision, Subject, Words};

/// A policy rule. Fields that are not set match everything.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The decision.
    pub decision: Decision,
    /// The tool; `*` is a wildcard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The MCP server of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The first words of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The name of an argument, and a pattern with `*` for its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<(String, String)>,
    /// The root of the project that the rule is for; `None` for all projects. The caller of
    /// [`super::Policy`] leaves out the rules of other projects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The reason, for the person who is asked and for the model whose call is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Rule {
    /// A rule that matches everything.
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

    /// A rule about commands of a tool that begin with these words.
    pub fn command(decision: Decision, tool: &str, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { command: Some(words), ..Self::tool(decision, tool) }
    }

    /// A rule about all tools of a server.
    pub fn server(decision: Decision, server: &str) -> Self {
        Self { server: Some(server.to_owned()), ..Self::new(decision) }
    }

    /// A rule about calls of a tool in which an argument has exactly this text.
    pub fn argument(decision: Decision, tool: &str, name: &str, text: &str) -> Self {
        let argument = Some((name.to_owned(), text.to_owned()));
        Self { argument, ..Self::tool(decision, tool) }
    }

    /// Whether the rule names a program by a relative path, such as `./check.sh`, which is another
    /// file in each project.
    pub fn is_local(&self) -> bool {
        let program = self.command.as_ref().and_then(|it| it.first());
        program.is_some_and(|it| is_relative_program(it))
    }

    /// Whether the rule matches this call, apart from its commands.
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

    /// Whether the rule matches every call of a tool.
    pub(super) fn is_about_all_of(&self, tool: &str, server: Option<&str>) -> bool {
        let subject = Subject {
            tool: tool.to_owned(),
            server: server.map(str::to_owned),
            ..Subject::default()
        };
        self.command.is_none() && self.argument.is_none() && self.fits(&subject)
    }

    /// Whether a command certainly begins with the rule's words.
    pub(super) fn begins(&self, words: &Words) -> bool {
        self.command.as_ref().is_none_or(|prefix| {
            !prefix.is_empty() && words.known.get(..prefix.len()) == Some(prefix.as_slice())
        })
    }

    /// How certainly a restricting rule matches a command.
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

    /// How certainly a restricting rule matches one of the call's commands.
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

    /// Whether the rule is about commands.
    pub(super) fn is_about_commands(&self) -> bool {
        self.command.is_some()
    }
}

/// How certainly a restricting rule matches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Catch {
    /// It does not match.
    No,
    /// It may match; only execution would show.
    Perhaps,
    /// It matches.
    Surely,
}

/// Whether a program is named by a path that is relative to the working directory.
pub fn is_relative_program(program: &str) -> bool {
    program.contains('/') && !program.starts_with('/')
}

/// Whether a program is the one that a rule denies: also by its path, and in any case, because some
/// file systems ignore case.
fn is_called(program: &str, called: &str) -> bool {
    let name = if program.contains('/') {
        plain(called)
    } else {
        called.rsplit('/').next().unwrap_or(called).to_owned()
    };
    name.eq_ignore_ascii_case(&plain(program))
}

/// A path without empty and `.` components: `./a//b` and `a/./b` become `a/b`.
fn plain(path: &str) -> String {
    if !path.contains('/') {
        return path.to_owned();
    }
    let steps: Vec<&str> = path.split('/').filter(|it| !it.is_empty() && *it != ".").collect();
    let begin = if path.starts_with('/') { "/" } else { "" };
    format!("{begin}{}", steps.join("/"))
}

/// Whether a text matches a pattern in which `*` is a wildcard.
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
