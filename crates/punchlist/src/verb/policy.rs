//! `punchlist policy`.

use std::path::PathBuf;

use punchlist_agent::tools;
use punchlist_engine::policy::rules::{Placed, Rules, Whose};
use punchlist_engine::policy::{checks, shell};
use punchlist_formats::text;
use punchlist_sched::Tools;
use punchlist_sched::policy::{
    Commands, Decision, Explained, Part, Policy as Rulebook, Rule, Subject, Verdict, Words,
};
use serde_json::{Value, json};

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{person, places};

/// Say what the rules would do with a command, and why
///
/// Nothing is run. A command line is taken apart: each command in it is allowed, asked about or denied by
/// a rule of yours or of the project's, or there is none. That is what an agent's call meets; a plan file
/// that you run yourself needs no rule, but rules that ask or deny hold there too.
#[derive(clap::Args)]
pub(crate) struct Policy {
    /// The command line, or with `--tool` the path that the tool is called with
    #[arg(
        required = true,
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
    /// The tool that is called: shell, verify, read, write, edit, list, search, agent
    #[arg(long, value_name = "NAME", default_value = "shell")]
    tool: String,
}

impl Verb for Policy {
    const NAME: &'static str = "policy";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist policy git push origin main
  punchlist policy --json 'cd src && make test'
  punchlist policy --tool write .env";

    fn run(mut self, app: &App) -> Result<Reply, Fail> {
        let is_json = self.takes_json()? || app.globals.json;
        let asked = self.text();
        let policy = app.policy()?;
        let told = match self.subject(app, &asked)? {
            Ok(subject) => Told::of(app, &policy, &subject)?,
            Err(why) => Told { why: vec![why], ..Told::never() },
        };
        if is_json {
            return Ok(Reply::json(&told.json(&self.tool, &asked)));
        }
        Ok(Reply::text(told.drawn(&asked)))
    }
}

