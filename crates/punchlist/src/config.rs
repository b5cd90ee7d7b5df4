//! Configuration: the user's `config.toml`, over it the project's `punchlist.toml`, over both `-c`.
//!
//! A key that nobody knows is an error that names the known ones, wherever it stands. Keys of later
//! features are passed over. A project's file is used only if it is trusted, and it may only tighten: what
//! that means for each key stands in [`KEYS`]. Rules of policy stand in files alone: the user's may allow,
//! the project's may only tighten.

use std::path::Path;

use punchlist_engine::conversation;
use punchlist_engine::policy::rules::{self, Rules};
use punchlist_engine::policy::trusted_files::{self, FoundFile};
use punchlist_formats::prompt::Tag;
use punchlist_formats::text;
use punchlist_model::Limits;
use punchlist_model::guard::Gate;
use punchlist_model::remind::{Kind, Policy};
use punchlist_store::Durability;

use crate::error::Fail;
use crate::project::Project;
use crate::{places, project};

/// What configuration comes to.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Settings {
    /// How much of anything.
    pub(crate) limits: Limits,
    /// Whether the user chose `limits.open_items`: then no dialect's own cap stands above it.
    pub(crate) open_items_chosen: bool,
    /// What an acknowledged change survives.
    pub(crate) durability: Durability,
    /// How often a stop may be refused, where the user said so.
    pub(crate) gate: Option<Gate>,
    /// When agents are reminded of their lists.
    pub(crate) reminders: Policy,
    /// In what they are told something.
    pub(crate) tag: Tag,
    /// Which calls run, which are asked about, and which never run.
    pub(crate) rules: Rules,
    /// What was ignored, and why.
    pub(crate) notes: Vec<String>,
    /// The settings of the project's file that were ignored because they would loosen something.
    pub(crate) loosening: Vec<String>,
}

/// Whose file it is that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    User,
    Project,
}

/// A key of the configuration.
struct Key {
    name: &'static str,
    /// How loose the settings are by it: a project's file may lower that number, never raise it. Without
    /// a number the key counts in the user's own file alone.
    looseness: fn(&Settings) -> Option<u32>,
}

/// All keys, and what tightens each; `docs/security.md` says the same to users.
const KEYS: [Key; 15] = [
    Key { name: "limits.open_items", looseness: |it| Some(it.limits.open_items) },
    Key { name: "limits.title", looseness: |it| Some(it.limits.title) },
    Key { name: "limits.text", looseness: |it| Some(it.limits.text) },
    Key {
        name: "plan.max_in_progress",
        // Without a number each worker has one: less than two for anybody, more than one in all.
        looseness: |it| match it.limits.max_in_progress {
            Some(1) => Some(1),
            None => Some(2),
            Some(more) => Some(more.saturating_add(1)),
        },
    },
    Key {
        name: "claim.lease",
        // A short lease gives one item to two workers, a long one lets a dead worker keep it.
        looseness: |_| None,
    },
    Key {
        name: "store.durability",
        looseness: |it| match it.durability {
            Durability::Full => Some(0),
            Durability::Normal => Some(1),
        },
    },
    Key {
        name: "gate",
        // Without a setting it is `once` in interactive sessions and `full` in headless ones.
        looseness: |it| match it.gate {
            Some(Gate::Full) => Some(0),
            None => Some(1),
            Some(Gate::Once) => Some(2),
            Some(Gate::Off) => Some(3),
        },
    },
    Key { name: "reminders.initial", looseness: |it| it.reminds(Kind::Initial) },
    Key { name: "reminders.nag", looseness: |it| it.reminds(Kind::Nag) },
    Key { name: "reminders.boundary", looseness: |it| it.reminds(Kind::Boundary) },
    Key { name: "reminders.offer", looseness: |it| it.reminds(Kind::Offer) },
    Key { name: "reminders.per_hour", looseness: |it| Some(it.reminders.per_hour) },
    Key { name: "reminders.nag_after", looseness: |it| Some(u32::MAX - it.reminders.nag_after) },
    Key { name: "reminders.whole_list", looseness: |it| Some(u32::from(it.reminders.whole_list)) },
    Key { name: "reminders.tag", looseness: |_| Some(0) },
];

/// First words of keys that other parts read.
const OTHERS: [&str; 3] = ["policy", "workers", "team"];

