//! Races, kills, failing disks and jumping clocks at full length, with a table of the results.
//!
//! The scenarios are tests of the binary, which run there in a short form. Here they run with the
//! full numbers, or repeatedly for a given time, with the plans in files or on a PostgreSQL server. A
//! scenario fails by itself.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use crate::Failure;
use crate::print::{say, warn};
use crate::test::postgres;
use crate::workspace::cargo;

/// One scenario.
pub(crate) struct Scenario {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What happens in it, for the table.
    pub(crate) about: &'static str,
    /// Its size in the long form.
    full: &'static str,
    /// The name that its test reports.
    reports: &'static str,
    /// The name of its test.
    test: &'static str,
    /// Where it keeps its plans.
    kept: Kept,
}

/// Where plans are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kept {
    /// In a file only.
    File,
    /// In a file, or on a server.
    Both,
    /// On a server only.
    Server,
}

impl Scenario {
    fn is_on(&self, server: bool) -> bool {
        match self.kept {
            Kept::Both => true,
            Kept::File => !server,
            Kept::Server => server,
        }
    }

    /// The path of its test.
    fn path(&self, server: bool) -> String {
        let (module, name) = self.test.split_once("::").unwrap_or(("", self.test));
        match (server, module) {
            (false, _) | (true, "postgres") => format!("torture::{}", self.test),
            (true, "liveness") => format!("torture::postgres::processes::{name}"),
            (true, _) => format!("torture::postgres::{name}"),
        }
    }
}

