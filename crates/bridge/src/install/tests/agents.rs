//! Codex and Gemini CLI: installing into many kinds of files, and uninstalling.

use std::fs;

use serde_json::json;

use super::*;

const CONFIG: &str = "home/.codex/config.toml";
const HOOKS: &str = "home/.codex/hooks.json";
const GEMINI: &str = "home/.gemini/settings.json";

impl Place {
    fn codex(&self) -> Options {
        Options { agent: Agent::Codex, ..self.options() }
    }

    fn gemini(&self) -> Options {
        Options { agent: Agent::Gemini, ..self.options() }
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn config(&self) -> Value {
        toml::Toml::parse(&fs::read(self.path(CONFIG)).unwrap()).unwrap().value()
    }

    /// Text without what differs from run to run.
    fn shown(&self, path: &str) -> String {
        let home = self.dir.path().to_str().unwrap();
        let text = self.text(path).replace(home, "/w");
        let hash = |line: &str| match line.split_once("sha256:") {
            // The hashed command contains the test's directory, so the hash differs from run to run.
            Some((before, _)) => format!("{before}sha256:…\""),
            None => line.to_owned(),
        };
        text.lines().map(|it| hash(it) + "\n").collect()
    }
}

/// Installs twice, uninstalls, and checks that everything is as before.
#[track_caller]
fn round(place: &Place, options: &Options, name: &str) {
    let before = place.tree();
    let would = would_install(options).unwrap();
    assert_eq!(place.tree(), before, "{name}: looking changes nothing");
    assert_eq!(install(options).unwrap(), would, "{name}");
    let installed = place.tree();
    assert!(!would.is_empty() && install(options).unwrap().is_empty(), "{name}: once is enough");
    assert_eq!(place.tree(), installed, "{name}");
    uninstall(options).unwrap();
    assert_eq!(place.tree(), before, "{name}");
    assert!(uninstall(options).unwrap().is_empty(), "{name}");
}

#[test]
fn an_empty_home_gets_codexs_files() {
    let place = Place::new();
    install(&place.codex()).unwrap();
    insta::with_settings!({omit_expression => true}, {
        insta::assert_snapshot!("codex_config", place.shown(CONFIG));
        insta::assert_snapshot!("codex_hooks", place.shown(HOOKS));
    });
    let before = Place::new();
    round(&before, &before.codex(), "an empty home");
}

#[test]
fn an_empty_home_gets_geminis_settings() {
    let place = Place::new();
    install(&place.gemini()).unwrap();
    insta::with_settings!({omit_expression => true}, {
        insta::assert_snapshot!("gemini_settings", place.shown(GEMINI));
    });
    let before = Place::new();
    round(&before, &before.gemini(), "an empty home");
}

/// Gemini CLI accepts comments in its settings, but nothing else that is not JSON.
#[test]
fn geminis_comments_are_kept_and_trailing_commas_refused() {
    let place = Place::new();
    place.write(GEMINI, "// mine\n{\n  /* a */ \"a\": 1 // b\n  // end\n}\n// after");
    round(&place, &place.gemini(), "comments");
    install(&place.gemini()).unwrap();
    let after = place.text(GEMINI);
    for comment in ["// mine", "/* a */", "// b", "// end", "// after"] {
        assert!(after.contains(comment), "{after}");
    }
    let place = Place::new();
    place.write(GEMINI, "{\n  \"a\": 1,\n}");
    let error = install(&place.gemini()).unwrap_err().to_string();
    assert!(error.contains("is not loaded by Gemini CLI: line 2"), "{error}");
}

#[test]
fn configurations_of_every_kind_are_edited_and_given_back() {
    for (name, text) in [
        ("an empty file", ""),
        ("a comment alone", "# mine\n"),
        ("no line end", "model = \"gpt-5.5\""),
        ("CRLF", "# mine\r\nmodel = \"x\"\r\n\r\n[mcp_servers.a]\r\ncommand = \"a\"\r\n"),
        ("a mark", "\u{feff}model = \"x\"\n"),
        (
            "servers and state of others",
            "[mcp_servers.a]\ncommand = \"a\" # theirs\n\n[hooks.state.\"/x:stop:0:0\"]\n\
             trusted_hash = \"sha256:1\"\n# the end\n",
        ),
        ("dotted keys", "mcp_servers.a.command = \"a\"\ntools.web_search = true\n"),
        ("an inline table of servers", "mcp_servers = { a = { command = \"a\" } }\n"),
        ("tables out of order", "[tools]\nx = 1\n[a]\n[tools.update_plan]\nenabled = false\n[b]\n"),
        (
            "arrays of tables",
            "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"x\"\n",
        ),
        ("a text of many lines", "a = \"\"\"\n[mcp_servers.punchlist]\n\"\"\"\n"),
        ("dates and floats", "a = 1979-05-27T07:32:00Z\nb = 1e3\nc = nan\n"),
    ] {
        for own_tools in [false, true] {
            let place = Place::new();
            place.write(CONFIG, text);
            let options = Options { own_tools, ..place.codex() };
            round(&place, &options, name);
            install(&options).unwrap();
            let after = place.text(CONFIG);
            for line in text.lines().filter(|it| it.contains('#')) {
                assert!(after.contains(line.trim_start_matches('\u{feff}')), "{name}: {after}");
            }
            assert_eq!(
                place.config()["tools"]["update_plan"]["enabled"] == true,
                own_tools,
                "{name}"
            );
            assert_eq!(
                place.config()["mcp_servers"].get("punchlist").is_none(),
                own_tools,
                "{name}"
            );
            assert!(!text.contains("\r\n") || !after.replace("\r\n", "").contains('\n'), "{name}");
        }
    }
}

#[test]
fn what_cannot_be_edited_is_refused_before_anything_is_touched() {
    for (name, config, hooks) in [
        ("no TOML", "model = ", "{}"),
        ("a server of somebody else's", "[mcp_servers.punchlist]\ncommand = \"x\"\n", "{}"),
        ("servers that are none", "mcp_servers = 3\n", "{}"),
        ("state that is none", "[hooks]\nstate = 3\n", "{}"),
        ("hooks that are none", "", "{\"hooks\": 3}"),
        ("an event that is none", "", "{\"hooks\": {\"Stop\": {}}}"),
        ("no JSON", "", "{"),
    ] {
        let place = Place::new();
        place.write(CONFIG, config);
        place.write(HOOKS, hooks);
        let before = place.tree();
        let failed = install(&place.codex()).unwrap_err();
        assert!(!failed.hint().is_empty(), "{name}");
        assert_eq!(place.tree(), before, "{name}: {failed}");
    }
    let place = Place::new();
    place.write(CONFIG, "a = 1\nmodel = \n");
    let failed = install(&place.codex()).unwrap_err().to_string();
    assert!(failed.contains("is not valid TOML: line 2"), "{failed}");
}

#[test]
fn each_hook_is_trusted_where_it_stands_and_the_trust_of_others_moves_with_them() {
    let place = Place::new();
    place.write(
        HOOKS,
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}"#,
    );
    let file = place.path(HOOKS);
    let file = file.to_str().unwrap();
    let mine = format!("[hooks.state.\"{file}:stop:0:0\"]\ntrusted_hash = \"sha256:mine\"\n");
    place.write(CONFIG, &mine);
    install(&place.codex()).unwrap();
    let state = place.config()["hooks"]["state"].clone();
    let hooks = place.json(HOOKS);
    assert_eq!(state.as_object().unwrap().len(), 1 + codex::EVENTS.len());
    let ours = codex::trusted(file, &hooks);
    assert_eq!(ours.len(), codex::EVENTS.len());
    for (key, hash) in &ours {
        assert_eq!(state[key]["trusted_hash"], json!(hash), "{key}");
    }
    assert!(ours.iter().any(|it| it.0.ends_with(":stop:1:0")));
    // Somebody adds a hook after ours, and Codex trusts it.
    let mut changed = hooks;
    let behind = json!({"hooks": [{"type": "command", "command": "behind"}]});
    changed["hooks"]["Stop"].as_array_mut().unwrap().push(behind);
    place.write(HOOKS, changed.to_string());
    let config = place.text(CONFIG);
    let theirs = format!("[hooks.state.\"{file}:stop:2:0\"]\ntrusted_hash = \"sha256:behind\"\n");
    place.write(CONFIG, format!("{config}\n{theirs}"));
    uninstall(&place.codex()).unwrap();
    let state = place.config()["hooks"]["state"].clone();
    let expected = json!({
        format!("{file}:stop:0:0"): {"trusted_hash": "sha256:mine"},
        format!("{file}:stop:1:0"): {"trusted_hash": "sha256:behind"},
    });
    assert_eq!(state, expected);
    assert_eq!(place.json(HOOKS)["hooks"]["Stop"].as_array().unwrap().len(), 2);
    assert!(!place.text(HOOKS).contains("punchlist"));
}

