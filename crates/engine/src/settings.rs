//! Settings: the user's `config.toml`, overridden by the project's `punchlist.toml`, overridden by
//! `-c`.
//!
//! An unknown key is an error that names the known keys. A
//! project's file counts only if the user trusts it, and it may only tighten the settings: `keys`
//! says what that means for each key. Policy rules are read from files only; the user's file may
//! allow something, the project's file may only tighten. The front end reads the files and passes
//! in their texts.

mod keys;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use punchlist_formats::prompt::Tag;
use punchlist_model::Limits;
use punchlist_model::guard::Gate;
use punchlist_model::remind::Policy;
use punchlist_model::store::Durability;
use punchlist_sched::sandbox::Sandbox;

use crate::conversation;
use crate::fail::Fail;
use crate::notices;
use crate::policy::rules::{self, Rules, Whose};

pub use keys::seconds;
use keys::{KEYS, is_below, is_for_others};

/// The settings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settings {
    /// Limits on sizes and counts.
    pub limits: Limits,
    /// Whether the user set `limits.open_items`. Then no dialect's own limit applies.
    pub open_items_chosen: bool,
    /// What an acknowledged change survives.
    pub durability: Durability,
    /// The database server of the user's projects, if they are on one.
    pub store: StoreSettings,
    /// The gate setting, if the user set one.
    pub gate: Option<Gate>,
    /// What happens with the shell commands of a model.
    pub sandbox: Sandbox,
    /// When agents are reminded of their lists.
    pub reminders: Policy,
    /// The tag around texts for the model.
    pub tag: Tag,
    /// Whose commands a worker runs without a rule, if the user says so.
    pub work_trust: Option<Vec<String>>,
    /// How a person is told that they are needed or that work has ended.
    pub notify: notices::Settings,
    /// The policy rules.
    pub rules: Rules,
    /// The tables that other parts of the program read, such as `[agent]`, as the user's file and the
    /// command line have them. A project's file cannot set them.
    pub others: serde_json::Map<String, serde_json::Value>,
    /// The tables `[mcp.NAME]` of the user's file, in the order of names. The agent reads them.
    pub mcp: BTreeMap<String, serde_json::Value>,
    /// What was ignored, and why.
    pub notes: Vec<String>,
    /// The settings of the project's file that were ignored because they would loosen something.
    pub loosening: Vec<String>,
}

/// Where plans are, if they are on a database server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoreSettings {
    /// The address of the database.
    pub url: Option<String>,
    /// The name of the project on the server.
    pub project: Option<String>,
    /// A command that prints the password.
    pub password_command: Option<String>,
}

