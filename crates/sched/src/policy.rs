//! Which calls may run, which need a person's word, and which never run.
//!
//! Rules are data; where they come from is somebody else's business. A user's rules may allow, a
//! project's may only tighten: what a project allows is not even looked at. Of all rules that fit, the
//! strictest counts. A shell call is judged by all the commands that it consists of, never by its first
//! word: taking a command line apart is the tool's work, and what cannot be taken apart is
//! [`Commands::Opaque`], which no rule about commands can allow. Where a rule that tightens might be
//! meant and nobody can tell, a person is asked.

#[cfg(test)]
mod tests;
mod write;

use serde::{Deserialize, Serialize};

/// What policy looks at.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Subject {
    /// The tool's name.
    pub tool: String,
    /// The server that it comes from, if it is not our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// It changes nothing: allowed where no rule says otherwise.
    #[serde(default)]
    pub harmless: bool,
    /// What it executes.
    #[serde(default)]
    pub commands: Commands,
    /// Its arguments that are texts, for rules that look at one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<(String, String)>,
}

/// What a call executes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Commands {
    /// Nothing: it is not a shell call.
    #[default]
    None,
    /// These commands and nothing else.
    All(Vec<Words>),
    /// Something that cannot be told before it runs.
    Opaque,
}

/// One command, as far as it can be told before it runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Words {
    /// The words that it begins with, as the program will see them.
    pub known: Vec<String>,
    /// After those come words that only show when it runs: none, one or many.
    #[serde(default)]
    pub more: bool,
}

impl Words {
    /// What stands for a command where a shell writes into a file: this word, then the file. No
    /// program is called so.
    pub const WRITE: &str = ">";

    /// A command all of whose words are known.
    pub fn new(known: Vec<String>) -> Self {
        Self { known, more: false }
    }

    /// That a shell writes into a file; without a name, into one that only shows when it runs.
    pub fn write(file: Option<String>) -> Self {
        let more = file.is_none();
        Self { known: [Self::WRITE.to_owned()].into_iter().chain(file).collect(), more }
    }

    /// Whether it stands for writing into a file.
    pub fn is_write(&self) -> bool {
        self.known.first().is_some_and(|it| it == Self::WRITE)
    }
}

/// What is done with a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask,
    /// It does not run.
    Deny,
}

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
}

impl Rule {
    /// A rule about a tool.
    pub fn tool(decision: Decision, tool: &str) -> Self {
        Self { decision, tool: Some(tool.to_owned()), server: None, command: None, argument: None }
    }

    /// A rule about commands of a tool that begin so.
    pub fn command(decision: Decision, tool: &str, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { command: Some(words), ..Self::tool(decision, tool) }
    }

    /// A rule about all tools of a server.
    pub fn server(decision: Decision, server: &str) -> Self {
        Self {
            decision,
            tool: None,
            server: Some(server.to_owned()),
            command: None,
            argument: None,
        }
    }

    /// Whether it is about this call, its commands left aside.
    fn fits(&self, subject: &Subject) -> bool {
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

    /// Whether a command certainly begins as the rule says.
    fn begins(&self, words: &Words) -> bool {
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

    /// Whether it is about commands, which then must be known.
    fn is_about_commands(&self) -> bool {
        self.command.is_some()
    }
}

/// How sure it is that a rule that tightens is about a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Catch {
    /// It is not.
    No,
    /// It may be, and only running it would show.
    Perhaps,
    /// It is.
    Surely,
}

/// Whether a program is the one that a rule forbids: also by its path, and in any case, since some
/// file systems tell no difference.
fn is_called(program: &str, called: &str) -> bool {
    let name =
        if program.contains('/') { called } else { called.rsplit('/').next().unwrap_or(called) };
    name.eq_ignore_ascii_case(program)
}

/// The rules that hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    user: Vec<Rule>,
    project: Vec<Rule>,
}

/// What the rules say of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person is asked: because a rule says so, or because none says otherwise.
    Ask(Option<Box<Rule>>),
    /// It does not run: the rule that says so.
    Deny(Box<Rule>),
}

impl Policy {
    /// The user's rules and the project's. What a project allows does not count.
    pub fn new(user: Vec<Rule>, project: Vec<Rule>) -> Self {
        let project = project.into_iter().filter(|it| it.decision != Decision::Allow).collect();
        Self { user, project }
    }

