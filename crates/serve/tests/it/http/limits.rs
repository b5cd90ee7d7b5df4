//! What a server bears: large, slow, odd and many requests, and its end.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use punchlist_model::store::access::Role;
use serde_json::json;

use punchlist_serve::http::guard::Times;

use super::{How, SITE, World};
use punchlist_testkit::http_client::{Got, Request, connect};

#[test]
fn a_body_that_is_too_long_is_refused_whether_or_not_its_length_is_declared() {
    let world = World::new();
    let token = world.token("t", Role::Worker, None);
    let plan = world.plan("/p");
    let path = format!("/api/v1/plans/{plan}/changes");
    let declared = Request::post(&path).token(&token).body(vec![b' '; 1024 * 1024 + 1]);
    assert_eq!(world.send(declared).status, 413);
    let mut stream = connect(world.address);
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        world.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk =
        [format!("{:x}\r\n", 64 * 1024).into_bytes(), vec![b' '; 64 * 1024], b"\r\n".to_vec()];
    let chunk = chunk.concat();
    // The server may close before all is sent.
    for _ in 0..20 {
        if stream.write_all(&chunk).is_err() {
            break;
        }
    }
    drop(stream.write_all(b"0\r\n\r\n"));
    assert_eq!(Got::read(&mut stream).status, 413);
}

#[test]
fn a_client_that_sends_its_head_slowly_is_disconnected() {
    let world = World::with(How { head: Duration::from_millis(300), ..How::default() });
    let mut stream = connect(world.address);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").unwrap();
    let began = Instant::now();
    let mut rest = Vec::new();
    drop(stream.read_to_end(&mut rest));
    assert!(began.elapsed() < Duration::from_secs(15), "the server waits for ever");
    let rest = String::from_utf8_lossy(&rest);
    assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 408"), "{rest}");
    assert_eq!(world.send(Request::get("/healthz")).status, 200, "others are served");
}

#[test]
fn a_client_that_sends_its_body_slowly_is_told_that_it_took_too_long() {
    let times = Times { request: Duration::from_millis(300), ..Times::default() };
    let world = World::with(How { times, ..How::default() });
    let (token, plan) = (world.token("t", Role::Worker, None), world.plan("/p"));
    let body = json!({"ops": [{"op": "add", "title": "late"}]});
    let request = Request::post(&format!("/api/v1/plans/{plan}/changes")).token(&token).json(&body);
    let bytes = request.bytes(world.address, true);
    let mut stream = connect(world.address);
    stream.write_all(&bytes[..bytes.len() - 5]).unwrap();
    let got = Got::read(&mut stream);
    assert_eq!((got.status, got.json()["code"].as_str()), (408, Some("timeout")), "{got:?}");
    let whole = world.runtime.block_on(world.store.whole(plan)).unwrap();
    assert_eq!(whole.items.len(), 0, "nothing was changed");
}

#[test]
fn the_page_after_a_check_that_goes_on_says_so() {
    let world = World::new();
    let (token, plan) = (world.token("t", Role::Admin, None), world.plan("/p"));
    let page = world.get(&token, &format!("/{SITE}/plans/{plan}?done=running")).body;
    assert!(page.contains("The check takes long and goes on"), "{page}");
}

#[test]
fn one_connection_too_many_is_told_so_and_the_others_go_on() {
    let world = World::with(How { connections: 2, ..How::default() });
    let held: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = connect(world.address);
            // Answered, so that the server has accepted it.
            stream.write_all(&Request::get("/healthz").bytes(world.address, false)).unwrap();
            let mut first = [0; 12];
            stream.read_exact(&mut first).unwrap();
            assert_eq!(&first[9..], b"200");
            stream
        })
        .collect();
    let mut stream = connect(world.address);
    assert_eq!(Got::read(&mut stream).status, 503);
    drop(held);
    let until = Instant::now() + Duration::from_secs(10);
    while world.send(Request::get("/healthz")).status != 200 {
        assert!(Instant::now() < until, "the places are not free again");
        std::thread::yield_now();
    }
}

