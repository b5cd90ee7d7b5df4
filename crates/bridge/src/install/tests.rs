//! Installing into many kinds of files, and uninstalling.

mod agents;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::edit::tests::{laid_out, object};
use super::*;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        Self { dir }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), bytes).unwrap();
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(path)).unwrap()).unwrap()
    }

    fn options(&self) -> Options {
        Options {
            agent: Agent::Claude,
            home: self.path("home"),
            config_dir: None,
            scope: Scope::User,
            data: self.path("home/.local/share/punchlist"),
            binary: PathBuf::from("/opt/it's/punchlist"),
            database: PathBuf::from("/data/p.db"),
            plan: None,
            permission: true,
            trust: true,
            own_tools: false,
            version: None,
        }
    }

    /// Every file and directory, with mode and bytes.
    fn tree(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        fn walk(dir: &Path, tree: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                let bytes = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                tree.insert(path.clone(), (meta.mode(), bytes));
                if meta.is_dir() {
                    walk(&path, tree);
                }
            }
        }
        let mut tree = BTreeMap::new();
        walk(self.dir.path(), &mut tree);
        tree
    }
}

const SERVERS: &str = "home/.claude.json";
const SETTINGS: &str = "home/.claude/settings.json";

#[test]
fn an_empty_home_gets_both_files_and_is_empty_again_afterwards() {
    let place = Place::new();
    let before = place.tree();
    let options = place.options();
    assert_eq!(install(&options).unwrap().len(), 2);
    let shown = |path| fs::read_to_string(place.path(path)).unwrap();
    insta::with_settings!({omit_expression => true}, {
        insta::assert_snapshot!("servers", shown(SERVERS));
        insta::assert_snapshot!("settings", shown(SETTINGS));
    });
    assert_eq!(uninstall(&options).unwrap().len(), 2);
    assert_eq!(place.tree(), before);
}

