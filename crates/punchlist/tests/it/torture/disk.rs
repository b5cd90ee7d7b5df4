//! Full disks and files that cannot be written: a clear error, nothing lost, and everything works
//! again when there is room.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::judge::judge;
use super::place::Place;
use super::{Round, Tally, scenario, skip};
use crate::world::finish;

/// The path of the small disk, for this program when it is started again.
const DISK: &str = "PUNCHLIST_TORTURE_DISK";
const NAME: &str = "torture::disk::a_full_disk_is_told_and_costs_nothing";

/// Mounts a small disk at `$1`, then runs the rest as a command.
const WITH_DISK: &str = "mount -t tmpfs -o size=768k tmpfs \"$1\" && shift && exec \"$@\"";

/// Limits the size of files to `$1` blocks, then runs the rest as a command. The signal is ignored,
/// so that the write itself fails.
const WITH_LIMIT: &str = "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"";

#[test]
fn a_full_disk_is_told_and_costs_nothing() {
    if let Some(disk) = std::env::var_os(DISK) {
        return scenario("full disk", |round| full(round, &PathBuf::from(&disk)));
    }
    let directory = tempfile::tempdir().unwrap();
    // Only this command sees the mount, which ends with it.
    let mounted = |command: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--", "/bin/sh", "-c", WITH_DISK, "sh"]);
        unshare.arg(directory.path()).args(command).stdin(Stdio::null());
        unshare
    };
    let can = mounted(&["true"]).stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        return skip("full disk", "no small disk can be mounted here");
    }
    let me = std::env::current_exe().unwrap();
    let status = mounted(&[me.to_str().unwrap(), "--exact", NAME, "--nocapture"])
        .env(DISK, directory.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "see above");
}

fn full(round: &mut Round<'_>, disk: &Path) {
    let rounds = round.of(6, 80);
    let fresh = || Bed::new(Place::around(disk.join("plans.db")));
    let mut bed = fresh();
    for n in 0..rounds {
        if n % 8 == 0 {
            clear(disk);
            bed = fresh();
        }
        // From no room at all, not even for the WAL's index, to room for a few changes.
        let room = if n % 2 == 1 {
            fs::remove_file(disk.join("plans.db-shm")).unwrap();
            0
        } else {
            round.chance.below(160) * 1024
        };
        let ballast = ballast(disk, room);
        let refused = bed.until_refused(round, "full", None);
        round.tally.must(refused > 0, || format!("{room} bytes were room for everything"));
        if bed.place.db.exists() && !bed.titles.is_empty() {
            let list = bed.place.run(&["list", "--json"]);
            round.tally.must(list.code == 0, || format!("reading failed: {}", list.err));
        }
        fs::remove_file(ballast).unwrap();
        let works = bed.add(round, "room again", None);
        round.tally.must(works, || "there is room again, and still it is refused".to_owned());
        bed.check(round.tally);
        if !round.tally.problems.is_empty() {
            return;
        }
    }
}

fn clear(disk: &Path) {
    for entry in fs::read_dir(disk).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
}

