//! The keys of the configuration: their values, and what a project's file may change.

use std::time::Duration;

use punchlist_formats::prompt::Tag;
use punchlist_formats::text;
use punchlist_model::guard::Gate;
use punchlist_model::remind::Kind;
use punchlist_model::store::Durability;

use super::Settings;
use crate::fail::Fail;
use crate::notices::{Channel, TerminalSetting};

/// A key of the configuration.
pub(super) struct Key {
    pub(super) name: &'static str,
    /// How loose a setting is: a project's file may lower this number, never raise it. Without a
    /// number, the key only counts in the user's own file.
    pub(super) looseness: fn(&Settings) -> Option<u32>,
}

/// All keys, and how loose each setting is. `docs/security.md` says the same to users.
pub(super) const KEYS: [Key; 23] = [
    Key { name: "limits.open_items", looseness: |it| Some(it.limits.open_items) },
    Key { name: "limits.title", looseness: |it| Some(it.limits.title) },
    Key { name: "limits.text", looseness: |it| Some(it.limits.text) },
    Key {
        name: "plan.max_in_progress",
        // Without a number each worker may have one item in progress. That is looser than a limit
        // of 1, and tighter than a limit of 2.
        looseness: |it| match it.limits.max_in_progress {
            Some(1) => Some(1),
            None => Some(2),
            Some(more) => Some(more.saturating_add(1)),
        },
    },
    Key {
        name: "claim.lease",
        // A short lease gives one item to two workers; a long one lets a dead worker keep it.
        looseness: |_| None,
    },
    Key {
        name: "store.durability",
        looseness: |it| match it.durability {
            Durability::Full => Some(0),
            Durability::Normal => Some(1),
        },
    },
    // A project must not choose where its plans go, or start a program.
    Key { name: "store.url", looseness: |_| None },
    Key { name: "store.project", looseness: |_| None },
    Key { name: "store.password_command", looseness: |_| None },
    Key {
        name: "gate",
        // Without a setting the gate is `once` in interactive sessions and `full` in headless ones.
        looseness: |it| match it.gate {
            Some(Gate::Full) => Some(0),
            None => Some(1),
            Some(Gate::Once) => Some(2),
            Some(Gate::Off) => Some(3),
        },
    },
    Key {
        name: "agent.sandbox",
        // `auto` asks less, and `off` limits less: neither is the tighter one.
        looseness: |_| None,
    },
    // A command is a program of the user's, and a project must not choose how a person is told.
    Key { name: "notify.command", looseness: |_| None },
    Key { name: "notify.terminal", looseness: |_| None },
    Key { name: "notify.after", looseness: |_| None },
    // A project must not choose whose commands run on this machine.
    Key { name: "work.trust", looseness: |_| None },
    Key { name: "reminders.initial", looseness: |it| it.reminds(Kind::Initial) },
    Key { name: "reminders.nag", looseness: |it| it.reminds(Kind::Nag) },
    Key { name: "reminders.boundary", looseness: |it| it.reminds(Kind::Boundary) },
    Key { name: "reminders.offer", looseness: |it| it.reminds(Kind::Offer) },
    Key { name: "reminders.per_hour", looseness: |it| Some(it.reminders.per_hour) },
    Key { name: "reminders.nag_after", looseness: |it| Some(u32::MAX - it.reminders.nag_after) },
    Key { name: "reminders.whole_list", looseness: |it| Some(u32::from(it.reminders.whole_list)) },
    Key { name: "reminders.tag", looseness: |_| Some(0) },
];

/// The first words of keys that other parts read.
const OTHERS: [&str; 7] = ["policy", "workers", "team", "agent", "providers", "prices", "mcp"];

/// A text, unless it is blank.
fn given(value: &str) -> Option<String> {
    Some(value.to_owned()).filter(|it| !it.trim().is_empty())
}

impl Settings {
    /// Sets a key to a value.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), Fail> {
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
            "store.url" => self.store.url = given(value),
            "store.project" => self.store.project = given(value),
            "store.password_command" => self.store.password_command = given(value),
            "gate" => self.gate = Some(gate(key, value)?),
            "agent.sandbox" => {
                self.sandbox = value.parse().map_err(|()| bad(key, value, "auto, ask or off"))?;
            }
            "notify.command" => {
                self.notify.command = given(value);
            }
            "notify.terminal" => self.notify.terminal = Some(terminal(key, value)?),
            "notify.after" => {
                self.notify.after = Duration::from_secs(u64::from(delay(key, value)?));
            }
            "work.trust" => self.work_trust = Some(names(key, value)?),
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

/// Whether other parts of the program read this key.
pub(super) fn is_for_others(key: &str) -> bool {
    OTHERS.iter().any(|it| is_below(it, key))
}

/// Whether a key is the table `name` or is in it.
pub(super) fn is_below(name: &str, key: &str) -> bool {
    key.split('.').next() == Some(name)
}

fn bad(key: &str, value: &str, what: &str) -> Fail {
    Fail::usage(format!("{key} = {value:?} is not {what}"))
        .hint(format!("leave {key} out to use the default."))
}

fn count(key: &str, value: &str) -> Result<u32, Fail> {
    let what = "a whole number of at least 1";
    value.parse().ok().filter(|number| *number > 0).ok_or_else(|| bad(key, value, what))
}

/// Parses `90`, `90s`, `15m`, `2h` or `1d`.
pub fn seconds(key: &str, value: &str) -> Result<u32, Fail> {
    let what = "a time such as 90s, 15m or 2h";
    text::seconds(value).filter(|it| *it > 0).ok_or_else(|| bad(key, value, what))
}

/// The same, or 0.
fn delay(key: &str, value: &str) -> Result<u32, Fail> {
    text::seconds(value).ok_or_else(|| bad(key, value, "a time such as 0s, 10s or 2m"))
}

fn terminal(key: &str, value: &str) -> Result<TerminalSetting, Fail> {
    Ok(match value {
        "auto" => TerminalSetting::Auto,
        "osc9" => TerminalSetting::Channel(Channel::Osc9),
        "osc777" => TerminalSetting::Channel(Channel::Osc777),
        "bell" => TerminalSetting::Channel(Channel::Bell),
        "off" => TerminalSetting::Off,
        _ => return Err(bad(key, value, "auto, osc9, osc777, bell or off")),
    })
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

/// Parses a list of names: an array of TOML.
fn names(key: &str, value: &str) -> Result<Vec<String>, Fail> {
    let table: Option<toml::Table> = format!("names = {value}").parse().ok();
    let names = table.as_ref().and_then(|it| it.get("names")?.as_array());
    let names = names.map(|it| it.iter().map(|it| it.as_str().map(str::to_owned)));
    let names = names.and_then(|it| it.collect::<Option<Vec<String>>>());
    names.ok_or_else(|| bad(key, value, "a list of names, such as [\"ann\", \"ci\"]"))
}