#[test]
fn consents_that_are_not_given_are_not_written() {
    let place = Place::new();
    install(&Options { trust: false, permission: false, ..place.codex() }).unwrap();
    assert!(place.config().get("hooks").is_none());
    let server = place.config()["mcp_servers"]["punchlist"].clone();
    assert_eq!(server.get("default_tools_approval_mode"), None);
    install(&place.codex()).unwrap();
    assert_eq!(
        place.config()["mcp_servers"]["punchlist"]["default_tools_approval_mode"],
        "approve"
    );
    install(&Options { permission: false, ..place.codex() }).unwrap();
    let server = place.config()["mcp_servers"]["punchlist"].clone();
    assert_eq!(server.get("default_tools_approval_mode"), None);
    let place = Place::new();
    install(&Options { permission: false, ..place.gemini() }).unwrap();
    assert_eq!(place.json(GEMINI)["mcpServers"]["punchlist"].get("trust"), None);
}

#[test]
fn after_others_have_written_only_ours_goes() {
    let place = Place::new();
    place.write(CONFIG, "model = \"x\"\n");
    install(&place.codex()).unwrap();
    let config = format!("{}\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n", place.text(CONFIG));
    place.write(CONFIG, config);
    uninstall(&place.codex()).unwrap();
    let expected = json!({"model": "x", "projects": {"/p": {"trust_level": "trusted"}}});
    assert_eq!(place.config(), expected);
    assert!(!place.path(HOOKS).exists());

    let place = Place::new();
    place.write(GEMINI, "{\"a\": 1}");
    install(&place.gemini()).unwrap();
    let mut settings = place.json(GEMINI);
    settings["ui"] = json!({"theme": "x"});
    place.write(GEMINI, settings.to_string());
    uninstall(&place.gemini()).unwrap();
    assert_eq!(place.json(GEMINI), json!({"a": 1, "ui": {"theme": "x"}}));
}

