//! Policy rules in files: reads and adds `[[policy]]` tables in TOML.
//!
//! The user's file may allow something; a project's file may only tighten. The caller says whose
//! file a text is. A rule that cannot be read is an error with line and key, and is never skipped:
//! a rule that forbids something must not be lost.

mod forget;
mod names;
mod remember;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use punchlist_model::call::Permit;
use punchlist_sched::policy::{Decision, Policy, Rule, Subject, Verdict};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::policy::shell;
pub use forget::forget;
pub use remember::{Unkept, remember};

/// A rule, and its line in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The rule.
    pub rule: Rule,
    /// Its line in the file, counted from 1.
    pub line: usize,
}

/// Whose file a rule is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// The user's own file.
    User,
    /// The project's file.
    Project,
}

/// The policy rules of a user and of a project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// The user's rules.
    pub user: Vec<Placed>,
    /// The project's rules.
    pub project: Vec<Placed>,
}

impl Rules {
    /// The policy for a project, which is named by its root. Rules of the project's file that allow
    /// something are ignored.
    pub fn policy(&self, project: &str) -> Policy {
        let user = self.user.iter().map(|it| &it.rule).filter(|it| holds(it, project));
        let own = self.project.iter().map(|it| it.rule.clone());
        Policy::new(user.cloned().collect(), own.collect()).in_project(project)
    }

    /// How many of the project's rules allow something and are ignored.
    pub fn ignored(&self) -> usize {
        self.project.iter().filter(|it| it.rule.decision == Decision::Allow).count()
    }

    /// The user's rules that allow a program by a relative path and name no project. They are
    /// ignored, because each project has its own `./check.sh`.
    pub fn of_no_project(&self) -> impl Iterator<Item = &Placed> {
        self.user.iter().filter(|it| lacks_project(&it.rule))
    }

    /// Finds the file and line of a rule.
    pub fn find(&self, rule: &Rule) -> Option<(Whose, usize)> {
        let at = |all: &[Placed]| all.iter().find(|it| it.rule == *rule).map(|it| it.line);
        let user = at(&self.user).map(|line| (Whose::User, line));
        user.or_else(|| at(&self.project).map(|line| (Whose::Project, line)))
    }
}

/// The rules for these permits as text, one per line: for one project, or without a project for
/// all.
pub fn written(permits: &[Permit], project: Option<&str>) -> Vec<String> {
    let project = project.map(str::to_owned);
    let rule = |permit: &Permit| Rule { project: project.clone(), ..Rule::from(permit) };
    permits.iter().map(|it| rule(it).to_string()).collect()
}

/// Whether a rule of the user applies to a project.
fn holds(rule: &Rule, project: &str) -> bool {
    rule.project.as_deref().is_none_or(|it| same_root(it, project)) && !lacks_project(rule)
}

fn lacks_project(rule: &Rule) -> bool {
    rule.decision == Decision::Allow && rule.is_local() && rule.project.is_none()
}

fn same_root(one: &str, other: &str) -> bool {
    let plain = |it: &str| it.trim_end_matches('/').to_owned();
    plain(one) == plain(other)
}

/// An error in a rule, or in the text that contains it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Bad {
    /// The line, counted from 1.
    pub line: usize,
    /// The key and what is wrong with it.
    pub what: String,
}

/// The keys of a rule.
const KEYS: [&str; 9] =
    ["decision", "tool", "server", "command", "argument", "project", "reason", "fits", "not"];

/// Reads the policy rules of a configuration file. Other keys are ignored.
pub fn read(text: &str) -> Result<Vec<Rule>, Bad> {
    Ok(placed(text)?.into_iter().map(|it| it.rule).collect())
}

/// Reads the policy rules with their line numbers.
pub fn placed(text: &str) -> Result<Vec<Placed>, Bad> {
    let at = |offset: usize| 1 + text.bytes().take(offset).filter(|it| *it == b'\n').count();
    let reader = Reader { at: &at };
    let table = DeTable::parse(text).map_err(|why| Bad {
        line: at(why.span().map_or(0, |it| it.start)),
        what: why.message().to_owned(),
    })?;
    let Some((_, policy)) = table.get_ref().iter().find(|it| it.0.get_ref() == "policy") else {
        return Ok(Vec::new());
    };
    let tables = policy.get_ref().as_array().ok_or_else(|| {
        reader.bad(policy, "policy must be tables, each under a line `[[policy]]`".to_owned())
    })?;
    let place = |it: &Spanned<DeValue<'_>>| {
        Ok(Placed { rule: reader.rule(it)?, line: at(it.span().start) })
    };
    tables.iter().map(place).collect()
}

