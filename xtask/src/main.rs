//! Development tasks: tests by group, torture, generated documents, benchmarks.
//!
//! `cargo xtask` lists them. It uses only the standard library, so that it builds quickly, and does
//! nothing that a developer could not type by hand.

#![forbid(unsafe_code)]

mod bench;
mod documents;
mod fuzz;
mod print;
mod test;
mod torture;
mod workspace;

use std::process::ExitCode;

use print::{say, warn};

const HELP: &str = "\
Development tasks of the workspace.

Usage: cargo xtask TASK [ARGUMENT…]

Tasks:
  test [GROUP…]  run the tests, all groups unless some are named;
                 `test agents --full` runs the agents' older releases instead,
                 `test postgres --full` the oldest and the newest server, several hosts and a pooler
  bench NAME     measure something and compare it with a baseline; a number after it sets the rounds
  torture        race and kill the program, fill its disk, and print one table of the results;
                 --seconds N sets the time instead of --full, names choose scenarios,
                 --postgres runs those that a PostgreSQL server has on one
  fuzz NAME      parse damaged input; a number after it sets the executions
  gen            write the generated documents again
  screens        draw the pictures of docs/screens.md again
  help           print this
";

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        [] | ["help" | "--help" | "-h"] => {
            help();
            Ok(())
        }
        ["test", names @ ..] => test::run(names),
        ["bench", rest @ ..] => bench::run(rest),
        ["torture", rest @ ..] => torture::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["gen"] => documents::generate(),
        ["screens"] => documents::screens(),
        ["gen" | "screens", extra, ..] | ["help" | "--help" | "-h", extra, ..] => {
            Err(Failure::Usage(format!("unexpected argument {extra:?}")))
        }
        [unknown, ..] => Err(Failure::Usage(format!("there is no task {unknown:?}"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Reported) => ExitCode::from(1),
        Err(Failure::Failed(message)) => {
            warn(&format!("error: {message}"));
            ExitCode::from(1)
        }
        Err(Failure::Usage(message)) => {
            warn(&format!("error: {message}\nhint: run `cargo xtask` to see what there is."));
            ExitCode::from(2)
        }
    }
}

fn help() {
    let line = |name: &str, about: &str| format!("  {name:<13}  {about}\n");
    let groups: String = test::GROUPS.iter().map(|it| line(it.name, it.about)).collect();
    let benches: String = bench::BENCHES.iter().map(|it| line(it.name, it.about)).collect();
    let targets: String = fuzz::TARGETS.iter().map(|it| line(it.name, it.about)).collect();
    let scenarios: String = torture::SCENARIOS.iter().map(|it| line(it.name, it.about)).collect();
    say(&format!(
        "{HELP}\nGroups of tests:\n{groups}\nBenchmarks:\n{benches}\nFuzzing:\n{targets}\nTorture:\n{}",
        scenarios.trim_end()
    ));
}

/// Why a task failed.
#[derive(Debug, PartialEq)]
enum Failure {
    /// Wrong arguments: exit code 2.
    Usage(String),
    /// The task could not be done: exit code 1.
    Failed(String),
    /// The task was done and already reported a bad result: exit code 1.
    Reported,
}
