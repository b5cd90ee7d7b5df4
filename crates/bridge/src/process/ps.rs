//! Processes on systems without `/proc` (macOS), from `ps`.
//!
//! One call returns all processes. Start times have a resolution of one second; pid and start time
//! together identify a process. The start of process 1 counts as the time of boot.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use punchlist_model::Process;

use super::{ARGUMENTS, Ancestor, Argv, BYTES, DEPTH, Fate};

#[cfg_attr(test, expect(dead_code, reason = "Linux has `/proc`; here only the parts are tested"))]
pub(super) fn process(host: &str, pid: u32) -> Option<Process> {
    Table::of(&["-p", &format!("1,{pid}")])?.process(host, pid)
}

#[cfg_attr(test, expect(dead_code, reason = "Linux has `/proc`; here only the parts are tested"))]
pub(super) fn has_ended(process: &Process) -> bool {
    look(process).is_some_and(|table| table.boot_id == process.boot_id && table.lacks(process))
}

#[cfg_attr(test, expect(dead_code, reason = "Linux has `/proc`; here only the parts are tested"))]
pub(super) fn fate(process: &Process) -> Fate {
    match look(process) {
        None => Fate::Unknown,
        Some(table) if table.lacks(process) => Fate::Ended,
        Some(_) => Fate::Runs,
    }
}

fn look(process: &Process) -> Option<Table> {
    // `ps` fails if none of the processes exists, but process 1 always does.
    Table::of(&["-p", &format!("1,{}", process.pid)])
}

#[cfg_attr(test, expect(dead_code, reason = "Linux has `/proc`; here only the parts are tested"))]
pub(super) fn has_terminal(_: &Process) -> Option<bool> {
    None
}

#[cfg_attr(test, expect(dead_code, reason = "Linux has `/proc`; here only the parts are tested"))]
pub(super) fn ancestors(host: &str, pid: u32, is_it: impl Fn(&Ancestor) -> bool) -> Vec<Ancestor> {
    let mut found = Table::of(&["-ax"]).map(|table| table.ancestors(host, pid)).unwrap_or_default();
    if let Some(at) = found.iter().position(is_it) {
        found.truncate(at + 1);
    }
    found
}

#[cfg_attr(test, expect(dead_code, reason = "Linux has `/proc`; here only the parts are tested"))]
pub(super) fn arguments(pid: u32) -> Argv {
    let table = Table::of(&["-p", &format!("1,{pid}")]);
    let words = table.as_ref().and_then(|it| it.running(pid)).map(|it| &it.words);
    words.into_iter().flatten().collect()
}

/// The output of `ps`.
#[derive(Debug)]
struct Table {
    boot_id: String,
    rows: BTreeMap<u32, Row>,
}

#[derive(Debug)]
struct Row {
    parent: u32,
    is_over: bool,
    /// In seconds since 1970.
    start_time: u64,
    words: Vec<String>,
}

impl Table {
    fn of(which: &[&str]) -> Option<Self> {
        let output = Command::new("/bin/ps")
            .args(["-ww", "-o", "pid=,ppid=,stat=,lstart=,command="])
            .args(which)
            // English names of days and months, and no daylight saving time.
            .env("LC_ALL", "C")
            .env("TZ", "UTC0")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        Self::parse(&String::from_utf8_lossy(&output.stdout))
    }

    fn parse(text: &str) -> Option<Self> {
        let rows: BTreeMap<u32, Row> = text.lines().filter_map(Row::parse).collect();
        let boot_id = format!("began {}", rows.get(&1)?.start_time);
        Some(Self { boot_id, rows })
    }

    fn running(&self, pid: u32) -> Option<&Row> {
        self.rows.get(&pid).filter(|row| !row.is_over)
    }

    fn process(&self, host: &str, pid: u32) -> Option<Process> {
        Some(Process {
            host: host.to_owned(),
            boot_id: self.boot_id.clone(),
            pid_namespace: 0,
            pid,
            start_time: self.running(pid)?.start_time,
        })
    }

    /// Whether a process of this host has ended, or belongs to an earlier boot.
    fn lacks(&self, process: &Process) -> bool {
        self.boot_id != process.boot_id
            || self.running(process.pid).is_none_or(|row| row.start_time != process.start_time)
    }

    fn ancestors(&self, host: &str, pid: u32) -> Vec<Ancestor> {
        let mut found: Vec<Ancestor> = Vec::new();
        let Some(mut below) = self.rows.get(&pid) else { return found };
        while found.len() < DEPTH {
            let pid = below.parent;
            let (Some(row), Some(process)) = (self.running(pid), self.process(host, pid)) else {
                break;
            };
            if row.start_time > below.start_time || found.iter().any(|it| it.process.pid == pid) {
                break;
            }
            let name = row.words.first().and_then(|word| word.rsplit('/').next());
            let name = name.unwrap_or_default().to_owned();
            found.push(Ancestor { process, name, argv: row.words.iter().collect() });
            below = row;
        }
        found
    }
}

