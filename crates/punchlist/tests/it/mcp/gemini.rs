//! What Gemini CLI does with our tools: it adds an argument to each, and ends a run when it detects
//! a loop.

use serde_json::{Value, json};

use super::client::Client;
use crate::world::World;

/// Gemini CLI gives up when a call is repeated five times in a row, or a cycle of up to five calls
/// five times.
fn is_loop(calls: &[String]) -> bool {
    (1..=5).any(|round| {
        let needed = round * 5;
        calls
            .windows(needed)
            .any(|it| it.iter().enumerate().all(|(at, call)| *call == it[at % round]))
    })
}

#[test]
fn a_long_list_is_worked_off_without_what_gemini_takes_for_a_loop() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    let mut calls = Vec::new();
    let mut call = |name: &str, arguments: Value| {
        calls.push(format!("{name} {arguments}"));
        // Gemini CLI adds this argument to every tool, and sends it.
        let mut sent = arguments;
        sent["wait_for_previous"] = json!(true);
        client.works(name, sent)
    };
    let items: Vec<Value> = (0..12).map(|n| json!({"title": format!("Step {n}")})).collect();
    call("create_todo", json!({"items": items}));
    for _ in 0..12 {
        let next = call("next_todo", json!({}));
        let id = next["item"]["id"].as_str().unwrap_or_else(|| panic!("{next}")).to_owned();
        call("complete_todo", json!({"todoId": id, "outcome": "done"}));
    }
    assert!(!is_loop(&calls), "{calls:#?}");
    let same = vec!["x".to_owned(); 5];
    assert!(is_loop(&same) && !is_loop(&same[..4]));
}
