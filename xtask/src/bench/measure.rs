//! Measures a call of a program: its instructions and its time.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Whether instructions can be counted on this machine.
pub(super) fn can_count() -> bool {
    let mut command = Command::new("valgrind");
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs `work` with this process and its children on one processor, so that the time to wake a
/// sleeping processor is not measured. `None` if that is not possible.
pub(super) fn on_one_processor<T>(work: impl FnOnce() -> T) -> Option<T> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let all = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim();
    let last = all.rsplit([',', '-']).next()?;
    if !keep_to(last) {
        return None;
    }
    let done = work();
    // If this fails, later measurements are slower but not wrong.
    keep_to(all);
    Some(done)
}

/// Restricts this process to some processors; returns whether that worked.
fn keep_to(processors: &str) -> bool {
    let pid = std::process::id().to_string();
    let mut command = Command::new("taskset");
    command.args(["--all-tasks", "--cpu-list", "--pid", processors, &pid]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The stdin of a call without input.
const NOTHING: &str = "/dev/null";

fn input(path: &Path) -> Result<Stdio, String> {
    fs::File::open(path).map(Stdio::from).map_err(|error| format!("{}: {error}", path.display()))
}

/// The number of instructions that a call executes outside the kernel.
pub(super) fn instructions(command: &Command) -> Result<u64, String> {
    instructions_from(command, Path::new(NOTHING))
}

/// Like [`instructions`], with a file as stdin.
pub(super) fn instructions_from(command: &Command, stdin: &Path) -> Result<u64, String> {
    let mut counted = Command::new("valgrind");
    counted.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    counted.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => counted.env(name, value),
            None => counted.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        counted.current_dir(directory);
    }
    counted.stdin(input(stdin)?).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = counted.output().map_err(|error| format!("valgrind did not start: {error}"))?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{command:?} failed under valgrind:\n{report}"));
    }
    collected(&report).ok_or_else(|| format!("valgrind gave no count:\n{report}"))
}

/// The count in callgrind's report: `==1== Collected : 12345`.
pub(super) fn collected(report: &str) -> Option<u64> {
    report.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

/// The time from the start to the end of a call.
pub(super) fn time(command: &mut Command) -> Result<Duration, String> {
    time_from(command, Path::new(NOTHING))
}

/// Like [`time`], with a file as stdin.
pub(super) fn time_from(command: &mut Command, stdin: &Path) -> Result<Duration, String> {
    command.stdin(input(stdin)?).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    let took = began.elapsed();
    if status.success() { Ok(took) } else { Err(format!("{command:?} ended with {status}")) }
}

/// The stdout of a call; an error unless it succeeds.
pub(super) fn output(command: &mut Command) -> Result<String, String> {
    output_from(command, Path::new(NOTHING))
}

/// Like [`output`], with a file as stdin.
pub(super) fn output_from(command: &mut Command, stdin: &Path) -> Result<String, String> {
    let output = command
        .stdin(input(stdin)?)
        .output()
        .map_err(|error| format!("{command:?} did not start: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}:\n{errors}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The median; of an even number of values, the lower one of the middle two.
pub(super) fn median<T: Ord + Copy>(values: &[T]) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

/// Replaces `to` by a copy of a directory.
pub(super) fn copy_fresh(from: &Path, to: &Path) -> io::Result<()> {
    match fs::remove_dir_all(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    copy(from, to)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert_eq!(median(&[9, 1, 5]), Some(5));
        assert_eq!(median(&[4, 1, 3, 2]), Some(2));
        assert_eq!(median::<u64>(&[]), None);
    }

    #[test]
    fn the_count_is_found_in_the_report() {
        let report = "==7== Events    : Ir\n==7== Collected : 1082345\n==7==\n";
        assert_eq!(collected(report), Some(1_082_345));
        assert_eq!(collected("==7== Command: x\n"), None);
    }
}
