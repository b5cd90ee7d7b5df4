//! A small HTTP client: it sends exactly what a test says. It panics where a test would.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long a test waits for an answer.
pub const LONGEST: Duration = Duration::from_secs(20);

/// A request.
#[derive(Clone)]
pub struct Request {
    line: String,
    host: Option<String>,
    headers: Vec<String>,
    body: Vec<u8>,
}

impl Request {
    fn new(method: &str, path: &str) -> Self {
        let line = format!("{method} {path} HTTP/1.1");
        Self { line, host: None, headers: Vec::new(), body: Vec::new() }
    }

    /// A request that reads.
    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    /// A request that changes.
    pub fn post(path: &str) -> Self {
        Self::new("POST", path)
    }

    /// A request of any method.
    pub fn of(method: &str, path: &str) -> Self {
        Self::new(method, path)
    }

    /// With a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push(format!("{name}: {value}"));
        self
    }

    /// Names another host than the server's address.
    pub fn host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    /// With a bearer token.
    pub fn token(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// With JSON.
    pub fn json(mut self, value: &Value) -> Self {
        self.body = value.to_string().into_bytes();
        self.header("Content-Type", "application/json")
    }

    /// With a form.
    pub fn form(mut self, pairs: &str) -> Self {
        self.body = pairs.as_bytes().to_vec();
        self.header("Content-Type", "application/x-www-form-urlencoded")
    }

    /// With any body.
    pub fn body(mut self, bytes: Vec<u8>) -> Self {
        self.body = bytes;
        self
    }

    /// The bytes of the request.
    pub fn bytes(&self, address: SocketAddr, is_last: bool) -> Vec<u8> {
        let host = self.host.clone().unwrap_or_else(|| address.to_string());
        let mut head = format!("{}\r\nHost: {host}\r\n", self.line);
        for header in &self.headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        if is_last {
            head.push_str("Connection: close\r\n");
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", self.body.len()));
        [head.into_bytes(), self.body.clone()].concat()
    }

    /// Sends the request and reads the answer to its end.
    pub fn send(&self, address: SocketAddr) -> Got {
        let mut stream = connect(address);
        // A server that refuses a long body closes before it is sent.
        drop(stream.write_all(&self.bytes(address, true)));
        Got::read(&mut stream)
    }

    /// The same; `None` if nobody answers.
    pub fn try_send(&self, address: SocketAddr) -> Option<Got> {
        let mut stream = try_connect(address)?;
        stream.write_all(&self.bytes(address, true)).ok()?;
        Some(Got::read(&mut stream)).filter(|it| it.status > 0)
    }

    /// Sends the request and keeps the stream of events that is the answer.
    ///
    /// # Panics
    ///
    /// If there is no such stream.
    pub fn stream(&self, address: SocketAddr) -> Events {
        self.try_stream(address).expect("a stream of events")
    }

    /// The same; `None` if there is no such stream.
    pub fn try_stream(&self, address: SocketAddr) -> Option<Events> {
        let mut stream = try_connect(address)?;
        stream.write_all(&self.bytes(address, false)).ok()?;
        let mut lines = BufReader::new(stream);
        let head = head(&mut lines);
        head.first()?.contains(" 200 ").then_some(Events { lines })
    }
}

/// A connection whose reads end in time.
pub fn connect(address: SocketAddr) -> TcpStream {
    try_connect(address).expect("somebody listens")
}

fn try_connect(address: SocketAddr) -> Option<TcpStream> {
    let stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(LONGEST)).ok()?;
    Some(stream)
}

fn head(lines: &mut impl BufRead) -> Vec<String> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        let length = lines.read_line(&mut line).unwrap_or(0);
        let line = line.trim_end().to_owned();
        if length == 0 || line.is_empty() {
            return head;
        }
        head.push(line);
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Got {
    /// The status.
    pub status: u16,
    head: Vec<String>,
    /// The body as text.
    pub body: String,
}

impl Got {
    /// Reads an answer to its end.
    pub fn read(stream: &mut TcpStream) -> Self {
        let mut lines = BufReader::new(stream);
        let head = head(&mut lines);
        let mut body = Vec::new();
        drop(lines.read_to_end(&mut body));
        let status = head.first().and_then(|it| it.split(' ').nth(1)?.parse().ok()).unwrap_or(0);
        Self { status, head, body: String::from_utf8_lossy(&body).into_owned() }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let is_it =
            |it: &&String| it.split_once(':').is_some_and(|it| it.0.eq_ignore_ascii_case(name));
        self.head.iter().find(is_it).and_then(|it| Some(it.split_once(':')?.1.trim()))
    }

    /// The status line and all headers.
    pub fn headers(&self) -> &[String] {
        &self.head
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let parsed = serde_json::from_str(&self.body);
        assert!(parsed.is_ok(), "{self:?}");
        parsed.unwrap_or_default()
    }

    /// The JSON of a success.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert!((200..300).contains(&self.status), "{self:?}");
        self.json()
    }
}

/// A stream of events.
pub struct Events {
    lines: BufReader<TcpStream>,
}

/// One event.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Event {
    /// Its id.
    pub id: Option<String>,
    /// Its name.
    pub event: String,
    /// What it says.
    pub data: Value,
}

impl Events {
    /// The next event; `None` if the stream has ended.
    pub fn event(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line);
            // Nothing in time must not look like the end.
            let is_late = read.as_ref().is_err_and(|it| it.kind() == ErrorKind::WouldBlock);
            assert!(!is_late, "nothing comes");
            if !read.is_ok_and(|length| length > 0) {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", id)) => event.id = Some(id.to_owned()),
                Some(("event", name)) => event.event = name.to_owned(),
                Some(("data", data)) => event.data = serde_json::from_str(data).expect("JSON"),
                // The sizes of chunks, comments, empty lines.
                _ if line.trim().is_empty() && !event.event.is_empty() => return Some(event),
                _ if line.starts_with("0\r\n") => return None,
                _ => {}
            }
        }
    }

    /// The next entry of the journal.
    #[track_caller]
    pub fn entry(&mut self) -> Event {
        loop {
            let event = self.event().expect("the stream goes on");
            if event.event == "entry" {
                return event;
            }
        }
    }
}
