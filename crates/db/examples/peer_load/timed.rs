//! How long one call at a time takes, how soon a server answers, and what it has in memory then.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::client::Client;
use super::{Outcome, peers};

/// Fills a list with `count` tasks, lists it as often, and starts a second server on it. Each line of
/// what is printed is a name and a number: nanoseconds, or kilobytes.
pub(crate) fn run(peer: &str, installed: &Path, directory: &Path, count: u32) -> Outcome {
    let peer = peers::find(peer, installed, directory)?;
    peer.prepare()?;
    let (add, list) = peer.tools();
    let mut out = std::io::stdout().lock();
    let mut tell = |name: &str, took: Duration| writeln!(out, "{name} {}", took.as_nanos());
    let mut client = Client::start(peer.server()?)?;
    for n in 0..count {
        tell("create", client.time(add, &peer.arguments(&n.to_string()))?)?;
    }
    for _ in 0..count {
        tell("list", client.time(list, &peer.list_arguments())?)?;
    }
    let resident = client.resident()?;
    drop(client);
    let began = Instant::now();
    let mut client = Client::start(peer.server()?)?;
    client.time(list, &peer.list_arguments())?;
    tell("start", began.elapsed())?;
    writeln!(out, "resident {resident}")?;
    Ok(())
}
