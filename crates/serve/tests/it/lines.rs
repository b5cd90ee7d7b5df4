//! Lines that are not messages or are too long: how the server answers them, and that it continues.

use punchlist_formats::dialect::Dialect;
use punchlist_serve::mcp::serve_streams;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::world::server_of;

/// The longest line, with its end.
const LONGEST: usize = 16 * 1024 * 1024;

/// What a new server writes for a line, up to the answer to a handshake that follows.
fn answers(line: &[u8]) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        let server = tokio::spawn(serve_streams(server_of(Dialect::Turn), read, write));
        let (read, mut write) = tokio::io::split(ours);
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let hello =
            json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params});
        write.write_all(line).await.unwrap();
        write.write_all(format!("\n{hello}\n").as_bytes()).await.unwrap();
        let mut lines = BufReader::new(read).lines();
        let mut answers: Vec<Value> = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == "hello" {
                assert!(answer.get("result").is_some(), "{answer}");
                write.shutdown().await.unwrap();
                drop((write, lines));
                // The handshake was not finished, so any end is fine.
                server.await.unwrap().ok();
                return answers;
            }
            answers.push(answer);
        }
        panic!("the server has ended; it said {answers:?}");
    })
}

/// Checks the id and the code of the only answer, and returns its message.
#[track_caller]
fn check(line: &[u8], id: Value, code: i32) -> String {
    let answers = answers(line);
    let begin = String::from_utf8_lossy(&line[..line.len().min(80)]);
    let [answer] = answers.as_slice() else { panic!("{begin}: {answers:?}") };
    assert_eq!(answer.get("id"), Some(&id), "{begin}: {answer}");
    assert_eq!(answer["error"]["code"], code, "{begin}: {answer}");
    answer["error"]["message"].as_str().unwrap().to_owned()
}

/// A line of this length, without its end, that begins and ends like this.
fn filled(begin: &str, end: &str, length: usize) -> Vec<u8> {
    let mut line = begin.as_bytes().to_vec();
    line.resize(length - end.len(), b'x');
    line.extend_from_slice(end.as_bytes());
    line
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"create_todo","arguments":{"items":[{"title":""#;

#[test]
fn a_request_that_is_too_long_is_answered_by_its_id_and_the_server_goes_on() {
    let end = r#""}]}}}"#;
    let why = check(&filled(CALL, end, LONGEST), json!(7), -32600);
    assert_eq!(
        why,
        "Request too long: it has 16777217 bytes, and at most 16777216 (16 MiB) are read. Send fewer or \
         shorter items in each call."
    );
    check(&filled(CALL, end, 3 * LONGEST), json!(7), -32600);
    let last = r#""},"method":"tools/call","id":"z"}"#;
    check(&filled(r#"{"params":{"name":""#, last, LONGEST + 5), json!("z"), -32600);
}

#[test]
fn what_is_too_long_and_has_no_id_is_answered_with_null_unless_it_is_a_notification() {
    check(&filled("", "", LONGEST), Value::Null, -32600);
    check(&filled(r#"[{"id":1,"method":""#, r#""}]"#, LONGEST), Value::Null, -32600);
    let notification =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":""#;
    assert_eq!(answers(&filled(notification, r#""}}"#, LONGEST)), [] as [Value; 0]);
}

#[test]
fn a_line_that_is_no_json_is_a_parse_error() {
    for line in [
        "nonsense",
        "{",
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}}"#,
        "\u{feff}}",
        &"[".repeat(9000),
    ] {
        let why = check(line.as_bytes(), Value::Null, -32700);
        assert!(why.starts_with("Parse error: the line is not JSON ("), "{why}");
    }
    check(b"\xff\xfe", Value::Null, -32700);
}

#[test]
fn a_request_of_the_wrong_shape_is_answered_by_its_id_if_it_has_one() {
    for (line, id) in [
        (r#"{"id":1,"method":"ping"}"#, json!(1)),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, json!("a")),
        (r#"{"jsonrpc":"2.0","id":2,"method":5}"#, json!(2)),
        (r#"{"jsonrpc":"2.0","id":3}"#, json!(3)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","method":1}"#, Value::Null),
        ("{}", Value::Null),
        ("[]", Value::Null),
        ("3", Value::Null),
    ] {
        check(line.as_bytes(), id, -32600);
    }
}

#[test]
fn blank_lines_and_notifications_of_any_shape_are_passed_over() {
    for line in ["", " \t\r", r#"{"method":"notifications/moon"}"#, r#"{"method":"x","params":3}"#]
    {
        assert_eq!(answers(line.as_bytes()), [] as [Value; 0], "{line}");
    }
}
