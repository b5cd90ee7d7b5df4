//! The engine of `punchlist run`: a plan file, worked off.
//!
//! It joins the rooms: the file from `formats`, the plan and what is remembered of calls in the store, and
//! the scheduler, which decides what runs when. What a rule says is decided there, never here.
//!
//! `file` and `prepare` come before anything runs, `course` says what does; `step` is what is called,
//! `book` writes down, `board` knows how it stands, `show`, `told` and `prompt` are its faces, and `engine`
//! is the loop that holds them together.

mod allow;
mod board;
mod book;
mod course;
mod dry;
mod end;
mod engine;
mod file;
mod fresh;
mod known;
mod left;
mod lock;
mod moved;
mod nest;
mod prepare;
mod printed;
mod prompt;
mod proof;
mod session;
mod show;
mod start;
mod step;
mod told;
mod wake;
mod worker;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use punchlist_store::Threaded;

use crate::app::App;
use crate::error::Fail;
use crate::person;
use crate::print::{self, Reply};
use file::Source;
use lock::Lock;

/// What is asked for.
pub(crate) struct Ask {
    pub(crate) file: PathBuf,
    pub(crate) jobs: Option<NonZeroU32>,
    pub(crate) yes: bool,
    pub(crate) dry_run: bool,
    pub(crate) only: Vec<String>,
    pub(crate) from: Option<String>,
    pub(crate) on_failure: OnFailure,
    pub(crate) retry_interrupted: bool,
    pub(crate) fresh: bool,
    pub(crate) write_back: bool,
    /// Questions wait for answers that are given elsewhere.
    pub(crate) wait: bool,
    /// All that steps print is shown as it comes.
    pub(crate) verbose: bool,
    /// Where the file was, if it was moved.
    pub(crate) moved_from: Option<PathBuf>,
}

/// What happens when an item fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnFailure {
    /// Nothing new begins.
    Stop,
    /// What does not need it goes on.
    Skip,
    /// It is tried so many times more; then nothing new begins.
    Retry(u32),
}

impl FromStr for OnFailure {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "stop" => Ok(Self::Stop),
            "skip" => Ok(Self::Skip),
            _ => text
                .strip_prefix("retry:")
                .and_then(|it| it.parse().ok())
                .map(Self::Retry)
                .ok_or_else(|| "it is `stop`, `skip` or `retry:N`".to_owned()),
        }
    }
}

/// Who is at the keyboard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Person {
    /// Somebody can be asked.
    pub(crate) is_there: bool,
    /// It is an agent that calls: what it names, no person has named.
    pub(crate) is_agent: bool,
}

/// Works a plan file off.
pub(crate) fn run(app: &App, ask: Ask) -> Result<Reply, Fail> {
    let mut source = Source::read(&at(app, &ask.file), &app.settings()?.limits)?;
    for warning in source.warnings() {
        print::say(&[warning]);
    }
    if ask.dry_run {
        return dry::run(app, &ask, source);
    }
    let jobs = ask.jobs.map_or_else(cores, NonZeroU32::get);
    let person = who_is_there(app, &ask)?;
    let store = Arc::new(Threaded::open(&app.database_options()?)?);
    let found = moved::find(app, &ask, &source, &*store, person)?;
    print::notes(&source.belongs(found), app.globals.json);
    let lock = Lock::take(&crate::places::data()?.join("runs"), source.plan(), &source.name)?;
    let prepared = prepare::prepare(app, &ask, &source, &store, person, jobs)?;
    engine::work(app, &ask, &source, store, prepared, person, jobs, &lock)
}

fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores).unwrap_or(1)
}

/// A file as seen from where the call is made.
fn at(app: &App, file: &Path) -> PathBuf {
    app.globals.directory.as_deref().map_or_else(|| file.to_owned(), |it| it.join(file))
}

/// Who is at the keyboard. Where programs read, nobody can be asked.
fn who_is_there(app: &App, ask: &Ask) -> Result<Person, Fail> {
    let is_agent = person::is_agent();
    if is_agent && ask.yes {
        return Err(Fail::refused("an agent cannot allow what a person is to be asked").hint(
            "run it without `--yes`: what needs a person is left, and they can run it themselves.",
        ));
    }
    let is_person = || person::at_terminal("a run asks", "run").is_ok();
    let is_there = !app.globals.json && app.screen().is_terminal && print::can_ask() && is_person();
    Ok(Person { is_there, is_agent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_after_a_failure_is_spelt_in_three_ways() {
        let parse = |text: &str| text.parse::<OnFailure>();
        assert_eq!(parse("stop"), Ok(OnFailure::Stop));
        assert_eq!(parse("skip"), Ok(OnFailure::Skip));
        assert_eq!(parse("retry:3"), Ok(OnFailure::Retry(3)));
        for bad in ["", "retry", "retry:", "retry:-1", "retry:x", "Stop"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
