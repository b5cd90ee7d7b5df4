//! Lists where commands could come from in a project, for a person to read before trusting it.
//!
//! It only reads, within limits: a project may be of any size, and from anybody.

use std::fs;
use std::path::{Path, PathBuf};

use punchlist_formats::{planfile, text};
use punchlist_model::store::{Error, Filter, PlanStore};
use punchlist_model::{Item, Origin};

use crate::policy::trusted_files::FileToTrust;

/// Maximum number of commands, and of lines of a configuration, that are shown.
const SHOWN: usize = 50;
/// Limits of the search for plan files: the number of directory entries, the depth, and the size of
/// a file.
const ENTRIES: usize = 5000;
const DEPTH: usize = 3;
const LONGEST: u64 = 1024 * 1024;
/// Maximum width of a line.
const WIDTH: usize = 160;

/// What a person reads before trusting the other new files beside a database. `plans` are the lines
/// about the database.
pub(super) fn lines(root: &Path, plans: Vec<String>, new: &[FileToTrust]) -> Vec<String> {
    let mut lines = plans;
    for file in new {
        let Some(text) = &file.text else { continue };
        let has_content = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
        let content: Vec<String> = text.lines().filter(has_content).map(str::to_owned).collect();
        lines.extend(part(&format!("{} says:", path(&file.path)), content));
    }
    for (file, commands) in plan_files(root) {
        let name = file.strip_prefix(root).unwrap_or(&file);
        lines.extend(part(&format!("Commands in the plan file {}:", path(name)), commands));
    }
    if lines.is_empty() {
        lines.push("No plans, commands or rules were found here.".to_owned());
    }
    lines
}

/// A heading and its lines, or nothing if there are no lines.
fn part(heading: &str, all: Vec<String>) -> Vec<String> {
    if all.is_empty() {
        return all;
    }
    let more = all.len().saturating_sub(SHOWN);
    let mut lines = vec![heading.to_owned()];
    let line = |it: &String| format!("    {}", text::truncate(&text::one_line(it), WIDTH));
    lines.extend(all.iter().take(SHOWN).map(line));
    if more > 0 {
        lines.push(format!("    and {more} more"));
    }
    lines
}

fn path(path: &Path) -> String {
    text::one_line(&path.to_string_lossy()).into_owned()
}

/// The line for a database that cannot be read.
pub(super) fn unreadable(database: &Path, why: &Error) -> Vec<String> {
    vec![format!("{} cannot be read as it is: {why}", path(database))]
}

/// The plans in a database, and the commands of their items.
pub(super) async fn plans(database: &Path, store: &dyn PlanStore) -> Vec<String> {
    let name = path(database);
    let plans = match store.plans(Filter::default()).await {
        Ok(plans) => plans,
        Err(why) => return unreadable(database, &why),
    };
    let titles = plans.iter().map(|it| {
        let title = if it.title.is_empty() { "(no title)" } else { &it.title };
        let name = it.name.as_deref().unwrap_or(title);
        format!("{}  {name}", it.id.short())
    });
    let mut lines = part(&format!("Plans in {name}:"), titles.collect());
    let mut commands = Vec::new();
    for plan in &plans {
        if let Ok(plan) = store.whole(plan.id).await {
            commands.extend(plan.items.values().flat_map(of_item));
        }
    }
    lines.extend(part(&format!("Commands in {name}:"), commands));
    lines
}

/// The commands of an item, with their recorded origin.
fn of_item(item: &Item) -> Vec<String> {
    let check = item.check.as_ref().map(|it| ("verify", &it.command, it.origin));
    let run = item.run.as_ref().map(|it| ("run", &it.command, it.origin));
    let line = |(kind, command, origin): (&str, &String, Origin)| {
        let whose = match origin {
            Origin::Person => "a person's",
            Origin::Agent => "an agent's",
        };
        format!("{} {}: {kind}: {command} ({whose})", item.number, item.title)
    };
    check.into_iter().chain(run).map(line).collect()
}

/// The plan files below a directory that contain commands, with these commands.
fn plan_files(root: &Path) -> Vec<(PathBuf, Vec<String>)> {
    let mut found = Vec::new();
    let mut to_read = vec![(root.to_owned(), 0)];
    let mut entries_read = 0;
    while let Some((directory, depth)) = to_read.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            entries_read += 1;
            if entries_read > ENTRIES {
                return found;
            }
            let (path, name) = (entry.path(), entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            let is_hidden = name.to_string_lossy().starts_with('.');
            if kind.is_dir() && depth < DEPTH && !is_hidden && name != "node_modules" {
                to_read.push((path, depth + 1));
            } else if kind.is_file() && path.extension().is_some_and(|it| it == "md") {
                let commands = commands(&path);
                if !commands.is_empty() {
                    found.push((path, commands));
                }
            }
        }
    }
    found.sort();
    found.truncate(SHOWN);
    found
}

fn commands(file: &Path) -> Vec<String> {
    let is_short = fs::metadata(file).is_ok_and(|it| it.len() <= LONGEST);
    let Ok(text) = fs::read_to_string(file) else { return Vec::new() };
    if !is_short {
        return Vec::new();
    }
    let file = planfile::read(&text);
    let of = |it: &planfile::FileItem| {
        let (run, verify) = (it.fields.run.clone(), it.fields.verify.clone());
        let line = |kind: &str, command: String| format!("{}: {kind}: {command}", it.title);
        let run = run.map(|it| line("run", it));
        run.into_iter().chain(verify.map(|it| line("verify", it))).collect::<Vec<_>>()
    };
    file.items.iter().flat_map(of).collect()
}
