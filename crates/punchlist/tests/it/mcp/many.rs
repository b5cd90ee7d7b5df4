//! Many calls, many servers, and a killed server: no acknowledged change is lost.

use std::collections::BTreeSet;

use serde_json::json;

use super::client::Client;
use crate::world::World;

#[test]
fn calls_in_flight_are_worked_off_in_their_order() {
    let world = World::new();
    let mut client = Client::older(&world, &["-c", "limits.open_items=1000"]);
    let mut sent = Vec::new();
    let mut expected = Vec::new();
    for n in 0..16 * 5 {
        let title = format!("Item {n}");
        let params = json!({"name": "create_todo", "arguments": {"items": [{"title": title}]}});
        sent.push(client.send("tools/call", params));
        expected.push(title);
        if sent.len() == 16 {
            for id in sent.drain(..) {
                let answer = client.answer(id);
                assert_eq!(answer["result"]["isError"], json!(null), "{answer}");
            }
        }
    }
    assert_eq!(client.titles(), expected);
}

#[test]
fn a_list_that_is_asked_for_behind_a_change_shows_it() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    let create = json!({"name": "create_todo", "arguments": {"items": [{"title": "A"}]}});
    client.send("tools/call", create);
    let id = client.send("tools/call", json!({"name": "list_todo", "arguments": {}}));
    let answer = client.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["items"][0]["title"], "A", "{answer}");
}

#[test]
fn two_servers_at_once_share_a_plan_that_has_a_name() {
    let world = World::new();
    let mut servers = [
        Client::older(&world, &["--plan", "shared", "-c", "limits.open_items=1000"]),
        Client::older(&world, &["--plan", "shared", "-c", "limits.open_items=1000"]),
    ];
    let mut expected = BTreeSet::new();
    for n in 0..20 {
        // Both have an item in progress.
        let under_way: Vec<(usize, u64)> = (0..2)
            .map(|which| {
                let title = format!("{which}-{n}");
                let items = json!([{"title": title}]);
                expected.insert(title);
                let call = json!({"name": "create_todo", "arguments": {"items": items}});
                (which, servers[which].send("tools/call", call))
            })
            .collect();
        for (which, id) in under_way {
            assert_eq!(servers[which].answer(id)["result"]["isError"], json!(null));
        }
    }
    for server in &mut servers {
        let titles = server.titles();
        assert_eq!(titles.len(), 40);
        assert_eq!(titles.into_iter().collect::<BTreeSet<_>>(), expected);
    }
    // One item each: an item that one has claimed is not given to the other.
    let first = servers[0].works("next_todo", json!({}))["item"]["id"].clone();
    let second = servers[1].works("next_todo", json!({}))["item"]["id"].clone();
    assert!(first.is_string() && second.is_string() && first != second, "{first} {second}");
    // A server that has ended holds no claim any more.
    let [one, mut other] = servers;
    one.kill();
    let id = second.as_str().unwrap();
    other.works("complete_todo", json!({"todoId": id, "outcome": "x"}));
    assert_eq!(other.works("next_todo", json!({}))["item"]["id"], first);
}

#[test]
fn what_was_answered_survives_a_kill() {
    let world = World::new();
    let mut answered = Vec::new();
    for round in 0..4 {
        let mut client = Client::older(&world, &["--plan", "kept", "-c", "limits.open_items=1000"]);
        let sent: Vec<(u64, String)> = (0..40)
            .map(|n| {
                let title = format!("{round}-{n}");
                let items = json!([{"title": title}]);
                let call = json!({"name": "create_todo", "arguments": {"items": items}});
                (client.send("tools/call", call), title)
            })
            .collect();
        // Killed with calls in flight, at another point each time.
        for (id, title) in sent.into_iter().take(5 + round * 7) {
            assert_eq!(client.answer(id)["result"]["isError"], json!(null));
            answered.push(title);
        }
        client.kill();
    }
    let mut client = Client::older(&world, &["--plan", "kept"]);
    let there = client.titles();
    for title in &answered {
        assert_eq!(there.iter().filter(|it| *it == title).count(), 1, "{title}");
    }
}
