//! Explains why a call is allowed, asked about or denied: by which rule, command by command.

use super::{Commands, Policy, Rule, Subject, Verdict, Words};

/// The verdict about a call, with reasons.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explained {
    /// The verdict about the whole call.
    pub verdict: Verdict,
    /// The rule that alone decides about the whole call, if any.
    pub by: Option<Rule>,
    /// The verdicts about each command, and each that may be hidden in it.
    pub parts: Vec<Part>,
}

/// One command of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The command.
    pub words: Words,
    /// The verdict about this command alone.
    pub verdict: Verdict,
    /// The rule behind it, if any.
    pub by: Option<Rule>,
}

impl Policy {
    /// The verdict about a call, with reasons.
    pub fn explain(&self, subject: &Subject) -> Explained {
        let verdict = self.verdict(subject);
        let by = match &verdict {
            Verdict::Allow => self.allows(subject, None).cloned(),
            Verdict::Ask(because) => because.as_deref().cloned(),
            Verdict::Deny(rule) => Some((**rule).clone()),
        };
        let commands: &[Words] = match &subject.commands {
            Commands::All(all) => all,
            Commands::None | Commands::Opaque => &[],
        };
        let mut parts: Vec<Part> = Vec::new();
        for words in commands.iter().chain(&subject.hidden) {
            if parts.iter().all(|it| it.words != *words) {
                parts.push(self.part(subject, words));
            }
        }
        Explained { verdict, by, parts }
    }

    fn part(&self, subject: &Subject, words: &Words) -> Part {
        let commands = Commands::All(vec![words.clone()]);
        let alone = Subject { commands, hidden: Vec::new(), ..subject.clone() };
        let verdict = self.verdict(&alone);
        let by = match &verdict {
            Verdict::Allow => {
                self.allows(&alone, Some(words)).or_else(|| self.allows(&alone, None)).cloned()
            }
            Verdict::Ask(because) => because.as_deref().cloned(),
            Verdict::Deny(rule) => Some((**rule).clone()),
        };
        Part { words: words.clone(), verdict, by }
    }
}