#[test]
fn a_project_has_files_of_its_own_and_the_trust_stays_the_users() {
    let place = Place::new();
    fs::create_dir_all(place.path("project")).unwrap();
    let scope = Scope::Project(place.path("project"));
    let options = Options { scope: scope.clone(), ..place.codex() };
    round(&place, &options, "a project");
    install(&options).unwrap();
    let server = place.text("project/.codex/config.toml");
    assert!(server.contains("[mcp_servers.punchlist]") && !server.contains("trusted_hash"));
    assert!(place.text(CONFIG).contains("project/.codex/hooks.json:stop:0:0"));
    assert!(!place.text(CONFIG).contains("mcp_servers"));
    let options = Options { scope, ..place.gemini() };
    round(&place, &options, "a project");
}

#[test]
fn what_the_user_added_to_codexs_entry_stays() {
    let place = Place::new();
    install(&place.codex()).unwrap();
    let config = place.text(CONFIG).replace(
        "[mcp_servers.punchlist]\n",
        "[mcp_servers.punchlist]\nstartup_timeout_sec = 20 # slow disk\n",
    );
    place.write(CONFIG, config);
    install(&Options { database: "/other.db".into(), ..place.codex() }).unwrap();
    let after = place.text(CONFIG);
    assert!(after.contains("startup_timeout_sec = 20 # slow disk"), "{after}");
    assert!(after.contains("/other.db") && !after.contains("/data/p.db"), "{after}");
}

#[test]
fn whether_codexs_own_tool_is_on_is_known() {
    let place = Place::new();
    assert!(!has_own_tools(&place.codex()) && !has_own_tools(&place.gemini()));
    place.write(CONFIG, "[tools.update_plan]\nenabled = true\n");
    assert!(has_own_tools(&place.codex()));
    place.write(CONFIG, "tools = 3\n");
    assert!(!has_own_tools(&place.codex()));
}

