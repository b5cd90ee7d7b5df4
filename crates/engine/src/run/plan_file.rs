//! The plan file of a run: its real path, its content, and errors in it.

pub(crate) mod fresh;
pub(crate) mod moved;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use punchlist_formats::planfile::{self, Import, PlanFile, Severity};
use punchlist_model::{Limits, MadeFor, Number, Origin, Plan, PlanId};

use crate::fail::{self, Fail};
use crate::plan_service::Which;
use moved::Found;

/// Maximum size of a plan file, in bytes.
const MOST: u64 = 16 << 20;
/// Maximum length of a file name that becomes the plan's name, in characters.
const LONGEST_NAME: usize = 60;
/// How many problems are shown.
const DRAWN: usize = 10;

/// A plan file that was read.
pub struct Source {
    /// The real path, which identifies the plan.
    pub path: PathBuf,
    /// The path as it was given, for messages.
    pub name: String,
    pub(crate) text: String,
    pub(crate) file: PlanFile,
    /// The file's plan, once it is found.
    plan: PlanId,
    /// Whether the plan belonged to another file before.
    pub(crate) is_moved: bool,
    /// The file's directory relative to the root of its checkout, if the plan is shared.
    pub(crate) below: Option<String>,
}

impl Source {
    /// Reads a file. A problem in it is an error that shows the place.
    pub fn read(path: &Path, limits: &Limits) -> Result<Self, Fail> {
        let name = path.display().to_string();
        let real = fs::canonicalize(path).map_err(|why| unreadable(&name, &why))?;
        let about = fs::metadata(&real).map_err(|why| unreadable(&name, &why))?;
        if !about.is_file() {
            return Err(Fail::usage(format!("{name} is not a file"))
                .hint("name a Markdown file with a checklist."));
        }
        if about.len() > MOST {
            let most = MOST >> 20;
            return Err(Fail::usage(format!("{name} is larger than {most} MB, which is no plan")));
        }
        let bytes = fs::read(&real).map_err(|why| unreadable(&name, &why))?;
        let text = String::from_utf8(bytes)
            .map_err(|why| Fail::usage(format!("{name} is not UTF-8: {why}")))?;
        let mut file = planfile::read(&text);
        file.hold_to(limits);
        let source =
            Self { path: real, name, text, file, plan: PlanId::NIL, is_moved: false, below: None };
        source.check()?;
        Ok(source)
    }

    fn check(&self) -> Result<(), Fail> {
        let errors = self.drawn(Severity::Error);
        if !errors.is_empty() {
            let count = errors.len();
            let things = if count == 1 { "a mistake" } else { "mistakes" };
            return Err(Fail::usage(format!("{} has {things} in it; nothing was run", self.name))
                .details(errors.into_iter().take(DRAWN).collect())
                .hint("fix that and run it again; `--dry-run` shows how a file is understood."));
        }
        if self.file.items.is_empty() {
            return Err(Fail::usage(format!("{} has no items", self.name)).hint(
                "an item is a line like `- [ ] Build`, with `run: cargo build` in the line under it.",
            ));
        }
        Ok(())
    }

    /// The warnings, one text each.
    pub fn warnings(&self) -> Vec<String> {
        let count = self.file.problems.len();
        let mut drawn = self.drawn(Severity::Warning);
        drawn.truncate(DRAWN);
        if count > DRAWN {
            drawn.push(format!("{} more like these", count - DRAWN));
        }
        drawn
    }

    fn drawn(&self, severity: Severity) -> Vec<String> {
        let problems = self.file.problems.iter().filter(|it| it.severity == severity);
        problems.map(|it| planfile::draw(&self.name, &self.text, it)).collect()
    }

    /// Compares the file with its plan.
    pub(crate) fn import<'a>(&'a self, plan: &'a Plan, origin: Origin) -> Import<'a> {
        let directory = self.directory().to_str().unwrap_or_default();
        let below = self.below.as_deref();
        let from = planfile::import::Source { origin, name: &self.name, directory, below };
        Import::new(&self.file, Some(plan), from)
    }

    /// Where the items of the plan are in the file.
    pub(crate) fn spots(&self, plan: &Plan) -> BTreeMap<Number, String> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let spot = |(at, number): (usize, Option<Number>)| {
            Some((number?, format!("{name}:{}", self.file.items.get(at)?.line)))
        };
        planfile::matched(&self.file, plan).into_iter().enumerate().filter_map(spot).collect()
    }

    /// The file's plan.
    pub(crate) fn plan(&self) -> PlanId {
        self.plan
    }

    /// Sets the file's plan. Returns notes about it.
    pub(crate) fn belongs(&mut self, found: Found) -> Vec<String> {
        (self.plan, self.is_moved) = (found.plan, found.is_moved);
        found.notes
    }

    /// How the file's plan is identified. A new plan gets the file's name.
    pub(super) fn which(&self) -> Which {
        let name = self.path.file_name().and_then(|it| it.to_str()).map(str::trim);
        let name = name.filter(|it| !it.is_empty() && it.chars().count() <= LONGEST_NAME);
        let path = self.path.to_string_lossy().into_owned();
        Which::File { path, name: name.map(str::to_owned) }
    }

    /// What the file's plan is made for.
    pub(super) fn made_for(&self) -> MadeFor {
        MadeFor::File(self.path.to_string_lossy().into_owned())
    }

    /// The directory in which its commands run.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The title.
    pub fn title(&self) -> String {
        let stem = || self.path.file_stem().map(|it| it.to_string_lossy().into_owned());
        self.file.title.clone().or_else(stem).unwrap_or_default()
    }
}

fn unreadable(name: &str, why: &std::io::Error) -> Fail {
    fail::unreadable(name, why).hint("name a Markdown file with a checklist.")
}
