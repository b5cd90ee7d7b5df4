//! Whole outputs of calls, which lie in files of their own, and erasing them.
//!
//! A call's detail names the file as `whole`. Nothing outside of the directory of outputs is touched,
//! whatever a detail says.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use punchlist_model::call::{CallStore, RunFilter};
use punchlist_model::{Number, PlanId};
use serde_json::Value;

use crate::error::Fail;
use crate::places;
use crate::settle::settle;

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
