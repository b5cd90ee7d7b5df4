//! Benchmarks: Punchlist and a baseline, measured in the same run on this machine.
//!
//! A benchmark is not a test: it prints ratios and goals, and fails only if it could not measure.
//! It builds its own baseline, and says what it did not measure.

mod cold;
mod hook;
mod mcp;
mod mcp_peers;
mod measure;
mod peers;
mod postgres;
mod run;
mod sched;
mod serve;
mod store;
mod streaming;
mod streams;
mod table;
mod tui;
mod turn;
mod watch;

use crate::Failure;

/// One benchmark.
pub(crate) struct Bench {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What it measures, in one line.
    pub(crate) about: &'static str,
    /// The default number of rounds.
    rounds: usize,
    run: fn(rounds: usize) -> Result<(), String>,
}

/// Every benchmark.
pub(crate) const BENCHES: &[Bench] = &[
    Bench {
        name: "cold",
        about: "one call of `add`, `list` and `done`, beside taskwarrior",
        rounds: ROUNDS,
        run: cold::run,
    },
    Bench {
        name: "store",
        about: "four writers, `next` and following",
        rounds: ROUNDS,
        run: store::run,
    },
    Bench {
        name: "hook",
        about: "one hook of an agent in a store with a hundred plans",
        rounds: ROUNDS,
        run: hook::run,
    },
    Bench {
        name: "mcp",
        about: "calls of the MCP server, beside the least that one can do and beside other lists",
        rounds: ROUNDS,
        run: mcp::run,
    },
    Bench {
        name: "streams",
        about: "reading 300 MB of what an agent said, beside memchr, sonic-rs and jq",
        rounds: 7,
        run: streams::run,
    },
    Bench {
        name: "watch",
        about: "200 idle and 20 busy sessions: from an append to the screen, beside `tail -F`",
        rounds: 500,
        run: watch::run,
    },
    Bench {
        name: "serve",
        about: "durable adds over HTTP beside the disk, events, load of 200 streams, 10,000 plans",
        rounds: ROUNDS,
        run: serve::run,
    },
    Bench {
        name: "sched",
        about: "a random graph of 100,000 calls, beside one tokio task per node",
        rounds: ROUNDS,
        run: sched::run,
    },
    Bench {
        name: "tui",
        about: "a frame with 1,000 items beside ratatui's list, the first screen, idle time, streaming",
        rounds: ROUNDS,
        run: tui::run,
    },
    Bench {
        name: "turn",
        about: "what a session adds to a model call, beside the provider client alone",
        rounds: 5,
        run: turn::run,
    },
    Bench {
        name: "postgres",
        about: "1 to 64 workers on a PostgreSQL server, beside the same statements by hand",
        rounds: 3,
        run: postgres::run,
    },
    Bench {
        name: "postgres-full",
        about: "the same, and `next` among ten million items",
        rounds: 3,
        run: postgres::run_full,
    },
    Bench {
        name: "peers",
        about: "how many acknowledged adds other lists really store; installs them with npm",
        rounds: 1,
        run: peers::run,
    },
];

/// How often each call is timed. Odd, so that the median is one of the values.
const ROUNDS: usize = 31;

/// Runs one benchmark.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Failure> {
    let (name, rounds) = match arguments {
        [name] => (name, None),
        [name, rounds] => match rounds.parse() {
            Ok(rounds @ 1..=10_000) => (name, Some(rounds)),
            Ok(_) | Err(_) => {
                let message = format!("{rounds:?} is not a number of rounds from 1 to 10000");
                return Err(Failure::Usage(message));
            }
        },
        [] => return Err(Failure::Usage(format!("say which benchmark: {}", names()))),
        [_, _, extra, ..] => return Err(Failure::Usage(format!("unexpected argument {extra:?}"))),
    };
    let Some(bench) = BENCHES.iter().find(|it| it.name == *name) else {
        let message = format!("there is no benchmark {name:?}; there is: {}", names());
        return Err(Failure::Usage(message));
    };
    (bench.run)(rounds.unwrap_or(bench.rounds)).map_err(Failure::Failed)
}

fn names() -> String {
    BENCHES.iter().map(|it| it.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &[&str], expected: &str) {
        let Err(Failure::Usage(message)) = run(arguments) else { panic!("accepted") };
        assert_eq!(message, expected);
    }

    #[test]
    fn a_benchmark_that_is_asked_for_wrongly_is_a_usage_error() {
        check(
            &[],
            "say which benchmark: cold, store, hook, mcp, streams, watch, serve, sched, tui, turn, postgres, postgres-full, peers",
        );
        check(
            &["moon"],
            "there is no benchmark \"moon\"; there is: cold, store, hook, mcp, streams, watch, serve, sched, tui, turn, postgres, postgres-full, peers",
        );
        check(&["cold", "0"], "\"0\" is not a number of rounds from 1 to 10000");
        check(&["cold", "x"], "\"x\" is not a number of rounds from 1 to 10000");
        check(&["cold", "3", "x"], "unexpected argument \"x\"");
    }
}
