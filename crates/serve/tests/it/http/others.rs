//! The server with test programs that others wrote: `cargo xtask test api` runs them.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use punchlist_model::store::access::Role;
use serde_json::json;

use super::World;
use crate::conformance;
use punchlist_testkit::http_client::Request;

/// Checks that schemathesis makes, and what they would say here that is no mistake.
const SETTINGS: &str = "\
[checks.positive_data_acceptance]
# A rule of the plan may refuse what the document allows, and a plan may have changed.
expected-statuses = [\"2xx\", \"404\", \"409\", \"422\"]
";

#[test]
#[ignore = "needs schemathesis: cargo xtask test api"]
fn the_api_is_what_its_document_says() {
    let program =
        std::env::var("PUNCHLIST_TEST_SCHEMATHESIS").expect("run by `cargo xtask test api`");
    let world = World::new();
    let token = world.token("schemathesis", Role::Admin, None);
    // Something to find.
    let plan = world.plan("/p");
    let change = Request::post(&format!("/api/v1/plans/{plan}/changes")).token(&token);
    let ops = json!({"ops": [{"op": "add", "title": "a"}, {"op": "add", "title": "b"}]});
    world.send(change.json(&ops)).ok();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("schemathesis.toml"), SETTINGS).unwrap();
    let output = Command::new(program)
        .args(["run", &format!("http://{}/api/v1/openapi.json", world.address)])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        // A stream does not end.
        .args(["--exclude-operation-id", "events"])
        .args(["--max-examples", "40", "--seed", "1", "--no-color", "--workers", "1"])
        .args(["--phases", "examples,coverage,fuzzing"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    println!("{}", text.concat());
    assert!(output.status.success());
}

#[test]
#[ignore = "needs the suite: cargo xtask test api"]
fn mcp_over_http_passes_every_scenario_that_applies() {
    let world = World::new();
    let token = world.token("conformance", Role::Worker, Some("/p"));
    let proxy = with_token(world.address, &token);
    conformance::check(&format!("http://{proxy}/mcp"));
}

/// A proxy that adds the token to every request: the suite cannot send one. It passes everything else on as it
/// came, also `Host` and `Origin`, in which only its own address becomes the server's.
fn with_token(server: SocketAddr, token: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, token) = (listener.local_addr().unwrap(), token.to_owned());
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let token = token.clone();
            thread::spawn(move || pass_on(client, address, server, &token));
        }
    });
    address
}

fn pass_on(mut client: TcpStream, own: SocketAddr, server: SocketAddr, token: &str) {
    // One request per connection, so that only one head has to be changed.
    let (mut head, mut byte) = (Vec::new(), [0; 1]);
    while !head.ends_with(b"\r\n\r\n") {
        match client.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).replace(&own.to_string(), &server.to_string());
    let lines = head.trim_end().lines().filter(|it| !it.to_lowercase().starts_with("connection:"));
    let mut head: String = lines.map(|it| format!("{it}\r\n")).collect();
    head.push_str(&format!("Authorization: Bearer {token}\r\nConnection: close\r\n\r\n"));
    let Ok(mut upstream) = TcpStream::connect(server) else { return };
    if upstream.write_all(head.as_bytes()).is_err() {
        return;
    }
    let (Ok(mut from), Ok(mut to)) = (client.try_clone(), upstream.try_clone()) else { return };
    thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
    drop(std::io::copy(&mut upstream, &mut client));
    drop(client.shutdown(Shutdown::Both));
    drop(upstream.shutdown(Shutdown::Both));
}
