//! Watching 200 idle and 20 busy sessions: processor time, and the time from an append to the
//! screen. The baseline is `tail -F` on the busy files, which only waits for changes.
//!
//! `script` provides the terminal. Both programs observe the same appends, so they are measured at
//! the same moments.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::cold::{Scratch, build};
use super::measure::median;
use super::table::{hundredths, milliseconds, table, times};
use crate::print::{say, warn};

const IDLE: usize = 200;
const BUSY: usize = 20;

/// How long processor time is measured while nothing happens.
const QUIET: Duration = Duration::from_secs(20);

/// The pause between two lines of a busy session: five lines per second.
const REST: Duration = Duration::from_millis(200);

/// The timeout for an append to appear on the screen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Kernel clock ticks per second, the unit of processor time in `/proc`.
const TICKS: u128 = 100;

const NOT_MEASURED: &str = "\
Not measured:
  an idle machine, unless this one was: compare ratios, not times
  the terminal's own drawing: the time is taken when the bytes leave the program
  `tail` reads nothing of what it prints, and knows no sessions: it is the least that hearing costs";

pub(super) fn run(rounds: usize) -> Result<(), String> {
    warn("building");
    let binary = build(&["--workspace", "--bin", "punchlist"])?;
    let scratch = Scratch::new()?;
    let sessions = Sessions::make(&scratch.join("home"))?;
    let project = scratch.join("project");
    fs::create_dir_all(&project).map_err(|error| error.to_string())?;
    warn("watching");
    let mut ours = Watched::start(on_a_terminal(&binary, &scratch, &project))?;
    let mut tail = Command::new("tail");
    tail.args(["-n", "0", "-F"]).args(&sessions.busy);
    let mut tail = Watched::start(tail)?;
    ours.wait_for("q leaves", PATIENCE)?;
    let (pid, peer) = (ours.inner()?, tail.child.id());
    warn("counting processor time, nothing happens");
    let quiet = count([pid, peer], || thread::sleep(QUIET))?;
    warn("measuring, twenty sessions are busy");
    let is_over = Arc::new(AtomicBool::new(false));
    let load = sessions.load(Arc::clone(&is_over))?;
    let began = Instant::now();
    let mut times = (Vec::new(), Vec::new());
    let mut outcome = Ok(());
    let busy = count([pid, peer], || {
        outcome = measure(&sessions, &mut ours, &mut tail, rounds, &mut times);
    });
    let took = began.elapsed();
    is_over.store(true, Ordering::Relaxed);
    drop(load.join());
    outcome?;
    say(&report(&times, &Costs { quiet, busy: busy?, took })?);
    say(&format!("\nMemory: {} kB", resident(pid).unwrap_or(0)));
    say(&format!("\n{NOT_MEASURED}"));
    Ok(())
}

/// `punchlist watch` on a terminal of 50 lines.
fn on_a_terminal(binary: &Path, scratch: &Scratch, project: &Path) -> Command {
    let mut command = Command::new("script");
    command.args([
        "-q",
        "-f",
        "-c",
        "stty rows 50 cols 100 && exec \"$BINARY\" watch",
        "/dev/null",
    ]);
    command.env_clear().env("BINARY", binary).env("HOME", scratch.join("home"));
    command
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm")
        .env("LANG", "C.UTF-8")
        .env("SHELL", "/bin/sh");
    command.current_dir(project);
    command
}

/// The session files.
struct Sessions {
    busy: Vec<PathBuf>,
}

impl Sessions {
    fn make(home: &Path) -> Result<Self, String> {
        let day = home.join(".codex/sessions/2026/01/01");
        fs::create_dir_all(&day).map_err(|error| format!("{}: {error}", day.display()))?;
        let mut busy = Vec::new();
        for n in 0..IDLE + BUSY {
            let path = day.join(format!("rollout-{n}.jsonl"));
            let is_busy = n >= IDLE;
            let over = r#"{"timestamp":"2026-01-01T00:00:09.000Z","type":"event_msg","payload":{"type":"task_complete"}}"#;
            let end = if is_busy { String::new() } else { format!("{over}\n") };
            let text = format!("{}{}{}{end}", head(n), said(200), plan(&format!("session {n}")));
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            if is_busy {
                busy.push(path);
            }
        }
        Ok(Self { busy })
    }