    /// Adds a rule of the user's, from now on.
    pub fn add(&mut self, rule: Rule) {
        if !self.user.contains(&rule) {
            self.user.push(rule);
        }
    }

    /// What the rules say.
    pub fn verdict(&self, subject: &Subject) -> Verdict {
        if self.user.is_empty() && self.project.is_empty() {
            return if subject.harmless { Verdict::Allow } else { Verdict::Ask(None) };
        }
        let fitting = || self.user.iter().chain(&self.project).filter(|it| it.fits(subject));
        let strict = |decision| {
            let caught = fitting().filter(|it| it.decision == decision);
            caught.map(|it| (catch(it, &subject.commands), it)).max_by_key(|it| it.0)
        };
        let because = |rule: &Rule| Some(Box::new(rule.clone()));
        match strict(Decision::Deny) {
            Some((Catch::Surely, rule)) => return Verdict::Deny(Box::new(rule.clone())),
            // Nobody knows that it is what is forbidden: a person decides.
            Some((Catch::Perhaps, rule)) => return Verdict::Ask(because(rule)),
            Some((Catch::No, _)) | None => {}
        }
        match strict(Decision::Ask) {
            Some((Catch::Surely | Catch::Perhaps, rule)) => return Verdict::Ask(because(rule)),
            Some((Catch::No, _)) | None => {}
        }
        let allows = |words: Option<&Words>| {
            fitting().any(|rule| {
                rule.decision == Decision::Allow
                    && match words {
                        Some(words) => rule.begins(words),
                        None => !rule.is_about_commands(),
                    }
            })
        };
        let allowed = match &subject.commands {
            Commands::None | Commands::Opaque => allows(None),
            Commands::All(commands) => {
                (!commands.is_empty() && commands.iter().all(|it| allows(Some(it)))) || allows(None)
            }
        };
        if allowed || subject.harmless { Verdict::Allow } else { Verdict::Ask(None) }
    }
}

impl Policy {
    /// What "always" may mean for a call that is asked about: each of these rules alone would let it pass
    /// from now on. None, if a rule wants it asked or denies it, or if one rule would not be enough.
    pub fn offers(&self, subject: &Subject) -> Vec<Rule> {
        let server = subject.server.as_ref().map(|it| Rule::server(Decision::Allow, it));
        let is_enough = |rule: &Rule| {
            let mut with = self.clone();
            with.add(rule.clone());
            with.verdict(subject) == Verdict::Allow
        };
        self.lacking(subject).into_iter().chain(server).filter(is_enough).collect()
    }

    /// The rules that would have to be added for a call to be allowed, if none stands against it.
    pub fn lacking(&self, subject: &Subject) -> Vec<Rule> {
        let Commands::All(all) = &subject.commands else { return allowing(subject) };
        let is_allowed = |words: &Words| {
            let commands = Commands::All(vec![words.clone()]);
            let alone = Subject { commands, ..subject.clone() };
            self.verdict(&alone) == Verdict::Allow
        };
        let lacking = all.iter().filter(|it| !is_allowed(it)).cloned().collect();
        allowing(&Subject { commands: Commands::All(lacking), ..subject.clone() })
    }
}

/// How sure it is that a rule that tightens is about what a call executes.
fn catch(rule: &Rule, commands: &Commands) -> Catch {
    match commands {
        _ if !rule.is_about_commands() => Catch::Surely,
        Commands::None => Catch::No,
        Commands::All(all) => all.iter().map(|it| rule.catches(it)).max().unwrap_or(Catch::No),
        Commands::Opaque => Catch::Perhaps,
    }
}

/// The rules that would allow a call, for whoever wants to write them down.
pub fn allowing(subject: &Subject) -> Vec<Rule> {
    match &subject.commands {
        Commands::All(commands) if !commands.is_empty() => commands
            .iter()
            .map(|words| {
                let words: Vec<&str> = words.known.iter().take(2).map(String::as_str).collect();
                Rule::command(Decision::Allow, &subject.tool, &words)
            })
            .collect(),
        Commands::None | Commands::All(_) | Commands::Opaque => {
            vec![Rule::tool(Decision::Allow, &subject.tool)]
        }
    }
}

/// Whether a text fits a pattern in which `*` stands for any text.
fn like(pattern: &str, text: &str) -> bool {
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
