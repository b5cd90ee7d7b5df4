//! The doctor with working and broken programs: small scripts in place of `punchlist`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use punchlist_formats::hook::Agent;
use serde_json::{Value, json};

use super::*;

/// A script that answers like Punchlist.
const WELL: &str = r#"#!/bin/sh
case $1 in
--version) echo "punchlist 1.2.3";;
hook) cat >/dev/null; echo '{"systemMessage":"punchlist 1.2.3"}';;
mcp) read -r line
     echo '{"jsonrpc":"2.0","method":"notifications/message"}'
     echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}'
     read -r line; read -r line
     echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"},{"name":"b"}]}}';;
esac
"#;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new(script: &str) -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.path("project")).unwrap();
        place.program("punchlist", script);
        place.program("claude", "#!/bin/sh\necho '9.8.7 (Claude Code)'\n");
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn program(&self, name: &str, script: &str) {
        // Written under another name and renamed, because a file that is open for writing cannot be
        // run.
        fs::write(self.path("new"), script).unwrap();
        fs::set_permissions(self.path("new"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(self.path("new"), self.path(name)).unwrap();
    }

    fn options(&self) -> Options {
        Options {
            install: install::Options {
                agent: Agent::Claude,
                home: self.path("home"),
                config_dir: None,
                scope: Scope::User,
                data: self.path("data"),
                binary: self.path("punchlist"),
                database: self.path("p.db"),
                plan: None,
                permission: true,
                trust: true,
                own_tools: false,
                version: None,
            },
            program: Some(self.path("claude")),
            version: "1.2.3".to_owned(),
            directory: self.path("project"),
            patience: Duration::from_secs(20),
            running: Vec::new(),
        }
    }

    /// Writes Claude Code's own state of a directory.
    fn state(&self, directory: &str, state: &Value) {
        fs::create_dir_all(self.path("home")).unwrap();
        let path = self.path("home/.claude.json");
        let text = fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
        let mut servers: Value = serde_json::from_str(&text).unwrap();
        servers["projects"][directory] = state.clone();
        fs::write(&path, servers.to_string()).unwrap();
    }

    /// The findings, one per line, without what differs from run to run.
    fn told(&self, options: &Options) -> String {
        let report = agent(options);
        let mut out = String::new();
        for it in &report.findings {
            out.push_str(&format!("{} {}: {}\n", it.state.name(), it.about, it.said));
            if let Some(fix) = &it.fix {
                out.push_str(&format!("  {fix}\n"));
            }
        }
        let mut words = Vec::new();
        for line in out.replace(&format!("{}/", self.dir.path().display()), "/w/").lines() {
            let mut line = line.to_owned();
            if let Some((before, _)) = line.rsplit_once(" ms") {
                let cut = before.trim_end_matches(|it: char| it.is_ascii_digit()).len();
                line.replace_range(cut..before.len(), "N");
            }
            words.push(line);
        }
        words.join("\n") + "\n"
    }
}

macro_rules! told {
    ($name:expr, $text:expr) => {
        insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!($name, $text) })
    };
}

#[test]
fn what_works_is_said_in_a_line_each() {
    let place = Place::new(WELL);
    let options = place.options();
    told!("not_set_up", place.told(&options));
    install::install(&options.install).unwrap();
    told!("works", place.told(&options));
    assert!(is_well(&agent(&options).findings));
    assert_eq!(agent(&options).databases, [place.path("p.db")]);
}

#[test]
fn what_does_not_work_is_said_with_what_mends_it() {
    for (name, script) in [
        ("silent", "#!/bin/sh\nexit 0\n"),
        ("crashing", "#!/bin/sh\nexit 3\n"),
        ("babbling", "#!/bin/sh\necho '{\"decision\":\"approve\"}'\n"),
        (
            "refusing",
            "#!/bin/sh\necho '{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"message\":\"no\"}}'\ncat\n",
        ),
        ("another_version", &WELL.replace("1.2.3", "1.0.0")),
    ] {
        let place = Place::new(script);
        let options = place.options();
        install::install(&options.install).unwrap();
        told!(name, place.told(&options));
        assert_eq!(is_well(&agent(&options).findings), name == "another_version");
    }
}