/// Unusual files are edited and restored byte for byte.
#[test]
fn odd_files_are_edited_and_given_back() {
    let others = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}], "Other": []},
        "permissions": {"deny": ["Bash"], "allow": []}}"#;
    let huge = format!("{{\"history\": [{}0]}}", "\"some text\",\n".repeat(30_000));
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(200), "]".repeat(200));
    for (name, text) in [
        ("an empty file", ""),
        ("blanks", " \n\n"),
        ("an empty object", "{}"),
        ("an empty object on two lines", "{\n}\n"),
        ("one line", r#"{"a":1,"permissions":{"allow":["Read"]}}"#),
        (
            "CRLF",
            "{\r\n\t\"permissions\": {\r\n\t\t\"allow\": [\r\n\t\t\t\"Read\"\r\n\t\t]\r\n\t}\r\n}\r\n",
        ),
        ("a mark", "\u{feff}{\n  \"a\": 1\n}"),
        ("doubled keys", "{\"hooks\": {\"Stop\": 3}, \"hooks\": {}, \"permissions\": {}}"),
        ("hooks of others", others),
        ("the permission alone", r#"{"permissions": {"allow": ["mcp__punchlist", "Read"]}}"#),
        ("nesting", &deep),
        ("very much", &huge),
    ] {
        let place = Place::new();
        place.write(SERVERS, text);
        place.write(SETTINGS, text);
        let before = place.tree();
        let options = place.options();
        assert_eq!(would_install(&options).unwrap().len(), 2, "{name}");
        assert_eq!(place.tree(), before, "{name}: looking changes nothing");
        assert_eq!(install(&options).unwrap().len(), 2, "{name}");
        let installed = place.tree();
        assert!(install(&options).unwrap().is_empty(), "{name}: once is enough");
        assert_eq!(place.tree(), installed, "{name}");
        assert_eq!(uninstall(&options).unwrap().len(), 2, "{name}");
        assert_eq!(place.tree(), before, "{name}");
        assert!(uninstall(&options).unwrap().is_empty(), "{name}");
    }
}

/// Claude Code ignores a file with comments or trailing commas, so entries there would have no
/// effect.
#[test]
fn what_the_agent_would_not_load_is_refused_and_can_still_be_cleared() {
    for (file, text, says) in [
        (SETTINGS, "{\n  // mine\n  \"a\": 1\n}", "line 2, column 3: comments are not allowed"),
        (SERVERS, "{\n  \"a\": [1,]\n}", "line 2, column 10: trailing commas are not allowed"),
    ] {
        let place = Place::new();
        place.write(file, text);
        let before = place.tree();
        let error = install(&place.options()).unwrap_err();
        assert_eq!(place.tree(), before);
        let said = format!("{error}; {}", error.hint());
        assert!(said.contains("is not loaded by Claude Code") && said.contains(says), "{said}");
        // A comment that is written later does not prevent uninstalling.
        place.write(file, "{}");
        install(&place.options()).unwrap();
        let ours = fs::read_to_string(place.path(file)).unwrap();
        place.write(file, format!("// mine\n{ours}"));
        assert!(install(&place.options()).is_err());
        uninstall(&place.options()).unwrap();
        assert_eq!(fs::read_to_string(place.path(file)).unwrap(), "// mine\n{}");
    }
}

#[test]
fn what_cannot_be_edited_is_refused_before_anything_is_touched() {
    for (text, says) in [
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 2, column 9"),
        ("{", "line 1, column 1"),
        ("[]", "the file does not contain an object"),
        ("{\"hooks\": []}", "hooks is not an object"),
        ("{\"hooks\": null}", "hooks is not an object"),
        ("{\"hooks\": {\"Stop\": {}}}", "hooks.Stop is not an array"),
        ("{\"permissions\": {\"allow\": \"all\"}}", "permissions.allow is not an array"),
    ] {
        let place = Place::new();
        place.write(SETTINGS, text);
        let before = place.tree();
        let error = install(&place.options()).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.hint().contains("nothing was changed"), "{}", error.hint());
        assert_eq!(place.tree(), before, "{text}");
    }
    let place = Place::new();
    place.write(SERVERS, r#"{"mcpServers": {"punchlist": {"type": "http", "url": "http://x"}}}"#);
    let before = place.tree();
    let error = install(&place.options()).unwrap_err().to_string();
    assert!(error.contains("mcpServers.punchlist is somebody else's server"), "{error}");
    assert_eq!(place.tree(), before);
}

/// The record of one scope would be taken for the other's, and `uninstall` would leave files
/// behind.
#[test]
fn where_the_projects_settings_are_the_users_own_a_project_is_refused() {
    for agent in Agent::ALL {
        let place = Place::new();
        let user = Options { agent, ..place.options() };
        let project = |root| Options { scope: Scope::Project(root), ..user.clone() };
        symlink(place.path("home"), place.path("way")).unwrap();
        let before = place.tree();
        for root in [place.path("home"), place.path("way")] {
            for failed in [
                would_install(&project(root.clone())).unwrap_err(),
                install(&project(root.clone())).unwrap_err(),
                would_uninstall(&project(root.clone())).unwrap_err(),
                uninstall(&project(root.clone())).unwrap_err(),
            ] {
                assert!(matches!(failed, Error::Shared { .. }), "{failed}");
                assert!(failed.hint().contains("leave out `--project`"), "{}", failed.hint());
            }
        }
        assert_eq!(place.tree(), before);
        // With files elsewhere, the home directory is a normal project.
        let elsewhere =
            Options { config_dir: Some(place.path("config")), ..project(place.path("home")) };
        assert!(!elsewhere.is_shared());
        install(&elsewhere).unwrap();
        uninstall(&elsewhere).unwrap();
        assert_eq!(place.tree(), before);
    }
}

#[test]
fn a_permission_of_ours_that_is_not_wanted_any_more_goes_and_one_of_the_users_stays() {
    let allowed = |place: &Place| place.json(SETTINGS)["permissions"]["allow"].clone();
    for (text, left) in [
        ("{}", Value::Null),
        (r#"{"permissions": {"allow": []}}"#, json!([])),
        (r#"{"permissions": {"allow": ["Read"]}}"#, json!(["Read"])),
        (r#"{"permissions": {"allow": ["mcp__punchlist"]}}"#, json!(["mcp__punchlist"])),
    ] {
        let place = Place::new();
        place.write(SETTINGS, text);
        let before = place.tree();
        let with = place.options();
        let without = Options { permission: false, ..place.options() };
        assert!(!is_permitted(&with) || text.contains("mcp__punchlist"));
        install(&with).unwrap();
        assert!(is_permitted(&with));
        install(&without).unwrap();
        assert_eq!(allowed(&place), left, "{text}");
        assert!(install(&without).unwrap().is_empty(), "once is enough");
        install(&with).unwrap();
        install(&without).unwrap();
        uninstall(&with).unwrap();
        assert_eq!(place.tree(), before, "{text}: to the byte, as ever");
    }
    // A permission that the user adds later belongs to the user.
    let place = Place::new();
    let without = Options { permission: false, ..place.options() };
    install(&without).unwrap();
    let mut settings = place.json(SETTINGS);
    settings["permissions"] = json!({"allow": ["mcp__punchlist"]});
    place.write(SETTINGS, settings.to_string());
    assert!(install(&without).unwrap().is_empty());
    uninstall(&without).unwrap();
    assert_eq!(place.json(SETTINGS), json!({"permissions": {"allow": ["mcp__punchlist"]}}));
}

/// The entries are recognised whatever the program is called, also after others have rewritten the
/// file.
#[test]
fn entries_of_a_program_that_was_renamed_are_taken_out() {
    for agent in Agent::ALL {
        let place = Place::new();
        let options = Options { agent, binary: "/opt/pl".into(), ..place.options() };
        let changes = install(&options).unwrap();
        for path in changes.iter().map(|it| &it.path) {
            let text = fs::read_to_string(path).unwrap();
            fs::write(path, format!("{text}\n\n")).unwrap();
        }
        assert!(is_set_up(&options) && install(&options).unwrap().is_empty());
        uninstall(&options).unwrap();
        for path in changes.iter().map(|it| &it.path).filter(|it| it.exists()) {
            let text = fs::read_to_string(path).unwrap();
            assert!(!text.contains("pl"), "{}: {text}", path.display());
        }
    }
}

#[test]
fn a_read_only_file_is_left_alone() {
    let place = Place::new();
    place.write(SETTINGS, "{}");
    fs::set_permissions(place.path(SETTINGS), fs::Permissions::from_mode(0o444)).unwrap();
    let before = place.tree();
    assert!(matches!(install(&place.options()), Err(Error::ReadOnly { .. })));
    assert_eq!(place.tree(), before);
}

#[test]
fn a_link_stays_a_link_and_what_it_leads_to_is_edited() {
    let place = Place::new();
    place.write("dotfiles/claude.json", "{}\n");
    fs::set_permissions(place.path("dotfiles/claude.json"), fs::Permissions::from_mode(0o640))
        .unwrap();
    fs::create_dir(place.path("home/.claude")).unwrap();
    symlink("../../dotfiles/claude.json", place.path(SETTINGS)).unwrap();
    let before = place.tree();
    install(&place.options()).unwrap();
    assert!(fs::symlink_metadata(place.path(SETTINGS)).unwrap().is_symlink());
    assert!(place.json("dotfiles/claude.json")["hooks"]["Stop"].is_array());
    assert_eq!(fs::metadata(place.path("dotfiles/claude.json")).unwrap().mode() & 0o777, 0o640);
    uninstall(&place.options()).unwrap();
    assert_eq!(place.tree(), before);
    fs::remove_file(place.path("dotfiles/claude.json")).unwrap();
    let error = install(&place.options()).unwrap_err().to_string();
    assert!(error.contains("leads nowhere"), "{error}");
}

#[test]
fn another_binary_database_or_plan_takes_the_place_of_the_old_entries() {
    let place = Place::new();
    place.write(SETTINGS, "{\"hooks\": {\"Stop\": [{\"hooks\": []}]}}");
    let before = place.tree();
    let old = place.options();
    install(&old).unwrap();
    let new = Options {
        binary: PathBuf::from("/new/punchlist"),
        database: PathBuf::from("/new/p.db"),
        plan: Some("release".to_owned()),
        ..old
    };
    install(&new).unwrap();
    let server = &place.json(SERVERS)["mcpServers"]["punchlist"];
    assert_eq!(server["args"], json!(["mcp", "--db", "/new/p.db", "--plan", "release"]));
    let settings = place.json(SETTINGS);
    for (event, _) in claude::EVENTS {
        let ours = entries::our_hooks(Agent::Claude, &settings["hooks"][event]);
        assert_eq!(ours.len(), 1, "{event}: {settings:#}");
    }
    assert!(!settings.to_string().contains("it's"), "nothing of the old one");
    assert!(install(&new).unwrap().is_empty());
    uninstall(&new).unwrap();
    assert_eq!(place.tree(), before, "both installations are taken back");
}

#[test]
fn an_event_that_an_earlier_version_heard_of_is_dropped_and_doubles_too() {
    let place = Place::new();
    install(&place.options()).unwrap();
    let mut settings = place.json(SETTINGS);
    let ours = settings["hooks"]["Stop"][0].clone();
    let other = json!({"hooks": [{"type": "command", "command": "theirs"}]});
    settings["hooks"]["Gone"] = json!([ours]);
    settings["hooks"]["Half"] = json!([other, ours]);
    settings["hooks"]["Stop"] = json!([ours, other, ours]);
    settings["hooks"]["SessionEnd"][0]["hooks"] = json!([other["hooks"][0], ours["hooks"][0]]);
    place.write(SETTINGS, settings.to_string());
    install(&place.options()).unwrap();
    let settings = place.json(SETTINGS);
    assert_eq!(settings["hooks"].get("Gone"), None);
    assert_eq!(settings["hooks"]["Half"], json!([other]));
    assert_eq!(settings["hooks"]["Stop"], json!([ours, other]));
    assert_eq!(settings["hooks"]["SessionEnd"][0]["hooks"][0], other["hooks"][0]);
    uninstall(&place.options()).unwrap();
    let left = json!({"hooks": {
        "SessionEnd": [{"hooks": [other["hooks"][0]]}], "Stop": [other], "Half": [other],
    }});
    assert_eq!(place.json(SETTINGS), left);
}

#[test]
fn a_server_that_the_user_had_set_up_by_hand_comes_back() {
    let place = Place::new();
    let own = json!({"command": "punchlist", "args": ["mcp"]});
    place.write(SERVERS, json!({"mcpServers": {"punchlist": own}}).to_string());
    let before = place.tree();
    install(&place.options()).unwrap();
    uninstall(&place.options()).unwrap();
    assert_eq!(place.tree(), before);
    install(&place.options()).unwrap();
    let run = format!("{:#}", place.json(SERVERS));
    place.write(SERVERS, run);
    uninstall(&place.options()).unwrap();
    assert_eq!(place.json(SERVERS)["mcpServers"]["punchlist"], own);
}

#[test]
fn a_permission_that_the_user_had_given_stays() {
    let place = Place::new();
    place.write(SETTINGS, r#"{"permissions": {"allow": ["mcp__punchlist"]}}"#);
    install(&place.options()).unwrap();
    let mut run = place.json(SETTINGS);
    run["model"] = json!("opus");
    place.write(SETTINGS, format!("{run:#}"));
    uninstall(&place.options()).unwrap();
    let left = json!({"permissions": {"allow": ["mcp__punchlist"]}, "model": "opus"});
    assert_eq!(place.json(SETTINGS), left);
}

#[test]
fn without_a_record_ours_is_known_by_its_form_and_empty_things_of_others_stay() {
    let place = Place::new();
    place.write(SETTINGS, r#"{"permissions": {}, "hooks": {"Other": []}}"#);
    place.write(SERVERS, "{}");
    install(&place.options()).unwrap();
    fs::remove_dir_all(place.path("home/.local")).unwrap();
    uninstall(&place.options()).unwrap();
    assert_eq!(place.json(SETTINGS), json!({"hooks": {"Other": []}}));
    assert_eq!(place.json(SERVERS), json!({}));
    place.write(SETTINGS, r#"{"permissions": {"allow": []}, "hooks": {}}"#);
    assert!(uninstall(&place.options()).unwrap().is_empty());
    // An updated installation without a record is removed too.
    install(&place.options()).unwrap();
    fs::remove_dir_all(place.path("home/.local")).unwrap();
    let other = Options { database: PathBuf::from("/other.db"), ..place.options() };
    assert_eq!(install(&other).unwrap().len(), 2);
    uninstall(&other).unwrap();
    assert_eq!(place.json(SERVERS), json!({}));
    assert_eq!(place.json(SETTINGS), json!({}));
}

#[test]
fn without_the_permission_nothing_is_allowed() {
    let place = Place::new();
    let options = Options { permission: false, ..place.options() };
    install(&options).unwrap();
    assert_eq!(place.json(SETTINGS).get("permissions"), None);
}

#[test]
fn places_follow_scope_and_configuration() {
    let place = Place::new();
    let config = Some(place.path("cfg"));
    let in_config = Options { config_dir: config, ..place.options() };
    install(&in_config).unwrap();
    assert!(place.path("cfg/.claude.json").exists() && place.path("cfg/settings.json").exists());
    let project = Options { scope: Scope::Project(place.path("proj")), ..place.options() };
    install(&project).unwrap();
    assert!(place.path("proj/.mcp.json").exists());
    assert!(place.path("proj/.claude/settings.json").exists());
    assert!(!place.path("home/.claude").exists());
    // They can be uninstalled in any order; the last one removes our own directories.
    uninstall(&in_config).unwrap();
    assert!(!place.path("cfg").exists());
    assert!(place.path("home/.local").exists(), "the other's record is there");
    uninstall(&project).unwrap();
    assert_eq!(place.tree().keys().collect::<Vec<_>>(), [&place.path("home")]);
    // An older name of the file, which Claude Code prefers.
    place.write("cfg/.config.json", "{}");
    assert_eq!(in_config.parts()[0].path, place.path("cfg/.config.json"));
}

#[test]
fn what_was_cut_short_is_taken_back_too() {
    let place = Place::new();
    place.write(SERVERS, "{\"a\": 1}");
    place.write(SETTINGS, "{ }");
    let before = place.tree();
    let options = place.options();
    install(&options).unwrap();
    let full = place.tree();
    // Killed after the record was written, and after the first file was.
    for undone in [&[SERVERS, SETTINGS][..], &[SETTINGS]] {
        for path in undone {
            fs::write(place.path(path), &before[&place.path(path)].1).unwrap();
        }
        uninstall(&options).unwrap();
        assert_eq!(place.tree(), before, "{undone:?}");
        install(&options).unwrap();
        assert_eq!(place.tree(), full);
        for path in undone {
            fs::write(place.path(path), &before[&place.path(path)].1).unwrap();
        }
        install(&options).unwrap();
        uninstall(&options).unwrap();
        assert_eq!(place.tree(), before, "{undone:?}");
        install(&options).unwrap();
    }
}

#[test]
fn a_file_that_cannot_be_written_leaves_the_other_as_it_was() {
    let place = Place::new();
    place.write(SERVERS, "{}");
    // A directory cannot be created where a file is.
    place.write("home/.claude", "");
    let before = place.tree();
    assert!(install(&place.options()).is_err());
    assert_eq!(place.tree(), before);
}

#[test]
fn many_at_once_come_to_what_one_comes_to() {
    let place = Place::new();
    place.write(SETTINGS, "{\n  \"a\": 1\n}\n");
    let before = place.tree();
    let options = place.options();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| install(&options).unwrap());
        }
    });
    assert!(install(&options).unwrap().is_empty());
    let text = fs::read_to_string(place.path(SETTINGS)).unwrap();
    assert_eq!(text.matches("hook claude").count(), claude::EVENTS.len());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| uninstall(&options).unwrap());
        }
    });
    assert_eq!(place.tree(), before);
}

