//! MCP over HTTP: the token decides whose plan it is and what may be done.

use punchlist_engine::access as grants;
use punchlist_engine::around::Around;
use punchlist_model::store::Filter;
use punchlist_model::store::access::Role;
use serde_json::{Value, json};

use super::World;
use punchlist_testkit::http_client::{Got, Request};

/// One session of a client.
struct Client<'a> {
    world: &'a World,
    token: String,
    session: Option<String>,
}

impl<'a> Client<'a> {
    fn new(world: &'a World, token: &str) -> Self {
        let mut client = Self { world, token: token.to_owned(), session: None };
        let got = client.post(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "test", "version": "0"},
            },
        }));
        assert_eq!(got.status, 200, "{got:?}");
        client.session = got.header("mcp-session-id").map(str::to_owned);
        let noted = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(client.post(&noted).status, 202);
        client
    }

    fn post(&self, message: &Value) -> Got {
        let request = Request::post("/mcp")
            .token(&self.token)
            .header("Accept", "application/json, text/event-stream")
            .json(message);
        self.world.send(match &self.session {
            Some(session) => request.header("Mcp-Session-Id", session),
            None => request,
        })
    }

    fn call(&self, tool: &str, arguments: Value, meta: Value) -> Value {
        let got = self.post(&json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments, "_meta": meta},
        }));
        assert_eq!(got.status, 200, "{got:?}");
        let mut data = got.body.lines().filter_map(|it| it.strip_prefix("data: "));
        let answer = data.find(|it| it.contains("\"result\"")).unwrap_or_else(|| panic!("{got:?}"));
        serde_json::from_str::<Value>(answer).unwrap()["result"].clone()
    }

    fn add(&self, title: &str, meta: Value) -> Value {
        self.call("create_todo", json!({"items": [{"title": title}]}), meta)
    }
}

fn plans(world: &World) -> Vec<(String, String)> {
    let found = world.runtime.block_on(world.store.plans(Filter::default())).unwrap();
    let mut named: Vec<_> = found
        .into_iter()
        .map(|it| (it.project, it.attachment.map(|it| it.conversation).unwrap_or_default()))
        .collect();
    named.sort();
    named
}

#[test]
fn a_tokens_name_is_the_worker_and_its_plan_is_its_own_unless_a_conversation_is_named() {
    let world = World::new();
    let token = world.token("ci", Role::Worker, Some("/p"));
    let client = Client::new(&world, &token);
    let added = client.add("Build", json!({}));
    assert_ne!(added["isError"], true, "{added}");
    // Another connection of the same token works on the same plan.
    Client::new(&world, &token).add("Test", json!({}));
    client.add("Talk", json!({"punchlist/conversation": "other"}));
    let expected = [("/p", "ci"), ("/p", "other")].map(|it| (it.0.to_owned(), it.1.to_owned()));
    assert_eq!(plans(&world), expected);
    let listed = client.call("list_todo", json!({}), json!({}));
    let text = listed["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Build") && text.contains("Test") && !text.contains("Talk"), "{text}");
    let summary = world.runtime.block_on(world.store.plans(Filter::default())).unwrap();
    let journal = world.store.journal(summary[0].id, punchlist_model::Revision(0), 1);
    let actor = world.runtime.block_on(journal).unwrap().remove(0).actor;
    assert_eq!(actor, punchlist_model::Actor::agent("ci"));
}

#[test]
fn a_viewer_reads_and_changes_nothing() {
    let world = World::new();
    let client = Client::new(&world, &world.token("v", Role::Viewer, Some("/p")));
    let added = client.add("Build", json!({}));
    assert_eq!(added["isError"], true);
    assert!(added.to_string().contains("only workers change plans"), "{added}");
    assert_ne!(client.call("list_todo", json!({}), json!({}))["isError"], true);
    assert_eq!(plans(&world), []);
}

#[test]
fn a_token_of_all_projects_must_say_which_one_it_means() {
    let world = World::new();
    let client = Client::new(&world, &world.token("w", Role::Worker, None));
    let added = client.add("Build", json!({}));
    assert!(added.to_string().contains("punchlist/project"), "{added}");
    assert_ne!(client.add("Build", json!({"punchlist/project": "/q"}))["isError"], true);
    assert_eq!(plans(&world), [("/q".to_owned(), "w".to_owned())]);
}

#[test]
fn no_token_reaches_the_session_of_another() {
    let world = World::new();
    let first = Client::new(&world, &world.token("a", Role::Worker, Some("/p")));
    let mut second = Client::new(&world, &world.token("b", Role::Worker, Some("/p")));
    second.session.clone_from(&first.session);
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    assert_eq!(first.post(&ping).status, 200);
    assert_eq!(second.post(&ping).status, 404);
    let revoke = grants::revoke(&*world.store, "a", world.clock.now());
    world.runtime.block_on(revoke).unwrap();
    assert_eq!(first.post(&ping).status, 401);
}
