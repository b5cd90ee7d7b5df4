//! Tests of what is pure: names, values, entries and consent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use punchlist_engine::policy::digest_consent::{AllowedThing, DigestConsent};
use serde_json::{Value, json};

use super::announced;
use super::names::{check_server, full};
use super::{ForeignServers, Launch, Lookup, ServerConfig, Template};

fn lookup() -> Lookup {
    let variables = BTreeMap::from([("HOME", "/h"), ("TOKEN", "t0ken")]);
    Lookup {
        variable: Arc::new(move |name| variables.get(name).map(|it| (*it).to_owned())),
        command: Arc::new(|command| Ok(format!(" <{command}>\n"))),
    }
}

fn resolved(template: &Template) -> String {
    let mut secrets = Vec::new();
    template.resolve(&lookup(), &mut secrets).unwrap_or_else(|why| format!("error: {why}"))
}

#[test]
fn values_are_looked_up() {
    let user = |text: &str| resolved(&Template::of_user(text));
    for (text, value) in [
        ("", ""),
        ("plain", "plain"),
        ("$TOKEN", "t0ken"),
        ("Bearer $TOKEN", "Bearer t0ken"),
        ("a${TOKEN}b$HOME/c", "at0kenb/h/c"),
        ("${NONE:-x}${NONE:-}", "x"),
        ("$NONE", "error: the variable NONE is not set"),
        ("$ $5 ${ ${a b} $", "$ $5 ${ ${a b} $"),
        ("!pass show key", "<pass show key>"),
        ("!", "!"),
    ] {
        assert_eq!(user(text), value, "{text}");
    }
    // A project's value runs no command, and has no variable without braces.
    let project = |text: &str| resolved(&Template::of_project(text));
    assert_eq!(project("!id"), "!id");
    assert_eq!(project("$TOKEN ${TOKEN} ${X:-y}"), "$TOKEN t0ken y");
    let names: Vec<String> =
        Template::of_project("$A ${B} ${C:-d}").variables().map(str::to_owned).collect();
    assert_eq!(names, ["B", "C"]);
}

#[test]
fn names_are_clean_short_and_never_the_same() {
    let none = BTreeSet::new();
    assert_eq!(full("git", "log", &none), "mcp__git__log");
    assert_eq!(full("git-hub", "a__b", &none), "mcp__git-hub__a__b");
    let taken = BTreeSet::from(["mcp__git__log".to_owned()]);
    for name in [
        full("git", "log", &taken),
        full("git", "l\u{f6}g", &none),
        full("git", "", &none),
        full("git", &"x".repeat(500), &none),
        full("git__a", "log", &none),
        full("git_", "log", &none),
    ] {
        assert!(name.len() <= 64 && name.starts_with("mcp__git"), "{name}");
        let digits = name.rsplit('_').next().unwrap_or_default();
        assert!(digits.len() == 8 && digits.chars().all(|it| it.is_ascii_hexdigit()), "{name}");
    }
    assert_ne!(full("git", "a b", &none), full("git", "a\tb", &none));
}

proptest! {
    #[test]
    fn any_name_can_be_sent_to_a_provider(server in ".{0,80}", tool in ".{0,80}") {
        let name = full(&server, &tool, &BTreeSet::new());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        prop_assert!(name.len() <= 64 && name.chars().all(is_plain), "{}", name);
    }

    #[test]
    fn two_tools_have_two_names(one in "[a-z_]{1,6}", two in "[a-z_]{1,6}",
                                three in "[a-z_]{1,6}", four in "[a-z_]{1,6}") {
        let none = BTreeSet::new();
        let is_same = (&one, &two) == (&three, &four);
        prop_assert_eq!(full(&one, &two, &none) == full(&three, &four, &none), is_same);
    }

    #[test]
    fn no_file_breaks_reading(text in "\\PC{0,200}") {
        drop(ForeignServers::parse_file(&text));
        drop(ForeignServers::parse_file(&format!("{{\"mcpServers\": {{{text:?}: {text:?}}}}}")));
    }
}

