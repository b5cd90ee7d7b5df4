//! Explains what the policy rules do with a call: which rule decides, in which file it is, and
//! which rule is missing.

use std::path::Path;

use punchlist_formats::text;
use punchlist_formats::view::Reader;
use punchlist_sched::policy::{
    Commands, Decision, Explained, Part, Policy, Rule, Subject, Verdict, Words,
};
use punchlist_sched::sandbox::InForce;
use serde_json::{Value, json};

use super::rules::{Placed, Rules, Whose};

/// The policy rules of a project, and the files that they come from.
#[derive(Clone, Copy, Debug)]
pub struct RuleBook<'a> {
    /// The rules.
    pub rules: &'a Rules,
    /// The project.
    pub project: &'a str,
    /// The user's configuration file, if its path is known.
    pub user_file: Option<&'a Path>,
    /// The project's configuration file.
    pub project_file: &'a Path,
    /// Who reads the explanation. Only people are told which rule is missing.
    pub reader: Reader,
}

/// What the rules do with a call, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    decision: &'static str,
    /// The reasons, as sentences.
    why: Vec<String>,
    rule: Option<RuleInFile>,
    parts: Vec<ExplainedPart>,
    /// Rules that would allow the call, for a person.
    missing: Vec<Rule>,
    /// What the sandbox of a session changes; `None` if the call runs no commands.
    sandbox: Option<Sandboxed>,
}

/// What the sandbox of a session changes.
#[derive(Clone, PartialEq, Debug)]
struct Sandboxed {
    is_on: bool,
    /// What happens to the call in a session of `do`.
    decision: &'static str,
    /// The same as a sentence.
    why: String,
}

/// A rule, and where it is.
#[derive(Clone, PartialEq, Debug)]
struct RuleInFile {
    rule: Rule,
    file: Option<String>,
    line: Option<usize>,
}

/// What the rules do with one command of the call.
#[derive(Clone, PartialEq, Debug)]
struct ExplainedPart {
    words: Words,
    decision: &'static str,
    rule: Option<RuleInFile>,
    /// Rules that seem to match but do not, with the reason.
    not_matching: Vec<String>,
}

impl Explanation {
    /// A call that the tool itself refuses. No rule can change that.
    pub fn never(why: String) -> Self {
        Self {
            decision: "deny",
            why: vec![why],
            rule: None,
            parts: Vec::new(),
            missing: Vec::new(),
            sandbox: None,
        }
    }

    /// Explains a call.
    pub fn of(book: &RuleBook<'_>, subject: &Subject) -> Self {
        let policy = book.rules.policy(book.project);
        let Explained { verdict, by, parts } = policy.explain(subject);
        let mut why = Vec::new();
        match (&verdict, &by, &subject.commands) {
            (Verdict::Ask(_), Some(_), Commands::Opaque) => {
                why.push(
                    "which commands it runs is unknown, and a rule may be about one of them"
                        .to_owned(),
                );
            }
            (Verdict::Ask(_), None, Commands::Opaque) => {
                why.push(
                    "which commands it runs is unknown, so no rule about commands allows it"
                        .to_owned(),
                );
            }
            (Verdict::Ask(_), None, _) if subject.is_secret => {
                why.push("it may hold secrets: only a rule that names it allows it".to_owned());
            }
            (Verdict::Ask(_), None, Commands::None) => why.push("no rule is about it".to_owned()),
            (Verdict::Allow, None, Commands::None) => why.push("it changes nothing".to_owned()),
            (Verdict::Ask(_) | Verdict::Allow | Verdict::Deny(_), _, _) => {}
        }
        let is_whole = subject.commands == Commands::None;
        if is_whole {
            why.extend(book.not_counting(subject));
        }
        let explain_part = |part: Part| {
            let alone = Subject {
                commands: Commands::All(vec![part.words.clone()]),
                hidden: Vec::new(),
                ..subject.clone()
            };
            let not_matching =
                if part.by.is_none() { book.not_counting(&alone) } else { Vec::new() };
            let decision = decision(&part.verdict);
            let rule = part.by.map(|it| book.in_file(it));
            ExplainedPart { words: part.words, decision, rule, not_matching }
        };
        let missing = match verdict {
            Verdict::Ask(None) if book.reader == Reader::Person => policy.lacking(subject),
            Verdict::Ask(_) | Verdict::Allow | Verdict::Deny(_) => Vec::new(),
        };
        Self {
            decision: decision(&verdict),
            why,
            rule: by.map(|it| book.in_file(it)),
            parts: parts.into_iter().map(explain_part).collect(),
            missing,
            sandbox: None,
        }
    }

    /// Adds what the sandbox of a session changes. `subject` is the call as the session's tool sees it.
    #[must_use]
    pub fn in_session(mut self, book: &RuleBook<'_>, subject: &Subject, sandbox: &InForce) -> Self {
        let decision = decision(&book.rules.policy(book.project).verdict(subject));
        let why = match (sandbox, decision) {
            (_, "deny") => return self,
            (InForce::Off(why), _) => format!("in `punchlist do` there is no sandbox: {why}"),
            (InForce::On | InForce::OnAndAsking, "allow") => {
                "in `punchlist do` it runs in the sandbox, without a question".to_owned()
            }
            (InForce::On | InForce::OnAndAsking, _) => {
                "in `punchlist do` it runs in the sandbox, after your answer".to_owned()
            }
        };
        self.sandbox = Some(Sandboxed { is_on: sandbox.is_on(), decision, why });
        self
    }