/// Fills the disk, except for some room.
fn ballast(disk: &Path, room: u64) -> PathBuf {
    let path = disk.join("ballast");
    let mut file = File::create(&path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    let length = file.metadata().unwrap().len();
    file.set_len(length.saturating_sub(room)).unwrap();
    path
}

#[test]
fn a_write_that_fails_is_told_and_costs_nothing() {
    scenario("failing writes", failing);
}

fn failing(round: &mut Round<'_>) {
    let rounds = round.of(6, 80);
    let mut bed = Bed::new(Place::new());
    for n in 0..rounds {
        if n > 0 && n % 8 == 0 {
            bed = Bed::new(Place::new());
        }
        let longest = longest(&bed.place) / 512 + round.chance.below(60);
        let refused = bed.until_refused(round, "limited", Some(longest));
        round.tally.must(refused > 0, || format!("{longest} blocks were enough"));
        let works = bed.add(round, "no limit", None);
        round.tally.must(works, || "nothing is in the way, and still it is refused".to_owned());
        bed.check(round.tally);
        if !round.tally.problems.is_empty() {
            return;
        }
    }
}

#[test]
fn a_call_that_says_it_failed_has_changed_nothing_wherever_it_failed() {
    let mut both = BTreeSet::new();
    for room in (0..96).step_by(4) {
        let place = Place::new();
        place.run(&["add", "One", "--plan", "shared"]).works();
        let line = "tool todowrite TodoWrite --conversation c --plan shared";
        let command = place.command(&line.split(' ').collect::<Vec<_>>());
        let blocks = longest(&place) / 512 + room;
        let todo = r#"{"todos": [{"content": "Two", "status": "pending", "activeForm": "Two"}]}"#;
        let ran = finish(limited(&command, blocks), todo.as_bytes());
        let list = place.run(&["list", "--plan", "shared"]).ok();
        assert_eq!(ran.code == 0, list.contains("Two"), "{blocks} blocks: {}", ran.err);
        both.insert(ran.code);
    }
    assert_eq!(both, BTreeSet::from([0, 8]));
}

/// The size of the largest file of the database.
fn longest(place: &Place) -> u64 {
    let length = |end: &str| {
        let mut path = place.db.clone().into_os_string();
        path.push(end);
        fs::metadata(path).map_or(0, |it| it.len())
    };
    ["", "-wal", "-shm"].into_iter().map(length).max().unwrap()
}

/// A database, and its acknowledged titles.
struct Bed {
    place: Place,
    titles: BTreeSet<String>,
}

impl Bed {
    fn new(place: Place) -> Self {
        Self { place, titles: BTreeSet::new() }
    }

    /// Adds items until a few were refused; returns how many. A WAL that was just restarted has
    /// room for a while.
    fn until_refused(&mut self, round: &mut Round<'_>, when: &str, blocks: Option<u64>) -> u32 {
        let mut refused = 0;
        for _ in 0..64 {
            refused += u32::from(!self.add(round, when, blocks));
            if refused == 8 {
                break;
            }
        }
        refused
    }

    /// Adds an item, by the command or the tool; returns whether it was acknowledged.
    fn add(&mut self, round: &mut Round<'_>, when: &str, blocks: Option<u64>) -> bool {
        let (title, context) = (round.chance.word(), "x".repeat(1_000));
        let tool = round.chance.below(3) == 0;
        let (arguments, stdin) = if tool {
            let call = serde_json::json!({"items": [{"title": title, "context": context}]});
            (vec!["tool", "turn", "create_todo", "--conversation", "c"], call.to_string())
        } else {
            (vec!["add", &title[..], "--context", &context], String::new())
        };
        let command = self.place.command(&arguments);
        let command = match blocks {
            Some(blocks) => limited(&command, blocks),
            None => command,
        };
        let ran = finish(command, stdin.as_bytes());
        let tally = &mut *round.tally;
        tally.processes += 1;
        tally.writes += 1;
        match ran.code {
            0 if ran.out.contains("\"error\"") => {
                tally.wrong(format!("{when}: the tool says {}", ran.out));
                false
            }
            0 => {
                tally.acknowledged += 1;
                self.titles.insert(title);
                true
            }
            8 => {
                let clear = ran.err.contains("nothing was changed") && ran.err.contains("hint: ");
                tally.must(clear, || format!("{when}: not a clear error: {}", ran.err));
                false
            }
            code => {
                tally.wrong(format!("{when}: exit {code}: {}", ran.err));
                false
            }
        }
    }

    /// Checks that acknowledged items exist, and refused ones do not.
    fn check(&self, tally: &mut Tally) {
        let mut stored = BTreeSet::new();
        for case in judge(&self.place.db, tally) {
            for item in case.plan.items.values() {
                if !stored.insert(item.title.clone()) {
                    tally.double(format!("{} is there twice", item.title));
                }
            }
        }
        for title in self.titles.difference(&stored) {
            tally.lose(format!("{title} is not there"));
        }
        for title in stored.difference(&self.titles) {
            tally.wrong(format!("{title} is there, though \"nothing was changed\""));
        }
    }
}

/// A command with a limit for the size of files, in blocks.
fn limited(inner: &Command, blocks: u64) -> Command {
    let mut command = Command::new("/bin/sh");
    command.env_clear().args(["-c", WITH_LIMIT, "sh", &blocks.to_string()]);
    command.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        command.envs(value.map(|value| (name, value)));
    }
    command.current_dir(inner.get_current_dir().unwrap());
    command
}