/// Reads all layers. A file that is not there costs one look.
pub(crate) fn read(project: &Project, given: &[String]) -> Result<Settings, Fail> {
    let mut settings = Settings::default();
    // Without a home directory there is no user's file; a store named by `--db` still works.
    if let Ok(path) = places::config()
        && path.exists()
    {
        settings.file(&path, &trusted_files::text(&path)?, Whose::User)?;
    }
    let path = project.root.join(project::CONFIG);
    match places::trusted_files().read(&path) {
        Ok(FoundFile::Absent) => {}
        Ok(FoundFile::Trusted(text)) => settings.file(&path, &text, Whose::Project)?,
        Ok(FoundFile::Ignored(why)) => settings.notes.push(why),
        Err(why) => settings.notes.push(format!("ignored {}: {}", path.display(), why.message)),
    }
    for pair in given {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Fail::usage(format!("-c {pair}: a key and a value are needed"))
                .hint("write it as `-c limits.title=200`."));
        };
        let key = key.trim();
        // A rule that a command line could bring along would be one that an agent can bring along.
        if is_below("policy", key) {
            return Err(Fail::usage(format!(
                "-c {key}: rules of policy are read from files alone"
            ))
            .hint("write a [[policy]] table into your config.toml."));
        }
        settings.set(key, value.trim()).map_err(|why| in_place(why, "-c"))?;
        if is_for_others(key) {
            settings.notes.push(format!("-c {key} does nothing yet"));
        }
    }
    Ok(settings)
}

/// Where a project keeps its own database.
pub(crate) fn own_database(project: &Project) -> std::path::PathBuf {
    project.root.join(project::FOLDER).join("punchlist.db")
}