    /// The explanation as JSON.
    pub fn json(&self, tool: &str, asked: &str) -> Value {
        let parts: Vec<Value> = self
            .parts
            .iter()
            .map(|it| {
                json!({
                    "words": it.words.known,
                    "more": it.words.more,
                    "decision": it.decision,
                    "rule": it.rule.as_ref().map(RuleInFile::json),
                    "notes": it.not_matching,
                })
            })
            .collect();
        let missing: Vec<Value> = self.missing.iter().map(rule_json).collect();
        json!({
            "tool": tool,
            "asked": asked,
            "decision": self.decision,
            "why": self.why,
            "rule": self.rule.as_ref().map(RuleInFile::json),
            "parts": parts,
            "missing": missing,
            "sandbox": self.sandbox.as_ref().map(
                |it| json!({"on": it.is_on, "decision": it.decision, "why": it.why}),
            ),
        })
    }

    /// The explanation as text.
    pub fn text(&self, asked: &str) -> String {
        let word = match self.decision {
            "allow" => "allowed",
            "ask" => "asked about",
            _ => "denied",
        };
        let mut out = format!("{word}: {}\n", text::one_line(asked));
        let mut line = |indent: &str, text: &str| {
            out.push_str(&format!("{indent}{}\n", text::one_line(text)));
        };
        self.why.iter().for_each(|it| line("  ", it));
        let is_in_a_part = |it: &RuleInFile| {
            self.parts
                .iter()
                .any(|part| part.rule.as_ref().is_some_and(|rule| rule.rule == it.rule))
        };
        if let Some(rule) = self.rule.as_ref().filter(|it| !is_in_a_part(it)) {
            line("  ", &rule.describe(self.decision));
        }
        for part in &self.parts {
            let more = if part.words.more { " …" } else { "" };
            let words = format!("{}{more}", part.words.known.join(" "));
            let why = match (&part.rule, part.decision) {
                (Some(rule), decision) => rule.describe(decision),
                (None, "allow") => "allowed".to_owned(),
                (None, _) => "no rule is about it".to_owned(),
            };
            line("  ", &format!("{words}: {why}"));
            part.not_matching.iter().for_each(|it| line("    ", it));
        }
        if let Some(it) = &self.sandbox {
            line("  ", &it.why);
        }
        if !self.missing.is_empty() {
            out.push_str("To allow it, add to your config.toml:\n\n");
            let rules: Vec<String> = self.missing.iter().map(Rule::to_toml).collect();
            out.push_str(&rules.join("\n"));
        }
        out
    }
}

impl RuleInFile {
    fn json(&self) -> Value {
        json!({"rule": rule_json(&self.rule), "file": self.file, "line": self.line})
    }

    /// `denied by /home/me/.config/punchlist/config.toml:4: reason (the rule: …)`
    fn describe(&self, decision: &str) -> String {
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (_, _) => "a rule".to_owned(),
        };
        let rule = self.rule.told();
        match (self.rule.decision, decision) {
            (Decision::Allow, _) => format!("allowed by {place}: {rule}"),
            (Decision::Ask, _) => format!("asked about by {place}: {rule}"),
            (Decision::Deny, "deny") => format!("denied by {place}: {rule}"),
            (Decision::Deny, _) => format!("it may be what {place} denies: {rule}"),
        }
    }
}

fn rule_json(rule: &Rule) -> Value {
    serde_json::to_value(rule).unwrap_or_default()
}

fn decision(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => Decision::Allow.name(),
        Verdict::Ask(_) => Decision::Ask.name(),
        Verdict::Deny(_) => Decision::Deny.name(),
    }
}

impl RuleBook<'_> {
    fn file(&self, whose: Whose) -> Option<String> {
        let path = match whose {
            Whose::User => self.user_file?,
            Whose::Project => self.project_file,
        };
        Some(path.display().to_string())
    }

    fn in_file(&self, rule: Rule) -> RuleInFile {
        let (file, line) = match self.rules.find(&rule) {
            Some((whose, line)) => (self.file(whose), Some(line)),
            None => (None, None),
        };
        RuleInFile { rule, file, line }
    }

    /// Rules that would allow the call if they applied here, with the reason why they do not.
    fn not_counting(&self, subject: &Subject) -> Vec<String> {
        let allows = |it: &&Placed| {
            let alone = Policy::new(vec![it.rule.clone()], Vec::new());
            it.rule.decision == Decision::Allow
                && alone.verdict(&Subject { harmless: false, contained: false, ..subject.clone() })
                    == Verdict::Allow
        };
        let at =
            |whose, it: &Placed| format!("{}:{}", self.file(whose).unwrap_or_default(), it.line);
        let here = self.project;
        let user = self.rules.user.iter().filter(allows).filter_map(|it| {
            let place = at(Whose::User, it);
            match &it.rule.project {
                Some(project) if project.trim_end_matches('/') != here => {
                    Some(format!("{place} allows it in {project} alone"))
                }
                None if it.rule.is_local() => {
                    Some(format!("{place} does not say of which project; add project = \"{here}\""))
                }
                Some(_) | None => None,
            }
        });
        let own = self.rules.project.iter().filter(allows).map(|it| {
            format!("{} allows it, but a project may only tighten", at(Whose::Project, it))
        });
        user.chain(own).collect()
    }
}

/// Joins words to a command line. Several words are quoted where a shell would split them.
pub fn command_line(words: &[String]) -> String {
    if let [one] = words {
        return one.clone();
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./+-@:,%=".contains(c);
    let quoted = |it: &String| match !it.is_empty() && it.chars().all(is_plain) {
        true => it.clone(),
        false => format!("'{}'", it.replace('\'', r"'\''")),
    };
    words.iter().map(quoted).collect::<Vec<String>>().join(" ")
}