#[test]
fn codexs_own_tool_is_given_back_when_our_tools_take_its_place() {
    let set = |value: &str| format!("[tools.update_plan]\nenabled = {value} # mine\n");
    let theirs = "[projects.\"/p\"]\ntrust_level = \"trusted\"\n";
    for (name, text) in [
        ("nothing was set", String::new()),
        ("tools of others", "[tools]\nweb_search = true\n".to_owned()),
        ("it was off", set("false")),
        ("it was on", set("true")),
    ] {
        for others_wrote in [false, true] {
            let place = Place::new();
            place.write(CONFIG, &text);
            let before = place.config();
            let own = Options { own_tools: true, ..place.codex() };
            install(&own).unwrap();
            if others_wrote {
                place.write(CONFIG, format!("{}\n{theirs}", place.text(CONFIG)));
            }
            let would = would_install(&place.codex()).unwrap();
            let was_on = text.contains("enabled = true");
            assert_eq!(switches_own_tools_off(&would), !was_on, "{name}");
            install(&place.codex()).unwrap();
            assert_eq!(place.config().get("tools"), before.get("tools"), "{name}, {others_wrote}");
            assert!(place.config()["mcp_servers"]["punchlist"].is_object(), "{name}");
            assert!(!place.text(HOOKS).contains("--own-tools"), "{name}");
            assert!(install(&place.codex()).unwrap().is_empty(), "{name}: once is enough");
            // To the agent's own tools, back, and uninstalled.
            install(&own).unwrap();
            assert_eq!(place.config()["tools"]["update_plan"]["enabled"], true, "{name}");
            install(&place.codex()).unwrap();
            uninstall(&place.codex()).unwrap();
            let after = if others_wrote { format!("{text}\n{theirs}") } else { text.clone() };
            if others_wrote {
                assert_eq!(place.config(), toml::Toml::parse(after.as_bytes()).unwrap().value());
            } else {
                assert_eq!(place.text(CONFIG), after, "{name}");
            }
        }
    }
}

#[test]
fn codexs_own_tool_is_the_users_where_the_user_switched_it_on() {
    let place = Place::new();
    install(&place.codex()).unwrap();
    let mine = "\n[tools.update_plan]\nenabled = true\n";
    place.write(CONFIG, place.text(CONFIG) + mine);
    install(&Options { database: "/other.db".into(), ..place.codex() }).unwrap();
    assert_eq!(place.config()["tools"]["update_plan"]["enabled"], true);
    install(&Options { own_tools: true, ..place.codex() }).unwrap();
    install(&place.codex()).unwrap();
    assert_eq!(place.config()["tools"]["update_plan"]["enabled"], true);
    uninstall(&place.codex()).unwrap();
    assert_eq!(place.config(), json!({"tools": {"update_plan": {"enabled": true}}}));
}

#[test]
fn a_path_that_gemini_would_read_as_a_variable_is_refused() {
    let place = Place::new();
    let before = place.tree();
    for path in ["/data/$HOME/p.db", "/data/${x}/p.db", "/$x"] {
        let options = Options { database: path.into(), ..place.gemini() };
        assert!(matches!(install(&options), Err(Error::Variable { .. })), "{path}");
        install(&Options { database: path.into(), ..place.codex() }).unwrap();
        uninstall(&place.codex()).unwrap();
    }
    assert_eq!(place.tree(), before);
    install(&Options { database: "/data/a$/p.db".into(), ..place.gemini() }).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn geminis_settings_are_given_back_to_the_byte((_, text) in laid_out()) {
        let place = Place::new();
        place.write(GEMINI, text);
        let before = place.tree();
        if install(&place.gemini()).is_ok() {
            uninstall(&place.gemini()).unwrap();
        }
        prop_assert_eq!(place.tree(), before);
    }

    #[test]
    fn codexs_configuration_is_given_back_to_the_byte(
        lines in prop::collection::vec(prop::sample::select(vec![
            "# a comment", "", "   ", "[a]", "[a.b]", "[mcp_servers.x]", "[tools]", "[hooks]",
            "[hooks.state]", "k = 1", "l = \"x\" # why", "m = [1, 2,\n  3]", "n = {a = 1}",
            "[[list]]", "'q' = '''\n[x]\n'''", "tools.y = 1", "[mcp_servers]", "\t[tab]",
        ]), 0..12),
        crlf in any::<bool>(),
    ) {
        let text = lines.join(if crlf { "\r\n" } else { "\n" });
        let place = Place::new();
        place.write(CONFIG, &text);
        let before = place.tree();
        if let Ok(changes) = install(&place.codex()) {
            prop_assert!(!changes.is_empty());
            prop_assert!(install(&place.codex()).unwrap().is_empty());
            for line in lines.iter().filter(|it| it.contains('#')) {
                prop_assert!(place.text(CONFIG).contains(line), "{line} is lost");
            }
            uninstall(&place.codex()).unwrap();
        }
        prop_assert_eq!(place.tree(), before);
    }
}