impl Settings {
    /// The settings for conversations with agents.
    pub fn conversation(&self) -> conversation::Settings<'_> {
        conversation::Settings {
            gate: self.gate,
            reminders: &self.reminders,
            tag: &self.tag,
            limits: self.limits,
        }
    }

    /// Adds a configuration file to the settings. `path` is its name in messages.
    pub fn add_file(&mut self, path: &Path, text: &str, whose: Whose) -> Result<(), Fail> {
        let place = path.display().to_string();
        let table: toml::Table = text.parse().map_err(|why: toml::de::Error| {
            let before = why.span().and_then(|it| text.get(..it.start)).unwrap_or_default();
            let line = 1 + before.matches('\n').count();
            Fail::usage(format!("{place}:{line}: {}", why.message().replace('\n', ", ")))
                .hint("fix that line; no part of the file is used until then.")
        })?;
        self.table("", &table, whose).map_err(|why| in_place(why, &place))?;
        self.notes.extend(self.ignored(&place));
        if let Some(servers) = table.get("mcp") {
            self.add_servers(&place, servers, whose)?;
        }
        if table.contains_key("policy") {
            self.add_rules(&place, text, whose)?;
        }
        Ok(())
    }

    /// Adds `KEY=VALUE` pairs of a command line to the settings.
    pub fn add_given(&mut self, given: &[String]) -> Result<(), Fail> {
        for pair in given {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(Fail::usage(format!("-c {pair}: a key and a value are needed"))
                    .hint("write it as `-c limits.title=200`."));
            };
            let key = key.trim();
            // An agent could pass such a rule or program on its own command line.
            if is_below("policy", key) {
                return Err(Fail::usage(format!(
                    "-c {key}: policy rules are only read from files"
                ))
                .hint("write a [[policy]] table into your config.toml."));
            }
            // These name programs to run, or who is sent keys and files.
            for (table, written) in [
                ("mcp", "[mcp.NAME]"),
                ("providers", "[providers.NAME]"),
                ("team", "[[team.members]]"),
                ("workers", "[workers.NAME]"),
            ] {
                if is_below(table, key) {
                    return Err(Fail::usage(format!(
                        "-c {key}: [{table}] is only read from files"
                    ))
                    .hint(format!("write a {written} table into your config.toml.")));
                }
            }
            for (command, table) in
                [("notify.command", "notify"), ("store.password_command", "store")]
            {
                if key == command {
                    return Err(Fail::usage(format!(
                        "-c {key}: a command is only read from files"
                    ))
                    .hint(format!("write it into the table [{table}] of your config.toml.")));
                }
            }
            if key == "work.trust" {
                return Err(Fail::usage("-c work.trust: whom to trust is only read from files")
                    .hint("write it into the table [work] of your config.toml."));
            }
            self.set(key, value.trim()).map_err(|why| in_place(why, "-c"))?;
            if is_for_others(key) && key != "agent.sandbox" {
                self.set_other(key, value.trim());
            }
        }
        Ok(())
    }

    /// Keeps the MCP servers of the user's file. A project's file names none: it could start programs.
    fn add_servers(
        &mut self,
        place: &str,
        servers: &toml::Value,
        whose: Whose,
    ) -> Result<(), Fail> {
        if whose == Whose::Project {
            self.notes.push(format!(
                "ignored [mcp] of {place}: servers of a project are in its .mcp.json"
            ));
            return Ok(());
        }
        let bad = |why: String| {
            Fail::usage(format!("{place}: mcp: {why}"))
                .hint("write a table [mcp.NAME] for each server.")
        };
        self.mcp = serde::Deserialize::deserialize(servers.clone())
            .map_err(|why: toml::de::Error| bad(why.message().to_owned()))?;
        Ok(())
    }

    /// Reads the policy rules in a configuration file.
    fn add_rules(&mut self, place: &str, text: &str, whose: Whose) -> Result<(), Fail> {
        let rules = rules::placed(text).map_err(|bad| {
            Fail::usage(format!("{place}:{}: {}", bad.line, bad.what))
                .hint("fix or remove the rule; docs/policy.md has examples.")
        })?;
        match whose {
            Whose::User => self.rules.user = rules,
            Whose::Project => {
                if let Some(rule) = rules.iter().find(|it| it.rule.project.is_some()) {
                    let line = rule.line;
                    return Err(Fail::usage(format!(
                        "{place}:{line}: policy.project: a project's own rules are about itself"
                    ))
                    .hint("leave the key out; it is for rules in your config.toml."));
                }
                self.rules.project = rules;
            }
        }
        for rule in self.rules.of_no_project().filter(|_| whose == Whose::User) {
            let program = rule.rule.command.iter().flatten().next().cloned();
            self.notes.push(format!(
                "{place}:{}: this rule allows nothing: every project has its own {}; add a line \
                 project = \"/path/of/the/project\"",
                rule.line,
                program.unwrap_or_default()
            ));
        }
        if let ignored @ 1.. = self.rules.ignored() {
            let rules = if ignored == 1 { "1 rule" } else { &format!("{ignored} rules") };
            self.notes.push(format!(
                "ignored {rules} of {place} that allow something: a project may only tighten"
            ));
        }
        Ok(())
    }

    /// A line about the ignored settings of a project's file.
    pub fn ignored(&self, place: &str) -> Option<String> {
        let all = self.loosening.join(", ");
        let said = format!("ignored {all} of {place}: a project may only tighten, never loosen");
        (!all.is_empty()).then_some(said)
    }

    fn table(&mut self, above: &str, table: &toml::Table, whose: Whose) -> Result<(), Fail> {
        for (name, value) in table {
            let key = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
            let text = match value {
                _ if above.is_empty() && is_for_others(&key) => {
                    self.keep_other(&key, value, whose)?;
                    continue;
                }
                toml::Value::Table(inner) => {
                    self.table(&key, inner, whose)?;
                    continue;
                }
                toml::Value::String(text) => text.clone(),
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Float(_)
                | toml::Value::Boolean(_)
                | toml::Value::Datetime(_)
                | toml::Value::Array(_) => value.to_string(),
            };
            match whose {
                Whose::User => self.set(&key, &text)?,
                Whose::Project if !self.tighten(&key, &text)? => {
                    self.loosening.push(format!("{key} = {value}"));
                }
                Whose::Project => {}
            }
        }
        Ok(())
    }

    /// Keeps a table that another part reads.
    fn keep_other(&mut self, key: &str, value: &toml::Value, whose: Whose) -> Result<(), Fail> {
        // These are read elsewhere.
        if ["policy", "mcp"].contains(&key) {
            return Ok(());
        }
        if whose == Whose::Project {
            // A project must not choose who is sent its files, or which commands run.
            self.loosening.push(format!("[{key}]"));
            return Ok(());
        }
        let mut value = value.clone();
        if key == "agent"
            && let Some(sandbox) = value.as_table_mut().and_then(|it| it.remove("sandbox"))
        {
            let text = sandbox.as_str().map_or_else(|| sandbox.to_string(), str::to_owned);
            self.set("agent.sandbox", &text)?;
        }
        if let Ok(value) = serde_json::to_value(value) {
            self.others.insert(key.to_owned(), value);
        }
        Ok(())
    }

    /// Sets a key of another part: `agent.model` to a number, a truth value or a text.
    fn set_other(&mut self, key: &str, value: &str) {
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        let mut names = key.split('.').peekable();
        let mut table = &mut self.others;
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                table.insert(name.to_owned(), value);
                return;
            }
            let below = table.entry(name.to_owned()).or_insert_with(|| serde_json::json!({}));
            if !below.is_object() {
                *below = serde_json::json!({});
            }
            let Some(below) = below.as_object_mut() else { return };
            table = below;
        }
    }

    /// Applies a setting of the project's file, unless it would loosen the user's. Returns whether
    /// it was applied.
    fn tighten(&mut self, key: &str, value: &str) -> Result<bool, Fail> {
        let mut theirs = self.clone();
        theirs.set(key, value)?;
        // A project's number never lifts a dialect's own limit.
        theirs.open_items_chosen = self.open_items_chosen;
        let looseness = KEYS.iter().find(|it| it.name == key).map(|it| it.looseness);
        let is_tight = looseness.is_none_or(|of| match (of(self), of(&theirs)) {
            (Some(users), Some(projects)) => projects <= users,
            (_, _) => theirs == *self,
        });
        if is_tight {
            *self = theirs;
        }
        Ok(is_tight)
    }
}

/// Adds the file or option to the error's message.
fn in_place(mut fail: Fail, place: &str) -> Fail {
    fail.message = format!("{place}: {}", fail.message);
    fail
}
