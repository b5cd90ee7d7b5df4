//! Measures single calls, how soon a server answers after its start, and its memory.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::client::{Client, Waits};
use super::{Outcome, peers};

/// How many tasks are added to a list that is no longer new, and the time limit for that.
const MORE: u32 = 300;
const BUDGET: Duration = Duration::from_secs(3);

/// The pause before that. An agent starts its servers long before it calls them. Right after a
/// start the system still keeps client and server on two processors; once both have slept, it no
/// longer does.
const REST: Duration = Duration::from_millis(200);

/// Fills a list with `count` tasks, lists it as often, starts a second server on it and, after a
/// pause, adds more tasks once the server has answered `count` requests. Each line of the output is
/// a name and a number: nanoseconds or kilobytes.
pub(crate) fn run(peer: &str, installed: &Path, directory: &Path, count: u32) -> Outcome {
    let peer = peers::find(peer, installed, directory)?;
    peer.prepare()?;
    let (add, list) = peer.tools();
    // Printed at the end: a reader that wakes up in the middle of a call would disturb the
    // measurement.
    let mut report = String::new();
    let mut add_line = |name: &str, took: Duration| writeln!(report, "{name} {}", took.as_nanos());
    let mut client = Client::start(peer.server()?, Waits::Directly)?;
    for n in 0..count {
        add_line("first", client.time(add, &peer.arguments(&n.to_string()))?)?;
    }
    for _ in 0..count {
        add_line("list", client.time(list, &peer.list_arguments())?)?;
    }
    let resident = client.resident()?;
    drop(client);
    let began = Instant::now();
    let mut client = Client::start(peer.server()?, Waits::Directly)?;
    client.time(list, &peer.list_arguments())?;
    add_line("start", began.elapsed())?;
    for n in count..2 * count {
        client.time(add, &peer.arguments(&n.to_string()))?;
    }
    thread::sleep(REST);
    let began = Instant::now();
    for n in (2 * count..).take(usize::try_from(MORE)?) {
        add_line("create", client.time(add, &peer.arguments(&n.to_string()))?)?;
        if began.elapsed() > BUDGET {
            break;
        }
    }
    writeln!(report, "resident {resident}")?;
    Ok(std::io::stdout().write_all(report.as_bytes())?)
}