#[test]
fn a_program_that_hangs_is_ended_with_all_it_started() {
    let place = Place::new("#!/bin/sh\nsleep 1000 & echo $! >> \"$0.pids\"; wait\n");
    let patience = Duration::from_millis(1500);
    let options = Options { patience, program: None, ..place.options() };
    install::install(&options.install).unwrap();
    told!("hanging", place.told(&options));
    for pid in fs::read_to_string(place.path("punchlist.pids")).unwrap().lines() {
        let state = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_over = |state: &str| state.is_empty() || state.contains(") Z ");
        // A signal takes effect with a delay.
        let until = Instant::now() + Duration::from_secs(20);
        while !is_over(&state()) && Instant::now() < until {
            std::thread::yield_now();
        }
        assert!(is_over(&state()), "{}", state());
    }
}

#[test]
fn entries_that_were_changed_or_lost_are_named() {
    let place = Place::new(WELL);
    let options = place.options();
    let with_plan = install::Options {
        plan: Some("release".to_owned()),
        database: place.path("other.db"),
        ..options.install.clone()
    };
    install::install(&with_plan).unwrap();
    assert!(is_well(&agent(&options).findings), "{}", place.told(&options));
    let path = place.path("home/.claude/settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    settings["hooks"]["Stop"] = json!([]);
    settings["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"] = json!(60);
    settings["hooks"]["Old"] = settings["hooks"]["SessionStart"].clone();
    settings["permissions"] = json!({"allow": [], "deny": ["mcp__punchlist"]});
    settings["disableAllHooks"] = json!(true);
    fs::write(&path, settings.to_string()).unwrap();
    fs::write(place.path("home/.claude.json"), "{}").unwrap();
    told!("changed", place.told(&options));
    fs::write(&path, "{\n  oops").unwrap();
    told!("malformed", place.told(&options));
    fs::write(&path, format!("// mine\n{settings}")).unwrap();
    told!("not_loaded", place.told(&options));
}

/// Without `alwaysLoad` the model sees only the names of the tools, and only when it searches.
#[test]
fn a_server_that_is_not_always_loaded_is_told() {
    let place = Place::new(WELL);
    let options = place.options();
    install::install(&options.install).unwrap();
    let path = place.path("home/.claude.json");
    let good: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let tools = || agent(&options).findings.into_iter().find(|it| it.about == "tools");
    assert!(tools().is_none(), "{}", place.told(&options));
    for lost in [Value::Null, json!(false), json!("true")] {
        let mut changed = good.clone();
        changed["mcpServers"]["punchlist"]["alwaysLoad"] = lost;
        fs::write(&path, changed.to_string()).unwrap();
        let found = tools().unwrap();
        assert_eq!(
            (found.state.name(), found.said.as_str(), found.fix.as_deref()),
            (
                "broken",
                "the plan tools are deferred: Claude Code does not show them to the model",
                Some("punchlist install claude")
            ),
        );
        assert!(!is_well(&agent(&options).findings));
    }
    // Installing again fixes it.
    install::install(&options.install).unwrap();
    assert!(is_well(&agent(&options).findings), "{}", place.told(&options));
}

#[test]
fn a_missing_permission_is_told_with_what_comes_of_it_where_nobody_can_be_asked() {
    let place = Place::new(WELL);
    let options = place.options();
    let without = install::Options { permission: false, ..options.install.clone() };
    install::install(&without).unwrap();
    let findings = agent(&options).findings;
    let found = findings.iter().find(|it| it.about == "permission").unwrap();
    assert_eq!(
        (found.state.name(), found.said.as_str()),
        (
            "note",
            "mcp__punchlist is not allowed: Claude Code asks before it uses a plan tool, and \
             `claude -p` refuses"
        )
    );
    assert!(is_well(&findings));
}

#[test]
fn two_installations_that_differ_are_told() {
    let place = Place::new(WELL);
    let mut options = place.options();
    install::install(&options.install).unwrap();
    let own = install::Options {
        scope: Scope::Project(place.path("project")),
        database: place.path("own.db"),
        ..options.install.clone()
    };
    install::install(&own).unwrap();
    options.program = None;
    told!("own_database", place.told(&options));
    let report = agent(&options);
    assert_eq!(report.databases, [place.path("own.db"), place.path("p.db")]);
    assert!(report.is_for_project);

    let same = install::Options {
        database: options.install.database.clone(),
        plan: Some("release".to_owned()),
        ..own
    };
    install::install(&same).unwrap();
    told!("twice", place.told(&options));
}

/// A terminal opens in the home directory, where the project's settings are the user's own file.
/// The doctor must not report half an installation for the project there.
#[test]
fn in_the_home_directory_the_users_installation_is_whole() {
    let place = Place::new(WELL);
    let options = Options { directory: place.path("home"), ..place.options() };
    install::install(&options.install).unwrap();
    let elsewhere = place.told(&place.options());
    assert_eq!(place.told(&options), elsewhere);
    assert!(is_well(&agent(&options).findings), "{elsewhere}");
}

/// In each case the entries of Punchlist itself are correct.
#[test]
fn what_keeps_claude_code_from_using_us_is_told_with_its_file() {
    let place = Place::new(WELL);
    let options = Options { program: None, ..place.options() };
    install::install(&options.install).unwrap();
    let well = place.told(&options);
    let check = |name: &str, files: &[(&str, Value)]| {
        for (file, value) in files {
            let path = place.path(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, value.to_string()).unwrap();
        }
        let told = place.told(&options);
        assert!(told.starts_with(&well), "{told}");
        for (file, _) in files {
            fs::remove_file(place.path(file)).unwrap();
        }
        format!("# {name}\n{}\n", &told[well.len()..])
    };
    const PROJECT: &str = "project/.claude/settings.json";
    const LOCAL: &str = "project/.claude/settings.local.json";
    const SERVERS: &str = "project/.mcp.json";
    let trusts = json!({"hasTrustDialogAccepted": true});
    place.state(place.path("project").to_str().unwrap(), &trusts);
    let deny = |rules: Value| json!({"permissions": {"deny": rules}});
    let off = |off: bool| json!({"disableAllHooks": off});
    let foreign = json!({"mcpServers": {"punchlist": {"type": "http", "url": "http://x"}}});
    let mut told = String::new();
    for (name, files) in [
        ("hooks are off in the project", vec![(PROJECT, off(true))]),
        ("hooks are off for this user in the project", vec![(LOCAL, off(true))]),
        ("hooks are off, and on again", vec![(PROJECT, off(true)), (LOCAL, off(false))]),
        ("all tools are denied", vec![(PROJECT, deny(json!(["Bash", "mcp__punchlist"])))]),
        ("one tool is denied", vec![(LOCAL, deny(json!(["mcp__punchlist__add"])))]),
        ("others are denied", vec![(LOCAL, deny(json!(["mcp__punchlists", "Bash(rm *)", 3])))]),
        ("the project has a server of that name", vec![(SERVERS, foreign.clone())]),
        (
            "the same, and this user refused it",
            vec![
                (SERVERS, foreign.clone()),
                (LOCAL, json!({"disabledMcpjsonServers": ["punchlist"]})),
            ],
        ),
        (
            "the same, and this user approved it",
            vec![
                (SERVERS, foreign.clone()),
                (LOCAL, json!({"enabledMcpjsonServers": ["punchlist"]})),
            ],
        ),
    ] {
        told.push_str(&check(name, &files));
    }
    // `claude mcp add` and `/mcp` write into the user's file, for one directory.
    for (name, state) in [
        ("this user has a server of that name in the project", foreign),
        (
            "the server was switched off in the project",
            json!({"disabledMcpServers": ["punchlist"]}),
        ),
    ] {
        place.state("/elsewhere", &state);
        place.state(place.path("project").to_str().unwrap(), &state);
        told.push_str(&check(name, &[]));
    }
    told!("not_used", told);
}

/// Claude Code uses a project's server only after the user has approved it there.
#[test]
fn a_projects_server_that_the_user_has_not_approved_is_told() {
    let place = Place::new(WELL);
    let mut options = Options { program: None, ..place.options() };
    options.install.scope = Scope::Project(place.path("project"));
    install::install(&options.install).unwrap();
    let local = place.path("project/.claude/settings.local.json");
    let ours = json!(["punchlist"]);
    let trusts = json!({"hasTrustDialogAccepted": true});
    let approves = json!({"enabledMcpjsonServers": ours});
    for (state, settings, expected) in [
        (json!({}), json!({}), "note"),
        (json!({}), approves.clone(), "note"),
        (trusts.clone(), json!({}), "note"),
        (trusts.clone(), approves, "ok"),
        (trusts.clone(), json!({"enableAllProjectMcpServers": true}), "ok"),
        (json!({"hasTrustDialogAccepted": true, "enabledMcpjsonServers": ours}), json!({}), "ok"),
        (trusts, json!({"disabledMcpjsonServers": ours}), "broken"),
    ] {
        place.state(place.path("project").to_str().unwrap(), &state);
        fs::write(&local, settings.to_string()).unwrap();
        let found = agent(&options).findings;
        let worst = found.iter().filter(|it| it.about == "mcp").map(|it| it.state).max().unwrap();
        assert_eq!(worst.name(), expected, "{state} {settings}: {}", place.told(&options));
    }
}

#[test]
fn another_copy_of_the_program_is_told_once_and_is_no_fault() {
    let place = Place::new(WELL);
    let mut options = Options { program: None, ..place.options() };
    install::install(&options.install).unwrap();
    place.program("copy", WELL);
    options.install.binary = place.path("copy");
    told!("another_copy", place.told(&options));
    assert!(is_well(&agent(&options).findings));
    // A path to the same file is the same program.
    options.install.binary = place.path("link");
    std::os::unix::fs::symlink(place.path("punchlist"), place.path("link")).unwrap();
    assert!(place.told(&options).contains("ok entries: server and hooks for you"));
}

#[test]
fn numbers_are_easy_to_read() {
    for (number, text) in [(0, "0"), (999, "999"), (1240, "1,240"), (1_234_567, "1,234,567")] {
        assert_eq!(thousands(number), text);
    }
}

#[test]
fn an_agent_that_is_too_old_or_was_changed_since_is_said_to_be() {
    let place = Place::new(WELL);
    let is = |version: &str| {
        place.program("claude", &format!("#!/bin/sh\necho '{version} (Claude Code)'\n"));
    };
    let options = place.options();
    let said = |about: &str| {
        let findings = agent(&options).findings;
        let it = findings.iter().find(|it| it.about == about).unwrap();
        (it.state, it.said.clone(), it.fix.clone().unwrap_or_default())
    };
    install::install(&options.install).unwrap();
    assert_eq!((said("program").0, said("entries").0), (State::Good, State::Good));

    // After a downgrade: hooks for the newer version may make the old one ignore the whole file.
    is("2.1.60");
    let (state, what, fix) = said("entries");
    assert_eq!(state, State::Bad, "{what}");
    let unknown = "Claude Code 2.1.60 does not know ";
    assert!(what.contains(unknown) && what.contains("PostToolBatch"), "{what}");
    assert!(fix.starts_with("punchlist install claude"), "{fix}");
    let version = Some(Version(2, 1, 60));
    install::install(&install::Options { version, ..options.install.clone() }).unwrap();
    assert_eq!((said("program").0, said("entries").0), (State::Good, State::Good));

    // After an upgrade.
    is("9.8.7");
    let (state, what, fix) = said("entries");
    assert_eq!((state, what.contains("no hook at ")), (State::Bad, true), "{what}");
    assert!(fix.starts_with("punchlist install claude"), "{fix}");

    is("1.0.3");
    let (state, what, _) = said("program");
    assert_eq!((state, what.contains("is too old")), (State::Bad, true), "{what}");
    let version = Some(Version(1, 0, 3));
    let refused = install::install(&install::Options { version, ..options.install.clone() });
    let why = refused.unwrap_err().to_string();
    assert!(why.starts_with("Claude Code 1.0.3 is too old: Punchlist works with "), "{why}");
}