/// Every scenario, in the order of the table.
pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "adds",
        about: "workers add at once, one process per item",
        full: "64 × 100",
        reports: "adds",
        test: "races::numbers_have_no_gap_and_no_repeat_when_many_processes_add",
        kept: Kept::Both,
    },
    Scenario {
        name: "births",
        about: "processes create the database at once",
        full: "60 × 16",
        reports: "births",
        test: "races::processes_that_make_the_database_at_once_make_one_and_lose_nothing",
        kept: Kept::Both,
    },
    Scenario {
        name: "claims",
        about: "workers race for items, claim and finish each",
        full: "16 for 1,000",
        reports: "claims",
        test: "races::an_item_is_handed_out_once_however_many_race_for_it",
        kept: Kept::Both,
    },
    Scenario {
        name: "edits",
        about: "two processes edit two fields of an item at once",
        full: "200 pairs",
        reports: "edits",
        test: "races::two_edits_of_different_fields_at_once_are_both_kept",
        kept: Kept::Both,
    },
    Scenario {
        name: "lists",
        about: "processes write whole lists at once",
        full: "100, then 200",
        reports: "whole lists",
        test: "lists::whole_lists_from_many_processes_drop_nothing_in_silence",
        kept: Kept::Both,
    },
    Scenario {
        name: "flight",
        about: "processes with 16 adds in flight, killed meanwhile",
        full: "4 × 2,500",
        reports: "in flight",
        test: "flight::adds_in_flight_are_kept_once_acknowledged_whoever_is_killed",
        kept: Kept::Both,
    },
    Scenario {
        name: "kills",
        about: "mixed changes, killed at random points",
        full: "500 kills",
        reports: "mixed writes",
        test: "kills::a_kill_at_any_point_costs_nothing_that_was_acknowledged",
        kept: Kept::Both,
    },
    Scenario {
        name: "runs",
        about: "a plan file of 50 steps, killed while it is worked off",
        full: "100 kills",
        reports: "plan file",
        test: "runs::a_plan_file_goes_on_after_every_kill_and_repeats_only_what_was_in_flight",
        kept: Kept::Both,
    },
    Scenario {
        name: "sessions",
        about: "a session of our own agent with workers, killed while it works",
        full: "100 kills",
        reports: "sessions",
        test: "own_sessions::a_session_goes_on_after_every_kill_and_repeats_no_call_that_has_begun",
        kept: Kept::Both,
    },
    Scenario {
        name: "served",
        about: "streams of events and changes over HTTP, the server killed meanwhile",
        full: "200 streams, 200 changes a second for a minute",
        reports: "served",
        test: "served::clients_of_a_server_that_is_killed_miss_nothing",
        kept: Kept::Both,
    },
    Scenario {
        name: "ui",
        about: "the terminal UI, killed while a person talks to an agent",
        full: "100 kills",
        reports: "terminal UI",
        test: "ui::a_killed_ui_leaves_a_usable_terminal_and_its_conversation_queue_and_questions",
        kept: Kept::File,
    },
    Scenario {
        name: "disk",
        about: "a full disk",
        full: "",
        reports: "full disk",
        test: "disk::a_full_disk_is_told_and_costs_nothing",
        kept: Kept::File,
    },
    Scenario {
        name: "writes",
        about: "writes that fail",
        full: "",
        reports: "failing writes",
        test: "disk::a_write_that_fails_is_told_and_costs_nothing",
        kept: Kept::File,
    },
    Scenario {
        name: "clock",
        about: "a clock that jumps by years",
        full: "",
        reports: "jumping clock",
        test: "clock::order_is_by_revision_whatever_the_clock_says",
        kept: Kept::Both,
    },
    Scenario {
        name: "leases",
        about: "claims while the clock jumps",
        full: "",
        reports: "leases",
        test: "clock::a_lease_is_neither_cut_short_nor_given_twice_when_the_clock_jumps",
        kept: Kept::File,
    },
    Scenario {
        name: "liveness",
        about: "claims of processes that end, or only seem to",
        full: "",
        reports: "liveness",
        test: "liveness::a_claim_is_freed_early_only_when_its_process_is_gone",
        kept: Kept::Both,
    },
    Scenario {
        name: "namespaces",
        about: "claims of processes in another pid namespace",
        full: "",
        reports: "namespaces",
        test: "liveness::a_claim_from_another_pid_namespace_is_never_taken_for_gone",
        kept: Kept::Both,
    },
    Scenario {
        name: "reuse",
        about: "a claim whose process ended and whose pid is used again",
        full: "",
        reports: "pid reuse",
        test: "liveness::a_pid_that_is_used_again_is_another_process",
        kept: Kept::Both,
    },
    Scenario {
        name: "export",
        about: "export and import, byte for byte",
        full: "",
        reports: "export",
        test: "keeping::what_is_exported_and_imported_is_the_same_to_the_byte",
        kept: Kept::Both,
    },
    Scenario {
        name: "exports",
        about: "exports while processes write",
        full: "40 exports",
        reports: "exports",
        test: "together::what_is_exported_while_others_write_is_one_state",
        kept: Kept::Both,
    },
    Scenario {
        name: "forget",
        about: "forget, killed meanwhile, no trace in any file",
        full: "",
        reports: "forget",
        test: "keeping::what_is_forgotten_leaves_no_trace_in_any_file",
        kept: Kept::Both,
    },
    Scenario {
        name: "undo",
        about: "forget while processes write and undo",
        full: "20 items",
        reports: "undo and forget",
        test: "together::what_is_forgotten_is_not_brought_back_by_others_who_undo",
        kept: Kept::Both,
    },
    Scenario {
        name: "server",
        about: "the database server killed under 4 processes with 16 adds in flight",
        full: "4 × 2,500",
        reports: "database server",
        test: "postgres::processes_go_on_when_the_server_is_killed_under_them",
        kept: Kept::Server,
    },
    Scenario {
        name: "failover",
        about: "the database server killed under them, and its standby promoted",
        full: "4 × 2,500",
        reports: "failover",
        test: "postgres::a_promoted_standby_has_all_that_was_acknowledged",
        kept: Kept::Server,
    },
];

/// The columns of the table.
const COLUMNS: [&str; 7] =
    ["processes", "kills", "writes", "acknowledged", "lost", "doubled", "corrupt"];

/// The arguments.
#[derive(Debug, PartialEq)]
struct Asked {
    /// The duration in all; without it, each scenario runs once with full numbers.
    seconds: Option<u64>,
    /// Whether the plans are on a server.
    server: bool,
    names: Vec<&'static str>,
}