impl Settings {
    /// What conversations with agents depend on.
    pub(crate) fn conversation(&self) -> conversation::Settings<'_> {
        conversation::Settings {
            gate: self.gate,
            reminders: &self.reminders,
            tag: &self.tag,
            limits: self.limits,
        }
    }

    fn file(&mut self, path: &Path, text: &str, whose: Whose) -> Result<(), Fail> {
        let place = path.display().to_string();
        let table: toml::Table = text.parse().map_err(|why: toml::de::Error| {
            let before = why.span().and_then(|it| text.get(..it.start)).unwrap_or_default();
            let line = 1 + before.matches('\n').count();
            Fail::usage(format!("{place}:{line}: {}", why.message().replace('\n', ", ")))
                .hint("mend that line; nothing is done with half a configuration.")
        })?;
        self.table("", &table, whose).map_err(|why| in_place(why, &place))?;
        self.notes.extend(not_yet(&table).map(|it| format!("{place}: {it}")));
        self.notes.extend(self.ignored(&place));
        if table.contains_key("policy") {
            let rules = rules::placed(text).map_err(|bad| {
                Fail::usage(format!("{place}:{}: {}", bad.line, bad.what))
                    .hint("mend the rule or take it out; docs/policy.md has examples.")
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
        }
        Ok(())
    }

    /// Which settings of a project's file were ignored, in one line.
    pub(crate) fn ignored(&self, place: &str) -> Option<String> {
        let all = self.loosening.join(", ");
        let said = format!("ignored {all} of {place}: a project may only tighten, never loosen");
        (!all.is_empty()).then_some(said)
    }

    fn table(&mut self, above: &str, table: &toml::Table, whose: Whose) -> Result<(), Fail> {
        for (name, value) in table {
            let key = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
            let text = match value {
                toml::Value::Table(_) if is_for_others(&key) => continue,
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

    /// Sets what a project's file says, unless that would loosen what the user has. Gives whether it did.
    fn tighten(&mut self, key: &str, value: &str) -> Result<bool, Fail> {
        let mut theirs = self.clone();
        theirs.set(key, value)?;
        // A project's number stands below a dialect's own cap, never in its place.
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

    fn set(&mut self, key: &str, value: &str) -> Result<(), Fail> {
        let limits = &mut self.limits;
        match key {
            "limits.open_items" => {
                limits.open_items = count(key, value)?;
                self.open_items_chosen = true;
            }
            "limits.title" => limits.title = count(key, value)?,
            "limits.text" => limits.text = count(key, value)?,
            "plan.max_in_progress" => limits.max_in_progress = Some(count(key, value)?),
            "claim.lease" => limits.lease_seconds = seconds(key, value)?,
            "store.durability" => self.durability = durability(key, value)?,
            "gate" => self.gate = Some(gate(key, value)?),
            "reminders.initial" => self.remind(Kind::Initial, switch(key, value)?),
            "reminders.nag" => self.remind(Kind::Nag, switch(key, value)?),
            "reminders.boundary" => self.remind(Kind::Boundary, switch(key, value)?),
            "reminders.offer" => self.remind(Kind::Offer, switch(key, value)?),
            "reminders.per_hour" => self.reminders.per_hour = count(key, value)?,
            "reminders.nag_after" => self.reminders.nag_after = count(key, value)?,
            "reminders.whole_list" => self.reminders.whole_list = switch(key, value)?,
            "reminders.tag" => {
                let what = "the name of a tag: letters, digits, - and _";
                self.tag = Tag::new(value).ok_or_else(|| bad(key, value, what))?;
            }
            _ if is_for_others(key) => {}
            _ => {
                return Err(Fail::usage(format!("unknown key {key:?}"))
                    .hint(format!("the keys are {}.", KEYS.map(|it| it.name).join(", "))));
            }
        }
        Ok(())
    }
}

impl Settings {
    /// Whether reminders of this kind are given, as a number.
    fn reminds(&self, kind: Kind) -> Option<u32> {
        Some(u32::from(!self.reminders.off.contains(&kind)))
    }

    fn remind(&mut self, kind: Kind, on: bool) {
        if on {
            self.reminders.off.remove(&kind);
        } else {
            self.reminders.off.insert(kind);
        }
    }
}

/// That parts of a configuration do nothing in this version, in one line.
fn not_yet(table: &toml::Table) -> Option<String> {
    let workers = table.get("workers").and_then(toml::Value::as_table);
    let mut parts: Vec<String> =
        workers.into_iter().flat_map(|it| it.keys()).map(|it| format!("[workers.{it}]")).collect();
    if table.contains_key("workers") && parts.is_empty() {
        parts.push("[workers]".to_owned());
    }
    if table.contains_key("team") {
        parts.insert(0, "[team]".to_owned());
    }
    let does = if parts.len() == 1 { "does" } else { "do" };
    (!parts.is_empty()).then(|| format!("{} {does} nothing yet", parts.join(", ")))
}

fn is_for_others(key: &str) -> bool {
    OTHERS.iter().any(|it| is_below(it, key))
}

fn is_below(name: &str, key: &str) -> bool {
    key.split('.').next() == Some(name)
}

fn bad(key: &str, value: &str, what: &str) -> Fail {
    Fail::usage(format!("{key} = {value:?} is not {what}"))
        .hint(format!("leave {key} out to have what is usual."))
}

fn count(key: &str, value: &str) -> Result<u32, Fail> {
    let what = "a whole number from 1 up";
    value.parse().ok().filter(|number| *number > 0).ok_or_else(|| bad(key, value, what))
}

/// `90`, `90s`, `15m`, `2h` or `1d`.
pub(crate) fn seconds(key: &str, value: &str) -> Result<u32, Fail> {
    let what = "a time such as 90s, 15m or 2h";
    text::seconds(value).filter(|it| *it > 0).ok_or_else(|| bad(key, value, what))
}

fn durability(key: &str, value: &str) -> Result<Durability, Fail> {
    match value {
        "full" => Ok(Durability::Full),
        "normal" => Ok(Durability::Normal),
        _ => Err(bad(key, value, "full or normal")),
    }
}

fn gate(key: &str, value: &str) -> Result<Gate, Fail> {
    value.parse().map_err(|_| bad(key, value, "off, once or full"))
}

fn switch(key: &str, value: &str) -> Result<bool, Fail> {
    match value {
        "true" | "on" => Ok(true),
        "false" | "off" => Ok(false),
        _ => Err(bad(key, value, "true or false")),
    }
}

/// The failure, with the file or option that it came in by.
fn in_place(mut fail: Fail, place: &str) -> Fail {
    fail.message = format!("{place}: {}", fail.message);
    fail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(pairs: &[(&str, &str)]) -> Result<Settings, String> {
        let mut settings = Settings::default();
        for (key, value) in pairs {
            settings.set(key, value).map_err(|fail| fail.message)?;
        }
        Ok(settings)
    }

    #[test]
    fn every_known_key_can_be_set() {
        let settings = set(&[
            ("limits.open_items", "7"),
            ("limits.title", "8"),
            ("limits.text", "9"),
            ("plan.max_in_progress", "2"),
            ("claim.lease", "2h"),
            ("store.durability", "normal"),
            ("gate", "off"),
            ("reminders.initial", "false"),
            ("reminders.nag", "off"),
            ("reminders.boundary", "false"),
            ("reminders.offer", "false"),
            ("reminders.nag", "on"),
            ("reminders.offer", "true"),
            ("reminders.per_hour", "2"),
            ("reminders.nag_after", "25"),
            ("reminders.whole_list", "true"),
            ("reminders.tag", "<system-reminder>"),
        ])
        .unwrap();
        let limits = Limits {
            open_items: 7,
            title: 8,
            text: 9,
            max_in_progress: Some(2),
            lease_seconds: 7200,
        };
        assert_eq!((settings.limits, settings.open_items_chosen), (limits, true));
        assert_eq!((settings.durability, settings.gate), (Durability::Normal, Some(Gate::Off)));
        let off = [Kind::Initial, Kind::Boundary].into();
        let reminders = Policy { off, per_hour: 2, nag_after: 25, whole_list: true };
        assert_eq!(settings.reminders, reminders);
        assert_eq!(settings.tag, Tag::new("system-reminder").unwrap());
        for key in KEYS.map(|it| it.name) {
            assert!(set(&[(key, "no sense")]).is_err(), "{key}");
        }
    }

    #[test]
    fn a_projects_file_tightens_the_gate_and_never_loosens_it() {
        use Gate::{Full, Off, Once};
        for (users, projects, expected) in [
            (None, Full, Some(Full)),
            (None, Once, None),
            (None, Off, None),
            (Some(Off), Once, Some(Once)),
            (Some(Once), Off, Some(Once)),
            (Some(Once), Full, Some(Full)),
            (Some(Full), Once, Some(Full)),
        ] {
            let mut settings = Settings { gate: users, ..Settings::default() };
            settings.tighten("gate", projects.as_str()).unwrap();
            assert_eq!(settings.gate, expected, "{users:?} {projects:?}");
        }
    }

    #[test]
    fn a_projects_file_tightens_each_key_and_loosens_none() {
        // What the user set (nothing, if empty), what the project's file says, and whether that counts.
        for (key, users, projects, counts) in [
            ("limits.open_items", "", "99", true),
            ("limits.open_items", "", "101", false),
            ("limits.open_items", "200", "150", true),
            ("limits.open_items", "20", "30", false),
            ("limits.title", "", "499", true),
            ("limits.title", "", "501", false),
            ("limits.text", "", "19999", true),
            ("limits.text", "", "20001", false),
            ("plan.max_in_progress", "", "1", true),
            ("plan.max_in_progress", "", "2", false),
            ("plan.max_in_progress", "4", "3", true),
            ("plan.max_in_progress", "4", "5", false),
            ("claim.lease", "", "1m", false),
            ("claim.lease", "", "1h", false),
            ("claim.lease", "", "15m", true),
            ("store.durability", "normal", "full", true),
            ("store.durability", "", "normal", false),
            ("reminders.initial", "", "off", true),
            ("reminders.initial", "off", "on", false),
            ("reminders.nag", "", "off", true),
            ("reminders.nag", "off", "on", false),
            ("reminders.boundary", "", "off", true),
            ("reminders.boundary", "off", "on", false),
            ("reminders.offer", "", "off", true),
            ("reminders.offer", "off", "on", false),
            ("reminders.per_hour", "", "5", true),
            ("reminders.per_hour", "", "7", false),
            ("reminders.nag_after", "", "11", true),
            ("reminders.nag_after", "", "9", false),
            ("reminders.whole_list", "on", "off", true),
            ("reminders.whole_list", "", "on", false),
            ("reminders.tag", "", "note", true),
        ] {
            let own: Vec<_> =
                Some((key, users)).filter(|it| !it.1.is_empty()).into_iter().collect();
            let before = set(&own).unwrap();
            let mut after = before.clone();
            let is_ignored = !after.tighten(key, projects).unwrap();
            let expected = if counts {
                let mut both =
                    set(&own.into_iter().chain([(key, projects)]).collect::<Vec<_>>()).unwrap();
                both.open_items_chosen = before.open_items_chosen;
                both
            } else {
                before
            };
            assert_eq!((after, is_ignored), (expected, !counts), "{key} {users} {projects}");
        }
    }

    #[test]
    fn the_documents_say_of_each_key_what_a_project_may_do() {
        let page = include_str!("../../../docs/security.md");
        for name in KEYS.map(|it| it.name) {
            let row = format!("\n| `{name}` | ");
            assert!(page.contains(&row), "docs/security.md has no row for {name}");
        }
    }

    #[test]
    fn bad_values_are_named() {
        for (key, value) in [
            ("limits.title", "0"),
            ("limits.title", "-3"),
            ("limits.title", "99999999999"),
            ("claim.lease", ""),
            ("claim.lease", "m"),
            ("claim.lease", "5 weeks"),
            ("claim.lease", "99999999d"),
            ("claim.lease", "5é"),
            ("store.durability", "off"),
            ("gate", "on"),
            ("gate", "default"),
            ("reminders.nag", "sometimes"),
            ("reminders.nag_after", "0"),
        ] {
            let message = set(&[(key, value)]).unwrap_err();
            assert!(message.contains(key) && message.contains("is not"), "{message}");
        }
        assert_eq!(set(&[("limit.title", "3")]).unwrap_err(), "unknown key \"limit.title\"");
    }

    #[test]
    fn keys_of_later_features_are_passed_over() {
        let table: toml::Table =
            "gate = 'once'\n[reminders]\nnag = false\n[[policy]]\ntool = 'x'\n\
            [workers.claude]\nmodel = 'a'\n[team]\nlead = 'b'\n[limits]\ntitle = 9\n"
                .parse()
                .unwrap();
        let mut settings = Settings::default();
        settings.table("", &table, Whose::User).unwrap();
        assert_eq!(settings.limits.title, 9);
        assert_eq!(settings.gate, Some(Gate::Once));
        assert_eq!(settings.reminders.off, [Kind::Nag].into());
    }
}
