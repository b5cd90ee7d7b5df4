//! aimock, a mock server of model providers that others wrote: a second opinion on every API.
//!
//! `cargo xtask test providers` installs it, and tells the tests where.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The server's program, below the directory that npm installed it to.
const PROGRAM: &str = "node_modules/@copilotkit/aimock/dist/cli.js";

/// What precedes the address in the line that the server prints once it listens.
const LISTENS: &str = "listening on ";

/// How long the server may take to start.
const START: Duration = Duration::from_secs(60);

/// A running server, on loopback. Ends when it is dropped.
#[derive(Debug)]
pub struct Aimock {
    program: Child,
    url: String,
}

impl Aimock {
    /// Starts the server that is installed below `place`. `fixtures` are its answers: requests that
    /// match none are refused. They are written to a file in `directory`. With a key, requests that
    /// have another one are refused too.
    pub fn start(
        place: &Path,
        directory: &Path,
        fixtures: &[Value],
        key: Option<&str>,
    ) -> io::Result<Self> {
        let file = directory.join("fixtures.json");
        fs::write(&file, json!({"fixtures": fixtures}).to_string())?;
        let mut command = Command::new("node");
        command.arg(place.join(PROGRAM)).args(["--strict", "--validate-on-load", "--port", "0"]);
        command.args(["--host", "127.0.0.1", "--fixtures"]).arg(&file).current_dir(directory);
        if let Some(key) = key {
            command.env("AIMOCK_API_KEYS", key);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut program = command.spawn()?;
        let output = program.stdout.take().ok_or_else(|| io::Error::other("there is no pipe"))?;
        // Dropping it ends the program, also if it never listens.
        let mut server = Self { program, url: String::new() };
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || read(output, &sender));
        let no_address = |_| io::Error::other("aimock did not say where it listens");
        server.url = receiver.recv_timeout(START).map_err(no_address)?;
        Ok(server)
    }

    /// The address, such as `http://127.0.0.1:4010`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Sends the address that the server prints, and reads on, so that the server never waits for a full
/// pipe.
fn read(output: ChildStdout, sender: &mpsc::Sender<String>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some((_, url)) = line.split_once(LISTENS) {
            // If nobody waits for it any more, the server is ended anyway.
            drop(sender.send(url.trim().to_owned()));
        }
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        drop(self.program.kill());
        drop(self.program.wait());
    }
}
