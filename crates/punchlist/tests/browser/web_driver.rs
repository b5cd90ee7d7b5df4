//! As much of WebDriver as the tests need, over HTTP on loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a fact may take to become true.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running chromedriver. It ends with this value, and so do its browsers.
pub(crate) struct Driver {
    process: Child,
    port: u16,
}

impl Driver {
    pub(crate) fn start() -> Self {
        let program =
            std::env::var("PUNCHLIST_TEST_CHROMEDRIVER").expect("cargo xtask test browser sets it");
        let mut process = Command::new(program)
            .args(["--port=0", "--log-level=SEVERE"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = loop {
            let line = lines.next().expect("chromedriver says its port").unwrap();
            if let Some((_, rest)) = line.split_once("successfully on port ") {
                break rest.trim_end_matches('.').trim().parse().unwrap();
            }
        };
        Self { process, port }
    }

    /// Sends a command. Panics with the driver's message if it fails.
    #[track_caller]
    pub(crate) fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        match self.try_send(method, path, body) {
            Ok(value) => value,
            Err(why) => panic!("{method} {path}: {why}"),
        }
    }

    pub(crate) fn try_send(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let text = |why: std::io::Error| why.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(text)?;
        stream.set_read_timeout(Some(PATIENCE * 2)).map_err(text)?;
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).map_err(text)?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).map_err(text)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).map_err(text)?;
        let mut answer: Value = serde_json::from_slice(&body).map_err(|why| why.to_string())?;
        let value = answer["value"].take();
        match value.get("error") {
            Some(error) => Err(format!("{error}: {}", value["message"])),
            None => Ok(value),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Waits until `is_so` returns something. Panics with `what` if it never does.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut is_so: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = is_so() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        // The browser has no way to call us; this only keeps it from being asked too often.
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// An empty object, for commands without arguments.
pub(crate) fn nothing() -> Value {
    json!({})
}