/// Runs the named scenarios, or all, and prints the table.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Failure> {
    let asked = asked(arguments)?;
    let chosen: Vec<&Scenario> =
        SCENARIOS.iter().filter(|it| asked.names.contains(&it.name)).collect();
    let share = asked.seconds.map(|all| all.div_ceil(chosen.len() as u64));
    let scale = share.map_or_else(|| "full".to_owned(), |seconds| seconds.to_string());
    let programs =
        if asked.server { Some(postgres::programs().map_err(Failure::Failed)?) } else { None };
    warn("building the program and its tests");
    build()?;
    let rows = Rows::new()?;
    let began = Instant::now();
    let mut command = cargo();
    command
        .args(["test", "--workspace", "--locked", "--quiet", "--test", "it", "--no-fail-fast"])
        .args(["--", "--exact", "--test-threads=1", "--nocapture", "--include-ignored"])
        .args(chosen.iter().map(|it| it.path(asked.server)))
        .envs(programs.map(|it| (postgres::PROGRAMS, it)))
        .env("PUNCHLIST_TORTURE", scale)
        .env("PUNCHLIST_TORTURE_ROWS", &rows.0)
        .stdout(Stdio::null());
    let failed = |error: std::io::Error| Failure::Failed(format!("the tests did not run: {error}"));
    let status = command.status().map_err(failed)?;
    let text = fs::read_to_string(&rows.0).unwrap_or_default();
    say(&table(&chosen, &text, asked.seconds.is_none()));
    let typed = arguments.iter().fold("cargo xtask torture".to_owned(), |it, word| it + " " + word);
    say(
        "\nWhat was not acknowledged was refused by a rule, could not be written, or was killed first.",
    );
    say(&format!("\nMade by `{typed}` in {} s.", began.elapsed().as_secs()));
    if status.success() { Ok(()) } else { Err(Failure::Reported) }
}

fn asked(arguments: &[&str]) -> Result<Asked, Failure> {
    let server = arguments.contains(&"--postgres");
    let mut asked = Asked { seconds: None, server, names: Vec::new() };
    let here = || SCENARIOS.iter().filter(|it| it.is_on(server));
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--full" => asked.seconds = None,
            "--postgres" => {}
            "--seconds" => match words.next().and_then(|it| it.parse().ok()) {
                Some(seconds @ 1..=86_400) => asked.seconds = Some(seconds),
                Some(_) | None => {
                    let message = "--seconds takes a number from 1 to 86400".to_owned();
                    return Err(Failure::Usage(message));
                }
            },
            name => match here().find(|it| it.name == name) {
                Some(scenario) => asked.names.push(scenario.name),
                None => {
                    let known: Vec<&str> = here().map(|it| it.name).collect();
                    let known = known.join(", ");
                    let message = format!("there is no scenario {name:?}; there is: {known}");
                    return Err(Failure::Usage(message));
                }
            },
        }
    }
    if asked.names.is_empty() {
        asked.names = here().map(|it| it.name).collect();
    }
    Ok(asked)
}

fn build() -> Result<(), Failure> {
    let mut command = cargo();
    command.args(["test", "--workspace", "--locked", "--quiet", "--test", "it", "--no-run"]);
    let status = command.status().map_err(|error| Failure::Failed(error.to_string()))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Failed("the program could not be built".to_owned()))
    }
}

/// The file for the scenarios' reports, removed at the end.
struct Rows(PathBuf);

impl Rows {
    fn new() -> Result<Self, Failure> {
        let name = format!("punchlist-torture-{}", std::process::id());
        let rows = Self(std::env::temp_dir().join(name));
        fs::write(&rows.0, "").map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(rows)
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // If this fails, the system cleans its temporary directory later.
        drop(fs::remove_file(&self.0));
    }
}

