//! How many acknowledged additions other to-do lists lose when several processes add at once.
//!
//! npm installs these peers at fixed versions under the target directory, without running their
//! install scripts. They run without a network and with an empty home. A peer that cannot be
//! installed or run in this way is skipped with a message. `crates/store/examples/peer_load` is the
//! client that adds and counts.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::cold::{Scratch, build};
use super::table::table;
use crate::print::{say, warn};
use crate::workspace::root;

/// A to-do list from npm.
struct Peer {
    name: &'static str,
    package: &'static str,
    version: &'static str,
}

const PEERS: &[Peer] = &[
    Peer { name: "backlog.md", package: "backlog.md", version: "1.52.0" },
    Peer { name: "task-master-ai", package: "task-master-ai", version: "0.43.1" },
    Peer { name: "mcp-shrimp-task-manager", package: "mcp-shrimp-task-manager", version: "1.0.21" },
    Peer {
        name: "server-memory",
        package: "@modelcontextprotocol/server-memory",
        version: "2026.8.31",
    },
];

/// The number of processes, of additions per process, and of additions at once.
struct Load {
    processes: u32,
    count: u32,
    in_flight: u32,
}

/// The first load is the control: a peer that loses items there was called wrongly.
const LOADS: &[Load] = &[
    Load { processes: 1, count: 40, in_flight: 1 },
    Load { processes: 1, count: 40, in_flight: 16 },
    Load { processes: 4, count: 10, in_flight: 1 },
    Load { processes: 4, count: 25, in_flight: 16 },
];

/// The timeout of npm for one peer.
const INSTALL: Duration = Duration::from_secs(15 * 60);
/// The timeout of one load.
const MEASURE: Duration = Duration::from_secs(5 * 60);

const ABOUT: &str = "\
Adds from several processes at once, each with so many in flight: acknowledged / really stored.
Peers are spoken to over MCP, without a network and with an empty home. Punchlist's processes call
the library, with FULL durability.";

const NOT_MEASURED: &str = "\
Not measured:
  time: `cargo xtask bench mcp` takes it
  kills, which `cargo xtask torture` is for
  peers that npm does not have";

pub(super) fn run(rounds: usize) -> Result<(), String> {
    let driver = driver()?;
    let scratch = Scratch::new()?;
    let ours = Contender::ours("punchlist (library)", "punchlist", PathBuf::new());
    let (peers, missing) = others();
    let contenders: Vec<Contender> = std::iter::once(ours).chain(peers).collect();
    for round in 1..=rounds {
        let mut rows = vec![head()];
        let mut odd = Vec::new();
        for contender in &contenders {
            warn(&format!("adding to {}", contender.name));
            let mut row = vec![contender.name.clone()];
            for load in LOADS {
                let kept = contender.measure(&driver, &scratch, load)?;
                row.push(kept.to_string());
                odd.extend(kept.odd.map(|it| format!("{}, {load}: {it}", contender.name)));
            }
            rows.push(row);
        }
        let number = if rounds > 1 { format!("Round {round}.\n") } else { String::new() };
        say(&format!("{number}{ABOUT}\n{}", table(&rows)));
        if !odd.is_empty() {
            say(&format!("What went wrong:\n  {}", odd.join("\n  ")));
        }
        say("");
    }
    if !missing.is_empty() {
        say(&format!("Skipped:\n  {}\n", missing.join("\n  ")));
    }
    say(NOT_MEASURED);
    Ok(())
}

fn head() -> Vec<String> {
    let loads = LOADS.iter().map(Load::to_string);
    std::iter::once("processes × in flight".to_owned()).chain(loads).collect()
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {}", self.processes, self.in_flight)
    }
}

/// Builds the client.
pub(super) fn driver() -> Result<PathBuf, String> {
    warn("building the program that speaks to other lists");
    build(&["--workspace", "--example", "peer_load"])
}

