//! Whole outputs of calls, which lie in files of their own, and erasing them.
//!
//! A call's detail names the file as `whole`. Nothing outside of the directory of outputs is touched,
//! whatever a detail says. They are there to be looked at after a failure and are not kept for ever: after
//! each run those go that are old, and the oldest of those that are too many.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use punchlist_model::call::{CallStore, RunFilter};
use punchlist_model::{Number, PlanId, RunId, Timestamp};
use serde_json::Value;

use crate::error::Fail;
use crate::settle::settle;
use crate::{clock, places};

/// How many days the outputs of a run are kept.
pub(crate) const DAYS: u64 = 30;
/// How many bytes of outputs are kept in all, those of the last day left aside.
pub(crate) const MOST: u64 = 2 << 30;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The outputs of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    /// How large they are together.
    pub(crate) bytes: u64,
    /// How long ago the last of them was written.
    age: Duration,
}

/// All that are kept. What does not look like ours is not looked at.
pub(crate) fn all(directory: &Path, now: Timestamp) -> Vec<Kept> {
    let Ok(found) = fs::read_dir(directory) else { return Vec::new() };
    let is_ours = |it: &fs::DirEntry| {
        let is_run = it.file_name().to_str().is_some_and(|it| it.parse::<RunId>().is_ok());
        is_run && it.file_type().is_ok_and(|it| it.is_dir())
    };
    let kept = |it: fs::DirEntry| {
        let files = fs::read_dir(it.path()).into_iter().flatten().flatten();
        let about: Vec<fs::Metadata> = files.filter_map(|it| it.metadata().ok()).collect();
        let own = it.metadata().ok();
        let written = about.iter().chain(&own).filter_map(|it| it.modified().ok());
        // What was written in the future was written just now.
        let age = written.max().and_then(|it| SystemTime::from(now).duration_since(it).ok());
        let age = age.unwrap_or_default();
        Kept { path: it.path(), bytes: about.iter().map(fs::Metadata::len).sum(), age }
    };
    found.flatten().filter(is_ours).map(kept).collect()
}

/// Those that need not be kept: the old ones, and the oldest while all together are more than `most`. What
/// was written within a day may belong to a run that is under way.
fn spent(mut all: Vec<Kept>, most: u64) -> Vec<Kept> {
    all.sort_by(|one, other| other.age.cmp(&one.age).then_with(|| one.path.cmp(&other.path)));
    let mut left: u64 = all.iter().map(|it| it.bytes).sum();
    all.retain(|it| {
        let is_spent =
            it.age > DAY && (it.age > DAY * u32::try_from(DAYS).unwrap_or(0) || left > most);
        if is_spent {
            left = left.saturating_sub(it.bytes);
        }
        is_spent
    });
    all
}

/// Drops what need not be kept. What cannot be dropped now is tried again after the next run.
pub(crate) fn tidy() {
    let Ok(directory) = places::outputs() else { return };
    for it in spent(all(&directory, clock::now()), MOST) {
        drop(fs::remove_dir_all(&it.path));
    }
}

/// The outputs of one item's calls, or of all runs on a plan.
pub(crate) fn of(
    store: &dyn CallStore,
    plan: PlanId,
    item: Option<Number>,
) -> Result<Vec<PathBuf>, Fail> {
    let directory = places::outputs()?;
    let runs = settle(store.runs(RunFilter { plan: Some(plan), ..RunFilter::default() }))?;
    let mut found = Vec::new();
    for run in runs {
        let own = directory.join(run.id.to_string());
        if item.is_none() {
            found.push(own);
            continue;
        }
        for call in settle(store.story(run.id))?.into_iter().filter(|it| it.item == item) {
            named(&call.detail.unwrap_or_default(), &mut |path| {
                found.extend(Some(path.to_owned()).filter(|it| is_within(&own, it)));
            });
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Erases them. What is gone already is as well.
pub(crate) fn erase(paths: &[PathBuf]) -> Result<(), Fail> {
    for path in paths {
        let erased = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        match erased {
            Err(why) if why.kind() != ErrorKind::NotFound => {
                return Err(Fail::ours(format!("cannot erase {}: {why}", path.display()))
                    .hint("nothing else was erased yet; put that right and forget once more."));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Every file that a detail names.
fn named(detail: &Value, found: &mut impl FnMut(&Path)) {
    match detail {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(path) if name == "whole" => found(Path::new(path)),
                    Some(_) | None => named(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| named(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a file lies in a directory itself, by its name alone.
fn is_within(directory: &Path, path: &Path) -> bool {
    path.parent() == Some(directory) && path.file_name().is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_detail_names_its_files_wherever_they_stand() {
        let detail = json!({
            "failed": {"what": "exit 1", "output": {"text": "whole", "whole": "/o/1.txt"}},
            "more": [{"whole": "/o/2.txt"}, {"whole": null}],
        });
        let mut found = Vec::new();
        named(&detail, &mut |path| found.push(path.to_owned()));
        assert_eq!(found, [Path::new("/o/1.txt"), Path::new("/o/2.txt")]);
    }

    #[test]
    fn what_is_old_goes_and_the_oldest_of_what_is_too_much() {
        let kept = |name: &str, days: u64, bytes| Kept {
            path: PathBuf::from(name),
            bytes,
            age: Duration::from_secs(days * 24 * 60 * 60 + 60),
        };
        let check = |all: &[Kept], most, expected: &[&str]| {
            let spent = spent(all.to_vec(), most);
            let names: Vec<&str> = spent.iter().map(|it| it.path.to_str().unwrap()).collect();
            assert_eq!(names, expected, "at most {most}");
        };
        let all = [kept("new", 0, 50), kept("old", 31, 10), kept("b", 3, 20), kept("c", 9, 30)];
        check(&all, 1_000, &["old"]);
        check(&all, 100, &["old"]);
        check(&all, 99, &["old", "c"]);
        check(&all, 60, &["old", "c", "b"]);
        check(&all, 0, &["old", "c", "b"]);
        check(&[], 0, &[]);
    }

    #[test]
    fn nothing_outside_of_the_directory_is_meant() {
        let own = Path::new("/data/output/run");
        for (path, expected) in [
            ("/data/output/run/3.txt", true),
            ("/data/output/run/..", false),
            ("/data/output/run", false),
            ("/data/output/run/../other/3.txt", false),
            ("/data/output/run/a/3.txt", false),
            ("3.txt", false),
            ("/etc/passwd", false),
        ] {
            assert_eq!(is_within(own, Path::new(path)), expected, "{path}");
        }
    }
}