#[test]
fn a_change_is_shown_as_a_diff_that_does_nothing_to_a_terminal() {
    let change = Change {
        path: PathBuf::from("/home/me/\u{1b}[31mx"),
        before: Some(b"{\n  \"a\": \"\x1b]0;t\x07\",\n  \"b\": 2\n}".to_vec()),
        after: Some(b"{\n  \"a\": \"\x1b]0;t\x07\",\n  \"b\": 3\n}".to_vec()),
    };
    let shown = diff(&change, false);
    let expected = "--- /home/me/x\n+++ /home/me/x\n@@ -1,4 +1,4 @@\n {\n   \"a\": \"\",\n-  \"b\": 2\n\
                    +  \"b\": 3\n }\n\\ No newline at end of file\n";
    assert_eq!(shown, expected);
    let made = Change { before: None, after: Some(b"{}\n".to_vec()), ..change };
    assert!(diff(&made, false).starts_with("--- /dev/null\n"));
    assert!(diff(&made, true).contains("\u{1b}[32m+{}\u{1b}[0m"));
}

/// A file as Claude Code rewrites it.
fn rewritten(value: &Value) -> String {
    format!("{value:#}\n")
}

fn with_hooks_and_permissions() -> impl Strategy<Value = String> {
    let group = || object().prop_map(|it| json!({"hooks": [it]}));
    let extra = (
        prop::option::of(prop::collection::vec(group(), 0..3)),
        prop::option::of(prop::collection::vec("[A-Z][a-z]{2}", 0..3)),
        prop::bool::ANY,
    );
    (laid_out(), extra).prop_map(|((value, text), (groups, allowed, lines))| {
        if groups.is_none() && allowed.is_none() {
            return text;
        }
        let mut value = value;
        if let Some(groups) = groups {
            value["hooks"] = json!({"Stop": groups});
        }
        if let Some(allowed) = allowed {
            value["permissions"] = json!({"allow": allowed});
        }
        if lines { format!("{value:#}") } else { value.to_string() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn install_and_uninstall_give_back_every_byte(
        (_, servers) in laid_out(),
        settings in with_hooks_and_permissions(),
    ) {
        let place = Place::new();
        place.write(SERVERS, servers);
        place.write(SETTINGS, settings);
        let before = place.tree();
        if install(&place.options()).is_ok() {
            prop_assert!(install(&place.options()).unwrap().is_empty());
            uninstall(&place.options()).unwrap();
        }
        prop_assert_eq!(place.tree(), before);
    }

    #[test]
    fn after_somebody_elses_edit_only_ours_goes(
        settings in with_hooks_and_permissions(),
        foreign in object(),
    ) {
        let place = Place::new();
        place.write(SETTINGS, &settings);
        let mut expected = Document::parse(settings.as_bytes()).unwrap().value();
        if install(&place.options()).is_err() {
            return Ok(());
        }
        let mut run = Document::parse(&fs::read(place.path(SETTINGS)).unwrap()).unwrap().value();
        for it in [&mut run, &mut expected] {
            it["theirs"] = foreign.clone();
        }
        run["hooks"]["Stop"].as_array_mut().unwrap().push(json!({"hooks": [foreign]}));
        let stops = run["hooks"]["Stop"].as_array().unwrap().clone();
        let others: Vec<Value> =
            stops.into_iter().filter(|it| !entries::is_our_hook(Agent::Claude, &it["hooks"][0])).collect();
        expected["hooks"]["Stop"] = Value::from(others);
        place.write(SETTINGS, rewritten(&run));
        uninstall(&place.options()).unwrap();
        let left = fs::read(place.path(SETTINGS)).unwrap();
        prop_assert_eq!(Document::parse(&left).unwrap().value(), expected);
        prop_assert!(!place.path("home/.local").exists());
    }
}