/// The peers that can be run here, and why the others cannot.
pub(super) fn others() -> (Vec<Contender>, Vec<String>) {
    let (mut contenders, mut missing) = (Vec::new(), Vec::new());
    match jail() {
        Ok(jail) => {
            for peer in PEERS {
                match install(peer) {
                    Ok(installed) => contenders.push(Contender {
                        name: format!("{} {}", peer.name, peer.version),
                        peer: peer.name,
                        installed,
                        jail: jail.clone(),
                    }),
                    Err(why) => missing.push(format!("{}: {why}", peer.name)),
                }
            }
        }
        Err(why) => missing.extend(PEERS.iter().map(|it| format!("{}: {why}", it.name))),
    }
    (contenders, missing)
}

/// A measured list.
pub(super) struct Contender {
    pub(super) name: String,
    peer: &'static str,
    installed: PathBuf,
    /// The words before a command that take the network away.
    jail: Vec<String>,
}

impl Contender {
    /// Punchlist, in one of its forms.
    pub(super) fn ours(name: &str, peer: &'static str, installed: PathBuf) -> Self {
        Self { name: name.to_owned(), peer, installed, jail: Vec::new() }
    }

    fn measure(&self, driver: &Path, scratch: &Scratch, load: &Load) -> Result<Kept, String> {
        let load = [load.processes, load.count, load.in_flight].map(|it| it.to_string());
        match self.drive(driver, scratch, None, &load) {
            Ok(said) => Ok(Kept::parse(&said)),
            Err(why) => Ok(Kept { odd: Some(why), ..Kept::default() }),
        }
    }

    /// The client's output, in an empty directory and with an empty home.
    pub(super) fn drive(
        &self,
        driver: &Path,
        scratch: &Scratch,
        mode: Option<&str>,
        how: &[String],
    ) -> Result<String, String> {
        let (home, work) = (scratch.join("home"), scratch.join("work"));
        for directory in [&home, &work] {
            drop(fs::remove_dir_all(directory));
            fs::create_dir_all(directory).map_err(|it| format!("{}: {it}", directory.display()))?;
        }
        let mut words = self.jail.iter().map(String::as_str);
        let mut command = match words.next() {
            Some(first) => Command::new(first),
            None => Command::new(driver),
        };
        command.args(words);
        if !self.jail.is_empty() {
            command.arg(driver);
        }
        command.args(mode).arg(self.peer).arg(&self.installed).arg(&work).args(how);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", &home);
        command.env("LANG", "C.UTF-8").env("NO_COLOR", "1").env("CI", "1").current_dir(&work);
        bounded(&mut command, MEASURE)
    }
}

/// The result of one load.
#[derive(Default, PartialEq, Debug)]
struct Kept {
    acknowledged: Option<u32>,
    /// How many items are stored, and how many different ids they have.
    stored: Option<(u32, u32)>,
    odd: Option<String>,
}

impl Kept {
    /// Parses lines with a name and a value.
    fn parse(said: &str) -> Self {
        let value = |wanted: &str| {
            let named = said.lines().filter_map(|it| it.split_once(' '));
            named.filter(|it| it.0 == wanted).map(|it| it.1.to_owned()).collect::<Vec<_>>()
        };
        let number = |wanted: &str| value(wanted).first().and_then(|it| it.parse().ok());
        let odd: Vec<String> = ["failed", "unreadable"].into_iter().flat_map(value).collect();
        Self {
            acknowledged: number("acknowledged"),
            stored: number("stored").zip(number("unique")),
            odd: (!odd.is_empty()).then(|| odd.join("; ")),
        }
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.acknowledged {
            Some(count) => write!(f, "{count} / ")?,
            None => return f.write_str("failed"),
        }
        match self.stored {
            Some((stored, unique)) if stored == unique => write!(f, "{stored}"),
            Some((stored, unique)) => write!(f, "{stored} ({unique} ids)"),
            None => f.write_str("unreadable"),
        }
    }
}

