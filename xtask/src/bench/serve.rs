//! The HTTP server, measured by an example program that is server and clients in one process.

use std::process::Command;

use super::cold::build;
use crate::print::{say, warn};

const ABOUT: &str = "\
FULL durability, clients in the same process on loopback. The baseline of the adds is a loop of write
and fdatasync on the same disk, measured in the same rounds.";

const NOT_MEASURED: &str = "\
Not measured:
  TLS, which is the proxy's work
  a page in a real browser";

pub(super) fn run(rounds: usize) -> Result<(), String> {
    warn("building the server");
    let program = build(&["--workspace", "--example", "serve_bench"])?;
    warn("measuring; about three minutes");
    say(&format!("{ABOUT}\n"));
    // Its figures are shown as they come, so that those before a failure are not lost.
    let measured = Command::new(program).arg(rounds.min(7).to_string()).status();
    match measured {
        Ok(status) if status.success() => {
            say(&format!("\n{NOT_MEASURED}"));
            Ok(())
        }
        Ok(status) => Err(format!("the measurement ended with {status}")),
        Err(why) => Err(format!("the measurement did not start: {why}")),
    }
}
