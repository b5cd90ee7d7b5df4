//! Which repository a project is, so that one that was renamed or moved is known again.
//!
//! The first commit of a project's repository is noted when the project is first used, in a file beside the
//! database, one line a project. A verb in a repository that is not noted, but whose first commit is noted
//! of a directory that is gone, offers to give it that directory's plans. Nothing is moved without a
//! person's word.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use punchlist_bridge::git;
use punchlist_formats::text::one_line;
use punchlist_model::store::{Filter, Summary};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::block_on;
use crate::error::Fail;
use crate::project::Project;
use crate::{called, person};

/// How long git may take where a person waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// How long it may take where an agent waits.
pub(crate) const SHORT_PATIENCE: Duration = Duration::from_millis(300);
/// The longest file that is read.
const MOST: u64 = 4 * 1024 * 1024;

/// What is noted of a project.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Noted {
    project: String,
    /// Nothing if it has none, or it could not be found out.
    first_commit: Option<String>,
}

/// The file beside a database.
fn file(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-projects");
    PathBuf::from(name)
}

fn noted(database: &Path) -> Vec<Noted> {
    let mut text = String::new();
    let read = File::open(file(database)).and_then(|it| it.take(MOST).read_to_string(&mut text));
    if read.is_err() {
        return Vec::new();
    }
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn add(database: &Path, noted: &Noted) {
    let Ok(mut line) = serde_json::to_string(noted) else { return };
    line.push('\n');
    let mut options = OpenOptions::new();
    let opened = options.append(true).create(true).mode(0o600).open(file(database));
    // In one piece, so that lines of several processes do not mix. What cannot be noted now is noted
    // with the next change.
    drop(opened.and_then(|mut it| it.write_all(line.as_bytes())));
}

/// Whether a repository has any commit, as far as that can be told without git.
fn has_commits(root: &Path) -> bool {
    let git = root.join(".git");
    let git = if git.is_dir() { git } else { root.to_owned() };
    let Ok(head) = fs::read_to_string(git.join("HEAD")) else { return root.join(".git").exists() };
    match head.trim().strip_prefix("ref:") {
        Some(branch) => {
            git.join(branch.trim()).exists()
                || git.join("packed-refs").exists()
                || git.join("reftable").exists()
        }
        None => true,
    }
}

fn first_commit(project: &Project, patience: Duration) -> Option<String> {
    if !has_commits(&project.root) {
        return None;
    }
    git::first_commit(&project.root, env::var_os("PATH").as_deref(), patience)
}

/// Notes the repository of a project that is used, unless that is done.
pub(crate) fn note(database: &Path, project: &Project, patience: Duration) {
    if !database.exists() || noted(database).iter().any(|it| it.project == project.name) {
        return;
    }
    let first_commit = first_commit(project, patience);
    // A repository without a commit gets one, and git may be quicker next time.
    if first_commit.is_some() || !project.is_repository() {
        add(database, &Noted { project: project.name.clone(), first_commit });
    }
}

/// A project has moved: what was noted of the old place is noted of the new one.
pub(crate) fn moved(database: &Path, from: &str, to: &str) -> Result<(), Fail> {
    let mut all = noted(database);
    all.retain(|it| it.project != to);
    for it in &mut all {
        if let Some(rest) = it.project.strip_prefix(from)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            it.project = format!("{to}{rest}");
        }
    }
    let lines: Vec<String> = all.iter().filter_map(|it| serde_json::to_string(it).ok()).collect();
    let text = lines.iter().map(|it| format!("{it}\n")).collect::<String>();
    let cannot = |why| Fail::ours(format!("{} cannot be written: {why}", file(database).display()));
    if text.is_empty() {
        return Ok(());
    }
    punchlist_bridge::replace::rewrite(&file(database), text.as_bytes()).map_err(cannot)
}

/// Whether the directory of a project is gone. One whose name is not its path cannot be told.
pub(crate) fn is_gone(project: &str) -> bool {
    let path = Path::new(project);
    path.is_absolute()
        && fs::symlink_metadata(path).is_err_and(|why| why.kind() == std::io::ErrorKind::NotFound)
}

/// The line that offers a moved project its plans, if this is the first verb in one.
pub(crate) fn offer(app: &App) -> Option<String> {
    let (database, project) = (app.database().ok()?, app.project().ok()?);
    let all = noted(database);
    if all.iter().any(|it| it.project == project.name) {
        return None;
    }
    let gone: Vec<&Noted> =
        all.iter().filter(|it| it.first_commit.is_some() && is_gone(&it.project)).collect();
    if gone.is_empty() {
        return None;
    }
    let own = first_commit(project, PATIENCE)?;
    let store = app.store_to_read().ok()??;
    let has_plans = |it: &&&Noted| {
        let filter = Filter { project: Some(it.project.clone()), ..Filter::default() };
        block_on(store.plans(filter)).is_ok_and(|plans| !plans.is_empty())
    };
    // Of several the one that was used last.
    let old =
        gone.iter().rev().filter(|it| it.first_commit.as_ref() == Some(&own)).find(has_plans)?;
    if person::is_agent() {
        return Some(format!(
            "this repository was in {}, which is gone; your user can bring its plans here",
            old.project
        ));
    }
    Some(format!(
        "this repository was in {}, which is gone: `punchlist move-project {} {}` brings its plans here",
        old.project,
        called::word(&old.project),
        called::word(&project.name)
    ))
}

/// The directories of these plans that are gone, a line each, and what to do about it.
pub(crate) fn gone(plans: &[Summary]) -> String {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for plan in plans.iter().filter(|it| is_gone(&it.project)) {
        *counts.entry(&plan.project).or_default() += 1;
    }
    if counts.is_empty() {
        return String::new();
    }
    let line = |(project, count): (&&str, &u32)| {
        let s = if *count == 1 { "" } else { "s" };
        format!("gone: {} ({count} plan{s})\n", one_line(project))
    };
    let lines: String = counts.iter().map(line).collect();
    let next = if person::is_agent() {
        "Your user can give the plans to the directory's new name."
    } else {
        "`punchlist move-project OLD NEW` gives the plans to the directory's new name."
    };
    format!("\n{lines}{next}\n")
}
