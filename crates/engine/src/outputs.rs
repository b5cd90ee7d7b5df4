//! Outputs of calls that are kept in files: list, clean up and erase them.
//!
//! A call's detail names the file as `whole`. Nothing outside the directory of outputs is touched,
//! whatever a detail says. Outputs are kept so that people can read them after a failure, but not
//! for ever: after each run, and after each step with a long output, old outputs are removed, and
//! then the oldest ones if the total is too large.
//!
//! The caller passes in the directory. [`last_call`] reads the last call of an item.

pub mod last_call;

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use punchlist_bridge::replace::{Draft, Stamp};
use punchlist_model::call::{CallStore, RunFilter};
use punchlist_model::{Number, PlanId, RunId, Timestamp};
use punchlist_sched::call::Output;
use punchlist_sched::output;
use serde_json::Value;

use crate::fail::Fail;

/// How many days the outputs of a run are kept.
pub const DAYS: u64 = 30;
/// Maximum size of all outputs, in bytes.
pub const MOST: u64 = 2 << 30;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The outputs of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    path: PathBuf,
    /// Their total size.
    pub bytes: u64,
    /// How long ago the last output was written.
    age: Duration,
}

/// The outputs of all runs. Other files in the directory are ignored.
pub fn all(directory: &Path, now: Timestamp) -> Vec<Kept> {
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
        // A time in the future counts as now.
        let age = written.max().and_then(|it| SystemTime::from(now).duration_since(it).ok());
        let age = age.unwrap_or_default();
        Kept { path: it.path(), bytes: about.iter().map(fs::Metadata::len).sum(), age }
    };
    found.flatten().filter(is_ours).map(kept).collect()
}

/// A file with an output.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Piece {
    path: PathBuf,
    bytes: u64,
    written: SystemTime,
}

/// The output files of a run.
fn pieces(run: &Path) -> Vec<Piece> {
    let files = fs::read_dir(run).into_iter().flatten().flatten();
    let piece = |it: fs::DirEntry| {
        let about = it.metadata().ok().filter(fs::Metadata::is_file)?;
        let written = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Some(Piece { path: it.path(), bytes: about.len(), written })
    };
    files.filter_map(piece).collect()
}

/// Whether outputs are past their retention time.
fn is_old(age: Duration) -> bool {
    age > DAY * u32::try_from(DAYS).unwrap_or(0)
}

/// The oldest files to remove so that the rest is at most `most` bytes. A file that a step is
/// writing is the newest and comes last.
fn spent(mut all: Vec<Piece>, most: u64) -> Vec<Piece> {
    all.sort_by(|one, other| (one.written, &one.path).cmp(&(other.written, &other.path)));
    let mut left: u64 = all.iter().map(|it| it.bytes).sum();
    let is_spent = |it: &Piece| {
        let is_spent = left > most;
        left -= if is_spent { it.bytes } else { 0 };
        is_spent
    };
    let mut is_spent = is_spent;
    all.retain(|it| is_spent(it));
    all
}

/// Removes outputs that are too old or too many. What cannot be removed is tried again next time.
pub fn tidy(directory: &Path, now: Timestamp) {
    let (old, kept): (Vec<Kept>, Vec<Kept>) =
        all(directory, now).into_iter().partition(|it| is_old(it.age));
    for it in old {
        drop(fs::remove_dir_all(&it.path));
    }
    for it in spent(kept.iter().flat_map(|it| pieces(&it.path)).collect(), MOST) {
        drop(fs::remove_file(&it.path));
        // Removes the directory too, once it is empty.
        it.path.parent().map(fs::remove_dir).map(Result::ok);
    }
}

/// How many lines the whole output has.
pub fn lines(output: &Output) -> u64 {
    let kept = output.text.trim_end().lines().count() as u64;
    let whole = output.whole.as_ref().and_then(|it| fs::File::open(it).ok());
    // The file may be gone; then the kept text is all there is.
    whole.and_then(|it| count(it).ok()).unwrap_or(0).max(kept)
}

