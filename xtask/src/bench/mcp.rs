//! The MCP server over pipes, compared with a minimal server that uses a database.
//!
//! Both use the same protocol library. They are called alternately, one call at a time. Servers of
//! other lists are in `mcp_peers`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::cold::{Scratch, build};
use super::mcp_peers;
use super::measure::{can_count, collected, median, on_one_processor};
use super::table::{hundredths, megabytes, short_time, table, times};
use crate::print::{say, warn};

/// Calls per block; blocks of both servers alternate.
const BLOCK: usize = 100;

/// The pause before each block. While calls follow each other, the system keeps client and server
/// on one processor or on two, and that makes more difference than a call. After a pause it decides
/// again, so no server is always lucky.
const REST: Duration = Duration::from_millis(20);

/// Counted calls. They are counted for N and 2 N calls, so that the cost of starting cancels out.
const COUNTED: usize = 100;

/// Items in the list that is read.
const LISTED: usize = 20;

const ABOUT: &str = "\
One call in flight over pipes, NORMAL durability. The baseline is a server on the same library whose
create is one insert and whose list is one select: no journal, rules, sessions or claims. On one
processor nobody waits for another one to wake up.";

const NOT_MEASURED: &str = "\
Not measured:
  FULL durability, where the disk decides
  what other lists keep of what they acknowledge: `cargo xtask bench peers`
  clients that hand over sockets instead of pipes, as some do";

/// The measured servers.
#[derive(Clone, Copy)]
enum Who {
    Ours,
    Baseline,
}

const BOTH: [Who; 2] = [Who::Ours, Who::Baseline];

struct Programs {
    ours: PathBuf,
    baseline: PathBuf,
}

impl Programs {
    /// The server with its own database in `place`.
    fn command(&self, who: Who, place: &Path) -> Command {
        match who {
            Who::Ours => {
                let mut command = Command::new(&self.ours);
                command.arg("mcp").arg("--db").arg(place.join("ours.db")).arg("-C").arg(place);
                command.args(["-c", "store.durability=normal", "-c", "limits.open_items=1000000"]);
                // One session id, so that a second server finds the plan of the first.
                command.env("CLAUDE_CODE_SESSION_ID", "bench").env("HOME", place);
                command
            }
            Who::Baseline => {
                let mut command = Command::new(&self.baseline);
                command.arg(place.join("baseline.db"));
                command
            }
        }
    }
}

pub(super) fn run(rounds: usize) -> Result<(), String> {
    warn("building the server and its baseline");
    let programs = Programs {
        ours: build(&["--workspace", "--bin", "punchlist"])?,
        baseline: build(&["--workspace", "--example", "mcp_baseline"])?,
    };
    let scratch = Scratch::new()?;
    let mut rows = vec![["", "ours", "baseline", "ratio", "goal"].map(str::to_owned).to_vec()];
    warn("timing calls");
    let (create, resident) = creates(&programs, &scratch, rounds)?;
    rows.push(row("create_todo, p50", create, "≤ 2×"));
    if let Some(pinned) = on_one_processor(|| creates(&programs, &scratch, rounds)) {
        rows.push(row("the same on one processor", pinned?.0, "≤ 2×"));
    }
    rows.push(row("list_todo of 20, p50", lists(&programs, &scratch, rounds)?, ""));
    rows.push(row("start to the first answer, p50", starts(&programs, &scratch, rounds)?, ""));
    let mut memory = vec!["resident memory".to_owned()];
    memory.extend(resident.map(megabytes));
    memory.extend([String::new(), "≤ 15 MB".to_owned()]);
    rows.push(memory);
    if can_count() {
        warn("counting instructions");
        for (name, list) in
            [("instructions per create_todo", false), ("instructions per list_todo of 20", true)]
        {
            let counts = both(|who| counted(&programs, &scratch, who, list))?;
            let ratio = times(hundredths(counts[0].into(), counts[1].into()));
            let [ours, baseline] = counts.map(|it| format!("{} k", (it + 500) / 1000));
            rows.push(vec![name.to_owned(), ours, baseline, ratio, String::new()]);
        }
    }
    say(&format!("{ABOUT}\n{}\n", table(&rows)));
    mcp_peers::run(&programs.ours, &scratch)?;
    say(NOT_MEASURED);
    if !can_count() {
        say("  instructions: valgrind is not installed");
    }
    Ok(())
}

fn both<T>(mut of: impl FnMut(Who) -> Result<T, String>) -> Result<[T; 2], String> {
    Ok([of(Who::Ours)?, of(Who::Baseline)?])
}

fn row(name: &str, [ours, baseline]: [Duration; 2], goal: &str) -> Vec<String> {
    let ratio = times(hundredths(ours.as_nanos(), baseline.as_nanos()));
    vec![name.to_owned(), short_time(ours), short_time(baseline), ratio, goal.to_owned()]
}

/// The median time of a create, and the memory of the servers afterwards, in kilobytes.
fn creates(
    programs: &Programs,
    scratch: &Scratch,
    rounds: usize,
) -> Result<([Duration; 2], [u64; 2]), String> {
    let place = fresh(scratch)?;
    let mut servers = both(|who| Server::start(programs.command(who, &place)))?;
    let medians = in_turn(&mut servers, rounds, Server::create)?;
    let resident = [servers[0].resident()?, servers[1].resident()?];
    Ok((medians, resident))
}