/// The table, as Markdown.
fn table(chosen: &[&Scenario], reported: &str, is_full: bool) -> String {
    let mut lines = vec![
        format!("| scenario | {} |", COLUMNS.join(" | ")),
        format!("|---|{}", "---:|".repeat(COLUMNS.len())),
    ];
    let mut sums = [0_u64; COLUMNS.len()];
    for scenario in chosen {
        let mut cells = reported
            .lines()
            .map(|line| line.split('\t'))
            .find_map(|mut cells| (cells.next() == Some(scenario.reports)).then_some(cells));
        let cells: Vec<&str> = cells.as_mut().map(|it| it.collect()).unwrap_or_default();
        let numbers: Vec<u64> = cells.iter().filter_map(|it| it.parse().ok()).collect();
        let said = match <[u64; COLUMNS.len()]>::try_from(numbers) {
            Ok(numbers) => {
                sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
                numbers.map(grouped).join(" | ")
            }
            Err(_) => cells.first().copied().unwrap_or("failed before it could report").to_owned(),
        };
        let about = match scenario.full {
            "" => scenario.about.to_owned(),
            full if is_full => format!("{} ({full})", scenario.about),
            _ => scenario.about.to_owned(),
        };
        lines.push(format!("| {about} | {said} |"));
    }
    lines.push(format!("| **all** | {} |", sums.map(grouped).join(" | ")));
    lines.join("\n")
}

/// `6,400`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn every_scenario_is_a_test_that_is_there() {
        for scenario in SCENARIOS {
            let (module, name) = scenario.test.split_once("::").unwrap();
            let report = format!("\"{}\"", scenario.reports);
            let modules = [(module, true), ("postgres", scenario.is_on(true))];
            for (module, _) in modules.into_iter().filter(|it| it.1) {
                let path = format!("crates/punchlist/tests/it/torture/{module}.rs");
                let text = fs::read_to_string(root().join(&path)).unwrap();
                let is_there = text.contains(&format!("fn {name}()"))
                    // It is a line of the table of scenarios.
                    || module == "postgres" && text.contains(&format!("    {name}:"));
                assert!(is_there, "{path} has no {name}");
                assert!(text.contains(&report), "{path} does not report {report}");
            }
        }
    }

    #[test]
    fn the_table_has_a_line_for_each_scenario_and_a_sum() {
        let chosen: Vec<&Scenario> =
            SCENARIOS.iter().filter(|it| ["adds", "disk", "edits"].contains(&it.name)).collect();
        let reported = "full disk\tskipped: no disk\nadds\t6400\t1\t6400\t6399\t0\t0\t0\n";
        let table = table(&chosen, reported, true);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| workers add at once, one process per item (64 × 100) \
                 | 6,400 | 1 | 6,400 | 6,399 | 0 | 0 | 0 |",
                "| two processes edit two fields of an item at once (200 pairs) \
                 | failed before it could report |",
                "| a full disk | skipped: no disk |",
                "| **all** | 6,400 | 1 | 6,400 | 6,399 | 0 | 0 | 0 |",
            ]
        );
    }

    #[track_caller]
    fn check(arguments: &[&str], expected: &str) {
        let Err(Failure::Usage(message)) = asked(arguments) else { panic!("accepted") };
        assert!(message.starts_with(expected), "{message}");
    }

    #[test]
    fn what_is_asked_for_wrongly_is_a_usage_error() {
        check(&["--seconds"], "--seconds takes a number from 1 to 86400");
        check(&["--seconds", "0"], "--seconds takes a number from 1 to 86400");
        check(&["moon"], "there is no scenario \"moon\"; there is: adds, births,");
    }

    #[test]
    fn without_names_all_run_and_without_a_time_in_full() {
        let names = |server| -> Vec<&str> {
            SCENARIOS.iter().filter(|it| it.is_on(server)).map(|it| it.name).collect()
        };
        let all = |server| Asked { seconds: None, server, names: names(server) };
        assert_eq!(asked(&[]).unwrap(), all(false));
        assert_eq!(asked(&["--postgres"]).unwrap(), all(true));
        let one = Asked { seconds: Some(60), server: false, names: vec!["kills"] };
        assert_eq!(asked(&["kills", "--seconds", "60"]).unwrap(), one);
    }

    #[test]
    fn what_only_a_file_or_a_server_has_is_not_run_on_the_other() {
        check(&["failover"], "there is no scenario \"failover\"; there is: adds,");
        check(&["--postgres", "disk"], "there is no scenario \"disk\"; there is: adds,");
    }
}
