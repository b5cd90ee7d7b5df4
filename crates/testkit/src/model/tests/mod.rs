//! The scripted model, over a socket, as an agent uses it.

mod anthropic;
mod chat;
mod gemini;
mod openai;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use super::Server;

/// What came back: the status (0 if nothing did), what was read of the body, and whether the body came to its end.
struct Reply {
    status: u16,
    body: String,
    whole: bool,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {}", self.body))
    }

    /// The data of the events, in order.
    fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|it| it.strip_prefix("data: "));
        data.map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    fn names(&self) -> Vec<&str> {
        self.body.lines().filter_map(|it| it.strip_prefix("event: ")).collect()
    }
}

/// Sends a request and reads until the server is done, or silent for too long.
fn send(server: &Server, path: &str, body: &str) -> Reply {
    let mut socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    write!(
        socket,
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: sk-secret\r\n\
         authorization: Bearer sk-secret\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut bytes = Vec::new();
    if let Err(error) = socket.read_to_end(&mut bytes) {
        assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    }
    let text = String::from_utf8(bytes).unwrap();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return Reply { status: 0, body: text, whole: false };
    };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let chunked = head.contains("transfer-encoding: chunked");
    let whole = !chunked || body.ends_with("0\r\n\r\n");
    Reply { status, body: body.to_owned(), whole }
}
