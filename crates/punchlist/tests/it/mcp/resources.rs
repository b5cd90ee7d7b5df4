//! Plans as resources, and subscriptions to their changes.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, OLDER};
use crate::world::World;

const CURRENT: &str = "punchlist://plan/current";

/// The URIs and titles of the listed resources.
fn listed(client: &mut Client) -> Vec<(String, String)> {
    let answer = client.ask("resources/list", json!({}));
    let resources = answer["result"]["resources"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    resources.iter().map(|it| (text(&it["uri"]), text(&it["title"]))).collect()
}

fn read(client: &mut Client, uri: &str) -> Value {
    client.ask("resources/read", json!({"uri": uri}))
}

#[test]
fn the_current_plan_and_every_other_of_the_project_can_be_read() {
    let world = World::new();
    world.typed("add \"By \u{1b}[31mhand\" --plan release").works();
    let mut client = Client::older(&world, &[]);
    client.create(&["A", "B"]);
    client.works("complete_todo", json!({"todoId": "1", "outcome": "x"}));
    let all = listed(&mut client);
    assert_eq!(all.len(), 3, "{all:?}");
    assert_eq!(all[0], (CURRENT.to_owned(), "Current plan".to_owned()));
    assert!(all.iter().any(|(_, title)| title == "release"), "{all:?}");
    assert_eq!(
        read(&mut client, CURRENT)["result"]["contents"][0]["text"],
        "# A\n\n- [x] A\n- [ ] B\n"
    );
    let release = &all.iter().find(|(_, title)| title == "release").unwrap().0;
    let contents = read(&mut client, release)["result"]["contents"][0].clone();
    assert_eq!(contents["mimeType"], "text/markdown");
    assert!(contents["text"].as_str().unwrap().contains("hand"), "{contents}");
    assert!(!contents["text"].as_str().unwrap().contains('\u{1b}'), "{contents}");
    let contents = read(&mut client, &format!("{release}.json"))["result"]["contents"][0].clone();
    assert_eq!(contents["mimeType"], "application/json");
    let plan: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
    assert_eq!(plan["items"].as_array().unwrap().len(), 1);
    let templates = client.ask("resources/templates/list", json!({}))["result"].clone();
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "punchlist://plan/{id}");
    assert_eq!(templates["resourceTemplates"][1]["uriTemplate"], "punchlist://plan/{id}.json");
}

#[test]
fn a_plan_of_another_project_is_not_found() {
    let world = World::new();
    std::fs::create_dir(world.path("elsewhere")).unwrap();
    world.typed_in("elsewhere", "add Secret").works();
    let plans = world.run(&["plans", "--all", "--json"]).json();
    let id = plans["plans"][0]["id"].as_str().unwrap();
    let mut client = Client::older(&world, &[]);
    assert_eq!(listed(&mut client).len(), 1);
    for uri in [
        format!("punchlist://plan/{id}"),
        format!("punchlist://plan/{id}.json"),
        "punchlist://plan/00000000-0000-0000-0000-000000000000".to_owned(),
        "punchlist://plan/".to_owned(),
        "file:///etc/passwd".to_owned(),
        String::new(),
    ] {
        let answer = read(&mut client, &uri);
        assert_eq!(answer["error"]["code"], -32002, "{uri}: {answer}");
    }
}

#[test]
fn many_plans_are_listed_page_by_page() {
    let world = World::new();
    for n in 0..120 {
        let key = format!("c{n}");
        let call = b"{\"items\": [{\"title\": \"A\"}]}";
        world.run_with(&["tool", "turn", "create_todo", "--conversation", &key], call).works();
    }
    let mut client = Client::older(&world, &[]);
    let first = client.ask("resources/list", json!({}))["result"].clone();
    assert_eq!(first["resources"].as_array().unwrap().len(), 101);
    let cursor = first["nextCursor"].clone();
    let rest = client.ask("resources/list", json!({"cursor": cursor}))["result"].clone();
    assert_eq!(rest["resources"].as_array().unwrap().len(), 20);
    assert_eq!(rest["nextCursor"], Value::Null);
    let answer = client.ask("resources/list", json!({"cursor": "x"}));
    assert_eq!(answer["error"]["code"], -32602);
}

