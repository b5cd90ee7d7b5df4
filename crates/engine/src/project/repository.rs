//! Recognises a repository whose directory was renamed or moved.
//!
//! The first commit of a project's repository is recorded when the project is first used, in a file
//! beside the database, one line per project. If a project has no record, but its first commit is
//! recorded for a directory that is gone, the user is offered that directory's plans. Nothing is
//! moved until a person says so.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use punchlist_bridge::git;
use punchlist_bridge::install::entries::word;
use punchlist_formats::text::one_line;
use punchlist_formats::view::Reader;
use punchlist_model::store::maintenance::project_after_move;
use punchlist_model::store::{Filter, PlanStore, Summary};
use serde::{Deserialize, Serialize};

use super::Project;
use crate::fail::Fail;
use crate::replace;

/// Timeout for git if a person waits.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// Timeout for git if an agent waits.
pub const SHORT_PATIENCE: Duration = Duration::from_millis(300);
/// Maximum size of a file that is read, in bytes.
const MOST: u64 = 4 * 1024 * 1024;

/// The record of a project.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    project: String,
    /// `None` if the project has no commit, or git did not return one.
    first_commit: Option<String>,
}

/// The file beside a database.
fn file(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-projects");
    PathBuf::from(name)
}

fn records(database: &Path) -> Vec<Record> {
    let mut text = String::new();
    let read = File::open(file(database)).and_then(|it| it.take(MOST).read_to_string(&mut text));
    if read.is_err() {
        return Vec::new();
    }
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn add(database: &Path, record: &Record) {
    let Ok(mut line) = serde_json::to_string(record) else { return };
    line.push('\n');
    let mut options = OpenOptions::new();
    let opened = options.append(true).create(true).mode(0o600).open(file(database));
    // One write, so that lines of several processes do not mix. If it fails, the next change tries
    // again.
    drop(opened.and_then(|mut it| it.write_all(line.as_bytes())));
}

/// Whether a repository has any commit, as far as its files show.
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

/// How to run git.
#[derive(Clone, Copy, Debug)]
pub struct Git<'a> {
    /// The search path for git.
    pub search: Option<&'a OsStr>,
    /// The timeout for git.
    pub patience: Duration,
}

impl Git<'_> {
    /// The first commit of a project's repository.
    pub fn first_commit(self, project: &Project) -> Option<String> {
        if !has_commits(&project.root) {
            return None;
        }
        git::first_commit(&project.root, self.search, self.patience)
    }
}

/// Records the repository of a project, unless it is recorded already.
pub fn record(database: &Path, project: &Project, git: Git<'_>) {
    if !database.exists() || records(database).iter().any(|it| it.project == project.name) {
        return;
    }
    let first_commit = git.first_commit(project);
    // A repository without a commit gets one later, and git may be faster next time.
    if first_commit.is_some() || !project.is_repository() {
        add(database, &Record { project: project.name.clone(), first_commit });
    }
}

/// Changes the records after the project `from` was moved to `to`.
pub(super) fn move_records(database: &Path, from: &str, to: &str) -> Result<(), Fail> {
    let mut all = records(database);
    all.retain(|it| it.project != to);
    for it in &mut all {
        if let Some(project) = project_after_move(&it.project, from, to) {
            it.project = project;
        }
    }
    let lines: Vec<String> = all.iter().filter_map(|it| serde_json::to_string(it).ok()).collect();
    let text = lines.iter().map(|it| format!("{it}\n")).collect::<String>();
    let cannot = |why| Fail::ours(format!("{} cannot be written: {why}", file(database).display()));
    if text.is_empty() {
        return Ok(());
    }
    replace::rewrite(&file(database), text.as_bytes()).map_err(cannot)
}

/// Whether the directory of a project is gone. A project whose name is not a path counts as
/// existing.
pub fn is_gone(project: &str) -> bool {
    let path = Path::new(project);
    path.is_absolute()
        && fs::symlink_metadata(path).is_err_and(|why| why.kind() == std::io::ErrorKind::NotFound)
}

/// A directory that is gone, and the repository that was in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoneDirectory {
    project: String,
    first_commit: String,
}

/// The directories that `project` may have been moved from, most recently used first; empty if the
/// project is recorded. This only reads files, so that the usual call does not run git.
pub fn possible_origins(database: &Path, project: &Project) -> Vec<GoneDirectory> {
    let all = records(database);
    if all.iter().any(|it| it.project == project.name) {
        return Vec::new();
    }
    let gone = all.into_iter().rev().filter_map(|it| {
        let first_commit = it.first_commit?;
        is_gone(&it.project).then_some(GoneDirectory { project: it.project, first_commit })
    });
    gone.collect()
}

/// The line that offers a moved project the plans of its old directory. `None` if none of the directories
/// held this repository, or none of them has plans.
pub async fn offer(
    store: &dyn PlanStore,
    project: &Project,
    origins: Vec<GoneDirectory>,
    git: Git<'_>,
    reader: Reader,
) -> Option<String> {
    if origins.is_empty() {
        return None;
    }
    let own = git.first_commit(project)?;
    for origin in origins.into_iter().filter(|it| it.first_commit == own) {
        let filter = Filter { project: Some(origin.project.clone()), ..Filter::default() };
        if store.plans(filter).await.is_ok_and(|plans| !plans.is_empty()) {
            return Some(offered(&origin.project, project, reader));
        }
    }
    None
}

fn offered(old: &str, project: &Project, reader: Reader) -> String {
    match reader {
        Reader::Agent => {
            format!(
                "this repository was in {old}, which is gone; your user can bring its plans here"
            )
        }
        Reader::Person => format!(
            "this repository was in {old}, which is gone: `punchlist move-project {} {}` brings its plans here",
            word(old),
            word(&project.name)
        ),
    }
}

/// The directories of these plans that are gone, one per line, and what to do about it. Empty if
/// there are none.
pub fn gone_directories(plans: &[Summary], reader: Reader) -> String {
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
    let next = match reader {
        Reader::Agent => "Your user can give the plans to the directory's new name.",
        Reader::Person => {
            "`punchlist move-project OLD NEW` gives the plans to the directory's new name."
        }
    };
    format!("\n{lines}{next}\n")
}
