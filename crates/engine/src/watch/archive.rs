//! The rows that a person has put away, in a file of the data directory.
//!
//! A row stays away until its agent does something again: the file has the time of the row's last
//! event. Several watchers may use the file at the same time: each change is made under a lock.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use punchlist_bridge::{private, replace};
use punchlist_model::agents::Row;

use crate::fail::Fail;

/// The most rows that are remembered; those with the oldest events are forgotten.
const MOST: usize = 2_000;
/// The largest file that is read.
const MOST_BYTES: u64 = 4 << 20;

/// The rows that were put away: the time of the last event of each, by key.
#[derive(Clone, Debug)]
pub struct Archive {
    file: PathBuf,
    rows: BTreeMap<String, i64>,
}

impl Archive {
    /// Reads the archive of a data directory. A file that is missing or cannot be read is empty.
    pub fn open(data: &Path) -> Self {
        let file = data.join("watch-archive.json");
        let rows = read(&file);
        Self { file, rows }
    }

    /// Whether a row is put away.
    pub fn has(&self, row: &Row) -> bool {
        row.is_over() && self.rows.get(&row.key).is_some_and(|at| row.at <= *at)
    }

    /// Puts a row away.
    pub fn put_away(&mut self, row: &Row) -> Result<(), Fail> {
        self.change(|rows| {
            rows.insert(row.key.clone(), row.at);
        })
    }

    /// Takes a row out again.
    pub fn take_out(&mut self, row: &Row) -> Result<(), Fail> {
        self.change(|rows| {
            rows.remove(&row.key);
        })
    }

    fn change(&mut self, change: impl FnOnce(&mut BTreeMap<String, i64>)) -> Result<(), Fail> {
        let changed = self.changed(change);
        let failed =
            |why: io::Error| Fail::ours(format!("cannot write {}: {why}", self.file.display()));
        self.rows = changed.map_err(failed)?;
        Ok(())
    }

    fn changed(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, i64>),
    ) -> io::Result<BTreeMap<String, i64>> {
        if let Some(directory) = self.file.parent() {
            private::directory(directory)?;
        }
        // Held until the new file is there.
        let _lock = lock(&self.file.with_extension("lock"))?;
        let mut rows = read(&self.file);
        change(&mut rows);
        while rows.len() > MOST {
            let Some(oldest) = rows.iter().min_by_key(|it| it.1).map(|it| it.0.clone()) else {
                break;
            };
            rows.remove(&oldest);
        }
        replace::private(&self.file, serde_json::to_string(&rows)?.as_bytes())?;
        Ok(rows)
    }
}

fn read(file: &Path) -> BTreeMap<String, i64> {
    let is_small = fs::metadata(file).is_ok_and(|it| it.len() <= MOST_BYTES);
    let text = is_small.then(|| fs::read_to_string(file).ok()).flatten();
    text.and_then(|it| serde_json::from_str(&it).ok()).unwrap_or_default()
}

fn lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match file.lock() {
        // Some network file systems do not support locks.
        Err(why) if why.kind() != io::ErrorKind::Unsupported => Err(why),
        Ok(()) | Err(_) => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use punchlist_model::agents::State;

    use super::*;

    fn row(key: &str, at: i64, state: State) -> Row {
        Row { key: key.to_owned(), at, state, ..Row::default() }
    }

    #[test]
    fn a_row_stays_away_until_its_agent_does_something_and_over_a_restart() {
        let data = tempfile::tempdir().unwrap();
        let mut archive = Archive::open(data.path());
        let idle = row("claude/a/", 100, State::Idle);
        assert!(!archive.has(&idle));
        archive.put_away(&idle).unwrap();
        let archive = Archive::open(data.path());
        assert!(archive.has(&idle));
        assert!(!archive.has(&row("claude/b/", 100, State::Idle)));
        assert!(!archive.has(&row("claude/a/", 100, State::Working)), "it works again");
        assert!(!archive.has(&row("claude/a/", 101, State::Idle)), "it did something since");
    }

    #[test]
    fn two_watchers_lose_nothing_of_each_other() {
        let data = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (Archive::open(data.path()), Archive::open(data.path()));
        let (a, b) = (row("a", 1, State::Idle), row("b", 1, State::Died));
        one.put_away(&a).unwrap();
        other.put_away(&b).unwrap();
        assert!(other.has(&a) && other.has(&b));
        one.take_out(&b).unwrap();
        assert!(one.has(&a) && !one.has(&b));
    }

    #[test]
    fn a_damaged_file_is_empty_and_is_replaced() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("watch-archive.json"), "{broken").unwrap();
        let mut archive = Archive::open(data.path());
        let dead = row("a", 1, State::Died);
        archive.put_away(&dead).unwrap();
        assert!(Archive::open(data.path()).has(&dead));
    }
}