#[test]
fn wrong_secrets_and_busy_tokens_are_slowed_down() {
    let world = World::with(How { rate: 3, ..How::default() });
    let token = world.token("t", Role::Viewer, None);
    let statuses = |token: &str, most| -> Vec<u16> {
        (0..most).map(|_| world.get(token, "/api/v1/me").status).collect()
    };
    let wrong = statuses("plt_x_y", 60);
    assert_eq!(wrong[0], 401);
    assert!(wrong.contains(&429), "{wrong:?}");
    let right = statuses(&token, 30);
    assert_eq!(right[0], 200, "those who have a token are not locked out");
    assert!(right.contains(&429), "{right:?}");
}

#[test]
fn odd_paths_and_headers_find_nothing_and_put_nothing_into_headers() {
    let world = World::new();
    let token = world.token("t", Role::Admin, None);
    for path in [
        "/api/v1/../../etc/passwd",
        "/api/v1/plans/..%2f..%2fetc%2fpasswd",
        "/api/v1/plans/%2e%2e",
        "/%2e%2e/%2e%2e/etc/passwd",
        &format!("/{SITE}/../healthz"),
        &format!("/{SITE}/..%2fhealthz"),
        "//etc/passwd",
        "/api/v1/plans/a%0d%0aSet-Cookie:%20x=y",
        "/api/v1/me%00",
        "/api/v1/plans/%ff%fe",
    ] {
        let got = world.send(Request::get(path).token(&token));
        assert!(matches!(got.status, 400 | 401 | 404), "{path}: {got:?}");
        assert!(got.header("set-cookie").is_none(), "{path}");
        assert!(!got.body.contains("root:"), "{path}");
    }
    let mut stream = connect(world.address);
    let raw = format!(
        "GET /{SITE}/ HTTP/1.1\r\nHost: {}\r\nAccept: text/html\r\nX: a\rb\nSet-Cookie: x=y\r\n\
         Connection: close\r\n\r\n",
        world.address
    );
    stream.write_all(raw.as_bytes()).unwrap();
    let got = Got::read(&mut stream);
    assert!(got.header("set-cookie").is_none(), "{got:?}");
}

#[test]
fn every_answer_forbids_what_no_page_of_ours_needs() {
    let world = World::new();
    let paths = ["/healthz", "/nowhere", "/api/v1/me", "/mcp"];
    let pages = [format!("/{SITE}/login"), format!("/{SITE}/")];
    for path in paths.into_iter().chain(pages.iter().map(String::as_str)) {
        let got = world.send(Request::get(path));
        let policy = got.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(got.header(name), Some(value), "{path}");
        }
        assert!(got.header("cache-control").is_some(), "{path}");
        assert!(!got.headers().iter().any(|it| it.to_lowercase().starts_with("server:")));
    }
}

#[test]
fn numbers_are_told_to_those_who_have_a_token() {
    let world = World::new();
    let token = world.token("t", Role::Viewer, None);
    world.get(&token, "/api/v1/me").ok();
    let mut events = Request::get("/api/v1/events").token(&token).stream(world.address);
    assert_eq!(events.event().unwrap().event, "reload");
    let text = world.get(&token, "/metrics").body;
    assert!(text.contains("punchlist_event_streams 1"), "{text}");
    assert!(text.contains("punchlist_http_responses_total{status=\"2xx\"} 2"), "{text}");
}

#[test]
fn a_server_that_is_told_to_end_answers_what_runs_and_ends_streams() {
    let mut world = World::new();
    let token = world.token("t", Role::Worker, None);
    let plan = world.plan("/p");
    let mut events = Request::get("/api/v1/events").token(&token).stream(world.address);
    assert_eq!(events.event().unwrap().event, "reload");
    // A request of which the server has the head and half of the body.
    let body = json!({"ops": [{"op": "add", "title": "late"}]});
    let request = Request::post(&format!("/api/v1/plans/{plan}/changes")).token(&token).json(&body);
    let bytes = request.bytes(world.address, true);
    let mut stream = connect(world.address);
    let (first, rest) = bytes.split_at(bytes.len() - 5);
    stream.write_all(first).unwrap();
    // The next request comes after it on the same machine; its answer shows that the server reads.
    world.get(&token, "/api/v1/me").ok();
    let address = world.address;
    std::thread::scope(|scope| {
        let ending = scope.spawn(|| world.end());
        // A hint from before may come; then the stream ends.
        while events.event().is_some_and(|it| it.event == "reload") {}
        stream.write_all(rest).unwrap();
        assert_eq!(Got::read(&mut stream).status, 200);
        ending.join().unwrap();
    });
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
}