struct Reader<'a> {
    at: &'a dyn Fn(usize) -> usize,
}

impl Reader<'_> {
    fn bad<T>(&self, place: &Spanned<T>, what: String) -> Bad {
        Bad { line: (self.at)(place.span().start), what }
    }

    fn rule(&self, place: &Spanned<DeValue<'_>>) -> Result<Rule, Bad> {
        let table = place.get_ref().as_table().ok_or_else(|| {
            self.bad(place, "policy must hold tables and nothing else".to_owned())
        })?;
        let mut decision = None;
        let mut rule = Rule::new(Decision::Ask);
        let (mut fits, mut not) = (Vec::new(), Vec::new());
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "decision" => decision = Some(self.decision(value)?),
                "tool" => rule.tool = Some(self.text("tool", value)?),
                "server" => rule.server = Some(self.text("server", value)?),
                "command" => rule.command = Some(self.command(value)?),
                "argument" => rule.argument = Some(self.argument(value)?),
                "project" => rule.project = Some(self.project(value)?),
                "reason" => rule.reason = Some(self.text("reason", value)?),
                "fits" => fits = self.examples("fits", value)?,
                "not" => not = self.examples("not", value)?,
                other => {
                    let keys = KEYS.join(", ");
                    return Err(self.bad(
                        key,
                        format!("policy.{other} is no key of a rule; the keys are {keys}"),
                    ));
                }
            }
        }
        rule.decision = decision.ok_or_else(|| {
            self.bad(place, "policy.decision is missing: allow, ask or deny".to_owned())
        })?;
        let names_something = rule.tool.is_some()
            || rule.server.is_some()
            || rule.command.is_some()
            || rule.argument.is_some();
        if !names_something {
            let what = "a rule of policy must say what it is about: tool, server, command or argument \
                        (tool = \"*\" is every tool)";
            return Err(self.bad(place, what.to_owned()));
        }
        if let Some(misfit) = names::misfit(&rule) {
            let at = table.iter().find(|(key, _)| key.get_ref() == misfit.key).map(|it| it.1);
            let what = format!("policy.{}: {}", misfit.key, misfit.what);
            return Err(self.bad(at.unwrap_or(place), what));
        }
        for (example, should) in
            fits.iter().map(|it| (it, true)).chain(not.iter().map(|it| (it, false)))
        {
            self.hold(&rule, example, should)?;
        }
        Ok(rule)
    }

    /// Checks a rule against an example that it must match, or must not match.
    fn hold(&self, rule: &Rule, example: &Spanned<String>, should: bool) -> Result<(), Bad> {
        if decides(rule, example.get_ref()) == should {
            return Ok(());
        }
        let shown: String = example.get_ref().chars().take(200).collect();
        let bare = Rule { reason: None, ..rule.clone() };
        let (key, is) = if should { ("fits", "does not fit") } else { ("not", "fits") };
        Err(self.bad(example, format!("policy.{key}: {shown:?} {is} the rule {bare}")))
    }

    /// Examples: a text or a list of texts.
    fn examples(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<Spanned<String>>, Bad> {
        let one = |it: &Spanned<DeValue<'_>>| Ok(Spanned::new(it.span(), self.text(key, it)?));
        match value.get_ref().as_array() {
            Some(all) => all.iter().map(one).collect(),
            None => Ok(vec![one(value)?]),
        }
    }

    /// A project's root, as an absolute path.
    fn project(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Bad> {
        let text = self.text("project", value)?;
        if text.starts_with('/') {
            return Ok(text);
        }
        Err(self.bad(value, format!("policy.project = {text:?} is not a path that begins with /")))
    }

    fn decision(&self, value: &Spanned<DeValue<'_>>) -> Result<Decision, Bad> {
        match value.get_ref().as_str() {
            Some("allow") => Ok(Decision::Allow),
            Some("ask") => Ok(Decision::Ask),
            Some("deny") => Ok(Decision::Deny),
            Some(_) | None => {
                let shown = shown(value.get_ref());
                Err(self.bad(value, format!("policy.decision = {shown} is not allow, ask or deny")))
            }
        }
    }

    fn text(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<String, Bad> {
        match value.get_ref().as_str() {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            Some(_) | None => {
                let shown = shown(value.get_ref());
                Err(self.bad(value, format!("policy.{key} = {shown} is not a text")))
            }
        }
    }

    /// `"git push"`, or its words as a list.
    fn command(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Bad> {
        let what = "a command such as \"git push\", or its words: [\"git\", \"push\"]";
        let bad = |value: &Spanned<DeValue<'_>>| {
            let shown = shown(value.get_ref());
            self.bad(value, format!("policy.command = {shown} is not {what}"))
        };
        if let Some(text) = value.get_ref().as_str() {
            // Quotes would suggest a shell, and there is none.
            if text.contains(['"', '\'', '\\', '$', '`', ';', '|', '&', '\n']) {
                let shown = shown(value.get_ref());
                let what = "holds signs of the shell; write the words as a list, each as the program \
                            sees it";
                return Err(self.bad(value, format!("policy.command = {shown} {what}")));
            }
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            return if words.is_empty() { Err(bad(value)) } else { Ok(words) };
        }
        let words = value.get_ref().as_array().ok_or_else(|| bad(value))?;
        let word = |it: &Spanned<DeValue<'_>>| {
            it.get_ref().as_str().map(str::to_owned).ok_or_else(|| bad(it))
        };
        let words = words.iter().map(word).collect::<Result<Vec<String>, Bad>>()?;
        match words.first() {
            Some(first) if !first.is_empty() => Ok(words),
            Some(_) | None => Err(bad(value)),
        }
    }

    /// `["path", "src/*"]`.
    fn argument(&self, value: &Spanned<DeValue<'_>>) -> Result<(String, String), Bad> {
        let two = value
            .get_ref()
            .as_array()
            .map(|it| it.iter().map(|it| it.get_ref().as_str()).collect::<Vec<Option<&str>>>());
        match two.as_deref() {
            Some([Some(name), Some(pattern)]) if !name.is_empty() => {
                Ok(((*name).to_owned(), (*pattern).to_owned()))
            }
            Some(_) | None => {
                let shown = shown(value.get_ref());
                let what = "an argument's name and a pattern: [\"path\", \"src/*\"]";
                Err(self.bad(value, format!("policy.argument = {shown} is not {what}")))
            }
        }
    }
}

/// A value for a message: the start of a text, or the kind of any other value.
fn shown(value: &DeValue<'_>) -> Cow<'static, str> {
    match value.as_str() {
        Some(text) => {
            let short: String = text.chars().take(60).collect();
            Cow::Owned(format!("{short:?}"))
        }
        None => Cow::Borrowed(match value {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        }),
    }
}

/// Whether a rule alone decides about an example. The example is a command line if the rule is
/// about commands, else an argument's text, a tool's name or a server's name.
fn decides(rule: &Rule, example: &str) -> bool {
    let literal = |it: &Option<String>| it.as_ref().map(|it| it.replace('*', ""));
    let named = literal(&rule.tool);
    let mut subject = if rule.command.is_some() {
        shell::subject(named.as_deref().filter(|it| !it.is_empty()).unwrap_or("shell"), example)
    } else {
        Subject { tool: named.unwrap_or_default(), ..Subject::default() }
    };
    subject.server = literal(&rule.server);
    match &rule.argument {
        Some((name, _)) if rule.command.is_none() => {
            subject.arguments = vec![(name.clone(), example.to_owned())];
        }
        Some(_) => {}
        None if rule.command.is_some() => {}
        None if rule.tool.is_some() => example.clone_into(&mut subject.tool),
        None => subject.server = Some(example.to_owned()),
    }
    let policy = Policy::new(vec![rule.clone()], Vec::new());
    match (policy.verdict(&subject), rule.decision) {
        (Verdict::Allow, Decision::Allow)
        | (Verdict::Ask(Some(_)), Decision::Ask)
        | (Verdict::Deny(_), Decision::Deny) => true,
        (Verdict::Allow | Verdict::Ask(_) | Verdict::Deny(_), _) => false,
    }
}