/// The median time of listing twenty items.
fn lists(programs: &Programs, scratch: &Scratch, rounds: usize) -> Result<[Duration; 2], String> {
    let place = fresh(scratch)?;
    let mut servers = both(|who| filled(programs, who, &place))?;
    in_turn(&mut servers, rounds, Server::list)
}

/// The median times of a call of both servers, in alternating blocks.
fn in_turn(
    servers: &mut [Server; 2],
    rounds: usize,
    call: impl Fn(&mut Server) -> Result<Duration, String>,
) -> Result<[Duration; 2], String> {
    let mut taken = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (server, taken) in servers.iter_mut().zip(&mut taken) {
            thread::sleep(REST);
            for _ in 0..BLOCK {
                taken.push(call(server)?);
            }
        }
    }
    Ok(taken.map(|it| median(&it).unwrap_or_default()))
}

/// The median time from starting a server with an existing store to its first list.
fn starts(programs: &Programs, scratch: &Scratch, rounds: usize) -> Result<[Duration; 2], String> {
    let place = fresh(scratch)?;
    for who in BOTH {
        filled(programs, who, &place)?.end()?;
    }
    let mut taken = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (who, taken) in BOTH.into_iter().zip(&mut taken) {
            let began = Instant::now();
            let mut server = Server::start(programs.command(who, &place))?;
            server.list()?;
            taken.push(began.elapsed());
            server.end()?;
        }
    }
    Ok(taken.map(|it| median(&it).unwrap_or_default()))
}

/// The instructions of one call.
fn counted(programs: &Programs, scratch: &Scratch, who: Who, list: bool) -> Result<u64, String> {
    let mut counts = [0, 0];
    for (calls, count) in [COUNTED, 2 * COUNTED].into_iter().zip(&mut counts) {
        let place = fresh(scratch)?;
        if list {
            filled(programs, who, &place)?.end()?;
        }
        let mut server = Server::start(under_valgrind(&programs.command(who, &place)))?;
        for _ in 0..calls {
            if list { server.list() } else { server.create() }?;
        }
        let report = server.end()?;
        *count = collected(&report).ok_or_else(|| format!("valgrind gave no count:\n{report}"))?;
    }
    let calls = u64::try_from(COUNTED).unwrap_or(1);
    Ok(counts[1].saturating_sub(counts[0]) / calls)
}

fn under_valgrind(command: &Command) -> Command {
    let mut counted = Command::new("valgrind");
    counted.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    counted.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            counted.env(name, value);
        }
    }
    counted
}

/// A server whose list has twenty items.
fn filled(programs: &Programs, who: Who, place: &Path) -> Result<Server, String> {
    let mut server = Server::start(programs.command(who, place))?;
    for _ in 0..LISTED {
        server.create()?;
    }
    Ok(server)
}

/// An empty directory.
fn fresh(scratch: &Scratch) -> Result<PathBuf, String> {
    let place = scratch.join("mcp");
    drop(fs::remove_dir_all(&place));
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    Ok(place)
}

/// A running server, and the client's side of it.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last: u64,
    line: String,
}

impl Server {
    /// Starts a server and initialises the protocol.
    fn start(mut command: Command) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the server has no pipes".to_owned());
        };
        let (stdin, stdout) = (Some(stdin), BufReader::new(stdout));
        let mut server = Self { child, stdin, stdout, last: 0, line: String::new() };
        server.ask(
            "initialize",
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#,
        )?;
        server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        server.ask("tools/list", "{}")?;
        Ok(server)
    }

    fn send(&mut self, message: &str) -> Result<(), String> {
        let stdin = self.stdin.as_mut().ok_or("the server has ended")?;
        stdin.write_all(format!("{message}\n").as_bytes()).map_err(|error| error.to_string())
    }

    /// Sends a request and waits for the response; returns the time.
    fn ask(&mut self, method: &str, params: &str) -> Result<Duration, String> {
        self.last += 1;
        let id = self.last;
        let request =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let began = Instant::now();
        self.send(&request)?;
        loop {
            self.line.clear();
            let read = self.stdout.read_line(&mut self.line).map_err(|error| error.to_string())?;
            if read == 0 {
                return Err(format!("the server ended at {request}"));
            }
            if self.line.contains(&format!("\"id\":{id},")) {
                break;
            }
        }
        let took = began.elapsed();
        if self.line.contains("\"isError\":true") || self.line.contains("\"error\":") {
            return Err(format!("{request}\n{}", self.line));
        }
        Ok(took)
    }

    fn create(&mut self) -> Result<Duration, String> {
        let title = format!("Item {} of a list that is not too short", self.last);
        let params =
            format!(r#"{{"name":"create_todo","arguments":{{"items":[{{"title":"{title}"}}]}}}}"#);
        self.ask("tools/call", &params)
    }

    fn list(&mut self) -> Result<Duration, String> {
        self.ask("tools/call", r#"{"name":"list_todo","arguments":{}}"#)
    }

    /// The memory in kilobytes.
    fn resident(&self) -> Result<u64, String> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        number.ok_or_else(|| format!("{path} says nothing of memory"))
    }

    /// Ends the server; returns its stderr.
    fn end(mut self) -> Result<String, String> {
        drop(self.stdin.take());
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut said).map_err(|error| error.to_string())?;
        }
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if status.success() {
            Ok(said)
        } else {
            Err(format!("the server ended with {status}: {said}"))
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
