//! One cold call of a hook, in a store with the plans of a hundred sessions.
//!
//! A user notices the time that the agent waits for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::cold::{DATABASE, Scratch, build, our_command};
use super::measure::{can_count, copy_fresh, instructions_from, median, output_from, time_from};
use super::table::{millions, milliseconds, table};
use crate::print::{say, warn};

/// The number of sessions with a plan.
const PLANS: usize = 100;
/// The number of tasks of the measured session, all open.
const TASKS: usize = 20;
/// The goal for 99 of 100 hooks on an idle machine.
const GOAL: Duration = Duration::from_millis(15);
/// How often instructions are counted.
const COUNTS: usize = 3;

/// A measured hook event.
struct Case {
    name: &'static str,
    event: String,
}

fn event(session: &str, directory: &Path, rest: &str) -> String {
    format!("{{\"session_id\":\"{session}\",\"cwd\":\"{}\",{rest}}}", directory.display())
}

fn created(id: usize) -> String {
    format!(
        "\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"TaskCreate\",\"tool_input\":\
         {{\"subject\":\"Task number {id} of the list\",\"description\":\"What there is to do\"}},\
         \"tool_response\":{{\"task\":{{\"id\":\"{id}\",\"subject\":\"Task number {id} of the \
         list\"}}}}"
    )
}

const COMPLETED: &str = "\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"TaskUpdate\",\
    \"tool_input\":{\"taskId\":\"7\",\"status\":\"completed\"},\"tool_response\":\
    {\"success\":true,\"taskId\":\"7\",\"updatedFields\":[\"status\"]}";

const STOP: &str = "\"hook_event_name\":\"Stop\",\"stop_hook_active\":false,\
    \"last_assistant_message\":\"I think I am finished.\",\"background_tasks\":[]";

const BATCH: &str = "\"hook_event_name\":\"PostToolBatch\",\"tool_calls\":[{\"tool_name\":\"Bash\",\
    \"tool_input\":{\"command\":\"ls\"},\"tool_response\":\"README.md\"}]";

const PROMPT: &str = "\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"Go on\"";

const SESSION: &str = "00000000-measured";

pub(super) fn run(rounds: usize) -> Result<(), String> {
    warn("building the program");
    let ours = build(&["--workspace", "--bin", "punchlist"])?;
    let scratch = Scratch::new()?;
    warn("making the plans");
    seed(&scratch, &ours)?;
    let project = scratch.join("project");
    let cases = [
        ("task completed", COMPLETED),
        ("stop refused", STOP),
        ("prompt", PROMPT),
        ("model turn", BATCH),
    ];
    let cases = cases.map(|(name, rest)| Case { name, event: event(SESSION, &project, rest) });
    let mut rows = vec![heads()];
    for case in &cases {
        warn(&format!("measuring {}", case.name));
        rows.push(measure(&scratch, &ours, case, rounds)?);
    }
    say(&format!(
        "One hook in a store with {PLANS} plans; the session's own has {TASKS} tasks. Instructions: \
         median of\n{COUNTS}; time: of {rounds}.\n{}",
        table(&rows)
    ));
    let mut missing = Vec::new();
    if !can_count() {
        missing.push("instructions: valgrind is not installed");
    }
    missing.push("the shell around the installed command");
    missing
        .push("the kernel's share of the instructions, /proc among it: valgrind does not see it");
    say(&format!("\nNot measured:\n  {}", missing.join("\n  ")));
    Ok(())
}

fn heads() -> Vec<String> {
    ["hook", "instructions", "p50", "p99", "goal", ""].map(str::to_owned).to_vec()
}

fn hook(ours: &Path, scratch: &Scratch, database: &Path) -> Command {
    let mut command = our_command(ours, scratch, database);
    command.args(["hook", "claude"]).env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    command
}

/// Creates the store that is copied for every call.
fn seed(scratch: &Scratch, ours: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    for directory in ["project/.git", "home", "seed"] {
        fs::create_dir_all(scratch.join(directory)).map_err(failed)?;
    }
    fs::write(scratch.join("project/.git/HEAD"), "ref: refs/heads/main\n").map_err(failed)?;
    let database = scratch.join("seed").join(DATABASE);
    let project = scratch.join("project");
    let input = scratch.join("event.json");
    let send = |session: &str, rest: &str| -> Result<String, String> {
        fs::write(&input, event(session, &project, rest)).map_err(failed)?;
        let mut command = hook(ours, scratch, &database);
        command.args(["-c", "store.durability=normal"]);
        output_from(&mut command, &input)
    };
    for n in 0..PLANS {
        send(&format!("{n:08}-left"), &created(1))?;
    }
    for id in 1..=TASKS {
        send(SESSION, &created(id))?;
    }
    send(SESSION, &created(TASKS + 1))?;
    let refused = send(&format!("{:08}-left", 1), STOP)?;
    if !refused.contains("\"block\"") {
        return Err(format!("the hook does not do its work: {refused:?}"));
    }
    Ok(())
}

fn measure(
    scratch: &Scratch,
    ours: &Path,
    case: &Case,
    rounds: usize,
) -> Result<Vec<String>, String> {
    let (seed, place) = (scratch.join("seed"), scratch.join("place"));
    let database = place.join(DATABASE);
    let input: PathBuf = scratch.join("event.json");
    fs::write(&input, &case.event).map_err(|error| error.to_string())?;
    let fresh = || copy_fresh(&seed, &place).map_err(|error| error.to_string());
    let hook = || hook(ours, scratch, &database);
    let mut row = vec![case.name.to_owned()];
    if can_count() {
        let mut counted = Vec::new();
        for _ in 0..COUNTS {
            fresh()?;
            counted.push(instructions_from(&hook(), &input)?);
        }
        if gave_up(scratch) {
            return Err(
                "a hook gave up after two seconds while it was counted: the machine is too \
                        busy to count on"
                    .to_owned(),
            );
        }
        row.push(millions(median(&counted).unwrap_or_default()));
    } else {
        row.push(String::new());
    }
    let mut took = Vec::new();
    for _ in 0..rounds {
        fresh()?;
        took.push(time_from(&mut hook(), &input)?);
    }
    took.sort_unstable();
    let at = (took.len() * 99).div_ceil(100).saturating_sub(1);
    let slow = took.get(at).copied().unwrap_or_default();
    let verdict = if slow <= GOAL { "met" } else { "missed" };
    row.extend([milliseconds(median(&took).unwrap_or_default()), milliseconds(slow)]);
    row.extend([format!("≤ {}", milliseconds(GOAL)), verdict.to_owned()]);
    Ok(row)
}

/// Whether a hook reached its own timeout, so that the counted instructions are incomplete.
fn gave_up(scratch: &Scratch) -> bool {
    let failures = scratch.join("home/.local/share/punchlist/hook-failures.jsonl");
    fs::read_to_string(failures).is_ok_and(|it| it.contains("no answer within"))
}
