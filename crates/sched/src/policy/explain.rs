//! Why a call is allowed, asked about or denied: by which rule, command by command.

use super::{Commands, Policy, Rule, Subject, Verdict, Words};

/// What the rules say of a call, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explained {
    /// What they say of the whole.
    pub verdict: Verdict,
    /// The rule that decides over the whole, if one does by itself.
    pub by: Option<Rule>,
    /// What they say of each command, and of each that may be hidden in it.
    pub parts: Vec<Part>,
}

/// One command of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The command.
    pub words: Words,
    /// What the rules say of it alone.
    pub verdict: Verdict,
    /// The rule that says so, if one does.
    pub by: Option<Rule>,
}

impl Policy {
    /// What the rules say of a call, and why.
    pub fn explain(&self, subject: &Subject) -> Explained {
        let verdict = self.verdict(subject);
        let by = match &verdict {
            Verdict::Allow => self.allows(subject, None).cloned(),
            Verdict::Ask(because) => because.as_deref().cloned(),
            Verdict::Deny(rule) => Some((**rule).clone()),
        };
        let told: &[Words] = match &subject.commands {
            Commands::All(all) => all,
            Commands::None | Commands::Opaque => &[],
        };
        let mut parts: Vec<Part> = Vec::new();
        for words in told.iter().chain(&subject.hidden) {
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
