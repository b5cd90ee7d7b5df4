//! Each key can be set, and a project's file can only tighten.

use std::time::Duration;

use punchlist_model::remind::Kind;

use super::*;
use crate::notices::{Channel, TerminalSetting};

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
        ("agent.sandbox", "ask"),
        ("notify.command", "notify-send hello"),
        ("notify.terminal", "bell"),
        ("notify.after", "0s"),
        ("reminders.initial", "false"),
        ("reminders.nag", "off"),
        ("reminders.boundary", "false"),
        ("reminders.offer", "false"),
        ("reminders.nag", "on"),
        ("reminders.offer", "true"),
        ("reminders.per_hour", "2"),
        ("reminders.nag_after", "25"),
        ("work.trust", "[\"ann\", \"ci\"]"),
        ("reminders.whole_list", "true"),
        ("reminders.tag", "<system-reminder>"),
    ])
    .unwrap();
    let limits =
        Limits { open_items: 7, title: 8, text: 9, max_in_progress: Some(2), lease_seconds: 7200 };
    assert_eq!((settings.limits, settings.open_items_chosen), (limits, true));
    assert_eq!((settings.durability, settings.gate), (Durability::Normal, Some(Gate::Off)));
    assert_eq!(settings.sandbox, Sandbox::Ask);
    let notify = notices::Settings {
        command: Some("notify-send hello".to_owned()),
        terminal: Some(TerminalSetting::Channel(Channel::Bell)),
        after: Duration::ZERO,
    };
    assert_eq!(settings.notify, notify);
    let off = [Kind::Initial, Kind::Boundary].into();
    let reminders = Policy { off, per_hour: 2, nag_after: 25, whole_list: true };
    assert_eq!(settings.reminders, reminders);
    assert_eq!(settings.tag, Tag::new("system-reminder").unwrap());
    assert_eq!(settings.work_trust, Some(vec!["ann".to_owned(), "ci".to_owned()]));
    // Any text may be a command, an address or a name.
    let any_text = ["notify.command", "store.url", "store.project", "store.password_command"];
    for key in KEYS.map(|it| it.name).into_iter().filter(|it| !any_text.contains(it)) {
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
    // The user's value (empty: none), the project's value, and whether the project's value counts.
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
        let own: Vec<_> = Some((key, users)).filter(|it| !it.1.is_empty()).into_iter().collect();
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
    let page = include_str!("../../../../docs/security.md");
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
fn keys_of_later_features_are_ignored() {
    let table: toml::Table = "gate = 'once'\n[reminders]\nnag = false\n[[policy]]\ntool = 'x'\n\
        [workers.claude]\nmodel = 'a'\n[team]\nlead = 'b'\n[limits]\ntitle = 9\n"
        .parse()
        .unwrap();
    let mut settings = Settings::default();
    settings.table("", &table, Whose::User).unwrap();
    assert_eq!(settings.limits.title, 9);
    assert_eq!(settings.gate, Some(Gate::Once));
    assert_eq!(settings.reminders.off, [Kind::Nag].into());
}

#[test]
fn notices_are_set_in_the_users_file_only() {
    let text = "[notify]\ncommand = 'evil'\nterminal = 'off'\n";
    let mut settings = Settings::default();
    settings.add_file(Path::new("punchlist.toml"), text, Whose::Project).unwrap();
    assert_eq!(settings.notify, notices::Settings::default());
    assert_eq!(settings.loosening.len(), 2, "{:?}", settings.loosening);
    let given = settings.add_given(&["notify.command=evil".to_owned()]).unwrap_err();
    assert_eq!(given.message, "-c notify.command: a command is only read from files");
    settings.add_given(&["notify.terminal=off".to_owned()]).unwrap();
    settings.add_file(Path::new("config.toml"), text, Whose::User).unwrap();
    assert_eq!(settings.notify.command.as_deref(), Some("evil"));
}

#[test]
fn servers_are_read_from_the_users_file_only() {
    let text =
        "[mcp.db]\ncommand = ['db', '--stdio']\ntimeout = 5\n[mcp.web]\nurl = 'https://a/'\n";
    let mut settings = Settings::default();
    settings.add_file(Path::new("config.toml"), text, Whose::User).unwrap();
    let servers = serde_json::json!({
        "db": {"command": ["db", "--stdio"], "timeout": 5},
        "web": {"url": "https://a/"},
    });
    assert_eq!(serde_json::to_value(&settings.mcp).unwrap(), servers);
    let mut settings = Settings::default();
    settings.add_file(Path::new("punchlist.toml"), text, Whose::Project).unwrap();
    assert!(settings.mcp.is_empty());
    assert_eq!(
        settings.notes,
        ["ignored [mcp] of punchlist.toml: servers of a project are in its .mcp.json"]
    );
    let given = settings.add_given(&["mcp.x.command=['sh']".to_owned()]).unwrap_err();
    assert_eq!(given.message, "-c mcp.x.command: [mcp] is only read from files");
    for text in ["mcp = 3", "[[mcp]]"] {
        let bad = settings.add_file(Path::new("c"), text, Whose::User).unwrap_err();
        assert!(bad.message.starts_with("c: mcp: "), "{}", bad.message);
    }
}