#[test]
fn an_older_subscriber_hears_of_everybodys_changes() {
    for version in OLDER {
        let world = World::new();
        let mut client = Client::silent(&world, &["--plan", "shared"]);
        client.shake_hands(version, &json!({}));
        client.create(&["A"]);
        assert_eq!(client.ask("resources/subscribe", json!({"uri": CURRENT}))["result"], json!({}));
        world.typed("add B --plan shared").works();
        let heard = client.notified("notifications/resources/updated");
        assert_eq!(heard["params"]["uri"], CURRENT, "{version}");
        // The client's own change is notified too.
        client.create(&["C"]);
        client.notified("notifications/resources/updated");
        assert_eq!(
            client.ask("resources/unsubscribe", json!({"uri": CURRENT}))["result"],
            json!({})
        );
        world.typed("add D --plan shared").works();
        assert_eq!(client.titles(), ["A", "B", "C", "D"]);
        assert!(!client.has_heard("notifications/resources/updated"));
        let answer = client.ask("resources/subscribe", json!({"uri": "file:///x"}));
        assert_eq!(answer["error"]["code"], -32002);
    }
}

#[test]
fn whoever_has_seen_the_list_hears_of_new_plans() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    // Before there is a store.
    assert_eq!(listed(&mut client).len(), 1);
    client.create(&["A"]);
    client.notified("notifications/resources/list_changed");
    world.typed("add B --plan release").works();
    client.notified("notifications/resources/list_changed");
    assert_eq!(listed(&mut client).len(), 3);
}

#[test]
fn a_newer_subscriber_hears_what_it_asked_for() {
    let world = World::new();
    world.typed("add A --plan shared").works();
    let mut client = Client::newer(&world, &["--plan", "shared"], &json!({}));
    let wanted = json!({
        "resourceSubscriptions": [CURRENT, "file:///x"],
        "resourcesListChanged": true,
        "toolsListChanged": true,
    });
    let id = client.send("subscriptions/listen", json!({"notifications": wanted}));
    let heard = client.notified("notifications/subscriptions/acknowledged");
    let accepted = json!({"resourceSubscriptions": [CURRENT], "resourcesListChanged": true});
    assert_eq!(heard["params"]["notifications"], accepted, "{heard}");
    // The server does not report when it follows the store, so the change is repeated until it is
    // notified.
    let mut n = 0;
    let heard = loop {
        n += 1;
        world.run(&["add", &format!("B{n}"), "--plan", "shared"]).works();
        client.titles();
        if client.has_heard("notifications/resources/updated") {
            break client.notified("notifications/resources/updated");
        }
        assert!(n < 200, "nothing is heard");
    };
    assert_eq!(heard["params"]["uri"], CURRENT);
    assert_eq!(heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{heard}");
    world.typed("add C --plan other").works();
    client.notified("notifications/resources/list_changed");
    client.say(&json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": id},
    }));
    assert!(!client.titles().is_empty());
    // The older method is not available in this revision.
    let answer = client.ask("resources/subscribe", json!({"uri": CURRENT}));
    assert_eq!(answer["error"]["code"], -32601);
}

#[test]
fn the_end_of_stdin_ends_the_server_also_while_somebody_listens() {
    // The library would wait five seconds for pending requests.
    let soon = Duration::from_secs(4);
    let world = World::new();
    world.typed("add A --plan shared").works();
    let mut client = Client::newer(&world, &["--plan", "shared"], &json!({}));
    let wanted = json!({"resourceSubscriptions": [CURRENT]});
    client.send("subscriptions/listen", json!({"notifications": wanted}));
    client.notified("notifications/subscriptions/acknowledged");
    let (status, took) = client.end();
    assert!(status.success() && took < soon, "{took:?}");
    let mut client = Client::older(&world, &["--plan", "shared"]);
    client.ask("resources/subscribe", json!({"uri": CURRENT}));
    let (status, took) = client.end();
    assert!(status.success() && took < soon, "{took:?}");
}
