//! `punchlist events`.

use std::path::PathBuf;
use std::thread;

use punchlist_engine::stream_input::{self, Given, Reading, Summary, files};
use punchlist_streams::Source;
use punchlist_streams::event::{KindName, KindSet};

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::places;
use crate::print::{self, Progress, Reply};

/// Turn what an agent says into one stream of events
///
/// Reads what Claude Code, Codex, Gemini CLI or an agent that speaks ACP prints or keeps on disk, and
/// writes one JSON object a line, the same for all of them: who said what, which tools ran, and above
/// all the plan, whole, whenever it changed. A list is told when the agent's program took it, not when
/// the model asked for it. docs/reference/events.schema.json describes every line.
///
/// Whose stream it is, its first lines tell. Sessions that older versions of Gemini CLI and Codex kept are read
/// too; what is not supported is an error that names the program and its version. Plans that an agent makes with
/// the tools of `punchlist mcp` are lists like its own. A line that cannot be read is a `warning` event, and the
/// next line is read. At the end, lines, lists, warnings and kinds that are not known are counted on
/// stderr.
#[derive(clap::Args)]
pub(crate) struct Events {
    /// Files, or patterns for them (`*`, `?`, `[…]`, `**`); `-` or none for stdin
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Whose stream it is: claude, codex, gemini or acp; by default it is recognised
    #[arg(long, value_name = "AGENT", value_parser = source)]
    from: Option<Source>,
    /// Only events of this kind, such as todo_list; may be repeated, or several with commas
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind)]
    only: Vec<KindName>,
    /// How many files are read side by side; by default as many as there are processors
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
}

fn source(name: &str) -> Result<Source, String> {
    Source::parse(name).ok_or_else(|| "there is claude, codex, gemini and acp".to_owned())
}

pub(super) fn kind(name: &str) -> Result<KindName, String> {
    let names = || KindName::ALL.map(KindName::name).join(", ");
    KindName::parse(name).ok_or_else(|| format!("there is {}", names()))
}

impl Verb for Events {
    const NAME: &'static str = "events";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  claude -p \"…\" --output-format stream-json --verbose | punchlist events
  codex exec --json \"…\" | punchlist events --only todo_list
  punchlist events --only todo_list '~/.claude/projects/**/*.jsonl'
  punchlist events --from gemini --only todo_list,turn.completed log.jsonl";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let (here, home) = (app.globals.directory.as_deref(), places::home());
        let inputs = files::inputs(&self.files, here, home.as_deref())?;
        let jobs = self.jobs.map_or_else(processors, usize::from);
        let all = KindSet::ALL;
        let only = if self.only.is_empty() { all } else { KindSet::of(self.only) };
        let mut progress = Progress::over(files::size(&inputs), inputs.len());
        let mut sum = Summary::default();
        let how = Reading { from: self.from, only, jobs };
        stream_input::all(&inputs, how, |given, reached| {
            progress.draw(reached.bytes, reached.inputs);
            match given {
                Given::Lines(lines) => return print::live_json(lines),
                Given::Nothing => {}
                Given::Ended(at, ended) => sum.add(&inputs[at].name(), ended),
            }
            Ok(true)
        })?;
        progress.clear();
        // Whoever went away early needs no sum.
        if sum.read > 0 {
            print::aside(&sum.text(), app.globals.json.then(|| sum.json()).as_ref());
        }
        sum.outcome()?;
        Ok(Reply::default())
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
