//! `punchlist run`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use punchlist_engine::run::{Choice, Earlier, OnFailure, Options};

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;
use crate::run::{self, Ask};

/// Work off a plan that is written in Markdown
///
/// A plan file is a checklist. An item may say how it is done: `run:` a command, `agent:` claude, codex or
/// gemini; how it is known to be done: `verify:` a command, `covers:` the files that it speaks for; and
/// when: `after:` other items, `approve: yes` to be asked first, `retry: 2`, `timeout: 5m`. An item that
/// says nothing is done by hand, and you are asked.
///
/// Items run side by side as far as they may. What is done is kept as it happens: stop it, kill it, and the
/// same command goes on where it was and repeats nothing that is done. An item that was under way at the
/// time is verified first; otherwise it runs again if it has `retry:` or with `--retry-interrupted`, you
/// are asked on a terminal, and else it stays open and interrupted, however many runs later. Ctrl-C stops what runs and ends; a second one at once.
///
/// The commands of a file that you name are trusted as if you had typed them. Rules of your configuration
/// still hold: what they deny does not run, what they want asked is asked.
#[derive(clap::Args)]
pub(crate) struct Run {
    /// The plan file
    #[arg(value_name = "PLAN.md")]
    file: PathBuf,
    /// How many items at once; as many as there are processors otherwise
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroU32>,
    /// Allow everything that would be asked
    #[arg(long)]
    yes: bool,
    /// Show what would be done and in which order, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Only this item and what is under it, by its title or number; may be repeated
    #[arg(long, value_name = "ITEM")]
    only: Vec<String>,
    /// This item and those below it; what stands above holds nothing up
    #[arg(long, value_name = "ITEM", conflicts_with = "only")]
    from: Option<String>,
    /// When an item fails: `stop` lets nothing new begin, `skip` goes on with what does not need it,
    /// `retry:N` tries it N times more and then stops
    #[arg(long, value_name = "HOW", default_value = "stop")]
    on_failure: OnFailure,
    /// Run items again that were under way when an earlier run was ended
    #[arg(long)]
    retry_interrupted: bool,
    /// Start over: nothing counts as done, failed, interrupted or answered
    #[arg(long)]
    fresh: bool,
    /// The file was moved here from OLD, which is gone: go on where the last run of that was
    #[arg(long, value_name = "OLD", conflicts_with = "fresh")]
    moved_from: Option<PathBuf>,
    /// Leave questions open until they are answered elsewhere, by `punchlist answer` in another terminal
    #[arg(long)]
    wait: bool,
    /// Show all that steps print, as it comes
    #[arg(long, short)]
    verbose: bool,
    /// Put the state of the items into the file's boxes at the end
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

Exit codes: 0 all is done, 6 an item failed, 7 items are left or the
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
        run::run(app, &Ask { file, dry_run, verbose, jobs: self.jobs, options })
    }
}
