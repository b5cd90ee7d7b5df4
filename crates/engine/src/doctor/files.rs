//! Files of hooks and runs: spooled events, failures, outputs.

use std::fs;
use std::path::{Path, PathBuf};

use punchlist_bridge::doctor::Finding;
use punchlist_formats::view::duration::ago;

use super::{Examination, plural, size};
use crate::hook::failures;
use crate::hook::spool::Spool;
use crate::outputs;

impl Examination<'_> {
    /// The spooled events of these databases.
    pub(super) fn spooled<'p>(&self, databases: impl Iterator<Item = &'p Path>) -> Vec<Finding> {
        let data = self.call.places.map(|it| it.data.as_path());
        let waiting = |database: &Path| {
            let whole = std::path::absolute(database).unwrap_or_else(|_| database.to_owned());
            Spool::of(&fs::canonicalize(&whole).unwrap_or(whole), data).waiting()
        };
        let mut found: Vec<(PathBuf, usize)> = databases.flat_map(waiting).collect();
        found.sort();
        found.dedup();
        let finding = |(directory, count): (PathBuf, usize)| {
            let s = if count == 1 { " waits" } else { "s wait" };
            let place = directory.display();
            let said = format!("{count} event{s} in {place}: the database could not be used");
            let fix = "repair the database; the next hook or verb, such as `punchlist list`, applies them";
            Finding::bad("events", said, fix)
        };
        found.into_iter().map(finding).collect()
    }

    /// Hook calls that failed. A hook itself reports no failure.
    pub(super) fn failures(&self) -> Option<Finding> {
        let directory = &self.call.places?.data;
        let failed = failures::read(directory);
        let last = failed.last()?;
        let said = format!(
            "{} call{} of hooks failed, the last one {} at {}: {}",
            failed.len(),
            plural(failed.len()),
            ago(last.at, self.call.now),
            last.event.as_deref().unwrap_or("an unknown event"),
            last.what,
        );
        let file = directory.join(failures::FILE);
        Some(Finding::note("failures", said, format!("once that is fixed: rm {}", file.display())))
    }

    /// The outputs of runs that are kept in files, if there are any.
    pub(super) fn outputs(&self) -> Option<Finding> {
        let directory = self.call.places?.outputs();
        let all = outputs::all(&directory, self.call.now);
        let bytes = all.iter().map(|it| it.bytes).sum();
        let said = format!(
            "whole outputs of {} run{}, {}, kept for {} days  {}",
            all.len(),
            plural(all.len()),
            size(bytes),
            outputs::DAYS,
            directory.display()
        );
        (!all.is_empty()).then(|| Finding::good("outputs", said))
    }
}