    /// Appends a line to each busy session at intervals, until told to stop.
    fn load(&self, is_over: Arc<AtomicBool>) -> Result<thread::JoinHandle<()>, String> {
        let mut files = Vec::new();
        for path in &self.busy {
            let file = OpenOptions::new().append(true).open(path);
            files.push(file.map_err(|error| error.to_string())?);
        }
        Ok(thread::spawn(move || {
            let line = said(1);
            let rest = REST / u32::try_from(files.len()).unwrap_or(1);
            while !is_over.load(Ordering::Relaxed) {
                for file in &mut files {
                    // A full disk would show in the measurements.
                    file.write_all(line.as_bytes()).ok();
                    thread::sleep(rest);
                }
            }
        }))
    }
}

fn head(n: usize) -> String {
    format!(
        r#"{{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{{"id":"session-{n}","session_id":"session-{n}","cwd":"/home/me/project-{n}","originator":"codex_exec","cli_version":"0.166.0","source":"exec"}}}}
{{"timestamp":"2026-01-01T00:00:00.100Z","type":"event_msg","payload":{{"type":"task_started"}}}}
"#
    )
}

/// This many lines of an agent's stream.
fn said(lines: usize) -> String {
    let text = "The parser now reads every recorded line. ".repeat(20);
    let line = format!(
        r#"{{"timestamp":"2026-01-01T00:00:01.000Z","type":"event_msg","payload":{{"type":"item_completed","item":{{"type":"AgentMessage","content":[{{"type":"Text","text":"{text}"}}]}}}}}}
"#
    );
    line.repeat(lines)
}

/// The lines in which an agent sets its list.
fn plan(step: &str) -> String {
    let steps = format!(
        r#"{{\"step\":\"Begin\",\"status\":\"completed\"}},{{\"step\":\"{step}\",\"status\":\"in_progress\"}}"#
    );
    format!(
        r#"{{"timestamp":"2026-01-01T00:00:02.000Z","type":"response_item","payload":{{"type":"function_call","name":"update_plan","arguments":"{{\"plan\":[{steps}]}}","call_id":"{step}"}}}}
{{"timestamp":"2026-01-01T00:00:02.000Z","type":"response_item","payload":{{"type":"function_call_output","call_id":"{step}","output":"Plan updated"}}}}
"#
    )
}

/// A program and its output.
pub(super) struct Watched {
    child: Child,
    printed: Receiver<(Instant, Vec<u8>)>,
    /// Output that was not searched yet.
    rest: Vec<u8>,
}

impl Watched {
    pub(super) fn start(mut command: Command) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let mut output = child.stdout.take().ok_or("it prints nothing")?;
        let (tell, printed) = channel();
        thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if tell.send((Instant::now(), bytes[..count].to_vec())).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, printed, rest: Vec::new() })
    }

    /// Presses keys.
    pub(super) fn types(&mut self, keys: &str) -> Result<(), String> {
        let keyboard = self.child.stdin.as_mut().ok_or("it has no keyboard")?;
        keyboard.write_all(keys.as_bytes()).map_err(|error| error.to_string())
    }

    /// The time at which a text was printed.
    pub(super) fn wait_for(&mut self, text: &str, patience: Duration) -> Result<Instant, String> {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.printed.recv_timeout(left) {
                Ok((at, bytes)) => {
                    self.rest.extend_from_slice(&bytes);
                    if self.rest.windows(text.len()).any(|it| it == text.as_bytes()) {
                        self.rest.clear();
                        return Ok(at);
                    }
                    // The text may be split between two reads.
                    let old = self.rest.len().saturating_sub(1 << 17);
                    self.rest.drain(..old);
                }
                Err(RecvTimeoutError::Timeout) => return Err(format!("{text:?} never came")),
                Err(RecvTimeoutError::Disconnected) => return Err("it ended".to_owned()),
            }
        }
    }

    /// The process inside the terminal.
    pub(super) fn inner(&self) -> Result<u32, String> {
        let outer = self.child.id();
        let path = format!("/proc/{outer}/task/{outer}/children");
        let children = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let first = children.split_whitespace().next().and_then(|it| it.parse().ok());
        first.ok_or_else(|| "there is nothing on the terminal".to_owned())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Appends lists one after the other, and measures the time until each is printed.
fn measure(
    sessions: &Sessions,
    ours: &mut Watched,
    tail: &mut Watched,
    rounds: usize,
    times: &mut (Vec<Duration>, Vec<Duration>),
) -> Result<(), String> {
    for n in 0..rounds {
        let path = &sessions.busy[n % BUSY];
        let mark = format!("mark-{n:06}");
        let mut file = append(path)?;
        let text = plan(&mark);
        let began = Instant::now();
        file.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
        let seen = ours.wait_for(&mark, PATIENCE)?;
        let heard = tail.wait_for(&mark, PATIENCE)?;
        times.0.push(seen.saturating_duration_since(began));
        times.1.push(heard.saturating_duration_since(began));
        thread::sleep(Duration::from_millis(37));
    }
    Ok(())
}

fn append(path: &Path) -> Result<File, String> {
    OpenOptions::new()
        .append(true)
        .open(path)
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Processor time of two programs in ticks, during a function.
fn count(pids: [u32; 2], during: impl FnOnce()) -> Result<[u128; 2], String> {
    let before = [ticks(pids[0])?, ticks(pids[1])?];
    during();
    Ok([ticks(pids[0])? - before[0], ticks(pids[1])? - before[1]])
}

/// The processor time that a program has used, in ticks.
pub(super) fn ticks(pid: u32) -> Result<u128, String> {
    let text =
        fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|error| error.to_string())?;
    processor_time(&text).ok_or_else(|| format!("the processor time of {pid} cannot be read"))
}

/// The ticks in `/proc/PID/stat`. The process name in it may contain anything.
fn processor_time(stat: &str) -> Option<u128> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u128>().ok()? + fields.get(12)?.parse::<u128>().ok()?)
}

fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|it| it.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Processor time in ticks, of Punchlist and the baseline.
struct Costs {
    quiet: [u128; 2],
    busy: [u128; 2],
    /// How long the busy phase took.
    took: Duration,
}

fn report(times_of: &(Vec<Duration>, Vec<Duration>), costs: &Costs) -> Result<String, String> {
    let at = |values: &[Duration], percent: usize| {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied()
    };
    let (ours, tail) = times_of;
    let none = || "nothing was measured".to_owned();
    let half = [median(ours).ok_or_else(none)?, median(tail).ok_or_else(none)?];
    let most = [at(ours, 99).ok_or_else(none)?, at(tail, 99).ok_or_else(none)?];
    let row = |name: &str, [one, other]: [Duration; 2], goal: &str| {
        let ratio = times(hundredths(one.as_micros(), other.as_micros()));
        vec![name.to_owned(), milliseconds(one), milliseconds(other), ratio, goal.to_owned()]
    };
    let minute = |ticks: u128, took: Duration| {
        let micros = ticks * 1_000_000 / TICKS * 60_000 / took.as_millis().max(1);
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    };
    let of = |name: &str, costs: [u128; 2], took| row(name, costs.map(|it| minute(it, took)), "");
    let heads = ["", "watch", "tail -F", "ratio", "goal"].map(str::to_owned).to_vec();
    let rows = [
        heads,
        row("from an append to the screen, half of them", half, "≤ 5 ms"),
        row("from an append to the screen, 99 of 100", most, "≤ 50 ms"),
        of("processor time in a minute, nothing happens", costs.quiet, QUIET),
        of("processor time in a minute, twenty are busy", costs.busy, costs.took),
    ];
    Ok(format!("{IDLE} idle and {BUSY} busy sessions, {} appends\n\n{}", ours.len(), table(&rows)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_found_behind_any_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 92 0 0 0 31 11 0 0 20 0 1 0 5 1 2";
        assert_eq!(processor_time(stat), Some(42));
        assert_eq!(processor_time("7 (a"), None);
    }

    #[test]
    fn figures_become_a_table() {
        let ms = |it: &[u64]| it.iter().map(|it| Duration::from_millis(*it)).collect::<Vec<_>>();
        let costs = Costs { quiet: [10, 5], busy: [60, 30], took: Duration::from_secs(60) };
        let report = report(&(ms(&[3, 1, 2]), ms(&[1, 1, 1])), &costs).unwrap();
        let line = |name: &str| report.lines().find(|it| it.starts_with(name)).unwrap().to_owned();
        assert!(line("from an append to the screen, half").contains("2.00×"), "{report}");
        assert!(line("from an append to the screen, 99").contains("3.00×"), "{report}");
        assert!(line("processor time in a minute, nothing").contains("300.00 ms"), "{report}");
        assert!(line("processor time in a minute, twenty").contains("600.00 ms"), "{report}");
    }
}