/// The words before a command that take the network away, and that end all its children when it
/// ends.
fn jail() -> Result<Vec<String>, String> {
    let apart = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
    // As root; otherwise in a user namespace, where the system allows it.
    for rights in [&[][..], &["--user", "--map-root-user"][..]] {
        let mut command = Command::new("unshare");
        command.args(rights).args(apart).arg("true");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.status().is_ok_and(|it| it.success()) {
            let words = std::iter::once(&"unshare").chain(rights).chain(&apart);
            return Ok(words.map(|it| (*it).to_owned()).collect());
        }
    }
    Err("nothing foreign is run with a network, and `unshare` cannot take it away here".to_owned())
}

/// Installs a peer unless it is installed; returns its path.
fn install(peer: &Peer) -> Result<PathBuf, String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let directory = root().join(target).join("peers").join(peer.name);
    let manifest = directory.join("node_modules").join(peer.package).join("package.json");
    let wanted = format!("\"version\": \"{}\"", peer.version);
    if fs::read_to_string(&manifest).is_ok_and(|it| it.contains(&wanted)) {
        return Ok(directory);
    }
    warn(&format!("installing {}", peer.name));
    fs::create_dir_all(&directory).map_err(|it| format!("{}: {it}", directory.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    npm.arg("--prefix").arg(&directory).arg(format!("{}@{}", peer.package, peer.version));
    bounded(npm.current_dir(&directory), INSTALL)?;
    if manifest.exists() { Ok(directory) } else { Err("npm did not install it".to_owned()) }
}

/// The stdout of a command; after the timeout it is killed.
fn bounded(command: &mut Command, longest: Duration) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{name} did not start: {error}"))?;
    let [out, err] = [
        child.stdout.take().map(|it| thread::spawn(move || std::io::read_to_string(it))),
        child.stderr.take().map(|it| thread::spawn(move || std::io::read_to_string(it))),
    ];
    let began = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < longest => thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                // The process may have ended meanwhile.
                drop(child.kill());
                drop(child.wait());
                return Err(format!("{name} took longer than {} s", longest.as_secs()));
            }
            Err(error) => return Err(format!("{name}: {error}")),
        }
    };
    let [out, err] = [out, err]
        .map(|it| it.and_then(|it| it.join().ok()).and_then(Result::ok).unwrap_or_default());
    if status.success() {
        return Ok(out);
    }
    let last = err.trim().lines().next_back().unwrap_or_default().to_owned();
    Err(format!("{name} ended with {status}: {last}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(said: &str, cell: &str, odd: Option<&str>) {
        let kept = Kept::parse(said);
        assert_eq!((kept.to_string(), kept.odd.as_deref()), (cell.to_owned(), odd));
    }

    #[test]
    fn a_cell_says_what_was_acknowledged_and_what_is_there() {
        check("sent 40\nacknowledged 40\nstored 40\nunique 40\n", "40 / 40", None);
        check("sent 40\nacknowledged 40\nstored 4\nunique 3\n", "40 / 4 (3 ids)", None);
        check("acknowledged 9\nunreadable no JSON\n", "9 / unreadable", Some("no JSON"));
        check("failed gone\nacknowledged 0\nstored 0\nunique 0\n", "0 / 0", Some("gone"));
        check("", "failed", None);
    }

    #[test]
    fn versions_are_exact() {
        for peer in PEERS {
            let parts: Vec<&str> = peer.version.split('.').collect();
            let is_number = |it: &&str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
            assert!(parts.len() == 3 && parts.iter().all(is_number), "{}", peer.name);
        }
    }

    #[test]
    fn what_takes_too_long_is_ended() {
        let mut forever = Command::new("cat");
        // Its input never ends.
        let error = bounded(forever.arg("/dev/zero").stdout(Stdio::null()), Duration::ZERO);
        assert_eq!(error, Err("cat took longer than 0 s".to_owned()));
    }
}