impl Row {
    /// `  501   1 Ss   Sun Nov 15 22:28:07 2026     node /usr/local/bin/claude`
    fn parse(line: &str) -> Option<(u32, Self)> {
        // Long lines are cut, because only the beginning is needed.
        let end = line.char_indices().map(|it| it.0).take_while(|at| *at <= BYTES).last()?;
        let line = if line.len() <= BYTES { line } else { &line[..end] };
        let mut words = line.split_whitespace();
        let pid = words.next()?.parse().ok()?;
        let parent = words.next()?.parse().ok()?;
        let is_over = words.next()?.starts_with('Z');
        let [_, month, day, time, year] = [(); 5].map(|()| words.next().unwrap_or_default());
        let start_time = seconds(year, month, day, time)?;
        let words = words.take(ARGUMENTS).map(str::to_owned).collect();
        Some((pid, Self { parent, is_over, start_time, words }))
    }
}

/// Seconds since 1970 of a time in UTC.
fn seconds(year: &str, month: &str, day: &str, time: &str) -> Option<u64> {
    let text = format!("{year} {month} {day} {time} +0000");
    let at = punchlist_model::Timestamp::strptime("%Y %b %d %H:%M:%S %z", text).ok()?;
    u64::try_from(at.as_second()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
    1     0 Ss   Sun Nov  1 08:00:00 2026     /sbin/launchd
  300     1 S    Sun Nov  1 08:01:02 2026     /Applications/Some Terminal.app/Contents/MacOS/term -x
  501   300 Ss   Sun Nov 15 22:28:07 2026     -zsh
  502   501 S+   Sun Nov 15 22:28:09 2026     node /usr/local/bin/claude
  503   502 S+   Sun Nov 15 22:28:09 2026     /bin/sh -c punchlist hook claude
  504   503 Z+   Sun Nov 15 22:28:10 2026     (punchlist)
  505   503 R+   Sun Nov 15 22:28:10 2026     punchlist hook claude
  600   601 S    Sun Nov 15 22:00:00 2026     one
  601   600 S    Sun Nov 15 22:00:00 2026     two
garbage
  700 x
";

    fn table() -> Table {
        Table::parse(TABLE).unwrap()
    }

    #[test]
    fn the_one_above_comes_first_and_the_chain_ends() {
        let chain = table().ancestors("mac", 505);
        let names: Vec<&str> = chain.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["sh", "node", "-zsh", "Some", "launchd"]);
        assert_eq!(chain[1].argv.words().collect::<Vec<_>>(), ["node", "/usr/local/bin/claude"]);
        assert_eq!(chain[1].process, table().process("mac", 502).unwrap());
        assert_eq!(table().ancestors("mac", 4711), []);
        // Processes cannot form a cycle, but two snapshots of a changing system might.
        assert!(table().ancestors("mac", 600).len() <= 2);
    }

    #[test]
    fn a_process_is_told_by_its_start_and_the_boot() {
        let agent = table().process("mac", 502).unwrap();
        assert_eq!(agent.start_time, 1_794_781_689);
        assert_eq!(agent.boot_id, "began 1793520000");
        assert!(!table().lacks(&agent));
        assert!(table().lacks(&Process { start_time: 1, ..agent.clone() }));
        assert!(table().lacks(&Process { pid: 4711, ..agent.clone() }));
        assert!(table().lacks(&Process { boot_id: "began 1".to_owned(), ..agent }));
        assert_eq!(table().process("mac", 504), None, "only its entry is left");
    }

    #[test]
    fn what_ps_might_also_say_is_passed_over() {
        assert!(Table::parse("").is_none());
        assert!(Table::parse("ps: illegal option\n").is_none());
        for line in
            ["", "1", "1 0 S", "1 0 S Sun Nov 1 25:00:00 2026 x", "1 0 S Sun Nvo 1 1:00:00 2026 x"]
        {
            assert!(Row::parse(line).is_none(), "{line}");
        }
        let long = format!("1 0 S Sun Nov 1 8:00:00 2026 {}", "é".repeat(100_000));
        assert!(Row::parse(&long).unwrap().1.words[0].len() <= BYTES);
        let unnamed = Row::parse("1 0 S Sun Nov 1 8:00:00 2026").unwrap();
        assert_eq!(unnamed.1.words, [""; 0]);
    }
}
