//! Measures the time from a change in one process to its entry in another. For comparison: a byte
//! through a pipe between the same two processes, which shows what waking a process costs now.

use std::future::poll_fn;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use punchlist_model::store::{Cursor, PlanStore, Scope};
use punchlist_store::Durability;

use super::{Outcome, desk, tell};

/// The pause between two changes, so that the follower is asleep each time.
const REST: Duration = Duration::from_millis(3);

/// The timeout for an entry; after it, the entry counts as lost.
const ENTRY_TIMEOUT: Duration = Duration::from_secs(20);

/// The writer's side: starts the follower and prints its results.
pub(crate) fn run(directory: &Path, count: u64, idle: &str) -> Outcome {
    let database = directory.join("plans.db");
    // `NORMAL`, so that the time does not include the disk.
    let store = desk::make(&database, Durability::Normal)?;
    let mut follower = Follower::start(&database, idle)?;
    follower.read_figure("ready")?;
    for n in 1..=count {
        thread::sleep(REST);
        let began = now();
        desk::add(&store, n)?;
        let done = now();
        let seen = follower.read_figure("seen")?;
        tell("from_call", seen.saturating_sub(began))?;
        tell("from_answer", seen.saturating_sub(done))?;
        thread::sleep(REST);
        let began = now();
        follower.input.write_all(b"\n")?;
        tell("pipe", follower.read_figure("heard")?.saturating_sub(began))?;
    }
    // The end of its input tells the follower to stay idle for a while and to report what that
    // cost.
    let Follower { child, input, lines } = follower;
    drop(input);
    for line in lines {
        let (name, figure) = parse(&line)?;
        tell(&name, figure)?;
    }
    let mut child = child;
    if child.wait()?.success() { Ok(()) } else { Err("the follower failed".into()) }
}

struct Follower {
    child: Child,
    input: ChildStdin,
    lines: mpsc::Receiver<String>,
}

impl Follower {
    fn start(database: &Path, idle: &str) -> Outcome<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("follower")
            .arg(database)
            .arg(idle)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("the follower has no input")?;
        let output = child.stdout.take().ok_or("the follower has no output")?;
        Ok(Self { child, input, lines: lines(output) })
    }

    /// The number on the next line, which must have this name.
    fn read_figure(&self, expected: &str) -> Outcome<u128> {
        let (name, figure) = parse(&self.lines.recv_timeout(ENTRY_TIMEOUT)?)?;
        if name == expected { Ok(figure) } else { Err(format!("{name}, not {expected}").into()) }
    }
}

fn lines(output: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

fn parse(line: &str) -> Outcome<(String, u128)> {
    let (name, figure) = line.split_once(' ').ok_or("the follower printed an unexpected line")?;
    Ok((name.to_owned(), figure.parse()?))
}

/// The follower's side: reports when it saw an entry or a byte. At the end of its input it reports
/// what being idle costs.
pub(crate) fn follow(database: &Path, idle: Duration) -> Outcome {
    let store = desk::open(database, Durability::Normal)?;
    let mut stream = desk::wait(store.follow(Cursor::Now, Scope::All))?;
    thread::spawn(move || {
        while let Some(Ok(_)) = desk::wait(poll_fn(|cx| stream.as_mut().poll_next(cx))) {
            // If nobody reads this any more, the process is about to end.
            drop(tell("seen", now()));
        }
    });
    tell("ready", 1)?;
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line)? > 0 {
        tell("heard", now())?;
        line.clear();
    }
    let (time, wakes) = spent()?;
    thread::sleep(idle);
    let (time_after, wakes_after) = spent()?;
    tell("idle_for", idle.as_nanos())?;
    tell("idle_spent", time_after.saturating_sub(time))?;
    tell("idle_wakes", wakes_after.saturating_sub(wakes))
}

/// What all threads of this process have used: CPU nanoseconds, and the number of context switches.
fn spent() -> Outcome<(u128, u128)> {
    let (mut time, mut wakes) = (0, 0);
    for thread in std::fs::read_dir("/proc/self/task")? {
        let thread = thread?.path();
        let schedule = std::fs::read_to_string(thread.join("schedstat"))?;
        time += schedule.split(' ').next().unwrap_or_default().parse::<u128>()?;
        let status = std::fs::read_to_string(thread.join("status"))?;
        let slept = status.lines().find_map(|it| it.strip_prefix("voluntary_ctxt_switches:"));
        wakes += slept.unwrap_or_default().trim().parse::<u128>()?;
    }
    Ok((time, wakes))
}

/// Nanoseconds since 1970, the only clock that two processes share.
#[expect(clippy::disallowed_methods, reason = "a program of its own, with nobody to hand it in")]
fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}