impl Policy {
    /// Everything behind the first word belongs to the command, options too. Only behind a whole command
    /// line in quotes, or behind a path, can `--json` be meant for us.
    fn takes_json(&mut self) -> Result<bool, Fail> {
        let is_command = ["shell", "verify"].contains(&self.tool.as_str());
        match self.words.as_slice() {
            [_, rest @ ..] if !is_command && rest == ["--json"] => {
                self.words.truncate(1);
                Ok(true)
            }
            [line, rest @ ..] if line.contains(char::is_whitespace) && !rest.is_empty() => {
                if rest != ["--json"] {
                    return Err(Fail::usage("a command line in quotes is the whole of it")
                        .hint("give one command line, or its words; options come before it."));
                }
                self.words.truncate(1);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The words as one command line. Several are quoted where a shell would take them apart.
    fn text(&self) -> String {
        if let [one] = self.words.as_slice() {
            return one.clone();
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./+-@:,%=".contains(c);
        let quoted = |it: &String| match !it.is_empty() && it.chars().all(is_plain) {
            true => it.clone(),
            false => format!("'{}'", it.replace('\'', r"'\''")),
        };
        self.words.iter().map(quoted).collect::<Vec<String>>().join(" ")
    }

    /// What policy would look at; or why the tool itself says no.
    fn subject(&self, app: &App, asked: &str) -> Result<Result<Subject, String>, Fail> {
        let tool = self.tool.as_str();
        let here = std::env::current_dir().unwrap_or_default();
        let here = app.globals.directory.clone().unwrap_or(here);
        let below = std::fs::canonicalize(here).ok().and_then(|it| checks::below(&it));
        if ["shell", "verify"].contains(&tool) {
            return Ok(Ok(shell::subject_below(tool, asked, below.as_deref())));
        }
        if tool == "agent" {
            let arguments = vec![("agent".to_owned(), asked.to_owned())];
            return Ok(Ok(Subject { tool: tool.to_owned(), arguments, ..Subject::default() }));
        }
        if let Some(name) = tool.strip_prefix("mcp__") {
            let server = name.split_once("__").map(|it| it.0.to_owned());
            return Ok(Ok(Subject { tool: tool.to_owned(), server, ..Subject::default() }));
        }
        let arguments = match tool {
            "read" | "list" => json!({"path": asked}),
            "write" => json!({"path": asked, "content": ""}),
            "edit" => json!({"path": asked, "old": "a", "new": "b"}),
            "search" => json!({"path": asked, "pattern": "a"}),
            _ => {
                return Err(Fail::usage(format!("there is no tool {tool:?}")).hint(
                    "the tools are shell, verify, read, write, edit, list, search and agent.",
                ));
            }
        };
        let root = app.project()?.root.clone();
        let guarded: Vec<PathBuf> =
            places::config().ok().into_iter().chain(places::data().ok()).collect();
        let options = tools::Options { root, environment: Vec::new(), guarded };
        let mut all = Tools::new();
        let ours = |why: String| Fail::ours(format!("the tools cannot be made: {why}"));
        for it in tools::all(options).map_err(|why| ours(why.to_string()))? {
            all.add(it).map_err(|why| ours(why.to_string()))?;
        }
        Ok(all.check(tool, &arguments).map(|it| it.subject))
    }
}

/// What is said of a call.
struct Told {
    decision: &'static str,
    /// Why, in sentences.
    why: Vec<String>,
    rule: Option<Named>,
    parts: Vec<Said>,
    /// Rules that would allow it, for a person.
    missing: Vec<Rule>,
}

/// A rule, and where it stands.
struct Named {
    rule: Rule,
    file: Option<String>,
    line: Option<usize>,
}

/// What is said of one command.
struct Said {
    words: Words,
    decision: &'static str,
    rule: Option<Named>,
    /// Rules that look as if they were about it, and why they are not.
    but: Vec<String>,
}

impl Told {
    /// What no rule can change.
    fn never() -> Self {
        Self {
            decision: "deny",
            why: Vec::new(),
            rule: None,
            parts: Vec::new(),
            missing: Vec::new(),
        }
    }

    fn of(app: &App, policy: &Rulebook, subject: &Subject) -> Result<Self, Fail> {
        let Explained { verdict, by, parts } = policy.explain(subject);
        let rules = &app.settings()?.rules;
        let mut why = Vec::new();
        match (&verdict, &by, &subject.commands) {
            (Verdict::Ask(_), Some(_), Commands::Opaque) => {
                why.push(
                    "which commands it runs cannot be told, and a rule may be about one".to_owned(),
                );
            }
            (Verdict::Ask(_), None, Commands::Opaque) => {
                why.push(
                    "which commands it runs cannot be told, so no rule about commands allows it"
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
            why.extend(but(app, rules, subject));
        }
        let said = |part: Part| {
            let alone = Subject {
                commands: Commands::All(vec![part.words.clone()]),
                hidden: Vec::new(),
                ..subject.clone()
            };
            let but = if part.by.is_none() { but(app, rules, &alone) } else { Vec::new() };
            let decision = decision(&part.verdict);
            Said { words: part.words, decision, rule: part.by.map(|it| named(app, rules, it)), but }
        };
        let missing = match verdict {
            Verdict::Ask(None) if !person::is_agent() => policy.lacking(subject),
            Verdict::Ask(_) | Verdict::Allow | Verdict::Deny(_) => Vec::new(),
        };
        Ok(Self {
            decision: decision(&verdict),
            why,
            rule: by.map(|it| named(app, rules, it)),
            parts: parts.into_iter().map(said).collect(),
            missing,
        })
    }

    fn json(&self, tool: &str, asked: &str) -> Value {
        let parts: Vec<Value> = self
            .parts
            .iter()
            .map(|it| {
                json!({
                    "words": it.words.known,
                    "more": it.words.more,
                    "decision": it.decision,
                    "rule": it.rule.as_ref().map(Named::json),
                    "notes": it.but,
                })
            })
            .collect();
        let missing: Vec<Value> = self.missing.iter().map(rule_json).collect();
        json!({
            "tool": tool,
            "asked": asked,
            "decision": self.decision,
            "why": self.why,
            "rule": self.rule.as_ref().map(Named::json),
            "parts": parts,
            "missing": missing,
        })
    }

    fn drawn(&self, asked: &str) -> String {
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
        let is_in_a_part = |it: &Named| {
            self.parts
                .iter()
                .any(|part| part.rule.as_ref().is_some_and(|rule| rule.rule == it.rule))
        };
        if let Some(rule) = self.rule.as_ref().filter(|it| !is_in_a_part(it)) {
            line("  ", &rule.told(self.decision));
        }
        for part in &self.parts {
            let more = if part.words.more { " …" } else { "" };
            let words = format!("{}{more}", part.words.known.join(" "));
            let why = match (&part.rule, part.decision) {
                (Some(rule), decision) => rule.told(decision),
                (None, "allow") => "allowed".to_owned(),
                (None, _) => "no rule is about it".to_owned(),
            };
            line("  ", &format!("{words}: {why}"));
            part.but.iter().for_each(|it| line("    ", it));
        }
        if !self.missing.is_empty() {
            out.push_str("To allow it, add to your config.toml:\n\n");
            let rules: Vec<String> = self.missing.iter().map(Rule::to_toml).collect();
            out.push_str(&rules.join("\n"));
        }
        out
    }
}

impl Named {
    fn json(&self) -> Value {
        json!({"rule": rule_json(&self.rule), "file": self.file, "line": self.line})
    }

    /// `denied by /home/me/.config/punchlist/config.toml:4: reason (the rule: …)`
    fn told(&self, decision: &str) -> String {
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

fn file(app: &App, whose: Whose) -> Option<String> {
    let path = match whose {
        Whose::User => places::config().ok()?,
        Whose::Project => app.project().ok()?.root.join("punchlist.toml"),
    };
    Some(path.display().to_string())
}

fn named(app: &App, rules: &Rules, rule: Rule) -> Named {
    let (file, line) = match rules.find(&rule) {
        Some((whose, line)) => (file(app, whose), Some(line)),
        None => (None, None),
    };
    Named { rule, file, line }
}

/// Rules that would allow it if they counted here, and why they do not.
fn but(app: &App, rules: &Rules, subject: &Subject) -> Vec<String> {
    let allows = |it: &&Placed| {
        let alone = Rulebook::new(vec![it.rule.clone()], Vec::new());
        it.rule.decision == Decision::Allow
            && alone.verdict(&Subject { harmless: false, ..subject.clone() }) == Verdict::Allow
    };
    let at = |whose, it: &Placed| format!("{}:{}", file(app, whose).unwrap_or_default(), it.line);
    let here = app.project().map(|it| it.name.clone()).unwrap_or_default();
    let user = rules.user.iter().filter(allows).filter_map(|it| {
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
    let own =
        rules.project.iter().filter(allows).map(|it| {
            format!("{} allows it, but a project may only tighten", at(Whose::Project, it))
        });
    user.chain(own).collect()
}