#[test]
fn settings_are_read_or_the_mistake_is_named() {
    let launch = |entry: Value| match ServerConfig::from_settings("x", &entry).launch {
        Launch::Not(why) => why,
        launch @ (Launch::Program { .. } | Launch::Http { .. }) => format!("{launch:?}"),
    };
    let all = [
        json!({"command": ["a", "$B"], "env": {"C": "$D"}, "cwd": "e"}),
        json!({"url": "https://a/", "headers": {"Authorization": "Bearer $B"}}),
        json!({"url": "https://a/", "headers": {"X-Api-Key": "abc"}}),
        json!({"command": []}),
        json!({"command": "a b"}),
        json!({}),
        json!({"command": ["a"], "url": "https://a/"}),
        json!({"command": ["a"], "headers": {}, "enabled": false}),
        json!({"url": "https://a/", "env": {"a": "b"}}),
        json!({"command": ["a"], "timeout": "soon"}),
        json!({"command": ["a"], "tool": ["b"]}),
    ];
    insta::assert_snapshot!(all.map(launch).join("\n"));
    let config = ServerConfig::from_settings("x", &json!({"command": ["a"], "timeout": "2m"}));
    assert_eq!(config.timeout.map(|it| it.as_secs()), Some(120));
    let config = ServerConfig::from_settings("x", &json!({"command": ["a"], "timeout": 5}));
    assert_eq!(config.timeout.map(|it| it.as_secs()), Some(5));
    for name in ["", "a b", "a__b", "_a", "a_", "\u{fc}", &"a".repeat(33)] {
        assert!(check_server(name).is_err(), "{name}");
    }
}

/// The file that the tests of consent begin with.
const FILE: &str = r#"{"mcpServers": {
    "db": {"command": "npx", "args": ["-y", "db server", "${DB_URL}"], "env": {"TOKEN": "${TOKEN:-none}"}},
    "web": {"type": "http", "url": "https://mcp.example/", "headers": {"Authorization": "Bearer ${TOKEN}"}}
}}"#;

