//! `models`: what is missing, and what each failure says, against a model server on loopback.

use std::fs;
use std::net::TcpListener;

use punchlist_testkit::model::{Model, Script, Server, Turn};
use serde_json::json;

use super::Project;
use crate::world::{Ran, finish};

/// A key that must not be seen anywhere.
const CANARY: &str = "sk-canary-5d20c7";

/// A server whose every answer is this.
fn server(turn: Option<Turn>) -> Server {
    let model = Model::new(Script::new());
    let model = match turn {
        Some(turn) => model.aside_turn(turn),
        None => model,
    };
    model.serve().unwrap()
}

fn fails(status: u16, kind: &str) -> Option<Turn> {
    Some(Turn::Error { status, kind: kind.to_owned() })
}

/// A project with a provider `test` at this address.
fn project(url: &str, key: &str) -> Project {
    let project = Project::new(&json!([]));
    project.world.write(
        "home/.config/punchlist/config.toml",
        format!(
            "[agent]\nmodel = 'test/model-1'\n\
             [providers.test]\nkind = 'anthropic'\nbase_url = '{url}/v1/'\nkey = '{key}'\n"
        ),
    );
    project
}

/// `models` with a key in the environment.
fn models(project: &Project, arguments: &[&str]) -> Ran {
    let mut command = project.command(&["models"]);
    command.args(arguments).env("TEST_KEY", CANARY).env("PATH", "/usr/bin:/bin");
    let ran = finish(command, b"");
    assert!(!format!("{}{}", ran.out, ran.err).contains(CANARY), "{}{}", ran.out, ran.err);
    ran
}

/// Checks that a call of the model fails with these words, for people and for programs.
#[track_caller]
fn check(project: &Project, words: &[&str]) {
    let ran = models(project, &["--check"]);
    assert_eq!(ran.code, 6, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("test/model-1 does not work: "), "{}", ran.out);
    for it in words {
        assert!(ran.out.contains(it), "{it}: {}", ran.out);
    }
    let ran = models(project, &["--check", "--json"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let error = told["checks"][0]["error"].as_str().unwrap();
    for it in words {
        assert!(error.contains(it), "{it}: {error}");
    }
}

#[test]
fn without_a_model_the_shortest_ways_to_one_are_shown() {
    let project = Project::new(&json!([]));
    let listed = models(&project, &[]).ok();
    for words in [
        "no model is configured. The three shortest ways to one:",
        "ollama pull qwen3",
        "anthropic/…  (anthropic, https://api.anthropic.com/v1/)  anthropic needs a key: set the \
         variable ANTHROPIC_API_KEY",
        "ollama/…  (ollama, http://127.0.0.1:11434/)  no key needed; not tried",
    ] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    let told = models(&project, &["--json"]).json();
    assert_eq!(told["model"], json!(null));
    assert_eq!(told["checks"], json!([]));
    assert_eq!(told["providers"][0]["name"], "anthropic");
    for arguments in [&["models", "--check"][..], &["do", "Dig"]] {
        let ran = project.run(arguments);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.starts_with("error: no model is configured. The three"), "{}", ran.err);
        assert_eq!(ran.err.matches("error: ").count(), 1, "{}", ran.err);
    }
}

#[test]
fn with_a_key_and_no_model_the_check_says_how_to_name_one() {
    let project = Project::new(&json!([]));
    let mut command = project.command(&["models", "--check"]);
    command.env("ANTHROPIC_API_KEY", CANARY);
    let ran = finish(command, b"");
    assert_eq!(ran.code, 2, "{}", ran.err);
    for words in ["there is a key for anthropic\n", "`punchlist models --check anthropic/NAME`"] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    assert!(!ran.err.contains("ollama") && !ran.err.contains(CANARY), "{}", ran.err);
}

#[test]
fn a_model_that_works_says_so() {
    let server = server(None);
    let project = project(&server.url(), "$TEST_KEY");
    let listed = models(&project, &[]).ok();
    assert!(listed.starts_with("model: test/model-1\n"), "{listed}");
    assert!(listed.contains("/v1/)  key found; not tried\n"), "{listed}");
    let checked = models(&project, &["--check"]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert!(checked.out.contains("test/model-1 works: it answered \"ok\""), "{}", checked.out);
    assert!(checked.out.contains("/v1/)  key found\n"), "{}", checked.out);
    let told = models(&project, &["--check", "--json"]).json();
    assert_eq!(told["checks"], json!([{"model": "test/model-1", "error": null}]));
    assert_eq!(server.asides().len(), 2);
}

#[test]
fn the_models_of_workers_are_checked_too_and_each_once() {
    let server = server(None);
    let project = project(&server.url(), "$TEST_KEY");
    let config = "home/.config/punchlist/config.toml";
    let mut text = fs::read_to_string(project.world.path(config)).unwrap();
    text.push_str(
        "[workers.small]\nkind = 'model'\nmodel = 'test/model-2'\n\
         [workers.same]\nkind = 'model'\nmodel = 'test/model-1'\n\
         [workers.usual]\nkind = 'model'\n\
         [workers.program]\nkind = 'claude'\nmodel = 'opus'\n",
    );
    project.world.write(config, text);
    let told = models(&project, &["--check", "--json"]).json();
    let checked: Vec<&str> =
        told["checks"].as_array().unwrap().iter().filter_map(|it| it["model"].as_str()).collect();
    assert_eq!(checked, ["test/model-1", "test/model-2"]);
}

#[test]
fn a_key_that_is_missing_is_named() {
    let server = server(None);
    let project = project(&server.url(), "$OTHER_KEY");
    let listed = models(&project, &[]).ok();
    assert!(listed.contains("test needs a key: set the variable OTHER_KEY"), "{listed}");
    check(&project, &["test needs a key", "OTHER_KEY"]);
    assert_eq!(server.asides().len(), 0);
}

#[test]
fn a_key_command_gives_the_key_or_says_why_not() {
    let server = server(None);
    let good = project(&server.url(), "!cat key");
    good.world.write("project/key", CANARY);
    let ran = models(&good, &["--check"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let bad = project(&server.url(), "!cat key; exit 3");
    bad.world.write("project/key", CANARY);
    check(&bad, &["exits with code 3"]);
    let none = project(&server.url(), CANARY);
    let ran = models(&none, &[]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("keys are not kept in settings"), "{}", ran.err);
}

#[test]
fn a_key_that_is_refused_says_where_it_came_from() {
    let server = server(fails(401, "authentication_error"));
    check(&project(&server.url(), "$TEST_KEY"), &["test refused the key", "TEST_KEY"]);
}

#[test]
fn an_unknown_model_is_named() {
    let server = server(fails(404, "not_found_error"));
    check(&project(&server.url(), "$TEST_KEY"), &["test has no model \"model-1\""]);
    let project = project(&server.url(), "$TEST_KEY");
    let ran = models(&project, &["--check", "nobody/model-1"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    assert!(ran.out.contains("there is no provider \"nobody\""), "{}", ran.out);
    let ran = models(&project, &["--check", "no-slash"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("write it as provider/name"), "{}", ran.err);
}

#[test]
fn an_account_without_quota_is_told() {
    let server = server(fails(429, "insufficient_quota"));
    check(&project(&server.url(), "$TEST_KEY"), &["has no quota left", "billing"]);
}

#[test]
fn a_server_that_is_not_there_is_told() {
    // A port that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let project = project(&format!("http://{address}"), "$TEST_KEY");
    let ran = models(&project, &["--check"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    for words in ["test cannot be reached at", "Check the network"] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
}