fn count(mut file: impl Read) -> io::Result<u64> {
    let mut piece = vec![0; 64 << 10];
    let (mut lines, mut last) = (0, b'\n');
    loop {
        let read = match file.read(&mut piece) {
            Ok(0) => return Ok(lines + u64::from(last != b'\n')),
            Ok(read) => read,
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        let bytes = piece.get(..read).unwrap_or_default();
        lines += bytes.iter().filter(|it| **it == b'\n').count() as u64;
        last = bytes.last().copied().unwrap_or(last);
    }
}

/// Joins two outputs.
pub fn joined(first: Output, then: Output) -> Output {
    let mut text = first.text.clone();
    if !text.is_empty() && !text.ends_with('\n') && !then.text.is_empty() {
        text.push('\n');
    }
    text.push_str(&then.text);
    let whole = match (&first.whole, &then.whole) {
        (None, None) => None,
        (Some(path), _) => append(Path::new(path), &then).map(|()| path.clone()),
        (None, Some(path)) => prepend(&first.text, Path::new(path)).map(|()| path.clone()),
    };
    // If the files cannot be joined, keep the later one.
    let data = if then.data.is_null() { first.data } else { then.data };
    Output { text, whole: whole.or(then.whole).or(first.whole), data }
}

fn append(path: &Path, then: &Output) -> Option<()> {
    let mut file = fs::OpenOptions::new().append(true).open(path).ok()?;
    match &then.whole {
        Some(whole) => io::copy(&mut fs::File::open(whole).ok()?, &mut file).ok().map(drop),
        None => file.write_all(then.text.as_bytes()).ok(),
    }
}

fn prepend(first: &str, path: &Path) -> Option<()> {
    let mut file = fs::File::open(path).ok()?;
    let mut draft = Draft::like(path, Stamp::from(&file.metadata().ok()?)).ok()?;
    draft.write_all(first.as_bytes()).ok()?;
    io::copy(&mut file, &mut draft).ok()?;
    draft.replace().ok()
}

/// Removes the directory of a run that left no output.
pub fn ended(directory: &Path, run: RunId) {
    // A directory that is not empty stays. One that cannot be removed is cleaned up later.
    drop(fs::remove_dir(directory.join(run.to_string())));
}

/// The output files of one item's calls, or the output directories of all runs on a plan.
pub async fn of(
    store: &dyn CallStore,
    directory: &Path,
    plan: PlanId,
    item: Option<Number>,
) -> Result<Vec<PathBuf>, Fail> {
    let runs = store.runs(RunFilter { plan: Some(plan), ..RunFilter::default() }).await?;
    let mut found = Vec::new();
    for run in runs {
        let own = directory.join(run.id.to_string());
        if item.is_none() {
            found.push(own);
            continue;
        }
        for call in store.story(run.id).await?.into_iter().filter(|it| it.item == item) {
            named(&call.detail.unwrap_or_default(), &mut |path| {
                found.extend(Some(path.to_owned()).filter(|it| is_within(&own, it)));
            });
            // A run that was killed leaves files that no record names.
            let files = fs::read_dir(&own).into_iter().flatten().flatten();
            let is_of = |it: &fs::DirEntry| {
                it.file_name().to_str().is_some_and(|it| output::is_of(it, call.number))
            };
            found.extend(files.filter(is_of).map(|it| it.path()));
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Erases files and directories. Missing ones are skipped.
pub fn erase(paths: &[PathBuf]) -> Result<(), Fail> {
    for path in paths {
        let erased = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        match erased {
            Err(why) if why.kind() != ErrorKind::NotFound => {
                return Err(Fail::ours(format!("cannot erase {}: {why}", path.display()))
                    .hint("nothing else was erased yet; fix that and forget once more."));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Calls `found` for every file that a detail names.
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

/// Whether a path is directly in a directory, judged by the path alone.
pub(crate) fn is_within(directory: &Path, path: &Path) -> bool {
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
    fn of_what_is_too_much_the_oldest_goes_also_within_a_day() {
        let piece = |name: &str, second: u64, bytes| Piece {
            path: PathBuf::from(name),
            bytes,
            written: SystemTime::UNIX_EPOCH + Duration::from_secs(second),
        };
        let check = |all: &[Piece], most, expected: &[&str]| {
            let spent = spent(all.to_vec(), most);
            let names: Vec<&str> = spent.iter().map(|it| it.path.to_str().unwrap()).collect();
            assert_eq!(names, expected, "at most {most}");
        };
        let all = [piece("now", 9, 50), piece("old", 1, 10), piece("b", 7, 20), piece("c", 3, 30)];
        check(&all, 110, &[]);
        check(&all, 109, &["old"]);
        check(&all, 100, &["old"]);
        check(&all, 99, &["old", "c"]);
        check(&all, 60, &["old", "c", "b"]);
        check(&all, 0, &["old", "c", "b", "now"]);
        check(&[], 0, &[]);
    }

    #[test]
    fn outputs_are_old_after_a_month() {
        assert!(!is_old(DAY * 30));
        assert!(is_old(DAY * 30 + Duration::from_secs(1)));
    }

    #[test]
    fn all_lines_are_counted_also_those_that_were_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.txt");
        fs::write(&path, "a\nb\nc\nd").unwrap();
        let whole = Some(path.display().to_string());
        assert_eq!(lines(&Output { whole, ..Output::text("a\n…\nd") }), 4);
        let gone = Some("/nowhere/0.txt".to_owned());
        assert_eq!(lines(&Output { whole: gone, ..Output::text("a\n…\nd") }), 3);
        assert_eq!(lines(&Output::text("a\n\n")), 1);
    }

    #[test]
    fn two_outputs_are_one_also_in_the_file_that_has_the_whole() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let output = |text: &str, whole: Option<&String>| Output {
            whole: whole.cloned(),
            ..Output::text(text)
        };
        assert_eq!(joined(output("a", None), output("b\n", None)), output("a\nb\n", None));
        let (one, two) = (file("1.txt", "a\nx\n"), file("2.txt", "b\ny\n"));
        let both = joined(output("a\n", Some(&one)), output("b\n", Some(&two)));
        assert_eq!((both.text.as_str(), both.whole.as_ref()), ("a\nb\n", Some(&one)));
        assert_eq!(fs::read_to_string(&one).unwrap(), "a\nx\nb\ny\n");
        let both = joined(output("z\n", None), output("b\n", Some(&two)));
        assert_eq!(both.whole.as_ref(), Some(&two));
        assert_eq!(fs::read_to_string(&two).unwrap(), "z\nb\ny\n");
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