#[test]
fn a_person_sees_the_whole_entry_and_the_variables() {
    let file = ForeignServers::parse_file(FILE);
    assert_eq!(file.notes, [""; 0]);
    let shown: Vec<String> = file.servers.iter().flat_map(|it| it.meaning("/p")).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    .mcp.json of this project wants to start the MCP server db:
        npx -y "db server" ${DB_URL}
        TOKEN=${TOKEN:-none}
    It is a program that can do all that you can do.
    It gets the values of these variables of yours: DB_URL, TOKEN
    Your yes holds for this entry in /p;
    if the entry changes, you are asked again.
    .mcp.json of this project wants to use the MCP server web:
        https://mcp.example/
        Authorization: "Bearer ${TOKEN}"
    It gets what the model sends to its tools.
    It gets the values of these variables of yours: TOKEN
    Your yes holds for this entry in /p;
    if the entry changes, you are asked again.
    "#);
    let hidden = r#"{"mcpServers": {"x": {"command": "a\u001b[2K\u202eb", "args": ["c\nd"]}}}"#;
    let shown = ForeignServers::parse_file(hidden).servers[0].meaning("/p").join("\n");
    assert!(shown.contains(r#""a\u{1b}[2K\u{202e}b" "c\nd""#), "{shown}");
}

#[test]
fn a_consent_holds_for_exactly_one_entry() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let is_allowed = |digest: &str| DigestConsent::Server.is_given(&data, "/p", digest);
    let started = |text: &str| -> Vec<String> {
        let configs = ForeignServers::parse_file(text).configs(is_allowed);
        let started = configs.into_iter().filter(|it| !matches!(it.launch, Launch::Not(_)));
        started.map(|it| it.name).collect()
    };
    let file = ForeignServers::parse_file(FILE);
    assert_eq!(file.to_ask(is_allowed).count(), 2);
    assert_eq!(started(FILE), [""; 0]);
    let first = &file.servers[0];
    let given = AllowedThing {
        project: "/p".to_owned(),
        digest: first.digest.clone(),
        name: first.config.name.clone(),
        what: first.what(),
    };
    DigestConsent::Server.give(&data, &given).unwrap();
    assert_eq!(given.what, "npx -y \"db server\" ${DB_URL}");
    assert_eq!(file.to_ask(is_allowed).map(|it| &it.config.name[..]).collect::<Vec<_>>(), ["web"]);
    assert_eq!(started(FILE), ["db"]);
    // The order of fields and spaces do not matter; anything else asks again.
    let reordered =
        FILE.replace(r#""command": "npx", "args": ["-y", "db server", "${DB_URL}"],"#, "");
    let reordered = reordered.replace(
        r#""env": {"TOKEN": "${TOKEN:-none}"}"#,
        r#" "env" :{"TOKEN": "${TOKEN:-none}"},"args": ["-y", "db server", "${DB_URL}"],"command":"npx""#,
    );
    assert_eq!(started(&reordered), ["db"]);
    for (from, to) in [
        ("db server", "db  server"),
        ("\"npx\"", "\"npy\""),
        ("TOKEN:-none", "TOKEN:-nope"),
        ("DB_URL", "AWS_SECRET_ACCESS_KEY"),
        ("\"db\"", "\"db2\""),
        ("\"command\"", "\"timeout\": 1, \"command\""),
    ] {
        let changed = FILE.replace(from, to);
        assert_ne!(changed, FILE);
        assert_eq!(started(&changed), [""; 0], "{from} {to}");
    }
    assert!(!DigestConsent::Server.is_given(&data, "/q", &file.servers[0].digest));
    let not = file.configs(|_| false);
    assert_eq!(
        not[0].launch,
        Launch::Not(
            ".mcp.json of the project has it, and you have not allowed it; start `punchlist do` at a \
             terminal to be asked"
                .to_owned()
        )
    );
}

#[test]
fn of_a_hostile_file_the_harmless_part_is_used() {
    let mut servers = serde_json::Map::new();
    servers.insert("ok".to_owned(), json!({"command": "a"}));
    servers.insert("\u{1b}[2J".to_owned(), json!({"command": "a"}));
    servers.insert("a__b".to_owned(), json!({"command": "a"}));
    servers.insert("sse".to_owned(), json!({"type": "sse", "url": "https://a/"}));
    servers.insert("both".to_owned(), json!({"command": "a", "url": "https://a/"}));
    servers.insert("none".to_owned(), json!(null));
    servers.insert("args".to_owned(), json!({"command": "a", "args": "b"}));
    servers.insert("long".to_owned(), json!({"command": "a", "args": ["b".repeat(9_000)]}));
    let file = ForeignServers::parse_file(&json!({"mcpServers": servers}).to_string());
    assert_eq!(file.servers.len(), 1);
    insta::assert_snapshot!(file.notes.join("\n"));
    for text in ["", "[]", "{\"mcpServers\": []}", "{\"mcpServers\"", &"[".repeat(100_000)] {
        assert_eq!(ForeignServers::parse_file(text).notes.len(), 1, "{text:.20}");
    }
    let many: BTreeMap<String, Value> =
        (0..1_000).map(|it| (format!("s{it}"), json!({"command": "a"}))).collect();
    let file = ForeignServers::parse_file(&json!({"mcpServers": many}).to_string());
    assert_eq!((file.servers.len(), file.notes.len()), (50, 1));
}

#[test]
fn a_file_that_is_no_file_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let open = || ForeignServers::of_project(directory.path());
    assert_eq!(open(), ForeignServers::default());
    std::fs::write(directory.path().join(".mcp.json"), FILE).unwrap();
    assert_eq!(open().servers.len(), 2);
    std::fs::write(directory.path().join(".mcp.json"), vec![b' '; 2_000_000]).unwrap();
    assert!(open().notes.concat().contains("too large"), "{:?}", open().notes);
    std::fs::remove_file(directory.path().join(".mcp.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", directory.path().join(".mcp.json")).unwrap();
    assert_eq!(open().notes, ["ignored .mcp.json: it is not a plain file"]);
}

/// What is used of a tool with this schema: the schema, or why the tool is left out.
fn used(schema: Value) -> String {
    let schema = schema.as_object().cloned().unwrap_or_default();
    let tool = rmcp::model::Tool::new("t", "", schema);
    let checked = announced::checked("s", vec![tool], false, None);
    let tools = checked.tools.iter().map(|it| it.schema.to_string());
    tools.chain(checked.notes.clone()).collect()
}

#[test]
fn references_in_schemas_are_followed_and_circles_cut() {
    let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}});
    let schema = json!({
        "$schema": "x",
        "properties": {"$ref": {"type": "string"}, "node": {"$ref": "#/$defs/node"}},
        "$defs": {"node": node},
    });
    assert_eq!(
        used(schema),
        r#"{"properties":{"$ref":{"type":"string"},"node":{"type":"object","properties":{"next":{}}}},"type":"object"}"#
    );
    assert_eq!(used(json!({"$ref": "#"})), r#"{"type":"object"}"#);
    assert_eq!(
        used(json!({"allOf": [{"$ref": "#"}]})),
        r##"{"allOf":[{"allOf":[{}]}],"type":"object"}"##
    );
    assert_eq!(used(json!({"$ref": "https://evil.example/x"})), r#"{"type":"object"}"#);
    // Each doubles the one before it.
    let mut laughs = serde_json::Map::new();
    laughs.insert("d0".to_owned(), json!(false));
    for it in 1..60 {
        let below = json!({"$ref": format!("#/$defs/d{}", it - 1)});
        laughs.insert(format!("d{it}"), json!({"anyOf": [below, below]}));
    }
    let said = used(json!({"$ref": "#/$defs/d59", "$defs": laughs}));
    assert_eq!(
        said,
        "its tool \"t\" is not used: its schema is too large when references are followed"
    );
}
