//! `punchlist run`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use punchlist_engine::run::{Choice, Earlier, OnFailure, Options};

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;
use crate::run::{self, Ask};

/// Run a plan that is written in Markdown
///
/// A plan file is a checklist. Its items may have fields. How an item is done: `run:` a command, or
/// `agent:` claude, codex or gemini. How Punchlist checks that it is done: `verify:` a command,
/// `covers:` the files that the check covers. When it runs: `after:` other items, `approve: yes` to
/// be asked first, `retry: 2`, `timeout: 5m`. An item without `run:` or `agent:` is a manual step,
/// and you are asked whether it is done.
///
/// Independent items run in parallel. Every result is stored as it happens: if a run is stopped or
/// killed, the same command continues where it was and repeats nothing that is done. An item that
/// was executing when its run was killed is interrupted. Its check runs first; if that does not
/// pass, the item runs again if it has `retry:` or you gave `--retry-interrupted`. Otherwise you
/// are asked on a terminal, or the item stays open and interrupted. Ctrl-C stops the running items
/// and ends the run; a second Ctrl-C ends it at once.
///
/// The commands of a plan file that you run are trusted as if you had typed them. The rules of your
/// policy still apply: denied commands do not run, and rules that ask still ask.
///
/// With `--share` nothing runs here: the plan is published, and every `punchlist work` in this
/// project takes items of it. The workers' progress is shown until nothing is left that they could
/// do. Ctrl-C then only ends the showing; the workers go on.
#[derive(clap::Args)]
pub(crate) struct Run {
    /// The plan file
    #[arg(value_name = "PLAN.md")]
    file: PathBuf,
    /// How many items to run in parallel [default: the number of processors]
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroU32>,
    /// Answer yes to every question
    #[arg(long)]
    yes: bool,
    /// Show what would run and in which order, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Only run this item and its sub-items, by title or number; may be repeated
    #[arg(long, value_name = "ITEM")]
    only: Vec<String>,
    /// Start at this item: run it and the items below, and do not wait for the items above
    #[arg(long, value_name = "ITEM", conflicts_with = "only")]
    from: Option<String>,
    /// When an item fails: `stop` starts nothing new, `skip` continues with items that do not
    /// depend on it, `retry:N` tries it N more times and then stops
    #[arg(long, value_name = "HOW", default_value = "stop")]
    on_failure: OnFailure,
    /// Run interrupted items again
    #[arg(long)]
    retry_interrupted: bool,
    /// Start over: forget what is done, failed, interrupted or answered
    #[arg(long)]
    fresh: bool,
    /// The plan file was moved here from OLD, which is gone: continue the last run of OLD
    #[arg(long, value_name = "OLD", conflicts_with = "fresh")]
    moved_from: Option<PathBuf>,
    /// Keep questions open until they are answered by `punchlist answer` in another terminal
    #[arg(long)]
    wait: bool,
    /// Publish the plan for the workers of `punchlist work` and show their progress; run nothing here
    #[arg(
        long,
        conflicts_with_all = ["jobs", "yes", "dry_run", "only", "from", "fresh", "wait", "verbose"]
    )]
    share: bool,
    /// Show everything that the steps print, as they print it
    #[arg(long, short)]
    verbose: bool,
    /// At the end, write the status of the items into the checkboxes of the file
    #[arg(long)]
    write_back: bool,
}

impl Verb for Run {
    const NAME: &'static str = "run";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist run release.md
  punchlist run release.md --dry-run
  punchlist run release.md --jobs 4 --on-failure skip
  punchlist run release.md --only \"Run the tests\"
  punchlist run release.md --yes --json
  punchlist run release.md --share

Exit codes: 0 everything is done, 6 an item failed, 7 items are open or the
goal is not met, 130 stopped.";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let choice = match self.from {
            Some(from) => Choice::From(from),
            None if self.only.is_empty() => Choice::All,
            None => Choice::Only(self.only),
        };
        let earlier = Earlier {
            fresh: self.fresh,
            retry_interrupted: self.retry_interrupted,
            moved_from: self.moved_from,
        };
        let options = Options {
            jobs: self.jobs.unwrap_or_else(run::cores),
            choice,
            earlier,
            on_failure: self.on_failure,
            yes: self.yes,
            wait: self.wait,
            write_back: self.write_back,
        };
        let (file, dry_run, verbose) = (self.file, self.dry_run, self.verbose);
        let share = self.share;
        run::run(app, &Ask { file, dry_run, verbose, share, jobs: self.jobs, options })
    }
}
